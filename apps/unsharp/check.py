#!/usr/bin/env python3
"""Independent reference of unsharp.  usage: check.py INPUT OUTPUT  (PNG or .npy)

A float output (.npy) must lie within 2e-5 of the float64 reference: about 40 float32 roundings of values
up to 2, and the quotient's. A 16-bit file may differ by two steps of 1/65535: that, and its own rounding.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import picture

SIGMA, RADIUS = 1.5, 3
FLOAT_TOLERANCE, STEPS = 2e-5, 2


def gaussian():
    weights = np.exp(-np.arange(-RADIUS, RADIUS + 1) ** 2 / (2 * SIGMA ** 2))
    return weights / weights.sum()


def unsharp(source):
    """source: float [height, width, 3] in 0..1; may leave that range."""
    luma = source @ np.array([0.299, 0.587, 0.114])
    taps = list(zip(range(-RADIUS, RADIUS + 1), gaussian()))
    down = sum(w * picture.shifted(luma, 0, d) for d, w in taps)
    smooth = sum(w * picture.shifted(down, d, 0) for d, w in taps)
    gain = (2 * luma - smooth) / np.maximum(luma, 1 / 1024)
    return source * gain[..., None]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    expected = unsharp(picture.as_float(picture.load(sys.argv[1])))
    actual = picture.load(sys.argv[2])
    if actual.shape != expected.shape:
        sys.exit(f"unsharp: {actual.shape}, expected {expected.shape}")
    if actual.dtype.kind == "f":
        error, limit = np.abs(actual - expected), FLOAT_TOLERANCE
    else:
        error = np.abs(actual - np.clip(expected, 0, 1) * 65535)
        limit = STEPS
        if actual.dtype != np.uint16:
            sys.exit(f"unsharp: {actual.dtype} samples, expected uint16")
    y, x, c = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
    if not error.max() <= limit:
        sys.exit(f"unsharp: off by {error[y, x, c]:g} at (x {x}, y {y}, c {c}), limit {limit:g}")
    print(f"unsharp: largest error {error.max():g}, limit {limit:g}")


if __name__ == "__main__":
    main()
