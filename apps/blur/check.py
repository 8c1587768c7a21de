#!/usr/bin/env python3
"""Independent reference of blur.  usage: check.py INPUT OUTPUT  (PNG or .npy; exact)"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import picture


def blur(source):
    """source: uint16 [height, width, channels]; the mean of three along x, then along y."""
    wide = source.astype(np.uint64)  # the sum of three 16-bit samples needs 18 bits
    row = sum(picture.shifted(wide, dx, 0) for dx in (-1, 0, 1)) // 3
    column = sum(picture.shifted(row, 0, dy) for dy in (-1, 0, 1)) // 3
    return column.astype(np.uint16)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    expected = blur(picture.as_u16(picture.load(sys.argv[1])))
    actual = picture.load(sys.argv[2])
    if actual.shape != expected.shape or actual.dtype != np.uint16:
        sys.exit(f"blur: {actual.dtype}{actual.shape}, expected uint16{expected.shape}")
    wrong = np.argwhere(actual != expected)
    if len(wrong):
        y, x, c = wrong[0]
        sys.exit(f"blur: {len(wrong)} samples differ, first (x {x}, y {y}, c {c}): "
                 f"{actual[y, x, c]}, expected {expected[y, x, c]}")
    print(f"blur: {actual.size} samples equal")


if __name__ == "__main__":
    main()
