"""Compiles the corpus' CUDA kernels at several optimisation levels and for debugging, and compares the builds.

Usage: builds.py NVCC PRLX [--level LEVEL] [WORD...], from the root of the repository (`cargo xtask builds` does it). Words
select kernels by name. `LEVEL` is `path`, `values` or `events`, which also compares stored values.

All builds of a kernel come from one source and run on the same data on the CPU device. tests/kernels/builds.txt lists
the comparisons that differ, with reasons; all others must not differ. A comparison that is listed for its outputs must
not differ in its path. Modules are kept in target/builds, and compiled again if their source is newer.
"""

import collections
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys

CORPUS = pathlib.Path("tests/kernels/cuda")
LIST = pathlib.Path("tests/kernels/builds.txt")
OUT = pathlib.Path("target/builds")
# `G` is a debug build.
LEVELS = ("O0", "O1", "O3", "G")
ONE_WAY = (("O1", "O3"), ("O0", "O3"), ("O0", "O1"), ("G", "O3"))
PAIRS = (*ONE_WAY, *((b, a) for a, b in ONE_WAY))


def corpus_line(source, word):
    """Returns the value of a line `// corpus: WORD ...` of a source."""
    for line in source.read_text().splitlines():
        if line.startswith(f"// corpus: {word} "):
            return line.split()[3]
    return None


def build(nvcc, folder):
    """Makes a kernel's modules and launch files. Returns their folder, or None if the source has its own flags."""
    source = folder / "kernel.cu"
    if corpus_line(source, "flags") or not (folder / "launch.toml").is_file():
        return None
    arch = corpus_line(source, "only") or "sm_80"
    out = OUT / folder.name
    out.mkdir(parents=True, exist_ok=True)
    for file in [*folder.glob("*.npy"), *folder.glob("*.cu*")]:
        shutil.copy2(file, out)
    launch = (folder / "launch.toml").read_text().splitlines()
    for level in LEVELS:
        module = out / f"{level}.ptx"
        if not module.is_file() or module.stat().st_mtime < source.stat().st_mtime:
            how = ["-G"] if level == "G" else ["-lineinfo", "-O3", "-Xcicc", f"-{level}"]
            words = [nvcc, "-ptx", "-std=c++17", "-frandom-seed=prlx", *how, f"-arch={arch}", "kernel.cu", "-o", module.name]
            done = subprocess.run(words, cwd=out, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{folder.name} at {level}:\n{done.stderr}")
        lines = [f'module = "{level}.ptx"' if line.split("=")[0].strip() == "module" else line for line in launch]
        (out / f"{level}.toml").write_text("\n".join(lines) + "\n")
    return out


def compare(prlx, folder, pair, how):
    """Returns the verdict, what differs (path or outputs), a reason, and why code was not compared."""
    files = [str(folder / f"{level}.toml") for level in pair]
    # Bits count here, whatever tolerance a launch file gives.
    done = subprocess.run([prlx, "compare", "--quiet", "--json", "--level", how, "--ulp", "0", *files], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        sys.exit(f"{folder.name} {'-'.join(pair)}:\n{done.stderr}")
    report = json.loads(done.stdout)
    launch = report["launches"][0]
    # What is stored is an output, sooner or later.
    what = "path" if any(f["kind"] != "Value" for f in launch["findings"]) else "outputs"
    places = [f["site"][0] or f["site"][1] for f in launch["findings"]]
    lines = [line(place) for place in places if place]
    reason = f"lines {', '.join(lines)}" if lines else "; ".join(reasons(launch))
    return report["verdict"], what, reason, {u["why"] for u in launch["uncompared"] if u["hides"]}


def line(site):
    """Returns the line of a site in the kernel's file, or of the call there that it was inlined into."""
    place = site.get("location") or {}
    return str(([place] + place.get("inlined", []))[-1].get("line", "?"))


def reasons(launch):
    """Returns why a launch is `unknown`: code that was not compared, by kind, with lines; or the gaps."""
    places = collections.defaultdict(set)
    for u in launch["uncompared"]:
        if u["hides"]:
            side = " in " + "AB"[u["side"]] if u["why"] == "alone" else ""
            places[u["why"] + side].add(f"{line(u['site'])} {u['site']['class']}")
    out = [f"{why}: {', '.join(sorted(at, key=lambda p: int(p.split()[0]) if p[0] != '?' else 0))}" for why, at in places.items()]
    return out or launch["gaps"]


def listed():
    """Returns what may differ, by kernel and pair."""
    out = {}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            kernel, pairs, what = line.split()[:3]
            out.update({(kernel, pair): what for pair in pairs.split(",")})
    return out


def main(nvcc, prlx, *words):
    wanted = listed()
    words = list(words)
    how = "path"
    if "--level" in words:
        at = words.index("--level")
        _, how = words[at : at + 2]
        del words[at : at + 2]
    folders = [f for f in sorted(CORPUS.iterdir()) if not words or any(word in f.name for word in words)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        built = [out for out in pool.map(lambda f: build(nvcc, f), folders) if out]
        jobs = [(out, pair) for pair in PAIRS for out in built]
        results = list(pool.map(lambda job: compare(prlx, *job, how), jobs))
    wrong = 0
    counts = collections.defaultdict(collections.Counter)
    causes = collections.defaultdict(collections.Counter)
    for (out, pair), (verdict, what, reason, why) in zip(jobs, results):
        # Whichever of two builds is A, they differ or do not.
        want = wanted.get((out.name, "-".join(sorted(pair))))
        got = what if verdict == "differs" else None
        counts[pair][verdict] += 1
        causes[pair].update(why if verdict == "unknown" else [])
        # Who comes first decides: a difference if the builds do not show it as order in the same way.
        right = got in (None, "path") if want == "order" else got == want
        mark = "  " if right else "! "
        wrong += not right
        if verdict != "same" or not right:
            of = f"{verdict} ({got})" if got else verdict
            print(f"{mark}{'-'.join(pair)}  {out.name:22} {of:18} wanted: {want or 'not to differ':14} {reason}")
    for pair, of in counts.items():
        why = ", ".join(f"{n} for {cause}" for cause, n in causes[pair].most_common())
        print(f"{'-'.join(pair)}: " + ", ".join(f"{of[v]} {v}" for v in ("same", "unknown", "differs")) + (f"; unknown: {why}" if why else ""))
    if wrong:
        sys.exit(f"{wrong} comparisons are not what {LIST} says")


main(*sys.argv[1:])
