"""ROS 1 and ROS 2: messages, and the files that they are recorded to."""
