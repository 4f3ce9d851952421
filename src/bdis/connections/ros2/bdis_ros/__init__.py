"""The ROS side of bdis: nodes that forward messages between ROS and a process of ``bdis ros1`` or ``bdis ros2``.

These files run in ROS's own Python, 3.8 or later, and need nothing but its standard library and rospy or rclpy.
"""
