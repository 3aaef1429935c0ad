"""From the launches of two set-ups to the first pair that differs, and its cause.

A :class:`Window` is open while the code runs whose launches matter, as a call of a module. On the CPU device it
keeps every launch with what its arrays hold. On a GPU it is an NVTX range, whose launches `prlx record
--capture` copies to files. Both sides' launches are then paired, and compared one by one.

Invariants:
- Launches pair by kernel and order. Kernels between two pairs that have other names, but are as many, pair too.
- Only comparisons run anything; the program's memory stays as it is.

Limitations: kernels without PTX, as those of ATen and cuBLAS, are not captured. At most `_MOST` launches of a
side are kept on the CPU device.
"""

from __future__ import annotations

import difflib
import glob
import json
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from . import _native, _progress
from ._device import cpu, current, launch_place
from ._findings import Finding, Place
from ._launches import launch_count
from ._report import Report

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._device import Launch

    # What the sides compare: a launch with its arrays, or the folder of a captured one.
    _Content: TypeAlias = _native.Snapshot | str

# The NVTX range around the launches whose cause is wanted.
RANGE = "prlx cause"
# Launches of a side that are kept on the CPU device: each has a copy of its arrays.
_MOST = 256
# Launches without a partner that are checked.
_CHECKED = 4
# Causes of a launch that a report lists.
_CAUSES = 3


@dataclass
class Launched:
    """A launch of one side."""

    # Its number: in the process on a GPU, in the window on the CPU device.
    number: int
    kernel: str
    content: _Content
    # The line of the program that made it, if that is known.
    place: str | None = None

    def __str__(self) -> str:
        return f"launch {self.number} ({self.kernel})" + (f" at {self.place}" if self.place else "")


@dataclass
class LaunchCause:
    """The first launch that differs between two set-ups, and why."""

    # By set-up: the launch. One set-up alone if the other one has no launch to compare it with.
    launches: dict[str, str] = field(default_factory=dict)
    # The causes: class, file, line, what differs there, and the lines of code. A is the reference.
    causes: list[dict[str, Any]] = field(default_factory=list)
    # What the reader should know: why there is no cause, and what to do.
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Lines of a report, in two columns."""
        sides = ("A, ", "B, ") if len(self.launches) == 2 else ("",)
        named = zip(sides, self.launches.items())
        out = [f"launch     {side}{name}: {launch}" for side, (name, launch) in named]
        for cause in self.causes:
            at = f" at {Place(cause['file'], cause['line'])}" if cause["file"] else ""
            out.append(f"cause      {cause['class']}{at}: {cause['what']}")
            out += [f"           {line}" for line in cause["code"]]
        return out + [f"cause      {note}" for note in self.notes]


class Window:
    """Keeps the launches that happen while it is entered. It may be entered more than once."""

    # What a reader can do if the window cannot keep launches.
    help: str | None = None

    def __init__(self) -> None:
        self.launches: list[Launched] = []
        # Launches that happened, but were not kept.
        self.missed = 0
        self._depth = 0

    def __enter__(self) -> Self:
        self._depth += 1
        if self._depth == 1:
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._close()

    def _open(self) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError


class DeviceWindow(Window):
    """Keeps launches of the CPU device."""

    def __init__(self, device: cpu) -> None:
        super().__init__()
        self._device = device
        self._before: Callable[[Launch, str], object] | None = None

    def _open(self) -> None:
        self._before = self._device.before_launch
        self._device.before_launch = self._keep

    def _close(self) -> None:
        self._device.before_launch = self._before

    def _keep(self, launch: Launch, kernel: str) -> None:
        if self._before is not None:
            self._before(launch, kernel)
        number = len(self.launches) + self.missed
        if len(self.launches) >= _MOST:
            self.missed += 1
            return
        place = launch_place()
        snapshot = launch.snapshot(f"launch {number}", self._device.seed)
        self.launches.append(Launched(number, kernel, snapshot, str(place) if place else None))


class CaptureWindow(Window):
    """Finds the launches that `prlx record --capture` copies to files while the window is open.

    start, end: begin and end an NVTX range that contains the launches of all threads; `wait` waits for the GPU.
    """

    def __init__(self, start: Callable[[str], int], end: Callable[[int], None], wait: Callable[[], None]) -> None:
        super().__init__()
        self._start, self._end, self._wait = start, end, wait
        self._range, self._first = 0, 0
        options = session()
        if options is None or options.get("capture") is None:
            self.help = f"PRLX needs the memory of these launches. Run: {command()}"

    def _open(self) -> None:
        self._range, self._first = self._start(RANGE), launch_count() or 0

    def _close(self) -> None:
        self._wait()
        last = launch_count() or 0
        self._end(self._range)
        for number in range(self._first, last):
            folder = captured(number)
            if folder is None:
                self.missed += 1
            else:
                snapshot = _native.load(os.path.join(folder, "launch.toml"))
                self.launches.append(Launched(number, snapshot.kernel, folder))


def window(on_gpu: bool, nvtx: Any, wait: Callable[[], None]) -> Window | None:
    """The window for launches of this process; ``None`` if its kernels run neither on a GPU nor on the CPU
    device. `nvtx` has ``range_start`` and ``range_end``."""
    device = current()
    if device is not None:
        return DeviceWindow(device)
    if not on_gpu or nvtx is None:
        return None
    return CaptureWindow(nvtx.range_start, nvtx.range_end, wait)


def session() -> dict[str, Any] | None:
    """The options with which `prlx record` records this process; ``None`` if it does not."""
    if launch_count() is None or "PRLX_SESSION" not in os.environ:
        return None
    options: dict[str, Any] = json.loads(os.environ["PRLX_SESSION"])
    return options


def captured(number: int) -> str | None:
    """The folder of a captured launch of this process."""
    options = session() or {}
    folder = glob.escape(str(options.get("folder", "")))
    found = glob.glob(os.path.join(folder, f"*.{os.getpid()}.launch-{number}", "launch.toml"))
    return os.path.dirname(found[0]) if found else None


def command() -> str:
    """The command that runs this program again and captures the launches of the windows."""
    program = shlex.join(getattr(sys, "orig_argv", None) or [sys.executable, *sys.argv])
    return f"prlx record -o cause.prlx --capture --range {shlex.quote(RANGE)} -- {program}"


def explain(
    names: tuple[str, str], windows: tuple[Window, Window], rtol: float, atol: float
) -> tuple[LaunchCause, Report | None]:
    """The first launch that differs beyond a tolerance, and its cause; and the report of that comparison."""
    found = LaunchCause()
    help = next((w.help for w in windows if w.help), None)
    if help is not None:
        found.notes.append(help)
        return found, None
    a, b = (w.launches for w in windows)
    pairs, alone = _pairs(a, b)
    for x, y in pairs:
        report = _compare(x, y, names, rtol, atol)
        if report.verdict == "differs":
            found.launches = {names[0]: str(x), names[1]: str(y)}
            found.causes = [_plain(cause) for cause in report.causes[:_CAUSES]]
            if not found.causes:
                found.notes += _why_none(report)
            return found, report
    _check(found, names, alone, rtol, atol)
    if pairs and not found.causes:
        found.notes.append(f"{_number(len(pairs), 'launch')} of both agree within the tolerance")
    for name, one in zip(names, windows):
        if one.missed:
            found.notes.append(f"{name} makes {_number(one.missed, 'launch')} whose kernels were not captured "
                               "(kernels without PTX, as those of ATen and cuBLAS, are not)")
    if not any((a, b, found.notes)):
        found.notes.append("neither side launches a kernel there")
    return found, None


def _pairs(
    a: list[Launched], b: list[Launched]
) -> tuple[list[tuple[Launched, Launched]], tuple[list[Launched], list[Launched]]]:
    """Launches of both sides that correspond, and those of each side that are alone."""
    matcher = difflib.SequenceMatcher(None, [x.kernel for x in a], [y.kernel for y in b], autojunk=False)
    pairs: list[tuple[Launched, Launched]] = []
    alone: tuple[list[Launched], list[Launched]] = ([], [])
    for _, a0, a1, b0, b1 in matcher.get_opcodes():
        if a1 - a0 == b1 - b0:
            pairs += zip(a[a0:a1], b[b0:b1])
        else:
            alone[0].extend(a[a0:a1])
            alone[1].extend(b[b0:b1])
    return pairs, alone


def _compare(x: Launched, y: Launched, names: tuple[str, str], rtol: float, atol: float) -> Report:
    labels = (f"{names[0]}, {x}", f"{names[1]}, {y}")
    tolerance: dict[str, Any] = {"rtol": rtol, "atol": atol, "progress": _progress.callback()}
    if isinstance(x.content, str) and isinstance(y.content, str):
        return Report(_native.compare_captured(x.content, y.content, labels, **tolerance))
    assert not isinstance(x.content, str) and not isinstance(y.content, str)  # Both windows are of one kind.
    return Report(_native.compare(x.content, y.content, labels, **tolerance))


def _plain(cause: Any) -> dict[str, Any]:
    """A cause of a report in a few words. The place is that of the second side, if it has one."""
    places = [place for place in cause.places if place and place.location]
    location = places[-1].location if places else None
    code = [p.location.code.strip() for p in places if p.location.code]
    return {
        "class": cause.class_,
        "file": location and location.file,
        "line": location and location.line,
        "what": cause.what,
        "code": list(dict.fromkeys(code)),
    }


def _why_none(report: Report) -> list[str]:
    launch = report.launches[0]
    notes = [str(note) for note in launch.notes if "CPU device" in note]
    return notes or ["the outputs of this launch differ; no cause was found"]


def _check(
    found: LaunchCause,
    names: tuple[str, str],
    alone: tuple[list[Launched], list[Launched]],
    rtol: float,
    atol: float,
) -> None:
    """Checks launches that have no partner, and adds the first error as a cause."""
    for name, other, launches in ((names[1], names[0], alone[1]), (names[0], names[1], alone[0])):
        for launch in launches[:_CHECKED]:
            content = launch.content
            if isinstance(content, str):
                content = _native.load(os.path.join(content, "launch.toml"))
            report = Report(_native.compare(content, content, (name, name), check="all", explain=False, zoom=False))
            # Both sides are this launch.
            checks = report.data.get("checks", [])[:1]
            errors = [f for side in checks for f in side["findings"] if f["grade"] == "error"]
            if errors:
                found.launches = {name: str(launch)}
                found.causes = [_error(Finding(error)) for error in errors[:_CAUSES]]
                return
        if launches:
            kernels = ", ".join(dict.fromkeys(x.kernel for x in launches))
            found.launches = {name: str(launches[0])}
            found.notes.append(
                f"{other} has no launch to compare with {kernels} of {name}, and the checks of "
                f"{_number(min(len(launches), _CHECKED), 'launch')} find no error. Compare two set-ups that both "
                "run kernels with PTX there, as a fixed version of this kernel"
            )


def _error(finding: Finding) -> dict[str, Any]:
    return {
        "class": finding.kind,
        "file": finding.file,
        "line": finding.line,
        "what": finding.message,
        "code": [],
    }


def _number(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "es")
