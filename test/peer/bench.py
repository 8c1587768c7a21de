#!/usr/bin/env python3
"""Times our compiler beside Halide 21: the same generator source under the same schedule.

usage: bench.py [--only run|compile|first|source] [--apps NAME ...] [--rounds N] [--json FILE]

Halide comes from PyPI into build/venv. Rivals are processes of their own and alternate in short turns;
times are minima (medians in brackets), the figure is the ratio. It never decides pass or fail.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "peer"
SDK = ROOT / "build" / "sdk"
HERE = pathlib.Path(__file__).resolve().parent
class App:
    """sample type, extents of inputs (or of the one called input) and output (dimension 0 first), scalars, the largest
    difference allowed from Halide: 0 for integers; its floats are not ours to the bit."""

    def __init__(self, dtype, extents, tolerance, output=None, scalars=None):
        self.dtype, self.output = dtype, output or extents
        self.inputs = extents if isinstance(extents, dict) else {"input": extents}
        self.tolerance, self.scalars = tolerance, scalars or {}

    def sample(self):
        return {"uint8": "uint8_t", "uint16": "uint16_t", "float32": "float"}[self.dtype]

    def noise(self):
        """An array for each input."""
        noise = np.random.default_rng(1)
        if self.dtype == "float32":
            return {name: noise.random(extents[::-1], np.float32) for name, extents in self.inputs.items()}
        return {name: noise.integers(0, np.iinfo(self.dtype).max + 1, extents[::-1], self.dtype)
                for name, extents in self.inputs.items()}

    def arguments(self):
        """What a compiled pipeline takes before its output, in C++."""
        inputs = [f"inputs[{i}]" for i in range(len(self.inputs))]
        return "".join(f"{a}," for a in inputs + [str(v) for v in self.scalars.values()])


COLOUR, GREY = (1536, 2560, 3), (1536, 2560)
APPS = {
    "blur": App("uint16", (6400, 4800, 1), 0),
    "unsharp": App("float32", COLOUR, 1e-4),
    "harris": App("float32", COLOUR, 1e-4, output=GREY),
    "histogram": App("uint8", COLOUR, 0),
    "iir_blur": App("float32", COLOUR, 1e-4, scalars={"alpha": 0.1}),
    "bilateral_grid": App("float32", GREY, 1e-3, scalars={"r_sigma": 0.1}),
    "local_laplacian": App("uint16", COLOUR, 8, scalars={"levels": 8, "alpha": 1.0, "beta": 1.0}),
    "softmax": App("float32", (1024, 4096), 1e-5),
    "gemm": App("float32", {"a": (2048, 2048), "b": (2048, 2048)}, 1e-5, output=(2048, 2048)),
    "conv_layer": App("float32", {"input": (128, 102, 82, 5), "filter": (128, 3, 3, 128), "bias": (128,)}, 1e-5,
                      output=(128, 100, 80, 5)),
}
LIMITS = {"run": 1.05, "compile": 0.5, "source": 1 / 3}
WHAT = {"run": "run", "Func to code": "compile", "generator source": "source"}
FIRST_LIMIT_MS = 30


def sh(*command, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **kwargs)
    if done.returncode:
        sys.exit(f"bench: {' '.join(str(c) for c in command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def halide_package():
    venv = ROOT / "build" / "venv"
    if not (venv / "bin" / "python").exists():
        sh(sys.executable, "-m", "venv", venv)
    found = list(venv.glob("lib/python3*/site-packages/halide/include/Halide.h"))
    if not found:
        sh(venv / "bin" / "pip", "install", "-q", "halide==21.0.0")
        found = list(venv.glob("lib/python3*/site-packages/halide/include/Halide.h"))
    return found[0].parents[1]


def halide_target():
    """Spelled out: Halide looks at the model, which may name features this machine masks."""
    flags = set(re.search(r"^flags\s*: (.*)$", open("/proc/cpuinfo").read(), re.M).group(1).split())
    target = "x86-64-linux-sse41"
    if {"avx", "avx2", "fma", "f16c"} <= flags:
        target += "-avx-avx2-fma-f16c"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= flags:
        target += "-avx512-avx512_skylake"
    return target


def prefer():
    """In the timed process: its own scheduling group, ahead of others' (needs root, else no effect)."""
    os.setsid()
    try:
        with open("/proc/self/autogroup", "w") as f:
            f.write("-15")
    except OSError:
        pass


class Halide:
    def __init__(self):
        self.package = halide_package()
        self.include = self.package / "include"
        self.link = [f"-L{self.package}/lib64", "-lHalide", f"-Wl,-rpath,{self.package}/lib64"]
        self.env = dict(os.environ, HL_TARGET=halide_target(), CALO_CACHE="off")

    def build_generator(self, app, schedule_cpp):
        folder = WORK / app
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schedule.inc").write_text(declare_funcs(schedule_cpp) + schedule_cpp)
        sh("c++", "-std=c++17", "-O1", "-w", f"-I{self.include}",
           f'-DALGORITHM_SOURCE="{ROOT}/apps/{app}/algorithm.cpp"',
           f'-DSCHEDULE_SOURCE="{folder}/schedule.inc"', HERE / "halide_build.cpp",
           "-o", folder / "build", *self.link)
        return folder

    def build_timer(self, app):
        folder = WORK / app
        sh(folder / "build", "aot", app, folder / app, env=self.env)
        sh("c++", "-std=c++17", "-O2", "-w", f"-I{self.include}", f"-I{folder}", f"-DPIPELINE={app}",
           f'-DPIPELINE_HEADER="{app}.h"', f"-DSAMPLE={APPS[app].sample()}", f"-DARGUMENTS={APPS[app].arguments()}",
           HERE / "halide_time.cpp",
           folder / f"{app}.a", "-o", folder / "time", "-lpthread", "-ldl")
        return folder / "time"

    def compile_ms(self, app):
        return float(sh(WORK / app / "build", "jit", app, env=self.env, preexec_fn=prefer))


class Timer:
    """A halide_time process: one command, one line of answer."""

    def __init__(self, program, app):
        shapes = ["x".join(map(str, extents)) for extents in (*app.inputs.values(), app.output)]
        self.process = subprocess.Popen([str(program), *shapes], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, preexec_fn=prefer)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit(f"bench: the Halide process died on: {command}")
        return answer

    def run(self, times):
        return [float(t) for t in self.ask(f"run {times}").split()]


def declare_funcs(schedule_cpp):
    """The Funcs that a schedule names: before a dot at a statement's start, or where another is computed."""
    code = re.sub(r"//.*", "", schedule_cpp)
    names = set(re.findall(r"^\s*(\w+)\s*\.", code, re.M))
    names |= set(re.findall(r"(?:compute|store|hoist_storage)_(?:at|with)\(\s*(\w+)\s*,", code))
    declared = set(re.findall(r"\bFunc\s+(\w+)", code))
    return "".join(f'Func {name} = find_func("{name}");\n' for name in sorted(names - declared))


# ---- our side: through the command, as a person would ----------------------------------------------
def calo(*arguments, **kwargs):
    return sh(SDK / "bin" / "calo", *arguments, **kwargs)


def our_schedule(app):
    return calo("schedule", f"apps/{app}/algorithm.cpp", "--schedule", f"schedules/{app}", "--as", "cpp",
                cwd=ROOT)


def our_bench(app, inputs, samples):
    """{times_ms: [...], compile_ms: x} of the schedule that the target chooses."""
    out = calo("bench", f"apps/{app}/algorithm.cpp", "--schedule", f"schedules/{app}", "--chosen",
               "--samples", samples, "--json", *inputs, *our_scalars(app), cwd=ROOT,
               preexec_fn=prefer)
    return json.loads(out)["results"][0]


def our_scalars(app):
    return [f"{name}={value}" for name, value in APPS[app].scalars.items()]


def our_output(app, inputs, target):
    extents = "[" + ",".join(map(str, APPS[app].output)) + "]"
    calo("run", f"apps/{app}/algorithm.cpp", "--schedule", f"schedules/{app}", *inputs,
         f"output={target}", *our_scalars(app), "--output_extents", extents, cwd=ROOT)
    return np.load(target)


# ---- the figures -----------------------------------------------------------------------------------
def row(name, ours, theirs, limit):
    ratio = min(ours) / min(theirs)
    spread = [statistics.median(o) / statistics.median(t) for o, t in halves(ours, theirs)]
    print(f"{name:<28} ours {min(ours):9.2f} ms ({statistics.median(ours):9.2f})   "
          f"Halide {min(theirs):9.2f} ms ({statistics.median(theirs):9.2f})   "
          f"ratio {ratio:.3f} [{min(spread):.3f} .. {max(spread):.3f}]   limit {limit:.2f}", flush=True)
    return {"name": name, "what": WHAT.get(name.split(": ")[-1], ""), "ours_ms": ours, "halide_ms": theirs, "ratio": ratio, "limit": limit}


def halves(ours, theirs):
    cut = lambda v: (v[:len(v) // 2] or v, v[len(v) // 2:])
    return list(zip(cut(ours), cut(theirs)))


def bench_run(halide, app, rounds):
    what = APPS[app]
    timer = Timer(halide.build_timer(app), what)
    folder = WORK / app
    inputs = []
    for i, (name, source) in enumerate(what.noise().items()):
        source.tofile(folder / "input.raw")
        np.save(folder / f"{name}.npy", source)
        timer.ask(f"read {i} {folder}/input.raw")
        inputs.append(f"{name}={folder / name}.npy")
    extents = "[" + ",".join(map(str, what.output)) + "]"
    ours, theirs = [], []
    for _ in range(rounds):
        theirs += timer.run(10)
        ours += our_bench(app, [*inputs, "--output_extents", extents], 10)["times_ms"]
    timer.ask(f"write {folder}/halide.raw")
    expected = np.fromfile(folder / "halide.raw", what.dtype).reshape(what.output[::-1])
    actual = our_output(app, inputs, folder / "ours.npy")
    difference = np.abs(actual.astype(np.float64) - expected).max()
    if what.dtype == "float32":
        difference /= max(1, np.abs(expected).max())
    result = row(f"{app}: run", ours, theirs, LIMITS["run"])
    same = "the same bits" if difference == 0 else f"largest difference {difference:g}"
    print(f"{'':<28} {same}{'' if difference <= what.tolerance else '   WRONG'}")
    return {**result, "difference": float(difference)}


def bench_compile(halide, app, rounds):
    what = APPS[app]
    def small(extents):
        return ",".join(str(min(n, 64)) for n in extents)
    tiny = [f"{name}=random:0:[{small(extents)}]" for name, extents in what.inputs.items()]
    tiny += ["--output_extents", f"[{small(what.output)}]"] if len(what.inputs) > 1 else []
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(halide.compile_ms(app))
        ours.append(our_bench(app, tiny, 1)["compile_ms"])
    return row(f"{app}: Func to code", ours, theirs, LIMITS["compile"])


def our_link():
    return [f"-L{SDK}/lib", "-lcalotype", f"-Wl,-rpath,{SDK}/lib"]


def bench_first(halide, rounds):
    sides = {}
    for name, include, link in [("ours", SDK / "include", our_link()),
                                ("halide", halide.include, halide.link)]:
        sides[name] = WORK / f"first_{name}"
        sh("c++", "-std=c++17", "-O1", "-w", f"-I{include}", HERE / "first_realize.cpp", "-o", sides[name],
           *link)
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, program in sides.items():
            times[name].append(float(sh(program, env=halide.env, preexec_fn=prefer)))
    result = row("first realize", times["ours"], times["halide"], 1.0)
    print(f"{'':<28} limit {FIRST_LIMIT_MS} ms")
    return result


def bench_source(halide, app, rounds):
    ours, theirs = [], []
    for _ in range(rounds):
        for times, include in [(theirs, halide.include), (ours, SDK / "include")]:
            start = time.perf_counter()
            sh("c++", "-std=c++17", "-w", f"-I{include}", "-c", ROOT / "apps" / app / "algorithm.cpp",
               "-o", "/dev/null", preexec_fn=prefer)
            times.append((time.perf_counter() - start) * 1e3)
    return row(f"{app}: generator source", ours, theirs, LIMITS["source"])


def summarise(what, rows):
    if len(rows) > 1:
        ratios = [r["ratio"] for r in rows]
        print(f"{what:<28} geometric mean of {len(rows)} ratios {statistics.geometric_mean(ratios):.3f}, "
              f"largest {max(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=["run", "compile", "first", "source"])
    parser.add_argument("--apps", nargs="+", choices=list(APPS), default=list(APPS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    wanted = lambda what: arguments.only in (None, what)
    WORK.mkdir(parents=True, exist_ok=True)
    halide, rows = Halide(), []
    print(f"Halide 21.0.0 from PyPI, target {halide.env['HL_TARGET']}")
    for app in arguments.apps:
        if wanted("source"):
            rows.append(bench_source(halide, app, min(arguments.rounds, 3)))
        if wanted("run") or wanted("compile"):
            halide.build_generator(app, our_schedule(app))
        if wanted("compile"):
            rows.append(bench_compile(halide, app, arguments.rounds))
        if wanted("run"):
            rows.append(bench_run(halide, app, arguments.rounds))
    if wanted("first"):
        rows.append(bench_first(halide, arguments.rounds))
    for what in ("run", "compile", "source"):
        summarise(what, [r for r in rows if r["what"] == what])
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
