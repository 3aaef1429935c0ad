"""Redirects the launches of other libraries to the CPU device while a ``with prlx.cpu()`` is active.

A library that is not imported yet is redirected when it is.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

# The libraries, and the modules of this package with `enable()` and `disable()` for them.
_LIBRARIES = {"triton": "_triton", "numba.cuda": "_numba"}

_enabled: list[Any] = []


class Replacements:
    """Attributes of another library that are replaced, and can be put back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def replace(self, owner: Any, name: str, value: object) -> None:
        """Sets an attribute of a class or a module."""
        if name in vars(owner):
            before = vars(owner)[name]
            self._undo.append(lambda: setattr(owner, name, before))
        else:  # A base class has it.
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def on_undo(self, function: Callable[[], object]) -> None:
        """Calls a function when everything is put back."""
        self._undo.append(function)

    def undo(self) -> None:
        """Puts everything back, in reverse order."""
        while self._undo:
            self._undo.pop()()


def enable() -> None:
    """Redirects launches. Calling it again changes nothing."""
    for library, name in _LIBRARIES.items():
        if library in sys.modules:
            _enable_one(name)
    if _Finder.instance not in sys.meta_path:
        sys.meta_path.insert(0, _Finder.instance)


def disable() -> None:
    """Undoes :func:`enable`."""
    if _Finder.instance in sys.meta_path:
        sys.meta_path.remove(_Finder.instance)
    while _enabled:
        _enabled.pop().disable()


def _enable_one(name: str) -> None:
    module = importlib.import_module(f".{name}", __package__)
    if module not in _enabled:
        module.enable()
        _enabled.append(module)


class _Finder(MetaPathFinder):
    """Sees a library being imported, and redirects it when the import is complete."""

    instance: ClassVar[_Finder]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _LIBRARIES:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return None
        # The finder of the library makes this loader: its methods can be replaced.
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            loader.exec_module = execute
            if self in sys.meta_path:
                _enable_one(_LIBRARIES[fullname])

        loader.exec_module = exec_module
        return spec


_Finder.instance = _Finder()
