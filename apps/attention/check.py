#!/usr/bin/env python3
"""Independent reference of attention.  usage: check.py CALO run ALGORITHM [--schedule FILE ...]

Runs the command on the tensors of data/ and on noise of several sizes and masks. The output must lie within
(keys + head_dim + 16 + largest score) 2^-24 times the weighted mean of |V| of the float64 reference: a sum of so many
terms rounds once a term, and an exponential is off by the rounding of its score. A query that sees no key gives NaN.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import arrays


def attention(q, k, v, causal=False, window=0, bias=None):
    """float64 [batch, heads, tokens, head_dim] each; the output and the limit of its error."""
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    largest = np.abs(scores).max(initial=0)
    if bias is not None:
        scores = scores + bias
    position = np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
    key = np.arange(k.shape[2])[None, :]
    sees = np.ones((q.shape[2], k.shape[2]), bool)
    if causal:
        sees &= key <= position
    if window:
        sees &= position - key < window
    scores = np.where(sees, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
    part = (k.shape[2] + q.shape[3] + 16 + largest) * 2.0 ** -24
    return weights @ v, weights @ np.abs(v) * part + 2.0 ** -100


def run(command, q, k, v, parameters=(), bias=None):
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        arguments = list(parameters)
        inputs = {"Q": q, "K": k, "V": v}
        if bias is not None:
            inputs["B"] = bias
        for name, array in inputs.items():
            np.save(at / f"{name}.npy", array.astype(np.float32))
            arguments.append(f"{name}={at / name}.npy")
        size = "[" + ",".join(map(str, q.shape[::-1])) + "]"
        subprocess.run([*command, *arguments, "--output_extents", size, f"O={at}/O.npy"],
                       check=True, stdout=subprocess.DEVNULL)
        return np.load(at / "O.npy")


def judge(name, actual, expected, limit):
    nothing = np.isnan(expected)
    if not np.array_equal(np.isnan(actual.reshape(expected.shape)), nothing):
        raise SystemExit(f"{name}: NaN elsewhere than in the reference")
    keep = ~nothing
    arrays.judge(name, actual.reshape(expected.shape)[keep], expected[keep], limit[keep])


if __name__ == "__main__":
    command = sys.argv[1:]
    q, k, v = (np.load(HERE / "data" / f"layer0_{n}.npy")[None] for n in "qkv")
    for parameters, options in [([], {}), (["causal=true"], {"causal": True})]:
        expected = attention(*(a.astype(np.float64) for a in (q, k, v)), **options)
        judge("attention", run(command, q, k, v, parameters), *expected)
    noise = lambda *shape: arrays.noise(shape, np.float32, sum(shape))
    for queries, keys, width, heads, groups, parameters, options in [
            (1, 1, 64, 1, 1, [], {}),
            (7, 33, 80, 4, 2, ["causal=true", "kv_groups=2"], {"causal": True}),
            (200, 130, 64, 2, 1, ["causal=true"], {"causal": True}),  # the first queries see nothing
            (100, 100, 128, 1, 1, ["causal=true", "window=9"], {"causal": True, "window": 9}),
            (33, 65, 32, 2, 1, ["bias=true"], {"bias": True})]:
        q, k, v = noise(2, heads, queries, width), noise(2, heads // groups, keys, width), \
            noise(2, heads // groups, keys, width) + 1
        bias = noise(2, heads, queries, keys) if options.pop("bias", False) else None
        expected = attention(*(a.astype(np.float64) for a in (q, k, v)), bias=bias, **options)
        judge("attention", run(command, q, k, v, parameters, bias), *expected)
