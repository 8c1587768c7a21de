"""Times the product of two float32 matrices in NumPy, that is OpenBLAS, in a process of its own, on request.

usage: numpy_time.py N   answers each line with that many times in ms. OPENBLAS_NUM_THREADS says on how many threads.
"""
import sys
import time

import numpy as np

n = int(sys.argv[1])
a, b = (np.random.default_rng(seed).random((n, n), np.float32) for seed in (1, 2))
out = np.zeros((n, n), np.float32)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.perf_counter()
        np.matmul(a, b, out=out)
        times.append((time.perf_counter() - start) * 1e3)
    print(*times, flush=True)
