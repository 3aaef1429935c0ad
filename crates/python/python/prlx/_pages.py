"""Text results, and as pages and files."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .typing import Json, Path


def text_frame(text: str) -> str:
    """A text report as Jupyter shows it."""
    return f'<pre style="line-height:1.3">{html.escape(text)}</pre>'


class TextResult:
    """A result whose ``str()`` is a report, and whose ``data`` are dictionaries and lists."""

    @property
    def data(self) -> Json:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return text_frame(str(self))

    def show(self) -> None:
        """Prints it."""
        print(self)

    def save(self, path: Path) -> None:
        """Writes it: as a page (``.html``), as JSON (``.json``), or as text."""
        _save(path, type(self).__name__, str(self), self.data)


def _save(path: Path, title: str, text: str, data: object) -> None:
    path = str(path)
    if path.endswith((".html", ".htm")):
        text = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
            f"</head><body>{text_frame(text)}</body></html>"
        )
    elif path.endswith(".json"):
        text = json.dumps(data, indent=2)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
