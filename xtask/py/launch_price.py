#!/usr/bin/env python3
"""What recording adds to each launch of a program, in nanoseconds: on the host and on the stream.

Compiles bench/launch_price/price.cu with nvcc, runs it alone and under each level and probe, in turn, and prints the
median of what each adds. The goals are those of the last lines.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

FORMS = {
    "fingerprint": ["record", "--level", "fingerprint"],
    "path": ["record", "--level", "path"],
    "events": ["record", "--level", "events"],
    "block-scheduling": ["probe", "block-scheduling"],
    "global-bytes": ["probe", "global-bytes"],
}
# Nanoseconds that a launch may cost on the stream and on the host.
GOALS = {"work": 2000, "graph node": 2000, "empty, call": 3000}


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prlx", default=str(here / "prlx"), help="the binary")
    parser.add_argument("--source", type=pathlib.Path, default=here / "launch_price" / "price.cu")
    parser.add_argument("--launches", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--forms", default=",".join(FORMS), help="with commas")
    parser.add_argument("--own", action="store_true", help="launch into a stream of its own, not the default stream")
    parser.add_argument("--more", default="", help="further options of prlx, for all forms")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        app = folder / "price"
        subprocess.run(["nvcc", "-O2", "-arch=sm_90", "-o", app, options.source], check=True)
        forms = {"bare": [], **{name: FORMS[name] for name in options.forms.split(",")}}
        times = {name: [] for name in forms}
        for round in range(options.rounds):
            for name, words in forms.items():
                output = ["-o", str(folder / f"{name}-{round}.prlx")] if words[:1] == ["record"] else []
                prefix = [options.prlx, *words, *options.more.split(), *output, "--"] if words else []
                done = subprocess.run([*prefix, app, str(options.launches), *(["own"] if options.own else [])], capture_output=True, text=True)
                line = next((l for l in done.stdout.splitlines() if l.startswith("{\"empty")), None)
                if done.returncode or line is None:
                    print(f"{name}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
                    return 1
                times[name].append(json.loads(line))
                if round == 0 and words:
                    print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        columns = list(times["bare"][0])
        medians = {n: {c: statistics.median(t[c] for t in all) for c in columns} for n, all in times.items()}
        print("| nanoseconds a launch | " + " | ".join(columns) + " |")
        print("|---" * (len(columns) + 1) + "|")
        print("| bare | " + " | ".join(f"{medians['bare'][c]:.0f}" for c in columns) + " |")
        for name in list(forms)[1:]:
            print(f"| {name} adds | " + " | ".join(f"{medians[name][c] - medians['bare'][c]:.0f}" for c in columns) + " |")
        for column, goal in GOALS.items():
            worst = max(medians[n][column] - medians["bare"][column] for n in list(forms)[1:])
            print(f"{column}: at most {worst:.0f} more, wanted {goal}: {'met' if worst <= goal else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
