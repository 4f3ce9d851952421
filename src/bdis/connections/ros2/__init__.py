"""A ROS 2 package that is copied out with ``bdis ros2 --write-package``; ``bdis_ros/`` runs in ROS's own Python."""
