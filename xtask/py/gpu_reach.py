"""Which producers' kernels are recorded, on a GPU: gpu_reach.py PRLX [PRODUCER…]

For every producer of `tests/programs/python/producers.py`, it prints the launches and how many of them are
recorded, with `--no-env` and without, and whether the program printed the same number as without the recorder.
A producer whose libraries are missing is said to be so.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).parents[2] / "tests/programs/python/producers.py"
NAMES = ["cupy", "jax", "pallas", "load_inline", "jiterator", "triton", "inductor", "numba"]


def recorded(prlx, name, options):
    """What the program printed, and a line for each kernel: launches, recorded, why not."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/r"
        words = [prlx, "record", *options, "-o", out, "--", sys.executable, str(PROGRAM), name]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        try:
            index = json.loads(pathlib.Path(out, "session.json").read_text())
        except OSError:
            return done.stdout, 0, 0, collections.Counter({done.stderr.strip()[-200:]: 1}), ""
        count = lambda key: sum(p[key] for p in index["processes"])
        reasons = collections.Counter()
        for process in index["processes"]:
            reasons.update(process["skipped"])
        listed = subprocess.run([prlx, "inspect", out], capture_output=True, text=True).stdout
        return done.stdout, count("launches"), count("recorded"), reasons, listed


def main():
    prlx, *names = sys.argv[1:]
    print(f"{'producer':<12} {'launches':>8} {'--no-env':>8} {'recorded':>8}  output")
    details = []
    for name in names or NAMES:
        bare = subprocess.run([sys.executable, str(PROGRAM), name], capture_output=True, text=True, timeout=300)
        if bare.returncode:
            print(f"{name:<12} {'-':>8} {'-':>8} {'-':>8}  not here: {bare.stderr.strip().splitlines()[-1][:80]}")
            continue
        _, _, before, _, _ = recorded(prlx, name, ["--no-env"])
        text, launches, after, reasons, listed = recorded(prlx, name, [])
        same = "same" if text == bare.stdout else f"DIFFERS: {bare.stdout.strip()} {text.strip()}"
        print(f"{name:<12} {launches:>8} {before:>8} {after:>8}  {same}", flush=True)
        details += [f"{name}: {n} x {why}" for why, n in reasons.items()] + [listed]
    print("\n" + "\n".join(details))


if __name__ == "__main__":
    main()
