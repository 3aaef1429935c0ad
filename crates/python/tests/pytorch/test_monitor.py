"""`prlx.PrlxTrainingMonitor` on a model, and `prlx.pytorch_trace`."""

import json

import prlx
import pytest
import torch
from models import Net, planted


def train(monitor=None, steps=12, fault=None, model=None):
    """Trains a small model. Returns its losses."""
    torch.manual_seed(1)
    model = Net() if model is None else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    if monitor is not None:
        monitor.watch(model)
    losses = []

    def step():
        batch = torch.randn(4, 7, 32), torch.randint(0, 5, (4,))
        optimizer.zero_grad()
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        return loss

    for i in range(steps):
        if monitor is None:
            step()
            continue
        with monitor.step(i) as context:
            if i == 8 and fault is not None:
                with fault(model):
                    context.report_loss(step())
            else:
                context.report_loss(step())
            context.report_items(28)
    return losses


def test_training_is_the_same_with_the_monitor(tmp_path):
    monitor = prlx.PrlxTrainingMonitor(tmp_path, slow_threshold=1e9)
    assert train(monitor) == train()
    report = monitor.report()
    assert report["steps"] == 12 and report["anomalies"] == [] and report["items_per_second"] > 0
    assert report["grad_norm"] > 0 and report["loss"] > 0
    assert json.loads((tmp_path / "training_report.json").read_text()) == report


def test_the_module_that_first_leaves_a_nan(tmp_path):
    monitor = prlx.PrlxTrainingMonitor(tmp_path, slow_threshold=1e9)
    train(monitor, fault=lambda m: planted(m.blocks[1].act, "forward", lambda x: torch.sqrt(x - 100)))
    first = monitor.anomalies[0]
    assert (first.step, first.type, first.module, first.phase) == (
        8,
        prlx.AnomalyType.NAN,
        "blocks.1.act",
        "forward",
    )
    text = (tmp_path / "step_8" / "report.txt").read_text()
    assert text.startswith("step 8: forward: the output of blocks.1.act has NaN")
    assert (tmp_path / "step_8" / "after_9.json").exists()
    # Steps 9 to 11 go on with NaN weights: they are in the log, without folders.
    assert sorted(p.name for p in tmp_path.glob("step_*")) == ["step_8"]
    assert len((tmp_path / "anomaly_log.jsonl").read_text().splitlines()) == 4


def test_a_value_outside_of_its_history(tmp_path):
    seen = []
    monitor = prlx.PrlxTrainingMonitor(tmp_path, slow_threshold=1e9, on_anomaly=seen.append)
    train(monitor, fault=lambda m: planted(m.blocks[0].down, "forward", lambda x: x[..., :32] * 500))
    value = next(a for a in seen if a.type == prlx.AnomalyType.VALUE)
    assert (value.step, value.module) == (8, "blocks.0.down") and value.value > 10 * value.history[1]


def test_a_nan_of_the_backward_pass(tmp_path):
    def fault(model):
        # The derivative of a square root at zero is infinite, and times zero it is NaN.
        return planted(
            model.blocks[2].act, "forward", lambda x: torch.sqrt(x * 0) + torch.nn.functional.gelu(x)
        )

    monitor = prlx.PrlxTrainingMonitor(tmp_path, slow_threshold=1e9)
    train(monitor, fault=fault)
    assert (monitor.anomalies[0].phase, monitor.anomalies[0].module) == ("backward", "blocks.2.up.bias")


def test_a_compiled_model(tmp_path):
    monitor = prlx.PrlxTrainingMonitor(tmp_path, slow_threshold=1e9)
    train(monitor, steps=3, model=torch.compile(Net()))
    values = json.loads(json.dumps([name for name, _ in monitor.last_step.values.items()]))
    assert values[0] == ["forward", ""] and ["backward", "blocks.0.up.weight"] in values


def test_a_closed_monitor_leaves_no_hooks(tmp_path):
    model = Net()
    monitor = prlx.PrlxTrainingMonitor(tmp_path, model=model)
    monitor.close()
    assert not any(m._forward_hooks for m in model.modules())


def test_a_range_of_a_profile():
    with torch.profiler.profile() as profile, prlx.pytorch_trace("my step") as part:
        torch.ones(3).sum()
    assert part.name == "my step" and "my step" in [e.key for e in profile.key_averages()]


def test_kernels_on_cpu_tensors_in_a_session(tmp_path):
    kernel = prlx.Kernel('extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }', "twice")
    x = torch.ones(4)
    with prlx.session(tmp_path / "run") as part:
        kernel[1, 4](x)
        kernel[1, 4](x)
    assert x.tolist() == [4] * 4 and part.launches == (0, 1)
    assert prlx.diff(tmp_path / "run" / "0.twice.prlx", tmp_path / "run" / "0.twice.prlx").same


@pytest.mark.parametrize("size", [0, 3])
def test_a_monitor_without_a_model(tmp_path, size):
    monitor = prlx.PrlxTrainingMonitor(tmp_path, ring_buffer_size=size, slow_threshold=1e9)
    for i, loss in enumerate([1.0] * 8 + [5.0, float("nan")]):
        with monitor.step() as step:
            step.report_loss(torch.tensor(loss))
            step.report_grad_norm(1.0)
    kinds = [(a.step, a.type.value) for a in monitor.anomalies]
    assert kinds == [(8, "loss_spike"), (9, "nan")]
    kept = json.loads((tmp_path / "step_9" / "report.json").read_text())["steps"]
    assert len(kept) == (size or 10)
