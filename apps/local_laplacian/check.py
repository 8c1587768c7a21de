#!/usr/bin/env python3
"""Independent reference of local_laplacian.  usage: check.py INPUT OUTPUT [LEVELS ALPHA BETA]  (PNG or .npy)

The float64 reference; samples may differ by 4 of 65535 (the bands' float32 roundings, scaled up where the
brightness is small).
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import picture

PYRAMID = 8
MARGIN = 4  # beyond two pixels outside, every level of the pyramid repeats its border


def along(axis, first, image, taps):
    """Picks weighted pixels along an axis: taps is a list of (weight, positions); positions count from the
    picture's first pixel, and image starts MARGIN before it."""
    size = image.shape[axis]
    return sum(w * np.take(image, np.clip(p + first, 0, size - 1), axis) for w, p in taps)


def smaller(image):
    for axis in (0, 1):
        n = (image.shape[axis] - 2 * MARGIN + 1) // 2
        at = 2 * np.arange(-MARGIN, n + MARGIN)
        image = along(axis, MARGIN, image, [(1 / 8, at - 1), (3 / 8, at), (3 / 8, at + 1), (1 / 8, at + 2)])
    return image


def larger(image, shape):
    for axis in (0, 1):
        at = np.arange(-MARGIN, shape[axis] - MARGIN)
        far = np.where(at % 2 == 0, at // 2 - 1, at // 2 + 1)
        image = along(axis, MARGIN, image, [(3 / 4, at // 2), (1 / 4, far)])
    return image


def pyramid(image):
    levels = [image]
    while len(levels) < PYRAMID:
        levels.append(smaller(levels[-1]))
    return levels


def bands(levels):
    return [a - larger(b, a.shape) for a, b in zip(levels, levels[1:])] + [levels[-1]]


def enhanced(source, levels=8, alpha=1.0, beta=1.0):
    """source: uint16 [height, width, 3]."""
    levels = int(levels)
    wide = source.astype(np.float64)
    grey = pyramid(np.pad(wide @ np.array([0.299, 0.587, 0.114]) / 65535, MARGIN, mode="edge"))
    result = [np.zeros_like(g) for g in grey]
    for k in range(levels):  # each reference's share of each pixel: 1 at it, 0 at its neighbours
        d = grey[0] - k / (levels - 1)
        t = d * (levels - 1)
        remapped = k / (levels - 1) + beta * d + alpha * d / (1 + t * t) ** 2
        for j, band in enumerate(bands(pyramid(remapped))):
            result[j] += band * np.maximum(0, 1 - np.abs(np.clip(grey[j], 0, 1) * (levels - 1) - k))
    whole = result[-1]
    for band in reversed(result[:-1]):
        whole = larger(whole, band.shape) + band
    gain = ((whole + 1 / 64) / (grey[0] + 1 / 64))[MARGIN:-MARGIN, MARGIN:-MARGIN]
    return np.floor(np.clip(wide * gain[..., None] + 0.5, 0, 65535))


if __name__ == "__main__":
    picture.check_steps("local_laplacian", sys.argv, enhanced, steps=4)
