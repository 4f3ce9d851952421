"""The images of ``bdis match``, ``bdis assess`` and ``bdis rectify``, and their masks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import terminal
from .options import LAYOUTS, Layout, Squeezed
from .terminal import UsageError

if TYPE_CHECKING:
    from ..common.arrays import Array


@dataclass(frozen=True)
class ImagePair:
    """The options that say where the two images are."""

    left: Annotated[
        Path, typer.Argument(metavar="LEFT", help="Left image; with --layout, the image that holds both views.")
    ]
    right: Annotated[Path | None, typer.Argument(metavar="RIGHT", help="Right image.")] = None
    layout: Layout = None
    squeezed: Squeezed = False

    def read(self) -> tuple[Array, Array]:
        """Read both images.

        Returns
        -------
        left, right : ndarray, shape (h, w) or (h, w, 3)
            Of the same size and type.

        Raises
        ------
        UsageError
            The options contradict each other.
        ValueError
            The images do not form a pair.
        """
        from ..files.images import read_image
        from ..matching.images import check_pair
        from ..video.sources.views import Splitter

        if self.layout is None:
            if self.squeezed and self.right is not None:
                raise UsageError("--squeezed is for one image with both views, but RIGHT is given")
            if self.right is None:
                raise UsageError(f"RIGHT is missing; if LEFT holds both views, add --layout {LAYOUTS[0]}")
            return check_pair(read_image(self.left), read_image(self.right))
        if self.right is not None:
            raise UsageError("--layout is for one image with both views, but RIGHT is given as well")
        try:
            return check_pair(*Splitter(self.layout, self.squeezed)(read_image(self.left)))
        except ValueError as error:
            raise ValueError(f"{self.left}: {error}") from error


@dataclass(frozen=True)
class MaskOptions:
    """The options that say which pixels to ignore."""

    mask: Annotated[
        Path | None, typer.Option(metavar="IMAGE", help="Image that is 0 at the pixels of the left image to ignore.")
    ] = None
    mask_right: Annotated[Path | None, typer.Option(metavar="IMAGE", help="The same for the right image.")] = None

    def read(self, shape: tuple[int, ...]) -> tuple[dict[str, Array], list[str]]:
        """Read the masks that are given, and warn of those that probably hide something else than they should.

        Parameters
        ----------
        shape : tuple of int
            Shape of one image: height, width.

        Returns
        -------
        masks : dict of str to ndarray, shape (h, w)
            Keywords of ``StereoMatcher.match`` and ``bdis.assess``.
        warnings : list of str
            What was printed.

        Raises
        ------
        ValueError
            A mask has another size than the images.
        """
        from ..common.arrays import size_text
        from ..files.images import read_image

        masks, warnings = {}, []
        for name, path in (("left_mask", self.mask), ("right_mask", self.mask_right)):
            if path is not None:
                mask = read_image(path)
                if mask.shape[:2] != shape[:2]:
                    raise ValueError(f"{path} is {size_text(mask.shape)} but the images are {size_text(shape)}")
                masks[name] = mask if mask.ndim == 2 else mask.max(2)
                warnings += _doubts(masks[name], path)
        for text in warnings:
            terminal.warn(text)
        return masks, warnings


def _doubts(mask: Array, path: Path) -> list[str]:
    """What speaks against a mask (h, w)."""
    seen = mask[mask != 0]
    if seen.size == mask.size:
        return [f"{path} hides no pixel, as it is 0 nowhere; what is transparent (alpha) is not hidden"]
    if seen.size == 0 or seen.min() == seen.max():
        return []
    return [
        f"{path} has values from {seen.min():g} to {seen.max():g} beside 0, and only pixels that are exactly 0 are "
        "hidden: is it a JPEG, or smoothed? Write masks as PNG, with 0 and one other value"
    ]
