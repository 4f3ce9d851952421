"""Every value of every preset, literally: changing one changes results, and must be done here as well."""

from dataclasses import asdict

import pytest

import bdis

NAMES = ("balanced", "accurate", "fast", "paper", "paper-2021", "dis")
# fmt: off
VALUES = {
    #                     balanced    accurate    fast     paper    paper-2021    dis
    "bits":               (None,       None,       None,    None,    None,         None),
    "patch_size":         (8,          8,          8,       10,      10,           10),
    "overlap":            (0.4,        0.6,        0.4,     0.55,    0.6,          0.55),
    "stride_rounding": ("down",) * 6,
    "finest_level":       (1,          1,          1,       1,       1,            1),
    "coarsest_level":     (None,       None,       None,    5,       5,            5),
    "start":              ("global",   "global",   "zero",  "zero",  "zero",       "zero"),
    "max_iterations":     (5,          5,          5,       12,      12,           12),
    "newton":             (True,       True,       True,    False,   False,        False),
    "stop_step":          (0.04,       0.04,       0.04,    0.01,    0.01,         0.01),
    "min_disparity":      (0.0,        0.0,        0.0,     0.0,     0.0,          0.0),
    "max_disparity":      (None,       None,       None,    None,    None,         None),
    "align_rows":         ("auto",     "auto",     "off",   "off",   "off",        "off"),
    "row_offset":         (0.0,        0.0,        0.0,     0.0,     0.0,          0.0),
    "row_tilt":           (0.0,        0.0,        0.0,     0.0,     0.0,          0.0),
    "fusion":             ("bayes",    "bayes",    "bayes", "bayes", "bayes",      "residual"),
    "window_step":        (1.0,        1.0,        1.0,     0.5,     0.5,          0.5),
    "sigma_r":            (None,       None,       None,    None,    8.0,          None),
    "likelihood_area": ("patch",) * 6,
    "sigma_spatial":      (4.0,        4.0,        4.0,     4.0,     4.0,          4.0),
    "spatial_sum":        (False,      False,      False,   True,    True,         True),
    "propagate":          (True,       True,       True,    True,    False,        False),
    "level_weights":      ("2^n",      "2^n",      "1/n",   "1/n",   "1/n",        "1/n"),
    "smoothing":          (60.0,       60.0,       0.0,     0.0,     0.0,          0.0),
    "smoothing_edge":     (8.0,        8.0,        8.0,     8.0,     8.0,          8.0),
    "smoothing_rounds":   (1,          1,          1,       1,       1,            1),
    "outlier_distance":   (1.5,        1.5,        1.5,     1.5,     1.5,          1.5),
    "label_level":        (1,          0,          None,    None,    None,         None),
    "label_noise": (0.25,) * 6,
    "slanted":            (True,       True,       False,   False,   False,        False),
    "slanted_overlap": (0.6,) * 6,
    "sides": (True,) * 6,
    "refinement_rounds":  (2,          3,          0,       0,       0,            0),
    "refinement_smoothing": (25.0,     25.0,       25.0,    25.0,    25.0,         25.0),
    "refinement_slopes":  (True,) * 6,
    "highlights": (True,) * 6,
    "scatter_smoothing":  (60.0,       60.0,       60.0,    60.0,    60.0,         60.0),
    "dense":              (False,      False,      False,   False,   False,        False),
    "variance":           (False,      False,      False,   False,   False,        False),
    "sigma_scale":        (1.0,        1.0,        1.0,     1.0,     1.0,          1.0),
    "min_valid":          (0.25,       0.25,       0.25,    0.75,    0.75,         0.75),
    "min_support":        (0.22,       0.22,       0.22,    0.22,    0.22,         0.0),
    "min_probability":    (0.15,       0.07,       0.05,    0.15,    0.15,         0.0),
    "min_surface_probability": (0.41, 0.397, 0.41, 0.41, 0.41, 0.41),
    "min_island":         (0.005,      0.005,      0.005,   0.005,   0.005,        0.005),
    "max_difference": (0.6,) * 6,
    "segment_filter":     (True,       True,       True,    True,    True,         False),
    "threads":            (1,          1,          1,       1,       1,            1),
}
# fmt: on


def test_all_presets_and_settings_are_listed():
    assert tuple(bdis.PRESETS) == NAMES
    assert list(VALUES) == list(asdict(bdis.Settings()))


@pytest.mark.parametrize("preset", NAMES)
def test_values_of_a_preset(preset):
    column = NAMES.index(preset)
    assert asdict(bdis.PRESETS[preset]) == {name: values[column] for name, values in VALUES.items()}


def test_the_default_is_balanced():
    assert bdis.Settings() == bdis.PRESETS["balanced"]
