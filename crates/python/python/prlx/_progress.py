"""Progress of long calls: one line on a terminal or in a notebook, nothing elsewhere. Warnings are Python warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any


def callback() -> Callable[[str, str], None]:
    """A function that native calls report to."""
    line = _Notebook() if _in_notebook() else _Terminal() if sys.stderr.isatty() else None

    def report(kind: str, text: str) -> None:
        if kind == "warning":
            warnings.warn(text, stacklevel=4)
        elif line is not None and kind == "begin":
            line.show(text)
        elif line is not None and kind == "end":
            line.clear()

    return report


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class _Terminal:
    """The last line of a terminal."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, text: str) -> None:
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        self._shown = True

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False


class _Notebook:
    """An output of a notebook's cell, which is replaced."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        from IPython.display import display

        data = {"text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def clear(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
