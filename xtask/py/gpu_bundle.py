"""Runs the corpus on a GPU with PRLX and compares with the CPU device: gpu_bundle.py [options]

For every launch file of the corpus it runs the bare kernel on the GPU against its reference; the instrumented kernel at
every level, whose outputs must not change; and compares the decisions of every lane with those on the CPU device. Then
it compares every example with its `expect.toml`: verdict, line and lanes. It prints a table, writes results.json, and
exits with 1 if anything is wrong. --overhead measures the overhead of recording instead (docs/cost.md) and writes
overhead.json. It needs `prlx` and Python 3.11 or newer; see docs/gpu.md.

`bits` says whether results are bit-equal to the CPU device's; approximate functions and tensor cores may differ.
Kernels of schedule.txt may behave differently in every run: their decisions count as `free` and are not compared. Kernels
of refused.txt do not run on the CPU device: only the GPU's results are checked.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib

LEVELS = ["path", "print", "events"]


def listed(path):
    """kind/name (perhaps with a target) -> the word behind it."""
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {words[0]: words[1] if len(words) > 1 else "" for words in lines if words}


class Bundle:
    def __init__(self, options):
        self.options = options
        self.kernels = options.kernels
        self.free = listed(self.kernels / "schedule.txt")
        self.refused = listed(self.kernels / "refused.txt")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="prlx-bundle-"))

    def prlx(self, *words):
        """Runs prlx with a time limit. Returns exit code, standard output and standard error."""
        try:
            done = subprocess.run(
                [self.options.prlx, *words], capture_output=True, text=True, timeout=self.options.timeout
            )
            return done.returncode, done.stdout, done.stderr.strip()
        except subprocess.TimeoutExpired:
            return -1, "", f"not done in {self.options.timeout} s"

    def one(self, launch):
        """Runs one launch file; returns its row."""
        name = f"{launch.parent.parent.name}/{launch.parent.name}"
        target = launch.name.removeprefix("launch.").removesuffix("toml").rstrip(".")
        label = f"{name}/{target}" if target else name
        row = {"kernel": label, "wrong": []}
        on_cpu = not {name, label} & set(self.refused)
        free = self.free.get(name, "").split(",")
        # As they are.
        code, out, said = self.prlx("run", str(launch), "--device", "cuda", "--json")
        row["bare"] = {0: "ok", 1: "unexpected"}.get(code, "fails")
        if code in (0, 1):
            # What the kernel itself prints comes first.
            row["micros"] = json.loads(out[out.find("{\n") :]).get("nanos", 0) / 1000
        cpu_code = self.prlx("run", str(launch), "--device", "cpu", "--json")[0] if on_cpu else code
        if code != cpu_code and not ("outputs" in free and {code, cpu_code} <= {0, 1}):
            row["wrong"].append(f"bare: exit code {code}, on the CPU device {cpu_code}: {said}")
        elif code == 2 and on_cpu:
            row["bare"] = "faults, as on the CPU"
            return row
        # Rewritten.
        files = {}
        for level in self.options.levels:
            files[level] = self.folder / f"{label.replace('/', '~')}.{level}.prlx"
            words = ["record", str(launch), "--device", "cuda", "--level", level, "-o", str(files[level])]
            code, _, said = self.prlx(*words)
            changed = "differ between the recorded and the unrecorded run" in said
            lost, stopped = ", 0 dropped," not in said, "was stopped" in said
            row[level] = "fails" if code or stopped else "outputs differ" if changed else "lossy" if lost else "ok"
            if code or stopped or changed and not {"all", "outputs", level, "print"} & set(free):
                row["wrong"].append(f"{level}: {said}")
        # Decisions. Words of `path` say it of every lane; `print` and `events` add values, which are other floats on a GPU.
        if "path" in self.options.levels and row["path"] != "fails" and on_cpu:
            cpu = self.folder / f"{label.replace('/', '~')}.cpu.prlx"
            code, _, said = self.prlx("record", str(launch), "--device", "cpu", "-o", str(cpu))
            if code:
                row["wrong"].append(f"on the CPU device: {said}")
            code, out, said = self.prlx("diff", str(cpu), str(files["path"]), "--json")
            report = json.loads(out) if code in (0, 1, 3) else {"launches": [], "gaps": [said]}
            findings = [f for l in report["launches"] for f in l["findings"]]
            gaps = report["gaps"] + [g for l in report["launches"] for g in l["gaps"]]
            # Results may have other bits where nothing was decided otherwise: approximate functions, sums of tensor cores.
            others = [d["name"] for l in report["launches"] for d in l["differences"]]
            row["decisions"] = verdict = "differs" if findings else "unknown" if gaps else "same"
            row["bits"] = "differ" if others else "same" if code in (0, 1, 3) else "-"
            if {"all", "path", "gpu"} & set(free):
                row["decisions"] = f"free ({verdict})"
            elif verdict != "same":
                sites = [f["site"][0] or f["site"][1] for f in findings[:1]]
                where = [f"{s['location']['file']}:{s['location']['line']} {s['text']}" for s in sites if s["location"]]
                row["wrong"].append(f"decisions: {verdict} {where or sites or gaps}")
        for file in self.folder.glob(f"{label.replace('/', '~')}.*.prlx"):
            if not self.options.keep:
                file.unlink()
        return row

    def example(self, folder):
        """Runs the comparisons of an example's `expect.toml`; returns their rows."""
        expected = tomllib.loads((folder / "expect.toml").read_text())
        return [self.compare(folder, c) for c in expected.get("compare", [])]

    def compare(self, folder, expected):
        a, b = expected["a"], expected["b"]
        code, out, said = self.prlx("compare", "--json", "--device", "cuda", str(folder / a), str(folder / b), *expected.get("args", "").split())
        row = {"example": f"{folder.name}: {a} {b}", "wrong": []}
        if code not in (0, 1, 3):
            row["verdict"] = "fails"
            row["wrong"].append(said)
            return row
        report = json.loads(out)
        findings = [f for l in report["launches"] for f in l["findings"]]
        places = [f"{f}:{n}" for finding in findings[:1] for f, n in self.places(finding, expected)]
        row["verdict"], row["first"] = report["verdict"], places[0] if places else "-"
        if expected.get("device") == "cpu":
            row["verdict"] += " (the CPU device's alone)"
            return row
        want = f"{expected.get('file')}:{expected.get('line')}"
        if report["verdict"] != expected["verdict"]:
            row["wrong"].append(f"{report['verdict']} instead of {expected['verdict']} {places}")
        # Only the CPU device looks for causes of values.
        elif "class" not in expected and findings and (findings[0]["kind"] != expected["kind"] or want not in places):
            row["wrong"].append(f"{findings[0]['kind']} at {places} instead of {expected['kind']} at {want}")
        elif "at" in expected:
            got = {}
            for f in findings:
                if want in (f"{f}:{n}" for f, n in self.places(f, expected)):
                    for w in f["warps"]:
                        key = (w["cta"], w["in_cta"])
                        got[key] = got.get(key, 0) | int(w["roots"], 16)
            got = {k: lanes for k, lanes in got.items() if lanes}
            if got != {(w["cta"], w["warp"]): w["lanes"] for w in expected["at"]}:
                row["wrong"].append(f"other lanes part: {got}")
        return row

    @staticmethod
    def places(finding, expected):
        """Returns files and lines of a finding's decision, and of what it steers."""
        site = finding["site"][1 if expected.get("side") == "b" else 0]
        if not site:
            return []
        at = [site["location"], *(s["location"] for s in site["steers"])]
        return [(l["file"], l["line"]) for l in at if l]


# The six kernels of the first measurements, which have a goal of their own.
FIRST = ["collatz", "mandelbrot", "spmv", "gemm", "binary_search", "stream"]


# Probe tools with goals: the geometric mean of the time, and whether the goal for the worst launch holds too.
PROBES = {"block-scheduling": (1.01, True), "global-bytes": (1.03, True), "tensor-ops": (1.01, True), "memory-timeline": (2.5, False)}
WORST = 1.10
REGISTERS = 2


def overhead(options):
    """Measures the launches of the folder `overhead`, and prints one line for each."""
    made = subprocess.run([sys.executable, str(options.overhead / "inputs.py"), str(options.overhead)])
    words = [w for w in options.only.split(",") if w]
    # Probe tools are measured on kernels of PyTorch's too.
    folders = [options.overhead, *([options.overhead.parent / "torch"] if options.probes else [])]
    launches = sorted(str(l) for folder in folders for l in folder.glob("*.toml")
                      if ".small" not in l.name and (not words or l.stem in words))
    command = [options.prlx, "cost", *launches, "--device", "cuda", "--json", "--memory", str(options.memory)]
    command += [word for probe in options.probes for word in ("--probe", probe)]
    done = subprocess.run([*command, "--rounds", str(options.rounds)], stdout=subprocess.PIPE, text=True)
    if made.returncode or not done.stdout:
        return 1
    results = json.loads(done.stdout)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "overhead.json").write_text(json.dumps(results, indent=1) + "\n")
    levels = options.probes or ["print", "path", "events"]
    ratios = {level: {} for level in [*levels, *(f"{l} off" for l in levels)]}
    more = {level: [] for level in levels}
    marks, slowest = set(), 0
    print("| kernel | ms | " + " | ".join(f"{l} | off" for l in levels) + " | registers: bare, " + ", ".join(levels) + " |")
    print("|---" * (2 + 2 * len(levels) + 1) + "|")
    for launch in results["launches"]:
        forms = {form["form"]: form for form in launch["forms"]}
        slowest = max(slowest, *(f.get("rewriting_nanos", 0) for f in launch["forms"]))
        cells = [launch["launch"], f"{forms['bare']['median'] / 1e6:.3f}"]
        for form in (f for l in levels for f in (l, f"{l} off")):
            if form not in forms or forms[form].get("idle"):
                cells.append("-")
                continue
            ratios[form][launch["launch"]] = forms[form]["ratio"]
            mark = "*" if forms[form]["full"] else ""
            needs, bare = (forms[f]["needs"] or {"local": 0} for f in (form, "bare"))
            mark += "†" if needs["local"] > bare["local"] else ""
            marks.update(mark)
            cells.append(f"{forms[form]['ratio']:.3f}{mark}")
        needs = {f: forms[f].get("needs") or {} for f in ["bare", *levels]}
        for level in (l for l in levels if "registers" in needs[l]):
            more[level].append(needs[level]["registers"] - needs["bare"]["registers"])
        cells.append(", ".join(f"{n.get('registers', '-')}" for n in needs.values()))
        print("| " + " | ".join(cells) + " |")
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")
    for title, take in [
        ("geometric mean", lambda all: mean(list(all.values()))),
        ("worst", lambda all: max(all.values(), default=float("nan"))),
        ("first six", lambda all: mean([r for name, r in all.items() if name in FIRST])),
    ]:
        each = " | ".join(f"{take(ratios[f]):.3f}" for l in levels for f in (l, f"{l} off"))
        print(f"| **{title}** | | {each} | |")
    if options.probes:
        plus = {l: f"{sum(n) / len(n):+.1f}" if (n := more[l]) else "-" for l in levels}
        print("| **registers +** | | " + " | | ".join(plus.values()) + " | | |")
    notes = {
        "*": "what it keeps did not fit into the memory given; what is lost costs other time than what is written.",
        "†": "it has more local memory than the bare kernel, for spilt registers among others.",
    }
    for mark in sorted(marks):
        print(f"\n`{mark}`: {notes[mark]}")
    for probe in options.probes:
        goal, light = PROBES.get(probe, (None, False))
        got, worst = mean(list(ratios[probe].values())), max(ratios[probe].values(), default=float("nan"))
        more_registers = sum(more[probe]) / len(more[probe]) if more[probe] else float("nan")
        wants = [(f"{got:.3f} of {goal}", got <= goal)] if goal and ratios[probe] else []
        if light and ratios[probe]:
            wants.append((f"worst {worst:.3f} of {WORST}", worst <= WORST))
            wants.append((f"registers {more_registers:+.1f} of +{REGISTERS}", more_registers <= REGISTERS))
        if wants:
            print(f"\n{probe}, wanted: " + "; ".join(f"{text} {'met' if met else 'MISSED'}" for text, met in wants))
    print(f"\n{results['device']}, {results['rounds']} rounds, caches {results['caches']}; rewritten in {slowest / 1e6:.1f} ms at most.")
    return done.returncode


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prlx", default=str(here / "prlx"), help="the binary")
    parser.add_argument("--kernels", type=pathlib.Path, default=here / "kernels", help="the corpus")
    parser.add_argument("--examples", type=pathlib.Path, default=here / "examples", help="the examples")
    parser.add_argument("--only", default="", help="words, with commas: launch files whose path has one of them")
    parser.add_argument("--levels", default=LEVELS, type=lambda s: s.split(","), help="with commas")
    parser.add_argument("--jobs", type=int, default=4, help="at once; 1 for times that mean something")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one run")
    parser.add_argument("--keep", action="store_true", help="keep the recordings")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="where results.json goes")
    parser.add_argument(
        "--overhead", nargs="?", type=pathlib.Path, const=here / "overhead", help="measure cost [of this folder's launches]"
    )
    parser.add_argument(
        "--probes", nargs="?", default=[], const=",".join(PROBES), type=lambda s: [p for p in s.split(",") if p],
        help="measure probe programs instead, with --overhead: with commas [those that have goals]"
    )
    parser.add_argument("--memory", type=int, default=2048, help="MiB for the streams of each level, with --overhead")
    parser.add_argument("--rounds", type=int, default=21, help="of measurements, with --overhead")
    options = parser.parse_args()
    if options.overhead:
        return overhead(options)
    bundle = Bundle(options)
    code, said, wrong = bundle.prlx("doctor")
    print(said or wrong, flush=True)
    if code or "yes  NVIDIA GPU" not in said:
        print("no GPU: nothing was run")
        return 2
    words = [w for w in options.only.split(",") if w]
    launches = sorted(bundle.kernels.glob("*/*/launch*.toml"))
    launches = [l for l in launches if not words or any(w in str(l) for w in words)]
    rows, began = [], time.monotonic()
    columns = [("kernel", 34), ("bare", 10), ("micros", 9), *((l, 15) for l in options.levels), ("decisions", 16), ("bits", 7)]
    print("".join(name.ljust(width) for name, width in columns))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(bundle.one, launches):
            rows.append(row)
            cells = [f"{row[c]:.1f}" if isinstance(row.get(c), float) else row.get(c, "-") for c, _ in columns]
            print("".join(cell.ljust(width) for cell, (_, width) in zip(cells, columns)), flush=True)
            for what in row["wrong"]:
                print(f"    WRONG {what}", flush=True)
    print(f"\n{'example':34}{'verdict':38}first finding")
    folders = sorted(p.parent for p in options.examples.glob("*/expect.toml"))
    examples = [f for f in folders if not words or any(w in str(f) for w in words)]
    compared = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in (row for each in pool.map(bundle.example, examples) for row in each):
            compared.append(row)
            print(f"{row['example']:34}{row['verdict']:38}{row.get('first', '')}", flush=True)
            for what in row["wrong"]:
                print(f"    WRONG {what}", flush=True)
    bad = sum(bool(r["wrong"]) for r in rows + compared)
    same = sum(r.get("decisions") == "same" for r in rows)
    took = time.monotonic() - began
    print(f"\n{len(rows)} launches, {same} with the CPU device's decisions, {len(compared)} comparisons, {bad} wrong, {took:.0f} s")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps({"doctor": said, "rows": rows, "examples": compared}, indent=1) + "\n")
    if options.keep:
        print(f"recordings: {bundle.folder}")
    else:
        bundle.folder.rmdir()
    return 1 if bad or not rows + compared else 0


if __name__ == "__main__":
    sys.exit(main())
