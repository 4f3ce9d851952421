"""The options of ``bdis run`` and ``bdis batch run`` that say what a bag of ROS has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .options import parse_names
from .terminal import UsageError

if TYPE_CHECKING:
    from ..video.recording import BagPlan


@dataclass(frozen=True, kw_only=True)
class BagOptions:
    """What is written to a bag."""

    bag_contents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="What a bag has besides the camera_info: disparity, depth (metres), depth-mm (16 bit), sigma, cloud, "
            "left and right (the rectified images); separated by commas.  [default: disparity,depth,sigma]",
        ),
    ] = None
    bag_namespace: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the topics in a bag begin with.  [default: /stereo]")
    ] = None

    def bag_plan(self, save: tuple[str, ...]) -> BagPlan:
        """What the options mean.

        Parameters
        ----------
        save : tuple of str
            Names of what is saved.

        Returns
        -------
        BagPlan

        Raises
        ------
        UsageError
            There is no such content, the namespace is none, or no bag is saved.
        """
        from ..connections.ros.depth_bag import CONTENTS, DEFAULT_CONTENTS, NAMESPACE
        from ..video.recording import BAGS, BagPlan

        is_given = self.bag_contents is not None or self.bag_namespace is not None
        if is_given and not any(name in BAGS for name in save):
            raise UsageError(f"--bag-contents and --bag-namespace need --save {' or --save '.join(BAGS)}")
        contents = DEFAULT_CONTENTS
        if self.bag_contents is not None:
            contents = tuple(parse_names("--bag-contents", self.bag_contents, tuple(CONTENTS)))
        try:
            return BagPlan(contents, NAMESPACE if self.bag_namespace is None else self.bag_namespace)
        except ValueError as error:
            raise UsageError(f"--bag-namespace: {error}") from None
