"""Measures the overhead of `--check`: checks.py PRLX [REPEAT]

It runs the corpus, and each launch of `bench/launches`, on one host thread without checks, with each check and with all
checks, and prints the ratio of processor times. The processor time of `prlx --version` is subtracted. The minimum of
REPEAT runs (3) counts, so that other work on the machine has little effect. The corpus' launches are small: much of their
time is reading and decoding.
"""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKS = ["bounds", "init", "race", "sync", "async", "notes", "all"]


def seconds(words):
    """Processor time of a command."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    return used.ru_utime + used.ru_stime


def main():
    prlx, repeat = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    start = min(seconds([prlx, "--version"]) for _ in range(20))

    def least(launch, *more):
        words = [prlx, "run", str(launch), "--quiet", "--threads", "1", *more]
        return min(seconds(words) for _ in range(repeat)) - start

    def row(name, launches):
        base = sum(least(launch) for launch in launches)
        times = [sum(least(launch, "--check", check) for launch in launches) for check in CHECKS]
        print(f"| {name} | {1000 * base:.0f} |" + "".join(f" {t / base:.1f} |" for t in times), flush=True)

    print("| launch | ms without | " + " | ".join(CHECKS) + " |")
    print("|---|---:" + "|---:" * len(CHECKS) + "|")
    for launch in sorted((ROOT / "bench/launches").glob("*.toml")):
        row(launch.stem, [launch])
    corpus = sorted((ROOT / "tests/kernels").glob("*/*/launch*.toml"))
    row(f"the corpus, {len(corpus)} launches", corpus)


if __name__ == "__main__":
    main()
