#!/usr/bin/env python3
"""Checks that includes between the folders of src/ go downwards only.

Reads every #include "..." line; a name is looked up beside the including file first, then under src/,
as the compiler does. LLVM headers belong to codegen alone. Prints FILE:LINE for each offence.
"""
import pathlib
import re
import sys

ORDER = [["base"], ["ir"], ["analysis"], ["transform"], ["schedule"], ["lang", "lower"], ["codegen"],
         ["driver"]]
# What everyone may include: the runtime's C interface, the typed view of its buffers, and what
# compiled code and its callers share with the runtime.
OPEN = {"runtime/HalideRuntime.h", "runtime/HalideBuffer.h", "runtime/runtime.h"}
APART = {"runtime": set(), "simcuda": set(), "io": {"base"}, "run": {"io"}}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def allowed_folders():
    allowed, below = {}, set()
    for rank in ORDER:
        for folder in rank:
            allowed[folder] = below | {folder}
        below |= set(rank)
    for folder, extra in APART.items():
        allowed[folder] = extra | {folder}
    allowed["autoscheduler"] = (below - {"driver", "codegen"}) | {"autoscheduler"}
    allowed["driver"] |= {"io", "run", "autoscheduler"}
    allowed["compat"] = set(allowed) | {"compat", ""}
    return allowed


def resolve(root, file, name):
    """The included file relative to src/, or None where it is not ours."""
    for candidate in (file.parent / name, root / "src" / name, root / name):
        if candidate.is_file():
            path = candidate.resolve()
            base = root / "src" if (root / "src") in path.parents else root
            return path.relative_to(base).as_posix()
    return None


def folder_of(path):
    return path.split("/")[0] if "/" in path else ""


def check_file(root, file, folder, allowed, faults):
    for number, line in enumerate(file.read_text(errors="replace").split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(2)
        where = f"{file.relative_to(root)}:{number}"
        if re.match(r"(llvm|llvm-c|lld|clang)/", name) and folder != "codegen":
            faults.append(f"{where}: {name}: only codegen may include LLVM")
        target = resolve(root, file, name) if match.group(1) == '"' else None
        if target is None or target in OPEN or folder not in allowed:
            continue
        if folder_of(target) not in allowed[folder]:
            faults.append(f"{where}: {folder} may not include {target}")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    allowed, faults, count = allowed_folders(), [], 0
    sources = [*root.glob("src/**/*"), *root.glob("autoscheduler/**/*")]
    for file in sorted(f for f in sources if f.suffix in {".h", ".cpp", ".def"}):
        relative = file.relative_to(root).as_posix().removeprefix("src/")
        folder = folder_of(relative)
        count += 1
        if folder and folder not in allowed:
            faults.append(f"{relative}: unknown folder {folder}: give it a place in {__file__}")
        check_file(root, file, folder, allowed, faults)
    print("\n".join(faults))
    print(f"{count} files, {len(faults)} includes against the layers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
