"""Packages bdis can do without: loaded when first needed, with the pip command if they are missing."""

from importlib import import_module
from typing import Any

_EXTRA = {
    "cv2": "images",
    "matplotlib": "plots",
    "scipy": "baselines",
    "av": "video",
    "viser": "viewer",
    "websockets": "viewer",
}


def install_command(package: str) -> str:
    """What installs an optional ``package``.

    Examples
    --------
    >>> install_command("cv2")
    'pip install "bdis[images]"'
    """
    return f'pip install "bdis[{_EXTRA[package]}]"'


def require(module: str, purpose: str) -> Any:
    """Import an optional ``module``.

    Raises
    ------
    ImportError
        It is not installed; the message says what it is for and how to get it.

    Examples
    --------
    >>> require("cv2", "reading images").__name__
    'cv2'
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # it is installed, but something it needs is not
        raise ImportError(f"{purpose} needs {package}: {install_command(package)}", name=package) from None
