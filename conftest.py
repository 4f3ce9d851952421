"""Doctests of modules that import torch are collected only where it is installed: ``make test-networks``.

Files that run in the Python of ROS are not collected.

Signals that stop a program reach the tests' own processes, even if the tests run in the background (``make test &``,
``nohup``), where they are ignored and commands respect that.
"""

import signal
from importlib.util import find_spec

NETWORKS = "src/bdis/evaluation/networks"
NEED_TORCH = ("architectures", "checkpoints", "finetune", "gwcnet", "layers", "matcher", "psmnet", "training")

collect_ignore = [] if find_spec("torch") else [f"{NETWORKS}/{name}.py" for name in NEED_TORCH]
collect_ignore += [  # run by the Python of ROS, or in place of it
    "src/bdis/connections/ros2/launch", "src/bdis/connections/ros2/setup.py", "tests/connections/ros1_camera.py",
    "tests/connections/ros1_listener.py", "tests/connections/ros2_stand_in",
]  # fmt: skip


def pytest_configure() -> None:
    """Have processes that tests start react to signals as they do in a terminal."""
    for name, usual in (
        ("SIGINT", signal.default_int_handler), ("SIGTERM", signal.SIG_DFL), ("SIGHUP", signal.SIG_DFL),
    ):  # fmt: skip
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
