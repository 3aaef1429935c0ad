"""Measures the cost of a marker record on a GPU: gpu_markers.py [options]

Three kernels (bench/markers) run in all forms, in the same rounds: without markers; with markers that are not recorded;
with markers that leave records, spans, sums or a flight recorder; and with TVM's CudaProfiler written in CUDA. Before
that, each form's results are compared with a reference, and the regions in TVM's buffer with those that PRLX records. It
prints a table for each launch, writes markers.json, and exits with 1 if anything is wrong. It needs `prlx` and Python
3.11 or newer; see docs/cost.md.

`ns a record` is the time beyond the kernel without markers, divided by the records of the warp with the most. `cycles` is
the same at the stated clock. `scheduler's cycles` is that time on all schedulers, divided by all records. For TVM's
scheme, records of regions count, and not each warp's last record.
"""

import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

FORMS = ["bare", "marked", "seed"]
# Launches that are measured: their kernel's names of regions, records of a warp in a trip, and the argument that says how many trips.
LAUNCHES = {
    "loop": (["step"], 2, ("trips", 1)),
    "loop_full": (["step"], 2, ("trips", 1)),
    "gemm": (["load_tile", "wait_tile", "products"], 4, ("tiles", 1)),
    "attention": (["wait_tile", "scores", "softmax", "values"], 8, ("length", 64)),
}
# Rows of a table: what it is, which form of `prlx cost`, and whose form's count of records it has.
ROWS = [
    ("no markers", "{0}.bare", None),
    ("markers, off", "bare", None),
    ("records", "records", "records"),
    ("records, rewritten but off", "records off", None),
    ("spans", "spans", "spans"),
    ("sums", "sums", "sums"),
    ("ring of the last 60", "ring", "ring"),
    ("the seed's scheme", "{0}.seed", "records"),
]


def prlx(options, *words):
    """Standard output; an error says what was called."""
    done = subprocess.run([options.prlx, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"prlx {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr or done.stdout}")
    return done.stdout


def written(folder, launch, kernel, form):
    """A launch file like `launch` of another form, whose buffer of the seed's is kept; and where that is."""
    text = launch.read_text().replace(f"{kernel}.marked.ptx", f"{kernel}.{form}.ptx")
    home = launch.parent.resolve()
    text = re.sub(r'^((?:module|npy|expect)\s*=\s*)"', lambda m: f'{m[1]}"{home}/', text, flags=re.M)
    buffer = folder / f"{kernel}.{form}.npy"
    text = re.sub(r'^(name = "profile")$', f'\\1\nout = "{buffer}"', text, flags=re.M)
    path = folder / f"{kernel}.{form}.toml"
    path.write_text(text)
    return path, buffer


def regions(text):
    """Regions of each warp in their order, from spans as CSV."""
    warps = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row["kind"] == "span":
            place = int(row["cta"]), int(row["warp"] or row["group"])
            warps.setdefault(place, []).append((int(row["begin"]), row["region"]))
    return {place: [name for _, name in sorted(spans, key=lambda s: s[0])] for place, spans in warps.items()}


def check(options, kernel):
    """What is wrong with a kernel's forms, on the small launch that has a reference."""
    names, _, _ = LAUNCHES[kernel]
    launch = options.markers / f"{kernel}.small.toml"
    device = ["--device", options.device]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for form in FORMS:
            path, buffer = written(folder, launch, kernel, form)
            # It ends with 1 where results are not as expected.
            prlx(options, "run", path, *device)
        prlx(options, "timeline", buffer, "--names", ",".join(names), "--csv", folder / "seed.csv")
        prlx(options, "profile", launch, *device, "--csv", folder / "own.csv")
        seed, own = (regions((folder / f).read_text()) for f in ("seed.csv", "own.csv"))
    if not own or seed != own:
        place = next((p for p in sorted(own.keys() | seed.keys()) if seed.get(p) != own.get(p)), None)
        return [f"{kernel}: regions of CTA and warp {place}: the seed's {seed.get(place)}, PRLX's {own.get(place)}"]
    return []


def room(launch, name):
    """Whether the seed's scheme, which tests no bound, stays in its buffer."""
    _, each, (counter, of) = LAUNCHES[name]
    said = tomllib.loads(launch.read_text())
    args = {a["name"]: a for a in said["arg"]}
    volume = lambda v: v if isinstance(v, int) else v[0] * (v[1] if len(v) > 1 else 1)
    groups = volume(said["grid"]) * volume(said["block"]) // 32
    return 1 + groups * (each * args[counter]["value"] // of + 1) <= args["profile"]["len"]


def clock(options):
    """MHz of the multiprocessors: as given, or the most that the GPU says it can."""
    words = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"]
    if options.mhz is None:
        try:
            options.mhz = float(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0])
        except (OSError, subprocess.CalledProcessError, IndexError, ValueError):
            options.mhz = 1980.0
    return options.mhz


def measure(options, name):
    """What `prlx cost` says of a launch in all forms."""
    kernel = name.split("_")[0]
    launch = options.markers / f"{kernel if options.small else name}{'.small' if options.small else ''}.toml"
    words = ["cost", launch, "--markers", "--json", "--device", options.device, "--memory", options.memory]
    words += [w for form in ("bare", "seed") for w in ("--also", options.markers / f"{kernel}.{form}.ptx")]
    words += ["--rounds", options.rounds] if options.rounds else []
    return json.loads(prlx(options, *words))


def table(options, name, said):
    """Prints a launch's table, and gives what is wrong."""
    launch, counts = said["launches"][0], said["unit"] == "warp_instructions"
    kernel, forms = name.split("_")[0], {f["form"]: f for f in launch["forms"]}
    none = forms[f"{kernel}.bare"]["median"]
    amount = "warp instructions" if counts else "ms"
    cost = "instructions a record" if counts else "ns a record | cycles | scheduler's cycles"
    print(f"\n## {name}\n\n| form | {amount} | over no markers | registers | local | occupancy | records | of a warp | {cost} |")
    print("|---" * (9 if counts else 11) + "|")
    wrong = []
    for title, form, counted in ROWS:
        of = forms[form.format(kernel)]
        needs = of["needs"] or {}
        share = f"{100 * needs['resident'] / max(needs['room'], 1):.0f} %" if needs else "-"
        cells = [title, str(of["median"]) if counts else f"{of['median'] / 1e6:.4f}", f"{of['median'] / max(none, 1):.3f}"]
        cells += [str(needs.get("registers", "-")), str(needs.get("local", "-")), share]
        passed = forms[counted]["passed"] if counted else None
        if passed and passed["all"]:
            more = of["median"] - none
            every, most = passed["all"], passed["most"]
            cells += [str(every), str(most)]
            if counts:
                cells.append(f"{more / every:.2f}")
            else:
                cycles = clock(options) / 1000
                cells += [f"{more / most:.2f}", f"{more / most * cycles:.1f}", f"{more * cycles * options.schedulers / every:.1f}"]
        else:
            cells += ["0", "0"] + ["-"] * (1 if counts else 3)
        print("| " + " | ".join(cells) + " |")
        wrong += [f"{name}: {title}: results differ"] if of["changed"] else []
        wrong += [f"{name}: {title}: more than --memory has room for"] if of["full"] else []
    spread = max((f["quartiles"][1] - f["quartiles"][0]) / max(f["median"], 1) for f in forms.values() if "quartiles" in f)
    print(f"\nThe quartiles of a form's rounds are {100 * spread:.1f} % apart at most.")
    return wrong


def main():
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prlx", default=str(here / "prlx"), help="the binary")
    parser.add_argument("--markers", type=pathlib.Path, default=here / "markers", help="the kernels")
    parser.add_argument("--only", default=",".join(LAUNCHES), type=lambda s: s.split(","), help="launches, with commas")
    parser.add_argument("--small", action="store_true", help="measure the launches that have a reference, too small for times")
    parser.add_argument("--device", default="cuda", help="as of `prlx`; the CPU device counts instructions")
    parser.add_argument("--rounds", type=int, help="of measurements")
    parser.add_argument("--memory", type=int, default=512, help="MiB for the tracks of a form")
    parser.add_argument("--mhz", type=float, help="clock of the multiprocessors [default: the most that nvidia-smi names, else 1980]")
    parser.add_argument("--schedulers", type=int, default=528, help="four for each multiprocessor")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="where markers.json goes")
    options = parser.parse_args()
    wrong = [f"{name}: the seed's records do not fit into `profile`" for name in LAUNCHES if not room(options.markers / f"{name}.toml", name)]
    results = {}
    kernels = sorted({name.split("_")[0] for name in options.only})
    for kernel in kernels:
        try:
            wrong += check(options, kernel)
        except RuntimeError as error:
            wrong.append(str(error))
    print(f"{len(kernels)} kernels in {len(FORMS)} forms: results and regions checked, {len(wrong)} wrong")
    # What does not fit would be written past the buffer.
    for name in (kernels if options.small else options.only) if not wrong else []:
        try:
            results[name] = measure(options, name)
            wrong += table(options, name, results[name])
        except RuntimeError as error:
            wrong.append(str(error))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "markers.json").write_text(json.dumps(results, indent=1) + "\n")
    for said in list(results.values())[:1]:
        at = "" if said["unit"] == "warp_instructions" else f", cycles at {clock(options):.0f} MHz"
        print(f"\n{said['device']}, {said['rounds']} rounds, caches {said['caches']}{at}.")
    for what in wrong:
        print(f"WRONG {what}")
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
