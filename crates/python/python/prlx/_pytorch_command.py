"""`prlx pytorch watch`, `diff-steps` and `report`: the training monitor for a script, and what it wrote.

`watch` runs a script and watches the module that is called first with gradients, until the process ends. A
step ends with `step()` of an optimizer. A result with one element of an outermost module call counts as the
loss.

Limitations: losses from functions, as `torch.nn.functional.cross_entropy`, are not seen.
"""

from __future__ import annotations

import argparse
import glob
import json
import math
import os
import runpy
import sys
from typing import TYPE_CHECKING, Any, TextIO

from ._monitor import PrlxTrainingMonitor, StepContext
from ._native import FileError

if TYPE_CHECKING:
    from ._monitor import TrainingReport


def main(words: list[str]) -> int:
    """`prlx pytorch …`. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="prlx pytorch", epilog="To record a script: prlx record -- python train.py (prlx pytorch run in PRLX 0.5)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    watch = commands.add_parser("watch", help="run a script with the training monitor")
    watch.add_argument("--output-dir", default="prlx-monitor", metavar="DIR", help="folder of the reports")
    watch.add_argument("--threshold", type=float, default=2.0, metavar="X", help="loss spike: times the mean")
    watch.add_argument(
        "--grad-threshold", type=float, default=100.0, metavar="X", help="largest gradient norm"
    )
    watch.add_argument("--window", type=int, default=50, metavar="N", help="steps of history")
    watch.add_argument("script")
    watch.add_argument("arguments", nargs=argparse.REMAINDER)
    steps = commands.add_parser("diff-steps", help="compare two steps that the monitor kept")
    steps.add_argument("dir")
    steps.add_argument("--step-a", type=int, required=True, metavar="N")
    steps.add_argument("--step-b", type=int, required=True, metavar="N")
    report = commands.add_parser("report", help="show what the monitor found")
    report.add_argument("dir")
    report.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    try:
        return {"watch": _watch, "diff-steps": _diff_steps, "report": _report}[options.command](options)
    except (FileError, ValueError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2


def _watch(options: argparse.Namespace) -> int:
    monitor = PrlxTrainingMonitor(
        options.output_dir,
        loss_threshold=options.threshold,
        grad_norm_threshold=options.grad_threshold,
        window_size=options.window,
    )
    if not os.path.exists(options.script):
        raise FileError(f"there is no script {options.script}")
    watcher = _Watcher(monitor)
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
    try:
        runpy.run_path(options.script, run_name="__main__")
    finally:
        watcher.close()
        _show(monitor.report(), sys.stderr)
    return 0


class _Watcher:
    """Finds model, loss and steps of a script by hooks of all modules and optimizers."""

    def __init__(self, monitor: PrlxTrainingMonitor) -> None:
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self._torch, self._monitor = torch, monitor
        self._step: StepContext | None = None
        self._model: Any = None
        self._depth = 0
        modules = torch.nn.modules.module
        self._handles = [
            modules.register_module_forward_pre_hook(self._before),
            modules.register_module_forward_hook(self._after, always_call=True),
            register_optimizer_step_post_hook(self._stepped),
        ]

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._monitor.close()

    def _before(self, module: Any, args: object) -> None:
        if self._torch.compiler.is_compiling():
            return
        outermost, self._depth = self._depth == 0, self._depth + 1
        if not outermost or not self._torch.is_grad_enabled():
            return
        if self._model is None and any(p.requires_grad for p in module.parameters()):
            self._model = module
            self._monitor.watch(module)
        if self._step is None and module is self._model:
            self._step = self._monitor.step()
            self._step.__enter__()

    def _after(self, module: object, args: object, output: object) -> None:
        if self._torch.compiler.is_compiling():
            return
        self._depth = max(self._depth - 1, 0)
        if self._depth == 0 and self._step is not None:
            loss = getattr(output, "loss", output)
            if isinstance(loss, self._torch.Tensor) and loss.numel() == 1 and loss.requires_grad:
                self._step.report_loss(loss)

    def _stepped(self, optimizer: object, args: object, kwargs: object) -> None:
        if self._step is not None:
            step, self._step = self._step, None
            step.__exit__(None, None, None)


def _kept(folder: str) -> dict[int, Any]:
    """The steps that reports in a folder have, by number."""
    steps = {}
    for file in glob.glob(os.path.join(glob.escape(folder), "step_*", "*.json")):
        with open(file, encoding="utf-8") as f:
            data = json.load(f)
        for step in data.get("steps", [data]):
            steps[step["step"]] = step
    if not steps:
        raise FileError(f"{folder} has no report of the training monitor (step_N/report.json)")
    return steps


def _diff_steps(options: argparse.Namespace) -> int:
    """Prints what differs most between two steps, in the order of the step."""
    steps = _kept(options.dir)
    for number in (options.step_a, options.step_b):
        if number not in steps:
            raise ValueError(
                f"step {number} was not kept: {options.dir} has {', '.join(map(str, sorted(steps)))}"
            )
    a, b = steps[options.step_a], steps[options.step_b]
    print(f"loss       {a['loss']} in step {a['step']}, {b['loss']} in step {b['step']}")
    print(f"grad norm  {a['grad_norm']} and {b['grad_norm']}")
    others = {(v["phase"], v["name"]): float(v["largest"]) for v in b["values"]}
    rows = []
    for v in a["values"]:
        x, y = float(v["largest"]), others.get((v["phase"], v["name"]))
        if y is not None:
            rows.append((_times(x, y), f"{v['phase']:<8}  {x:<10.4g} {y:<10.4g} {v['name'] or 'the model'}"))
    most = sorted((times for times, _ in rows), reverse=True)[:10]
    print("largest magnitudes that differ most, in the order of the step:")
    for times, text in rows:
        if most and times >= most[-1]:
            print(f"  {text}")
    return 1 if any(times > 10 for times, _ in rows) else 0


def _times(x: float, y: float) -> float:
    """How many times one magnitude is the other; infinite if only one is finite."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return 1.0 if math.isfinite(x) == math.isfinite(y) else math.inf
    low, high = sorted((x, y))
    return 1.0 if high == low else high / low if low else math.inf


def _report(options: argparse.Namespace) -> int:
    try:
        with open(os.path.join(options.dir, "training_report.json"), encoding="utf-8") as file:
            data = json.load(file)
    except OSError as e:
        raise FileError(f"{options.dir} has no training_report.json: {e.strerror}") from None
    if options.json:
        print(json.dumps(data, indent=1))
    else:
        _show(data, sys.stdout)
    return 1 if data["anomalies"] else 0


def _show(data: TrainingReport, file: TextIO) -> None:
    speeds = ((data["steps_per_second"], "steps"), (data["items_per_second"], "items"))
    rates = [f"{speed:.4g} {name} a second" for speed, name in speeds if speed]
    loss = "" if data["loss"] is None else f", last loss {data['loss']}"
    print(f"{data['steps']} steps{''.join(f', {r}' for r in rates)}{loss}", file=file)
    for record in data["anomalies"]:
        print(f"step {record['step']}: {record['message']}", file=file)
    if not data["anomalies"]:
        print("no anomaly", file=file)
