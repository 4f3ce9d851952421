"""Networks in ONNX files: a small model that shifts, made here, is run like any other method."""

import numpy as np
import pytest

from tests.scenes import smooth_noise

pytest.importorskip("onnxruntime", reason="ONNX files need ONNX Runtime: make test-networks")
onnx = pytest.importorskip("onnx", reason="the tests make ONNX files with onnx: make test-networks")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from bdis.evaluation.networks.onnx_matcher import OnnxMatcher  # noqa: E402
from bdis.evaluation.networks.options import OnnxOptions  # noqa: E402

DISPARITIES = 8
ANY = ("h", "w")


def block_matcher(
    path, *, names=("left", "right"), size=ANY, kind=TensorProto.FLOAT, channels_last=False, channels=3,
    shape="map", scale=1.0, outputs=("disparity",),
):  # fmt: skip
    """Write a model that tries eight disparities: the one with the least mean difference over 5x5 px."""
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(operation, inputs, output, **attributes):
        nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output

    images = []
    for name in names:
        image = name if kind == TensorProto.FLOAT else node("Cast", [name], f"{name}.float", to=TensorProto.FLOAT)
        if channels_last:
            image = node("Transpose", [image], f"{name}.first", perm=[0, 3, 1, 2])
        images.append(node("ReduceMean", [image, constant(f"{name}.axes", np.int64([1]))], f"{name}.grey", keepdims=1))
    costs = []
    for d in range(DISPARITIES):
        pads = constant(f"pads{d}", np.int64([0, 0, 0, d, 0, 0, 0, -d]))
        moved = node("Pad", [images[1], pads], f"moved{d}", mode="constant")
        difference = node("Abs", [node("Sub", [images[0], moved], f"difference{d}")], f"absolute{d}")
        costs.append(node("AveragePool", [difference], f"cost{d}", kernel_shape=[5, 5], pads=[2, 2, 2, 2]))
    volume = node("Concat", costs, "volume", axis=1)
    best = node("ArgMin", [volume], "best", axis=1, keepdims=1)
    scaled = node("Mul", [node("Cast", [best], "levels", to=TensorProto.FLOAT), constant("scale", np.float32(scale))],
                  "whole")  # fmt: skip
    if shape == "half":  # the answer at half the size, in px of that
        half = node("AveragePool", [scaled], "half", kernel_shape=[2, 2], strides=[2, 2])
        scaled = node("Mul", [half, constant("two", np.float32(0.5))], "halved")
    if shape == "flow":
        scaled = node("Concat", [node("Neg", [scaled], "negative"), scaled], "flow", axis=1)
    for output in outputs:
        node("Identity", [scaled], output)
    given = [1, *size, channels] if channels_last else [1, channels, *size]
    graph = helper.make_graph(
        nodes, "small",
        [helper.make_tensor_value_info(name, kind, given) for name in names],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(model, path)
    return path


def pair(height=64, width=96, shift=5):
    wide = smooth_noise(height, width + shift, np.random.default_rng(1))
    return wide[:, :width], wide[:, shift:]


def matched(path, images=None, most=None, **options):
    left, right = images or pair()
    return OnnxMatcher(path, most, OnnxOptions(**options)).match(left, right)


def assert_shifted(result, shift=5.0, tolerance=0.01):
    inside = result.disparity[8:-8, 16:-8]
    assert np.isfinite(inside).mean() > 0.95
    assert np.nanmedian(inside) == pytest.approx(shift, abs=tolerance)


@pytest.mark.parametrize(
    "model",
    [
        {}, {"channels_last": True}, {"kind": TensorProto.UINT8}, {"kind": TensorProto.UINT8, "channels_last": True},
        {"channels": 1}, {"shape": "half"}, {"shape": "flow"}, {"size": (64, 96)}, {"size": (64, 112)},
        {"names": ("imgL", "imgR")}, {"names": ("input_l", "input_r")}, {"outputs": ("mask", "pred_disp")},
    ],
    ids=str,
)  # fmt: skip
def test_models_of_many_forms_are_understood(tmp_path, model):
    result = matched(block_matcher(tmp_path / "net.onnx", **model))
    assert result.disparity.shape == (64, 96)
    assert result.variance is None, "bdis bench gives it the confidence of bdis assess"
    assert_shifted(result, tolerance=0.2 if model.get("shape") == "half" else 0.01)


@pytest.mark.parametrize("size", [(33, 47), (64, 97), (50, 96)])
def test_images_of_any_size_are_padded(tmp_path, size):
    result = matched(block_matcher(tmp_path / "net.onnx"), pair(*size))
    assert result.disparity.shape == size
    assert_shifted(result)


def test_larger_images_are_resized_and_disparities_with_them(tmp_path):
    path = block_matcher(tmp_path / "net.onnx", size=(64, 96))
    left, right = pair(64, 96)
    twice = [np.repeat(np.repeat(image, 2, 0), 2, 1) for image in (left, right)]
    result = matched(path, twice)
    assert result.disparity.shape == (128, 192)
    assert_shifted(result, 10.0)
    with pytest.raises(ValueError, match=r"192x128, and net.onnx takes 96x64: they cannot be padded"):
        matched(path, twice, fit="pad")


def test_order_is_told_by_names_and_can_be_given(tmp_path):
    assert_shifted(matched(block_matcher(tmp_path / "named.onnx", names=("left_image", "right_image"))))
    unnamed = block_matcher(tmp_path / "unnamed.onnx", names=("a", "b"))
    assert_shifted(matched(unnamed))
    found = OnnxMatcher(unnamed, None, OnnxOptions(order="right-left"))
    assert (found._left.name, found._right.name) == ("b", "a")
    guessed = OnnxMatcher(unnamed)
    assert "'a' is the left image" in guessed.remarks[0]
    assert "pixels=imagenet" in guessed.remarks[0]
    assert OnnxMatcher(unnamed, None, OnnxOptions(order="left-right", pixels="0..1")).remarks == ()
    swapped = block_matcher(tmp_path / "swapped.onnx", names=("right", "left"))
    assert OnnxMatcher(swapped)._left.name == "left"


@pytest.mark.parametrize("pixels", ["imagenet", "0..1", "-1..1", "0..255"])
def test_pixels_are_given_in_the_range_that_was_asked_for(tmp_path, pixels):
    found = OnnxMatcher(block_matcher(tmp_path / "net.onnx"), None, OnnxOptions(pixels=pixels, channels="bgr"))
    image = np.zeros((64, 96, 3), np.float32)
    image[..., 0] = 1  # red
    blue, _, red = found._as_input(image, found._frame(64, 96), found._left)[0, :, 0, 0]
    expected = {"imagenet": (-0.406 / 0.225, 0.515 / 0.229), "0..1": (0, 1), "-1..1": (-1, 1), "0..255": (0, 255)}
    assert (blue, red) == pytest.approx(expected[pixels], abs=1e-5)


def test_scale_sign_and_range(tmp_path):
    assert_shifted(matched(block_matcher(tmp_path / "net.onnx", scale=-2.0), disparity_scale=-0.5))
    assert matched(block_matcher(tmp_path / "net.onnx"), most=3.0).coverage < 0.1


def test_what_is_no_stereo_network_is_told(tmp_path):
    (tmp_path / "text.onnx").write_text("no model")
    (tmp_path / "empty.onnx").write_bytes(b"")
    whole = block_matcher(tmp_path / "whole.onnx").read_bytes()
    (tmp_path / "part.onnx").write_bytes(whole[: len(whole) // 2])
    for name in ("text", "empty", "part"):
        with pytest.raises(ValueError, match="is no ONNX model that can be run|takes 0 inputs") as raised:
            OnnxMatcher(tmp_path / f"{name}.onnx")
        assert "\n" not in str(raised.value)
    with pytest.raises(FileNotFoundError):
        OnnxMatcher(tmp_path / "none.onnx")
    with pytest.raises(ValueError, match=r"has 2 outputs \(0: a, 1: b\); say which with output=NUMBER"):
        OnnxMatcher(block_matcher(tmp_path / "two.onnx", outputs=("a", "b")))
    assert_shifted(matched(tmp_path / "two.onnx", output=1))
    with pytest.raises(ValueError, match="has no output 2; there are 0: a, 1: b"):
        matched(tmp_path / "two.onnx", output=2)
    with pytest.raises(ValueError, match="has 5 channels; expected 3"):
        OnnxMatcher(block_matcher(tmp_path / "five.onnx", channels=5))


def test_three_inputs_and_a_vector_are_told(tmp_path):
    value = helper.make_tensor_value_info
    for names, shape, words in (
        (("a", "b", "c"), [1, 3, "h", "w"], r"takes 3 inputs \(a, b, c\); expected two images"),
        (("a", "b"), [1, 12], r"input 'a' is tensor\(float\) of shape \[1, 12\]; expected an image"),
    ):
        total = [helper.make_node("Sum", list(names), ["out"])]
        inputs = [value(name, TensorProto.FLOAT, shape) for name in names]
        graph = helper.make_graph(total, "sum", inputs, [value("out", TensorProto.FLOAT, None)])
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "sum.onnx"
        )
        with pytest.raises(ValueError, match=words):
            OnnxMatcher(tmp_path / "sum.onnx")


def test_a_model_that_fails_or_gives_no_map_is_told_in_one_line(tmp_path):
    value = helper.make_tensor_value_info
    inputs = [value(name, TensorProto.FLOAT, [1, 3, "h", "w"]) for name in ("left", "right")]
    both = helper.make_node("Sum", ["left", "right"], ["sum"])
    wrong = numpy_helper.from_array(np.int64([7, 7]), "wrong")
    for operation, words in (
        (helper.make_node("Reshape", ["sum", "wrong"], ["out"]), r"fails on 96x64 images: "),
        (helper.make_node("Identity", ["sum"], ["out"]), r"gives an array of shape \(1, 3, 64, 96\); expected one map"),
    ):
        graph = helper.make_graph([both, operation], "x", inputs, [value("out", TensorProto.FLOAT, None)], [wrong])
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "x.onnx"
        )
        with pytest.raises(ValueError, match=words) as raised:
            matched(tmp_path / "x.onnx")
        assert "\n" not in str(raised.value)
