"""Names of PRLX 0.5 beside those of recordings: the monitor, sessions, pictures."""

import os
import subprocess
import sys
import xml.dom.minidom

import numpy as np
import prlx
import pytest
from test_v1 import old  # noqa: F401, a fixture

TWICE = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


def test_enable_says_what_to_use():
    for name in ("enable", "enable_pytorch", "integrate_with_triton"):
        with pytest.raises(prlx.UnsupportedError, match=f"(?s){name}: .*prlx record -o run -- python"):
            getattr(prlx, name)()
        with prlx.cpu():
            getattr(prlx, name)()


def test_enable_in_a_recorded_program(tmp_path):
    code = "import prlx; prlx.enable(); prlx.enable_pytorch()\nwith prlx.session('s') as s: pass\nprint(s)"
    command = os.path.join(os.path.dirname(sys.executable), "prlx")
    words = [command, "record", "-o", str(tmp_path / "r"), "--", sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "Range(name='s', launches=None)\n", done.stderr
    assert not (tmp_path / "s").exists()


def test_a_session_has_a_file_for_each_launch(tmp_path):
    x = np.ones(4, np.float32)
    kernel = prlx.Kernel(TWICE, "twice")
    with prlx.session(tmp_path / "a") as part:
        kernel[1, 4](x)
        kernel[1, 4](x)
    assert part.launches == (0, 1) and x[0] == 4
    assert sorted(os.listdir(tmp_path / "a")) == ["0.twice.prlx", "1.twice.prlx"]
    x[:] = 1
    with prlx.session(tmp_path / "b"):
        kernel[1, 4](x)
        kernel[1, 2](x)
    report = prlx.diff(tmp_path / "a", tmp_path / "b")
    assert report.verdict == "differs" and "of 1.twice.prlx" in str(report)
    with pytest.raises(prlx.FileError, match="not empty"):
        with prlx.session(tmp_path / "a"):
            pass


def test_a_named_part_without_pytorch():
    with prlx.pytorch_trace("step") as part:
        pass
    assert part.name == "step" and part.launches is None


def test_the_monitor_without_pytorch(tmp_path, monkeypatch):
    monkeypatch.setenv("PRLX_TRACE_DIR", str(tmp_path))
    monkeypatch.setenv("PRLX_LOSS_THRESHOLD", "3")
    monitor = prlx.PrlxTrainingMonitor.from_env(slow_threshold=1e9)
    for loss in [1.0] * 6 + [2.9, 4.5]:
        with monitor.step() as step:
            step.report_loss(loss)
            step.report_grad_norm(5)
    assert [(a.step, a.type) for a in monitor.anomalies] == [(7, prlx.AnomalyType.LOSS_SPIKE)]
    assert "the loss is 4.5" in (tmp_path / "step_7" / "report.txt").read_text()
    monkeypatch.setenv("PRLX_WINDOW_SIZE", "many")
    with pytest.raises(ValueError, match="PRLX_WINDOW_SIZE: 'many' is no number"):
        prlx.PrlxTrainingMonitor.from_env()


def test_pictures(old, tmp_path):  # noqa: F811
    picture = prlx.plot_warp_timeline(old[0], save_path=tmp_path / "warps.svg")
    assert "warp 15" in picture.svg and "Branch" in picture.svg
    heatmap = prlx.plot_divergence_heatmap(*old)
    assert "differs from event" in heatmap.svg and "of 16 warps differ" in heatmap.svg
    for svg in ((tmp_path / "warps.svg").read_text(), heatmap._repr_svg_()):
        xml.dom.minidom.parseString(svg)
