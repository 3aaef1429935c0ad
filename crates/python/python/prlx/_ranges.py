"""NVTX ranges that name a PyTorch model's modules, for forward and backward.

Invariants:
- Hooks only push and pop ranges. No tensor is kept, changed, or computed.
- Every range is pushed and popped on one thread.

Limitations: inside of compiled code there are no modules. Kernels that add a gradient to an earlier one of the
same parameter belong to no module. After an exception in a backward pass, a range stays open.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ._tensors import leaves

if TYPE_CHECKING:
    from typing_extensions import Self

_steps = 0


def nvtx() -> Any:
    """NVTX as PyTorch has it; ``None`` without a GPU."""
    return torch.cuda.nvtx if torch.cuda.is_available() else None


@contextlib.contextmanager
def process_range(name: str) -> Iterator[None]:
    """A range of NVTX that includes launches of all threads, as those of the backward pass."""
    ranges = nvtx()
    if ranges is None:
        yield
        return
    number = ranges.range_start(name)
    try:
        yield
    finally:
        ranges.range_end(number)


def next_step() -> str:
    """The name of the next step."""
    global _steps
    _steps += 1
    return f"step {_steps - 1}"


class Annotation:
    """Names of modules around launches, until ``remove()``, or the end of a ``with`` block."""

    def __init__(self, model: torch.nn.Module, operators: bool, ranges: Any = None) -> None:
        """`ranges` has ``range_push`` and ``range_pop``; by default it is NVTX."""
        self._ranges = ranges or nvtx()
        self._handles: list[Any] = []
        self._thread: Any = threading.local()
        self._operators: Any = None
        if self._ranges is None:
            return
        for path, module in model.named_modules():
            if not isinstance(module, torch.jit.ScriptModule):
                path = path.removeprefix("_orig_mod").removeprefix(".") or type(model).__name__
                before, after = partial(self._before, path), partial(self._after, path)
                self._handles.append(module.register_forward_pre_hook(before))
                self._handles.append(module.register_forward_hook(after, always_call=True))
        if operators:
            self._operators = torch.autograd.profiler.emit_nvtx()
            self._operators.__enter__()

    def remove(self) -> None:
        """Removes the hooks of modules. Those of a graph that exists stay until it is freed."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self._operators is not None:
            self._operators.__exit__(None, None, None)
            self._operators = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def _running(self) -> list[tuple[str, int]]:
        """The calls that run on this thread, innermost last: paths, and the first node of the graph."""
        if not hasattr(self._thread, "running"):
            self._thread.running = []
        running: list[tuple[str, int]] = self._thread.running
        return running

    def _before(self, path: str, module: torch.nn.Module, args: object) -> None:
        if torch.compiler.is_compiling():
            return
        self._ranges.range_push(f"{path}, forward")
        self._running().append((path, torch._C._autograd._get_sequence_nr()))

    def _after(self, path: str, module: torch.nn.Module, args: object, output: object) -> None:
        if torch.compiler.is_compiling():
            return
        running = self._running()
        # A call whose hook of another library raised an exception may have none of these hooks.
        while running:
            called, first = running.pop()
            self._ranges.range_pop()
            if called == path:
                self._name_backward(path, output, first)
                return

    def _name_backward(self, path: str, output: object, first: int) -> None:
        """Names the nodes of the graph that a call has made, but for those of calls inside of it."""
        nodes = [t.grad_fn for t in leaves(output) if t.grad_fn is not None]
        seen = set(nodes)
        while nodes:
            node = nodes.pop()
            # A gradient's accumulation takes the gradient's memory if nothing else refers to it: no hooks.
            if node._sequence_nr() < first or node.name() == "torch::autograd::AccumulateGrad":
                continue
            if "prlx" not in node.metadata:
                node.metadata["prlx"] = path
                node.register_prehook(partial(_push, self._ranges, f"{path}, backward"))
                node.register_hook(partial(_pop, self._ranges))
            more = {next for next, _ in node.next_functions if next is not None} - seen
            seen |= more
            nodes += more


def _push(ranges: Any, name: str, gradients: object) -> None:
    ranges.range_push(name)


def _pop(ranges: Any, inputs: object, outputs: object) -> None:
    ranges.range_pop()
