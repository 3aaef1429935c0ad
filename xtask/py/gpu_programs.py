"""Runs programs that do not know PRLX on a GPU, bare and under `prlx record`: gpu_programs.py [options]

For every program: output and exit code must be the same as without PRLX; the recording must be readable, with as many
launches as the program makes; two recordings with the same arguments must not differ, those with other arguments must.
Then under `prlx probe`: the tables must contain every probed launch exactly once. It prints a table, writes
programs.json, and exits with 1 if anything is wrong. It needs nvcc for programs in CUDA C++, and PyTorch and Triton for
those in Python; see docs/gpu.md.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

# Name, command; least launches and least of them recorded; which exit code, negative for a signal.
PROGRAMS = [
    ("plain", ["plain"], 3, 3, 0),
    ("plain, exit code", ["plain", "1", "5"], 3, 3, 5),
    ("plain, shared runtime", ["plain-shared"], 3, 3, 0),
    ("plain, machine code alone", ["plain-sass"], 3, 0, 0),
    ("graph", ["graph"], 201, 201, 0),
    ("streams", ["streams"], 102, 102, 0),
    ("attributes", ["attributes"], 2, 2, 0),
    ("fault", ["fault"], 3, 2, 6),
    ("fault, launches waited for", ["fault", "queued"], 3, 2, 6),
    ("killed", ["killed", "kill"], 15, 15, -9),
    ("_exit", ["killed", "exit"], 20, 20, 7),
    ("abort", ["killed", "abort"], 15, 15, -6),
    ("fork", ["killed", "fork"], 20, 20, 0),
    ("device reset", ["killed", "reset"], 20, 20, 0),
    ("triton", ["triton_sum.py"], 3, 3, 0),
    ("torch, eager", ["torch_step.py"], 20, 0, 0),
    ("torch.compile", ["torch_step.py", "compile"], 20, 5, 0),
]


class Programs:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="prlx-programs-"))
        os.environ.setdefault("TRITON_CACHE_DIR", str(self.folder / "triton"))
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(self.folder / "inductor"))

    def build(self):
        """Compiles the programs; reports those that cannot be compiled."""
        both = "-gencode=arch=compute_90,code=[sm_90,compute_90]"
        flags = {"": [both], "-shared": [both, "-cudart=shared"], "-sass": ["-gencode=arch=compute_90,code=sm_90"],
                 "-wrong": [both, "-DWRONG"]}
        of = {"": None, "-shared": {"plain"}, "-sass": {"plain", "chain"}, "-wrong": {"window"}}
        wanted = [(source, kind) for source in sorted(self.options.programs.glob("*.cu")) for kind in flags]
        wanted = [(s, k) for s, k in wanted if of[k] is None or s.stem in of[k]]

        def one(job):
            source, kind = job
            out = self.folder / (source.stem + kind)
            words = ["nvcc", "-O2", *(["-lineinfo"] if kind != "-sass" else []), *flags[kind], "-o", str(out), str(source)]
            done = subprocess.run(words, capture_output=True, text=True)
            return f"{source.name}{kind}: {done.stderr.strip()}" if done.returncode else ""

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return [said for said in pool.map(one, wanted) if said]

    def command(self, words):
        if words[0].endswith(".py"):
            return [sys.executable, str(self.options.programs / words[0]), *words[1:]]
        return [str(self.folder / words[0]), *words[1:]]

    def run(self, words):
        """Exit code, standard output, standard error, seconds."""
        began = time.monotonic()
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=self.options.timeout)
            return done.returncode, done.stdout, done.stderr, time.monotonic() - began
        except subprocess.TimeoutExpired as e:
            said = e.stderr.decode(errors="replace") if e.stderr else ""
            return "never", "", f"not done in {self.options.timeout} s; {said}", time.monotonic() - began

    def recorded(self, name, words, extra=()):
        """Records a program. Returns the result of `run`, and the session's folder."""
        out = self.folder / "recordings" / re.sub(r"\W+", "-", name)
        shutil.rmtree(out, ignore_errors=True)
        return *self.run([self.options.prlx, "record", "-o", str(out), *extra, "--", *self.command(words)]), out

    def one(self, program):
        name, words, launches, least, code = program
        row = {"program": name, "wrong": []}
        bare = self.run(self.command(words))
        row["bare"] = round(bare[3], 2)
        if bare[0] != code:
            row["wrong"].append(f"bare: exit code {bare[0]}: {bare[2][-400:]}")
            return row
        got = self.recorded(name, words)
        row["seconds"] = round(got[3], 2)
        # A shell's way to say that a signal ended it.
        if got[0] != code and got[0] != 128 - code:
            row["wrong"].append(f"recorded: exit code {got[0]} instead of {code}: {got[2][-600:]}")
        if got[1] != bare[1]:
            row["wrong"].append(f"recorded: it says {got[1]!r} instead of {bare[1]!r}")
        row["again"] = round(self.recorded(name + " again", words)[3], 2)
        try:
            index = json.loads((got[4] / "session.json").read_text())
        except (OSError, ValueError) as e:
            row["wrong"].append(f"no session: {e}: {got[2][-600:]}")
            return row
        files = index["processes"]
        row["processes"] = len(files)
        for key in ("launches", "recorded", "dropped"):
            row[key] = sum(f[key] for f in files)
        row["skipped"] = {why: n for f in files for why, n in f["skipped"].items()}
        if row["launches"] < launches or row["recorded"] < least:
            row["wrong"].append(f"{row['recorded']} of {row['launches']} launches recorded: {row['skipped']} {got[2][-600:]}")
        if row["dropped"]:
            row["wrong"].append(f"{row['dropped']} elements dropped")
        code, out, said, _ = self.run([self.options.prlx, "inspect", str(got[4])])
        if code:
            row["wrong"].append(f"inspect: {said[-400:]}")
        code, out, said, _ = self.run([self.options.prlx, "diff", str(got[4]), str(got[4]) + "-again", "--json"])
        row["diff"] = {0: "same", 1: "differs", 3: "unknown"}.get(code, "fails")
        whole = row["recorded"] == row["launches"] and not any(f["incomplete"] for f in files)
        if row["diff"] not in ("same", "unknown"):
            row["wrong"].append(f"diff of two recordings: {row['diff']}: {(said or out)[-600:]}")
        elif whole:
            # Level `path` records all but what the kernels stored.
            gaps = {gap for launch in json.loads(out)["launches"] for gap in launch["gaps"]}
            if not all(gap.startswith("what the kernel") for gap in gaps):
                row["wrong"].append(f"diff of two recordings: {gaps}")
        return row

    def digests(self):
        """Returns launches by the digests of their inputs and outputs (`--digest`)."""
        # The launch that does something else is the culprit, with PTX and without.
        for kind in ("", "-sass"):
            row = {"program": "culprit" + kind, "wrong": []}
            commands = [" ".join(self.command(["chain" + kind, other])) for other in ("-1", "4")]
            words = ["compare", "--a", commands[0], "--b", commands[1], "--digest", "--no-zoom", "--json"]
            code, out, said, row["seconds"] = self.run([self.options.prlx, *words])
            row["diff"] = {0: "same", 1: "differs", 3: "unknown"}.get(code, "fails")
            try:
                report = json.loads(out)
                row["launches"] = len(report["launches"])
                row["inputs"], row["outputs"], row["culprits"] = told(report)
                row["undigested"] = sum(l["undigested"] != [None, None] for l in report["launches"])
                culprits = [l["launch"] for l in report["launches"] if l["culprit"]]
                if kind and not culprits:
                    # Without PTX nobody can tell padding, which differs from run to run: the launch is suspected, and its padding named.
                    of = [l for l in report["launches"] if any(d["what"] == "output" for d in l["differences"])]
                    said = [(l["launch"], set(re.findall(r"(\d+) (?:to|of)", l["padding"] or ""))) for l in of]
                    culprits = [launch for launch, where in said if where and where <= set("4567")]
                if culprits != [[4, 4]] or row["undigested"]:
                    row["wrong"].append(f"{culprits} {[(l['differences'], l['undigested']) for l in report['launches']]}")
            except (ValueError, KeyError) as e:
                row["wrong"].append(f"{e!r}: {out[-200:]}{said[-400:]}")
            yield row
        # The same twice: what went in, and came out. Nothing may be a culprit.
        for name, words in [
            ("chain", ["chain"]), ("triton", ["triton_sum.py"]), ("torch, eager", ["torch_step.py"]),
            ("torch.compile", ["torch_step.py", "compile"]),
        ]:
            row = {"program": f"digests: {name}", "wrong": []}
            bare = self.run(self.command(words))
            got = [self.recorded(f"digests {name} {i}", words, ["--digest"]) for i in range(2)]
            row["bare"], row["seconds"], row["again"] = (round(r[3], 2) for r in (bare, *got))
            if any(r[:2] != bare[:2] for r in got):
                row["wrong"].append(f"it says {[r[:2] for r in got]} instead of {bare[:2]}: {got[0][2][-400:]}")
            code, out, said, _ = self.run([self.options.prlx, "diff", str(got[0][4]), str(got[1][4]), "--json"])
            row["diff"] = {0: "same", 1: "differs", 3: "unknown"}.get(code, "fails")
            try:
                report = json.loads(out)
                row["launches"] = len(report["launches"])
                row["inputs"], row["outputs"], row["culprits"] = told(report)
                row["undigested"] = sum(l["undigested"] != [None, None] for l in report["launches"])
                if row["culprits"]:
                    row["wrong"].append(f"culprits: {[l['kernel'] for l in report['launches'] if l['culprit']]}")
                whys = [l["undigested"][0] for l in report["launches"] if l["undigested"][0]]
                row["skipped"] = {f"(digests) {why}": whys.count(why) for why in sorted(set(whys))}
                row["differences"] = [l["differences"] for l in report["launches"] if l["differences"]][:8]
            except (ValueError, KeyError) as e:
                row["wrong"].append(f"{e!r}: {out[-200:]}{said[-400:]}")
            yield row
        # How fast: a copy's time over that of the digest of as many bytes. The kernel itself runs as it is.
        for mib in (1, 64, 1024):
            row = {"program": f"digest of 2 x {mib} MiB", "wrong": []}
            words = ["chain-sass", "cost", str(mib)]
            bare, got = self.run(self.command(words)), self.recorded(f"cost {mib}", words, [f"--digest={4 * mib}"])
            try:
                plain, ours = (float(re.search(r"copy: ([0-9.]+) ms", r[2]).group(1)) for r in (bare, got))
                row["copy_ms"], row["with_ms"] = plain, ours
                # Both buffers before and after: twice what the copy moves.
                row["ratio"] = round((ours - plain) / 2 / plain, 3)
            except AttributeError:
                row["wrong"].append(f"{bare[2][-200:]}{got[2][-400:]}")
            yield row

    def causes(self):
        """Compares right programs with wrong ones: the report must end at the class, the line and the launch."""
        rows = lambda kernel: [["triton_rows.py", kernel, side] for side in ("good", "bad")]
        for name, pair, kind, line in [
            ("window", [["window"], ["window-wrong"]], "guard", "16"),
            ("Triton softmax", rows("softmax"), "operation", "other=OTHER"),
            ("Triton layernorm", rows("layernorm"), "operation", "tl.where(i"),
            ("Triton relu", rows("relu"), "operation", "kept = "),
            ("Triton shift", rows("shift"), "address", "source = "),
            ("Triton clip", rows("clip"), "guard", "inside = "),
        ]:
            for options in (["--digest"], []):
                row = {"program": " ".join([f"cause: {name}", *options]), "wrong": []}
                a, b = (" ".join(self.command(words)) for words in pair)
                words = [self.options.prlx, "compare", *options, "--json", "--a", a, "--b", b]
                code, out, said, row["seconds"] = self.run(words)
                row["diff"] = {0: "same", 1: "differs", 3: "unknown"}.get(code, "fails")
                try:
                    report = json.loads(out)
                    row["launches"] = len(report["launches"])
                    row["inputs"], row["outputs"], row["culprits"] = told(report)
                    causes = [c for l in report["launches"] for c in l["causes"]]
                    text = json.dumps(causes)
                    if code != 1 or not causes or causes[0]["class"] != kind:
                        row["wrong"].append(f"{row['diff']}, {[c['class'] for c in causes]}: {text[:600]}{said[-400:]}")
                    place = line if line.isdigit() else self.where(line, pair)
                    if not re.search(rf'"line": {place}\b', text):
                        row["wrong"].append(f"not at line {place}: {text[:900]}")
                except (ValueError, KeyError) as e:
                    row["wrong"].append(f"{e!r}: {out[-200:]}{said[-400:]}")
                yield row
        # A captured launch gives on the CPU device what it gave here, and checks find nothing in it.
        row = {"program": "capture: window", "wrong": []}
        code, _, said, row["seconds"], out = self.recorded("capture", ["window"], ["--capture", "--launch", "3"])
        files = list(out.glob("*/launch.toml"))
        checked = self.run([self.options.prlx, "run", "--check", "all", "--json", *map(str, files)])
        if code or len(files) != 1 or checked[0]:
            row["wrong"].append(f"{code} {files} {checked[0]}: {said[-400:]}{checked[2][-400:]}")
        yield row

    def order(self):
        """Compares programs with themselves whose CTAs take their work from a counter: the order is no difference."""
        command = " ".join(self.command(["sort"]))
        for options in ([], ["--level", "path"], ["--level", "events"], ["--level", "fingerprint"], ["--digest"]):
            row = {"program": " ".join(["order: sort", *options]), "wrong": []}
            words = [self.options.prlx, "compare", *options, "--json", "--a", command, "--b", command]
            code, out, said, row["seconds"] = self.run(words)
            row["seconds"] = round(row["seconds"], 2)
            row["diff"] = {0: "same", 1: "differs", 3: "unknown"}.get(code, "fails")
            try:
                launches = json.loads(out)["launches"]
                row["launches"] = len(launches)
                if code or not any("order or the timing" in note for l in launches for note in l["notes"]):
                    row["wrong"].append(f"{row['diff']}: {said[-600:]}")
            except (ValueError, KeyError) as e:
                row["wrong"].append(f"{e!r}: {out[-200:]}{said[-400:]}")
            yield row

    def where(self, text, pair):
        """The line of the source that has this text."""
        lines = (self.options.programs / pair[0][0]).read_text().splitlines()
        return 1 + next(i for i, line in enumerate(lines) if text in line)

    def costs(self):
        """Measures the overhead for a program that repeats one launch; nothing may be dropped."""
        for numbers, launches, waits in [(1000, 5000, 1), (1000, 5000, 0), (100000, 200, 1), (100000, 200, 0), (1000000, 20, 1)]:
            row = {"program": f"{numbers} numbers, waits {waits}", "wrong": []}
            words, log = ["again", str(numbers), str(launches), str(waits)], self.folder / "log"
            log.unlink(missing_ok=True)
            os.environ["PRLX_PRELOAD_LOG"] = str(log)
            bare, got = self.run(self.command(words)), self.recorded(row["program"], words)
            del os.environ["PRLX_PRELOAD_LOG"]
            try:
                row["bare_us"], row["us"] = (float(re.search(r"a launch: ([0-9.]+) us", r[2]).group(1)) for r in (bare, got))
                files = json.loads((got[4] / "session.json").read_text())["processes"]
                for key in ("launches", "recorded", "dropped"):
                    row[key] = sum(f[key] for f in files)
                row["seconds"] = round(got[3], 2)
                apart, packed = re.search(r"; ([0-9.]+) ms to decode streams, ([0-9.]+) to compress", log.read_text()).groups()
                row["apart_ms"], row["pack_ms"] = (round(float(t) / row["launches"], 2) for t in (apart, packed))
                if row["recorded"] < launches or row["dropped"] or bare[1] != got[1]:
                    row["wrong"].append(f"{bare[1]} {got[1]} {got[2][-400:]}")
            except (AttributeError, OSError, ValueError, KeyError) as e:
                row["wrong"].append(f"{e!r}: {bare[2][-200:]}{got[2][-400:]}")
            yield row

    def probes(self):
        """Compares counts of probe programs with the recording, and measures their overhead."""
        text = "kernel:begin { @began++; @launches[launch] = count(); } kernel:end { @ended++; }"
        named = ["plain", "plain, exit code", "graph", "streams", "attributes", "_exit", "fork", "device reset", "triton", "torch.compile"]
        for name, words, _, _, code in (p for p in PROGRAMS if p[0] in named):
            row = {"program": f"probe: {name}", "wrong": []}
            bare, out = self.run(self.command(words)), self.folder / f"probe {name}"
            options = ["--json", "--top", "1000000", "-o", str(out)]
            got = self.run([self.options.prlx, "probe", text, *options, "--", *self.command(words)])
            row["bare"], row["seconds"] = round(bare[3], 2), round(got[3], 2)
            if got[0] != code or not got[1].startswith(bare[1]):
                row["wrong"].append(f"it ends with {got[0]} and says {got[1][:200]!r} instead of {bare[:2]}: {got[2][-600:]}")
            try:
                kept = json.loads(got[1][len(bare[1]) :])
                rows = {t["name"]: t["rows"] for t in kept["tables"]}
                files = json.loads((out / "session.json").read_text())["processes"]
                row["processes"] = len(files)
                row["launches"], row["recorded"] = (sum(f[key] for f in files) for key in ("launches", "recorded"))
                # Launches have numbers of their process.
                most = max(f["recorded"] for f in files)
                began, ended = rows["began"][0]["count"], rows["ended"][0]["count"]
                counted = sum(r["count"] for r in rows["launches"])
                if began != ended or began != counted or len(rows["launches"]) != most or any(t["lost"] for t in kept["tables"]):
                    row["wrong"].append(f"{began} began, {ended} ended, {counted} in {len(rows['launches'])} launches of {most}: {kept['missed']}")
            except (OSError, ValueError, KeyError, IndexError) as e:
                row["wrong"].append(f"{e!r}: {got[1][-200:]}{got[2][-400:]}")
            yield row
        for numbers, launches, waits in [(1000, 5000, 1), (1000, 5000, 0), (100000, 200, 0)]:
            row = {"program": f"probe: {numbers} numbers, waits {waits}", "wrong": []}
            words = self.command(["again", str(numbers), str(launches), str(waits)])
            bare = self.run(words)
            got = self.run([self.options.prlx, "probe", "kernel:begin { @began++; }", "--", *words])
            try:
                row["bare_us"], row["us"] = (float(re.search(r"a launch: ([0-9.]+) us", r[2]).group(1)) for r in (bare, got))
            except AttributeError:
                row["wrong"].append(f"{bare[2][-200:]}{got[2][-400:]}")
            yield row

    def several(self):
        """Tests programs that use several GPUs."""
        for name, words, processes in [
            ("two GPUs", self.command(["devices"]), 1),
            ("torchrun", [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                          str(self.options.programs / "torch_ranks.py")], 2),
        ]:
            row = {"program": name, "wrong": []}
            bare = self.run(words)
            out = [self.folder / f"{name} {i}" for i in range(2)]
            got = [self.run([self.options.prlx, "record", "-o", str(o), "--digest", "--", *words]) for o in out]
            row["bare"], row["seconds"], row["again"] = (round(r[3], 2) for r in (bare, *got))
            if any(r[:2] != bare[:2] for r in got):
                row["wrong"].append(f"it says {[r[:2] for r in got]} instead of {bare[:2]}: {got[0][2][-600:]}")
            code, listed, said, _ = self.run([self.options.prlx, "inspect", str(out[0])])
            row["devices"] = {d: listed.count(f"on device {d} ") for d in (0, 1)}
            row["ranks"] = sorted(set(re.findall(r"rank (\d+) of 2", listed)))
            ranks = ["0", "1"] if processes == 2 else []
            if code or row["ranks"] != ranks or processes == 1 and min(row["devices"].values()) != 10:
                row["wrong"].append(f"inspect: {row['devices']} {row['ranks']}: {listed[-600:]}{said[-300:]}")
            code, text, said, _ = self.run([self.options.prlx, "diff", *map(str, out), "--json"])
            row["diff"] = {0: "same", 1: "differs", 3: "unknown"}.get(code, "fails")
            try:
                report = json.loads(text)
                row["launches"] = len(report["launches"])
                row["inputs"], row["outputs"], row["culprits"] = told(report)
                row["undigested"] = sum(l["undigested"] != [None, None] for l in report["launches"])
                row["recorded"] = sum(l["skipped"] == [None, None] for l in report["launches"])
            except (ValueError, KeyError) as e:
                row["wrong"].append(f"{e!r}: {text[-200:]}{said[-400:]}")
            yield row

    def others(self):
        """Tests cases that take more than one program."""
        rows = []
        row = {"program": "compare, other numbers", "wrong": []}
        one, two = (" ".join(self.command(["plain", first])) for first in ("1", "2"))
        code, out, said, row["seconds"] = self.run([self.options.prlx, "compare", "--a", one, "--b", two])
        row["diff"] = {0: "same", 1: "differs", 3: "unknown"}.get(code, "fails")
        if code != 1 or "collatz" not in out:
            row["wrong"].append(f"{row['diff']}: {out[-300:]}{said[-600:]}")
        rows.append(row)
        row = {"program": "two processes at once", "wrong": []}
        script = " & ".join(" ".join(self.command(["plain"])) for _ in range(2)) + "; wait"
        out = self.folder / "two"
        code, _, said, row["seconds"] = self.run([self.options.prlx, "record", "-o", str(out), "--", "sh", "-c", script])
        try:
            files = json.loads((out / "session.json").read_text())["processes"]
            row["processes"], row["launches"] = len(files), sum(f["launches"] for f in files)
            row["recorded"] = sum(f["recorded"] for f in files)
        except (OSError, ValueError) as e:
            row["wrong"].append(f"no session: {e}")
        if code or row.get("recorded") != 6:
            row["wrong"].append(f"exit code {code}: {said[-600:]}")
        rows.append(row)
        return rows


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prlx", default=str(here / "prlx"), help="the binary")
    parser.add_argument("--programs", type=pathlib.Path, default=here / "programs", help="their sources")
    parser.add_argument("--only", default="", help="words, with commas: programs whose name has one of them; `digests`; `causes`; `order`; `costs`; `probes`; `several`: what takes two GPUs")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one run")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="where programs.json goes")
    programs = Programs(parser.parse_args())
    options = programs.options
    for said in programs.build():
        print(f"not compiled: {said}", flush=True)
    words = [w for w in options.only.split(",") if w]
    chosen = [p for p in PROGRAMS if not words or any(w in p[0] for w in words)]
    columns = [("program", 28), ("bare", 8), ("seconds", 9), ("again", 8), ("processes", 10), ("launches", 9)]
    columns += [("recorded", 9), ("dropped", 8), ("diff", 9), ("inputs", 7), ("outputs", 8), ("culprits", 9)]
    columns += [("undigested", 11), ("copy_ms", 8), ("with_ms", 8), ("ratio", 6)]
    columns += [("bare_us", 8), ("us", 9), ("apart_ms", 9), ("pack_ms", 8)]
    print("".join(name.ljust(width) for name, width in columns))
    rows = []
    for program in chosen:
        rows.append(programs.one(program))
        show(rows[-1], columns)
    more = [programs.others] if not words else []
    more += [programs.digests] if not words or "digests" in words else []
    more += [programs.causes] if not words or "causes" in words else []
    more += [programs.order] if not words or "order" in words else []
    more += [programs.costs] if not words or "costs" in words else []
    more += [programs.probes] if not words or "probes" in words else []
    more += [programs.several] if "several" in words else []
    for rest in more:
        for row in rest():
            rows.append(row)
            show(row, columns)
    bad = sum(bool(r["wrong"]) for r in rows)
    print(f"{len(rows)} programs, {bad} wrong")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "programs.json").write_text(json.dumps(rows, indent=1) + "\n")
    shutil.rmtree(programs.folder, ignore_errors=True)
    return 1 if bad or not rows else 0


def told(report):
    """Counts launches with different inputs, different outputs, and culprits."""
    what = [{d["what"] for d in l["differences"]} for l in report["launches"]]
    return sum("input" in w for w in what), sum("output" in w for w in what), sum(l["culprit"] for l in report["launches"])


def show(row, columns):
    print("".join(str(row.get(c, "-")).ljust(width) for c, width in columns), flush=True)
    for why, n in row.get("skipped", {}).items():
        print(f"    {n} not recorded: {why}", flush=True)
    for what in row["wrong"]:
        print(f"    WRONG {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
