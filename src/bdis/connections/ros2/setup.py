"""For colcon: an ament_python package."""

from setuptools import setup

setup(
    name="bdis_ros",
    version="1.0.0",
    packages=["bdis_ros"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/bdis_ros"]),
        ("share/bdis_ros", ["package.xml", "README.md"]),
        ("share/bdis_ros/launch", ["launch/depth_launch.py"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    entry_points={"console_scripts": ["node = bdis_ros.node:main"]},
)
