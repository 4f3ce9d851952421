"""Settings: each is declared once, completely, and everything reads that declaration."""

import dataclasses
import math
import pydoc
import re
from dataclasses import dataclass, fields

import numpy as np
import pytest

import bdis
from bdis.common.assignments import read_values, split_assignments
from bdis.common.declared import declarations, groups, setting
from bdis.evaluation.baselines.elas.settings import ElasSettings
from bdis.matching.settings import PRESET_SUMMARIES, settings_for
from bdis.synthetic import FrameOptions, RenderOptions
from bdis.video.sources.rendered import VideoOptions

DECLARED = [
    pytest.param(cls, each, id=f"{cls.__name__}.{each.name}")
    for cls in (bdis.Settings, ElasSettings, RenderOptions, FrameOptions, VideoOptions)
    for each in declarations(cls).values()
]


# --- All declarations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "declared"), DECLARED)
def test_a_declaration_is_complete(cls, declared):
    assert declared.sentence[0].isupper()
    assert declared.sentence.endswith(".")
    assert declared.group
    assert declared.is_optional == bool(declared.if_none), "what None means is said where None is allowed"
    if declared.kind in (int, float) and not declared.choices:
        assert declared.low is not None or declared.above is not None
    for bound in (declared.low, declared.above, declared.high, declared.below):
        assert not isinstance(bound, str) or bound in declarations(cls)


@pytest.mark.parametrize(("cls", "declared"), DECLARED)
def test_a_default_is_within_its_range(cls, declared):
    assert getattr(cls(**{declared.name: declared.default}), declared.name) == declared.default
    assert type(getattr(cls(), declared.name)) is type(declared.default)


def just_outside(cls, declared):
    """Values next to the limits that are out of range, and the limits themselves that are not."""
    default = cls()
    for name, sign in (("low", -1), ("above", -1), ("high", 1), ("below", 1)):
        limit = getattr(declared, name)
        limit = getattr(default, limit) if isinstance(limit, str) else limit
        if limit is None:
            continue
        step = (declared.step or 1) if declared.kind is int else 1
        outside = int(limit) + sign * step if declared.kind is int else math.nextafter(limit, sign * math.inf)
        yield (outside, limit) if name in ("low", "high") else (float(limit), None)


@pytest.mark.parametrize(("cls", "declared"), DECLARED)
def test_values_just_outside_of_a_range_are_refused_and_its_limits_are_not(cls, declared):
    for outside, limit in just_outside(cls, declared):
        with pytest.raises(ValueError, match=rf"^{declared.name} must be .*, but it is ") as refused:
            cls(**{declared.name: outside})
        assert declared.kind(str(refused.value).rsplit(" ", 1)[1]) == outside, "the value is shown with all its digits"
        if limit is not None:
            limit = int(limit) if declared.kind is int else limit
            assert getattr(cls(**{declared.name: limit}), declared.name) == limit


@pytest.mark.parametrize(("cls", "declared"), DECLARED)
def test_the_docstring_has_every_setting(cls, declared):
    lines = pydoc.render_doc(cls, renderer=pydoc.plaintext).splitlines()
    heading = f" |  {declared.name} : {declared.type_text}, default {declared.default!r}"
    at = lines.index(heading)
    said = " ".join(line.strip(" |") for line in lines[at + 1 : at + 4])
    assert said.startswith(declared.sentence)
    if declared.unit:
        assert declared.unit in said


@pytest.mark.parametrize(("cls", "declared"), DECLARED)
def test_the_text_of_a_value_is_read_as_that_value(cls, declared):
    for value in (declared.default, *declared.choices, *((None,) if declared.is_optional else ())):
        read = read_values(split_assignments([f" {declared.name} = {value}"], "--set"), cls)[declared.name]
        assert (read, type(read)) == (value, type(value))


def test_settings_of_one_group_stand_together():
    for cls in (bdis.Settings, ElasSettings, RenderOptions):
        in_groups = [each.name for members in groups(cls).values() for each in members]
        assert in_groups == [field.name for field in fields(cls)]


@dataclass(frozen=True)
class Example:
    count: int = setting(6, "How many.", group="All", low=3, step=3)
    share: float | None = setting(None, "Share.", group="All", low=0, high="count", if_none="all of it")
    max_size_px: float = setting(1.0, "Size.", group="All", unit="px", above=0)


def test_ranges_and_labels_in_words():
    count, share, size = declarations(Example).values()
    assert count.range_text() == "a multiple of 3 at least 3"
    assert share.range_text() == "None or from 0 to count"
    assert share.range_text(Example()) == "None or from 0 to count (6)"
    assert size.description() == "Size. Above 0 px."
    assert [each.label for each in (count, share, size)] == ["Count", "Share", "Max. size, px"]
    assert (count.limits, share.limits) == (None, None)
    assert declarations(bdis.Settings)["overlap"].limits == (0, 0.95)


def test_an_infinite_value_is_refused_where_there_is_no_upper_limit():
    with pytest.raises(ValueError, match="focal_px must be a finite number, but it is inf"):
        RenderOptions(focal_px=math.inf)


def test_a_number_too_large_for_a_float_is_refused():
    with pytest.raises(ValueError, match="overlap must be a number below 1e308, but it is larger"):
        bdis.Settings(overlap=10**400)


def test_numbers_of_numpy_become_those_of_python():
    settings = bdis.Settings(patch_size=np.int16(6), overlap=np.float32(0.5), dense=np.bool_(True), variance=np.True_)
    assert [type(value) for value in (settings.patch_size, settings.overlap, settings.dense)] == [int, float, bool]
    assert settings.variance is True


def test_an_assignment_without_a_value_says_where_it_was_written():
    with pytest.raises(ValueError, match="'smoke' in --set: expected NAME=VALUE"):
        split_assignments(["smoke"], "--set")


def test_settings_can_start_from_settings():
    small = bdis.Settings(patch_size=6)
    assert settings_for(small, {}) == small
    assert settings_for(small, {"dense": True}) == dataclasses.replace(small, dense=True)
    with pytest.raises(ValueError, match="unknown setting patch; there are"):
        settings_for(small, {"patch": 6})


def test_every_preset_has_a_summary():
    assert list(PRESET_SUMMARIES) == list(bdis.PRESETS)


# --- Messages of the matcher's settings -----------------------------------------------------------------------------

# For every field: values out of range, and how the message describes what would be in range.
OUT_OF_RANGE = {
    "bits": ((7, 17, 0, -8), "None or from 8 to 16"),
    "patch_size": ((2, 3, 7, 18, 0, -8), "an even number from 4 to 16"),
    "overlap": ((-0.01, 0.96, 1, np.inf), "from 0 to 0.95"),
    "slanted_overlap": ((-0.01, 0.96, 1, np.inf), "from 0 to 0.95"),
    "stride_rounding": (("nearest", "Up", ""), "one of 'down', 'up'"),
    "finest_level": ((5, -1), "from 0 to 4"),
    "coarsest_level": ((0, 11, -1), r"None or from finest_level \(1\) to 10"),
    "max_iterations": ((0, 101, -1), "from 1 to 100"),
    "newton": ((), "True or False"),
    "stop_step": ((-0.01, 1.5, np.inf), "from 0 to 1 px of a level"),
    "min_disparity": ((1e5, -1e5, np.inf, -np.inf), "above -1e5 and below 1e5 px"),
    "max_disparity": ((0, -1, 1e5, np.inf), r"None or above min_disparity \(0 px\) and below 1e5 px"),
    "fusion": (("mean", "Bayes", ""), "one of 'bayes', 'residual'"),
    "window_step": ((0, 0.05, 2.5, -1, np.inf), "from 0.1 to 2 px of a level"),
    "sigma_r": ((0, -1, 1001, np.inf), "None or above 0 and at most 1000 grey levels"),
    "sigma_spatial": ((0, 0.05, -4, 1001, np.inf), "None or from 0.1 to 1000 px of a level"),
    "likelihood_area": (("image", "Patch", ""), "one of 'patch', 'window'"),
    "spatial_sum": ((), "True or False"),
    "propagate": ((), "True or False"),
    "level_weights": (("n", "1/N", ""), r"one of '1/n', '2\^n', 'equal'"),
    "min_valid": ((-0.1, 1.1, np.inf), "from 0 to 1"),
    "min_support": ((-0.1, 1.1, np.inf), "from 0 to 1"),
    "min_probability": ((-0.1, 1.1, np.inf), "from 0 to 1"),
    "min_surface_probability": ((-0.1, 1.1, np.inf), "from 0 to 1"),
    "start": (("all", "Global", ""), "one of 'global', 'zero'"),
    "smoothing": ((-1, 1001, np.inf), "from 0 to 1000"),
    "smoothing_edge": ((0, 0.05, 1001, np.inf), "from 0.1 to 1000 grey levels"),
    "smoothing_rounds": ((-1, 11), "from 0 to 10"),
    "outlier_distance": ((0, 0.001, 101, np.inf), "from 0.01 to 100 px of a level"),
    "label_level": ((-1, 5), "None or from 0 to 4"),
    "label_noise": ((-0.1, 101, np.inf), "from 0 to 100 grey levels per px"),
    "slanted": ((), "True or False"),
    "sides": ((), "True or False"),
    "refinement_rounds": ((-1, 21), "from 0 to 20"),
    "refinement_smoothing": ((0, -1, 10001, np.inf), "from 0.001 to 10000"),
    "refinement_slopes": ((), "True or False"),
    "highlights": ((), "True or False"),
    "scatter_smoothing": ((0, -1, 1001, np.inf), "above 0 and at most 1000"),
    "dense": ((), "True or False"),
    "sigma_scale": ((0, -1, 100.5), "above 0 and at most 100"),
    "variance": (("ours", "Paper", "", 2), "one of False, True, 'paper'"),
    "min_island": ((-0.1, 1.1, np.inf), "from 0 to 1"),
    "max_difference": ((-0.1, 1001, np.inf), "from 0 to 1000 grey levels per px"),
    "segment_filter": ((), "True or False"),
    "align_rows": (("on", "Auto", ""), "one of 'auto', 'off'"),
    "row_offset": ((-51, 50.1, np.inf), "from -50 to 50 px"),
    "row_tilt": ((-0.06, 1, np.inf), "from -0.05 to 0.05 px per px"),
    "threads": ((0, -1, 257), "from 1 to 256"),
}
# Values of the wrong kind for every kind of field, by its default; what the message asks for instead.
WRONG_KIND = {
    bool: ((1, 0, "yes", None, 1.0), "True or False"),
    int: ((8.0, "8", None, True, [8], 8j), "a whole number"),
    float: (("0.5", None, True, [0.5], 0.5j), "a number"),
}
OPTIONAL_KIND = {
    "bits": ((4.0, "4", True, [4]), "a whole number or None"),
    "coarsest_level": ((4.0, "4", True, [4]), "a whole number or None"),
    "label_level": ((1.0, "1", True, [1]), "a whole number or None"),
    "max_disparity": (("64", True, [64], 64j), "a number or None"),
    "sigma_r": (("4", True, [4]), "a number or None"),
    "sigma_spatial": (("4", True, [4]), "a number or None"),
}
ONE_OF = ("align_rows", "fusion", "level_weights", "likelihood_area", "start", "stride_rounding", "variance")


def wrong_kinds(field):
    """Values no setting ``field`` can have, and what is expected instead."""
    if field.name in ONE_OF:
        return (None, 1.5, ["bayes"]), OUT_OF_RANGE[field.name][1]
    return OPTIONAL_KIND.get(field.name) or WRONG_KIND[type(field.default)]


def refused(name, expected, value):
    """The message, whether it shows the value as it came (wrong kind) or as a plain number (out of range)."""
    shown = {repr(value), f"{value:g}" if isinstance(value, int | float) else repr(value)}
    return rf"^{name} must be {expected}, but it is ({'|'.join(map(re.escape, shown))})$"


def test_every_setting_is_tried():
    assert set(OUT_OF_RANGE) == {field.name for field in fields(bdis.Settings)}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [(name, value, expected) for name, (values, expected) in OUT_OF_RANGE.items() for value in values],
)
def test_setting_out_of_range_is_refused(name, value, expected):
    with pytest.raises(ValueError, match=refused(name, expected, value)):
        bdis.StereoMatcher(**{name: value})
    with pytest.raises(ValueError, match=refused(name, expected, value)):
        bdis.Settings(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [(field.name, value, wrong_kinds(field)[1]) for field in fields(bdis.Settings) for value in wrong_kinds(field)[0]],
)
def test_setting_of_the_wrong_kind_is_refused(name, value, expected):
    error = ValueError if name in ONE_OF else TypeError
    with pytest.raises(error, match=refused(name, expected, value)):
        bdis.StereoMatcher(**{name: value})


@pytest.mark.parametrize(
    "name", [field.name for field in fields(bdis.Settings) if "float" in str(field.type) or field.type is float]
)
def test_nan_is_no_setting(name):
    """It would pass any comparison written the wrong way round."""
    with pytest.raises(ValueError, match=f"^{name} must be a number( or None)?, but it is nan$"):
        bdis.StereoMatcher(**{name: float("nan")})


def test_limits_that_depend_on_another_setting_name_it():
    with pytest.raises(ValueError, match=r"coarsest_level must be None or from finest_level \(3\) to 10, but it is 2"):
        bdis.StereoMatcher(finest_level=3, coarsest_level=2)
    with pytest.raises(ValueError, match=r"max_disparity must be .* above min_disparity \(-3.5 px\) .*, but it is -4"):
        bdis.StereoMatcher(min_disparity=-3.5, max_disparity=-4)


@pytest.mark.parametrize("preset", ["Balanced", "", None, 3])
def test_unknown_preset_is_refused_and_the_known_ones_listed(preset):
    message = rf"unknown preset {re.escape(repr(preset))}; there are {', '.join(bdis.PRESETS)}"
    with pytest.raises(ValueError, match=message):
        bdis.StereoMatcher(preset)


def test_unknown_setting_is_refused_and_the_known_ones_listed():
    with pytest.raises(
        ValueError, match=r"unknown setting block, patchsize; there are bits, patch_size, overlap, .*threads"
    ):
        bdis.StereoMatcher(patchsize=8, block=3)
