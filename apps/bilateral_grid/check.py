#!/usr/bin/env python3
"""Independent reference of bilateral_grid.  usage: check.py INPUT OUTPUT [R_SIGMA]  (PNG or .npy)

Bins are found in float32, as the pipeline does: one rounding there moves a pixel to another bin. The rest
is float64; a float output must lie within 1e-5 of it, a 16-bit file within two steps.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import picture

CELL = 8
MARGIN = 4  # cells around the picture, and empty bins: the blurs reach two, reading one more


def blurred(grid, axis):
    reach = [np.roll(grid, i, axis) for i in (-2, -1, 0, 1, 2)]
    return sum(w * g for w, g in zip((1, 4, 6, 4, 1), reach)) / 16


def smoothed(source, r_sigma=0.1):
    """source: float [height, width, 1]."""
    value = np.clip(source[..., 0], 0, 1)
    height, width = value.shape
    inverse = np.float32(1) / np.float32(r_sigma)
    cells_y, cells_x = (n // CELL + 2 * MARGIN + 1 for n in (height, width))
    pad = [(MARGIN * CELL + CELL // 2, cells * CELL - n - MARGIN * CELL - CELL // 2)
           for n, cells in ((height, cells_y), (width, cells_x))]
    wide = np.pad(value, pad, mode="edge")
    bins = (wide.astype(np.float32) * inverse + np.float32(0.5)).astype(int)
    depth = bins.max() + 2 + 2 * MARGIN
    y, x = np.indices(wide.shape) // CELL
    place = (y.ravel(), x.ravel(), bins.ravel() + MARGIN)
    total, number = np.zeros((cells_y, cells_x, depth)), np.zeros((cells_y, cells_x, depth))
    np.add.at(total, place, wide.ravel())
    np.add.at(number, place, 1.0)
    for axis in (2, 1, 0):
        total, number = blurred(total, axis), blurred(number, axis)

    y, x = np.indices(value.shape)
    z = value.astype(np.float32) * inverse
    zi = z.astype(int)

    def read(grid):
        weight = [(y % CELL) / CELL, (x % CELL) / CELL, z - zi]
        result = 0
        for j in (0, 1):
            for i in (0, 1):
                for k in (0, 1):
                    share = 1.0
                    for on, w in zip((j, i, k), weight):
                        share = share * (w if on else 1 - w)
                    result = result + share * grid[y // CELL + j + MARGIN, x // CELL + i + MARGIN,
                                                   zi + k + MARGIN]
        return result

    return (read(total) / read(number))[..., None]


if __name__ == "__main__":
    picture.check_close("bilateral_grid", sys.argv, smoothed, tolerance=1e-5, steps=2)
