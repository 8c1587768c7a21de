#!/usr/bin/env python3
"""Independent reference of gemm.  usage: check.py CALO run ALGORITHM [--schedule FILE ...] [type=s8]

Runs the command on noise of several sizes. int8 must be exact; a float32 sum must lie within terms * 2^-24 of the
sum of the terms' magnitudes.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import arrays

if __name__ == "__main__":
    whole = "type=s8" in sys.argv
    for columns, rows, terms in [(1, 1, 1), (7, 5, 3), (33, 31, 100), (130, 77, 300), (512, 384, 256)]:
        kind = np.int8 if whole else np.float32
        a, b = arrays.noise((rows, terms), kind, 1), arrays.noise((terms, columns), kind, 2)
        actual = arrays.output_of(sys.argv[1:], {"a": a, "b": b}, (columns, rows))
        if whole:
            arrays.judge("gemm s8", actual, a.astype(np.int64) @ b.astype(np.int64), 0)
        else:
            a, b = a.astype(np.float64), b.astype(np.float64)
            arrays.judge("gemm", actual, a @ b, np.abs(a) @ np.abs(b) * terms * 2.0 ** -24)
