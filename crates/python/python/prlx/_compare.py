"""Comparisons of kernels, of configurations and of recordings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from . import _arrays, _native, _progress
from ._against import Outcome, Outcomes, against
from ._configurations import Configurations, words
from ._device import check_names, cpu
from ._findings import Findings
from ._report import Report

if TYPE_CHECKING:
    import pathlib

    from typing_extensions import Unpack

    from ._device import Launch, _Saved
    from .typing import AgainstOptions, Arch, Array, Checks, CompareOptions, Configs, DiffOptions, FileOptions
    from .typing import Launches, Level, Path


@overload
def compare(
    a: Launches,
    b: Launches,
    *,
    configs: None = None,
    arch: Arch = "sm_90",
    seed: int = 0,
    seeds: None = None,
    **options: Unpack[CompareOptions],
) -> Report: ...
@overload
def compare(
    a: Launches,
    *,
    configs: None = None,
    arch: Arch = "sm_90",
    seeds: Iterable[int],
    **options: Unpack[CompareOptions],
) -> Report: ...
@overload
def compare(
    a: Path, b: Path, *, configs: None = None, seed: int = 0, **options: Unpack[FileOptions]
) -> Report: ...
@overload
def compare(
    a: Callable[[], Array],
    b: against,
    *,
    configs: None = None,
    arch: Arch = "sm_90",
    seed: int = 0,
    **options: Unpack[AgainstOptions],
) -> Outcome: ...
@overload
def compare(
    a: Callable[[], Mapping[Any, Any] | list[Any] | tuple[Any, ...]],
    b: against,
    *,
    configs: None = None,
    arch: Arch = "sm_90",
    seed: int = 0,
    **options: Unpack[AgainstOptions],
) -> Outcomes: ...
@overload
def compare(
    a: Callable[..., Array],
    b: against,
    *,
    configs: Configs,
    arch: Arch = "sm_90",
    seed: int = 0,
    **options: Unpack[AgainstOptions],
) -> Configurations[Outcome]: ...
@overload
def compare(
    a: Callable[..., Mapping[Any, Any] | list[Any] | tuple[Any, ...]],
    b: against,
    *,
    configs: Configs,
    arch: Arch = "sm_90",
    seed: int = 0,
    **options: Unpack[AgainstOptions],
) -> Configurations[Outcomes]: ...
@overload
def compare(
    a: Callable[..., object],
    b: Launches | None = None,
    *,
    configs: Configs,
    arch: Arch = "sm_90",
    seed: int = 0,
    **options: Unpack[CompareOptions],
) -> Configurations[Report]: ...
def compare(
    a: Callable[..., Any] | Path,
    b: Callable[..., Any] | Path | against | None = None,
    *,
    configs: Configs | None = None,
    arch: Arch = "sm_90",
    seed: int = 0,
    seeds: Iterable[int] | None = None,
    **options: Any,
) -> Report | Outcome | Outcomes | Configurations[Any]:
    """Compares two sides that should agree, and says where and why they differ.

    A side is a function that launches kernels, the path of a launch file, or the path of a recording.
    Functions run on the CPU device, and arrays hold afterwards what they held before. Launches are compared
    one by one in order; the report is of the first that differs.

    configs: call ``a(**config)`` for every one of these dictionaries (or ``triton.Config``s). Compares all with
    ``b``, which is a function or :class:`prlx.against`; without ``b``, with the first. The result is a
    :class:`Configurations`.
    arch, seed: the GPU to compile for, and the schedule of functions and launch files.
    seeds: run the function ``a`` under all of these schedules (as ``range(20)``), and compare the first of them with
        the first that leaves another result; without any, with the last. There is no ``b`` then.
    rtol, atol, ulp, equal_nan: how far outputs may be apart; by default their bits must be equal.
    level: what is recorded of both sides: ``"path"`` (default), ``"values"``, ``"events"``, ``"operands"`` or
        ``"fingerprint"``.
    check: checks to run on both sides, as ``"all"``. With :class:`prlx.against`, ``"all"`` is the default.
    strict: count differences in timing and order, too.
    findings: number of findings of each launch in the report (default 8).
    explain: run both sides again to find why outputs differ (default).
    zoom: record both sides again around the first findings (default).
    gpu: run both sides on a GPU.
    max_steps, max_memory, max_printed: limits, as those of :class:`prlx.cpu`.
    kernels, force: of recordings, as those of :func:`prlx.diff`.

    >>> import prlx
    >>> prlx.compare("good.toml", "bad.toml").verdict          # doctest: +SKIP
    'differs'
    """
    if "check" in options:
        options["check"] = check_names(options["check"])
    if seeds is not None:
        if not callable(a) or b is not None or configs is not None:
            raise TypeError("compare: seeds are of one function, without another side or configs")
        return _schedules(a, list(seeds), arch=arch, **options)
    if configs is not None:
        if not callable(a):
            raise TypeError("compare: with configs, side A is a function")
        return _configurations(a, b, list(configs), arch=arch, seed=seed, **options)
    if b is None:
        raise TypeError("compare: name two sides, or configs")
    if isinstance(b, against):
        if not callable(a):
            raise TypeError("compare: a reference needs a function that returns the array of its kernels")
        return _against(a, b, arch=arch, seed=seed, **options)
    if callable(a) and callable(b):
        return _functions(a, b, ("A", "B"), arch=arch, seed=seed, **options)
    if callable(a) or callable(b):
        raise TypeError("compare: both sides are functions, or both are files")
    a, b = os.fspath(a), os.fspath(b)
    if a.endswith(".toml") or b.endswith(".toml"):
        x, y = (_native.load(path, seed=seed or None) for path in (a, b))
        return Report(_native.compare(x, y, (a, b), progress=_progress.callback(), **options))
    return diff(a, b, **options)


def diff(a: Path, b: Path, **options: Unpack[DiffOptions]) -> Report:
    """Compares two recordings, as ``prlx diff`` does.

    kernels: compare only kernels whose names match one of these (``*`` and ``?`` match).
    strict: count differences in timing and order, too.
    force: match launches of kernels with different names, too.
    findings: number of findings of each launch in the report (default 8).
    """
    return Report(_native.diff(os.fspath(a), os.fspath(b), progress=_progress.callback(), **options))


def check(
    function: Launches,
    *,
    check: Checks = "all",
    arch: Arch = "sm_90",
    seed: int = 0,
    seeds: Iterable[int] | None = None,
) -> Findings:
    """Runs a function on the CPU device with checks. Returns the :class:`Findings` of all launches, and raises
    none. With ``seeds``, different results of two schedules are a finding of kind ``schedule``.

    >>> import prlx
    >>> prlx.check(lambda: None)
    []
    """
    return run_checks(function, check=check, arch=arch, seed=seed, seeds=seeds).findings


def run_checks(function: Launches, *, restore: bool = False, **options: Any) -> cpu:
    """Runs a function with checks and collects what they find. Returns the device. With ``restore``, the arrays hold
    afterwards what they held before."""
    device = cpu(collect=True, **options)
    with device, device.trial() if restore else contextlib.nullcontext():
        try:
            function()
        except (_native.KernelFault, _native.KernelStuck):
            # The finding that explains it says more than the exception.
            if not device.findings.errors:
                raise
    return device


def record_launches(
    function: Launches, path: Path, *, arch: Arch = "sm_90", seed: int = 0, level: Level = "path"
) -> list[pathlib.Path]:
    """Records every launch that a function makes on the CPU device, into ``PATH.0.prlx``, ``PATH.1.prlx``, ….
    Returns their paths. The arrays hold afterwards what they held before."""
    import pathlib

    calls, _ = record_calls(function, arch, seed)
    first = pathlib.Path(path)
    first.parent.mkdir(parents=True, exist_ok=True)
    files: list[pathlib.Path] = []
    for i, call in enumerate(calls):
        files.append(first.with_name(f"{first.name}.{i}.prlx"))
        _native.record(call.snapshot, os.fspath(files[-1]), level=level, progress=_progress.callback())
    return files


@dataclass
class _Call:
    kernel: str
    snapshot: _native.Snapshot


def record_calls(
    function: Callable[[], Any],
    arch: Arch,
    seed: int,
    finish: Callable[[Any], Any] = lambda returned: None,
    *,
    calls: list[_Call] | None = None,
    **limits: Any,
) -> tuple[list[_Call], Any]:
    """Calls a function on the CPU device. Returns its launches, also in ``calls``, and what ``finish`` makes of
    what it returned. The arrays hold afterwards what they held before, even if the function raises an
    exception."""
    calls = [] if calls is None else calls
    memory: _Saved = {}
    owners = []

    def before(launch: Launch, kernel: str) -> None:
        calls.append(_Call(kernel, launch.snapshot(f"launch {len(calls)}", seed)))
        for key, content in launch.save().items():
            memory.setdefault(key, content)
        owners.append(launch.owners)

    device = cpu(arch, seed=seed, threads=1, **limits)
    device.before_launch = before
    try:
        with device:
            returned = function()
        return calls, finish(returned)
    finally:
        for (address, _), content in memory.items():
            _arrays.put(address, content)


def limits_of(options: dict[str, Any]) -> dict[str, Any]:
    """The limits of the CPU device among options."""
    return {name: options[name] for name in ("max_steps", "max_memory", "max_printed") if name in options}


def _schedules(f: Launches, seeds: list[int], *, arch: Arch, **options: Any) -> Report:
    """Compares two schedules of a function: the first, and one that leaves another result if there is one."""
    if len(seeds) < 2:
        raise ValueError("seeds: name at least two schedules")
    other = seeds[-1]
    try:
        device = run_checks(f, restore=True, check=None, arch=arch, seeds=seeds, **limits_of(options))
        other = next((x.seeds[1] for x in device.findings.errors if x.kind == "schedule"), other)
    except (_native.KernelFault, _native.KernelStuck):
        stops = {seed: _until_fault(f, arch, seed, **limits_of(options))[1] for seed in seeds}
        other = next((s for s in seeds if (stops[s] is None) != (stops[seeds[0]] is None)), other)
    names = (f"seed {seeds[0]}", f"seed {other}")
    return _functions(f, f, names, arch=arch, seed=(seeds[0], other), **options)


def _functions(
    f: Launches,
    g: Launches,
    names: tuple[str, str],
    *,
    arch: Arch,
    seed: int | tuple[int, int],
    **options: Any,
) -> Report:
    limits, seeds = limits_of(options), seed if isinstance(seed, tuple) else (seed, seed)
    sides = zip((f, g), seeds)
    (a, stop_a), (b, stop_b) = (_until_fault(side, arch, one, **limits) for side, one in sides)
    stop = stop_a or stop_b
    if not a or not b:
        side = names[0] if not a else names[1]
        raise _native.Error(f"{side} launches no kernel on the CPU device")
    if len(a) != len(b) and stop is None:
        raise _native.Error(
            f"{names[0]} launches {len(a)} kernels ({_listed(a)}), {names[1]} launches {len(b)} ({_listed(b)})\n"
            "help: compare functions that launch the same kernels in the same order"
        )
    report: Report | None = None
    for i, (x, y) in enumerate(zip(a, b)):
        labels = (_label(names[0], i, x.kernel), _label(names[1], i, y.kernel))
        found = Report(
            _native.compare(x.snapshot, y.snapshot, labels, progress=_progress.callback(), **options)
        )
        found.index = i
        if found.verdict == "differs":
            return found
        if report is None or (report.same and not found.same):
            report = found
    if stop is not None:
        # Both sides stop there, or one of them in a launch that the other never makes.
        raise stop
    assert report is not None  # Both sides have launches.
    return report


def _until_fault(
    function: Launches, arch: Arch, seed: int, **limits: Any
) -> tuple[list[_Call], Exception | None]:
    """The launches of a function up to the one that faults or never ends, and that error."""
    calls: list[_Call] = []
    try:
        record_calls(function, arch, seed, calls=calls, **limits)
    except (_native.KernelFault, _native.KernelStuck) as error:
        return calls, error
    return calls, None


def _label(name: str, i: int, kernel: str) -> str:
    """The name of a side in a report, which itself calls the sides A and B."""
    return f"launch {i} ({kernel})" if name in ("A", "B") else f"{name} launch {i} ({kernel})"


def _listed(calls: list[_Call]) -> str:
    return ", ".join(call.kernel for call in calls[:8]) + (", …" if len(calls) > 8 else "")


def _configurations(f: Callable[..., Any], b: Any, configs: list[Any], **options: Any) -> Configurations[Any]:
    if len(configs) < (2 if b is None else 1):
        raise ValueError("configs: name at least two, or a side to compare them with")
    if b is not None and not isinstance(b, against) and not callable(b):
        raise TypeError("compare: with configs, the other side is a function or prlx.against(…)")
    configs = [c.all_kwargs() if hasattr(c, "all_kwargs") else dict(c) for c in configs]
    if b is None:
        (first, *rest), name = configs, words(configs[0])
        return Configurations(first, [(c, _one(f, c, lambda: f(**first), name, options)) for c in rest])
    if isinstance(b, against):
        b = b.evaluated()
    name = "the reference" if isinstance(b, against) else getattr(b, "__name__", "the other side")
    return Configurations(name, [(c, _one(f, c, b, name, options)) for c in configs])


def _one(f: Callable[..., Any], config: dict[str, Any], b: Any, name: str, options: dict[str, Any]) -> Any:
    """Compares one configuration with the other side, which is side A of the report."""
    if isinstance(b, against):
        return _against(lambda: f(**config), b, **options)
    return _functions(b, lambda: f(**config), (name, words(config)), **options)


def _against(
    function: Callable[[], Any],
    reference: against,
    *,
    arch: Arch,
    seed: int,
    check: Any = "all",
    **options: Any,
) -> Outcome | Outcomes:
    """Compares what a function returns with a reference."""
    if options:
        names = ", ".join(options)
        raise TypeError(f"compare: {names} with prlx.against: give tolerances to prlx.against itself")
    _, got = record_calls(function, arch, seed, reference.copy)

    def findings() -> Findings:
        if not check:
            return Findings()
        return run_checks(function, restore=True, check=check, arch=arch, seed=seed).findings

    return reference.outcome(got, findings)
