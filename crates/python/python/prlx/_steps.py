"""Runs one step of a PyTorch model, and keeps what went into its modules, what they returned, and gradients.

A step is: forward, loss, backward. Forward hooks copy the inputs and outputs of every module; hooks of
tensors copy the gradients that arrive at the outputs. Inside of compiled code, the copies become outputs of
the compiled graph, and gradients of module outputs do not exist: there, gradients of parameters remain.

Invariants:
- Every step begins with the same parameters, buffers and states of random generators. Afterwards all of them,
  gradients too, are as they were before.
- Hooks only copy. Whether they changed the result is tested: each step also runs without them.

Limitations: a step needs memory for a copy of every output, on the same device. Optimizers do not run.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import _native, _ranges
from ._launches import launch_count, launch_range
from ._tensors import leaves

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._launches import _LaunchRange

    # A module's path, and the number of its call in the step.
    _Call = tuple[str, int]
    # Names and results of PyTorch's operations.
    _Results = list[tuple[str, list[torch.Tensor]]]
    # A function of a model's output that returns a number.
    _Loss = Callable[[Any], torch.Tensor]
    # `"eager"` and the like, a function of the model and its inputs, or a name and such a function.
    _SetupSpec = str | Callable[..., Any] | tuple[str, Callable[..., Any]]


@dataclass
class Observed:
    """The inputs or outputs of a module's call, or one gradient: copies of tensors."""

    # The module's path (`""` is the model itself) and the number of its call in this step, from 0.
    path: str
    call: int
    # `input`, `output`, `gradient of its output` or `gradient of PARAMETER`.
    what: str
    tensors: list[torch.Tensor]
    # The path and call of the module whose code makes the call; `None` outside of all.
    caller: _Call | None = None
    # The first and the last launch of the call, if the program is recorded.
    launches: _LaunchRange | None = None


@dataclass
class Run:
    """One step: the result, its gradients, and what hooks saw."""

    name: str
    result: list[torch.Tensor] = field(default_factory=list)
    # Gradients of parameters, by name.
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    # Inputs and outputs of modules, in the order of time.
    passed: list[Any] = field(default_factory=list)
    # Gradients, in the order of the backward pass.
    arrived: list[Observed] = field(default_factory=list)
    # By the path and call of a module whose output it is: the modules that took the tensor as an input.
    consumers: dict[_Call, list[_Call]] = field(default_factory=dict)
    trained: bool = False
    compiled: bool = False
    launches: _LaunchRange | None = None


class State:
    """Parameters, buffers, gradients and random generators, to be put back."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.tensors = [*model.parameters(), *model.buffers()]
        self.content = [t.detach().clone() for t in self.tensors]
        self.parameters = list(model.parameters())
        self.gradients = [p.grad for p in self.parameters]
        self.random = random.getstate()
        numpy = sys.modules.get("numpy")
        self.numpy = numpy and numpy.random.get_state()
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None

    def begin(self) -> None:
        """Puts back everything, but for the gradients, which are none."""
        self._put_back()
        for p in self.parameters:
            p.grad = None

    def end(self) -> None:
        """Puts back everything."""
        self._put_back()
        for p, gradient in zip(self.parameters, self.gradients):
            p.grad = gradient

    def _put_back(self) -> None:
        with torch.no_grad():
            for tensor, content in zip(self.tensors, self.content):
                if not torch.equal(tensor, content):
                    tensor.copy_(content)
        random.setstate(self.random)
        if self.numpy is not None:
            sys.modules["numpy"].random.set_state(self.numpy)
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state_all(self.cuda)


class Setup:
    """A way to call a model: a name, and a function of the model and its inputs."""

    def __init__(self, spec: _SetupSpec) -> None:
        self.compiled = False
        self.autocast: Any = False
        # The text that names it; empty for a function.
        self.spec = spec if isinstance(spec, str) else ""
        self.name: str
        self.call: Callable[..., Any]
        if isinstance(spec, tuple):
            self.name, self.call = spec
        elif callable(spec):
            self.name, self.call = getattr(spec, "__name__", repr(spec)), spec
        else:
            self._named(spec)

    def _named(self, spec: str) -> None:
        self.name = spec
        kind, _, option = spec.partition(":")
        if kind == "eager" and not option:
            self.call = _eager
        elif kind == "compile":
            self.call, self.compiled = partial(_compiled, option or "default"), True
        elif kind in ("autocast", "amp"):
            dtype = getattr(torch, option or "bfloat16", None)
            if not isinstance(dtype, torch.dtype):
                raise ValueError(f"setups: {spec!r} names no type, as 'autocast:float16'")
            self.call, self.autocast = _eager, dtype
        else:
            raise ValueError(
                f"setups: {spec!r} is not known: use 'eager', 'compile', 'compile:MODE', 'autocast', "
                "'autocast:TYPE', a function of the model and its inputs, or a pair of a name and a function"
            )

    def warm(self, model: torch.nn.Module) -> Setup:
        """The same set-up with compiled code that is kept from call to call."""
        if not self.compiled:
            return self
        kept = Setup((self.name, _kept(model, self.spec.partition(":")[2] or "default")))
        kept.compiled = True
        return kept

    def context(self, device: str) -> contextlib.AbstractContextManager[Any]:
        """What surrounds forward and loss."""
        if self.autocast:
            context: contextlib.AbstractContextManager[Any] = torch.autocast(device, self.autocast)
            return context
        return contextlib.nullcontext()


def _eager(model: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    return model(*args, **kwargs)


def _compiled(mode: str, model: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
    return _compile(mode, model)(*args, **kwargs)


def _kept(model: torch.nn.Module, mode: str) -> Callable[..., Any]:
    compiled = _compile(mode, model)
    return lambda model, *args, **kwargs: compiled(*args, **kwargs)


def _compile(mode: str, model: torch.nn.Module) -> Callable[..., Any]:
    from torch._inductor import compile_fx, list_mode_options

    # PyTorch keeps compiled code by its backend. A new one makes it compile the hooks, too.
    options = {} if mode == "default" else list_mode_options(mode)
    backend = partial(compile_fx.compile_fx, config_patches=options or None)
    compiled: Callable[..., Any] = torch.compile(model, backend=backend)
    return compiled


# The parts of a step.
PHASES = ("forward", "backward")
_NOTHING = contextlib.nullcontext()


@dataclass
class Target:
    """A part of a step during which a context is entered."""

    # `forward` or `backward`.
    phase: str
    # The module's path and the number of its call. In the backward pass, all calls count. `None`: all of the phase.
    call: _Call | None
    # Entered whenever the part begins.
    inside: contextlib.AbstractContextManager[Any]
    # Whether hooks copy what goes into modules and comes out.
    hooks: bool = False

    def is_call(self, setup: Setup) -> bool:
        """Whether the part is a call of a module whose hooks run."""
        return self.phase == "forward" and self.call is not None and not setup.compiled

    def around(self, phase: str, setup: Setup) -> contextlib.AbstractContextManager[Any]:
        """What surrounds the whole phase: compiled code has no modules."""
        whole = self.call is None or setup.compiled
        return self.inside if whole and phase == self.phase else _NOTHING

    def annotated(self, model: torch.nn.Module, setup: Setup) -> contextlib.AbstractContextManager[Any]:
        """While it is entered, calls of modules prepare their backward pass for it."""
        if self.phase == "forward" or self.call is None or setup.compiled:
            return _NOTHING
        path = self.call[0] or type(model).__name__
        return _ranges.Annotation(model, False, _Ranges(f"{path}, backward", self.inside))


class _Ranges:
    """Takes the names of ranges in the place of NVTX, and enters a context in those with one name."""

    def __init__(self, name: str, inside: contextlib.AbstractContextManager[Any]) -> None:
        self._name, self._inside = name, inside
        self._open: list[bool] = []

    def range_push(self, name: str) -> None:
        self._open.append(name == self._name)
        if self._open[-1]:
            self._inside.__enter__()

    def range_pop(self) -> None:
        if self._open.pop():
            self._inside.__exit__(None, None, None)


def run(
    model: torch.nn.Module,
    batch: Any,
    setup: Setup,
    state: State,
    loss: _Loss | None,
    *,
    hooks: bool = False,
    target: Target | None = None,
) -> Run:
    """Runs a step."""
    state.begin()
    done = Run(setup.name, compiled=setup.compiled)
    args, kwargs = _inputs(batch)
    device = next((t.device.type for t in leaves([*state.tensors, args, kwargs])), "cpu")
    first = launch_count()
    if target is None:
        observer = _Observer(model, done, None, hooks)
    else:
        observer = _Observer(model, done, target if target.is_call(setup) else None, target.hooks)
    forward, backward = (target.around(phase, setup) if target else _NOTHING for phase in PHASES)
    try:
        named = target.annotated(model, setup) if target else _NOTHING
        with observer, named, setup.context(device):
            with forward:
                output = setup.call(model, *args, **kwargs)
            total = _loss(output, loss)
        if total is not None:
            done.trained = True
            with backward:
                total.backward()
    finally:
        observer.close()
    done.result = [t.detach().clone() for t in leaves(output)]
    if total is not None:
        done.result.append(total.detach().clone())
    for name, p in model.named_parameters():
        if p.grad is not None:
            done.gradients[name] = p.grad.detach().clone()
    done.launches = launch_range(first)
    return done


def _inputs(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(batch, dict):
        return (), batch
    if isinstance(batch, (list, tuple)):
        return tuple(batch), {}
    return (batch,), {}


def _loss(output: Any, loss: _Loss | None) -> Any:
    """The number to differentiate, if there is one."""
    if not torch.is_grad_enabled():
        return None
    total: Any
    if loss is not None:
        total = loss(output)
    else:
        total = output if isinstance(output, torch.Tensor) else getattr(output, "loss", None)
        if total is None and isinstance(output, dict):
            total = output.get("loss")
        if total is None or total.numel() != 1:
            return None
    return total if total.requires_grad else None


class _Observer:
    """Has hooks in all modules while it is entered, if it is on. Hooks of tensors stay until it is closed."""

    def __init__(self, model: torch.nn.Module, run: Run, target: Target | None, on: bool) -> None:
        self.model, self.run, self.target, self.on = model, run, target, on or target is not None
        self._calls: Counter[str] = Counter()
        self._modules: list[Any] = []
        self._tensors: list[Any] = []
        # Tensors by identity: the call whose output each is. They stay alive, so that identities are unique.
        self._producers: dict[int, _Call] = {}
        self._alive: list[torch.Tensor] = []
        # Copies of tensors that are alive, by identity and version.
        self._copies: dict[tuple[int, int], torch.Tensor] = {}
        # The calls that run, innermost last, and the number of the first launch of each.
        self._running: list[tuple[_Call, int | None]] = []
        self._in_target = False

    def __enter__(self) -> None:
        for path, module in self.model.named_modules() if self.on else ():
            if isinstance(module, torch.jit.ScriptModule):
                continue
            if self.run.compiled:
                before, after = (
                    partial(f, path, self.run.passed) for f in (_compiled_input, _compiled_output)
                )
            else:
                before, after = (partial(f, path) for f in (self._before, self._after))
            self._modules.append(module.register_forward_pre_hook(before, with_kwargs=True))
            self._modules.append(module.register_forward_hook(after))
        for name, p in self.model.named_parameters() if self.on else ():
            if p.requires_grad:
                hook = partial(self._accumulated, *name.rpartition(".")[::2])
                self._tensors.append(p.register_post_accumulate_grad_hook(hook))

    def __exit__(self, *_: object) -> None:
        for handle in self._modules:
            handle.remove()
        self._leave_target()
        self._alive.clear()
        self._copies.clear()
        self.run.passed = _numbered(self.run.passed)

    def close(self) -> None:
        """Removes the hooks of tensors: some tensors live longer than the step."""
        for handle in self._tensors:
            handle.remove()

    def _leave_target(self) -> None:
        if self._in_target and self.target is not None:
            self._in_target = False
            self.target.inside.__exit__(None, None, None)

    def _before(self, path: str, module: torch.nn.Module, args: object, kwargs: object) -> None:
        if torch.compiler.is_compiling():
            _compiled_input(path, self.run.passed, module, args, kwargs)
            return
        key = (path, self._calls[path])
        self._calls[path] += 1
        tensors = leaves([args, kwargs])
        for tensor in tensors:
            if (producer := self._producers.get(id(tensor))) is not None:
                self.run.consumers.setdefault(producer, []).append(key)
        caller = self._running[-1][0] if self._running else None
        self.run.passed.append(Observed(*key, "input", [self._copy(t) for t in tensors], caller))
        self._running.append((key, launch_count()))
        if self.target is not None and key == self.target.call:
            self.target.inside.__enter__()
            self._in_target = True

    def _after(self, path: str, module: torch.nn.Module, args: object, output: object) -> None:
        if torch.compiler.is_compiling():
            _compiled_output(path, self.run.passed, module, args, output)
            return
        key, first = self._running.pop()
        while key[0] != path:  # A call that raised an exception, which the program caught.
            key, first = self._running.pop()
        if self.target is not None and key == self.target.call:
            self._leave_target()
        tensors = leaves(output)
        launches = launch_range(first)
        caller = self._running[-1][0] if self._running else None
        copies = [self._copy(t) for t in tensors]
        self.run.passed.append(Observed(*key, "output", copies, caller, launches))
        for i, tensor in enumerate(tensors):
            self._producers.setdefault(id(tensor), key)
            if tensor.requires_grad:
                self._tensors.append(tensor.register_hook(partial(self._arrived, key, i)))

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy of a tensor; the same one if it did not change since."""
        if tensor.is_inference():
            return tensor.detach().clone()
        key = (id(tensor), tensor._version)
        if key not in self._copies:
            self._alive.append(tensor)
            self._copies[key] = tensor.detach().clone()
        return self._copies[key]

    def _accumulated(self, path: str, name: str, parameter: Any) -> None:
        self.run.arrived.append(Observed(path, 0, f"gradient of {name}", [parameter.grad.detach().clone()]))

    def _arrived(self, key: _Call, index: int, gradient: torch.Tensor) -> None:
        what = "gradient of its output" + (f" {index}" if index else "")
        self.run.arrived.append(Observed(*key, what, [gradient.detach().clone()]))


def _compiled_input(path: str, passed: list[Any], module: object, args: object, kwargs: object) -> None:
    """A hook that compiled code can contain."""
    passed.append((path, "input", [t.detach().clone() for t in leaves([args, kwargs])]))


def _compiled_output(path: str, passed: list[Any], module: object, args: object, output: object) -> None:
    """A hook that compiled code can contain."""
    passed.append((path, "output", [t.detach().clone() for t in leaves(output)]))


def _numbered(passed: list[Any]) -> list[Observed]:
    """What hooks saw, with the numbers of calls in compiled code."""
    calls: Counter[tuple[str, str]] = Counter()
    out: list[Observed] = []
    for seen in passed:
        if not isinstance(seen, Observed):
            path, what, tensors = seen
            seen = Observed(path, calls[path, what], what, tensors)
        calls[seen.path, seen.what] += 1
        out.append(seen)
    return out


class Operations(TorchDispatchMode):
    """Keeps the names and results of PyTorch's operations in ``kept``."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: _Results = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        name = f"{function.namespace}.{function.overloadpacket.__name__}"
        self.kept.append((name, [t.detach().clone() for t in leaves(result)]))
        return result


def check(model: torch.nn.Module) -> torch.nn.Module:
    """The module whose hooks are installed.

    Raises `TypeError` if it is no module."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"compare_steps: the model is a {type(model).__name__}, not a torch.nn.Module")
    model = getattr(model, "_orig_mod", model)
    if any(t.is_meta for t in [*model.parameters(), *model.buffers()]):
        raise _native.UnsupportedError("compare_steps: the model has parameters on the device `meta`")
    return model
