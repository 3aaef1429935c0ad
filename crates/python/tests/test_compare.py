"""Comparisons of functions, configurations, references and recordings."""

import json

import kernels_triton as kernels
import numpy as np
import prlx
import pytest


@pytest.fixture
def data(rng):
    x = rng.standard_normal((8, 100)).astype(np.float32)
    return np.zeros_like(x), x


def softmax(kernel, out, x, **config):
    kernel[(8,)](out, x, 100, **{"BLOCK": 128, **config})
    return out


def expected(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_a_function_agrees_with_itself(data):
    out, x = data
    report = prlx.compare(lambda: softmax(kernels.softmax, out, x), lambda: softmax(kernels.softmax, out, x))
    assert report.same and report.verdict == "same" and report.causes == []
    assert not out.any(), "the arrays hold what they held before"


def test_a_wrong_mask_value_is_the_cause_at_its_line(data):
    out, x = data
    report = prlx.compare(
        lambda: softmax(kernels.softmax, out, x), lambda: softmax(kernels.softmax_zero, out, x)
    )
    assert report.verdict == "differs"
    place = report.causes[0].places[0].location
    source = open(kernels.__file__).read().splitlines()
    assert 'other=-float("inf")' in source[place.line - 1]
    assert "A A" not in str(report) and report.causes[0].class_ == report.data["launches"][0]["causes"][0]["class"]
    assert "cause" in str(report) and "softmax" in repr(report.launches[0])


def test_arrays_that_a_kernel_only_reads_are_no_outputs(data):
    out, x = data
    report = prlx.compare(lambda: softmax(kernels.softmax, out, x), lambda: softmax(kernels.softmax, out, x))
    assert [o.name for o in report.launches[0].outputs] == ["out"]
    counts, at = np.zeros(4, np.int32), np.arange(100, dtype=np.int32) % 4

    def histogram():
        kernels.histogram[(1,)](at, counts, 100, BLOCK=128)

    assert [o.name for o in prlx.compare(histogram, histogram).launches[0].outputs] == ["counts"]
    # Two arguments of one array.
    both = prlx.compare(lambda: softmax(kernels.softmax, x, x), lambda: softmax(kernels.softmax, x, x))
    assert {o.name for o in both.launches[0].outputs} == {"out", "x"}


def test_kernels_with_other_names_are_compared_and_named(data):
    out, x = data
    report = prlx.compare(
        lambda: softmax(kernels.softmax, out, x), lambda: softmax(kernels.softmax_zero, out, x)
    )
    assert "`softmax` and `softmax_zero` have different names, and are compared as one kernel" in str(report.data)
    assert "--force" not in str(report.data)


def test_a_report_is_saved_and_shown(data, tmp_path, capsys):
    out, x = data
    report = prlx.compare(
        lambda: softmax(kernels.softmax, out, x), lambda: softmax(kernels.softmax_zero, out, x)
    )
    for name in ("r.html", "r.json", "r.txt"):
        report.save(tmp_path / name)
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "differs"
    assert "<html" in (tmp_path / "r.html").read_text()
    report.show()
    assert capsys.readouterr().out.startswith("differs")
    assert report._repr_html_().startswith("<iframe")
    with pytest.raises(AttributeError, match="verdict"):
        report.nothing


def test_configurations_make_a_table(data):
    out, x = data
    configs = [{"num_warps": 4}, {"num_warps": 1}, {"BLOCK": 256, "num_warps": 8}]
    table = prlx.compare(lambda **c: softmax(kernels.softmax, out, x, **c), configs=configs, rtol=1e-5)
    assert table.verdict == "same" and len(table) == 2
    assert "num_warps=1" in str(table)


def test_a_reference(data):
    out, x = data
    good = prlx.compare(lambda: softmax(kernels.softmax, out, x), prlx.against(expected(x)))
    bad = prlx.compare(lambda: softmax(kernels.softmax_zero, out, x), prlx.against(lambda: expected(x)))
    assert good.verdict == "same" and bad.verdict == "differs"
    assert bad.wrong == 800 and bad.first == (0, 0) and "got" in str(bad)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_wrong_elements_have_both_values_and_their_distance(dtype):
    want = np.array([[1, -2, 3], [0, np.inf, 6]], dtype)
    got = want.copy()
    got[0, 1], got[1, 0], got[1, 1] = np.nextafter(want[0, 1], dtype(0)), -0.5, 7
    outcome = prlx.compare(lambda: got, prlx.against(want, rtol=0, atol=0), check=None)
    first, second, third = outcome.differences()
    step = float(abs(got[0, 1] - want[0, 1]))
    assert (first.index, first.got, first.want) == ((0, 1), float(got[0, 1]), -2.0)
    assert (first.absolute, first.relative, first.ulp) == (step, step / 2, 1)
    assert (second.index, second.absolute, second.relative) == ((1, 0), 0.5, 1.0)
    assert second.ulp == int(dtype(0.5).view(f"i{want.itemsize}"))
    assert (third.got, third.want) == (7.0, np.inf)
    assert third.absolute is third.relative is third.ulp is None
    assert outcome.greatest == prlx._against.Extremes(0.5, 1.0, second.ulp)
    assert outcome.differences(1) == [first]
    assert f"greatest  absolute 0.5, relative 1, {second.ulp:,} ulp" in str(outcome)
    assert f"first [0,1]  got {first.got}  expected -2.0  absolute" in str(outcome)
    json.dumps(outcome.data, allow_nan=False)
    assert outcome.data["differences"][2]["want"] == "inf"


def test_wrong_integers_and_complex_numbers_have_their_distance():
    outcome = prlx.compare(lambda: np.array([2**62 + 1, -1]), prlx.against(np.array([2**62, 3])), check=None)
    assert [(d.absolute, d.ulp) for d in outcome.differences()] == [(1, None), (4, None)]
    assert outcome.differences()[1].relative == 4 / 3
    outcome = prlx.compare(lambda: np.array([3 + 4j]), prlx.against(np.array([0j])), check=None)
    assert [(d.absolute, d.relative, d.ulp) for d in outcome.differences()] == [(5.0, 1.0, None)]
    assert json.loads(json.dumps(outcome.data))["differences"][0]["got"] == "(3+4j)"
    same = prlx.compare(lambda: np.zeros(2), prlx.against(np.zeros(2)))
    assert same.differences() == [] and same.greatest.absolute is None


def test_configurations_are_compared_with_a_reference(data):
    out, x = data
    configs = [{"num_warps": 4}, {"num_warps": 1}]
    good = lambda **c: softmax(kernels.softmax, out, x, **c)
    bad = lambda **c: softmax(kernels.softmax_zero, out, x, **c)
    assert prlx.compare(good, prlx.against(expected(x)), configs=configs).verdict == "same"
    table = prlx.compare(bad, prlx.against(expected(x)), configs=configs)
    assert [outcome.wrong for _, outcome in table] == [800, 800] and "800 of 800" in str(table)
    table = prlx.compare(bad, lambda: good(), configs=configs)
    assert [report.verdict for _, report in table] == ["differs", "differs"]
    with pytest.raises(TypeError, match="other side is a function or prlx.against"):
        prlx.compare(good, "file.toml", configs=configs)


STORE = prlx.Kernel('extern "C" __global__ void k(long long *x, long long v) { x[threadIdx.x] = v; }')


@pytest.mark.parametrize(
    "value, reference, tolerance, verdict",
    [
        (1000001, np.full(4, 1000000), {}, "differs"),
        (1000001, np.full(4, 1000000.0), {}, "differs"),
        (1000000, np.full(4, 1000000.0), {}, "same"),
        (2**62 + 1, np.full(4, 2**62), {}, "differs"),
        (2**62 + 1, np.full(4, 2**62), {"atol": 0}, "differs"),
        (2**62 + 1, np.full(4, 2**62), {"atol": 1}, "same"),
        (-1, np.full(4, 2**64 - 1, np.uint64), {}, "differs"),
    ],
)
def test_integers_are_compared_exactly(value, reference, tolerance, verdict):
    x = np.zeros(4, np.int64)

    def run():
        STORE[1, 4](x, value)
        return x

    assert prlx.compare(run, prlx.against(reference, **tolerance)).verdict == verdict


def test_a_reference_of_several_arrays():
    x, y = np.zeros((2, 4), np.int64)

    def run():
        STORE[1, 4](x, 1)
        STORE[1, 4](y, 2)
        return {"x": x, "y": y}

    good = prlx.compare(run, prlx.against({"x": [1] * 4, "y": [2] * 4}))
    bad = prlx.compare(run, prlx.against({"x": [1] * 4, "y": [3] * 4}))
    assert (good.verdict, bad.verdict, bad["y"].wrong, bad["x"].wrong) == ("same", "differs", 4, 0)
    with pytest.raises(ValueError, match="the parts"):
        prlx.compare(run, prlx.against({"x": [1] * 4}))


def test_arrays_are_put_back_if_a_side_raises(tmp_path):
    x = np.zeros(4, np.int64)

    def side():
        STORE[1, 4](x, 1)
        raise ZeroDivisionError

    for call in (
        lambda: prlx.compare(side, side),
        lambda: prlx.compare(side, prlx.against(x)),
        lambda: prlx.record_launches(side, tmp_path / "x"),
    ):
        with pytest.raises(ZeroDivisionError):
            call()
        assert not x.any()


def test_trials_of_an_autotuner_do_not_count(data, tmp_path):
    import triton

    out, x = data
    configs = [triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})]

    def tuned():
        kernel = triton.autotune(configs=configs, key=["columns"])(kernels.softmax)
        kernel[(8,)](out, x, 100)
        return out

    assert len(prlx.record_launches(tuned, tmp_path / "x")) == 1
    assert prlx.compare(tuned, prlx.against(expected(x))).verdict == "same"
    assert prlx.compare(tuned, tuned).same


def test_arrays_are_put_back_after_a_wrong_result():
    x = np.zeros(4, np.int64)

    def run():
        STORE[1, 4](x, 1)
        return x

    assert prlx.compare(run, prlx.against(np.full(4, 7))).verdict == "differs" and not x.any()


def test_schedules_of_one_function_are_compared():
    x = np.zeros(1, np.int32)
    report = prlx.compare(lambda: LAST[8, 1](x), seeds=[0, 0, 5])
    assert report.verdict == "differs" and report.names == ["seed 0 launch 0 (last)", "seed 5 launch 0 (last)"]
    assert report.causes[0].class_ == "race" and not x.any()
    assert prlx.compare(lambda: STORE[1, 4](np.zeros(4, np.int64), 1), seeds=range(3)).same
    report = prlx.compare(lambda: FIRST_WAITS[2, 1](np.zeros(2, np.int32)), seeds=range(8), max_steps=10_000)
    assert report.verdict == "differs" and report.causes[0].class_ == "stuck", report
    with pytest.raises(ValueError, match="at least two schedules"):
        prlx.compare(lambda: LAST[8, 1](x), seeds=[1])
    with pytest.raises(TypeError, match="seeds are of one function"):
        prlx.compare(lambda: LAST[8, 1](x), lambda: LAST[8, 1](x), seeds=range(3))


# The CTA that comes first waits if it is not CTA 0.
FIRST_WAITS = prlx.Kernel("""
extern "C" __global__ void first_waits(volatile int *x) {
    if (atomicAdd((int *)x, 1) == 0 && blockIdx.x == 1)
        while (x[1] == 0);
}""")
LAST = prlx.Kernel('extern "C" __global__ void last(int *x) { x[0] = blockIdx.x; }')


def test_findings_have_text_pages_and_pickles(tmp_path):
    import pickle

    x = np.zeros(7, np.int64)
    findings = prlx.check(lambda: STORE[1, 8](x, 1), seeds=range(4))
    assert [(f.kind, f.seeds) for f in findings.errors] == [("out-of-bounds", [0, 1, 2, 3])]
    assert "seen at 4 of 4 seeds: 0, 1, 2, 3" in str(findings)
    assert "out-of-bounds" in str(findings) and findings._repr_html_().startswith("<pre")
    findings.save(tmp_path / "f.html")
    findings.save(tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text())["findings"][0]["kind"] == "out-of-bounds"
    error = pickle.loads(pickle.dumps(prlx.CheckError(findings)))
    assert str(error.findings) == str(findings) and error.findings[0].kind == "out-of-bounds"
    error = pickle.loads(pickle.dumps(prlx.ScheduleError("k", 0, 1, ["x"])))
    assert (error.seeds, error.arrays) == ((0, 1), ["x"])


def test_schedules_that_differ_are_a_finding():
    last = prlx.Kernel('extern "C" __global__ void k(int *x) { x[0] = blockIdx.x; }')
    findings = prlx.check(lambda: last[64, 1](np.zeros(1, np.int32)), seeds=range(8))
    assert "schedule" in [f.kind for f in findings.errors] and "error[schedule]" in str(findings)


def test_a_side_that_faults_is_a_report(data):
    out, x = data

    def run(elements):
        kernels.scale[(1,)](x, out, 2.0, 100, BLOCK=128)
        kernels.add[(1,)](x, x, out, elements, BLOCK=1024)

    # The mask lets the last lanes load behind the end of `x`.
    report = prlx.compare(lambda: run(800), lambda: run(808))
    assert report.verdict == "differs" and report.index == 1
    assert "right past the end of" in str(report) and report.causes[0].class_ == "address"
    assert report.causes[0].places[1].location.line == 11
    # Nothing differs, and what follows the fault is not known.
    with pytest.raises(prlx.KernelFault, match="right past the end of"):
        prlx.compare(lambda: run(808), lambda: run(808))


def test_constants_of_one_source_may_change_decisions(data):
    out, x = data
    lengths = np.arange(30, 102, 10, dtype=np.int32)

    def run(last_first, lengths=lengths):
        kernels.ragged_copy[(8,)](out, x, lengths, 100, REVERSED=last_first, BLOCK=128)

    report = prlx.compare(lambda: run(False), lambda: run(True))
    assert report.same and "two builds of one source: 320 threads take a different branch" in str(report)
    assert prlx.compare(lambda: run(False), lambda: run(True), strict=True).verdict == "differs"
    # Outputs that differ are another matter.
    assert prlx.compare(lambda: run(False), lambda: run(True, lengths[::-1].copy())).verdict == "differs"


@pytest.mark.parametrize("sizes", [(1024, 1001), (1001, 1024), (1008, 1000)])
def test_an_argument_of_two_builds_is_the_cause(sizes, rng):
    # Triton compiles another kernel for a size that 16 divides.
    x = rng.standard_normal((8, 1024)).astype(np.float32)
    out, counts, n = np.zeros_like(x), np.zeros(16, np.int32), rng.integers(0, 16, 1024).astype(np.int32)
    for what, name, run in (
        ("softmax", "columns", lambda size: kernels.softmax[(8,)](out, x, size, BLOCK=1024)),
        ("add", "n", lambda size: kernels.add[(4,)](x, x, out, size, BLOCK=256)),
        ("histogram", "n", lambda size: kernels.histogram[(4,)](n, counts, size, BLOCK=256)),
    ):
        report = prlx.compare(lambda: run(sizes[0]), lambda: run(sizes[1]))
        cause = report.causes[0]
        values = "argument `{}` differs: A {}, B {}".format(name, *sizes)
        assert (cause.class_, cause.what) == ("input", values), f"{what}: {report.summary}"
        line = open(kernels.__file__).read().splitlines()[cause.places[0].location.line - 1]
        assert name in line or "inside" in line, line


def test_different_numbers_of_launches_are_an_error(data):
    out, x = data

    def twice():
        softmax(kernels.softmax, out, x)
        softmax(kernels.softmax, out, x)

    with pytest.raises(prlx.Error, match="A launches 1 kernels .*B launches 2"):
        prlx.compare(lambda: softmax(kernels.softmax, out, x), twice)
    with pytest.raises(prlx.Error, match="launches no kernel"):
        prlx.compare(lambda: None, twice)


def test_launch_files_and_recordings(tmp_path):
    folder = examples()
    report = prlx.compare(folder / "good.toml", folder / "bad.toml")
    assert report.verdict == "differs" and report.causes
    a = prlx.record(str(folder / "good.toml"), tmp_path / "a.prlx")
    prlx.record(str(folder / "bad.toml"), tmp_path / "b.prlx")
    assert a.kernels() and len(a.table("launches")) == 1
    visits = a.visits
    assert visits["warp"].dtype == np.uint64 and len(visits) > 0
    assert next(iter(a.sites.rows()))["class"]
    assert prlx.diff(tmp_path / "a.prlx", tmp_path / "b.prlx").verdict == "differs"
    assert prlx.diff(tmp_path / "a.prlx", tmp_path / "a.prlx").same
    with pytest.raises(prlx.FileError, match="nothing.prlx"):
        prlx.read(tmp_path / "nothing.prlx")


def test_a_table_is_an_arrow_stream(tmp_path):
    import nanoarrow

    recording = prlx.record(str(examples() / "good.toml"), tmp_path / "a.prlx", level="events")
    for name in ("launches", "warps", "sites", "visits"):
        table = recording.table(name)
        rows = nanoarrow.ArrayStream(table).read_all().to_pylist()
        assert len(rows) == len(table) > 0 and rows == list(table.rows())
    types = {f.name: f.type.name for f in nanoarrow.ArrayStream(recording.sites).schema.fields}
    assert (types["class"], types["line"]) == ("LARGE_STRING", "UINT64")
    unused = recording.sites.__arrow_c_stream__()
    del unused  # Releases what nobody took.


def test_data_frames_keep_types(tmp_path):
    recording = prlx.record(str(examples() / "good.toml"), tmp_path / "a.prlx")
    polars = pytest.importorskip("polars")
    frame = recording.visits.to_polars()
    assert frame.schema["mask"] == frame.schema["warp"] == polars.UInt64 and len(frame) == len(recording.visits)
    pytest.importorskip("pandas")
    frame = recording.visits.to_pandas()
    assert (str(frame["mask"].dtype), str(frame["warp"].dtype)) == ("UInt64", "uint64")


def test_progress_in_a_notebook(monkeypatch):
    import sys
    import types

    from prlx import _progress

    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return handle

    shell = types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    folder = examples()
    report = prlx.compare(folder / "good.toml", folder / "bad.toml")
    assert report.verdict == "differs" and len(shown) > 2 and shown[-1] == ""
    line = _progress.callback()
    line("begin", "recording")
    line("note", "something")
    assert shown[-1] == "recording"


def test_checks_of_a_comparison_are_named_as_those_of_the_device(data):
    out, x = data
    sides = [lambda: softmax(kernels.softmax, out, x)] * 2
    for checks in ("race,bounds", ["race", "bounds"], {"all"}, None):
        assert prlx.compare(*sides, check=checks).verdict == "same"
    with pytest.raises(TypeError, match="check: 1 names no checks"):
        prlx.compare(*sides, check=1)


def test_sides_that_cannot_be_compared(data):
    with pytest.raises(TypeError, match="with configs, side A is a function"):
        prlx.compare("a.toml", configs=[{}, {}])
    with pytest.raises(TypeError, match="a reference needs a function"):
        prlx.compare("a.toml", prlx.against(data[0]))
    for sides in ((print, "a.toml"), ("a.toml", print)):
        with pytest.raises(TypeError, match="both sides are functions, or both are files"):
            prlx.compare(*sides)


def test_check_collects_findings():
    x = np.zeros(250, np.float32)
    out = np.zeros(256, np.float32)
    findings = prlx.check(lambda: kernels.softmax[(2,)](out, x, 128, BLOCK=128))
    assert {f.kind for f in findings if f.grade == "error"} == {"out-of-bounds"}


def examples():
    import pathlib

    return pathlib.Path(__file__).parents[3] / "examples" / "threshold"


CROSSED = prlx.Kernel(
    """
extern "C" __global__ void crossed(int *x, int *turn) {
    __shared__ int all[64];
    all[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = all[threadIdx.x ^ 33];
    if (atomicAdd(turn, 1) > 40) all[63 - threadIdx.x] = 2; /* a comment that makes this line much longer than a terminal is wide, to its end */
}
""",
    "crossed",
)


def test_findings_of_several_schedules_are_joined():
    def launches():
        CROSSED[1, 64](np.zeros(64, np.int32), np.zeros(1, np.int32))

    findings = prlx.check(launches, check="race", seeds=range(6))
    races = [f for f in findings if f.kind == "race"]
    places = [sorted(side["place"]["source"][0]["line"] for side in f.data["sides"]) for f in races]
    assert len(places) == len({str(p) for p in places}) > 1, places
    assert any(f.seeds == list(range(6)) for f in races)
    assert len(findings.launches) <= 2, "the races, and that results differ"
    assert str(findings).count("error[race]") == len(races)
    assert all(f.data["seeds"] == f.seeds for f in races)


def test_texts_are_as_long_as_they_are(monkeypatch):
    findings = prlx.check(lambda: CROSSED[1, 64](np.zeros(64, np.int32), np.zeros(1, np.int32)), seeds=range(6))
    assert "to its end */" in str(findings)
    monkeypatch.setenv("COLUMNS", "70")
    on_terminal = findings.launches[0].body(True)
    assert "to its end" not in on_terminal and "\x1b[" in on_terminal
    report = prlx.compare(
        lambda: CROSSED[1, 64](np.zeros(64, np.int32), np.zeros(1, np.int32)),
        lambda: CROSSED[1, 64](np.ones(64, np.int32), np.full(1, 50, np.int32)),
    )
    assert "to its end */" in str(report), str(report)
