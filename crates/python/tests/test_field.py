"""The cases of `tests/field/triton`, bugs that people reported, as a user of the package finds them.

Each function below is what a user writes: at most three lines that begin with a kernel and its arrays. Its name
does not matter. It answers one row of the case's `expect.toml`, whose verdict, class and lines it must give. Its
parameters are kernels (by the file that has them), arrays (by their file, or from `ARRAYS`), and `here`, the
folder of the case. Kernels of other versions of Triton come as PTX.

`cargo xtask field --python` prints the table: it runs this file as a program.
"""

import importlib.util
import inspect
import pathlib

import numpy as np
import prlx
import pytest
import triton

tomllib = pytest.importorskip("tomllib")

FIELD = pathlib.Path(__file__).parents[3] / "tests" / "field" / "triton"
LINES = 3

# Arrays of each case that no file has.
ARRAYS = {
    "01_pipe_stage": {"out": lambda: np.zeros(17, np.int32)},
    "04_window_v": {"out": lambda: np.zeros(32, np.float32)},
    "05_tail_rmw": {"sums": lambda: np.zeros(8, np.int32), "counts": lambda: np.zeros(8, np.int32)},
    "08_spinlock": {"total": lambda: np.zeros(128, np.int32), "lock": lambda: np.zeros(1, np.int32)},
    "09_gluon_wgmma": {"out": lambda: np.zeros(8192, np.float32)},
    "13_legal": {
        "y": lambda: np.zeros(3000, np.float32),
        "clipped": lambda: np.zeros(1500, np.float32),
        "count": lambda: np.zeros(1, np.int32),
    },
    "18_nan_in": {"y": lambda: np.zeros(300, np.float32)},
    "22_expert": {
        "x": lambda: np.arange(256, dtype=np.float32),
        "weight": lambda: np.arange(1, 257, dtype=np.float32),
        "y": lambda: np.zeros(256, np.float32),
    },
    "24_extra_load": {
        "x": lambda: np.arange(128, dtype=np.int32),
        "flag": lambda: np.zeros(128, np.int32),
        "y": lambda: np.zeros(128, np.int32),
    },
    "25_edit": {
        "x": lambda: np.load(FIELD / "05_tail_rmw" / "x.npy"),
        "group": lambda: np.load(FIELD / "05_tail_rmw" / "group.npy"),
        "sums": lambda: np.zeros(8, np.int32),
        "counts": lambda: np.zeros(8, np.int32),
    },
    "30_tensor_memory": {"c": lambda: np.empty((128, 32), np.float32)},
}

# What users write, by the case and the commands of the rows that it answers.
USES = []


def row(case, *commands):
    """Says which rows of a case a function answers: rows of several architectures or tools have one answer."""

    def add(function):
        USES.extend((case, command, function) for command in commands)
        return function

    return add


@row("01_pipe_stage", "compare s6_80.toml s4_80.toml")
def _(scatter, slots, out, here):
    s4 = prlx.Kernel(here / "s4_80.ptx", "scatter")[1, 128, 4]
    right = lambda: scatter[(1,)](slots, out, 17, 1, STAGES=2)
    return prlx.compare(right, lambda: s4(slots, out, 17, 1, None), arch="sm_80")


@row("01_pipe_stage", "compare s6_90a.toml s4_90a.toml")
def _(scatter, slots, out, here):
    s4 = prlx.Kernel(here / "s4_90a.ptx", "scatter")[1, 128, 4]
    right = lambda: scatter[(1,)](slots, out, 17, 1, STAGES=2)
    return prlx.compare(right, lambda: s4(slots, out, 17, 1, None))


@row("01_pipe_stage", "run --check all s4_80.toml")
def _(slots, out, here):
    s4 = prlx.Kernel(here / "s4_80.ptx", "scatter")[1, 128, 4]
    return prlx.check(lambda: s4(slots, out, 17, 1, None))


@row("01_pipe_stage", "run --check all s4_90a.toml")
def _(slots, out, here):
    s4 = prlx.Kernel(here / "s4_90a.ptx", "scatter")[1, 128, 4]
    return prlx.check(lambda: s4(slots, out, 17, 1, None))


@row("01_pipe_stage", "compare s6_80.toml --seeds 0..8")
def _(scatter, slots, out):
    return prlx.compare(lambda: scatter[(1,)](slots, out, 17, 1, STAGES=2), seeds=range(8), arch="sm_80")


@row("01_pipe_stage", "compare s6_90a.toml --seeds 0..8")
def _(scatter, slots, out):
    return prlx.repeat(lambda: scatter[(1,)](slots, out, 17, 1, STAGES=2), 8)


@row("01_pipe_stage", "run --check all s6_80.toml")
def _(scatter, slots, out):
    return prlx.check(lambda: scatter[(1,)](slots, out, 17, 1, STAGES=2), arch="sm_80")


@row("01_pipe_stage", "run --check all s6_90a.toml")
def _(scatter, slots, out):
    return prlx.check(lambda: scatter[(1,)](slots, out, 17, 1, STAGES=2))


@row("01_pipe_stage", "compare s6_80.toml s6_90a.toml")
def _(slots, out, here):
    old, new = (prlx.Kernel(here / f"s6_{arch}.ptx", "scatter")[1, 128, 8] for arch in ("80", "90a"))
    run = lambda kernel: kernel(slots, out, 17, 1, None, None)
    return prlx.compare(lambda: run(old), lambda: run(new))


@row("01_pipe_stage", "compare s6_1_90a.toml s6_90a.toml")
def _(scatter, slots, out):
    run = lambda **config: scatter[(1,)](slots, out, 17, 1, **config)
    return prlx.compare(run, configs=[{"STAGES": 1}, {"STAGES": 2}])


@row("04_window_v", "compare window_fixed_garbage.toml window_garbage.toml")
def _(window, window_fixed, q, k, v_garbage, out):
    run = lambda kernel: kernel[(1,)](q, k, v_garbage, out, 100, W=48, D=32, BLOCK=32)
    return prlx.compare(lambda: run(window_fixed), lambda: run(window))


@row("04_window_v", "compare window.toml window_garbage.toml")
def _(window, q, k, v, v_garbage, out):
    run = lambda values: window[(1,)](q, k, values, out, 100, W=48, D=32, BLOCK=32)
    return prlx.compare(lambda: run(v), lambda: run(v_garbage))


@row("04_window_v", "compare window_fixed.toml --seeds 0..4")
def _(window_fixed, q, k, v, out):
    return prlx.repeat(lambda: window_fixed[(1,)](q, k, v, out, 100, W=48, D=32, BLOCK=32), 4)


@row("04_window_v", "run --check all window_fixed.toml")
def _(window_fixed, q, k, v, out):
    return prlx.check(lambda: window_fixed[(1,)](q, k, v, out, 100, W=48, D=32, BLOCK=32))


@row("04_window_v", "probe nan-origin window_garbage.toml")
def _(window, q, k, v_garbage, out):
    run = lambda: window[(1,)](q, k, v_garbage, out, 100, W=48, D=32, BLOCK=32)
    return prlx.probe("nan-origin", run)


@row("05_tail_rmw", "compare mean_fixed.toml mean.toml")
def _(mean_fixed, mean, x, group, sums, counts):
    run = lambda kernel: kernel[(4,)](x, group, sums, counts, 200, BLOCK=64, num_warps=2)
    return prlx.compare(lambda: run(mean_fixed), lambda: run(mean))


@row("05_tail_rmw", "compare mean_fixed.toml mean128.toml")
def _(mean_fixed, mean128, x, group, sums, counts):
    run = lambda kernel, block: kernel[(256 // block,)](x, group, sums, counts, 200, BLOCK=block)
    return prlx.compare(lambda: run(mean_fixed, 64), lambda: run(mean128, 128))


@row("05_tail_rmw", "compare mean.toml mean128.toml")
def _(mean, x, group, sums, counts):
    run = lambda BLOCK, **c: mean[(256 // BLOCK,)](x, group, sums, counts, 200, BLOCK=BLOCK, **c)
    return prlx.compare(run, configs=[{"BLOCK": 64, "num_warps": 2}, {"BLOCK": 128, "num_warps": 4}])


@row("05_tail_rmw", "run --check all mean_fixed.toml")
def _(mean_fixed, x, group, sums, counts):
    return prlx.check(lambda: mean_fixed[(4,)](x, group, sums, counts, 200, BLOCK=64))


@row("08_spinlock", "compare --max-steps 200000 hang.toml hang_empty.toml")
def _(hang, x, x0, total, lock):
    run = lambda tiles: hang[(6,)](tiles, total, lock, N=128)
    return prlx.compare(lambda: run(x), lambda: run(x0), max_steps=200_000)


@row("08_spinlock", "run --check all locked.toml")
def _(locked, x, total, lock):
    return prlx.check(lambda: locked[(6,)](x, total, lock, N=128))


@row("08_spinlock", "compare locked_barrier.toml --seeds 0..8")
def _(locked_barrier, x, total, lock):
    return prlx.repeat(lambda: locked_barrier[(6,)](x, total, lock, N=128), 8)


@row("08_spinlock", "run --check all locked_barrier.toml")
def _(locked_barrier, x, total, lock):
    return prlx.check(lambda: locked_barrier[(6,)](x, total, lock, N=128))


@row("09_gluon_wgmma", "compare ring.toml ring_nobar.toml")
def _(ring, a, b, out, here):
    no_barrier = prlx.Kernel(here / "ring_nobar.ptx", "ring")[1, 256, 24576]
    right = lambda: ring[(1,)](a, b, out, 5, M=128, D=64, MEET=False, num_warps=8)
    return prlx.compare(right, lambda: no_barrier(a, b, out, 5, None, None))


@row("09_gluon_wgmma", "compare ring_nobar.toml --seeds 0..4")
def _(a, b, out, here):
    no_barrier = prlx.Kernel(here / "ring_nobar.ptx", "ring")[1, 256, 24576]
    return prlx.compare(lambda: no_barrier(a, b, out, 5, None, None), seeds=range(4))


@row("09_gluon_wgmma", "run --check all --seed 3 ring_nobar.toml")
def _(a, b, out, here):
    no_barrier = prlx.Kernel(here / "ring_nobar.ptx", "ring")[1, 256, 24576]
    return prlx.check(lambda: no_barrier(a, b, out, 5, None, None), seed=3)


@row("09_gluon_wgmma", "compare ring.toml ring_fixed.toml")
def _(ring, a, b, out):
    run = lambda **config: ring[(1,)](a, b, out, 5, M=128, D=64, num_warps=8, **config)
    return prlx.compare(run, configs=[{"MEET": False}, {"MEET": True}])


@row("09_gluon_wgmma", "compare ring.toml --seeds 0..4")
def _(ring, a, b, out):
    return prlx.repeat(lambda: ring[(1,)](a, b, out, 5, M=128, D=64, MEET=False, num_warps=8), 4)


@row("09_gluon_wgmma", "run --check all ring.toml")
def _(ring, a, b, out):
    return prlx.check(lambda: ring[(1,)](a, b, out, 5, M=128, D=64, MEET=False, num_warps=8))


@row("13_legal", "compare softmax.toml softmax_w8.toml", "compare softmax.toml softmax_b1024.toml")
def _(softmax, x, y):
    run = lambda **config: softmax[(6,)](x, y, 500, **config)
    configs = [{"BLOCK": 512}, {"BLOCK": 512, "num_warps": 8}, {"BLOCK": 1024}]
    return prlx.compare(run, configs=configs, rtol=1e-5, atol=1e-7)


@row("13_legal", "compare softmax.toml softmax_t34.toml")
def _(softmax, x, y, here):
    t34 = prlx.Kernel(here / "softmax_t34.ptx", "softmax")[6, 128, 16]
    run = lambda: softmax[(6,)](x, y, 500, BLOCK=512)
    return prlx.compare(run, lambda: t34(x, y, 500, None), rtol=1e-5, atol=1e-7)


@row("13_legal", "compare clip.toml clip_w8.toml", "compare clip.toml clip_b512.toml")
def _(clip, c, clipped, count):
    run = lambda BLOCK, **config: clip[(-(-1500 // BLOCK),)](c, clipped, count, 1500, 2.5, BLOCK, **config)
    return prlx.compare(run, configs=[{"BLOCK": 256}, {"BLOCK": 256, "num_warps": 8}, {"BLOCK": 512}])


@row("13_legal", "compare clip_b512.toml clip_w8.toml")
def _(clip, c, clipped, count):
    run = lambda BLOCK, **config: clip[(-(-1500 // BLOCK),)](c, clipped, count, 1500, 2.5, BLOCK, **config)
    return prlx.compare(run, configs=[{"BLOCK": 512}, {"BLOCK": 256, "num_warps": 8}])


@row("13_legal", "compare clip.toml clip_t34.toml")
def _(clip, c, clipped, count, here):
    t34 = prlx.Kernel(here / "clip_t34.ptx", "clip")[6, 128, 16]
    run = lambda: clip[(6,)](c, clipped, count, 1500, 2.5, BLOCK=256)
    return prlx.compare(run, lambda: t34(c, clipped, count, 1500, 2.5, None))


@row("13_legal", "compare softmax_bad.toml softmax_bad_t34.toml")
def _(softmax_bad, x, y, here):
    t34 = prlx.Kernel(here / "softmax_bad_t34.ptx", "softmax")[6, 128, 16]
    run = lambda: softmax_bad[(6,)](x, y, 500, BLOCK=512)
    return prlx.compare(run, lambda: t34(x, y, 500, None), rtol=1e-5, atol=1e-7)


@row("13_legal", "compare softmax.toml softmax_bad.toml", "compare softmax.toml softmax_bad_w8.toml")
def _(softmax, softmax_bad, x, y):
    good, bad = (lambda k=k, **c: k[(6,)](x, y, 500, BLOCK=512, **c) for k in (softmax, softmax_bad))
    return prlx.compare(bad, good, configs=[{}, {"num_warps": 8}], rtol=1e-5, atol=1e-7)


@row("13_legal", "compare softmax_w8.toml softmax_bad_w8.toml")
def _(softmax, softmax_bad, x, y):
    run = lambda kernel: kernel[(6,)](x, y, 500, BLOCK=512, num_warps=8)
    return prlx.compare(lambda: run(softmax), lambda: run(softmax_bad), rtol=1e-5, atol=1e-7)


@row("13_legal", "compare softmax_t34.toml softmax_bad_t34.toml")
def _(x, y, here):
    good, bad = (prlx.Kernel(here / f"softmax{s}_t34.ptx", "softmax")[6, 128, 16] for s in ("", "_bad"))
    sides = (lambda: good(x, y, 500, None)), (lambda: bad(x, y, 500, None))
    return prlx.compare(*sides, rtol=1e-5, atol=1e-7)


@row("13_legal", "compare softmax.toml softmax_bad_t34.toml")
def _(softmax, x, y, here):
    t34 = prlx.Kernel(here / "softmax_bad_t34.ptx", "softmax")[6, 128, 16]
    run = lambda: softmax[(6,)](x, y, 500, BLOCK=512)
    return prlx.compare(run, lambda: t34(x, y, 500, None), rtol=1e-5, atol=1e-7)


@row("13_legal", "compare softmax_b1024.toml softmax_bad.toml")
def _(softmax, softmax_bad, x, y):
    good, bad = (lambda: softmax[(6,)](x, y, 500, 1024)), (lambda: softmax_bad[(6,)](x, y, 500, 512))
    return prlx.compare(good, bad, rtol=1e-5, atol=1e-7)


@row("13_legal", "compare clip.toml clip_bad.toml", "compare clip.toml clip_bad_w8.toml")
@row("13_legal", "compare clip.toml clip_bad_b512.toml")
def _(clip, clip_bad, c, clipped, count):
    run = lambda BLOCK, k=clip_bad, **w: k[(-(-1500 // BLOCK),)](c, clipped, count, 1500, 2.5, BLOCK, **w)
    configs = [{"BLOCK": 256}, {"BLOCK": 256, "num_warps": 8}, {"BLOCK": 512}]
    return prlx.compare(run, lambda: run(256, clip), configs=configs)


@row("13_legal", "compare clip_w8.toml clip_bad_w8.toml")
def _(clip, clip_bad, c, clipped, count):
    run = lambda kernel: kernel[(6,)](c, clipped, count, 1500, 2.5, BLOCK=256, num_warps=8)
    return prlx.compare(lambda: run(clip), lambda: run(clip_bad))


@row("13_legal", "compare clip_b512.toml clip_bad_b512.toml")
def _(clip, clip_bad, c, clipped, count):
    run = lambda kernel: kernel[(3,)](c, clipped, count, 1500, 2.5, BLOCK=512)
    return prlx.compare(lambda: run(clip), lambda: run(clip_bad))


@row("13_legal", "compare clip_t34.toml clip_bad_t34.toml")
def _(c, clipped, count, here):
    good, bad = (prlx.Kernel(here / f"clip{s}_t34.ptx", "clip")[6, 128, 16] for s in ("", "_bad"))
    run = lambda kernel: kernel(c, clipped, count, 1500, 2.5, None)
    return prlx.compare(lambda: run(good), lambda: run(bad))


@row("13_legal", "compare clip.toml clip_bad_t34.toml")
def _(clip, c, clipped, count, here):
    bad = prlx.Kernel(here / "clip_bad_t34.ptx", "clip")[6, 128, 16]
    good = lambda: clip[(6,)](c, clipped, count, 1500, 2.5, BLOCK=256)
    return prlx.compare(good, lambda: bad(c, clipped, count, 1500, 2.5, None))


@row("13_legal", "compare --level events clip.toml clip_seed7.toml")
def _(clip, c, clipped, count):
    return prlx.repeat(lambda: clip[(6,)](c, clipped, count, 1500, 2.5, BLOCK=256), seeds=[0, 7])


@row("13_legal", "compare --level events softmax.toml softmax_seed7.toml")
def _(softmax, x, y):
    return prlx.repeat(lambda: softmax[(6,)](x, y, 500, BLOCK=512), seeds=[0, 7])


@row("18_nan_in", "probe nan-origin norm.toml")
def _(norm_fixed, x, y):
    return prlx.probe("nan-origin", lambda: norm_fixed[(3,)](x, y, 100, 1e-5, BLOCK=128))


@row("18_nan_in", "run --check all norm.toml")
def _(norm_fixed, x, y):
    return prlx.check(lambda: norm_fixed[(3,)](x, y, 100, 1e-5, BLOCK=128))


@row("22_expert", "compare good.toml minus.toml")
def _(moe, x, weight, good, minus, y):
    run = lambda experts: moe[(4,)](x, weight, experts, y, 250, BLOCK=64, num_warps=2)
    return prlx.compare(lambda: run(good), lambda: run(minus))


@row("22_expert", "compare good.toml garbage.toml")
def _(moe, x, weight, good, garbage, y):
    run = lambda experts: moe[(4,)](x, weight, experts, y, 250, BLOCK=64, num_warps=2)
    return prlx.compare(lambda: run(good), lambda: run(garbage))


@row("22_expert", "run --check all minus.toml")
def _(moe, x, weight, minus, y):
    with prlx.cpu(check="all"):
        moe[(4,)](x, weight, minus, y, 250, BLOCK=64)


@row("22_expert", "run --check all garbage.toml")
def _(moe, x, weight, garbage, y):
    with prlx.cpu(check="all"):
        moe[(4,)](x, weight, garbage, y, 250, BLOCK=64)


@row("22_expert", "run --check all good.toml")
def _(moe, x, weight, good, y):
    with prlx.cpu(check="all") as device:
        moe[(4,)](x, weight, good, y, 250, BLOCK=64)
    return device.findings


@row("24_extra_load", "compare copy.toml copy_more.toml")
def _(copy, copy_more, x, flag, y):
    return prlx.compare(lambda: copy[(1,)](x, flag, y, N=128), lambda: copy_more[(1,)](x, flag, y, N=128))


@row("24_extra_load", "compare --level events copy.toml copy_more.toml")
def _(copy, copy_more, x, flag, y):
    run = lambda kernel: kernel[(1,)](x, flag, y, N=128)
    return prlx.compare(lambda: run(copy), lambda: run(copy_more), level="events")


@row("25_edit", "compare a.toml b.toml")
def _(a, b, x, group, sums, counts):
    run = lambda kernel: kernel[(4,)](x, group, sums, counts, 200, BLOCK=64, num_warps=2)
    return prlx.compare(lambda: run(a), lambda: run(b))


@row("25_edit", "compare --level events a.toml b.toml")
def _(a, b, x, group, sums, counts):
    run = lambda kernel: kernel[(4,)](x, group, sums, counts, 200, BLOCK=64, num_warps=2)
    return prlx.compare(lambda: run(a), lambda: run(b), level="events")


@row("25_edit", "compare a.toml a_nosource.toml")
def _(a, x, group, sums, counts, here):
    no_source = prlx.Kernel(here / "a_nosource.ptx", "group_sum")[4, 64]
    run = lambda: a[(4,)](x, group, sums, counts, 200, BLOCK=64, num_warps=2)
    return prlx.compare(run, lambda: no_source(x, group, sums, counts, 200, None, None))


@row("30_tensor_memory", "compare tail_fixed.toml tail.toml")
def _(tail, tail_fixed, a, b, c):
    run = lambda kernel: kernel[(1,)](a, b, c, 32, 40, BLOCK_M=128, BLOCK_N=32, BLOCK=32)
    return prlx.compare(lambda: run(tail_fixed), lambda: run(tail), arch="sm_100")


@row("30_tensor_memory", "compare tail_fixed.toml --seeds 0..4")
def _(tail_fixed, a, b, c):
    run = lambda: tail_fixed[(1,)](a, b, c, 32, 40, BLOCK_M=128, BLOCK_N=32, BLOCK=32)
    return prlx.repeat(run, 4, arch="sm_100")


@row("30_tensor_memory", "run --check all tail_fixed.toml")
def _(tail_fixed, a, b, c):
    with prlx.cpu("sm_100", check="all") as device:
        tail_fixed[(1,)](a, b, c, 32, 40, BLOCK_M=128, BLOCK_N=32, BLOCK=32)
    return device.findings


@row("30_tensor_memory", "run --check all scaled.toml")
def _(scaled, x, sx, y, sy, c):
    with prlx.cpu("sm_100", check="all") as device:
        scaled[(1,)](x, sx, y, sy, c, BLOCK_M=128, BLOCK_N=32, BLOCK=128)
    return device.findings


class Answer:
    """What a user reads in a result: the verdict, the class of what comes first, and the lines of its places."""

    def __init__(self, verdict, kind="", lines=()):
        self.verdict, self.kind, self.lines = verdict, kind, list(lines)


def answers(result):
    """The answers in a result: one, or that of each configuration."""
    if isinstance(result, prlx.Configurations):
        return [of_report(report) for _, report in result]
    if isinstance(result, prlx.Report):
        return [of_report(result)]
    if isinstance(result, prlx.Findings):
        return [of_findings(result)]
    if hasattr(result, "tables"):
        return [of_tables(result)]
    return [Answer(result.verdict)]


def of_report(report):
    launch = report.launches[0]
    if report.causes:
        cause = report.causes[0]
        places = [p.location for p in [*cause.places, getattr(cause, "other", None)] if p]
        return Answer(report.verdict, cause.class_, [line for p in places for line in inlined(p)])
    sites = [site for finding in launch.findings[:1] for site in finding.site]
    lines = [line for site in sites if site for line in inlined(site.location)]
    return Answer(report.verdict, "decision" if launch.findings else "", lines)


def inlined(location):
    """The lines of a location, and of where its function was inlined."""
    chain = [location, *(getattr(location, "inlined", None) or [])] if location else []
    return [(place.file, place.line) for place in chain]


def of_findings(findings):
    if not findings.errors:
        return Answer("clean")
    first = findings.errors[0]
    places = [side["place"] for side in first.data["sides"] if side.get("place")]
    lines = [(s["file"], s["line"]) for place in places for s in place["source"]]
    return Answer("finding", first.kind, lines)


def of_tables(tallies):
    table = next((t for t in tallies.tables if t.rows), None)
    if table is None:
        return Answer("empty")
    keys = [r.key[0] for r in table.rows]
    return Answer("values", table.name, [(k.file, k.line) for k in keys if hasattr(k, "line")])


def wrong(expected, answer):
    """What is wrong with an answer; empty if nothing is."""
    verdicts = expected["verdict"] if isinstance(expected["verdict"], list) else [expected["verdict"]]
    if answer.verdict not in verdicts:
        return f"verdict {answer.verdict}"
    if "class" in expected and answer.kind not in expected["class"]:
        return f"class {answer.kind}"
    named = [f"{pathlib.Path(file).name}:{line}" for file, line in answer.lines]
    if "lines" in expected and not set(named) & set(expected["lines"]):
        return f"lines {named}"
    return ""


def expected_rows(case):
    """The rows of a case, by command."""
    rows = tomllib.loads((FIELD / case / "expect.toml").read_text())["row"]
    return {r["command"] + (f" --seeds {r['seeds']}" if "seeds" in r else ""): r for r in rows}


def arguments(function, case):
    """What a user has before the three lines: kernels and arrays."""
    return {name: argument(FIELD / case, case, name) for name in inspect.signature(function).parameters}


def argument(here, case, name):
    if name == "here":
        return here
    if name in ARRAYS[case]:
        return ARRAYS[case][name]()
    if (here / f"{name}.npy").exists():
        return np.load(here / f"{name}.npy")
    spec = importlib.util.spec_from_file_location(f"field_{case}_{name}", here / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (kernel,) = (v for v in vars(module).values() if isinstance(v, triton.runtime.JITFunction))
    return kernel


def lines_of(function):
    """How many lines the body of a function has, but for `return` of what a `with` block has found."""
    text = inspect.getsource(function).splitlines()
    start = next(i for i, line in enumerate(text) if line.startswith("def "))
    return len([line for line in text[start + 1 :] if line.strip() not in ("", "return device.findings")])


CASES = sorted(path.parent.name for path in FIELD.glob("*/expect.toml"))


class Table:
    """The rows of a case: what each answers, as text, and those that are wrong."""

    def __init__(self, case):
        self.lines, self.faults = [], []
        uses = {command: function for of, command, function in USES if of == case}
        rows = expected_rows(case)
        assert set(uses) == set(rows), "each row has its lines of Python"
        results = {}
        for command, function in uses.items():
            assert lines_of(function) <= LINES, inspect.getsource(function)
            if function not in results:
                results[function] = run(function, case)
            self._add(case, command, function, results[function], rows[command])

    def _add(self, case, command, function, found, expected):
        why = "; ".join(filter(None, (wrong(expected, answer) for answer in found)))
        shown = " ".join(dict.fromkeys(f"{a.verdict} {a.kind}".strip() for a in found))
        state = f"WRONG  {why}" if why else "right"
        self.lines.append(f"{case:<17} {command:<50} {lines_of(function)} lines  {shown:<22} {state}")
        if why:
            self.faults.append(self.lines[-1])


def run(function, case):
    """The answers of what a user writes."""
    try:
        return answers(function(**arguments(function, case)))
    except prlx.CheckError as error:
        return [of_findings(error.findings)]


@pytest.mark.parametrize("case", CASES)
def test_bugs_are_found_in_three_lines(case):
    faults = Table(case).faults
    assert not faults, "\n".join(faults)


if __name__ == "__main__":
    tables = [Table(case) for case in CASES]
    faults = sum(len(table.faults) for table in tables)
    rows = [line for table in tables for line in table.lines]
    print("\n".join(rows))
    print(f"{len(rows) - faults} of {len(rows)} rows are right, each in at most {LINES} lines of Python")
    raise SystemExit(faults > 0)
