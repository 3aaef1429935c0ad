"""For PyTorch: :func:`compare_steps` runs a step of a model in several set-ups, and names the first module
whose output, or whose gradients, differ; then the first launch in that module that differs, and its cause.

    import prlx.torch

    print(prlx.torch.compare_steps(model, batch, setups=["eager", "compile"]))

Numbers are compared, not bits: element by element, ``|a - b| <= atol + rtol * max(|a|, s)``, where ``s`` is
the root mean square of the reference's tensor, or what that of a parameter's gradient is if its terms do not
cancel. The default ``rtol`` is the probabilistic bound of rounding
errors (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5),
2019): k roundings with the unit u add up to at most ``L * sqrt(k) * u``, with a probability of at least
``1 - 2 * exp(-L**2 / 2)``. L is chosen so that of all elements of a step together, one is beyond the tolerance
by chance with a probability of 0.001. `_Tolerance` counts the roundings.

Limitations: the state of an optimizer is not compared. Inside of compiled code, gradients of module outputs
do not exist; gradients of parameters do. Dropout draws other random numbers in compiled code, unless
``torch._inductor.config.fallback_random`` is set.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import torch

from . import _launch_cause, _ranges, _steps
from ._launch_cause import LaunchCause
from ._launches import kernels
from ._tensors import leaves

if TYPE_CHECKING:
    from ._launches import _LaunchRange
    from ._names05 import Range
    from ._report import Report
    from ._steps import _Loss, _SetupSpec
    from .typing import Json, Path, Verdict

    # Inputs of a model: a tensor, positional arguments, or keyword arguments.
    _Batch: TypeAlias = torch.Tensor | tuple[Any, ...] | list[Any] | dict[str, Any]
    _Phase = Literal["forward", "backward"]
    # A step without hooks, and the same step with hooks.
    _Observed = tuple[_steps.Run, _steps.Run]

# The probability that rounding alone makes a step differ by the default tolerance.
_FALSE_ALARM = 1e-3
# A module's call rounds each operand of its sums, and its result, to the type of the tensor.
_ROUNDINGS = 3
# An elementary function (exp, tanh, erf) has an error of up to 2 units in the last place (CUDA C++ Programming
# Guide, Mathematical Functions), which are 4 unit roundoffs: as much as 16 independent roundings.
_FUNCTION = 16
# Unit roundoff of TF32, to which tensor cores may round operands of float32: 10 bits after the binary point.
_UNIT_TF32 = 2.0**-11
# An absolute tolerance above this share of a gradient's root mean square is mentioned.
_LOST = 0.1
# Operations that only move, convert or allocate.
_MOVES = {
    "_to_copy",
    "t",
    "transpose",
    "view",
    "_unsafe_view",
    "detach",
    "alias",
    "clone",
    "expand",
    "permute",
}
_MOVES |= {
    "unsqueeze",
    "squeeze",
    "reshape",
    "slice",
    "select",
    "as_strided",
    "split",
    "unbind",
    "lift_fresh",
}
_MOVES |= {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
# Launches of a module whose kernels a report names.
_KERNELS = 8


def compare_steps(
    model: torch.nn.Module,
    batch: _Batch,
    setups: Iterable[_SetupSpec] = ("eager", "compile"),
    *,
    loss: _Loss | None = None,
    rtol: float | None = None,
    atol: float = 0.0,
    explain: bool = True,
) -> Steps:
    """Runs a step of a model in several set-ups, and compares each with the first one.

    A step is the forward pass, and if there is a loss, the backward pass. The model, its gradients and the
    random generators are as before afterwards. Each set-up runs twice, with hooks and without, so that the
    report can say whether the hooks changed something.

    model: a ``torch.nn.Module``, on any device; in training or evaluation mode, as it is.
    batch: its inputs: a tensor, a tuple of positional arguments, or a dictionary of keyword arguments.
    setups: ``"eager"``, ``"compile"`` (or ``"compile:MODE"``), ``"autocast"`` (bfloat16; or
        ``"autocast:float16"``), a function ``f(model, *inputs)`` that returns the model's output, or a pair
        of a name and such a function.
    loss: a function of the output that returns a number. Without it, the output itself or its ``loss`` is
        differentiated if it is one number; else there is no backward pass.
    rtol, atol: how far numbers may be apart.
    explain: look for the first launch that differs in the first module that differs, and for its cause.

    Raises `TypeError` or `ValueError` for a wrong model or set-up. Returns :class:`Steps`.
    """
    model = _steps.check(model)
    ways = [_steps.Setup(spec) for spec in setups]
    if len(ways) < 2:
        raise ValueError("setups: name at least two")
    state = _steps.State(model)
    compared = []
    try:
        reference = _observe(model, batch, ways[0], state, loss)
        for setup in ways[1:]:
            other = _observe(model, batch, setup, state, loss)
            found = _compare(model, reference, other, rtol, atol)
            if found.first is not None:
                step = _Step(model, batch, (ways[0], setup), state, loss)
                if found.first.phase == "forward":
                    found.first.operation = _operation(step, found.first, atol)
                if found.first.launches:
                    found.first.kernels = _kernels(found.first.launches)
                if explain:
                    _explain(step, found.first, atol)
            compared.append(found)
    finally:
        state.end()
    return Steps(model, ways[0].name, compared)


def annotate(model: torch.nn.Module, *, operators: bool = False) -> _ranges.Annotation:
    """Puts NVTX ranges around the launches of a model: the module's path, and forward or backward, as
    ``layer3.conv1, forward``. A recording keeps them, and reports name launches by them.

    model: a ``torch.nn.Module``. Of a compiled one, the whole call has a range.
    operators: also name PyTorch's operators (``aten::mm``), by ``torch.autograd.profiler.emit_nvtx``.

    Results, random numbers and memory stay as they are. Without a GPU, nothing happens. Returns an object whose
    ``remove()`` takes the ranges away; it is a context manager, too. Raises `TypeError` if the model is no
    module.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"annotate: the model is a {type(model).__name__}, not a torch.nn.Module")
    return _ranges.Annotation(model, operators)


def step() -> contextlib.AbstractContextManager[Range]:
    """A step of training: a context manager with the NVTX range ``step N``, counted from 0 in the process.

    It is :func:`prlx.pytorch_trace` with that name.
    """
    from ._names05 import pytorch_trace

    return pytorch_trace(_ranges.next_step())


@dataclass
class Difference:
    """Two tensors that should agree."""

    # `forward` or `backward`.
    phase: _Phase
    # The module's path, its class, and the number of its call in the step.
    module: str
    kind: str
    call: int
    # What of the module: `output`, `gradient of weight`, `gradient of its input`.
    what: str
    # Number of elements beyond the tolerance, and of all.
    wrong: int
    elements: int
    # Largest absolute difference, and the same relative to the root mean square of the reference.
    absolute: float
    relative: float
    # The index of the worst element, and both its values.
    index: tuple[int, ...]
    values: tuple[float, float]
    rtol: float
    # The absolute tolerance besides `rtol`, and what `rtol` refers to at least.
    atol: float = 0.0
    scale: float = 0.0
    # The operation of PyTorch whose result differs first, as `aten.addmm`, if it is known.
    operation: str | None = None
    # The module's launches in `prlx record`, first and last, by set-up; and the kernels of the first of them.
    launches: dict[str, _LaunchRange] | None = None
    kernels: dict[str, list[str]] | None = None
    # The first launch of the module that differs, and its cause, if its kernels have PTX.
    cause: LaunchCause | None = None

    def __post_init__(self) -> None:
        # The comparison of that launch: what `prlx.compare` returns.
        self.report: Report | None = None


@dataclass
class Comparison:
    """A set-up, compared with the reference."""

    setup: str
    verdict: Verdict
    # The first `Difference` beyond the tolerance, in the order of the step.
    first: Difference | None
    # Everything that was compared, in the order of the step.
    rows: list[Difference]
    # What the reader should know: what was not compared, and why.
    notes: list[str]
    rtol: float


class Steps:
    """What :func:`compare_steps` found: ``comparisons`` has a :class:`Comparison` for each set-up but the
    first, ``first`` is the first difference of the first set-up that differs."""

    def __init__(self, model: torch.nn.Module, reference: str, comparisons: list[Comparison]) -> None:
        self.model = type(model).__name__
        self.reference = reference
        self.comparisons = comparisons

    @property
    def verdict(self) -> Verdict:
        """``"differs"`` if a set-up does, else ``"unknown"`` if one is, else ``"same"``."""
        verdicts = [c.verdict for c in self.comparisons]
        return next((v for v in ("differs", "unknown") if v in verdicts), "same")

    @property
    def first(self) -> Difference | None:
        return next((c.first for c in self.comparisons if c.first is not None), None)

    @property
    def data(self) -> Json:
        """The report as dictionaries and lists. Numbers that JSON lacks (NaN, infinities) are texts."""
        data: Json = _plain(self._data())
        return data

    def _data(self) -> Json:
        return {
            "verdict": self.verdict,
            "model": self.model,
            "reference": self.reference,
            "comparisons": [asdict(c) for c in self.comparisons],
        }

    def __str__(self) -> str:
        lines = [f"{self.verdict}  one step of {self.model}, compared with {self.reference}"]
        for c in self.comparisons:
            lines += ["", *_lines(c, self.reference)]
        return "\n".join(lines)

    __repr__ = __str__

    def save(self, path: Path) -> None:
        """Writes the report: as JSON (``.json``), or as text."""
        path = str(path)
        text = json.dumps(self.data, indent=1, allow_nan=False) if path.endswith(".json") else f"{self}\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value if not isinstance(value, float) or math.isfinite(value) else str(value)


def _lines(c: Comparison, reference: str) -> Iterator[str]:
    forward = sum(r.phase == "forward" for r in c.rows)
    worst = max((r.relative for r in c.rows), default=0.0)
    counts = f"{forward} inputs and outputs, {len(c.rows) - forward} gradients"
    yield f"{c.setup}: {c.verdict}  {counts}; largest difference {worst:.2g} of the RMS"
    if (f := c.first) is not None:
        name = f.module or "the model"
        call = f", call {f.call}" if f.call else ""
        yield f"  first      {f.phase}: {name} ({f.kind}{call}), {f.what}"
        yield f"             {f.wrong:,} of {f.elements:,} elements beyond rtol {f.rtol:g}"
        index = ",".join(map(str, f.index))
        a, b = f.values
        yield f"  worst      [{index}]  {reference} {a:.8g}  {c.setup} {b:.8g}"
        if f.operation:
            yield f"  operation  {f.operation}"
        for setup, (first, last) in (f.launches or {}).items():
            names = ", ".join(dict.fromkeys((f.kernels or {}).get(setup, [])))
            yield f"  launches   {setup}: {first} to {last} of this process  {names}".rstrip()
        at = c.rows.index(f)
        for row in c.rows[max(0, at - 3) : at]:
            yield f"  before     {row.phase}: {row.module or 'the model'}, {row.what}: {row.relative:.2g}"
        if f.cause is not None:
            yield from (f"  {line}" for line in f.cause.lines())
    for note in c.notes:
        yield f"  note       {note}"


def _observe(
    model: torch.nn.Module, batch: _Batch, setup: _steps.Setup, state: _steps.State, loss: _Loss | None
) -> _Observed:
    """A step without hooks, and one with hooks."""
    plain = _steps.run(model, batch, setup, state, loss)
    return plain, _steps.run(model, batch, setup, state, loss, hooks=True)


def _compare(
    model: torch.nn.Module, reference: _Observed, other: _Observed, rtol: float | None, atol: float
) -> Comparison:
    (plain_a, a), (plain_b, b) = reference, other
    elements = sum(t.numel() for seen in (*a.passed, *a.arrived) for t in seen.tensors)
    limits = _Tolerance(model, rtol, atol, elements)
    notes: list[str] = []
    rows = _passed(a, b, limits, notes)
    rows += _gradients(a, b, limits, notes)
    changed = [plain.name for plain, hooked in (reference, other) if not _equal(plain, hooked)]
    total = [
        _tensors("forward", "", 0, "result", x, y, limits) for x, y in zip(plain_a.result, plain_b.result)
    ]
    rows += [row for row in total if row is not None]
    for name in changed:
        notes.append(
            f"{name} leaves other bits with hooks than without: what it leaves without is compared as well"
        )
    for name, x in plain_a.gradients.items() if changed else ():
        if (y := plain_b.gradients.get(name)) is not None:
            path, _, parameter = name.rpartition(".")
            what = f"gradient of {parameter}, without hooks"
            if (row := _tensors("backward", path, 0, what, x, y, limits)) is not None:
                rows.append(row)
    if len(plain_a.result) != len(plain_b.result):
        notes.append(f"the results have {len(plain_a.result)} and {len(plain_b.result)} tensors")
    if not plain_a.trained:
        notes.append("no backward pass: there is no loss. Pass loss=, a function of the output")
    kinds = {path: type(module).__name__ for path, module in model.named_modules()}
    for row in rows:
        row.kind = kinds.get(row.module, "")
    first = next((row for row in rows if row.wrong), None)
    if first is not None and "Dropout" in first.kind and plain_a.compiled != plain_b.compiled:
        notes.append(
            "compiled dropout draws other random numbers, unless torch._inductor.config.fallback_random is set"
        )
    notes += _lost_gradients(rows, atol)
    verdict: Verdict = "differs" if first is not None else "same" if rows else "unknown"
    return Comparison(b.name, verdict, first, rows, notes, limits.now)


def _lost_gradients(rows: list[Difference], atol: float) -> list[str]:
    """Says whether gradients are so small that their type hardly represents them."""
    backward = [row for row in rows if row.phase == "backward" and row.scale]
    lost = [row.atol / row.scale for row in backward if row.atol > _LOST * row.scale]
    if not lost or atol:
        return []
    return [
        f"{len(lost)} gradients are near the smallest numbers of their type: they are compared within up to "
        f"{max(lost):.2g} of their RMS. Scale the loss to compare them closer"
    ]


class _Tolerance:
    """The tolerance at a place of the step: it grows with each call of a module, on both sides.

    A call has `_ROUNDINGS` with the unit of the tensor's type. In the type of sums, which is float32 or
    float64, it has a rounding for each addend of the longest sum, and the error of an elementary function.
    Roundings count as independent, with mean 0, and calls as passing on errors as they are. Near zero, a rounding
    has an absolute error, of up to half the smallest subnormal number (Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd edition, section 2.1): in float16, small gradients vanish.

    The gradient of a parameter is a sum over n places of products of a gradient and an input. An error of each
    gradient is multiplied by the root mean square of the inputs, and the errors add up to ``sqrt(n)`` times
    that. The products may cancel, as they do for the bias of an attention's keys. So relative errors refer to
    what the sum would be if they did not.
    """

    def __init__(self, model: torch.nn.Module, rtol: float | None, atol: float, elements: int) -> None:
        self.atol = atol
        self.now = rtol or 0.0
        # How far elements of the tensors that were seen last may be apart besides the relative tolerance, and the
        # least that this tolerance refers to.
        self.absolute = atol
        self.scale = 0.0
        self._fixed = rtol is not None
        self._bound = math.sqrt(2 * math.log(2 * max(elements, 1) / _FALSE_ALARM))
        # The sum over the roundings so far of the squares of their units.
        self._squares = 0.0
        # The same of their errors near zero, by whether they are in the backward pass: the forward pass has an
        # influence on gradients by factors, and near zero its errors are none of these.
        self._underflow = [0.0, 0.0]
        self._modules = dict(model.named_modules())
        # By module: the shape of its largest output, and the root mean square of its inputs.
        self._outputs: dict[str, torch.Size] = {}
        self._inputs: dict[str, float] = {}
        # By module, of the gradients that arrive at its outputs: their number, and the sum of their squares.
        self._arrived: dict[str, tuple[int, float]] = {}
        # By module: the types of these gradients.
        self._types: dict[str, list[torch.dtype]] = {}
        convolves = any(isinstance(m, torch.nn.modules.conv._ConvNd) for m in model.modules())
        self._tf32 = torch.get_float32_matmul_precision() != "highest"
        self._tf32 |= convolves and torch.backends.cudnn.allow_tf32

    def takes(self, path: str, tensor: torch.Tensor) -> None:
        """A call of a module takes this tensor."""
        if tensor.is_floating_point() and not self._fixed and _is_dense(tensor):
            self._inputs[path] = max(self._inputs.get(path, 0.0), _rms(tensor))

    def seen(self, path: str, what: str, *tensors: torch.Tensor) -> None:
        """A call of a module on both sides has made these tensors."""
        if self._fixed:
            return
        numbers = [t for t in tensors if t.is_floating_point() or t.is_complex()]
        backward = what.startswith("gradient of ")
        parameter = backward and not what.startswith("gradient of its")
        if what.startswith("output"):
            shapes = [t.shape for t in numbers] + [self._outputs.get(path, torch.Size([0]))]
            self._outputs[path] = max(shapes, key=torch.Size.numel)
        types = [t.dtype for t in numbers]
        if what.startswith("gradient of its output"):
            self._types[path] = types
        if parameter:
            # A copy of the parameter in a lower precision may get the gradient first.
            types += self._types.get(path, [])
        made = sum(self._roundings(path, parameter, t) for t in numbers)
        if parameter and types:
            made += (torch.finfo(_coarsest(types)).eps / 2) ** 2
        self.now = max(self.now, self._bound * math.sqrt(self._squares + made))
        near_zero = _ROUNDINGS * sum(_least(ty) ** 2 for ty in types)
        passed = self._underflow[backward] + near_zero
        gain, self.scale = self._sum(path, numbers[0]) if parameter and numbers else (1.0, 0.0)
        self.absolute = self.atol + self._bound * math.sqrt(passed * gain + near_zero)
        # What a caller computes from a call's output is in the caller's own output, and no later call gets
        # the gradient of a parameter.
        if not parameter and "input of" not in what:
            self._squares += made
            self._underflow[backward] = passed

    def arrives(self, path: str, gradient: torch.Tensor) -> None:
        """A gradient arrives at a module's output, on one side."""
        if not self._fixed and _is_dense(gradient):
            number, squares = self._arrived.get(path, (0, 0.0))
            self._arrived[path] = number + 1, squares + gradient.numel() * _rms(gradient) ** 2

    def _roundings(self, path: str, parameter: bool, tensor: torch.Tensor) -> float:
        """The squares of the units of a call's roundings."""
        unit = torch.finfo(tensor.dtype).eps / 2
        sums = torch.finfo(torch.float64 if unit < 2.0**-24 else torch.float32).eps / 2
        if tensor.is_cuda and self._tf32 and unit == sums:
            unit = max(unit, _UNIT_TF32)
        addends = self._places(path, tensor.shape) if parameter else self._addends(path, tensor)
        return float(_ROUNDINGS * unit**2 + (_FUNCTION + addends) * sums**2)

    def _addends(self, path: str, tensor: torch.Tensor) -> int:
        """The length of the longest sum in a call, as far as shapes show it."""
        shape = tensor.shape or (1,)
        module = self._modules.get(path)
        own = module.parameters(recurse=False) if module is not None else ()
        return int(max([*shape, *(p.numel() // p.shape[0] for p in own if p.dim() > 1)]))

    def _share(self, path: str, shape: torch.Size) -> int:
        """How many elements of a module's output each place has whose gradients make that of a parameter."""
        output = self._outputs.get(path, torch.Size([0]))
        # The first size of a weight is often that of the output. It may be the number of words, too.
        if shape and (len(shape) < 2 or shape[0] in output):
            return max(1, int(shape[0]))
        return max(1, int(min(shape[0], shape[-1]))) if shape else 1

    def _places(self, path: str, shape: torch.Size) -> int:
        """Over how many places the gradient of a parameter of this shape is a sum."""
        number, _ = self._arrived.get(path, (1, 0.0))
        output = self._outputs.get(path, torch.Size([0]))
        return max(1, int(number * output.numel() // self._share(path, shape)))

    def _sum(self, path: str, gradient: torch.Tensor) -> tuple[float, float]:
        """Of the sum that makes the gradient of a parameter: by how much it multiplies the squares of the errors
        of its terms, and its root mean square if the terms do not cancel, as far as it is known."""
        factor = 1.0
        if gradient.dim() > 1:
            # The code of other modules may multiply a parameter by something else than their input.
            multiplies = isinstance(self._modules.get(path), (torch.nn.Linear, torch.nn.modules.conv._ConvNd))
            factor = max(self._inputs.get(path, 1.0), 0.0 if multiplies else 1.0)
        _, squares = self._arrived.get(path, (0, 0.0))
        terms = factor * math.sqrt(squares / self._share(path, gradient.shape))
        return self._places(path, gradient.shape) * factor**2, terms


def _coarsest(types: list[torch.dtype]) -> torch.dtype:
    """The type of least precision."""
    return max(types, key=lambda type: torch.finfo(type).eps)


def _least(type: torch.dtype) -> float:
    """Half the smallest subnormal number of a type."""
    return float(torch.finfo(type).smallest_normal * torch.finfo(type).eps / 2)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with all its elements, if it is sparse: so are gradients of embeddings with ``sparse=True``."""
    return tensor if tensor.layout == torch.strided or tensor.is_nested else tensor.to_dense()


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds numbers that can be compared one by one."""
    special = tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized
    return not special and tensor.numel() > 0


def _rms(tensor: torch.Tensor) -> float:
    """The root mean square of the finite elements of a tensor."""
    x = _real(tensor).to(torch.float64)
    return float(x[torch.isfinite(x)].square().mean().sqrt().nan_to_num().item())


def _passed(a: _steps.Run, b: _steps.Run, limits: _Tolerance, notes: list[str]) -> list[Difference]:
    """The inputs and outputs of modules, in the order of the reference's step."""
    others = {(o.path, o.call, o.what): o for o in b.passed}
    rows, missing = [], []
    for x in a.passed:
        y = others.get((x.path, x.call, x.what))
        if y is None or len(x.tensors) != len(y.tensors):
            missing.append(x.path or "the model")
            continue
        for i, (p, q) in enumerate(zip(x.tensors, y.tensors)):
            place, what = (x.path, x.call), x.what
            if x.what == "input":
                limits.takes(x.path, p)
            if x.what == "input" and x.caller is not None:
                # Every earlier output agrees: the code of the caller made this value.
                place, what = x.caller, f"the input of {x.path}"
            row = _tensors("forward", *place, what + (f" {i}" if i else ""), p, q, limits)
            if row is not None:
                ranges = {a.name: x.launches, b.name: y.launches}
                row.launches = {n: r for n, r in ranges.items() if r} or None
                rows.append(row)
    if missing:
        shown = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
        notes.append(f"{b.name} does not make {len(missing)} calls ({shown}), or with other tensors")
    return rows


def _gradients(a: _steps.Run, b: _steps.Run, limits: _Tolerance, notes: list[str]) -> list[Difference]:
    """The gradients, in the order of the reference's backward pass."""
    others = {(o.path, o.call, o.what): o.tensors[0] for o in b.arrived}
    arrived = a.arrived
    if a.compiled:
        # Compiled code hides the order: that of the modules, from the last to the first, is close to it.
        at = {name: i for i, name in enumerate(a.gradients)}
        arrived = sorted(arrived, key=lambda o: -at.get(f"{o.path}.{o.what[12:]}".lstrip("."), 0))
    for run in (a, b):
        if run.compiled and run.trained:
            notes.append(f"{run.name} is compiled: of its gradients, those of parameters are compared")
    seen = next((run.arrived for run in (a, b) if not run.compiled), [])
    for o in seen:
        if o.what.startswith("gradient of its output"):
            limits.arrives(o.path, o.tensors[0])
    rows = []
    for x in arrived:
        if (y := others.get((x.path, x.call, x.what))) is not None:
            row = _tensors("backward", x.path, x.call, x.what, x.tensors[0], y, limits)
            if row is not None:
                rows.append(_blamed(row, a, x))
    return rows


def _blamed(row: Difference, run: _steps.Run, arrived: _steps.Observed) -> Difference:
    """A gradient that arrives at an output was computed by the module that took this output."""
    if not arrived.what.startswith("gradient of its output"):
        return row
    consumers = run.consumers.get((arrived.path, arrived.call), [])
    # Of nested modules, the innermost one computes.
    paths = [
        c for c in consumers if not any(o[0].startswith(f"{c[0]}.") or not c[0] and o[0] for o in consumers)
    ]
    if len(paths) == 1:
        row.module, row.call = paths[0]
        row.what = f"gradient of its input, the output of {arrived.path or 'the model'}"
    return row


def _tensors(
    phase: _Phase, path: str, call: int, what: str, a: torch.Tensor, b: torch.Tensor, limits: _Tolerance
) -> Difference | None:
    """The difference of two tensors; ``None`` if they hold no numbers that can be compared."""
    a, b = _dense(a), _dense(b)
    limits.seen(path, what, a, b)
    if a.shape != b.shape:
        whole = max(a.numel(), b.numel(), 1)
        shapes = f"{what}: the shapes are {tuple(a.shape)} and {tuple(b.shape)}"
        return Difference(
            phase,
            path,
            "",
            call,
            shapes,
            whole,
            whole,
            math.inf,
            math.inf,
            (),
            (math.nan, math.nan),
            limits.now,
            limits.absolute,
        )
    if not _is_dense(a):
        return None
    x, y = (_real(t).to(torch.float64) for t in (a, b.to(a.device)))
    scale = _rms(a)
    exact = not (a.is_floating_point() or a.is_complex())
    apart = (x - y).abs()
    apart = torch.where((x == y) | (x.isnan() & y.isnan()), 0.0, apart).nan_to_num(math.inf, math.inf)
    size = x.abs().nan_to_num(0.0, 0.0, 0.0).clamp(min=max(scale, limits.scale))
    allowed = 0.0 if exact else limits.absolute + limits.now * size
    worst = int((apart - allowed).argmax())
    absolute = apart.max().item()
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), x.shape))
    values = (x.flatten()[worst].item(), y.flatten()[worst].item())
    wrong = int((apart > allowed).sum())
    relative = absolute / scale if scale else (math.inf if absolute else 0.0)
    row = Difference(phase, path, "", call, what, wrong, x.numel(), absolute, relative, index, values, limits.now)
    row.atol, row.scale = limits.absolute, max(scale, limits.scale)
    return row


def _kernels(launches: dict[str, _LaunchRange]) -> dict[str, list[str]]:
    """The names of the first kernels of ranges of launches, by set-up."""
    torch.cuda.synchronize()
    ranges = [(first, min(last, first + _KERNELS - 1)) for first, last in launches.values()]
    return dict(zip(launches, kernels(ranges)))


def _first_operation(
    a: _steps._Results, b: _steps._Results, sides: list[str], limits: _Tolerance
) -> str | None:
    """The first operation of `a` whose result differs in `b`, and those before it that only one side runs."""
    names = [[name for name, _ in side] for side in (a, b)]
    matcher = difflib.SequenceMatcher(None, names[0], names[1], autojunk=False)
    alone: list[str] = []
    for kind, a0, a1, b0, b1 in matcher.get_opcodes():
        if kind != "equal":
            parts = zip(sides, (names[0][a0:a1], names[1][b0:b1]))
            alone = [f"only {side} runs {', '.join(part)}" for side, part in parts if part]
            continue
        for (name, x), (_, y) in zip(a[a0:a1], b[b0:b1]):
            rows = [_tensors("forward", "", 0, name, p, q, limits) for p, q in zip(x, y)]
            if any(row and row.wrong for row in rows):
                return "; before it, ".join([name, " and ".join(alone)] if alone else [name])
            alone = []
    return " and ".join(alone) or None


def _real(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _equal(a: _steps.Run, b: _steps.Run) -> bool:
    """Whether two steps have the same bits as results and gradients."""
    p, q = ([_dense(t) for t in (*run.result, *run.gradients.values())] for run in (a, b))
    return len(p) == len(q) and all(
        x.shape == y.shape
        and torch.equal(x.nan_to_num(), y.nan_to_num())
        and torch.equal(x.isnan(), y.isnan())
        for x, y in zip(p, q)
    )


@dataclass
class _Step:
    """A step in two set-ups."""

    model: torch.nn.Module
    batch: _Batch
    setups: tuple[_steps.Setup, _steps.Setup]
    state: _steps.State
    loss: _Loss | None

    def run(self, setup: _steps.Setup, target: _steps.Target | None = None) -> None:
        """Runs it in one set-up, without keeping what it leaves."""
        _steps.run(self.model, self.batch, setup, self.state, self.loss, target=target)


def _operation(step: _Step, first: Difference, atol: float) -> str | None:
    """The first operation of PyTorch inside a module's call whose result differs. Of a module with a single
    operation that computes, that one."""
    runs = []
    for setup in step.setups:
        if setup.compiled:
            continue
        operations = _steps.Operations()
        try:
            step.run(setup, _steps.Target("forward", (first.module, first.call), operations))
        except RuntimeError:
            return None  # Some operations cannot be watched, as those of a nested compiled function.
        runs.append(operations.kept)
    computing = [[op for op in run if op[0].rpartition(".")[2] not in _MOVES] for run in runs]
    if len(computing) == 2:
        limits = _Tolerance(step.model, first.rtol, atol, 0)
        return _first_operation(computing[0], computing[1], [setup.name for setup in step.setups], limits)
    names = list(dict.fromkeys(name for name, _ in computing[0])) if computing else []
    return names[0] if len(names) == 1 else None


def _explain(step: _Step, first: Difference, atol: float) -> None:
    """Looks for the first launch that differs in a module's part of the step, and for its cause."""
    on_gpu = any(t.is_cuda for t in leaves([*step.state.tensors, step.batch]))
    windows = []
    for setup in step.setups:
        window = _launch_cause.window(on_gpu, _ranges.nvtx(), torch.cuda.synchronize)
        if window is None:
            return
        if window.help is None:
            if setup.compiled:
                # Compilers and autotuners launch kernels in the first call.
                setup = setup.warm(step.model)
                step.run(setup)
            step.run(setup, _steps.Target(first.phase, _part(first), window))
        windows.append(window)
    # Near zero, the tolerance follows the tensor's root mean square, as above.
    scale = first.absolute / first.relative if first.relative and math.isfinite(first.relative) else 0.0
    names = (step.setups[0].name, step.setups[1].name)
    limits = (first.rtol, atol + first.rtol * (scale if math.isfinite(scale) else 0.0))
    first.cause, first.report = _launch_cause.explain(names, (windows[0], windows[1]), *limits)


def _part(first: Difference) -> tuple[str, int] | None:
    """The module whose code makes the first difference; ``None`` if no single one does."""
    if first.phase == "backward" and first.what.startswith("gradient of its output"):
        return None
    return first.module, first.call
