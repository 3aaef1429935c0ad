"""The report of a comparison."""

import json
import sys
from functools import cached_property

from ._findings import namespace


class Report:
    """The report of a comparison: ``verdict`` is ``"same"``, ``"differs"`` or ``"unknown"``.

    ``str()`` is the text that the command line prints; attributes are the keys of its JSON (``report.launches``,
    ``report.launches[0].causes``); in Jupyter it is a page.
    """

    def __init__(self, native):
        self._native = native

    @property
    def verdict(self):
        return self._native.verdict

    @property
    def same(self):
        """Whether both sides agree in all that was compared."""
        return self.verdict == "same"

    @cached_property
    def data(self):
        """The report as dictionaries and lists; ``docs/report.md`` describes the keys."""
        return json.loads(self._native.json())

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.data:
            raise AttributeError(f"a report has no {name!r}: it has verdict, {', '.join(self.data)}")
        value = namespace(self.data[name])
        setattr(self, name, value)
        return value

    @property
    def causes(self):
        """The causes of differing outputs, of all launches."""
        return [cause for launch in self.launches for cause in (getattr(launch, "causes", None) or [])]

    @property
    def summary(self):
        """The first cause in a few words; empty if there is none."""
        for cause in self.causes:
            place = next((p.location for p in cause.places if p and p.location), None)
            where = f" at {place.file}:{place.line}" if place else ""
            return f"{cause.class_}{where}: {cause.what}"
        return ""

    def __str__(self):
        return self._native.text(False).rstrip()

    def __repr__(self):
        return f"<prlx.Report {self.verdict}>"

    def _repr_html_(self):
        import html

        page = html.escape(self._native.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:600px;border:0"></iframe>'

    def show(self):
        """Prints the report, in colour on a terminal."""
        print(self._native.text(sys.stdout.isatty()).rstrip())

    def save(self, path):
        """Writes the report: as a page (``.html``), as JSON (``.json``), or as text."""
        path = str(path)
        text = self._native.text(False)
        if path.endswith((".html", ".htm")):
            text = self._native.html()
        elif path.endswith(".json"):
            text = self._native.json()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
