"""Starts the node and, with ``bdis:=PATH``, bdis itself, which must be of its own Python environment.

ros2 launch bdis_ros depth_launch.py bdis:=/home/me/bdis/.venv/bin/bdis preset:=fast
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node


def generate_launch_description() -> LaunchDescription:
    """The node with its socket and parameters, and bdis if its path is given."""
    bdis, socket, preset = (LaunchConfiguration(name) for name in ("bdis", "socket", "preset"))
    return LaunchDescription(
        [
            DeclareLaunchArgument("bdis", default_value="", description="path of the command bdis; empty: not started"),
            DeclareLaunchArgument("socket", default_value="", description="where both meet; empty: the usual place"),
            DeclareLaunchArgument("preset", default_value="balanced"),
            Node(
                package="bdis_ros",
                executable="node",
                name="bdis",
                output="screen",
                additional_env={"BDIS_SOCKET": socket},
                parameters=[{"preset": preset}],
            ),
            ExecuteProcess(
                cmd=[bdis, "ros2", "--no-node", "--preset", preset],
                additional_env={"BDIS_SOCKET": socket},
                condition=IfCondition(PythonExpression(["'", bdis, "' != ''"])),
                output="screen",
            ),
        ]
    )
