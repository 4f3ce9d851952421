"""The options of ``bdis run`` and ``bdis view`` that send frames to other programs while they are matched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from . import terminal
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.rig import Rig
    from ..video.live import LiveOutput


@dataclass(frozen=True)
class LiveOptions:
    """Where other programs get the frames."""

    igtl: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Send depth, sigma, left image and cloud to 3D Slicer, PLUS and others by OpenIGTLink, whose usual "
            "port is 18944. Without HOST only this machine can connect.",
        ),
    ] = None
    foxglove: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Send the same to Foxglove, whose usual port is 8765. Without HOST only this machine can connect.",
        ),
    ] = None

    @property
    def is_used(self) -> bool:
        """Whether anything is sent: then uncertainty and colours are needed."""
        return self.igtl is not None or self.foxglove is not None

    def open(self, rig: Rig | None, max_depth_mm: float | None) -> LiveOutputs:
        """Open what was asked for.

        Parameters
        ----------
        rig : Rig or None
            Of the rectified images.
        max_depth_mm : float or None
            Pixels that are farther away are unknown.

        Returns
        -------
        LiveOutputs
            To be closed.

        Raises
        ------
        UsageError
            There is no rig, or an address has another form.
        OSError
            An address cannot be used.
        """
        opened = LiveOutputs([])
        try:
            for output in self._opened(rig, max_depth_mm):
                opened.outputs.append(output)
        except BaseException:
            opened.close()
            raise
        return opened

    def _opened(self, rig: Rig | None, max_depth_mm: float | None) -> Iterator[LiveOutput]:
        if not self.is_used:
            return
        from ..video.live.foxglove import FoxgloveOutput
        from ..video.live.igtl import IgtlOutput
        from ..video.live.listening import parse_address

        kinds: tuple[tuple[str, str | None, Callable[..., Any]], ...] = (
            ("--igtl", self.igtl, IgtlOutput),
            ("--foxglove", self.foxglove, FoxgloveOutput),
        )
        for option, text, kind in kinds:
            if text is None:
                continue
            if rig is None:
                raise UsageError(f"{option} sends depth: it needs --calib FILE, or --focal PX and --baseline MM")
            try:
                address = parse_address(text)
            except ValueError as error:
                raise UsageError(f"{option}: {error}") from None
            output = kind(address, rig, max_depth_mm)
            terminal.note(f"sending to {output.name}")
            if address.is_shared:
                terminal.warn(
                    f"{output.name} can be read from other machines, without a password and not encrypted; use it only "
                    "in a network that you trust"
                )
            if output.risk:
                terminal.warn(output.risk)
            yield output


class LiveOutputs:
    """All that get the frames.

    Parameters
    ----------
    outputs : list of LiveOutput
        Open.
    """

    def __init__(self, outputs: list[LiveOutput]):
        self.outputs = outputs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def offer(self, frame: Any) -> None:
        """Hand a frame to each; returns at once."""
        for output in self.outputs:
            output.offer(frame)

    def close(self) -> None:
        """Send what waits, and end; the counts are final."""
        for output in self.outputs:
            output.close()

    def counts(self) -> list[dict[str, Any]]:
        """What became of the frames."""
        return [
            {"to": each.name, "sent": each.sent, "dropped": each.dropped, "unheard": each.unheard}
            for each in self.outputs
        ]

    def entries(self) -> dict[str, Any]:
        """For the manifest; nothing if nothing is sent."""
        return {"live": self.counts()} if self.outputs else {}

    def rows(self) -> list[tuple[str, str]]:
        """For the summary."""
        return [
            ("live", f"{each['to']}: {each['sent']} frames sent, {each['dropped']} dropped, "
                     f"{each['unheard']} while nobody was connected")
            for each in self.counts()
        ]  # fmt: skip
