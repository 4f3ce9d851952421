"""Compiled code of the protocols."""

from .crc64 import crc64_of

__all__ = ["crc64_of"]
