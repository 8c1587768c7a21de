#!/usr/bin/env python3
"""Independent reference of softmax.  usage: check.py CALO run ALGORITHM [--schedule FILE ...]

Runs the command on noise of several sizes. The output must lie within a part of (columns + 16 + d) 2^-24 of the
float64 reference: a sum of so many terms rounds once a term; the exponential, the difference in it and the
quotient account for the rest, where a difference of magnitude d is rounded to d 2^-24, which its exponential
is off by.
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import arrays


def softmax(rows):
    """rows: float64 [rows, columns]; the shares, and the limit of their error."""
    less = rows - rows.max(axis=1, keepdims=True)
    power = np.exp(less)
    shares = power / power.sum(axis=1, keepdims=True)
    part = (rows.shape[1] + 16 + np.abs(less)) * 2.0 ** -24
    return shares, shares * part + 2.0 ** -126  # below: denormal, or zero


if __name__ == "__main__":
    for columns, rows, spread in [(1, 1, 1), (7, 5, 100), (777, 100, 4), (1024, 64, 1)]:
        source = arrays.noise((rows, columns), np.float32, columns) * np.float32(spread)
        actual = arrays.output_of(sys.argv[1:], {"input": source}, (columns, rows))
        arrays.judge("softmax", actual, *softmax(source.astype(np.float64)))
