"""Ray tracing of a rendered scene: a wall (folds or a tunnel) and rods in front of it.

Lengths are mm, float64; directions are unit vectors.  The arrays that describe a scene:

``wall`` (n, 8): row 0 is kind, 1 / steepest change of the gap, least step, farthest distance, size of a texture tile,
    sharpest bend of the gap along a ray (1 / mm).
    kind 0, Z = f(X, Y): row 1 is depth, slope along x, slope along y; further rows are waves: kx, ky, phase, height.
    kind 1, a tunnel along Z: row 1 is radius, distance between folds, 1 / width of a fold, triangularity, 1 / distance;
    rows 2 and 3 bend it along x and y: amplitude, 1 / wave length, phase in waves; further rows are folds: place in
    units of their distance, tilt along x and y, height as a share of the radius, direction of the crest (cos, sin).
``rods`` (m, 8): two ends, radius, material; a rod without length is a ball.
``camera`` (5, 3): position; the camera's x, y and z axis in the world; focal_px, cx, cy.
``light`` (3, 4): lamp x, y, z, kind (0 diffuse, 1 headlight); axis x, y, z, reference distance;
    highlights, texture, smoke, drift of the smoke.
"""

import math

import numpy as np
from numba import float64, int64, void

from ...vector.array_types import BYTES, NUMBERS
from ...vector.cache import inner, kernel

BLOCK = 4  # pixels along a side that share the start of their rays
FOLDS = 64  # distinct folds of a tunnel before they repeat


@inner
def wave(t):
    """Approximately sin(2 pi t), from parabolas, which is faster than a sine."""
    t -= math.floor(t + 0.5)
    return 8.0 * t - 16.0 * t * abs(t)


@inner
def gap_at(wall, x, y, z):
    """Signed distance measure: positive in front of the wall, negative behind it, 0 on it."""
    if wall[0, 0] == 0.0:
        height = wall[1, 0] + wall[1, 1] * x + wall[1, 2] * y
        for k in range(2, wall.shape[0]):
            height += wall[k, 3] * math.sin(wall[k, 0] * x + wall[k, 1] * y + wall[k, 2])
        return height - z
    x -= wall[2, 0] * wave(wall[2, 1] * z + wall[2, 2])
    y -= wall[3, 0] * wave(wall[3, 1] * z + wall[3, 2])
    rho = math.sqrt(x * x + y * y) + 1e-9
    inverse = 1.0 / rho
    c, s = x * inverse, y * inverse
    spacing, per_width = wall[1, 1], wall[1, 2]
    nearest = int64(math.floor(z * wall[1, 4]))
    narrow = wall[1, 3] * c * (4.0 * c * c - 3.0)  # cos(3 theta): three bands of muscle make a lumen triangular
    for k in range(nearest - 1, nearest + 2):
        f = 4 + (k & (FOLDS - 1))
        q = (z - (k + wall[f, 0]) * spacing - c * wall[f, 1] - s * wall[f, 2]) * per_width
        near = 1.0 - q * q * (1.0 / 9.0)
        if near > 0.0:
            crest = 0.55 + 0.45 * (c * wall[f, 4] + s * wall[f, 5])
            narrow += wall[f, 3] * crest * near * near * near / (1.0 + q * q)
    return wall[1, 0] * (1.0 - narrow) - rho


@inner
def _refine(wall, ox, oy, oz, dx, dy, dz, a, gap_a, b, gap_b):
    """The zero between ``a`` and ``b`` by false position (Illinois), to 1e-8 of the distance."""
    side = 0
    for _ in range(100):
        t = b - gap_b * (b - a) / (gap_b - gap_a)
        gap = gap_at(wall, ox + t * dx, oy + t * dy, oz + t * dz)
        if gap > 0:
            if t - a < 1e-8 * t and side == 1:
                return t
            a, gap_a = t, gap
            if side == 1:
                gap_b *= 0.5
            side = 1
        else:
            if b - t < 1e-8 * t:
                return t
            b, gap_b = t, gap
            if side == -1:
                gap_a *= 0.5
            side = -1
        if b - a < 1e-8 * b:
            break
    return 0.5 * (a + b)


@inner
def _march(wall, ox, oy, oz, dx, dy, dz, start, limit):
    """Distance to the wall along a ray, or ``limit``: steps that cannot jump over a fold, then false position.

    Nothing is expected nearer than ``start``.
    """
    factor, least = wall[0, 1], wall[0, 2]
    t, gap = start, gap_at(wall, ox + start * dx, oy + start * dy, oz + start * dz)
    if gap <= 0:
        t, gap = 0.0, gap_at(wall, ox, oy, oz)
        if gap <= 0:
            return 0.0
    bend, near = wall[0, 5], 0.2 * wall[1, 0]
    rate, step = 0.0, 0.0  # the rate at which the gap closed over the last step
    while t < limit:
        if step > 0 and gap < near:
            now = max(0.0, rate + 0.5 * bend * step)  # upper bound: the rate grows by at most `bend` per mm
            step = max(factor * gap, least, 2 * gap / (now + math.sqrt(now * now + 2 * bend * gap) + 1e-9))
        else:
            step = max(factor * gap, least)
        if 1.02 * gap < 10 * least * rate:  # nearly there: step across instead of approaching ever slower
            step = max(step, 1.02 * gap / rate)
        ahead = t + step
        gap_ahead = gap_at(wall, ox + ahead * dx, oy + ahead * dy, oz + ahead * dz)
        if gap_ahead <= 0:
            return min(limit, _refine(wall, ox, oy, oz, dx, dy, dz, t, gap, ahead, gap_ahead))
        rate = (gap - gap_ahead) / step
        t, gap = ahead, gap_ahead
    return limit


@inner
def _clear(wall, ox, oy, oz, dx, dy, dz, spread):
    """Distance up to which a cone that widens by ``spread`` mm per mm is free of the wall: its rays can start there."""
    t = 0.0
    while t < wall[0, 3]:
        free = wall[0, 1] * gap_at(wall, ox + t * dx, oy + t * dy, oz + t * dz)
        ahead = (t + free) / (1 + spread)
        if ahead < t + max(wall[0, 2], 0.01 * t):
            break
        t = ahead
    return t


@inner
def _rod(rods, k, ox, oy, oz, dx, dy, dz):
    """Distance to rod ``k`` with its round ends, or infinity."""
    ax, ay, az = rods[k, 3] - rods[k, 0], rods[k, 4] - rods[k, 1], rods[k, 5] - rods[k, 2]
    px, py, pz = ox - rods[k, 0], oy - rods[k, 1], oz - rods[k, 2]
    aa, ad, ap = ax * ax + ay * ay + az * az, ax * dx + ay * dy + az * dz, ax * px + ay * py + az * pz
    dp, pp, rr = dx * px + dy * py + dz * pz, px * px + py * py + pz * pz, rods[k, 6] * rods[k, 6]
    best = np.inf
    quadratic = aa - ad * ad
    if quadratic > 1e-12 * aa:
        half = aa * dp - ap * ad
        under = half * half - quadratic * (aa * pp - ap * ap - rr * aa)
        if under > 0:
            t = (-half - math.sqrt(under)) / quadratic
            if t > 0 and 0 < ap + t * ad < aa:
                return t
    for end in range(2):
        qx, qy, qz = ox - rods[k, 3 * end], oy - rods[k, 3 * end + 1], oz - rods[k, 3 * end + 2]
        half = dx * qx + dy * qy + dz * qz
        under = half * half - (qx * qx + qy * qy + qz * qz - rr)
        if under > 0:
            t = -half - math.sqrt(under)
            if 0 < t < best:
                best = t
    return best


@inner
def trace(wall, rods, ox, oy, oz, dx, dy, dz, start, limit):
    """Distance to the first object on a ray, and its number: 0 the wall, k + 1 rod k."""
    found = 0
    for k in range(rods.shape[0]):
        t = _rod(rods, k, ox, oy, oz, dx, dy, dz)
        if t < limit:
            limit, found = t, k + 1
    if limit <= start:
        return limit, found
    t = _march(wall, ox, oy, oz, dx, dy, dz, start, limit)
    return (t, 0) if t < limit else (limit, found)


@inner
def ray_through(camera, x, y):
    """World direction of the ray through pixel (x, y), and its depth per unit of length."""
    a, b = (x - camera[4, 1]) / camera[4, 0], (y - camera[4, 2]) / camera[4, 0]
    cosine = 1.0 / math.sqrt(a * a + b * b + 1.0)
    dx = (a * camera[1, 0] + b * camera[2, 0] + camera[3, 0]) * cosine
    dy = (a * camera[1, 1] + b * camera[2, 1] + camera[3, 1]) * cosine
    dz = (a * camera[1, 2] + b * camera[2, 2] + camera[3, 2]) * cosine
    return dx, dy, dz, cosine


@kernel(void(NUMBERS, NUMBERS, NUMBERS, NUMBERS, BYTES))
def trace_view(wall, rods, camera, out_depth, out_what):
    """Depth (mm along the camera's z axis) at the centre of every pixel, and the object there: 0 wall, k + 1 rod k."""
    height, width = out_depth.shape
    ox, oy, oz = camera[0, 0], camera[0, 1], camera[0, 2]
    spread = 0.75 * BLOCK / camera[4, 0]  # from a block's centre to its corners
    for top in range(0, height, BLOCK):
        for begin in range(0, width, BLOCK):
            dx, dy, dz, _ = ray_through(camera, begin + 0.5 * (BLOCK - 1), top + 0.5 * (BLOCK - 1))
            start = _clear(wall, ox, oy, oz, dx, dy, dz, spread)
            for y in range(top, min(top + BLOCK, height)):
                for x in range(begin, min(begin + BLOCK, width)):
                    dx, dy, dz, cosine = ray_through(camera, float64(x), float64(y))
                    t, found = trace(wall, rods, ox, oy, oz, dx, dy, dz, start, wall[0, 3])
                    out_depth[y, x] = t * cosine
                    out_what[y, x] = found


@kernel(void(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, BYTES))
def mark_unseen(wall, rods, left, right, left_depth, right_depth, out_unseen):
    """1 where the point of a left pixel is outside the right image, or hidden from the right camera."""
    height, width = left_depth.shape
    baseline = 0.0
    for k in range(3):
        baseline += (right[0, k] - left[0, k]) * left[1, k]
    shift = right[4, 2] - left[4, 2]
    for y in range(height):
        row = int64(min(max(0, round(y + shift)), height - 1))
        for x in range(width):
            z = left_depth[y, x]
            place = x - left[4, 0] * baseline / z
            if place < 0 or place > width - 1 or not 0 <= y + shift <= height - 1:
                out_unseen[y, x] = 1
                continue
            x0 = min(int64(place), width - 2)
            a, b = right_depth[row, x0], right_depth[row, x0 + 1]
            out_unseen[y, x] = 0
            between = a + (b - a) * (place - x0)
            if abs(between - z) < 2e-3 * z and abs(b - a) < 0.03 * z:  # clearly the same surface
                continue
            dx, dy, dz, cosine = ray_through(left, float64(x), float64(y))
            t = z / cosine
            px = left[0, 0] + t * dx - right[0, 0]
            py = left[0, 1] + t * dy - right[0, 1]
            pz = left[0, 2] + t * dz - right[0, 2]
            length = math.sqrt(px * px + py * py + pz * pz)
            enough = length * (1 - 1e-4)
            reached, _ = trace(
                wall, rods, right[0, 0], right[0, 1], right[0, 2], px / length, py / length, pz / length, 0.0, enough
            )
            out_unseen[y, x] = 1 if reached < enough else 0
