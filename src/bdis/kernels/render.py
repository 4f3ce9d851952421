"""Ray tracing of a wall (folds or a tunnel) and rods in front of it, its paint and its light.

Lengths are mm, float64; directions are unit vectors.  The arrays that describe a scene:

``wall`` (n, 8): row 0 is kind, march factor, least step, farthest distance, size of one texture tile.
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
from numba import float64, int64, types, void

from .cache import inner, kernel
from .layout import BYTES, FLOATS, NUMBERS

TILES = types.Array(types.float32, 3, "C")
WALL, SHAFT, STEEL, BALL = 0, 1, 2, 3
BLOCK = 4  # pixels along a side that share the start of their rays
FOLDS = 64  # distinct folds of a tunnel before they repeat
SAMPLES = 3  # a pixel on a depth edge is the mean of 3x3 rays


# ---------------------------------------------------------------- where a ray ends


@inner
def _wave(t):
    """Nearly sin(2 pi t), from parabolas: a bend need not cost a sine."""
    t -= math.floor(t + 0.5)
    return 8.0 * t - 16.0 * t * abs(t)


@inner
def _gap(wall, x, y, z):
    """Positive in front of the wall, negative behind it, 0 on it."""
    if wall[0, 0] == 0.0:
        height = wall[1, 0] + wall[1, 1] * x + wall[1, 2] * y
        for k in range(2, wall.shape[0]):
            height += wall[k, 3] * math.sin(wall[k, 0] * x + wall[k, 1] * y + wall[k, 2])
        return height - z
    x -= wall[2, 0] * _wave(wall[2, 1] * z + wall[2, 2])
    y -= wall[3, 0] * _wave(wall[3, 1] * z + wall[3, 2])
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
        gap = _gap(wall, ox + t * dx, oy + t * dy, oz + t * dz)
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
    t, gap = start, _gap(wall, ox + start * dx, oy + start * dy, oz + start * dz)
    if gap <= 0:
        t, gap = 0.0, _gap(wall, ox, oy, oz)
        if gap <= 0:
            return 0.0
    rate = 0.0  # by which the gap closes
    while t < limit:
        step = max(factor * gap, least)
        if 1.02 * gap < 10 * least * rate:  # about to arrive: step across rather than creep up to it
            step = max(step, 1.02 * gap / rate)
        ahead = t + step
        gap_ahead = _gap(wall, ox + ahead * dx, oy + ahead * dy, oz + ahead * dz)
        if gap_ahead <= 0:
            return min(limit, _refine(wall, ox, oy, oz, dx, dy, dz, t, gap, ahead, gap_ahead))
        rate = (gap - gap_ahead) / step
        t, gap = ahead, gap_ahead
    return limit


@inner
def _clear(wall, ox, oy, oz, dx, dy, dz, spread):
    """How far a cone that widens by ``spread`` mm per mm is free of the wall: a start for all rays in it."""
    t = 0.0
    while t < wall[0, 3]:
        free = wall[0, 1] * _gap(wall, ox + t * dx, oy + t * dy, oz + t * dz)
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
def _trace(wall, rods, ox, oy, oz, dx, dy, dz, start, limit):
    """Distance to the first thing on a ray and which: 0 the wall, k + 1 rod k."""
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
def _ray(camera, x, y):
    """World direction of the ray through pixel (x, y), and its depth per unit of length."""
    a, b = (x - camera[4, 1]) / camera[4, 0], (y - camera[4, 2]) / camera[4, 0]
    cosine = 1.0 / math.sqrt(a * a + b * b + 1.0)
    dx = (a * camera[1, 0] + b * camera[2, 0] + camera[3, 0]) * cosine
    dy = (a * camera[1, 1] + b * camera[2, 1] + camera[3, 1]) * cosine
    dz = (a * camera[1, 2] + b * camera[2, 2] + camera[3, 2]) * cosine
    return dx, dy, dz, cosine


@kernel(void(NUMBERS, NUMBERS, NUMBERS, NUMBERS, BYTES))
def trace_view(wall, rods, camera, out_depth, out_what):
    """Depth (mm along the camera's z axis) at the centre of every pixel, and what is there: 0 wall, k + 1 rod k."""
    height, width = out_depth.shape
    ox, oy, oz = camera[0, 0], camera[0, 1], camera[0, 2]
    spread = 0.75 * BLOCK / camera[4, 0]  # from a block's centre to its corners
    for top in range(0, height, BLOCK):
        for begin in range(0, width, BLOCK):
            dx, dy, dz, _ = _ray(camera, begin + 0.5 * (BLOCK - 1), top + 0.5 * (BLOCK - 1))
            start = _clear(wall, ox, oy, oz, dx, dy, dz, spread)
            for y in range(top, min(top + BLOCK, height)):
                for x in range(begin, min(begin + BLOCK, width)):
                    dx, dy, dz, cosine = _ray(camera, float64(x), float64(y))
                    t, found = _trace(wall, rods, ox, oy, oz, dx, dy, dz, start, wall[0, 3])
                    out_depth[y, x] = t * cosine
                    out_what[y, x] = found


@kernel(void(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, BYTES))
def mark_unseen(wall, rods, left, right, left_depth, right_depth, out_unseen):
    """1 where a left pixel's point is outside the right picture, or something is in front of it there."""
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
            if abs(between - z) < 2e-3 * z and abs(b - a) < 0.03 * z:  # plainly the same surface
                continue
            dx, dy, dz, cosine = _ray(left, float64(x), float64(y))
            t = z / cosine
            px = left[0, 0] + t * dx - right[0, 0]
            py = left[0, 1] + t * dy - right[0, 1]
            pz = left[0, 2] + t * dz - right[0, 2]
            length = math.sqrt(px * px + py * py + pz * pz)
            enough = length * (1 - 1e-4)
            reached, _ = _trace(
                wall, rods, right[0, 0], right[0, 1], right[0, 2], px / length, py / length, pz / length, 0.0, enough
            )
            out_unseen[y, x] = 1 if reached < enough else 0


# ---------------------------------------------------------------- paint


@inner
def _tile(tiles, layer, u, v):
    """Layer of the periodic texture at (u, v), in tiles; linear between its values."""
    size = tiles.shape[1]
    u, v = u * size, v * size
    fu, fv = math.floor(u), math.floor(v)
    u0, v0 = int64(fu) & (size - 1), int64(fv) & (size - 1)
    u1, v1 = (u0 + 1) & (size - 1), (v0 + 1) & (size - 1)
    a, b = u - fu, v - fv
    top = tiles[layer, v0, u0] * (1 - a) + tiles[layer, v0, u1] * a
    low = tiles[layer, v1, u0] * (1 - a) + tiles[layer, v1, u1] * a
    return top * (1 - b) + low * b


@inner
def _place(wall, rods, found, x, y, z):
    """Texture coordinates of a surface point, in tiles."""
    size = wall[0, 4]
    if found:
        k = found - 1
        ax, ay, az = x - rods[k, 0], y - rods[k, 1], z - rods[k, 2]
        radius = rods[k, 6]
        return radius * math.atan2(ax, -az) / size, radius * math.asin(max(-1.0, min(1.0, ay / radius))) / size
    if wall[0, 0] == 0.0:
        return x / size, y / size
    x -= wall[2, 0] * _wave(wall[2, 1] * z + wall[2, 2])
    y -= wall[3, 0] * _wave(wall[3, 1] * z + wall[3, 2])
    # Along the side of a fold that faces the cameras, v grows as fast as the way over it.
    v = (z + 0.6 * (wall[1, 0] - math.sqrt(x * x + y * y))) / size
    return math.atan2(y, x) / math.pi, v


@inner
def _tissue(tiles, u, v, texture):
    """Reflectance of mucosa: paler and redder regions, mottling, vessels at the surface and blurred ones below it."""
    # Factors of u are multiples of 1/2: two tiles go around a tunnel, and nothing may show a seam.
    region = _tile(tiles, 1, 0.5 * u + 0.37, 0.5 * v + 0.11)
    mottle = 0.6 * _tile(tiles, 1, u, v) + 0.5 * _tile(tiles, 1, 3 * u - 1.5 * v, 3 * v + 1.5 * u)
    vessel = _tile(tiles, 0, u, v)
    deep = _tile(tiles, 2, 0.5 * u - 0.5 * v, 0.5 * v + 0.5 * u)
    pale = max(0.0, min(1.0, 0.5 + 0.8 * region * min(1.0, texture)))
    bright = max(0.1, 1.0 + 0.30 * texture * mottle)
    cover = min(0.92, 0.85 * texture * vessel)
    below = min(0.6, 0.40 * texture * deep)
    red = (0.50 + 0.14 * pale) * bright
    green = (0.115 + 0.115 * pale) * bright
    blue = (0.090 + 0.090 * pale) * bright
    red, green, blue = red * (1 - 0.50 * below), green * (1 - 0.60 * below), blue * (1 - 0.40 * below)
    return red + (0.27 - red) * cover, green + (0.022 - green) * cover, blue + (0.028 - blue) * cover


@inner
def _reflectance(wall, rods, tiles, texture, found, x, y, z):
    material = int64(rods[found - 1, 7]) if found else WALL
    if material in (SHAFT, STEEL):
        k = found - 1
        ax, ay, az = rods[k, 3] - rods[k, 0], rods[k, 4] - rods[k, 1], rods[k, 5] - rods[k, 2]
        length = math.sqrt(ax * ax + ay * ay + az * az)
        along = ((x - rods[k, 0]) * ax + (y - rods[k, 1]) * ay + (z - rods[k, 2]) * az) / length
        size = wall[0, 4]
        scratch = _tile(tiles, 1, 6.0 * along / size + 0.13 * k, 1.9 * (x + y) / size)
        worn = 1.0 + 0.25 * texture * scratch
        if material == SHAFT:
            return 0.045 * worn, 0.047 * worn, 0.052 * worn
        return 0.13 * worn, 0.135 * worn, 0.145 * worn
    u, v = _place(wall, rods, found, x, y, z)
    return _tissue(tiles, u, v, texture)


@kernel(void(NUMBERS, int64, int64, int64, float64, TILES))
def paint_mottle(lattice, layer, coarsest, finest, decay, out_tiles):
    """Smooth periodic noise, about -1 to 1: octaves of ``coarsest`` to ``finest`` cells across the tile, powers of 2.

    ``lattice``: (1, n), a value from -1 to 1 for each cell of all octaves.
    """
    size = out_tiles.shape[1]
    first, cells, share = 0, coarsest, 0.75
    for y in range(size):
        for x in range(size):
            out_tiles[layer, y, x] = 0
    while cells <= finest:
        step = cells / size
        for y in range(size):
            v = y * step
            v0 = int64(v)
            b = v - v0
            b = b * b * (3 - 2 * b)
            for x in range(size):
                u = x * step
                u0 = int64(u)
                a = u - u0
                a = a * a * (3 - 2 * a)
                u1, v1 = (u0 + 1) & (cells - 1), (v0 + 1) & (cells - 1)
                top = lattice[0, first + v0 * cells + u0] * (1 - a) + lattice[0, first + v0 * cells + u1] * a
                low = lattice[0, first + v1 * cells + u0] * (1 - a) + lattice[0, first + v1 * cells + u1] * a
                out_tiles[layer, y, x] += share * (top * (1 - b) + low * b)
        first += cells * cells
        cells *= 2
        share *= decay


@inner
def _stamp(tiles, layer, x, y, radius, depth):
    """A soft dark spot; spots in a row are a vessel."""
    size = tiles.shape[1]
    reach = int64(1.5 * radius)
    x0, y0 = int64(math.floor(x)), int64(math.floor(y))
    for j in range(y0 - reach, y0 + reach + 2):
        for i in range(x0 - reach, x0 + reach + 2):
            inside = max(0.0, 1.0 - ((i - x) ** 2 + (j - y) ** 2) / (2.25 * radius * radius))
            value = np.float32(depth * inside * inside * (3 - 2 * inside))
            if value > tiles[layer, j & (size - 1), i & (size - 1)]:
                tiles[layer, j & (size - 1), i & (size - 1)] = value


@kernel(void(NUMBERS, int64, int64, float64, TILES))
def paint_vessels(random, layer, trees, radius, out_tiles):
    """Trees of winding, forking, thinning vessels on a periodic tile.  ``random``: (1, n), uniform 0 to 1."""
    size = out_tiles.shape[1]
    stack = np.empty((512, 5))
    n, used = random.shape[1] - 8, 0
    for _ in range(trees):
        stack[0, 0], stack[0, 1] = random[0, used] * size, random[0, used + 1] * size
        stack[0, 2] = random[0, used + 2] * 2 * math.pi
        stack[0, 3] = radius * (0.6 + 0.7 * random[0, used + 3])
        stack[0, 4] = size * (0.25 + 0.45 * random[0, used + 4])
        used = (used + 5) % n
        waiting = 1
        while waiting:
            waiting -= 1
            x, y, angle, thick, left = (
                stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3], stack[waiting, 4]
            )  # fmt: skip
            turn, whole = 0.0, left
            root = whole if waiting == 0 else 0.0  # a tree rises from the depth, a branch begins where it forks
            while left > 0 and thick > 0.45:
                fade = min(1.0, 4 * left / whole)
                if root:
                    fade = min(fade, 5 * (1 - left / whole))
                _stamp(out_tiles, layer, x, y, thick, min(1.0, 0.35 + 0.25 * thick) * fade)
                used = (used + 3) % n
                step = max(0.7, 0.6 * thick)
                turn = 0.80 * turn + 0.06 * (random[0, used] - 0.5) * step
                angle += turn + 0.10 * (random[0, used + 1] - 0.5)
                x += step * math.cos(angle)
                y += step * math.sin(angle)
                left -= step
                thick *= 1 - 0.0011 * step
                if random[0, used + 2] < 0.013 * step and waiting < 500:
                    fork = 0.35 + 0.6 * random[0, used + 3]
                    side = 1.0 if random[0, used + 4] < 0.5 else -1.0
                    stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = x, y, angle + side * fork
                    stack[waiting, 3], stack[waiting, 4] = thick * (0.5 + 0.35 * random[0, used + 5]), 0.75 * left
                    waiting += 1
                    angle -= side * 0.3 * fork
                    thick *= 0.93


# ---------------------------------------------------------------- light


@inner
def _normal(wall, rods, found, x, y, z):
    """Unit normal towards the free side."""
    if found:
        k = found - 1
        ax, ay, az = rods[k, 3] - rods[k, 0], rods[k, 4] - rods[k, 1], rods[k, 5] - rods[k, 2]
        px, py, pz = x - rods[k, 0], y - rods[k, 1], z - rods[k, 2]
        along = (ax * px + ay * py + az * pz) / max(1e-300, ax * ax + ay * ay + az * az)
        along = max(0.0, min(1.0, along))
        nx, ny, nz = px - along * ax, py - along * ay, pz - along * az
    elif wall[0, 0] == 0.0:
        nx, ny, nz = wall[1, 1], wall[1, 2], -1.0
        for k in range(2, wall.shape[0]):
            slope = wall[k, 3] * math.cos(wall[k, 0] * x + wall[k, 1] * y + wall[k, 2])
            nx += slope * wall[k, 0]
            ny += slope * wall[k, 1]
    else:
        e = 1e-5 * wall[0, 4]
        here = _gap(wall, x, y, z)
        nx, ny = _gap(wall, x + e, y, z) - here, _gap(wall, x, y + e, z) - here
        nz = _gap(wall, x, y, z + e) - here
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    return nx / length, ny / length, nz / length


@inner
def _wet_normal(tiles, u, v, nx, ny, nz):
    """The normal of the film of mucus: small bumps break a highlight into glints."""
    p = 0.16 * _tile(tiles, 3, u + 0.31, v) + 0.16 * _tile(tiles, 3, 2.5 * u, 2.7 * v + 0.17)
    q = 0.16 * _tile(tiles, 3, u, v + 0.57) + 0.16 * _tile(tiles, 3, 2.5 * u + 0.43, 2.7 * v)
    # Two tangents that vary smoothly with the normal, as long as it is not along -y.
    tx, ty, tz = -nz, 0.0, nx
    length = math.sqrt(tx * tx + tz * tz) + 1e-9
    tx, tz = tx / length, tz / length
    sx, sy, sz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
    nx, ny, nz = nx + p * tx + q * sx, ny + p * ty + q * sy, nz + p * tz + q * sz
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    return nx / length, ny / length, nz / length


@inner
def _light(wall, rods, tiles, light, camera, found, x, y, z, nx, ny, nz):
    """What multiplies the reflectance at a point, and the white gloss on top of it, as seen by the camera."""
    material = int64(rods[found - 1, 7]) if found else WALL
    if light[0, 3] == 0.0:
        facing = -(nx * light[1, 0] + ny * light[1, 1] + nz * light[1, 2])
        lit = 0.52 + 0.36 * facing - 0.16 * ny
        return (lit if material in (WALL, BALL) else 2.0 * lit), 0.0
    lx, ly, lz = light[0, 0] - x, light[0, 1] - y, light[0, 2] - z
    distance = math.sqrt(lx * lx + ly * ly + lz * lz) + 1e-9
    lx, ly, lz = lx / distance, ly / distance, lz / distance
    on_axis = -(lx * light[1, 0] + ly * light[1, 1] + lz * light[1, 2])
    cone = max(0.0, min(1.0, (on_axis - 0.76) / 0.22))
    cone = 0.04 + 0.96 * cone * cone * (3 - 2 * cone)
    strength = cone * (light[1, 3] / distance) ** 2
    facing = max(0.0, nx * lx + ny * ly + nz * lz)
    ex, ey, ez = camera[0, 0] - x, camera[0, 1] - y, camera[0, 2] - z
    length = math.sqrt(ex * ex + ey * ey + ez * ez) + 1e-9
    hx, hy, hz = lx + ex / length, ly + ey / length, lz + ez / length
    length = math.sqrt(hx * hx + hy * hy + hz * hz) + 1e-9
    hx, hy, hz = hx / length, hy / length, hz / length
    if material in (SHAFT, STEEL):
        shine = max(0.0, nx * hx + ny * hy + nz * hz)
        gloss = 1.2 * shine**80 + 0.25 * shine**10
        if material == SHAFT:
            gloss = 0.25 * shine**50 + 0.015 * shine**6
        return strength * (0.25 + 0.75 * facing), light[2, 0] * strength * gloss
    u, v = _place(wall, rods, found, x, y, z)
    wx, wy, wz = _wet_normal(tiles, u, v, nx, ny, nz)
    shine = max(0.0, wx * hx + wy * hy + wz * hz)
    gloss = 1.6 * shine**800 + 0.05 * shine**40
    return strength * (0.06 + 0.94 * facing), light[2, 0] * strength * gloss


@inner
def _smoke(tiles, light, camera, dx, dy, dz, t, size):
    """Share of the light that smoke on the way to distance ``t`` replaces by its own grey."""
    if light[2, 2] == 0.0:
        return 0.0
    near = 0.55 * light[1, 3]  # thickest there: wisps have a disparity of their own
    u = (camera[0, 0] + near * dx) / size + light[2, 3]
    v = (camera[0, 1] + near * dy) / size - 0.6 * light[2, 3]
    wisp = _tile(tiles, 1, 0.23 * u, 0.23 * v) + 0.4 * _tile(tiles, 1, 0.55 * u - 0.2 * v, 0.55 * v + 0.2 * u)
    density = max(0.15, 0.6 + 0.8 * wisp)
    return 1.0 - math.exp(-2.5 * light[2, 2] * density * min(2.0, t / light[1, 3]))


@inner
def _edge(depth, what, x, y):
    """The least depth around a pixel with a depth edge; 0 if there is none."""
    height, width = depth.shape
    here = 1.0 / depth[y, x]
    x0, x1 = max(0, x - 1), min(width - 1, x + 1)
    y0, y1 = max(0, y - 1), min(height - 1, y + 1)
    found, near = False, depth[y, x]
    for j in range(y0, y1 + 1):
        for i in range(x0, x1 + 1):
            found |= what[j, i] != what[y, x]
            near = min(near, depth[j, i])
    found |= x0 < x < x1 and abs(1.0 / depth[y, x0] + 1.0 / depth[y, x1] - 2 * here) > 0.02 * here
    found |= y0 < y < y1 and abs(1.0 / depth[y0, x] + 1.0 / depth[y1, x] - 2 * here) > 0.02 * here
    return near if found else 0.0


@inner
def _shade_ray(wall, rods, tiles, light, camera, x, y, near):
    """Colour of one ray, linear light; its neighbourhood has a depth of ``near`` or more."""
    dx, dy, dz, cosine = _ray(camera, x, y)
    ox, oy, oz = camera[0, 0], camera[0, 1], camera[0, 2]
    t, found = _trace(wall, rods, ox, oy, oz, dx, dy, dz, 0.97 * near / cosine, wall[0, 3])
    px, py, pz = ox + t * dx, oy + t * dy, oz + t * dz
    nx, ny, nz = _normal(wall, rods, found, px, py, pz)
    red, green, blue = _reflectance(wall, rods, tiles, light[2, 1], found, px, py, pz)
    lit, gloss = _light(wall, rods, tiles, light, camera, found, px, py, pz, nx, ny, nz)
    return red * lit + gloss, green * lit + gloss, blue * lit + gloss


@inner
def _shade_flat(wall, rods, tiles, light, camera, x, y, depth, found):
    """Colour of a pixel without a depth edge: 2x2 samples of the paint on its tangent plane, lit at its centre."""
    ox, oy, oz = camera[0, 0], camera[0, 1], camera[0, 2]
    dx, dy, dz, cosine = _ray(camera, x, y)
    t = depth / cosine
    px, py, pz = t * dx, t * dy, t * dz
    nx, ny, nz = _normal(wall, rods, found, ox + px, oy + py, oz + pz)
    plane = nx * px + ny * py + nz * pz
    red, green, blue = 0.0, 0.0, 0.0
    for j in range(2):
        for i in range(2):
            sx, sy, sz, _ = _ray(camera, x - 0.25 + 0.5 * i, y - 0.25 + 0.5 * j)
            toward = nx * sx + ny * sy + nz * sz
            s = plane / toward if toward < -0.02 else t
            s = min(max(s, 0.97 * t), 1.03 * t)
            r, g, b = _reflectance(wall, rods, tiles, light[2, 1], found, ox + s * sx, oy + s * sy, oz + s * sz)
            red, green, blue = red + r, green + g, blue + b
    lit, gloss = _light(wall, rods, tiles, light, camera, found, ox + px, oy + py, oz + pz, nx, ny, nz)
    return 0.25 * red * lit + gloss, 0.25 * green * lit + gloss, 0.25 * blue * lit + gloss


@kernel(void(NUMBERS, NUMBERS, NUMBERS, NUMBERS, TILES, NUMBERS, BYTES, FLOATS))
def shade_view(wall, rods, camera, light, tiles, depth, what, out_rgb):
    """Linear light (h, 3 w) of a view with known ``depth`` and ``what``; pixels on depth edges are supersampled."""
    height, width = depth.shape
    for y in range(height):
        for x in range(width):
            near = _edge(depth, what, x, y)
            if near:
                red, green, blue = 0.0, 0.0, 0.0
                for k in range(SAMPLES * SAMPLES):
                    i = (k % SAMPLES + 0.5) / SAMPLES - 0.5
                    j = (k // SAMPLES + 0.5) / SAMPLES - 0.5
                    r, g, b = _shade_ray(wall, rods, tiles, light, camera, x + i, y + j, near)
                    red, green, blue = red + min(r, 1.5), green + min(g, 1.5), blue + min(b, 1.5)
                share = 1.0 / (SAMPLES * SAMPLES)
                red, green, blue = share * red, share * green, share * blue
            else:
                red, green, blue = _shade_flat(
                    wall, rods, tiles, light, camera, float64(x), float64(y), depth[y, x], int64(what[y, x])
                )
            dx, dy, dz, cosine = _ray(camera, float64(x), float64(y))
            veil = _smoke(tiles, light, camera, dx, dy, dz, depth[y, x] / cosine, wall[0, 4])
            out_rgb[y, 3 * x] = red + (0.50 - red) * veil
            out_rgb[y, 3 * x + 1] = green + (0.48 - green) * veil
            out_rgb[y, 3 * x + 2] = blue + (0.47 - blue) * veil
