"""What the checks of launches found."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from ._native import Error
from ._pages import TextResult

if TYPE_CHECKING:
    from ._native import Run, ScheduleChecks
    from .typing import Json


class CheckError(Error):
    """A checked launch did something wrong. ``findings`` says what, with source lines."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(str(findings))
        self.findings = findings

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckError, (self.findings,)


@dataclass(frozen=True)
class Place:
    """A file and a line of a Python program."""

    file: str
    line: int

    def __str__(self) -> str:
        folder = os.path.join(os.getcwd(), "")
        return f"{self.file.removeprefix(folder)}:{self.line}"


class Finding:
    """One thing that a check found.

    ``kind`` is its name (``race``, ``out-of-bounds``), ``grade`` is ``error``, ``warning`` or ``note``,
    ``message`` says what happened, ``help`` what to do, ``file`` and ``line`` where. ``seeds`` lists the
    schedules that have it. ``launched`` is the file and line of the Python program that launched the kernel.
    ``data`` has all but that, as the JSON of ``prlx run --check``.
    """

    def __init__(self, data: Json, seed: int = 0, launched: Place | None = None) -> None:
        self.data = data
        self.launched = launched
        self.kind: str = data["kind"]
        self.grade: Literal["error", "warning", "note"] = data["grade"]
        self.message: str = data["what"]
        self.help: str | None = data.get("help")
        self.file: str | None
        self.line: int | None
        self.file, self.line = _place(data)
        self.seeds: list[int] = data.get("seeds", [seed])

    def __repr__(self) -> str:
        where = f" at {self.file}:{self.line}" if self.file else ""
        launched = f", launched at {self.launched}" if self.launched else ""
        return f"<{self.grade} {self.kind}{where}{launched}: {self.message}>"


def _place(data: Json) -> tuple[str, int] | tuple[None, None]:
    """The file and line of the user's code that a finding is about."""
    for side in data.get("sides", []):
        place = side.get("place")
        if not place:
            continue
        lines = place.get("source", [])
        own = place.get("own", 0)
        if lines:
            line = lines[own if own < len(lines) else 0]
            return line["file"], line["line"]
    return None, None


class LaunchFindings:
    """The findings of one launch, with their text."""

    def __init__(
        self,
        kernel: str,
        data: Json,
        text: Callable[[bool], str],
        seed: int = 0,
        launched: Place | None = None,
    ) -> None:
        self.kernel = kernel
        self.data = data
        self.findings: list[Finding] = [Finding(f, seed, launched) for f in data["findings"]]
        self.launched = launched
        self._text = text

    @classmethod
    def of_run(cls, run: Run | ScheduleChecks, kernel: str, seed: int, launched: Place | None = None) -> LaunchFindings:
        """The findings of a native run, or of runs under several schedules."""
        return cls(kernel, json.loads(run.findings()), run.findings_text, seed, launched)

    def text(self, color: bool = False) -> str:
        """The text report."""
        place = f", launched at {self.launched}" if self.launched is not None else ""
        return f"{self.kernel}{place}\n{self.body(color)}".rstrip()

    def body(self, color: bool = False) -> str:
        """The text report without the kernel and the place of its launch."""
        return self._text(color)

    def __getstate__(self) -> Json:
        return {**vars(self), "_text": PlainText(self._text(False))}


class PlainText:
    """Text without colours, as a function of whether colours are wanted."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self, color: bool) -> str:
        return self._text


class Findings(TextResult, list[Finding]):
    """Findings, in the order in which they happened. ``str()`` is the text report of all launches that have
    some; in Jupyter it is a page."""

    def __init__(self, launches: Iterable[LaunchFindings] = ()) -> None:
        super().__init__(finding for launch in launches for finding in launch.findings)
        self.launches = list(launches)

    def add(self, launch: LaunchFindings) -> None:
        """Adds the findings of a launch."""
        self.extend(launch.findings)
        self.launches.append(launch)

    def __reduce__(self) -> tuple[Any, ...]:
        return Findings, (self.launches,)

    @property
    def kernel(self) -> str | None:
        """The kernel of the first launch that has findings."""
        return self.launches[0].kernel if self.launches else None

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [f for f in self if f.grade == "error"]

    @property
    def data(self) -> Json:
        """The findings as the JSON of ``prlx run --check``; those of several launches are in the list
        ``launches``."""
        if len(self.launches) == 1:
            return self.launches[0].data
        return {"launches": [{"kernel": launch.kernel, **launch.data} for launch in self.launches]}

    def _text(self, color: bool) -> str:
        # A kernel that is launched many times repeats its text: the first launch stands for all.
        texts: dict[tuple[str, str], str] = {}
        for launch in self.launches:
            texts.setdefault((launch.kernel, launch.body(color)), launch.text(color))
        return "\n\n".join(texts.values()) or "no findings"

    def __str__(self) -> str:
        return self._text(False)

    def show(self) -> None:
        """Prints the findings, in colour on a terminal."""
        print(self._text(sys.stdout.isatty()))


def namespace(value: Any) -> Any:
    """JSON data with attributes instead of keys."""
    if isinstance(value, dict):
        return Data({k: namespace(v) for k, v in value.items()})
    if isinstance(value, list):
        return [namespace(v) for v in value]
    return value


class Data(SimpleNamespace):
    """JSON data with attributes instead of keys. Keys that are words of Python also have a name with ``_`` at
    the end: ``cause.class_``."""

    def __init__(self, values: Json) -> None:
        super().__init__(**values)

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and name[:-1] in vars(self):
            return vars(self)[name[:-1]]
        known = ", ".join(vars(self))
        raise AttributeError(f"there is no {name!r}: there is {known}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Data, (vars(self),)
