"""Options of the renderer, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..common.declared import check_settings, setting, with_attributes

_PICTURE = "Picture"
_GEOMETRY = "Geometry"
_LIGHT = "Light and tissue"
_SENSOR = "Optics and sensor"
MAX_FRAMES = 1_000_000  # of a sequence: files are numbered with six digits


@with_attributes
@dataclass(frozen=True)
class SequenceOptions:
    """What all frames of a rendered sequence have in common; checked on construction."""

    height: int = setting(480, "Height of the images.", group=_PICTURE, unit="px", low=32, high=8192)
    width: int = setting(640, "Width of the images.", group=_PICTURE, unit="px", low=32, high=8192)
    seed: int = setting(0, "Seed of shape and texture: the same arguments give the same bits.", group=_PICTURE, low=0)

    def __post_init__(self) -> None:
        check_settings(self)


@with_attributes
@dataclass(frozen=True)
class FrameOptions(SequenceOptions):
    """One frame of a sequence; checked on construction."""

    frame: int = setting(
        0,
        "Number of the frame: camera and instruments move from frame to frame.",
        group=_PICTURE,
        low=0,
        high=MAX_FRAMES,
    )


@with_attributes
@dataclass(frozen=True)
class RenderOptions:
    """Options of :func:`bdis.synthetic.render`; checked on construction."""

    # fmt: off
    depth_mm: float | None = setting(
        None, "Distance of the surface; in the colon, its diameter.", group=_GEOMETRY, unit="mm", low=1, high=1000,
        if_none="60 mm, in the colon 44 mm",
    )
    relief_mm: float | None = setting(
        None, "Height of the folds; of the plane, how far it recedes over one depth_mm; of the sphere, its radius.",
        group=_GEOMETRY, unit="mm", low=0, high=1000, if_none="a share of depth_mm that suits the scene",
    )
    focal_px: float | None = setting(
        None, "Focal length; 0.4 to 10 times the width.", group=_GEOMETRY, unit="px", above=0,
        if_none="0.85 times the width",
    )
    baseline_mm: float | None = setting(
        None, "Distance between the cameras.", group=_GEOMETRY, unit="mm", low=1e-3, high=1000,
        if_none="a twelfth of depth_mm",
    )
    disparity_px: float | None = setting(
        None, "Median disparity, from which baseline_mm is computed; up to 0.9 times the width.", group=_GEOMETRY,
        unit="px", low=1, if_none="baseline_mm is used",
    )

    lighting: Literal["headlight", "diffuse"] = setting(
        "headlight", "A lamp between the cameras with reflections, or even light without.", group=_LIGHT
    )
    texture: float = setting(1.0, "Strength of vessels and mottling; 0: none.", group=_LIGHT, low=0, high=3, step=0.1)
    highlights: float = setting(
        1.0, "Strength of wet and metallic reflections of the headlight.", group=_LIGHT, low=0, high=3, step=0.1
    )
    smoke: float = setting(
        0.0, "Density of smoke; at 1 hardly anything is visible.", group=_LIGHT, low=0, high=1, step=0.05
    )

    blur: float = setting(
        0.5, "Standard deviation of the optical blur.", group=_SENSOR, unit="px", low=0, high=10, step=0.1
    )
    noise: float = setting(
        1.5, "Standard deviation of the sensor noise.", group=_SENSOR, unit="grey levels", low=0, high=50, step=0.1
    )
    noise_seed: int | None = setting(
        None, "Seed of the sensor noise.", group=_SENSOR, low=0, high=2**63, if_none="follows from seed and frame"
    )
    gain_difference: float = setting(
        0.0, "The right image is brighter by this share.", group=_SENSOR, low=-0.9, high=3, step=0.05
    )
    vignetting_difference: float = setting(
        0.0, "The right image is darker by this share in its corners.", group=_SENSOR, low=0, high=1, step=0.05
    )
    vertical_shift_px: float = setting(
        0.0, "The right image is lower by this much, as after a wrong rectification.", group=_SENSOR, unit="px",
        low=-20, high=20, step=0.5,
    )
    # fmt: on

    def __post_init__(self) -> None:
        check_settings(self)
        if self.baseline_mm is not None and self.disparity_px is not None:
            raise ValueError("baseline_mm and disparity_px both set the distance between the cameras; give one of them")
