#!/usr/bin/env python3
"""Independent reference of layernorm.  usage: check.py CALO run ALGORITHM [--schedule FILE ...]

Runs the command on noise of several sizes and means. The output may be off by (columns + 16) 2^-24 of itself, and by the
error of the mean, (columns + 2) 2^-24 of the values, over the root.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import arrays

if __name__ == "__main__":
    for columns, rows, middle in [(1, 1, 0), (7, 5, 3), (64, 3, 1), (777, 100, 100), (1024, 64, 4)]:
        source = arrays.noise((rows, columns), np.float32, columns) + np.float32(middle)
        scale, shift = arrays.noise((columns,), np.float32, 5), arrays.noise((columns,), np.float32, 6)
        exact = source.astype(np.float64)
        root = np.sqrt(exact.var(axis=1, keepdims=True) + np.float64(np.float32(1e-5)))
        centred = exact - exact.mean(axis=1, keepdims=True)
        mean_error = (columns + 2) * 2.0 ** -24 * np.abs(exact).max(axis=1, keepdims=True)
        limit = (np.abs(centred) / root * (columns + 16) * 2.0 ** -24 + mean_error / root * 2 +
                 np.abs(centred) * mean_error ** 2 / root ** 3) * np.abs(scale) + \
            np.abs(shift) * 2.0 ** -23 + 2.0 ** -100
        inputs = {"input": source, "scale": scale, "shift": shift}
        arrays.judge("layernorm", arrays.output_of(sys.argv[1:], inputs, (columns, rows)),
                     centred / root * scale + shift, limit)
