"""The CRF window posterior of a patch [III-B, Eq. 4-6], for sixteen patches at once."""

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.simd import (
    as_float_bits,
    floor,
    gather,
    gather_pairs,
    lane_numbers,
    larger,
    select,
    smaller,
    splat,
    to_float,
    to_int,
)
from .patches import BEND, SHIFTS, SSD

LARGEST_MISS = 0.1  # of ln p, the paper's threshold of the residual [III-E]; as a mean square it would mark far fewer
_LOG2_E = float32(1.4426950408889634)
# exp2 on [0, 1): the polynomial of degree 5 with the smallest relative error (8e-8) that is exact at 0
_EXP2 = tuple(float32(c) for c in (1.0, 0.69315131, 0.24016445, 0.05579991, 0.00901703, 0.00186713))


@inner
def exp(x):
    """e^x for float lanes x <= 0, relative error below 1e-6 down to -8 and 6e-6 down to -87; then 0."""
    y = larger(x * splat(_LOG2_E), splat(float32(-126.5)))
    whole = floor(y)
    f = y - whole
    value = splat(_EXP2[5])
    value = value * f + splat(_EXP2[4])
    value = value * f + splat(_EXP2[3])
    value = value * f + splat(_EXP2[2])
    value = value * f + splat(_EXP2[1])
    value = value * f + splat(_EXP2[0])
    return value * as_float_bits((to_int(whole) + splat(int32(127))) << splat(int32(23)))


@inner
def table_sample(tables, place):
    """SSD of lane k's patch at ``place`` (px from its first shift): linear interpolation of the right image."""
    whole = to_int(place)
    a = place - to_float(whole)
    index = whole + lane_numbers() * splat(int32(SHIFTS))
    here, change = gather_pairs(tables, uint64(SSD), index)
    return here + a * (change + a * gather(tables, uint64(BEND), index))


@inner
def window_samples(tables, place, step):
    """SSD at 0, -2, -1, +1, +2 steps from ``place``."""
    near, far = splat(float32(step)), splat(float32(2) * float32(step))
    return (
        table_sample(tables, place),
        table_sample(tables, place - far),
        table_sample(tables, place - near),
        table_sample(tables, place + near),
        table_sample(tables, place + far),
    )


@inner
def likelihood_scale(centre, settings):
    """1 / (2 sigma_r^2 s^2) of Eq. 6: what turns an SSD into minus the logarithm of a likelihood."""
    count = float32(settings.patch_size * settings.patch_size)
    variance = larger(centre * splat(float32(1) / count), splat(float32(settings.min_variance)))
    if settings.fixed_variance > 0:
        variance = splat(float32(settings.fixed_variance))
    return splat(float32(0.5) / float32(settings.likelihood_area)) / variance


@inner
def window_variance(ssd, settings):
    """sigma_k^2 of Eq. 15-17, px^2 of the level: a straight line through the window's ln p over x^2, in closed form.

    ln p = a - b x^2 with sigma^2 = 1 / (2 b).  The paper's exceptions: where the line falls the wrong way, is flat or
    misses the samples by more than 0.1 (root mean square), sigma is half a patch.
    """
    centre, far_left, left, right, far_right = ssd
    scale = likelihood_scale(centre, settings)
    step = splat(float32(settings.window_step * settings.window_step))
    largest = splat(float32(settings.patch_size * settings.patch_size) * float32(0.25))
    near, far = (left + right - centre - centre) * scale, (far_left + far_right - centre - centre) * scale
    # x^2 is 0, 1, 1, 4, 4 steps^2: mean 2, sum of squares about it 14; ln p is relative to the centre's.
    two, tiny = splat(float32(2)), splat(float32(1e-12))
    fall = (far + far - near) * splat(float32(1 / 14))  # b in steps^-2
    height = (fall * two * splat(float32(5)) - near - far) * splat(float32(0.2))  # a
    a = height * height
    b_left, b_right = height - fall + surprise(centre, left, scale), height - fall + surprise(centre, right, scale)
    four = fall * splat(float32(4))
    c_left, c_right = (
        height - four + surprise(centre, far_left, scale),
        height - four + surprise(centre, far_right, scale),
    )
    miss = (a + b_left * b_left + b_right * b_right + c_left * c_left + c_right * c_right) * splat(float32(0.2))
    variance = step / larger(fall + fall, tiny)
    good = (fall > tiny) & (miss <= splat(float32(LARGEST_MISS * LARGEST_MISS))) & (variance < largest)
    return select(good, variance, largest)


@inner
def surprise(centre, sample, scale):
    """How much less likely a sample is than the centre: -ln of the ratio."""
    return (sample - centre) * scale


@inner
def window_posterior(ssd, settings):
    """Posterior of the centre among its window (Eq. 5 with Eq. 6) and whether it is the strict minimum [III-F].

    ``ssd``: five float vectors, the centre first.  sigma_r^2 is the centre's SSD per pixel unless fixed.
    """
    centre, far_left, left, right, far_right = ssd
    scale = likelihood_scale(centre, settings)
    is_minimum = (far_left > centre) & (left > centre) & (right > centre) & (far_right > centre)
    # Relative to the centre nothing underflows.  Where the centre is no minimum the value is not used.
    zero, one = splat(float32(0)), splat(float32(1))
    others = exp(smaller((centre - far_left) * scale, zero)) + exp(smaller((centre - left) * scale, zero))
    others = others + exp(smaller((centre - right) * scale, zero)) + exp(smaller((centre - far_right) * scale, zero))
    return one / (one + others), is_minimum
