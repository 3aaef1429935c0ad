"""Redirects the launches of other libraries to the CPU device while a ``with prlx.cpu()`` is active.

A library that is not imported yet is redirected when it is.
"""

import importlib.util
import sys
from importlib.abc import MetaPathFinder

# The libraries, and the modules of this package with `enable()` and `disable()` for them.
_LIBRARIES = {"triton": "_triton", "numba.cuda": "_numba"}

_enabled = []


class Replacements:
    """Attributes of another library that are replaced, and can be put back."""

    def __init__(self):
        self._undo = []

    def replace(self, owner, name, value):
        """Sets an attribute of a class or a module."""
        if name in vars(owner):
            before = vars(owner)[name]
            self._undo.append(lambda: setattr(owner, name, before))
        else:  # A base class has it.
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def on_undo(self, function):
        """Calls a function when everything is put back."""
        self._undo.append(function)

    def undo(self):
        """Puts everything back, in reverse order."""
        while self._undo:
            self._undo.pop()()


def enable():
    """Redirects launches. Calling it again changes nothing."""
    for library, name in _LIBRARIES.items():
        if library in sys.modules:
            _enable_one(name)
    if _Finder.instance not in sys.meta_path:
        sys.meta_path.insert(0, _Finder.instance)


def disable():
    """Undoes :func:`enable`."""
    if _Finder.instance in sys.meta_path:
        sys.meta_path.remove(_Finder.instance)
    while _enabled:
        _enabled.pop().disable()


def _enable_one(name):
    module = importlib.import_module(f".{name}", __package__)
    if module not in _enabled:
        module.enable()
        _enabled.append(module)


class _Finder(MetaPathFinder):
    """Sees a library being imported, and redirects it when the import is complete."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _LIBRARIES:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            spec.loader.exec_module = execute
            if self in sys.meta_path:
                _enable_one(_LIBRARIES[fullname])

        spec.loader.exec_module = exec_module
        return spec


_Finder.instance = _Finder()
