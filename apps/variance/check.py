#!/usr/bin/env python3
"""Independent reference of variance.  usage: check.py CALO run ALGORITHM [--schedule FILE ...]

Runs the command on noise of several sizes and means. Of the float64 reference the output may be off by a part of
(columns + 8) 2^-24, as a sum of so many terms, and by what an error of the mean brings: its square.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import arrays

if __name__ == "__main__":
    for columns, rows, middle in [(1, 1, 0), (7, 5, 3), (64, 3, 1), (777, 100, 100), (1024, 64, 1e4)]:
        source = arrays.noise((rows, columns), np.float32, columns) + np.float32(middle)
        exact = source.astype(np.float64)
        variance = exact.var(axis=1)
        mean_error = (columns + 2) * 2.0 ** -24 * np.abs(exact).mean(axis=1)
        limit = variance * (columns + 8) * 2.0 ** -24 + mean_error ** 2 + \
            4 * np.sqrt(variance) * np.abs(exact).max(axis=1) * 2.0 ** -24
        arrays.judge("variance", arrays.output_of(sys.argv[1:], {"input": source}, (rows,)),
                     variance, limit)
