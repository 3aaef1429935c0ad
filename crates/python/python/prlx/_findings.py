"""What the checks of launches found."""

import json
import sys
from types import SimpleNamespace

from ._native import Error
from ._pages import TextResult


class CheckError(Error):
    """A checked launch did something wrong. ``findings`` says what, with source lines."""

    def __init__(self, findings):
        super().__init__(str(findings))
        self.findings = findings

    def __reduce__(self):
        return CheckError, (self.findings,)


class Finding:
    """One thing that a check found.

    ``kind`` is its name (``race``, ``out-of-bounds``), ``grade`` is ``error``, ``warning`` or ``note``,
    ``message`` says what happened, ``help`` what to do, ``file`` and ``line`` where. ``seeds`` lists the
    schedules that have it. ``data`` has all of it, as the JSON of ``prlx run --check`` does.
    """

    def __init__(self, data, seed=0):
        self.data = data
        self.kind = data["kind"]
        self.grade = data["grade"]
        self.message = data["what"]
        self.help = data.get("help")
        self.file, self.line = _place(data)
        self.seeds = [seed]

    def __repr__(self):
        where = f" at {self.file}:{self.line}" if self.file else ""
        return f"<{self.grade} {self.kind}{where}: {self.message}>"

    @property
    def key(self):
        """What makes findings of several schedules one: the kind, the allocation and the places."""
        sides = self.data.get("sides", [])
        memory = next((side["memory"] for side in sides if side.get("memory")), {})
        name = (memory.get("allocation") or {}).get("name")
        places = [(side.get("role"), (side.get("place") or {}).get("module_line")) for side in sides]
        return self.kind, self.grade, name, str(places)


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


class LaunchFindings:
    """The findings of one launch, with their text."""

    def __init__(self, kernel, data, text, seed=0):
        self.kernel = kernel
        self.data = data
        self.findings = [Finding(f, seed) for f in data["findings"]]
        self._text = text

    @classmethod
    def of_run(cls, run, kernel, seed):
        """The findings of a native run."""
        return cls(kernel, json.loads(run.findings()), run.findings_text, seed)

    def text(self, color=False):
        """The text report."""
        return f"{self.kernel}\n{self._text(color)}".rstrip()

    def __getstate__(self):
        return {**vars(self), "_text": PlainText(self._text(False))}


class PlainText:
    """Text without colours, as a function of whether colours are wanted."""

    def __init__(self, text):
        self._text = text

    def __call__(self, color):
        return self._text


class Findings(TextResult, list):
    """Findings, in the order in which they happened. ``str()`` is the text report of all launches that have
    some; in Jupyter it is a page."""

    def __init__(self, launches=()):
        super().__init__(finding for launch in launches for finding in launch.findings)
        self.launches = list(launches)

    def add(self, launch):
        """Adds the findings of a launch."""
        self.extend(launch.findings)
        self.launches.append(launch)

    def __reduce__(self):
        return Findings, (self.launches,)

    @property
    def kernel(self):
        """The kernel of the first launch that has findings."""
        return self.launches[0].kernel if self.launches else None

    @property
    def errors(self):
        """The findings that are errors."""
        return [f for f in self if f.grade == "error"]

    @property
    def data(self):
        """The findings as the JSON of ``prlx run --check``; those of several launches are in the list
        ``launches``."""
        if len(self.launches) == 1:
            return self.launches[0].data
        return {"launches": [{"kernel": launch.kernel, **launch.data} for launch in self.launches]}

    def _text(self, color):
        # A kernel that is launched many times repeats its text.
        texts = dict.fromkeys(launch.text(color) for launch in self.launches)
        return "\n\n".join(texts) or "no findings"

    def __str__(self):
        return self._text(False)

    def show(self):
        """Prints the findings, in colour on a terminal."""
        print(self._text(sys.stdout.isatty()))


def namespace(value):
    """JSON data with attributes instead of keys."""
    if isinstance(value, dict):
        return Data({k: namespace(v) for k, v in value.items()})
    if isinstance(value, list):
        return [namespace(v) for v in value]
    return value


class Data(SimpleNamespace):
    """JSON data with attributes instead of keys. Keys that are words of Python also have a name with ``_`` at
    the end: ``cause.class_``."""

    def __init__(self, values):
        super().__init__(**values)

    def __getattr__(self, name):
        if name.endswith("_") and name[:-1] in vars(self):
            return vars(self)[name[:-1]]
        known = ", ".join(vars(self))
        raise AttributeError(f"there is no {name!r}: there is {known}")

    def __reduce__(self):
        return Data, (vars(self),)
