"""From launches of two set-ups to a cause, without PyTorch: on the CPU device, and from captured launches."""

import os
import pathlib
import shutil

import numpy as np
import prlx
import pytest
from prlx import _launch_cause

ROOT = pathlib.Path(__file__).parents[3]
SOURCE = """
extern "C" __global__ void scale(float *x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
extern "C" __global__ void shift(float *x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += factor;
}
extern "C" __global__ void shift_twice(float *x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 2 * factor;
}
extern "C" __global__ void crossed(float *x, float factor, int n) {
    __shared__ float all[256];
    all[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = all[threadIdx.x ^ 1] * factor;
}
"""
KERNELS = {name: prlx.Kernel(SOURCE, name) for name in ("scale", "shift", "shift_twice", "crossed")}


def explain(a, b, rtol=1e-6):
    """The cause of the difference of two lists of launches: kernels and factors."""
    windows = []
    for launches in (a, b):
        x = np.arange(256, dtype=np.float32)
        with prlx.cpu():
            KERNELS["scale"][1, 256](x, 1.0, 256)  # Outside of the window.
            window = _launch_cause.window(False, None, lambda: None)
            with window, window:
                for kernel, factor in launches:
                    KERNELS[kernel][1, 256](x, factor, 256)
        windows.append(window)
    return _launch_cause.explain(("good", "bad"), tuple(windows), rtol, 0.0)


def test_the_first_pair_that_differs_has_a_cause():
    found, report = explain([("scale", 2), ("shift", 3), ("scale", 5)], [("scale", 2), ("shift_twice", 3), ("scale", 5)])
    assert [launch.split(" at ")[0] for launch in found.launches.values()] == [
        "launch 1 (shift)",
        "launch 1 (shift_twice)",
    ]
    assert "test_launch_cause.py:" in found.launches["good"]
    assert found.causes[0]["line"] == 12 and found.causes[0]["code"][-1].startswith("if (i < n) x[i] += 2")
    assert report.verdict == "differs"
    text = "\n".join(found.lines())
    assert "launch     A, good: launch 1 (shift)" in text and "cause      operation at" in text, text


def test_launches_agree_within_the_tolerance():
    found, report = explain([("scale", 2)], [("scale", 2.000001)])
    assert report is None and found.notes == ["1 launch of both agree within the tolerance"]


def test_a_launch_without_a_partner_is_checked():
    found, _ = explain([], [("scale", 2), ("crossed", 2)])
    assert found.launches["bad"].startswith("launch 1 (crossed)")
    assert found.causes[0]["class"] == "race" and found.causes[0]["line"] == 17
    found, _ = explain([], [("scale", 2)])
    assert not found.causes and "good has no launch to compare with scale of bad" in found.notes[0]
    assert explain([], [])[0].notes == ["neither side launches a kernel there"]


class Ranges:
    """Stands for NVTX and for the recorder: the program makes launches while the range is open."""

    def __init__(self):
        self.names, self.launches = [], 40

    def range_start(self, name):
        self.names.append(name)
        return len(self.names)

    def range_end(self, number):
        assert number == len(self.names)


@pytest.fixture
def recorder(monkeypatch):
    """A process on a GPU, which `prlx record` may record."""
    ranges = Ranges()
    monkeypatch.setattr(_launch_cause, "launch_count", lambda: ranges.launches)
    return ranges


def test_captured_launches_of_a_gpu(recorder, tmp_path, monkeypatch):
    monkeypatch.setenv("PRLX_SESSION", f'{{"folder": "{tmp_path}", "capture": 1000}}')
    windows = []
    for name in ("good", "bad"):
        window = _launch_cause.window(True, recorder, lambda: None)
        assert window.help is None
        with window:
            capture(tmp_path, recorder.launches, name)
            recorder.launches += 2  # The second one has no PTX.
        windows.append(window)
    found, report = _launch_cause.explain(("eager", "other"), tuple(windows), 1e-6, 0.0)
    assert found.launches == {"eager": "launch 40 (find_beats)", "other": "launch 42 (find_beats)"}
    cause = found.causes[0]
    assert (pathlib.Path(cause["file"]).name, cause["line"]) == ("threshold.cu", 6), found
    assert report.verdict == "differs" and recorder.names == [_launch_cause.RANGE] * 2


def capture(folder, number, name):
    """A captured launch of the example: its memory before and after."""
    to = folder / f"host.{os.getpid()}.launch-{number}"
    to.mkdir()
    example = ROOT / "examples/threshold"
    for file in ("threshold.ptx", "threshold.cu", "signal.npy"):
        shutil.copy(example / file, to)
    (to / "launch.toml").write_text((example / f"{name}.toml").read_text())
    marks, energy = np.zeros(4000, np.int32), np.zeros(512, np.float32)
    with prlx.cpu():  # Stands for the GPU.
        kernel = prlx.Kernel(example / "threshold.ptx", "find_beats")
        kernel[4, 128](np.load(example / "signal.npy"), 4000, {"good": 0.75, "bad": 0.7}[name], marks, energy)
    np.save(to / "marks-after.npy", marks)
    np.save(to / "energy-after.npy", energy)


def test_without_captures_a_command_says_what_to_do(recorder, tmp_path, monkeypatch):
    for session in (None, f'{{"folder": "{tmp_path}", "capture": null}}'):
        if session:
            monkeypatch.setenv("PRLX_SESSION", session)
        windows = [_launch_cause.window(True, recorder, lambda: None) for _ in range(2)]
        found, report = _launch_cause.explain(("a", "b"), tuple(windows), 0.0, 0.0)
        assert report is None
        assert "prlx record -o cause.prlx --capture --range 'prlx cause' -- " in found.notes[0]
    assert _launch_cause.window(False, recorder, lambda: None) is None
