"""Weights and images made by a rule, so that a network's function can be checked without its published weights.

``python -m tests.networks.rule`` writes the vectors that CI compares with: names, shapes and outputs of our networks.
They were written when these agreed with the outputs of the authors' code that ``test_proof.py`` can compare with.
"""

import hashlib
from pathlib import Path

import numpy as np

VECTORS = Path(__file__).parent / "vectors"
SIZES = {"psmnet": (256, 272), "gwcnet-g": (64, 96), "gwcnet-gc": (64, 96)}  # height, width; PSMNet takes no less
MAX_DISPARITY = 32
MEAN, STD = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])


def tensor(name, shape):
    """The value of the tensor called ``name``, float32, or int64 for a count of batches."""
    if name.endswith(".num_batches_tracked"):
        return np.zeros(shape, np.int64)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    raw = np.random.PCG64(seed).random_raw(int(np.prod(shape)))  # a stream that NumPy guarantees
    u = (raw >> 11) * 2.0**-53
    s = (2 * u - 1) * np.sqrt(3)  # mean 0, variance 1
    if name.endswith(".running_var"):
        value = 0.5 + u
    elif name.endswith((".running_mean", ".bias")):
        value = 0.1 * s
    elif len(shape) == 1:
        value = 0.5 + 0.5 * u
    else:
        value = s / np.sqrt(np.prod(shape[1:])) * (32 if shape[0] == 1 else 1)
    return value.astype(np.float32).reshape(shape)


def images(height, width):
    """A pair of uint8 RGB images (height, width, 3) whose disparity grows from 6 to 15 px from top to bottom."""

    def scene(x, y, k):
        wave = (9 * x + 5 * y + 40 * k) % 512
        wave = np.where(wave > 255, 511 - wave, wave)
        grain = (x * x * (k + 3) + 7 * x * y + 31 * y) // 16 % 64
        return ((3 * wave + 4 * grain) // 4 % 256).astype(np.uint8)

    y, x, k = np.ogrid[:height, :width, :3]
    return scene(x, y, k), scene(x + 6 + 10 * y // height, y, k)


def network(name, max_disparity, *, align_corners=False):
    """Our network with weights made by the rule, in eval mode."""
    import torch

    from bdis.evaluation.networks.architectures import make_network

    made = make_network(name, max_disparity, align_corners=align_corners)
    made.load_state_dict(state(made))
    torch.set_num_threads(1)
    return made.eval()


def state(made):
    """The tensors of a network, made by the rule."""
    import torch

    return {key: torch.from_numpy(tensor(key, tuple(value.shape))) for key, value in made.state_dict().items()}


def as_input(image):
    """An image as the networks take it: normalised, channels first, a batch of one."""
    import torch

    return torch.from_numpy(((np.float32(image) / 255 - MEAN) / STD).transpose(2, 0, 1)[None].copy())


def disparity(made, pair):
    """What a network finds in a pair, float32 (h, w)."""
    import torch

    with torch.inference_mode():
        return made(*map(as_input, pair))[-1].disparity[0].numpy()


def shape_text(shape):
    return ",".join(map(str, shape))


if __name__ == "__main__":
    for each, size in SIZES.items():
        made = network(each, MAX_DISPARITY)
        np.savez_compressed(
            VECTORS / f"{each}.npz",
            names=list(made.state_dict()),
            shapes=[shape_text(value.shape) for value in made.state_dict().values()],
            disparity=disparity(made, images(*size))[::8, ::8],
            align_corners=disparity(network(each, MAX_DISPARITY, align_corners=True), images(*size))[::8, ::8],
        )
