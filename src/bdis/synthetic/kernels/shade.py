"""Light of a rendered scene: the colour at the end of each ray of a camera.  The arrays are those of ``rays.py``."""

import math

from numba import float64, int64, void

from ...vector.array_types import BYTES, FLOATS, NUMBERS
from ...vector.cache import inner, kernel
from .paint import BALL, SHAFT, STEEL, TILES, WALL, place_on, reflectance, tile_at
from .rays import gap_at, ray_through, trace

SAMPLES = 3  # a pixel on a depth edge is the mean of 3x3 rays


@inner
def _normal(wall, rods, found, x, y, z):
    """Unit normal of the surface, towards the cameras' side."""
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
        here = gap_at(wall, x, y, z)
        nx, ny = gap_at(wall, x + e, y, z) - here, gap_at(wall, x, y + e, z) - here
        nz = gap_at(wall, x, y, z + e) - here
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    return nx / length, ny / length, nz / length


@inner
def _wet_normal(tiles, u, v, nx, ny, nz):
    """The normal of the film of mucus: small bumps break a highlight into glints."""
    p = 0.16 * tile_at(tiles, 3, u + 0.31, v) + 0.16 * tile_at(tiles, 3, 2.5 * u, 2.7 * v + 0.17)
    q = 0.16 * tile_at(tiles, 3, u, v + 0.57) + 0.16 * tile_at(tiles, 3, 2.5 * u + 0.43, 2.7 * v)
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
    """Factor of the reflectance at a point, and the white reflection that is added, as seen by the camera."""
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
    u, v = place_on(wall, rods, found, x, y, z)
    wx, wy, wz = _wet_normal(tiles, u, v, nx, ny, nz)
    shine = max(0.0, wx * hx + wy * hy + wz * hz)
    gloss = 1.6 * shine**800 + 0.05 * shine**40
    return strength * (0.06 + 0.94 * facing), light[2, 0] * strength * gloss


@inner
def _smoke(tiles, light, camera, dx, dy, dz, t, size):
    """Share of the light that smoke on the way to distance ``t`` replaces by its own grey."""
    if light[2, 2] == 0.0:
        return 0.0
    near = 0.55 * light[1, 3]  # distance of the wisps, which thus have a disparity of their own
    u = (camera[0, 0] + near * dx) / size + light[2, 3]
    v = (camera[0, 1] + near * dy) / size - 0.6 * light[2, 3]
    wisp = tile_at(tiles, 1, 0.23 * u, 0.23 * v) + 0.4 * tile_at(tiles, 1, 0.55 * u - 0.2 * v, 0.55 * v + 0.2 * u)
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
    dx, dy, dz, cosine = ray_through(camera, x, y)
    ox, oy, oz = camera[0, 0], camera[0, 1], camera[0, 2]
    t, found = trace(wall, rods, ox, oy, oz, dx, dy, dz, 0.97 * near / cosine, wall[0, 3])
    px, py, pz = ox + t * dx, oy + t * dy, oz + t * dz
    nx, ny, nz = _normal(wall, rods, found, px, py, pz)
    red, green, blue = reflectance(wall, rods, tiles, light[2, 1], found, px, py, pz)
    lit, gloss = _light(wall, rods, tiles, light, camera, found, px, py, pz, nx, ny, nz)
    return red * lit + gloss, green * lit + gloss, blue * lit + gloss


@inner
def _shade_flat(wall, rods, tiles, light, camera, x, y, depth, found):
    """Colour of a pixel without a depth edge: 2x2 samples of the texture on its tangent plane, lit at its centre."""
    ox, oy, oz = camera[0, 0], camera[0, 1], camera[0, 2]
    dx, dy, dz, cosine = ray_through(camera, x, y)
    t = depth / cosine
    px, py, pz = t * dx, t * dy, t * dz
    nx, ny, nz = _normal(wall, rods, found, ox + px, oy + py, oz + pz)
    plane = nx * px + ny * py + nz * pz
    red, green, blue = 0.0, 0.0, 0.0
    for j in range(2):
        for i in range(2):
            sx, sy, sz, _ = ray_through(camera, x - 0.25 + 0.5 * i, y - 0.25 + 0.5 * j)
            toward = nx * sx + ny * sy + nz * sz
            s = plane / toward if toward < -0.02 else t
            s = min(max(s, 0.97 * t), 1.03 * t)
            r, g, b = reflectance(wall, rods, tiles, light[2, 1], found, ox + s * sx, oy + s * sy, oz + s * sz)
            red, green, blue = red + r, green + g, blue + b
    lit, gloss = _light(wall, rods, tiles, light, camera, found, ox + px, oy + py, oz + pz, nx, ny, nz)
    return 0.25 * red * lit + gloss, 0.25 * green * lit + gloss, 0.25 * blue * lit + gloss


@kernel(void(NUMBERS, NUMBERS, NUMBERS, NUMBERS, TILES, NUMBERS, BYTES, FLOATS))
def shade_view(wall, rods, camera, light, tiles, depth, what, out_rgb):
    """Linear light (h, 3 w) of a view with known ``depth`` and objects ``what``; depth edges are supersampled."""
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
            dx, dy, dz, cosine = ray_through(camera, float64(x), float64(y))
            veil = _smoke(tiles, light, camera, dx, dy, dz, depth[y, x] / cosine, wall[0, 4])
            out_rgb[y, 3 * x] = red + (0.50 - red) * veil
            out_rgb[y, 3 * x + 1] = green + (0.48 - green) * veil
            out_rgb[y, 3 * x + 2] = blue + (0.47 - blue) * veil
