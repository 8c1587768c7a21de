"""Reads pictures for the references: PNG by a decoder of its own (so that a fault in the product's
reader shows), or .npy. Arrays are [height, width, channels], the file's own integer type.

Not supported, and said so: interlaced, palette and sub-byte PNG.
"""
import struct
import sys
import zlib

import numpy as np

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by PNG colour type


def load(path):
    if str(path).endswith(".npy"):
        planar = np.load(path)  # [channels, height, width]: dimension 0 of a pipeline is innermost
        return np.moveaxis(planar if planar.ndim == 3 else planar[None], 0, -1)
    return read_png(path)


def read_png(path):
    data = open(path, "rb").read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path}: not a PNG file")
    header, packed, at = None, b"", 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height, bits, colour, _, _, interlaced = header
    if bits not in (8, 16) or colour not in CHANNELS or interlaced:
        raise ValueError(f"{path}: unsupported PNG (bits {bits}, colour {colour})")
    channels = CHANNELS[colour]
    pixel = channels * bits // 8
    rows = unfilter(np.frombuffer(zlib.decompress(packed), np.uint8), width * pixel, height, pixel)
    if bits == 16:
        rows = rows.view(">u2").astype(np.uint16)
    return rows.reshape(height, width, channels)


def unfilter(raw, row_bytes, height, pixel):
    """Undoes PNG's per-row prediction from the left (a), above (b) and upper left (c) byte."""
    raw = raw.reshape(height, row_bytes + 1)
    out = np.zeros((height, row_bytes), np.uint8)
    above = np.zeros(row_bytes, np.uint8)
    for y in range(height):
        kind, line = raw[y, 0], raw[y, 1:]
        if kind == 0:
            row = line.copy()
        elif kind == 2:
            row = line + above
        else:
            row = unfilter_serial(kind, line, above, pixel)
        out[y] = above = row
    return out


def unfilter_serial(kind, line, above, pixel):
    row, up = [0] * pixel + line.tolist(), [0] * pixel + above.tolist()
    for i in range(pixel, len(row)):
        a, b, c = row[i - pixel], up[i], up[i - pixel]
        if kind == 1:
            guess = a
        elif kind == 3:
            guess = (a + b) // 2
        else:
            p = a + b - c
            near = [abs(p - a), abs(p - b), abs(p - c)]
            guess = (a, b, c)[near.index(min(near))]
        row[i] = (row[i] + guess) & 255
    return np.array(row[pixel:], np.uint8)


def as_u16(picture):
    """Into uint16 as the product reads files: 8-bit samples scale by 257."""
    return picture.astype(np.uint16) * 257 if picture.dtype == np.uint8 else picture


def as_float(picture):
    """Into float64 in 0..1; what is float already stays."""
    if picture.dtype.kind == "f":
        return picture.astype(np.float64)
    return picture / float(np.iinfo(picture.dtype).max)


def shifted(picture, dx, dy):
    """picture[y + dy, x + dx], the border sample repeated beyond the edges."""
    height, width = picture.shape[:2]
    rows = np.clip(np.arange(height) + dy, 0, height - 1)
    columns = np.clip(np.arange(width) + dx, 0, width - 1)
    return picture[rows][:, columns]


# ---- the ends of the references: arguments, comparison, verdict --------------------------------------
def files(name, arguments):
    """The input, the output to judge, and further arguments as numbers."""
    if len(arguments) < 3:
        sys.exit(f"usage: check.py INPUT OUTPUT [ARGUMENTS]  of {name}")
    return load(arguments[1]), load(arguments[2]), [float(a) for a in arguments[3:]]


def judge(name, actual, expected, error, limit):
    if actual.shape != expected.shape:
        sys.exit(f"{name}: {actual.shape}, expected {expected.shape}")
    limit = np.broadcast_to(limit, error.shape)
    at = np.unravel_index(np.argmax(np.nan_to_num(error - limit, nan=np.inf)), error.shape)
    if not error[at] <= limit[at]:
        y, x, c = at
        sys.exit(f"{name}: {actual[at]} at (x {x}, y {y}, c {c}), expected {expected[at]}: off by "
                 f"{error[at]:g}, limit {limit[at]:g}; {np.sum(~(error <= limit))} samples are off")
    print(f"{name}: {actual.size} samples, worst error {error[at]:g}, limit {limit[at]:g}")


def check_exact(name, arguments, reference, kind):
    source, actual, more = files(name, arguments)
    expected = reference(source, *more)
    if actual.dtype != kind or actual.shape != expected.shape:
        sys.exit(f"{name}: {actual.dtype}{actual.shape}, expected {kind.__name__}{expected.shape}")
    judge(name, actual, expected, np.abs(actual.astype(np.int64) - expected.astype(np.int64)), 0)


def check_steps(name, arguments, reference, steps):
    """16-bit samples within so many steps."""
    source, actual, more = files(name, arguments)
    expected = reference(as_u16(source), *more)
    if actual.dtype != np.uint16 or actual.shape != expected.shape:
        sys.exit(f"{name}: {actual.dtype}{actual.shape}, expected uint16{expected.shape}")
    judge(name, actual, expected, np.abs(actual - expected), steps)


def check_close(name, arguments, reference, tolerance, steps, relative=False):
    """Floats (.npy) within the tolerance, 16-bit samples within so many steps of the clamped value. relative:
    the reference gives the size that the tolerance is a part of, too."""
    source, actual, more = files(name, arguments)
    expected = reference(as_float(source), *more)
    limit = tolerance
    if relative:
        expected, size = expected
        limit = tolerance * size + 1e-30
    if actual.dtype.kind != "f":
        if actual.dtype != np.uint16:
            sys.exit(f"{name}: {actual.dtype} samples, expected uint16")
        expected = np.clip(expected, 0, 1) * 65535
        limit = limit * 65535 + steps if relative else steps
    if actual.shape != expected.shape:
        sys.exit(f"{name}: {actual.shape}, expected {expected.shape}")
    judge(name, actual, expected, np.abs(actual - expected), limit)
