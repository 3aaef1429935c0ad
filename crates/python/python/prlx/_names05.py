"""Names of PRLX 0.5 for programs that record themselves: `enable`, `enable_pytorch`, `session`,
`pytorch_trace`.

PRLX 0.5 instrumented kernels from inside of the process. Now `prlx record` does, from outside: a process that
it started is recorded from the beginning, and these names have little to do. Elsewhere, the CPU device
records.

Limitations: a process on a GPU that `prlx record` did not start cannot be recorded; the error says so. Ranges
are not part of a recording: `Range.launches` has the numbers for `--launch`.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _native, _progress
from ._device import cpu, current
from ._launches import launch_count, launch_range

if TYPE_CHECKING:
    from ._device import Launch
    from ._launches import _LaunchRange
    from .typing import Arch, Level, Path


def enable() -> None:
    """Returns if the kernels of this process are recorded or run on the CPU device.

    Raises :class:`prlx.UnsupportedError` otherwise: recording begins with the process."""
    _require("enable")


def integrate_with_triton() -> None:
    """The same as :func:`enable`."""
    _require("integrate_with_triton")


def enable_pytorch() -> None:
    """The same as :func:`enable`: `prlx record` sees what PyTorch, Triton and extensions launch."""
    _require("enable_pytorch")


def _require(name: str) -> None:
    if launch_count() is None and current() is None:
        script = sys.argv[0] or "script.py"
        raise _native.UnsupportedError(
            f"{name}: PRLX cannot record the kernels of a process that has already started\n"
            f"help: `prlx record -o run -- python {script}` records it on a GPU; inside of `with prlx.cpu():` "
            "kernels run without a GPU"
        )


@dataclass
class Range:
    """A part of a program: its name, and the first and last of its launches in `prlx record`."""

    name: str
    launches: _LaunchRange | None = None


@contextlib.contextmanager
def pytorch_trace(name: str) -> Iterator[Range]:
    """A named part of a program: a range of NVTX if PyTorch uses a GPU, and a range of PyTorch's profiler.
    The range of NVTX includes launches of all threads, as those of the backward pass.

    Gives a :class:`Range`, whose launches are known when the part has ended.

    >>> import prlx
    >>> with prlx.pytorch_trace("step") as step:
    ...     pass
    >>> step.name
    'step'
    """
    torch = sys.modules.get("torch")
    part, first = Range(name), launch_count()
    with contextlib.ExitStack() as stack:
        if torch is not None:
            stack.enter_context(torch.profiler.record_function(name))
            from . import _ranges

            stack.enter_context(_ranges.process_range(name))
        try:
            yield part
        finally:
            part.launches = launch_range(first)


@contextlib.contextmanager
def session(path: Path, *, arch: Arch = "sm_90", level: Level = "path") -> Iterator[Range]:
    """Records every launch inside, on the CPU device, into files of the folder ``path``: ``0.KERNEL.prlx``
    and so on.

    Under `prlx record`, launches go to its recording, and nothing is written to ``path``. Gives a
    :class:`Range`.
    """
    first = launch_count()
    part = Range(os.fspath(path))
    if first is not None:
        try:
            yield part
        finally:
            part.launches = launch_range(first)
        return
    os.makedirs(path, exist_ok=True)
    if os.listdir(path):
        raise _native.FileError(f"session: the folder {path} is not empty")
    device = cpu(arch)
    count = 0

    def before(launch: Launch, kernel: str) -> None:
        nonlocal count
        file = os.path.join(path, f"{count}.{re.sub(r'[^A-Za-z0-9_.-]+', '_', kernel)[:64]}.prlx")
        snapshot = launch.snapshot(f"launch {count}", device.seed)
        _native.record(snapshot, file, level=level, progress=_progress.callback())
        count += 1

    device.before_launch = before
    with device:
        yield part
    part.launches = (0, count - 1) if count else None
