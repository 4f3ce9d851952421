"""ROS 1 and ROS 2: messages, the files that they are recorded to, and the bridge to live topics."""
