#!/usr/bin/env python3
"""Independent reference of harris.  usage: check.py INPUT OUTPUT  (PNG or .npy)

A float output (.npy) must lie within 3e-6 (xx + yy)^2 of the float64 reference: that is what is subtracted
from what. A 16-bit file holds the response clamped to 0..1, and may differ by a step more.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import picture


def response(source):
    """source: float [height, width, 3] in 0..1; the response, and the size of what it is a difference of."""
    grey = source @ np.array([0.299, 0.587, 0.114])
    pad = np.pad(grey, 2, mode="edge")  # gradients are needed one pixel beyond the picture, too
    sum_y = pad[:-2] + 2 * pad[1:-1] + pad[2:]
    sum_x = pad[:, :-2] + 2 * pad[:, 1:-1] + pad[:, 2:]
    dx = sum_y[:, 2:] - sum_y[:, :-2]
    dy = sum_x[2:] - sum_x[:-2]
    height, width = grey.shape

    def around(v):
        return sum(v[j:j + height, i:i + width] for j in range(3) for i in range(3))

    xx, xy, yy = around(dx * dx), around(dx * dy), around(dy * dy)
    size = (xx + yy + 0.03) ** 2  # 0.03: grey itself is rounded
    return (xx * yy - xy * xy - 0.04 * (xx + yy) ** 2)[..., None], size[..., None]


if __name__ == "__main__":
    picture.check_close("harris", sys.argv, response, tolerance=3e-6, steps=1, relative=True)
