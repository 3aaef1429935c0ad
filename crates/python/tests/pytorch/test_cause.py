"""`prlx.torch.compare_steps` with Triton kernels on the CPU device: from the module to the line."""

import inspect
import json
import os
import pathlib
import subprocess
import sys

import kernels
import prlx
import prlx.torch
import torch

RIGHT = kernels.setup("right")


def line(text):
    lines = inspect.getsource(kernels).splitlines()
    return 1 + next(i for i, found in enumerate(lines) if text in found)


def compare(*setups, **options):
    with prlx.cpu():
        batch = torch.ones(4, 8).cumsum(1)
        return prlx.torch.compare_steps(
            kernels.model(), batch, setups, loss=lambda o: o.square().mean(), **options
        )


def test_the_cause_of_a_wrong_forward_pass(tmp_path):
    found = compare(RIGHT, kernels.setup("wrong", missing=1))
    first = found.first
    assert (first.phase, first.module) == ("forward", "1")
    assert [launch.split(" at ")[0] for launch in first.cause.launches.values()] == ["launch 0 (gelu_rows)"] * 2
    cause = first.cause.causes[0]
    assert (pathlib.Path(cause["file"]).name, cause["line"]) == ("kernels.py", line("inside = at < last"))
    assert "argument `last` differs: A 40, B 39" in cause["what"]
    assert first.report.verdict == "differs" and first.report.causes
    assert f"cause      input at {prlx._findings.Place(cause['file'], cause['line'])}" in str(found)
    found.save(tmp_path / "steps.json")
    saved = json.loads((tmp_path / "steps.json").read_text())
    assert saved["comparisons"][0]["first"]["cause"]["causes"] == [cause]


def test_the_cause_of_a_wrong_backward_pass():
    first = compare(RIGHT, kernels.setup("wrong", backward=kernels.double_shifted_rows)).first
    assert (first.phase, first.module) == ("backward", "1")
    assert [launch.split(" at ")[0] for launch in first.cause.launches.values()] == [
        "launch 0 (double_rows)",
        "launch 0 (double_shifted_rows)",
    ]
    assert first.cause.causes[0]["line"] == line("v += 0.125")


def test_operations_of_pytorch_are_no_launches():
    first = compare(kernels.setup("eager", eager=True), kernels.setup("wrong", missing=1)).first
    assert "eager has no launch to compare with gelu_rows, double_rows of wrong" in first.cause.notes[0]
    assert first.report is None


def test_equal_setups_need_no_cause_and_no_device_no_kernels():
    assert compare(RIGHT, RIGHT).first is None
    assert compare(RIGHT, kernels.setup("wrong", missing=1), explain=False).first.cause is None
    model = torch.nn.Linear(4, 4)
    found = prlx.torch.compare_steps(model, torch.ones(2, 4), ["eager", lambda m, x: m(x) + 1])
    assert found.first.cause is None


def test_a_script_needs_no_change(tmp_path):
    script = tmp_path / "compare.py"
    script.write_text(
        "import kernels, prlx.torch, torch\n"
        "setups = [kernels.setup('right'), kernels.setup('wrong', missing=1)]\n"
        "print(prlx.torch.compare_steps(kernels.model(), torch.ones(4, 8), setups))\n"
    )
    path = os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    words = [sys.executable, "-m", "prlx", "run", str(script)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "cause      input at" in done.stdout and "inside = at < last" in done.stdout
