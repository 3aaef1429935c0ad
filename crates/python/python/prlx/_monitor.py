"""The training monitor: watches loss, gradient norm, throughput and the outputs of modules, and names the
first module whose numbers left their history.

Every step keeps one number for each module's output and each parameter's gradient: the largest magnitude, NaN
if one element is NaN. They stay on the device until the step ends; then one transfer brings them to the host.

Invariants: training computes the same numbers with and without the monitor, and draws the same random
numbers. The monitor raises nothing because of what it sees.

Limitations: of a compiled module, only its output and the gradients of its parameters are seen. Each observed
tensor costs one reduction, and each step waits for the device once. Gradients that overflow because a
`torch.amp.GradScaler` tries a larger scale count as anomalies.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from ._launches import launch_count, launch_range
from ._tensors import leaves

if TYPE_CHECKING:
    import torch
    from typing_extensions import Self, Unpack

    from ._launches import _LaunchRange
    from .typing import Json, Path, Tensor

    # A value outside of its history: its phase and name, itself, and the history.
    _Wrong = tuple[tuple[str, str], float, list[float]]

# Steps of history before values can be outside of it.
_MIN_HISTORY = 5


class AnomalyType(str, Enum):
    """What was wrong in a step."""

    NAN = "nan"
    LOSS_SPIKE = "loss_spike"
    GRAD_NORM = "grad_norm"
    VALUE = "value"
    SLOW = "slow"


@dataclass
class AnomalyRecord:
    """An anomaly: the step, what it was, and where it began."""

    step: int
    type: AnomalyType
    message: str
    # The first module or parameter with a wrong value, `None` if only the loss or the time is wrong.
    module: str | None = None
    # `forward` or `backward`.
    phase: str | None = None
    value: float | None = None
    # Smallest and largest value of earlier steps.
    history: tuple[float, float] | None = None
    # First and last launch in `prlx record`: of the module, or else of the step.
    launches: _LaunchRange | None = None


@dataclass
class MonitoredStep:
    """What one step left."""

    number: int
    seconds: float
    loss: float | None
    grad_norm: float | None
    items: float | None
    # By module (`forward`) and parameter (`backward`), in the order of execution: the largest magnitude.
    values: dict[tuple[str, str], float]
    # Launches of the step, and the number of launches when each value was seen.
    launches: _LaunchRange | None = None
    counts: dict[tuple[str, str], int | None] = field(default_factory=dict)
    anomalies: list[AnomalyRecord] = field(default_factory=list)


class MonitorOptions(TypedDict, total=False):
    """Options of :class:`PrlxTrainingMonitor`."""

    output_dir: Path
    loss_threshold: float
    nan_detection: bool
    grad_norm_threshold: float
    window_size: int
    capture_steps_after: int
    ring_buffer_size: int
    max_captures: int
    model: torch.nn.Module | None
    value_threshold: float
    slow_threshold: float
    on_anomaly: Callable[[AnomalyRecord], object] | None


class TrainingReport(TypedDict):
    """The content of `training_report.json`. Numbers that JSON lacks (NaN, infinities) are texts."""

    steps: int
    steps_per_second: float | None
    items_per_second: float | None
    loss: float | str | None
    grad_norm: float | str | None
    anomalies: list[dict[str, Any]]


class StepContext:
    """The step that runs; :meth:`PrlxTrainingMonitor.step` makes it."""

    def __init__(self, monitor: PrlxTrainingMonitor, number: int) -> None:
        self._monitor = monitor
        self.number = number
        self._loss: Any = None
        self._grad_norm: Any = None
        self._items: float | None = None

    def report_loss(self, loss: float | Tensor) -> None:
        """The step's loss: a number, or a tensor with one element, which is read when the step ends."""
        self._loss = _detached(loss)

    def report_grad_norm(self, norm: float | Tensor) -> None:
        """The norm of all gradients, as `torch.nn.utils.clip_grad_norm_` returns it. Without it, the monitor
        computes the norm of the gradients that the watched model has when the step ends."""
        self._grad_norm = _detached(norm)

    def report_items(self, count: float) -> None:
        """How many samples or tokens the step processed; the report then has a throughput."""
        self._items = float(count)

    def __enter__(self) -> Self:
        self._monitor._begin()
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        self._monitor._end(self, failed is not None)


class PrlxTrainingMonitor:
    """Watches a training loop.

        monitor = prlx.PrlxTrainingMonitor("monitor", model=model)
        for i, batch in enumerate(batches):
            with monitor.step(i) as step:
                loss = model(batch)
                step.report_loss(loss)
                loss.backward()
                optimizer.step()
        print(monitor.report())

    output_dir: gets `anomaly_log.jsonl`, and a folder `step_N` with `report.json` and `report.txt` for each
        anomaly. `report()` writes `training_report.json`.
    model: a `torch.nn.Module` whose modules and gradients are watched, if there is one.
    loss_threshold: a loss above this multiple of the mean of its history is an anomaly.
    nan_detection: NaN and infinities where earlier steps had none are anomalies.
    grad_norm_threshold: a norm of all gradients above this number is an anomaly.
    value_threshold: a module's output above this multiple of its largest earlier value is an anomaly.
    slow_threshold: a step that takes longer than this multiple of the median is an anomaly.
    window_size: number of steps in the history.
    capture_steps_after: number of steps after an anomaly whose values are written as well.
    ring_buffer_size: number of steps whose values a report has; 0: as many as the history.
    max_captures: number of anomalies that get a folder.
    on_anomaly: a function that is called with each :class:`AnomalyRecord`.
    """

    def __init__(
        self,
        output_dir: Path = "prlx-monitor",
        loss_threshold: float = 2.0,
        nan_detection: bool = True,
        grad_norm_threshold: float = 100.0,
        window_size: int = 50,
        capture_steps_after: int = 3,
        ring_buffer_size: int = 0,
        max_captures: int = 10,
        *,
        model: torch.nn.Module | None = None,
        value_threshold: float = 10.0,
        slow_threshold: float = 10.0,
        on_anomaly: Callable[[AnomalyRecord], object] | None = None,
    ) -> None:
        if window_size < _MIN_HISTORY:
            raise ValueError(f"window_size: {window_size} steps are too few; use at least {_MIN_HISTORY}")
        self.output_dir = os.fspath(output_dir)
        self.loss_threshold, self.grad_norm_threshold = loss_threshold, grad_norm_threshold
        self.value_threshold, self.slow_threshold = value_threshold, slow_threshold
        self.nan_detection, self.capture_steps_after = nan_detection, capture_steps_after
        self.max_captures, self.on_anomaly = max_captures, on_anomaly
        self.anomalies: list[AnomalyRecord] = []
        self._history: deque[MonitoredStep] = deque(maxlen=window_size)
        self._kept = ring_buffer_size or window_size
        self._steps = 0
        self._seconds = self._items = 0.0
        self._captures = 0
        # Kinds of anomalies of the last step.
        self._kinds: set[AnomalyType] = set()
        # A folder that still gets values of later steps, and of how many.
        self._after: tuple[str, int] | None = None
        self._names: list[tuple[str, str]] = []
        self._values: list[Any] = []
        self._counts: list[int | None] = []
        self._watching = False
        self._handles: list[Any] = []
        self._model: Any = None
        self._torch: Any = None
        # Names of parameters in the order of a backward pass, if compiled code hides that order.
        self._order: dict[tuple[str, str], int] | None = None
        if model is not None:
            self.watch(model)

    @classmethod
    def from_env(cls, **options: Unpack[MonitorOptions]) -> Self:
        """A monitor with options of the environment: `PRLX_TRACE_DIR`, `PRLX_LOSS_THRESHOLD`,
        `PRLX_GRAD_NORM_THRESHOLD`, `PRLX_WINDOW_SIZE`, `PRLX_CAPTURE_STEPS_AFTER`."""
        names: dict[str, tuple[str, Callable[[str], Any]]] = {
            "output_dir": ("PRLX_TRACE_DIR", str),
            "loss_threshold": ("PRLX_LOSS_THRESHOLD", float),
            "grad_norm_threshold": ("PRLX_GRAD_NORM_THRESHOLD", float),
            "window_size": ("PRLX_WINDOW_SIZE", int),
            "capture_steps_after": ("PRLX_CAPTURE_STEPS_AFTER", int),
        }
        found: dict[str, Any] = {}
        for option, (name, convert) in names.items():
            if name in os.environ:
                try:
                    found[option] = convert(os.environ[name])
                except ValueError:
                    raise ValueError(f"{name}: {os.environ[name]!r} is no number") from None
        return cls(**{**found, **options})

    def watch(self, model: torch.nn.Module) -> None:
        """Watches the modules and gradients of a model."""
        import torch

        self._torch = torch
        compiled = model if hasattr(model, "_orig_mod") else None
        self._model = model = getattr(model, "_orig_mod", model)
        if compiled is not None:
            self._handles.append(compiled.register_forward_hook(partial(self._output, "")))
            names = reversed([name for name, _ in model.named_parameters()])
            self._order = {("backward", name): i for i, name in enumerate(names)}
        for path, module in model.named_modules():
            self._handles.append(module.register_forward_hook(partial(self._output, path)))
        for name, p in model.named_parameters():
            if p.requires_grad:
                self._handles.append(p.register_post_accumulate_grad_hook(partial(self._gradient, name)))

    @property
    def last_step(self) -> MonitoredStep | None:
        """The last step: ``number``, ``seconds``, ``loss``, ``grad_norm``, ``values`` (the largest magnitudes
        by phase and name) and ``anomalies``; `None` before the first."""
        return self._history[-1] if self._history else None

    def close(self) -> None:
        """Removes all hooks from the model."""
        while self._handles:
            self._handles.pop().remove()

    def step(self, number: int | None = None) -> StepContext:
        """A context for one step; without a number, steps are counted from 0."""
        return StepContext(self, self._steps if number is None else number)

    def _output(self, path: str, module: torch.nn.Module, args: object, output: object) -> None:
        if self._torch.compiler.is_compiling() or not self._watching:
            return
        for i, tensor in enumerate(leaves(output)):
            self._observe(("forward", f"{path}[{i}]" if i else path), tensor)

    def _gradient(self, name: str, parameter: torch.Tensor) -> None:
        if self._watching:
            self._observe(("backward", name), parameter.grad)

    def _observe(self, name: tuple[str, str], tensor: Any) -> None:
        if tensor is None or tensor.numel() == 0 or not (tensor.is_floating_point() or tensor.is_complex()):
            return
        if tensor.is_sparse or tensor.is_nested or tensor.element_size() == 1:
            return
        self._counts.append(launch_count())
        with self._torch.no_grad():
            self._values.append(self._torch.linalg.vector_norm(tensor.detach(), math.inf).float())
        self._names.append(name)

    def _begin(self) -> None:
        self._names, self._values, self._counts = [], [], []
        self._watching = True
        self._launch = launch_count()
        self._began = time.perf_counter()

    def _end(self, context: StepContext, failed: bool) -> None:
        self._watching = False
        if failed:
            return
        norm = context._grad_norm if context._grad_norm is not None else self._norm()
        loss, norm, *values = _numbers([context._loss, norm, *self._values])
        named: dict[tuple[str, str], float] = {}
        counts: dict[tuple[str, str], int | None] = {}
        for name, value, count in zip(self._names, values, self._counts):
            # A module that is called many times, or a parameter of several passes, has the worst of its
            # values.
            if name not in named or value > named[name] or math.isnan(value):
                named[name], counts[name] = value, count
        if (order := self._order) is not None:
            named = dict(sorted(named.items(), key=lambda item: order.get(item[0], -1)))
        step = MonitoredStep(
            context.number,
            time.perf_counter() - self._began,
            loss,
            norm,
            context._items,
            named,
            launch_range(self._launch),
            counts,
        )
        self._names, self._values, self._counts = [], [], []
        self._judge(step)
        self._steps += 1
        self._seconds += step.seconds
        self._items += step.items or 0
        self._history.append(step)
        self._write(step)

    def _norm(self) -> Any:
        torch = self._torch
        gradients = [p.grad for p in self._model.parameters() if p.grad is not None] if self._model else []
        gradients = [g for g in gradients if not g.is_sparse]
        if not gradients:
            return None
        with torch.no_grad():
            norms = torch._foreach_norm(gradients)
            return torch.linalg.vector_norm(torch.stack([n.float().to(norms[0].device) for n in norms]))

    def _judge(self, step: MonitoredStep) -> None:
        """Finds the anomalies of a step."""
        # Values of steps with an anomaly are no measure.
        good = [s for s in self._history if not s.anomalies]
        first = self._first_wrong(step, good)
        losses = [s.loss for s in good if s.loss is not None]
        norms = [s.grad_norm for s in good if s.grad_norm is not None]
        if self.nan_detection:
            if first is not None and not math.isfinite(first[1]):
                self._found(step, AnomalyType.NAN, *self._at(first, "has NaN or infinite values"))
            elif step.loss is not None and not math.isfinite(step.loss):
                self._found(step, AnomalyType.NAN, f"the loss is {step.loss}; all watched values are finite")
            elif step.grad_norm is not None and not math.isfinite(step.grad_norm):
                self._found(step, AnomalyType.NAN, f"the gradient norm is {step.grad_norm}")
        enough = len(losses) >= _MIN_HISTORY
        if enough and step.loss is not None and step.loss > self.loss_threshold * abs(_mean(losses)):
            what = f"the loss is {step.loss:.4g}, its mean over {len(losses)} steps {_mean(losses):.4g}"
            self._found(step, AnomalyType.LOSS_SPIKE, what, history=_range(losses), value=step.loss)
        if step.grad_norm is not None and step.grad_norm > self.grad_norm_threshold:
            what = f"the gradient norm is {step.grad_norm:.4g}, above {self.grad_norm_threshold:g}"
            self._found(step, AnomalyType.GRAD_NORM, what, history=_range(norms), value=step.grad_norm)
        if first is not None and math.isfinite(first[1]):
            self._found(step, AnomalyType.VALUE, *self._at(first, f"has values up to {first[1]:.4g}"))
        times = sorted(s.seconds for s in good)
        if len(times) >= _MIN_HISTORY and step.seconds > self.slow_threshold * times[len(times) // 2]:
            what = f"the step took {step.seconds:.3g} s, the median is {times[len(times) // 2]:.3g} s"
            self._found(step, AnomalyType.SLOW, what, value=step.seconds)

    def _first_wrong(self, step: MonitoredStep, good: list[MonitoredStep]) -> _Wrong | None:
        """The first observation that is not finite, else the first one outside of its history: its name, its
        value, and its history."""
        outside = None
        for name, value in step.values.items():
            before = [s.values[name] for s in good if name in s.values]
            if not math.isfinite(value) and all(map(math.isfinite, before)):
                return name, value, before
            if outside is None and len(before) >= _MIN_HISTORY and value > self.value_threshold * max(before):
                outside = name, value, before
        return outside

    def _at(self, first: _Wrong, what: str) -> tuple[str, str, str, float, tuple[float, float] | None]:
        (phase, name), value, before = first
        shown = name or "the model"
        place = f"the output of {shown}" if phase == "forward" else f"the gradient of {shown}"
        seen = f"; in {len(before)} earlier steps at most {max(before):.4g}" if before else ""
        return f"{phase}: {place} {what} first{seen}", name, phase, value, _range(before)

    def _found(
        self,
        step: MonitoredStep,
        kind: AnomalyType,
        message: str,
        module: str | None = None,
        phase: str | None = None,
        value: float | None = None,
        history: tuple[float, float] | None = None,
    ) -> None:
        launches = step.launches
        end = step.counts.get((phase, module)) if phase is not None and module is not None else None
        if end is not None and launches is not None:
            before = [n for n in step.counts.values() if n is not None and n < end]
            launches = (max(before, default=launches[0]), end - 1)
        record = AnomalyRecord(step.number, kind, message, module, phase, value, history, launches)
        step.anomalies.append(record)
        self.anomalies.append(record)
        if self.on_anomaly is not None:
            self.on_anomaly(record)

    def _write(self, step: MonitoredStep) -> None:
        if step.anomalies:
            os.makedirs(self.output_dir, exist_ok=True)
            with open(os.path.join(self.output_dir, "anomaly_log.jsonl"), "a", encoding="utf-8") as log:
                for record in step.anomalies:
                    log.write(json.dumps(_record(record)) + "\n")
        kinds = {record.type for record in step.anomalies}
        # What goes on from the step before gets no folder of its own.
        new, self._kinds = kinds - self._kinds, kinds
        if not new or self._captures >= self.max_captures:
            if self._after is not None:
                folder, left = self._after
                _write_json(os.path.join(folder, f"after_{step.number}.json"), _plain(step))
                self._after = (folder, left - 1) if left > 1 else None
            return
        self._captures += 1
        folder = os.path.join(self.output_dir, f"step_{step.number}")
        os.makedirs(folder, exist_ok=True)
        kept = list(self._history)[-self._kept :]
        _write_json(os.path.join(folder, "report.json"), {"steps": [_plain(s) for s in kept]})
        text = self._text(step)
        with open(os.path.join(folder, "report.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"prlx: {text.splitlines()[0]}\nprlx: the report is in {folder}", file=sys.stderr)
        self._after = (folder, self.capture_steps_after) if self.capture_steps_after else None

    def _text(self, step: MonitoredStep) -> str:
        lines = [f"step {step.number}: {record.message}" for record in step.anomalies]
        if (launches := step.anomalies[0].launches) is not None:
            first, last = launches
            lines.append(f"launches {first} to {last} of this process")
            lines.append(f"next: prlx record --capture --launch {first}-{last} -- PROGRAM")
        lines.append("")
        lines.append("largest magnitude, in the order of the step; earlier steps: largest and smallest")
        good = [s for s in self._history if not s.anomalies]
        for (phase, name), value in step.values.items():
            before = [s.values[phase, name] for s in good if (phase, name) in s.values]
            seen = f"  [{min(before):.4g}, {max(before):.4g}]" if before else ""
            lines.append(f"  {phase:<8}  {value:<10.4g} {name or 'the model'}{seen}")
        return "\n".join(lines) + "\n"

    def report(self) -> TrainingReport:
        """Writes `training_report.json`. Returns its content: number of steps, steps and items per second,
        the last loss, and the anomalies."""
        last = self.last_step
        data: TrainingReport = {
            "steps": self._steps,
            "steps_per_second": self._steps / self._seconds if self._seconds else None,
            "items_per_second": self._items / self._seconds if self._items and self._seconds else None,
            "loss": _finite(last.loss) if last else None,
            "grad_norm": _finite(last.grad_norm) if last else None,
            "anomalies": [_record(record) for record in self.anomalies],
        }
        os.makedirs(self.output_dir, exist_ok=True)
        _write_json(os.path.join(self.output_dir, "training_report.json"), data)
        return data


def _detached(value: Any) -> Any:
    return value.detach() if hasattr(value, "detach") else value


def _numbers(values: list[Any]) -> list[Any]:
    """Numbers and tensors of one element as numbers; all tensors of a device come in one transfer."""
    tensors = [(i, v) for i, v in enumerate(values) if hasattr(v, "detach")]
    out = [v if v is None or hasattr(v, "detach") else float(v) for v in values]
    by_device: dict[Any, list[tuple[int, Any]]] = {}
    for i, tensor in tensors:
        by_device.setdefault(tensor.device, []).append((i, tensor))
    for group in by_device.values():
        import torch

        stacked = torch.stack([t.detach().reshape(()).to(torch.float32) for _, t in group]).tolist()
        for (i, _), number in zip(group, stacked):
            out[i] = number
    return out


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _range(values: list[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None


def _finite(value: float | None) -> float | str | None:
    """JSON has no NaN: such numbers are texts."""
    return value if value is None or math.isfinite(value) else str(value)


def _record(record: AnomalyRecord) -> Json:
    data = asdict(record)
    data["type"] = record.type.value
    data["value"] = _finite(record.value)
    return data


def _plain(step: MonitoredStep) -> Json:
    return {
        "step": step.number,
        "seconds": step.seconds,
        "loss": _finite(step.loss),
        "grad_norm": _finite(step.grad_norm),
        "items": step.items,
        "launches": step.launches,
        "values": [{"phase": p, "name": n, "largest": _finite(v)} for (p, n), v in step.values.items()],
        "anomalies": [_record(record) for record in step.anomalies],
    }


def _write_json(path: str, data: object) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
