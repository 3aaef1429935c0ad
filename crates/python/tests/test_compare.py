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


def test_check_collects_findings():
    x = np.zeros(250, np.float32)
    out = np.zeros(256, np.float32)
    findings = prlx.check(lambda: kernels.softmax[(2,)](out, x, 128, BLOCK=128))
    assert {f.kind for f in findings if f.grade == "error"} == {"out-of-bounds"}


def examples():
    import pathlib

    return pathlib.Path(__file__).parents[3] / "examples" / "threshold"
