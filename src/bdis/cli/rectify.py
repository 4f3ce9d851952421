"""``bdis rectify``."""

from dataclasses import asdict
from pathlib import Path

from ..cameras.checks import check_rectification
from ..common.atomic import all_or_nothing
from ..files.images import write_image
from . import terminal
from .inputs import Camera, Pair
from .terminal import UsageError


def run_rectify(pair: Pair, camera: Camera, alpha: float | None, out: Path) -> None:
    """Read, rectify, check, and write the images with their rig."""
    if alpha is not None and not 0 <= alpha <= 1:
        raise UsageError(f"--alpha is {alpha:g}; expected 0 to 1")
    camera.check()
    left, right = pair.read()
    _, cameras, remarks = camera.load(left.shape)
    assert cameras is not None  # rectify was asked for
    with all_or_nothing(out) as stage:
        rectifier = cameras.rectify(alpha=alpha)
        left, right = rectifier(left, right)
        check = check_rectification(left, right)
        for text in check.warnings:
            terminal.warn(text)
        write_image(stage / "left.png", left)
        write_image(stage / "right.png", right)
        rectifier.rig.save(stage / "rig.toml")
    rig = rectifier.rig
    terminal.table(
        [
            *(("calibration", remark) for remark in remarks),
            ("rig", f"focal {rig.focal_px:.2f} px, baseline {rig.baseline_mm:.4g} mm"),
            ("rows differ by", f"{check.vertical_px:.2f} px on median, over {check.features} features"),
            ("written", f"{out}: left.png, right.png, rig.toml"),
        ]
    )
    figures = {"rig": asdict(rig), "calibration": remarks, "check": asdict(check), "folder": out}
    terminal.give({**figures, "files": ["left.png", "right.png", "rig.toml"]})
