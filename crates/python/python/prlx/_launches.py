"""The launches of this process, as `prlx record` numbers them."""

import ctypes
import functools
import glob
import json
import os

from . import _native


def launch_count():
    """How many launches `prlx record` has seen in this process, which is the number of the next one; ``None``
    if it does not record."""
    counter = _counter()
    return None if counter is None else counter()


def launch_range(first):
    """The first and the last launch since ``first``, an earlier count; ``None`` if there were none."""
    end = launch_count()
    return None if first is None or end is None or end <= first else (first, end - 1)


def kernels(ranges):
    """Names of the kernels of each of these ranges of launches, from the recording that this process writes.
    A launch that is not written yet has the name ``"?"``."""
    folder = json.loads(os.environ["PRLX_SESSION"])["folder"]
    names = {}
    for file in glob.glob(os.path.join(glob.escape(folder), f"*.{os.getpid()}.prlx")):
        # A `prlx.Recording` would need NumPy.
        table = _native.Recording(file).table("launches")
        names.update(zip(memoryview(table["launch"][1]).cast("Q"), table["kernel"][1]))
    return [[names.get(n, "?") for n in range(first, last + 1)] for first, last in ranges]


@functools.cache
def _counter():
    counter = getattr(ctypes.CDLL(None), "prlx_launch_count", None)
    if counter is not None:
        counter.restype = ctypes.c_uint64
    return counter
