"""Results, matchers, rigs, rectifiers and frames in a line, in a notebook and in a figure: short, true and harmless."""

import base64
import inspect
import re
import subprocess
import sys
import time
import typing
from html.parser import HTMLParser

import numpy as np
import pytest

import bdis
from bdis.common.declared import declarations
from bdis.display.card import card
from bdis.display.colors import UNKNOWN_ON_LIGHT, color_table
from bdis.display.map_picture import MapPicture
from bdis.display.thumbnail import MAX_PIXELS, thumbnail
from bdis.matching.setting_names import SettingNames
from bdis.synthetic.renderer import render
from bdis.video.sources.source import StereoFrame
from bdis.video.stream.depth_stream import DepthFrame

HEIGHT, WIDTH = 64, 96


@pytest.fixture(scope="module")
def pair():
    return render("tissue", HEIGHT, WIDTH, seed=2)


@pytest.fixture(scope="module")
def result(pair):
    return bdis.StereoMatcher("fast", variance=True).match(pair.left, pair.right)


@pytest.fixture(scope="module")
def rig(pair):
    return bdis.Rig(pair.focal_px, (WIDTH - 1) / 2, (HEIGHT - 1) / 2, pair.baseline_mm, size=(WIDTH, HEIGHT))


@pytest.fixture(scope="module")
def rectifier():
    matrix = np.array([[90, 0, 47.5], [0, 90, 31.5], [0, 0, 1]])
    bent = np.array([-0.2, 0, 0, 0, 0])
    return bdis.StereoCalibration(matrix, bent, matrix, bent, np.eye(3), [-5, 0, 0], size=(WIDTH, HEIGHT)).rectify()


@pytest.fixture
def pyplot():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    yield plt
    plt.close("all")


def frame_of(pair, result, is_suspect=False):
    return DepthFrame(3, 0.12, pair.left, pair.right, result, is_suspect, 0.001, 0.0, 0.0042, 0.0, lost_before=2)


def test_pairs_clouds_cameras_and_frames_do_not_print_their_arrays(pair, result, rig, rectifier):
    frame = StereoFrame(3, 0.12, pair.left, pair.right, is_suspect=True)
    assert repr(frame) == "StereoFrame(3 at 0.120 s, 96x64, suspect: decoded from a damaged frame)"
    assert re.fullmatch(
        r"RenderedPair\(96x64, [\d.]+ to [\d.]+ mm away, focal 81\.6 px, baseline 5\.00 mm\)", repr(pair)
    )
    assert repr(rectifier.cameras) == "StereoCalibration(96x64 pinhole, focal 90.0 and 90.0 px, 5.00 mm apart)"
    assert re.fullmatch(r"Cloud\(\d+ points, with sigma\)", repr(rig.cloud(result)))
    assert re.fullmatch(r"Cloud\(\d+ points, with colours, with sigma\)", repr(rig.cloud(result, colors=pair.left)))


def test_a_white_picture_is_seen_on_a_white_page(rectifier):
    assert rectifier._repr_html_().count("outline:1px solid") == 2


def noise(height, width, variance=True):
    """A result that hardly compresses."""
    rng = np.random.default_rng(0)
    one = rng.uniform(1, 90, (height, width)).astype(np.float32)
    return bdis.StereoResult(one, rng.random(one.shape, np.float32), one if variance else None)


class Tags(HTMLParser):
    """Checks that all elements are closed, and gathers them."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text += text


def test_reprs_are_one_line_and_say_what_counts(pair, result, rig, rectifier):
    assert re.fullmatch(
        r"StereoResult\(96x64, \d+\.\d% known, disparity \d+\.\d px and sigma \d\.\d\d px on median, "
        r"matched in \d+\.\d ms\)",
        repr(result),
    )
    assert repr(frame_of(pair, result)) == (
        f"DepthFrame(3 at 0.120 s, 96x64, {result.coverage:.1%} known, matched in 4.2 ms, 2 lost before it)"
    )
    assert "suspect: decoded from a damaged frame" in repr(frame_of(pair, result, is_suspect=True))
    seen = rectifier.left_seen.mean()
    assert repr(rectifier).startswith("Rectifier(96x64 pinhole, focal ")
    assert f"{seen:.1%} of the left" in repr(rectifier)
    assert eval(repr(rig), {"Rig": bdis.Rig}) == rig
    for each in (result, rig, rectifier, frame_of(pair, result)):
        assert "\n" not in repr(each)
        assert len(repr(each)) < 200


@pytest.mark.parametrize("preset", bdis.PRESETS)
def test_repr_of_a_matcher_makes_the_same_matcher(preset):
    changes = {"threads": 2, "sigma_scale": 1.5, "max_disparity": 40.0}
    for given in ({}, changes):
        matcher = bdis.StereoMatcher(preset, **given)
        assert eval(repr(matcher), {"StereoMatcher": bdis.StereoMatcher}).settings == matcher.settings
        assert repr(matcher).startswith(f"StereoMatcher({preset!r}")


def test_a_result_of_nothing_has_a_repr_and_a_page():
    nothing = np.full((40, 50), np.nan, np.float32)
    for variance in (None, nothing):
        empty = bdis.StereoResult(nothing, np.zeros_like(nothing), variance)
        assert repr(empty) == "StereoResult(50x40, 0.0% known)"
        assert "unknown everywhere" in empty._repr_html_()


def test_html_is_well_formed_small_quick_and_has_no_script(pair, result, rig, rectifier):
    matcher = bdis.StereoMatcher("fast", variance=True)
    large = noise(1080, 1920)
    big_frame = frame_of(type("Pair", (), {"left": np.zeros((1080, 1920, 3), np.uint8), "right": None}), large)
    for each in (result, rig, rectifier, matcher, frame_of(pair, result), noise(121, 161), large, big_frame):
        begin = time.process_time()  # of this process: others may be at work as well
        html = each._repr_html_()
        assert time.process_time() - begin < 1.0
        assert len(html) < 100_000
        tags = Tags(html)
        assert {tag for tag, _ in tags.found} <= {
            "div", "b", "span", "table", "tr", "td", "figure", "figcaption", "img", "details", "summary",
        }  # fmt: skip
        for tag, attributes in tags.found:
            if tag == "img":
                assert attributes["alt"]
                assert attributes["src"].startswith("data:image/png;base64,")
    assert "4.2 ms" in Tags(frame_of(pair, result)._repr_html_()).text
    assert "variance" in Tags(matcher._repr_html_()).text
    assert "True instead of False" in Tags(matcher._repr_html_()).text


def test_alt_text_says_what_the_map_holds():
    values = np.full((40, 50), 20.0, np.float32)
    values[:20] = np.nan
    html = bdis.StereoResult(values, np.ones_like(values))._repr_html_()
    assert "alt='disparity: known for 50% of the pixels, median 20 px, 98 % of them from 20 to 20 px'" in html


def test_warnings_stand_on_the_page_and_above_the_figure(pair, pyplot):
    result = bdis.StereoMatcher("fast").match(pair.left, pair.left)
    assert "left and right are the same picture" in result._repr_html_()
    figure = result.plot()[0].figure
    assert "Warning: left and right are the same picture" in figure.get_suptitle()
    assert figure._suptitle.get_color() == "#b3261e"


def test_text_of_strangers_is_text():
    nasty = "<img src=x onerror=alert(1)>'\"\x1b[2J"
    html = card(
        nasty, [(nasty, nasty)], [MapPicture(nasty, np.ones((4, 4)), "gray", (0, 1), nasty)], [nasty], [(nasty, nasty)]
    )
    tags = Tags(html)
    assert [attributes["src"][:10] for tag, attributes in tags.found if tag == "img"] == ["data:image"]
    assert not any("onerror" in attributes for _, attributes in tags.found)


def test_a_thumbnail_shows_values_and_unknown_pixels_in_their_colours():
    cv2 = pytest.importorskip("cv2")
    values = np.float32([[0, 50, 100], [np.nan, np.inf, 500]])
    png = np.frombuffer(thumbnail(values, "turbo", (0, 100)), np.uint8)
    shown = cv2.imdecode(png, cv2.IMREAD_COLOR)[..., ::-1]
    table = color_table("turbo", UNKNOWN_ON_LIGHT)
    assert (shown == table[[[1, 128, 255], [0, 0, 255]]]).all()
    large = cv2.imdecode(np.frombuffer(thumbnail(np.ones((999, 1999)), "gray", (0, 1)), np.uint8), cv2.IMREAD_COLOR)
    assert large.shape[0] * large.shape[1] <= MAX_PIXELS


def test_colours_are_those_of_matplotlib():
    matplotlib = pytest.importorskip("matplotlib")
    for name in ("turbo", "turbo_r", "viridis", "magma", "plasma", "gray"):
        wanted = 255 * matplotlib.colormaps[name](np.linspace(0, 1, 255))[:, :3]
        assert np.abs(color_table(name, (0, 0, 0))[1:] - wanted).max() < 8.5


def test_html_needs_neither_opencv_nor_matplotlib():
    code = (
        "import sys; sys.modules['cv2'] = sys.modules['matplotlib'] = None\n"
        "import numpy as np, bdis\n"
        "one = np.ones((40, 50), np.float32)\n"
        "print(len(bdis.StereoResult(one, one, one)._repr_html_() + bdis.StereoMatcher()._repr_html_()) > 1000)\n"
        "try: bdis.StereoResult(one, one).plot()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown, message = done.stdout.splitlines()
    assert shown == "True"
    assert re.fullmatch(r'a plot needs matplotlib: .* install "matplotlib>=[\d.]+"', message)


# ------------------------------------------------------------ figures


def texts_of(axes):
    return [axis.get_title(loc="left") for axis in axes], [axis.images[0].colorbar.ax.get_ylabel() for axis in axes]


def test_plots_have_units_and_unknown_pixels_are_unknown(result, rig, pair, pyplot):
    assert texts_of(result.plot()) == (["disparity", "standard deviation"], ["px", "px"])
    without = bdis.StereoResult(result.disparity, result.probability)
    assert texts_of(without.plot()) == (["disparity", "probability"], ["px", "0 to 1"])
    titles, units = texts_of(rig.plot_depth(result, pair.left, max_depth_mm=60))
    assert titles == ["left image", "depth", "standard deviation of the depth"]
    assert units[1:] == ["mm", "mm"]
    axes = rig.plot_depth(result, max_depth_mm=60)
    depth = rig.depth(result, max_depth_mm=60)
    for axis in axes:
        assert (np.ma.getmaskarray(axis.images[0].get_array()) == np.isnan(depth)).all()
    axes[0].figure.canvas.draw()
    assert f"{np.isfinite(depth).mean():.1%} of the pixels have a depth" == axes[0].figure.get_suptitle()
    with pytest.raises(ValueError, match="left is 95x64 but the result is 96x64"):
        rig.plot_depth(result, pair.left[:, 1:])


def test_a_few_outliers_do_not_compress_the_colours(pyplot):
    disparity = np.tile(np.linspace(20, 30, 100, dtype=np.float32), (100, 1))
    disparity[0, :5] = 5000, -5000, np.inf, 1e30, np.nan
    low, high = bdis.StereoResult(disparity, np.ones_like(disparity)).plot()[0].images[0].get_clim()
    assert 18 < low < 21
    assert 29 < high < 32


def test_compare_shows_the_error_where_both_are_known(pyplot):
    mine, theirs = np.full((2, 40, 60), 20.0, np.float32)
    mine[:10], theirs[:, :30] = np.nan, np.nan
    theirs[20:, 30:] = 22.5
    result = bdis.StereoResult(mine, np.ones_like(mine))
    for reference in (theirs, bdis.StereoResult(theirs, theirs), np.where(np.isnan(theirs), np.inf, theirs)):
        axes = result.compare(reference)
        error = axes[2].images[0].get_array()
        assert (np.ma.getmaskarray(error) == (np.isnan(mine) | np.isnan(theirs))).all()
        assert axes[0].images[0].get_clim() == axes[1].images[0].get_clim()
        assert axes[0].figure.get_suptitle() == (
            "median error 2.50 px, 33.3% of the errors below 1 px; 75.0% of the pixels with a reference are known"
        )
    nothing = np.full_like(mine, np.nan)
    assert result.compare(nothing)[0].figure.get_suptitle().startswith("no pixel is known in both")
    with pytest.raises(ValueError, match="the reference is 60x39 but the result is 60x40"):
        result.compare(theirs[1:])


def test_plot_pair_draws_the_same_rows_in_both(pair, pyplot):
    axes = bdis.plot_pair(pair.left, pair.right, title="$a$ of\x1b[2J")
    rows = [[line.get_ydata()[0] for line in axis.lines] for axis in axes]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 9
    assert axes[0].figure.get_suptitle() == "$a$ of\\x1b[2J"
    axes[0].figure.canvas.draw()
    with pytest.raises(ValueError, match="left and right are 96x64 and 95x64"):
        bdis.plot_pair(pair.left, pair.right[:, 1:])


def test_error_maps_outline_highlights(pair, rig, result, tmp_path, pyplot, monkeypatch):
    drawn = []
    from bdis.files import preview

    draw = preview.draw_panels
    monkeypatch.setattr(preview, "draw_panels", lambda figure, panels, title: drawn.append(draw(figure, panels, title)))
    left = pair.left.copy()
    left[20:30, 40:50] = 255
    for image, words in ((left, "depth error (outlined: highlights)"), (np.full_like(left, 80), "depth error")):
        bdis.write_preview(tmp_path / "preview.png", image, result, rig, true_depth_mm=pair.depth_mm)
        last = drawn[-1][-1]
        assert last.get_title(loc="left") == words
        assert bool(last.collections) == ("outlined" in words)


# ------------------------------------------------------------ points


def test_points_are_those_of_the_cloud_and_unknown_elsewhere(result, rig):
    points = rig.points(result, max_depth_mm=70)
    assert points.shape == (HEIGHT, WIDTH, 3)
    assert points.dtype == np.float32
    known = np.isfinite(rig.depth(result, max_depth_mm=70))
    assert (np.isfinite(points).all(2) == known).all()
    assert (np.isnan(points).all(2) == ~known).all()
    assert np.array_equal(points[known], rig.cloud(result, max_depth_mm=70).points)
    with pytest.raises(ValueError, match="the calibration is for"):
        rig.points(result.disparity[1:])
    with pytest.raises(ValueError, match=r"expected \(height, width\)"):
        bdis.Rig(500, 0, 0, 5).points(np.ones(3, np.float32))


def test_a_point_at_infinity_is_no_point():
    tiny = np.full((1, 2), 1e-45, np.float32)
    assert np.isnan(bdis.Rig(500, 0, 0, 5).points(tiny)).all()


# ------------------------------------------------------------ settings


def test_settings_as_keywords_are_the_declared_ones():
    hints = typing.get_type_hints(SettingNames)
    assert hints == typing.get_type_hints(bdis.Settings)
    assert list(hints) == list(declarations(bdis.Settings))
    assert SettingNames.__required_keys__ == frozenset()


def test_help_and_signature_of_the_matcher_list_all_settings():
    parameters = inspect.signature(bdis.StereoMatcher).parameters
    assert list(parameters) == ["preset", *declarations(bdis.Settings)]
    assert str(parameters["dense"]) == "dense: bool = <as in the preset>"
    for name, declared in declarations(bdis.Settings).items():
        assert f"\n{name} : {declared.type_text}" in bdis.StereoMatcher.__doc__
    bdis.StereoMatcher("fast", dense=True)
    with pytest.raises(ValueError, match="unknown setting wide"):
        bdis.StereoMatcher(wide=True)


def test_base64_of_a_thumbnail_is_whole(result):
    for source in re.findall(r"base64,([^']+)'", result._repr_html_()):
        assert base64.b64decode(source, validate=True).endswith(b"IEND\xaeB`\x82")
