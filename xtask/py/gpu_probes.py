"""Runs probe programs on a GPU and compares their tables with the CPU device: gpu_probes.py [options]

For every launch file of the corpus, and every program of `probes/` and built-in tool, it compares the rows and records
from the GPU, where the probe's code is in the kernel, with those of the CPU device, which uses hooks. Tools that record
times only have to run. It prints faults as it finds them, then a table, writes probes.json, and exits with 1 if anything
is wrong. SIGTERM or SIGINT ends the run with a report of the launches done, and exit code 2. `--tools` without a name
skips the tools. It needs `prlx` and Python 3.11 or newer; see docs/gpu.md.

Kernels of schedule.txt may behave differently in every run; they only have to run. Values of kernels whose floats differ
on a GPU (approximate functions, tensor cores) may differ: if only programs that read them (FLOATS) differ, the row counts
as `bits`. The schedule decides which diverged lanes of a warp arrive together, and some tools count such groups: a table
whose rows also change between schedules of the CPU device counts as `free`, if its keys are equal.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys

from gpu_bundle import listed

# Programs and tools that keep values of floats.
FLOATS = ("values.prlx", "halves.prlx", "values", "stored-range", "nan-origin")
# Tools that keep clocks, or the order in which warps come.
TIMES = (
    "block-scheduling", "residency", "progress", "memory-timeline", "barrier-wait", "barrier-order", "stopwatch",
)

# Schedules of the CPU device, beside its usual one.
SEEDS = ("1", "2", "3")


def prlx(options, *words):
    try:
        done = subprocess.run([options.prlx, *words], capture_output=True, text=True, timeout=options.timeout)
        return done.returncode, done.stdout, done.stderr.strip()
    except subprocess.TimeoutExpired:
        return -1, "", f"not done in {options.timeout} s"


def lands(said):
    """Whether a failure is one: a program may have nothing to do in a module, or in the kernel."""
    return "nowhere" not in said and "no effect in this kernel" not in said and "matches no instruction" not in said


def tables(out):
    """What was kept, by table; what the kernel itself prints comes first."""
    return {t["name"]: {k: t[k] for k in ("rows", "lost")} for t in json.loads(out[out.find("{\n") :])["tables"]}


def keys(table):
    """The keys of a table's rows, in an order of their own."""
    return sorted(json.dumps(row["key"]) for row in table["rows"]) if table else None


def one(options, launch, lists):
    name = f"{launch.parent.parent.name}/{launch.parent.name}"
    target = launch.name.removeprefix("launch.").removesuffix("toml").rstrip(".")
    row = {"kernel": f"{name}/{target}" if target else name, "wrong": [], "results": {}}
    free, refused = lists
    refused = {name, row["kernel"]} & set(refused)
    programs = [(p.name, ["-f", str(p)]) for p in sorted(options.probes.glob("*.prlx"))]
    for program, text in programs + [(tool, [tool]) for tool in options.tools]:
        words = ["probe", *text, str(launch), "--json", "--top", "1000000"]
        code, out, said = prlx(options, *words, "--device", "cuda")
        if code:
            landed = lands(said)
            row["results"][program] = "fails" if landed else "nothing"
            if landed:
                row["wrong"].append(f"{program}: {said[:400]}")
            continue
        row["results"][program] = "ran"
        if refused or name in free or program in TIMES:
            continue
        code, cpu, said = prlx(options, *words, "--device", "cpu")
        if code:
            row["wrong"].append(f"{program} on the CPU device: {said[:400]}")
            continue
        gpu, cpu = tables(out), tables(cpu)
        differ = [t for t in cpu if gpu.get(t) != cpu[t]]
        row["results"][program] = "bits" if differ and program in FLOATS else "differs" if differ else "same"
        if differ and program not in FLOATS and all(keys(gpu.get(t)) == keys(cpu[t]) for t in differ):
            others = [prlx(options, *words, "--device", "cpu", "--seed", seed) for seed in SEEDS]
            others = [tables(out) for code, out, _ in others if not code]
            if all(any(o.get(t) != cpu[t] for o in others) for t in differ):
                row["results"][program], differ = "free", []
        if differ and program not in FLOATS:
            pairs = zip(cpu[differ[0]]["rows"], gpu[differ[0]]["rows"])
            row["wrong"].append(f"{program}: @{differ[0]}: {next((p for p in pairs if p[0] != p[1]), 'rows')}"[:400])
    return row


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prlx", default=str(here / "prlx"), help="the binary")
    parser.add_argument("--kernels", type=pathlib.Path, default=here / "kernels", help="the corpus")
    parser.add_argument("--probes", type=pathlib.Path, default=here / "probes", help="programs")
    parser.add_argument("--tools", nargs="*", help="tools in the box [default: all]")
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    parser.add_argument("--part", default="1/1", help="of so many parts of the launches which, as 1/2")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="where results go")
    parser.add_argument("--jobs", type=int, default=4, help="launches at a time")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one command")
    options = parser.parse_args()
    if options.tools is None:
        # The first section of the list.
        section = prlx(options, "probe", "list")[1].split("\n\n")[0]
        options.tools = [line.split()[0] for line in section.splitlines()[1:]]
    lists = [listed(options.kernels / f) for f in ("schedule.txt", "refused.txt")]
    launches = sorted(p for p in options.kernels.glob("*/*/launch*.toml") if options.only in str(p.parent))
    part, parts = map(int, options.part.split("/"))
    launches = launches[part - 1 :: parts]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rows, cut = [], False
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        for done in concurrent.futures.as_completed([pool.submit(one, options, l, lists) for l in launches]):
            rows.append(done.result())
            for what in rows[-1]["wrong"]:
                print(f"- {rows[-1]['kernel']}: {what}", flush=True)
            if len(rows) % 20 == 0:
                print(f"{len(rows)} of {len(launches)} launches", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        cut = True
        pool.shutdown(wait=False, cancel_futures=True)
    rows.sort(key=lambda r: r["kernel"])
    (options.out / "probes.json").write_text(json.dumps(rows, indent=1))
    columns = [p.name for p in sorted(options.probes.glob("*.prlx"))] + options.tools
    print("| program or tool | " + " | ".join(kinds := ["same", "bits", "free", "ran", "nothing", "differs", "fails"]) + " |")
    print("|---|" + "---|" * len(kinds))
    for column in columns:
        of = [r["results"].get(column) for r in rows]
        print(f"| {column} | " + " | ".join(str(of.count(k)) for k in kinds) + " |")
    wrong = sum(len(r["wrong"]) for r in rows)
    print(f"\n{len(rows)} of {len(launches)} launches, {wrong} wrong")
    if cut:
        # Launches that are under way are not waited for.
        sys.stdout.flush()
        os._exit(2)
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
