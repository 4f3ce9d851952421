"""The version of the package; here, so that every room can read it."""

__version__ = "0.2.0"
