"""The report of a comparison."""

from __future__ import annotations

import json
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ._findings import namespace

if TYPE_CHECKING:
    from . import _native, schema
    from .typing import Json, Path, Verdict


class Report:
    """The report of a comparison: ``verdict`` is ``"same"``, ``"differs"`` or ``"unknown"``.

    ``str()`` is the text that the command line prints; attributes are the keys of its JSON (``report.launches``,
    ``report.launches[0].causes``); in Jupyter it is a page.
    """

    format: Literal["prlx-report"]
    version: int
    gaps: list[str]
    names: list[str]
    producers: list[str]
    processes: list[schema.ProcessPair]
    alone: list[schema.Alone]
    pairs: int
    launches: list[schema.LaunchReport]
    unpaired: list[schema.Unpaired]
    folded: list[schema.Folded]
    # By side; absent in reports of recordings, and ``checks`` if the checks found nothing.
    printed: list[schema.Printed]
    checks: list[Any]
    # Of a comparison of functions: which of their launches the report is of.
    index: int

    def __init__(self, native: _native.Report) -> None:
        self._native = native

    @property
    def verdict(self) -> Verdict:
        return self._native.verdict

    @property
    def same(self) -> bool:
        """Whether both sides agree in all that was compared."""
        return self.verdict == "same"

    @cached_property
    def data(self) -> Json:
        """The report as dictionaries and lists; ``docs/report.md`` describes the keys."""
        data: Json = json.loads(self._native.json())
        return data

    if not TYPE_CHECKING:  # The keys are attributes with types.

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name not in self.data:
                raise AttributeError(f"a report has no {name!r}: it has verdict, {', '.join(self.data)}")
            value = namespace(self.data[name])
            setattr(self, name, value)
            return value

    @property
    def causes(self) -> list[schema.Cause]:
        """The causes of differing outputs, of all launches."""
        return [cause for launch in self.launches for cause in (getattr(launch, "causes", None) or [])]

    @property
    def summary(self) -> str:
        """The first cause in a few words; empty if there is none."""
        for cause in self.causes:
            place = next((p.location for p in cause.places if p and p.location), None)
            where = f" at {place.file}:{place.line}" if place else ""
            return f"{cause.class_}{where}: {cause.what}"
        return ""

    def __str__(self) -> str:
        return self._native.text(False).rstrip()

    def __repr__(self) -> str:
        return f"<prlx.Report {self.verdict}>"

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self._native.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:600px;border:0"></iframe>'

    def show(self) -> None:
        """Prints the report, in colour on a terminal."""
        print(self._native.text(sys.stdout.isatty()).rstrip())

    def save(self, path: Path) -> None:
        """Writes the report: as a page (``.html``), as JSON (``.json``), or as text."""
        path = str(path)
        text = self._native.text(False)
        if path.endswith((".html", ".htm")):
            text = self._native.html()
        elif path.endswith(".json"):
            text = self._native.json()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
