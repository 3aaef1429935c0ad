"""Recordings of PRLX 0.x, with the names that PRLX 0.5 had."""

import struct

import prlx
import pytest
from test_compare import examples


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """The threshold example, good and bad, as recordings of PRLX 0.x."""
    folder = tmp_path_factory.mktemp("old")
    files = []
    for name in ("good", "bad"):
        prlx.record(str(examples() / f"{name}.toml"), folder / f"{name}.new", level="events")
        files.append(prlx.convert(folder / f"{name}.new", folder / f"{name}.prlx", to="plain"))
    return files


def test_a_recording_is_read(old, capsys):
    trace = prlx.read_trace(old[0])
    assert trace.header.kernel_name.startswith("find_beats") or "find_beats" in trace.header.kernel_name
    assert trace.header.grid_dim == (4, 1, 1) and trace.header.threads_per_block == 128
    assert trace.num_warps == 16 and trace.total_events > 0 and trace.total_overflows == 0
    branch = trace.branches()[0][1]
    assert branch.is_branch and branch.event_type_name == "Branch" and branch.active_thread_count <= 32
    prlx.display_trace_summary(trace)
    assert "16 warps" in capsys.readouterr().out


def test_two_recordings_differ_where_the_report_says(old):
    a, b = map(prlx.read_trace, old)
    warps = a.divergent_warps(b)
    assert warps and a.compare_warps(b, warps[0]) is not None
    report = prlx.diff_traces(*old)
    assert report["status"] == "diverged"
    assert prlx.diff_traces(old[0], old[0])["status"] == "identical"


def test_damaged_files_are_refused(old, tmp_path):
    whole = open(old[0], "rb").read()
    bad = tmp_path / "bad.prlx"
    for data, why in [
        (whole[:100], "less than a header"),
        (b"x" * 200, "no recording of PRLX 0.x"),
        (whole[:8] + struct.pack("<I", 2) + whole[12:], "version 2"),
        (whole[:12] + struct.pack("<I", 1) + whole[16:], "compact"),
    ]:
        bad.write_bytes(data)
        with pytest.raises(ValueError, match=why):
            prlx.read_trace(bad)
    bad.write_bytes(whole[:300])
    with pytest.raises(ValueError, match="the file ends at byte 300"):
        prlx.read_trace(bad).total_events
