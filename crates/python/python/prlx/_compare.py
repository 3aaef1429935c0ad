"""Comparisons of kernels, of configurations, of recordings, and of a kernel with a reference."""

import os
from dataclasses import dataclass

from . import _native, _progress
from ._device import cpu
from ._report import Report


def compare(a, b=None, *, configs=None, arch="sm_90", seed=0, **options):
    """Compares two sides that should agree, and says where and why they differ.

    A side is a function that launches kernels, the path of a launch file, or the path of a recording.
    Functions run on the CPU device, and arrays hold afterwards what they held before. Launches are compared
    one by one in order; the report is of the first that differs.

    configs: instead of ``b``, call ``a(**config)`` for every one of these dictionaries (or
    ``triton.Config``s) and compare all with the first. The result is a :class:`Configurations`.
    rtol, atol, ulp, equal_nan: how far outputs may be apart; by default their bits must be equal.
    level: ``"path"`` (default), ``"events"`` or ``"fingerprint"``.
    check: checks to run on both sides, as ``"all"``.
    strict: count differences in timing and order, too.

    >>> import prlx
    >>> prlx.compare("good.toml", "bad.toml").verdict          # doctest: +SKIP
    'differs'
    """
    if configs is not None:
        return _configurations(a, list(configs), arch=arch, seed=seed, **options)
    if b is None:
        raise TypeError("compare: name two sides, or configs")
    if isinstance(b, against):
        return b.compare(a, arch=arch, seed=seed, **options)
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
    """Runs a function on the CPU device with checks. Returns the findings of all launches; none is raised.

    >>> import prlx
    >>> prlx.check(lambda: None)
    []
    """
    with cpu(arch, check=check, seed=seed, seeds=seeds, collect=True) as device:
        function()
    return device.findings


def record_launches(function, path, *, arch="sm_90", seed=0, level="path"):
    """Records every launch that a function makes on the CPU device, into ``PATH.0.prlx``, ``PATH.1.prlx``, ….
    Returns their paths."""
    import pathlib

    calls, _, restore = _record(function, arch, seed)
    restore()
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


def _record(function, arch, seed):
    """Calls a function on the CPU device. Returns its launches, what it returned, and a function that puts
    back what their arrays held before."""
    calls, memory, owners = [], {}, []

    def before(launch, kernel):
        calls.append(_Call(kernel, launch.snapshot(f"launch {len(calls)}", seed)))
        for key, content in launch.save().items():
            memory.setdefault(key, content)
        owners.append(launch.owners)

    device = cpu(arch, seed=seed)
    device.before_launch = before
    with device:
        returned = function()

    def restore():
        from . import _arrays

        for (address, _), content in memory.items():
            _arrays.put(address, content)
        owners.clear()

    return calls, returned, restore


def _functions(f, g, names, *, arch, seed, **options):
    a, _, restore = _record(f, arch, seed)
    restore()
    b, _, restore = _record(g, arch, seed)
    restore()
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
        labels = tuple(f"{name} launch {i} ({call.kernel})" for name, call in zip(names, (x, y)))
        found = Report(
            _native.compare(x.snapshot, y.snapshot, labels, progress=_progress.callback(), **options)
        )
        found.index = i
        if found.verdict == "differs":
            return found
        if report is None or (report.same and not found.same):
            report = found
    return report


def _listed(calls):
    return ", ".join(call.kernel for call in calls[:8]) + (", …" if len(calls) > 8 else "")


class Configurations(list):
    """The configurations of a kernel, each compared with the first: ``(config, report)`` pairs. ``str()`` is a
    table of verdicts and causes."""

    @property
    def verdict(self):
        """``"differs"`` if one does, else ``"unknown"`` if one is, else ``"same"``."""
        verdicts = [report.verdict for _, report in self]
        return next((v for v in ("differs", "unknown") if v in verdicts), "same")

    def __str__(self):
        rows = [(_text(config), report.verdict, _cause(report)) for config, report in self]
        width = max((len(config) for config, _, _ in rows), default=0)
        lines = [f"reference  {_text(self.reference)}"]
        lines += [f"{config:<{width}}  {verdict:<8}{cause}".rstrip() for config, verdict, cause in rows]
        return "\n".join(lines)


def _configurations(f, configs, **options):
    if len(configs) < 2:
        raise ValueError("configs: name at least two")
    configs = [c.all_kwargs() if hasattr(c, "all_kwargs") else dict(c) for c in configs]
    table = Configurations()
    table.reference = configs[0]
    for config in configs[1:]:
        names = (_text(configs[0]), _text(config))
        report = _functions(lambda: f(**configs[0]), lambda: f(**config), names, **options)
        table.append((config, report))
    return table


def _text(config):
    return " ".join(f"{k}={v}" for k, v in config.items())


def _cause(report):
    """The first cause of a report, in a few words."""
    for cause in report.causes:
        place = next((p.location for p in cause.places if p and p.location), None)
        where = f" at {place.file}:{place.line}" if place else ""
        return f"  {getattr(cause, 'class')}{where}: {cause.what}"
    return ""


class against:
    """A reference to compare a kernel with: ``prlx.compare(f, prlx.against(expected, rtol=1e-5))``.

    ``reference`` is the expected array, or a function without arguments that returns it. ``f`` returns the
    array that its kernels filled. The result is an :class:`Outcome`: which elements are wrong, and if some are,
    what the checks of the same launches find.
    """

    def __init__(self, reference, *, rtol=1e-5, atol=1e-8, equal_nan=False):
        self.reference, self.rtol, self.atol, self.equal_nan = reference, rtol, atol, equal_nan

    def compare(self, function, *, arch="sm_90", seed=0, check="all"):
        import numpy as np

        _, got, restore = _record(function, arch, seed)
        if got is None:
            raise TypeError("against: the function returns the array that its kernels filled")
        got = np.array(got)
        restore()
        want = self.reference() if callable(self.reference) else self.reference
        want = np.asarray(want)
        if got.shape != want.shape:
            raise ValueError(f"against: the kernel gives shape {got.shape}, the reference {want.shape}")
        close = np.isclose(got, want, self.rtol, self.atol, self.equal_nan)
        findings = []
        if not close.all() and check:
            with cpu(arch, check=check, seed=seed, collect=True) as device:
                function()
            findings = device.findings
            restore()
        return Outcome(got, want, ~close, findings)


class Outcome:
    """A kernel's result beside its reference.

    ``wrong`` is the number of wrong elements, ``first`` and ``worst`` are indices, ``mask`` tells them all, and
    ``findings`` are those of the checks.
    """

    def __init__(self, got, want, mask, findings):
        import numpy as np

        self.got, self.want, self.mask, self.findings = got, want, mask, findings
        self.wrong = int(mask.sum())
        self.first = self.worst = None
        if self.wrong:
            self.first = tuple(int(i) for i in np.argwhere(mask)[0])
            with np.errstate(invalid="ignore"):
                apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
            apart = np.where(np.isnan(apart), np.inf, apart) * mask
            self.worst = tuple(int(i) for i in np.unravel_index(int(apart.argmax()), apart.shape))

    @property
    def verdict(self):
        return "differs" if self.wrong else "same"

    def __str__(self):
        if not self.wrong:
            return f"same: all {self.mask.size} elements are within the tolerance"
        lines = [f"differs: {self.wrong} of {self.mask.size} elements are wrong"]
        for what, index in (("first", self.first), ("worst", self.worst)):
            place = ",".join(map(str, index))
            lines.append(f"  {what} [{place}]  got {self.got[index]}  expected {self.want[index]}")
        errors = [f for f in self.findings if f.grade == "error"]
        lines += [f"  checks: {f.kind} at {f.file}:{f.line}: {f.message}" for f in errors]
        if not errors:
            lines.append("  the checks find no error: compare with a kernel that is right to find the line")
        return "\n".join(lines)

    __repr__ = __str__
