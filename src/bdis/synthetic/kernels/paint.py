"""Texture of a rendered scene: periodic tiles of mottling and vessels, and the reflectance at a point.

``tiles``: float32 (4, n, n), n a power of 2: vessels, mottling, vessels below the surface, bumps of the wet film.
Texture coordinates count tiles.  The other arrays are those of ``rays.py``.
"""

import math

import numpy as np
from numba import float64, int64, types, void

from ...vector.array_types import NUMBERS
from ...vector.cache import inner, kernel
from .rays import wave

TILES = types.Array(types.float32, 3, "C")
WALL, SHAFT, STEEL, BALL = 0, 1, 2, 3  # materials


@inner
def tile_at(tiles, layer, u, v):
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
def place_on(wall, rods, found, x, y, z):
    """Texture coordinates of a surface point, in tiles."""
    size = wall[0, 4]
    if found:
        k = found - 1
        ax, ay, az = x - rods[k, 0], y - rods[k, 1], z - rods[k, 2]
        radius = rods[k, 6]
        return radius * math.atan2(ax, -az) / size, radius * math.asin(max(-1.0, min(1.0, ay / radius))) / size
    if wall[0, 0] == 0.0:
        return x / size, y / size
    x -= wall[2, 0] * wave(wall[2, 1] * z + wall[2, 2])
    y -= wall[3, 0] * wave(wall[3, 1] * z + wall[3, 2])
    # On the side of a fold that faces the cameras, v grows in proportion to the path along the surface.
    v = (z + 0.6 * (wall[1, 0] - math.sqrt(x * x + y * y))) / size
    return math.atan2(y, x) / math.pi, v


@inner
def _tissue(tiles, u, v, texture):
    """Reflectance of mucosa: paler and redder regions, mottling, vessels at the surface and blurred ones below it."""
    # Factors of u are multiples of 1/2: two tiles go around a tunnel, and there must be no seam.
    region = tile_at(tiles, 1, 0.5 * u + 0.37, 0.5 * v + 0.11)
    mottle = 0.6 * tile_at(tiles, 1, u, v) + 0.5 * tile_at(tiles, 1, 3 * u - 1.5 * v, 3 * v + 1.5 * u)
    vessel = tile_at(tiles, 0, u, v)
    deep = tile_at(tiles, 2, 0.5 * u - 0.5 * v, 0.5 * v + 0.5 * u)
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
def reflectance(wall, rods, tiles, texture, found, x, y, z):
    """Share of red, green and blue light that the surface reflects at a point."""
    material = int64(rods[found - 1, 7]) if found else WALL
    if material in (SHAFT, STEEL):
        k = found - 1
        ax, ay, az = rods[k, 3] - rods[k, 0], rods[k, 4] - rods[k, 1], rods[k, 5] - rods[k, 2]
        length = math.sqrt(ax * ax + ay * ay + az * az)
        along = ((x - rods[k, 0]) * ax + (y - rods[k, 1]) * ay + (z - rods[k, 2]) * az) / length
        size = wall[0, 4]
        scratch = tile_at(tiles, 1, 6.0 * along / size + 0.13 * k, 1.9 * (x + y) / size)
        worn = 1.0 + 0.25 * texture * scratch
        if material == SHAFT:
            return 0.045 * worn, 0.047 * worn, 0.052 * worn
        return 0.13 * worn, 0.135 * worn, 0.145 * worn
    u, v = place_on(wall, rods, found, x, y, z)
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
    """Draw a soft spot; a row of overlapping spots is a vessel."""
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
            root = whole if waiting == 0 else 0.0  # a tree fades in at its root; a branch starts at full strength
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
