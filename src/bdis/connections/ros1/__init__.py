"""The ROS 1 node: it runs in the Python that has rospy."""
