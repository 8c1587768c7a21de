"""What the references of apps on arrays share: noise, a run of the app, the verdict. A pipeline's dimension 0 is
an array's last axis.
"""
import pathlib
import subprocess
import tempfile

import numpy as np


def noise(shape, kind, seed):
    """Floats are about normal with a spread of 1; whole numbers take every value of their type."""
    generator = np.random.default_rng(seed)
    if np.dtype(kind).kind == "f":
        return generator.standard_normal(shape).astype(kind)
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max, shape, kind, endpoint=True)


def output_of(command, inputs, extents):
    """The array that `command` (`calo run ...`, without arguments) gives for these inputs, an array of a kind that
    files can hold each, with outputs of these extents, dimension 0 first."""
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        arguments = []
        for name, array in inputs.items():
            np.save(at / f"{name}.npy", array)
            arguments.append(f"{name}={at / name}.npy")
        size = "[" + ",".join(map(str, extents)) + "]"
        subprocess.run([*command, *arguments, "--output_extents", size, f"output={at}/output.npy"],
                       check=True, stdout=subprocess.DEVNULL)
        return np.load(at / "output.npy")


def judge(name, actual, expected, limit):
    """Each element within its own limit."""
    if actual.shape != expected.shape:
        raise SystemExit(f"{name}: {actual.shape}, expected {expected.shape}")
    error = np.abs(actual.astype(expected.dtype) - expected)
    limit = np.broadcast_to(limit, error.shape)
    wrong = ~(error <= limit)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise SystemExit(f"{name}: {actual[at]} at {list(map(int, at[::-1]))} of {actual.shape[::-1]}, expected "
                         f"{expected[at]}: off by {error[at]:g}, limit {limit[at]:g}; {wrong.sum()} elements are off")
    print(f"{name} {actual.shape[::-1]}: worst error {np.max(error / np.maximum(limit, 1e-300)):.3f} of the limit"
          if np.any(limit) else f"{name} {actual.shape[::-1]}: exact")
