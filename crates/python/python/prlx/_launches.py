"""The launches of this process, as `prlx record` numbers them."""

from __future__ import annotations

import ctypes
import functools
import glob
import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    # The first and the last of some launches.
    _LaunchRange = tuple[int, int]


def launch_count() -> int | None:
    """How many launches `prlx record` has seen in this process, which is the number of the next one; ``None``
    if it does not record."""
    counter = _counter()
    return None if counter is None else counter()


def launch_range(first: int | None) -> _LaunchRange | None:
    """The first and the last launch since ``first``, an earlier count; ``None`` if there were none."""
    end = launch_count()
    return None if first is None or end is None or end <= first else (first, end - 1)


def kernels(ranges: Iterable[_LaunchRange]) -> list[list[str]]:
    """Names of the kernels of each of these ranges of launches, from the recording that this process writes.
    A launch that is not written yet has the name ``"?"``."""
    folder = json.loads(os.environ["PRLX_SESSION"])["folder"]
    names: dict[int, str] = {}
    for file in glob.glob(os.path.join(glob.escape(folder), f"*.{os.getpid()}.prlx")):
        # A `prlx.Recording` would need NumPy.
        table = _native.Recording(file).table("launches")
        names.update(zip(memoryview(table["launch"][1]).cast("Q"), table["kernel"][1]))
    return [[names.get(n, "?") for n in range(first, last + 1)] for first, last in ranges]


@functools.cache
def _counter() -> Callable[[], int] | None:
    counter: Any = getattr(ctypes.CDLL(None), "prlx_launch_count", None)
    if counter is None:
        return None
    counter.restype = ctypes.c_uint64
    return lambda: int(counter())
