"""ROS: its messages, bags, and the bridge to live topics."""
