#!/usr/bin/env python3
"""Independent reference of conv_layer.  usage: check.py CALO run ALGORITHM [--schedule FILE ...]

Runs the command on noise of several sizes. Each output must lie within (terms + 1) 2^-24 of the sum of the terms'
magnitudes, which bounds what a float32 sum of so many terms can lose.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import arrays


def convolved(picture, weights, bias):
    """Window by window, in float64. picture: [n, y, x, in], weights: [in, rows, columns, out]."""
    height, width = picture.shape[1] - 2, picture.shape[2] - 2
    total = np.zeros((picture.shape[0], height, width, weights.shape[3])) + bias
    for dy in range(3):
        for dx in range(3):
            total += picture[:, dy:dy + height, dx:dx + width, :] @ weights[:, dy, dx, :]
    return total


if __name__ == "__main__":
    for channels, outputs, width, height, pictures in [(1, 1, 1, 1, 1), (5, 7, 9, 3, 2), (16, 40, 31, 6, 1), (128, 128, 20, 8, 1)]:
        picture = arrays.noise((pictures, height + 2, width + 2, channels), np.float32, 1)
        weights = arrays.noise((channels, 3, 3, outputs), np.float32, 2)
        bias = arrays.noise((outputs,), np.float32, 3)
        actual = arrays.output_of(sys.argv[1:], {"input": picture, "filter": weights, "bias": bias},
                                  (outputs, width, height, pictures))
        wide = [v.astype(np.float64) for v in (picture, weights, bias)]
        size = convolved(*map(np.abs, wide))
        arrays.judge("conv_layer", actual, np.maximum(convolved(*wide), 0), size * (9 * channels + 1) * 2.0 ** -24)
