"""What tells of errors at full resolution, pixel by pixel, and the variance that follows from it.

What the surface and the texture at the pixel tell together has the variance 1 / (1 / variance of the surface +
precision), as a posterior has, with a precision of (mean gradient of both images in 5x5 pixels / NOISE)^2.  To it
come, each with a weight (see ``bdis/matching/certainty.py``):

- the noise of the sensor over the texture, as least squares have it: (noise / gradient)^2 px^2;
- how far the map jumps within 3x3 pixels, times the mismatch of the images there: a depth edge in the wrong place;
- how far it lies from its label, times the variance of the surface: wide and narrow support disagree;
- its disparity, times the variance of the surface: what is near looks different to both cameras;
- how far a pixel lies from the mean of 9x9 around it, every second one of them: edges and folds;
- how far it was moved away from the surface;
- how uneven the rows of both images are, for all pixels alike: where rows disagree, so do columns, unseen.

The *mismatch* is how far the gradients of both images differ in a window of 5x5 pixels, divided by how strong they are:
0 if they agree, 1 if the one has texture where the other has none.

The posterior, jumps, labels and disparities count as far as the images differ *coherently*: the covariance of the
difference in one row with that in the next, in 5 rows and 17 columns, over its variance and a share of the texture's.
What is drawn in a wrong place, lit differently or not sharp differs alike in both rows.  The noise of a sensor does
not: it is what that covariance leaves of the variance, and has the term of its own above.  But where gradients are
hardly stronger than noise makes them, it hides whatever else differs, and is no sign that nothing does: there all of it
counts as coherent.
"""

import math

from numba import float32, int32, uint64

from ...vector.cache import inner
from ...vector.records import Floats, Ints, Record, Shorts
from ...vector.simd import (
    LANES,
    absolute,
    floor,
    gather_near_short_pairs,
    lane_numbers,
    larger,
    load,
    select,
    smaller,
    splat,
    square_root,
    store,
    to_float,
    to_int,
)
from .layout import PAD
from .spans import columns_near
from .windows import add_columns, add_rows, repeat_ends

WINDOW = 2  # px, gradients are compared in windows of 5x5
BESIDE = 8  # px to both sides, coherence is that of so many columns
ALTERNATE = 2  # of these columns
# What changing these does to the objective of the fit of the weights, the mean of the sets; none of it at all: 0.32.
HARDLY = 0.2  # (grey levels per px)^2: what differs by less, and has no texture, is coherent as is usual; 0.4: 0.04
USUAL = 0.6  # coherence of what can hardly be told; 0.4: 0
FLAT = 0.3  # (grey levels per px)^2, added to the texture that noise is divided by; 0.05: 0.003
OF_TEXTURE = 0.4  # share of the squared gradient beside which differences are coherent or not; 0.2: 0, 0: 0.11
AROUND = 4  # px, a pixel is compared with the mean of 9x9
EVERY = 2  # of the rows and columns of these
FAINT = 3.0  # grey levels per px: gradients weaker than this hardly differ
NOISE = 0.456  # grey levels: what gradients must exceed to fix a disparity to 1 px
LARGEST = 16.0  # px, larger distances count as this
TINY = 1e-6  # (grey levels per px)^2, so that no gradient at all is no division by 0
GUESS = 30.0  # px^2, a surface of such a variance is half a guess
FARTHEST_LABEL = 2.0  # px, likewise: a label further off is simply wrong
# px^2, rows are found to be as uneven as this where nothing is wrong with them.
EVEN = 0.0012
BLANK = -32768  # gradient of pixels whose brightness does not tell where they lie
KEPT = 2 * WINDOW + 1  # rows whose gradients are kept
SUMS = 7  # rows of a `DoubtLine` that are sums over rows of windows


class Cues(Record):
    """What a disparity is judged by.

    Attributes
    ----------
    surface, labels : ndarray of float32, shape (h, map stride)
        px, disparity of the surface and of the labels.
    gradient_left, gradient_right : ndarray of int16, shape (h, image stride)
        Twice the central difference.
    grey : float
        One grey level as stored.
    spans : ndarray of int32, shape (h / 16, 2)
        Columns that are judged, see spans.py.
    uneven_rows : float
        px^2, by how much rows differ from place to place.
    """

    surface: Floats
    labels: Floats
    gradient_left: Shorts
    gradient_right: Shorts
    grey: float
    spans: Ints
    uneven_rows: float


class DoubtWeights(Record):
    """Weights of the variance's terms, see above; px^2 of the image.

    Attributes
    ----------
    noise : float
        Of the noise over the texture.
    surface : float
        Of the variance of the surface alone.
    joint : float
        Of that of surface and texture together.
    jump, bend, move : float
        Of the squares of what is listed above.
    label, near : float
        Of these products, per px; ``near`` that of the disparity, by which the views lie apart.
    hole : float
        Of the variance of the surface where that is large, in addition: a guess across a hole.
    rows : float
        Of how uneven rows are.
    coherent : float
        0 to 1: how much the posterior, jumps, labels and near things depend on the coherence of differences.
    unseen : float
        px^2, for pixels that the right camera does not see and that keep their disparity.
    largest_surface : float
        px^2, the variance of the surface where it is unknown, or larger.
    """

    noise: float
    surface: float
    joint: float
    jump: float
    bend: float
    move: float
    label: float
    near: float
    hole: float
    rows: float
    coherent: float
    unseen: float
    largest_surface: float


class DoubtLine(Record):
    """Room for one thread.

    Attributes
    ----------
    difference, strength : ndarray of float32, shape (KEPT, map stride)
        Gradient of the left image less that of the right one, and the sum of their sizes; twice grey levels as stored
        per px.  Row y of the picture is in row y % KEPT.
    sums : ndarray of float32, shape (SUMS, 16 + map stride + 16)
        Sums over the rows of windows: size of the difference, strength, disparity; the smallest and largest disparity
        of three rows; the product of the differences of neighbouring rows, and the mean of their squares.
    mismatch : ndarray of float32, shape (1, map stride)
        Of the pixels of a row.
    size : ndarray of float32, shape (1, map stride)
        Grey levels per px, how far gradients differ on average in their windows, beyond what noise explains.
    variance : ndarray of float32, shape (1, map stride)
        px^2, of the pixels of a row.
    """

    difference: Floats
    strength: Floats
    sums: Floats
    mismatch: Floats
    size: Floats
    variance: Floats


@inner
def compare_gradients(disparity, cues, y, line):
    """How far the gradients of both images differ in row ``y`` under the disparity, and how strong they are."""
    row, slot, width = uint64(y), uint64(y % KEPT), disparity.width
    zero, last, sixteen = splat(float32(0)), splat(float32(width - 1)), splat(int32(16))
    first, stop = columns_near(cues.spans, y - WINDOW, y + WINDOW, LANES, width)
    for x in range(uint64(first), uint64(stop), uint64(LANES)):
        place = to_float(lane_numbers() + splat(int32(x))) - load(disparity.values, row, x)
        place = smaller(larger(place, zero), last)
        whole = floor(place)
        pair = gather_near_short_pairs(cues.gradient_right, row, to_int(whole) + splat(int32(PAD)))
        here, there = to_float((pair << sixteen) >> sixteen), to_float(pair >> sixteen)
        right = here + (place - whole) * (there - here)
        stored = load(cues.gradient_left, row, x + uint64(PAD))
        left, is_blank = to_float(stored), stored == splat(int32(BLANK))
        store(line.difference, slot, x, select(is_blank, zero, left - right))
        store(line.strength, slot, x, select(is_blank, zero, absolute(left) + absolute(right)))


@inner
def add_kept_rows(rows, y, height, width, sums, which, columns):
    """Sums over the rows of windows around row ``y``, from column 16 of row ``which`` of ``sums`` on."""
    for x in range(uint64(columns[0]), uint64(columns[1]), uint64(LANES)):
        total = load(rows, uint64(y % KEPT), x)
        for k in range(1, WINDOW + 1):
            above, below = uint64(max(y - k, 0) % KEPT), uint64(min(y + k, height - 1) % KEPT)
            total += load(rows, above, x) + load(rows, below, x)
        store(sums, which, uint64(LANES) + x, total)
    repeat_ends(sums, which, width)


@inner
def add_differences(rows, y, height, width, sums, columns):
    """As `add_kept_rows`, of the size of differences; and of products and squares of the rows that are neighbours."""
    size, product, square, half = uint64(0), uint64(5), uint64(6), splat(float32(0.5))
    for x in range(uint64(columns[0]), uint64(columns[1]), uint64(LANES)):
        above = load(rows, uint64(max(y - WINDOW, 0) % KEPT), x)
        sizes, squares = absolute(above), above * above
        products = half_squares = splat(float32(0))
        for k in range(1 - WINDOW, WINDOW + 1):
            here = load(rows, uint64(min(max(y + k, 0), height - 1) % KEPT), x)
            sizes += absolute(here)
            before, squares = squares, here * here
            if 0 < y + k < height:
                products += above * here
                half_squares += half * (before + squares)
            above = here
        at = uint64(LANES) + x
        store(sums, size, at, sizes)
        store(sums, product, at, products)
        store(sums, square, at, half_squares)
    repeat_ends(sums, size, width)
    repeat_ends(sums, product, width)
    repeat_ends(sums, square, width)


@inner
def differences_around(sums, x, grey):
    """Around sixteen pixels: what the differences of neighbouring rows have in common, and what not, which is noise.

    Both are mean squares, (grey levels per px)^2.
    """
    summed = 2 * WINDOW * (2 * BESIDE // ALTERNATE + 1)  # pairs of rows, and columns
    share, zero = splat(float32(1 / (summed * (2 * grey) ** 2))), splat(float32(0))  # gradients are stored twice
    alike = larger(add_columns(sums, uint64(5), x, BESIDE, ALTERNATE) * share, zero)
    return alike, larger(add_columns(sums, uint64(6), x, BESIDE, ALTERNATE) * share - alike, zero)


@inner
def coherence_of(alike, noise, texture):
    """How coherently the images differ, 0 to 1; ``texture`` is the square of the gradient of one image."""
    hardly, of_texture = splat(float32(HARDLY)), splat(float32(OF_TEXTURE))
    # Of noise of variance v the mean size is sqrt(2 v / pi): how much of the gradients may be noise?
    hidden = smaller(noise / (splat(float32(math.pi)) * texture + splat(float32(TINY))), splat(float32(1)))
    coherent = alike + hidden * hidden * noise + splat(float32(USUAL)) * hardly
    return coherent / (alike + noise + hardly + of_texture * texture)


@inner
def limits_of_rows(disparity, y, height, width, sums, columns):
    """Smallest and largest disparity of three rows, in rows 3 and 4 of ``sums``."""
    above, below = uint64(max(y - 1, 0)), uint64(min(y + 1, height - 1))
    for x in range(uint64(columns[0]), uint64(columns[1]), uint64(LANES)):
        upper, here, lower = load(disparity, above, x), load(disparity, uint64(y), x), load(disparity, below, x)
        store(sums, uint64(3), uint64(LANES) + x, smaller(smaller(upper, lower), here))
        store(sums, uint64(4), uint64(LANES) + x, larger(larger(upper, lower), here))
    repeat_ends(sums, uint64(3), width)
    repeat_ends(sums, uint64(4), width)


@inner
def jump_at(sums, x):
    """Largest less smallest disparity of 3x3 pixels around sixteen."""
    at, one, low, high = uint64(LANES) + x, uint64(1), uint64(3), uint64(4)
    smallest = smaller(smaller(load(sums, low, at - one), load(sums, low, at + one)), load(sums, low, at))
    largest = larger(larger(load(sums, high, at - one), load(sums, high, at + one)), load(sums, high, at))
    return largest - smallest


@inner
def doubt_row(disparity, surface_variance, cues, weights, y, line):
    """Mismatch, size of differences and variance of row ``y``, the gradients of the rows around which were compared.

    ``surface_variance`` has the rows of the result, without padding.
    """
    values, width = disparity.values, disparity.width
    height, sums, row, nothing = values.shape[0], line.sums, uint64(y), uint64(0)
    begin, end = columns_near(cues.spans, y, y, 0, width)
    around = columns_near(cues.spans, y, y, LANES, width)  # windows reach beyond
    add_differences(line.difference, y, height, width, sums, around)
    add_kept_rows(line.strength, y, height, width, sums, uint64(1), around)
    add_rows(values, y, height, width, AROUND, EVERY, sums, uint64(2), around)
    limits_of_rows(values, y, height, width, sums, around)
    mean = splat(float32(1 / (2 * cues.grey * (2 * WINDOW + 1) ** 2)))  # gradients are stored twice
    of_noise = splat(float32(math.sqrt(2 / math.pi)))  # mean size of noise, as a share of its standard deviation
    faint = splat(float32(FAINT * 2 * cues.grey * (2 * WINDOW + 1) ** 2))
    share_of_one, largest = splat(float32(1 / (2 * AROUND // EVERY + 1) ** 2)), splat(float32(LARGEST))
    by_surface, by_jump = splat(float32(weights.surface)), splat(float32(weights.jump))
    by_bend, by_move = splat(float32(weights.bend)), splat(float32(weights.move))
    by_hole, guess = splat(float32(weights.hole)), splat(float32(GUESS * GUESS))
    largest_of_surface = splat(float32(weights.largest_surface))
    by_joint, one = splat(float32(weights.joint)), splat(float32(1))
    # The sums have gradients of two images, twice central differences.
    sharpness = splat(float32((1 / (4 * NOISE * cues.grey * (2 * WINDOW + 1) ** 2)) ** 2))
    of_texture = splat(float32(1 / (2 * (2 * WINDOW + 1) ** 2 * 2 * cues.grey)))  # of one image, grey levels per px
    by_noise, flat = splat(float32(weights.noise)), splat(float32(FLAT))
    by_label, farthest = splat(float32(weights.label)), splat(float32(FARTHEST_LABEL))
    by_near = splat(float32(weights.near))
    coherent, steady = splat(float32(weights.coherent)), splat(float32(1 - weights.coherent))
    everywhere = splat(float32(weights.rows * max(cues.uneven_rows - EVEN, 0.0)))
    while begin < end:
        begin = min(begin, width - LANES)  # the last sixteen overlap
        x = uint64(begin)
        begin += LANES
        strength = add_columns(sums, uint64(1), x, WINDOW, 1)
        difference = add_columns(sums, uint64(0), x, WINDOW, 1)
        mismatch = difference / (strength + faint)
        value = load(values, row, x)
        jump = smaller(jump_at(sums, x), largest) * mismatch
        bend = smaller(absolute(value - add_columns(sums, uint64(2), x, AROUND, EVERY) * share_of_one), largest)
        move = smaller(absolute(value - load(cues.surface, row, x)), largest)
        apart = smaller(absolute(value - load(cues.labels, row, x)), farthest)
        of_surface = smaller(load(surface_variance, row, x), largest_of_surface)  # also if NaN
        squared = of_surface * of_surface
        guessed = by_hole * squared / (squared + guess)
        variance = by_joint / (one / of_surface + sharpness * strength * strength) + by_jump * jump * jump
        variance += (by_label * apart + by_near * absolute(value)) * of_surface
        alike, noise = differences_around(sums, x, cues.grey)
        texture = strength * of_texture
        texture = texture * texture
        variance = variance * (steady + coherent * coherence_of(alike, noise, texture))
        variance += by_noise * noise / (texture + flat)
        variance += (by_surface + guessed) * of_surface + by_bend * bend * bend + by_move * move * move + everywhere
        store(line.mismatch, nothing, x, mismatch)
        store(line.size, nothing, x, larger(difference * mean - of_noise * square_root(noise), splat(float32(0))))
        store(line.variance, nothing, x, variance)
