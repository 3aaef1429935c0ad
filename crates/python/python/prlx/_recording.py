"""Recordings as tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from . import _native

if TYPE_CHECKING:
    from .typing import Path

    _TableName = Literal["launches", "warps", "sites", "visits"]


def read(path: Path) -> Recording:
    """Opens a recording: a ``.prlx`` file, or the folder that ``prlx record -- ./app`` writes."""
    return Recording(path)


class Recording:
    """A recording. Its tables are ``launches``, ``warps``, ``sites`` and ``visits`` (every decision of every
    lane); ``docs/tables.md`` describes the columns."""

    launches: Table
    warps: Table
    sites: Table
    visits: Table

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self._native = _native.Recording(self.path)
        self._tables: dict[str, Table] = {}

    @property
    def files(self) -> int:
        """Number of files: one for each process of a program."""
        return self._native.files()

    def table(self, name: _TableName | str) -> Table:
        """A table as a dictionary of columns. Numbers are NumPy arrays without a copy, masked where a value
        is missing; texts are lists. Without NumPy, numbers are lists, too."""
        if name not in self._tables:
            columns = self._native.table(name)
            self._tables[name] = Table(name, {key: _column(*c) for key, c in columns.items()}, self._native)
        return self._tables[name]

    if not TYPE_CHECKING:  # The tables are attributes with types.

        def __getattr__(self, name: str) -> Table:
            if not name.startswith("_") and name in (table for table, _ in _native.Recording.tables()):
                return self.table(name)
            raise AttributeError(f"a recording has no {name!r}")

    def kernels(self) -> list[str]:
        """Names of the kernels that were launched, in the order of their first launches."""
        return list(dict.fromkeys(self.table("launches")["kernel"]))

    def __repr__(self) -> str:
        launches = len(self.table("launches"))
        return f"<prlx.Recording {self.path}: {launches} {'launch' if launches == 1 else 'launches'}>"


class Table(dict[str, Any]):
    """A table: a dictionary of its columns. Libraries that read Arrow streams take it as it is."""

    def __init__(self, name: str, columns: dict[str, Any], native: _native.Recording) -> None:
        super().__init__(columns)
        self.name = name
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as the recording has it, as an Arrow stream in a capsule (Arrow PyCapsule interface). Its
        types are those of the recording, whatever ``requested_schema`` asks for."""
        return self._native.arrow(self.name)

    def __len__(self) -> int:
        return len(next(iter(self.values()), ()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, as dictionaries; missing values are ``None``."""
        columns = [c if isinstance(c, list) else c.tolist() for c in self.values()]
        for row in zip(*columns):
            yield dict(zip(self.keys(), row))

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas. Numbers that may be missing have its nullable types."""
        import pandas

        return pandas.DataFrame({k: _nullable(pandas, v) for k, v in self.items()})

    def to_polars(self) -> Any:
        """The table as a data frame of Polars, with the types of the recording."""
        import polars

        frame = polars.from_arrow(self)
        return frame.struct.unnest() if isinstance(frame, polars.Series) else frame


def _nullable(pandas: Any, column: Any) -> Any:
    if isinstance(column, list) or not hasattr(column, "mask"):
        return column
    array = pandas.arrays.FloatingArray if column.dtype.kind == "f" else pandas.arrays.IntegerArray
    return array(column.data.copy(), column.mask.copy())


def _column(dtype: str, values: Any, missing: bytes | None) -> Any:
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


def _plain_column(dtype: str, values: bytes, missing: bytes | None) -> list[Any]:
    """A column of numbers as a list, without NumPy."""
    size, kind = int(dtype[-1]), dtype[-2]
    code = {"f4": "f", "f8": "d"}.get(dtype[-2:]) or {1: "B", 2: "H", 4: "I", 8: "Q"}[size]
    form: Any = code.lower() if kind == "i" else code
    numbers = memoryview(values).cast("B").cast(form).tolist()
    return numbers if missing is None else [None if m else n for n, m in zip(numbers, missing)]
