"""The CPU device as a context: inside of it, launches of Triton, Numba and :class:`prlx.Kernel` run without a
GPU, on the memory of NumPy arrays and CPU tensors.

Invariants:
- Contexts nest; the innermost one of a thread or an asyncio task runs its launches. A thread that entered none
  uses the innermost one of the main thread, or else the one that was entered last.
- A launch is complete when the call returns.

Limitations: launches on one device run one after the other. Pointers inside of memory, as in a list of
addresses, mean nothing on the CPU device.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from . import _arrays, _native
from ._findings import CheckError, Finding, Findings, LaunchFindings, PlainText, Place

if TYPE_CHECKING:
    from types import FrameType

    from typing_extensions import Self

    from .typing import Arch, Checks, Json, Size, TextOutput

    # The sizes of a grid, a CTA or a cluster.
    _Sizes = tuple[int, int, int]
    # What memory of arrays held, by its address and size.
    _Saved = dict[tuple[int, int], bytes]
    # An argument of a launch, and the object that owns its memory.
    _Passed = tuple[_native.Array | _native.Scalar | _native.TensorMap, object]

# The devices that this thread or asyncio task has entered, the innermost one last.
_stack: ContextVar[tuple[cpu, ...]] = ContextVar("prlx_devices", default=())
# The devices that any thread has entered, each with whether that was the main thread.
_entered: list[tuple[cpu, bool]] = []
_lock = threading.RLock()

# Packages whose frames stand between a program and a launch.
_OWN = ("prlx", "triton", "numba")

# The GPUs that kernels can be compiled for.
_ARCHITECTURES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)


def current() -> cpu | None:
    """The innermost CPU device, or ``None`` outside of every ``with prlx.cpu()``."""
    for device in reversed(_stack.get()):
        if device.is_entered():
            return device
    entered = list(_entered)
    of_main = [device for device, main in entered if main]
    return of_main[-1] if of_main else entered[-1][0] if entered else None


class cpu:
    """Runs kernel launches on the CPU device.

    arch: the GPU to compile for, as ``"sm_90"``.
    check: ``"all"``, or names of checks with commas (``"race,bounds"``; see ``prlx run --help``).
    seed: the schedule. Seed 0 runs warps in order; every other seed interleaves them differently.
    seeds: run every launch under all of these schedules (as ``range(20)``) and compare what they leave.
    collect: keep errors that checks find in ``findings`` instead of raising :class:`prlx.CheckError`. With
    ``seeds``, different results are a finding, too.
    max_steps: instructions that one CTA may execute before it counts as stuck.
    max_memory: bytes of arrays and of what checks note.
    max_printed: bytes of text that a launch may print.
    threads: threads of the host that run CTAs under seed 0; by default all, where their order cannot matter, and
    one with ``seeds``.
    stdout: where text that kernels print goes; by default ``sys.stdout``.

    After the block, ``findings`` has the findings of all launches, ``launches`` their number and
    ``warp_instructions`` what they executed.

    >>> import prlx
    >>> with prlx.cpu(check="all", collect=True) as device:
    ...     pass
    >>> device.findings
    []
    """

    def __init__(
        self,
        arch: Arch = "sm_90",
        *,
        check: Checks | Literal[False] | None = None,
        seed: SupportsIndex = 0,
        seeds: Iterable[SupportsIndex] | None = None,
        collect: bool = False,
        max_steps: SupportsIndex | None = None,
        max_memory: SupportsIndex | None = None,
        max_printed: SupportsIndex | None = None,
        threads: SupportsIndex | None = None,
        stdout: TextOutput | None = None,
    ) -> None:
        self.arch = architecture(arch)
        self.check = check_names(check)
        self.seed = _count("seed", seed)
        self.seeds = None if seeds is None else [_count("seeds", n) for n in seeds]
        if self.seeds == []:
            raise ValueError("seeds: name at least one schedule")
        self.collect = collect
        self.stdout = stdout
        self.findings = Findings()
        self.launches = 0
        self.warp_instructions = 0
        # Called with every launch before it runs.
        self.before_launch: Callable[[Launch, str], object] | None = None
        # Threads and tasks that are inside of a `with` of this device.
        self._entries = 0
        self._running = threading.RLock()
        given = {"max_steps": max_steps, "max_memory": max_memory, "max_printed": max_printed}
        limits = {name: _count(name, n) for name, n in given.items() if n is not None}
        if threads is not None:
            limits["threads"] = _count("threads", threads)
        elif self.seeds is not None:
            # On several threads, CTAs that race leave something else each time under seed 0 as well.
            limits["threads"] = 1
        self._native = _native_device(self.check, limits)

    def __enter__(self) -> Self:
        from . import _integrations

        with _lock:
            if not _entered:
                _integrations.enable()
            _entered.append((self, threading.current_thread() is threading.main_thread()))
            self._entries += 1
            _stack.set((*_stack.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        from . import _integrations

        with _lock:
            _stack.set(_without_last(_stack.get(), self))
            at = max(i for i, (device, _) in enumerate(_entered) if device is self)
            del _entered[at]
            self._entries -= 1
            if not _entered:
                _integrations.disable()

    def is_entered(self) -> bool:
        """Whether a thread or a task is inside of a ``with`` of this device."""
        return self._entries > 0

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Launches inside of this block only try something: they are not recorded, and the arrays hold
        afterwards what they held before."""
        memory: _Saved = {}
        owners, recording = [], self.before_launch

        def before(launch: Launch, kernel: str) -> None:
            owners.append(launch.owners)
            for key, content in launch.save().items():
                memory.setdefault(key, content)

        self.before_launch = before
        try:
            yield
        finally:
            self.before_launch = recording
            for (address, _), content in memory.items():
                _arrays.put(address, content)

    def run(self, launch: Launch, kernel: str) -> _native.Run:
        """Runs a launch; reports call its kernel ``kernel``."""
        with self._running:
            if self.before_launch is not None:
                self.before_launch(launch, kernel)
            self.launches += 1
            try:
                if self.seeds is None:
                    return self._run(launch, kernel)
                return self._run_seeds(launch, kernel, self.seeds)
            except CheckError:
                raise  # Its text has the place.
            except _native.Error as error:
                _add_note(error, launch_place())
                raise

    def _run(self, launch: Launch, kernel: str) -> _native.Run:
        run = self._execute(launch, self.seed)
        # A fault stops the kernel; an error that a check found before may be its cause.
        if self.check:
            self._keep(run, kernel, self.seed)
        run.raise_fault()
        return run

    def _execute(self, launch: Launch, seed: int) -> _native.Run:
        """Runs a launch under a schedule, and prints what it prints."""
        run = self._native.run(launch.native, seed)
        self.warp_instructions += run.warp_instructions
        if run.printed:
            print(run.printed, end="", file=self.stdout or sys.stdout)
        if run.printed_limit:
            print(f"prlx: {run.printed_limit}", file=sys.stderr)
        return run

    def _keep(self, made: _native.Run | _native.ScheduleChecks, kernel: str, seed: int) -> None:
        """Keeps what the checks found. Raises errors, unless they are collected."""
        found = LaunchFindings.of_run(made, kernel, seed, launch_place())
        if found.findings:
            self.findings.add(found)
        if not self.collect and any(f.grade == "error" for f in found.findings):
            raise CheckError(Findings([found]))

    def _run_seeds(self, launch: Launch, kernel: str, seeds: list[int]) -> _native.Run:
        before = launch.save()
        joined = _native.ScheduleChecks()
        first: tuple[int, _Saved] | None = None
        error: ScheduleError | None = None
        try:
            for seed in seeds:
                launch.restore(before)
                run = self._execute(launch, seed)
                if self.check:
                    joined.add(run, seed)
                    if run.errors() and not self.collect:
                        break
                run.raise_fault()
                after = launch.save()
                if first is None:
                    first = (seed, after)
                elif after != first[1] and error is None:
                    error = ScheduleError(kernel, first[0], seed, launch.changed(first[1], after))
                    if not self.collect:
                        raise error
        finally:
            if self.check:
                self._keep(joined, kernel, seeds[0])
        if error is not None:
            self._differs(error)
        return run  # There is at least one schedule.

    def _differs(self, error: ScheduleError) -> None:
        """Keeps that two schedules leave different results."""
        what, _, help = str(error).partition("\nhelp: ")
        data: Json = {"kind": "schedule", "grade": "error", "what": what, "help": help, "sides": []}
        data |= {"seeds": list(error.seeds), "arrays": error.arrays}
        text = f"error[schedule]: {what}\n  help: {help}\n"
        plain, (_, seed) = PlainText(text), error.seeds
        found = LaunchFindings(error.kernel, {"findings": [data]}, plain, seed, launch_place())
        self.findings.add(found)


def launch_place() -> Place | None:
    """The file and line of the program that makes the running launch: the innermost frame outside of this package
    and of the libraries whose launches it redirects."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _library(frame) in _OWN:
        frame = frame.f_back
    return None if frame is None else Place(frame.f_code.co_filename, frame.f_lineno)


def _library(frame: FrameType) -> str:
    """The package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _add_note(error: BaseException, place: Place | None) -> None:
    """Adds the place of a launch to an error. A traceback shows it, from Python 3.11 on."""
    if place is not None:
        error.__notes__ = [*getattr(error, "__notes__", ()), f"launched at {place}"]


def _without_last(stack: tuple[cpu, ...], device: cpu) -> tuple[cpu, ...]:
    """A stack without the last entry of a device."""
    at = max((i for i, entry in enumerate(stack) if entry is device), default=len(stack))
    return stack[:at] + stack[at + 1 :]


class ScheduleError(_native.Error):
    """Two schedules of one launch leave different results."""

    def __init__(self, kernel: str, a: int, b: int, arrays: list[str]) -> None:
        super().__init__(
            f"{kernel} leaves other results under seed {b} than under seed {a}, in {', '.join(arrays)}\n"
            f"help: prlx.compare(function, seeds=[{a}, {b}]) says why"
        )
        self.kernel = kernel
        self.seeds = (a, b)
        self.arrays = arrays

    def __reduce__(self) -> tuple[Any, ...]:
        return ScheduleError, (self.kernel, *self.seeds, self.arrays)


class Launch:
    """A launch of a kernel on arrays: what the integrations make of a call."""

    def __init__(
        self,
        module: _native.Module,
        kernel: str,
        grid: _Sizes,
        block: _Sizes,
        arguments: Sequence[_Passed],
        *,
        cluster: _Sizes = (1, 1, 1),
        shared: int = 0,
        contract: bool = True,
    ) -> None:
        # Objects that own memory, by the names of the arguments.
        self.owners = [owner for _, owner in arguments if owner is not None]
        natives = [native for native, _ in arguments]
        self.arrays = [
            n.array if isinstance(n, _native.TensorMap) else n
            for n in natives
            if isinstance(n, (_native.Array, _native.TensorMap))
        ]
        self.kernel = kernel
        self.native = _native.Launch(
            module, kernel, grid, block, cluster, shared, natives, self.owners, contract
        )

    def snapshot(self, name: str, seed: int) -> _native.Snapshot:
        """The launch with what its arrays hold now."""
        return self.native.snapshot(_arrays.content, name, seed)

    def save(self) -> _Saved:
        """What the memory of all arrays holds, by its address and size."""
        return {memory: _arrays.content(*memory) for memory in {a.memory for a in self.arrays}}

    def restore(self, saved: _Saved) -> None:
        """Puts back what :meth:`save` returned."""
        for (address, _), content in saved.items():
            _arrays.put(address, content)

    def changed(self, a: _Saved, b: _Saved) -> list[str]:
        """Names of the arrays whose memory differs between two results of :meth:`save`."""
        return list(dict.fromkeys(x.name for x in self.arrays if a[x.memory] != b[x.memory]))


def dim(size: Size) -> _Sizes:
    """The three sizes of a grid or a CTA, given as a number or as up to three."""
    sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if not 1 <= len(sizes) <= 3:
        raise _native.LaunchError(f"{size!r} is no size of a grid or a CTA: it has one to three numbers")
    try:
        numbers = tuple(map(operator.index, sizes))
    except TypeError:
        raise _native.LaunchError(f"{size!r} is no size of a grid or a CTA: its parts are integers") from None
    if any(not 0 <= n < 1 << 32 for n in numbers):
        raise _native.LaunchError(f"{size!r} is no size of a grid or a CTA: its parts are from 0 to 2**32 - 1")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def _count(name: str, value: SupportsIndex) -> int:
    """A number that is not negative and has at most 64 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is no integer") from None
    if not 0 <= number < 1 << 64:
        raise ValueError(f"{name}: {number} is not from 0 to 2**64 - 1")
    return number


def check_names(check: object) -> str | None:
    """Names of checks with commas, or ``None``."""
    if check is None or check is False:
        return None
    if isinstance(check, (list, tuple, set, frozenset)):
        check = ",".join(map(str, check))
    if not isinstance(check, str):
        raise TypeError(f'check: {check!r} names no checks: use "all", or names as "race,bounds"')
    return check or None


def _native_device(check: str | None, limits: dict[str, int]) -> _native.Device:
    try:
        return _native.Device(check=check, **limits)
    except _native.Error as e:
        raise ValueError(f"check: {check!r} names no checks: use {e}") from None


def architecture(arch: Arch) -> int:
    """The number in ``"sm_90"``, ``"sm_90a"`` or ``90``."""
    digits = str(arch).removeprefix("sm_").rstrip("af")
    if digits.isdigit() and int(digits) in _ARCHITECTURES:
        return int(digits)
    names = ", ".join(f"sm_{n}" for n in _ARCHITECTURES)
    raise ValueError(f"arch: {arch!r} is no architecture: use one of {names}")
