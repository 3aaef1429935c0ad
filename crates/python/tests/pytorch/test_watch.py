"""`prlx pytorch watch`, `diff-steps` and `report`."""

import json
import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
import sys
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for i in range(12):
    x, y = torch.randn(4, 8), torch.randint(0, 3, (4,))
    if i == int(sys.argv[1]):
        x[0, 0] = float("inf")
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


def run(*words):
    return subprocess.run([sys.executable, "-m", "prlx", "pytorch", *words], capture_output=True, text=True)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched")
    script = folder / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = run("watch", "--output-dir", str(folder / "m"), "--grad-threshold", "1e9", str(script), "9")
    plain = subprocess.run([sys.executable, str(script), "9"], capture_output=True, text=True)
    assert done.stdout == plain.stdout and done.returncode == 0, done.stderr
    return folder / "m", done.stderr


def test_a_script_is_watched(watched):
    folder, text = watched
    assert "step 9: forward: the output of 0 has NaN or infinite values first" in text
    report = json.loads((folder / "training_report.json").read_text())
    assert report["steps"] == 12 and report["loss"] == "nan"


def test_the_report(watched):
    folder, _ = watched
    done = run("report", str(folder))
    assert done.returncode == 1 and done.stdout.startswith("12 steps") and "step 9: " in done.stdout
    assert json.loads(run("report", "--json", str(folder)).stdout)["steps"] == 12
    assert "has no training_report.json" in run("report", str(folder / "nothing")).stderr


def test_two_steps(watched):
    folder, _ = watched
    done = run("diff-steps", str(folder), "--step-a", "3", "--step-b", "10")
    assert done.returncode == 1 and "loss" in done.stdout and "nan" in done.stdout
    assert run("diff-steps", str(folder), "--step-a", "3", "--step-b", "3").returncode == 0
    assert "step 99 was not kept" in run("diff-steps", str(folder), "--step-a", "99", "--step-b", "3").stderr
