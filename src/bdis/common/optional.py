"""Optional packages: imported when first needed, with the pip command in the error if they are missing."""

from importlib import import_module
from typing import Any

_EXTRA = {
    "cv2": "images",
    "matplotlib": "plots",
    "scipy": "baselines",
    "av": "video",
    "viser": "viewer",
    "websockets": "viewer",
    "msgspec": "viewer",
    "torch": "networks",
    "onnxruntime": "onnx",
    "rosbags": "ros",
    "lz4": "ros",
    "zstandard": "ros",
    "pyigtl": "slicer",
    "foxglove": "foxglove",
    "distributed": "cluster",
    "dask_jobqueue": "slurm",
}


def install_command(package: str) -> str:
    """Return the command that installs an optional package.

    Parameters
    ----------
    package : str
        Name that the package is imported by, such as ``"cv2"``.

    Returns
    -------
    str
        A ``pip install`` command.

    Examples
    --------
    >>> install_command("cv2")
    'pip install "bdis[images]"'
    """
    return f'pip install "bdis[{_EXTRA[package]}]"'


def require(module: str, purpose: str) -> Any:
    """Import an optional module.

    Parameters
    ----------
    module : str
        Name of the module, such as ``"matplotlib.figure"``.
    purpose : str
        What needs it, for the error message: ``"reading images"``.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        The package is not installed; the message says what needs it and how to install it.

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
            raise  # the package is installed, but something that it imports itself is not
        raise ImportError(f"{purpose} needs {package}: {install_command(package)}", name=package) from None
