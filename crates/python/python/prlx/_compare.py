"""Comparisons of kernels, of configurations and of recordings."""

import os
from dataclasses import dataclass

from . import _arrays, _native, _progress
from ._against import against
from ._configurations import Configurations, words
from ._device import cpu
from ._findings import Findings
from ._report import Report


def compare(a, b=None, *, configs=None, arch="sm_90", seed=0, **options):
    """Compares two sides that should agree, and says where and why they differ.

    A side is a function that launches kernels, the path of a launch file, or the path of a recording.
    Functions run on the CPU device, and arrays hold afterwards what they held before. Launches are compared
    one by one in order; the report is of the first that differs.

    configs: call ``a(**config)`` for every one of these dictionaries (or ``triton.Config``s). Compares all with
    ``b``, which is a function or :class:`prlx.against`; without ``b``, with the first. The result is a
    :class:`Configurations`.
    rtol, atol, ulp, equal_nan: how far outputs may be apart; by default their bits must be equal.
    level: ``"path"`` (default), ``"events"`` or ``"fingerprint"``.
    check: checks to run on both sides, as ``"all"``.
    strict: count differences in timing and order, too.
    max_steps, max_memory, max_printed: limits, as those of :class:`prlx.cpu`.

    >>> import prlx
    >>> prlx.compare("good.toml", "bad.toml").verdict          # doctest: +SKIP
    'differs'
    """
    if configs is not None:
        return _configurations(a, b, list(configs), arch=arch, seed=seed, **options)
    if b is None:
        raise TypeError("compare: name two sides, or configs")
    if isinstance(b, against):
        return _against(a, b, arch=arch, seed=seed, **options)
    if callable(a) != callable(b):
        raise TypeError("compare: both sides are functions, or both are files")
    if callable(a):
        return _functions(a, b, ("A", "B"), arch=arch, seed=seed, **options)
    a, b = os.fspath(a), os.fspath(b)
    if a.endswith(".toml") or b.endswith(".toml"):
        sides = [_native.load(path, seed=seed or None) for path in (a, b)]
        return Report(_native.compare(*sides, (a, b), progress=_progress.callback(), **options))
    return diff(a, b, **options)


def diff(a, b, **options):
    """Compares two recordings, as ``prlx diff`` does: ``kernels``, ``strict``, ``force`` and ``findings`` are
    its options."""
    return Report(_native.diff(os.fspath(a), os.fspath(b), progress=_progress.callback(), **options))


def check(function, *, check="all", arch="sm_90", seed=0, seeds=None):
    """Runs a function on the CPU device with checks. Returns the :class:`Findings` of all launches, and raises
    none. With ``seeds``, different results of two schedules are a finding of kind ``schedule``.

    >>> import prlx
    >>> prlx.check(lambda: None)
    []
    """
    return run_checks(function, check=check, arch=arch, seed=seed, seeds=seeds).findings


def run_checks(function, **options):
    """Runs a function with checks and collects what they find. Returns the device."""
    device = cpu(collect=True, **options)
    with device:
        try:
            function()
        except (_native.KernelFault, _native.KernelStuck):
            # The finding that explains it says more than the exception.
            if not device.findings.errors:
                raise
    return device


def record_launches(function, path, *, arch="sm_90", seed=0, level="path"):
    """Records every launch that a function makes on the CPU device, into ``PATH.0.prlx``, ``PATH.1.prlx``, ….
    Returns their paths. The arrays hold afterwards what they held before."""
    import pathlib

    calls, _ = _record(function, arch, seed)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    files = []
    for i, call in enumerate(calls):
        files.append(path.with_name(f"{path.name}.{i}.prlx"))
        _native.record(call.snapshot, os.fspath(files[-1]), level=level, progress=_progress.callback())
    return files


@dataclass
class _Call:
    kernel: str
    snapshot: object


def _record(function, arch, seed, finish=lambda returned: None, **limits):
    """Calls a function on the CPU device. Returns its launches, and what ``finish`` makes of what it returned.
    The arrays hold afterwards what they held before, even if the function raises an exception."""
    calls, memory, owners = [], {}, []

    def before(launch, kernel):
        calls.append(_Call(kernel, launch.snapshot(f"launch {len(calls)}", seed)))
        for key, content in launch.save().items():
            memory.setdefault(key, content)
        owners.append(launch.owners)

    device = cpu(arch, seed=seed, **limits)
    device.before_launch = before
    try:
        with device:
            returned = function()
        return calls, finish(returned)
    finally:
        for (address, _), content in memory.items():
            _arrays.put(address, content)


def _functions(f, g, names, *, arch, seed, **options):
    limits = {name: options[name] for name in ("max_steps", "max_memory", "max_printed") if name in options}
    a, _ = _record(f, arch, seed, **limits)
    b, _ = _record(g, arch, seed, **limits)
    if not a or not b:
        side = names[0] if not a else names[1]
        raise _native.Error(f"{side} launches no kernel on the CPU device")
    if len(a) != len(b):
        raise _native.Error(
            f"{names[0]} launches {len(a)} kernels ({_listed(a)}), {names[1]} launches {len(b)} ({_listed(b)})\n"
            "help: compare functions that launch the same kernels in the same order"
        )
    report = None
    for i, (x, y) in enumerate(zip(a, b)):
        labels = tuple(_label(name, i, call.kernel) for name, call in zip(names, (x, y)))
        found = Report(
            _native.compare(x.snapshot, y.snapshot, labels, progress=_progress.callback(), **options)
        )
        found.index = i
        if found.verdict == "differs":
            return found
        if report is None or (report.same and not found.same):
            report = found
    return report


def _label(name, i, kernel):
    """The name of a side in a report, which itself calls the sides A and B."""
    return f"launch {i} ({kernel})" if name in ("A", "B") else f"{name} launch {i} ({kernel})"


def _listed(calls):
    return ", ".join(call.kernel for call in calls[:8]) + (", …" if len(calls) > 8 else "")


def _configurations(f, b, configs, **options):
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


def _one(f, config, b, name, options):
    """Compares one configuration with the other side, which is side A of the report."""
    if isinstance(b, against):
        return _against(lambda: f(**config), b, **options)
    return _functions(b, lambda: f(**config), (name, words(config)), **options)


def _against(function, reference, *, arch, seed, check="all", **options):
    """Compares what a function returns with a reference."""
    if options:
        names = ", ".join(options)
        raise TypeError(f"compare: {names} with prlx.against: give tolerances to prlx.against itself")
    _, got = _record(function, arch, seed, reference.copy)

    def findings():
        if not check:
            return Findings()
        calls = []
        _record(lambda: calls.append(run_checks(function, check=check, arch=arch, seed=seed)), arch, seed)
        return calls[0].findings

    return reference.outcome(got, findings)
