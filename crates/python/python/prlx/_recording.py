"""Recordings as tables."""

import os

from . import _native


def read(path):
    """Opens a recording: a ``.prlx`` file, or the folder that ``prlx record -- ./app`` writes."""
    return Recording(path)


class Recording:
    """A recording. Its tables are ``launches``, ``warps``, ``sites`` and ``visits`` (every decision of every
    lane); ``docs/tables.md`` describes the columns."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._native = _native.Recording(self.path)
        self._tables = {}

    @property
    def files(self):
        """Number of files: one for each process of a program."""
        return self._native.files()

    def table(self, name):
        """A table as a dictionary of columns. Numbers are NumPy arrays without a copy, masked where a value
        is missing; texts are lists. Without NumPy, numbers are lists, too."""
        if name not in self._tables:
            columns = self._native.table(name)
            self._tables[name] = Table(name, {key: _column(*c) for key, c in columns.items()}, self._native)
        return self._tables[name]

    def __getattr__(self, name):
        if not name.startswith("_") and name in (table for table, _ in _native.Recording.tables()):
            return self.table(name)
        raise AttributeError(f"a recording has no {name!r}")

    def kernels(self):
        """Names of the kernels that were launched, in the order of their first launches."""
        return list(dict.fromkeys(self.table("launches")["kernel"]))

    def __repr__(self):
        return f"<prlx.Recording {self.path}: {len(self.table('launches'))} launches>"


class Table(dict):
    """A table: a dictionary of its columns. Libraries that read Arrow streams take it as it is."""

    def __init__(self, name, columns, native):
        super().__init__(columns)
        self.name = name
        self._native = native

    def __arrow_c_stream__(self, requested_schema=None):
        """The table as the recording has it, as an Arrow stream in a capsule (Arrow PyCapsule interface). Its
        types are those of the recording, whatever ``requested_schema`` asks for."""
        return self._native.arrow(self.name)

    def __len__(self):
        return len(next(iter(self.values()), ()))

    def rows(self):
        """The rows, as dictionaries; missing values are ``None``."""
        columns = [c if isinstance(c, list) else c.tolist() for c in self.values()]
        for row in zip(*columns):
            yield dict(zip(self.keys(), row))

    def to_pandas(self):
        """The table as a data frame of pandas. Numbers that may be missing have its nullable types."""
        import pandas

        return pandas.DataFrame({k: _nullable(pandas, v) for k, v in self.items()})

    def to_polars(self):
        """The table as a data frame of Polars, with the types of the recording."""
        import polars

        frame = polars.from_arrow(self)
        return frame.struct.unnest() if isinstance(frame, polars.Series) else frame


def _nullable(pandas, column):
    if isinstance(column, list) or not hasattr(column, "mask"):
        return column
    array = pandas.arrays.FloatingArray if column.dtype.kind == "f" else pandas.arrays.IntegerArray
    return array(column.data.copy(), column.mask.copy())


def _column(dtype, values, missing):
    if dtype == "O":
        return values
    try:
        import numpy as np
    except ImportError:
        return _plain_column(dtype, values, missing)
    array = np.frombuffer(values, dtype)
    if missing is None:
        return array
    return np.ma.MaskedArray(array, np.frombuffer(missing, "|b1"))


def _plain_column(dtype, values, missing):
    """A column of numbers as a list, without NumPy."""
    size, kind = int(dtype[-1]), dtype[-2]
    code = {"f4": "f", "f8": "d"}.get(dtype[-2:]) or {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
    numbers = memoryview(values).cast("B").cast(code.lower() if kind == "i" else code).tolist()
    return numbers if missing is None else [None if m else n for n, m in zip(numbers, missing)]
