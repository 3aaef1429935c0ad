"""What the checks of a launch found."""

import json
import sys
from types import SimpleNamespace

from ._native import Error


class CheckError(Error):
    """A checked launch did something wrong. ``findings`` says what, with source lines."""

    def __init__(self, findings):
        super().__init__(str(findings))
        self.findings = findings


class Finding:
    """One thing that a check found.

    ``kind`` is its name (``race``, ``out-of-bounds``), ``grade`` is ``error``, ``warning`` or ``note``,
    ``message`` says what happened, ``help`` what to do, ``file`` and ``line`` where. ``data`` has all of it,
    as the JSON of ``prlx run --check`` does.
    """

    def __init__(self, data):
        self.data = data
        self.kind = data["kind"]
        self.grade = data["grade"]
        self.message = data["what"]
        self.help = data.get("help")
        self.file, self.line = _place(data)

    def __repr__(self):
        where = f" at {self.file}:{self.line}" if self.file else ""
        return f"<{self.grade} {self.kind}{where}: {self.message}>"


def _place(data):
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


class Findings(list):
    """The findings of one launch, in the order in which they happened; ``str()`` is the text report."""

    def __init__(self, run, kernel):
        data = json.loads(run.findings())
        super().__init__(Finding(f) for f in data["findings"])
        self.kernel = kernel
        self.data = data
        self._run = run

    @property
    def errors(self):
        """The findings that are errors."""
        return [f for f in self if f.grade == "error"]

    def __str__(self):
        return f"{self.kernel}\n{self._run.findings_text(False)}".rstrip()

    def show(self):
        """Prints the findings, in colour on a terminal."""
        print(f"{self.kernel}\n{self._run.findings_text(sys.stdout.isatty())}".rstrip())


def namespace(value):
    """JSON data with attributes instead of keys."""
    if isinstance(value, dict):
        return SimpleNamespace(**{k: namespace(v) for k, v in value.items()})
    if isinstance(value, list):
        return [namespace(v) for v in value]
    return value
