"""Compiles the corpus' CUDA kernels as HIP for AMD's targets, and runs them on the CPU device.

Usage: amd_corpus.py CLANG PRLX [--target TARGET] [WORD...], from the root of the repository (`cargo xtask amd-corpus`
does it). Words select kernels by name.

Every kernel must give the results that its launch file expects, must be `same` as itself at levels `path` and `events`,
and must decode to the same path whether decisions that follow from others are recorded or not. Instrumented code must
record what the CPU device records by itself, and the tables of tests/kernels/amd/corpus.prlx must be the same.
tests/kernels/amd/corpus.txt lists the kernels that are not HIP, with reasons: the others must compile. Modules are kept
in target/amd, and compiled again if their source is newer.
"""

import collections
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys

CORPUS = pathlib.Path("tests/kernels/cuda")
LIST = pathlib.Path("tests/kernels/amd/corpus.txt")
PROGRAM = pathlib.Path("tests/kernels/amd/corpus.prlx")
HEADERS = pathlib.Path("tests/kernels/amd/hip")
OUT = pathlib.Path("target/amd")
# Name, processor, further flags. RDNA has waves of 32 and of 64 lanes.
TARGETS = (
    ("gfx90a", "gfx90a", ()),
    ("gfx942", "gfx942", ()),
    ("gfx1030", "gfx1030", ()),
    ("gfx1100", "gfx1100", ()),
    ("gfx1100-wave64", "gfx1100", ("-mwavefrontsize64",)),
    ("gfx1201", "gfx1201", ()),
)
CHECKS = (
    *("results", "same at path", "same at events", "without elision", "path by code", "hashes by code"),
    *("events by code", "probe by code", "dead registers", "saved registers", "no free registers"),
)
# Options of `--registers` for the last three: inserted code takes registers that hold nothing, saves all that it takes,
# or borrows scalar registers as well.
CHOICES = ("dead", "saved", "scarce")
# What is said of kernels whose instrumented code does not record the same: for all targets and levels, or for some.
OTHERWISE = {
    "recursion": "its functions call each other in a circle",
    # It loads addresses of functions, and the instrumented object lies elsewhere.
    ("function_pointer", "fingerprint"): "have different values",
    # Which warp claims a node depends on the schedule, which inserted code changes.
    **{("bfs_step", "events", target): "have different values" for target in ("gfx1030", "gfx1100", "gfx1201")},
}
# Kernels whose results depend on the schedule, which inserted code changes.
SCHEDULED = {"bfs_step"}
# Kernels that may be refused if a choice leaves no register free, and why.
REFUSED = {
    # Slots lie behind the stack in scratch memory, and gfx9 needs none there.
    "it is not known how large its stack is": {"function_pointer", "recursion"},
    "too few vector registers are free": {"function_pointer", "levenshtein", "noinline_call", "quicksort_local"},
}
FLAGS = (
    *("-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib", "-fms-extensions"),
    *("-std=c++17", "-O2", "-gline-tables-only", "-mcode-object-version=5", "-include", "gpu.h", "-I"),
)


def build(clang, folder, target):
    """Makes a kernel's code object and launch file for a target. Returns the launch file."""
    name, processor, flags = target
    out = OUT / folder.name
    module, source = out / f"{name}.co", folder / "kernel.cu"
    newest = max(source.stat().st_mtime, (HEADERS / "gpu.h").stat().st_mtime)
    if not module.is_file() or module.stat().st_mtime < newest:
        words = [clang, f"--offload-arch={processor}", *flags, *FLAGS, str(HEADERS.resolve()), "kernel.cu", "-o", module.name]
        done = subprocess.run(words, cwd=out, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"does not compile:\n{done.stderr[:2000]}")
    launch = (folder / "launch.toml").read_text().splitlines()
    lines = [f'module = "{module.name}"' if line.split("=")[0].strip() == "module" else line for line in launch]
    file = out / f"{name}.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


def call(prlx, *words):
    """Runs a command. Returns its exit code and its output."""
    done = subprocess.run([prlx, *map(str, words)], capture_output=True, text=True, timeout=600)
    # One that was killed says nothing.
    return done.returncode, done.stdout + done.stderr or f"exit code {done.returncode}"


def compare(prlx, *words):
    """Compares. Returns an error, or None if the verdict is `same`."""
    code, text = call(prlx, "compare", *words)
    return None if code == 0 else text.strip()[:600]


def check(clang, prlx, folder, target):
    """Builds and checks a kernel for a target. Returns errors by check."""
    try:
        launch = build(clang, folder, target)
    except RuntimeError as error:
        return {name: str(error) for name in CHECKS}
    code, text = call(prlx, "run", launch)
    if code:
        return {name: text.strip()[:600] for name in CHECKS}
    errors = {
        CHECKS[1]: compare(prlx, launch, launch),
        CHECKS[2]: compare(prlx, launch, launch, "--level", "events"),
        CHECKS[3]: same_recordings(prlx, launch, ["--no-elide"], []),
        CHECKS[4]: by_code(prlx, launch, "path"),
        CHECKS[5]: by_code(prlx, launch, "fingerprint"),
        CHECKS[6]: by_code(prlx, launch, "events"),
    }
    errors[CHECKS[7]] = same_tables(prlx, launch)
    for name, choice in zip(CHECKS[8:], CHOICES):
        errors[name] = by_code(prlx, launch, choice)
    return {name: error for name, error in errors.items() if error}


def by_code(prlx, launch, kind):
    """Compares a recording of instrumented code with one of the CPU device. OTHERWISE has the exceptions."""
    level, registers = ("path", ["--registers", kind]) if kind in CHOICES else (kind, [])
    error = same_recordings(prlx, launch, ["--level", level, "--rewritten", *registers], ["--level", level])
    name = launch.parent.name
    if error and kind in CHOICES and not (kind == "dead" and launch.stem.startswith("gfx9")):
        if any(why in error and name in kernels for why, kernels in REFUSED.items()):
            return None
    keys = (name, (name, kind), (name, kind, launch.stem))
    said = next((OTHERWISE[key] for key in keys if key in OTHERWISE), None)
    if said is None:
        return error
    return None if error and said in error else f"does not say `{said}`: {error}"


def same_tables(prlx, launch):
    """Compares the tables of a program that is inserted with those of the same program beside the code."""
    (code, text), (by_code, other) = (call(prlx, "probe", *more, "-f", PROGRAM, launch, "--json") for more in ([], ["--rewritten"]))
    # Warnings may follow.
    tables = lambda text: json.JSONDecoder().raw_decode(text)[0]["tables"]
    if code == 0 and by_code == 0 and tables(text) == tables(other):
        return None
    name = launch.parent.name
    said = OTHERWISE.get(name)
    if code == 0 and by_code and said and said in other or code == 0 and by_code == 0 and name in SCHEDULED:
        return None
    return f"exit codes {code} and {by_code}: {text[:300]} {other[:600]}"


def same_recordings(prlx, launch, *both):
    """Compares two recordings of a launch, with these options each."""
    files = [launch.with_suffix(suffix) for suffix in (".a.prlx", ".b.prlx")]
    for file, flags in zip(files, both):
        code, text = call(prlx, "record", launch, "-o", file, "--force", *flags)
        if code:
            return text.strip()[:600]
    code, text = call(prlx, "diff", *files)
    for file in files:
        file.unlink(missing_ok=True)
    return None if code == 0 else text.strip()[:600]


def main():
    clang, prlx, *words = sys.argv[1:]
    prlx = str(pathlib.Path(prlx).resolve())
    targets = TARGETS
    if "--target" in words:
        at = words.index("--target")
        targets = [t for t in TARGETS if t[0] == words[at + 1]] or sys.exit(f"the targets are {[t[0] for t in TARGETS]}")
        del words[at : at + 2]
    excluded = {line.split(":")[0] for line in LIST.read_text().splitlines() if line and not line.startswith("#")}
    folders = [f for f in sorted(CORPUS.iterdir()) if (f / "kernel.cu").is_file() and (f / "launch.toml").is_file()]
    unknown = excluded - {f.name for f in folders}
    if unknown:
        sys.exit(f"{LIST} names kernels that do not exist: {sorted(unknown)}")
    chosen = [f for f in folders if f.name not in excluded and (not words or any(word in f.name for word in words))]
    for folder in chosen:
        (OUT / folder.name).mkdir(parents=True, exist_ok=True)
        for file in [*folder.glob("*.npy"), folder / "kernel.cu"]:
            shutil.copy2(file, OUT / folder.name)
    jobs = [(folder, target) for folder in chosen for target in targets]
    right, errors = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        run = lambda job: check(clang, prlx, *job)
        for (folder, target), found in zip(jobs, pool.map(run, jobs)):
            for name in CHECKS:
                right[target[0], name] += name not in found
            for name, error in found.items():
                errors.append(f"{folder.name} for {target[0]}, {name}: {error}")
                if len(found) == len(CHECKS):
                    break
    print(f"{len(chosen)} kernels; right of them:")
    print(f"{'target':16}" + "".join(f"{name:>22}" for name in CHECKS))
    for name, *_ in targets:
        print(f"{name:16}" + "".join(f"{right[name, check]:22}" for check in CHECKS))
    for error in errors:
        print(error)
    sys.exit(bool(errors))


main()
