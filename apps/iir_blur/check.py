#!/usr/bin/env python3
"""Independent reference of iir_blur.  usage: check.py INPUT OUTPUT [ALPHA]  (PNG or .npy)

A float output (.npy) must lie within 1e-5 of the float64 reference: each step of a scan rounds about three
times, and the rounding errors of the last 1/alpha steps add up. A 16-bit file may differ by two steps.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import picture


def scanned(rows, alpha):
    """Along the first axis, forth and back."""
    rows = rows.copy()
    for i in range(1, len(rows)):
        rows[i] = (1 - alpha) * rows[i - 1] + alpha * rows[i]
    for i in range(len(rows) - 2, -1, -1):
        rows[i] = (1 - alpha) * rows[i + 1] + alpha * rows[i]
    return rows


def blurred(source, alpha=0.1):
    """source: float [height, width, channels]."""
    down = scanned(source, alpha)
    return np.swapaxes(scanned(np.swapaxes(down, 0, 1), alpha), 0, 1)


if __name__ == "__main__":
    picture.check_close("iir_blur", sys.argv, blurred, tolerance=1e-5, steps=2)
