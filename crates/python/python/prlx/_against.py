"""Comparison of a kernel's results with a reference."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ._findings import Findings
from ._pages import TextResult

if TYPE_CHECKING:
    import numpy as np

    from .typing import Arrays, Json

    _NDArray = np.ndarray[Any, Any]

# Tolerances for numbers that are no integers.
_RTOL, _ATOL = 1e-5, 1e-8
# Wrong elements that the data of an outcome list.
_LISTED = 8


class against:
    """A reference to compare a kernel with: ``prlx.compare(f, prlx.against(expected, rtol=1e-5))``.

    ``reference`` is the expected array or tensor, or a function without arguments that returns it. ``f`` returns
    the array that its kernels filled. The result is an :class:`Outcome`: which elements are wrong, and if some
    are, what the checks of the same launches find. A tuple, list or dictionary of arrays is compared part by
    part; the result is an :class:`Outcomes`.

    rtol, atol: an element may be ``atol + rtol * abs(expected)`` away. By default 1e-5 and 1e-8 for results that
    are floating-point numbers. Integers and booleans must be equal unless a tolerance is given.
    """

    def __init__(
        self,
        reference: Arrays | Callable[[], Arrays],
        *,
        rtol: float | None = None,
        atol: float | None = None,
        equal_nan: bool = False,
    ) -> None:
        self.reference, self.rtol, self.atol, self.equal_nan = reference, rtol, atol, equal_nan

    def evaluated(self) -> against:
        """The same with the array, if the reference is a function."""
        value = self.reference() if callable(self.reference) else self.reference
        return against(value, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan)

    def copy(self, returned: Any) -> Any:
        """What a function returned, as arrays of its own."""
        if returned is None:
            raise TypeError("against: the function returns the array that its kernels filled")
        if _is_structure(returned):
            return {name: self.copy(part) for name, part in _parts(returned)}
        return _numpy(returned).copy()

    def outcome(self, got: Any, findings: Callable[[], Findings]) -> Outcome | Outcomes:
        """Compares arrays with the reference. ``findings()`` runs the checks."""
        want = self.evaluated().reference
        pairs = list(_pairs(got, want, "the result"))
        close = [self._close(x, y) for _, x, y in pairs]
        found = findings() if not all(c.all() for c in close) else Findings()
        outcomes = [(name, Outcome(x, y, ~c, found)) for (name, x, y), c in zip(pairs, close)]
        return outcomes[0][1] if not isinstance(got, dict) else Outcomes(outcomes)

    def _close(self, got: _NDArray, want: _NDArray) -> _NDArray:
        import numpy as np

        if got.dtype.kind in "iub":
            return self._close_integers(got, want)
        rtol = _RTOL if self.rtol is None else self.rtol
        atol = _ATOL if self.atol is None else self.atol
        return np.isclose(got, want, rtol, atol, self.equal_nan)

    def _close_integers(self, got: _NDArray, want: _NDArray) -> _NDArray:
        """Compares integers with an exact difference."""
        import numpy as np

        close = np.atleast_1d(_exact(got) == _exact(want)).astype(bool).reshape(got.shape)
        if self.rtol is None and self.atol is None:
            return close
        rtol, atol = self.rtol or 0, self.atol or 0
        for at in map(tuple, np.argwhere(~close)):
            x, y = got[at].item(), want[at].item()
            close[at] = abs(x - y) <= atol + (rtol * abs(y) if rtol else 0)
        return close


def _exact(array: _NDArray) -> _NDArray:
    """Integers of all sizes and signs as numbers that compare exactly."""
    return array.astype(object) if array.dtype.kind in "uf" else array


def _is_structure(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return isinstance(value, dict) or any(hasattr(p, "dtype") and hasattr(p, "shape") for p in parts)


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, dict) else enumerate(value)


def _pairs(got: Any, want: Any, name: str) -> Iterator[tuple[str, _NDArray, _NDArray]]:
    """The arrays of a result, each with its name and the expected array."""
    if not isinstance(got, dict):
        want = _numpy(want)
        if got.shape != want.shape:
            raise ValueError(f"against: {name} has shape {got.shape}, the reference {want.shape}")
        yield name, got, want
        return
    expected = dict(_parts(want)) if isinstance(want, (dict, list, tuple)) else {}
    if list(got) != list(expected) and set(got) != set(expected):
        raise ValueError(f"against: the result has the parts {list(got)}, the reference {list(expected)}")
    for part in got:
        yield from _pairs(got[part], expected[part], part if name == "the result" else f"{name}.{part}")


def _numpy(value: Any) -> _NDArray:
    """An array or a tensor as an array of NumPy whose numbers NumPy can calculate with."""
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype).rpartition(".")[2].startswith(("bfloat16", "float8")):
            value = value.float()
        value = value.numpy()
    array = np.asarray(getattr(value, "array", value) if hasattr(value, "data_ptr") else value)
    # Types that other packages add to NumPy, as bfloat16, are floating-point numbers.
    return array if array.dtype.kind in "iubfc" else array.astype(np.float64)


@dataclass(frozen=True)
class ElementDifference:
    """A wrong element: its index, both values, and how far they are apart."""

    index: tuple[int, ...]
    got: Any
    want: Any
    # The absolute difference, and the same divided by the larger magnitude; `None` unless both are finite.
    absolute: float | None
    relative: float | None
    # The distance in representable numbers of the result's type in NumPy, where bfloat16 is float32. `None` for
    # integers and complex numbers.
    ulp: int | None

    def __str__(self) -> str:
        index = ",".join(map(str, self.index))
        return f"[{index}]  got {self.got}  expected {self.want}{_apart_in_words('  ', self)}"


@dataclass(frozen=True)
class Extremes:
    """The largest differences of the wrong elements (see :class:`ElementDifference`); `None` if no element has
    one."""

    absolute: float | None
    relative: float | None
    ulp: int | None


class Outcome(TextResult):
    """A kernel's result beside its reference.

    ``wrong`` is the number of wrong elements, ``first`` and ``worst`` are indices, ``mask`` tells them all, and
    ``findings`` are those of the checks. :meth:`differences` lists the wrong elements with both values and their
    distance; ``greatest`` has the largest distances.
    """

    def __init__(self, got: _NDArray, want: _NDArray, mask: _NDArray, findings: Findings) -> None:
        import numpy as np

        self.got, self.want, self.mask, self.findings = got, want, mask, findings
        self.wrong = int(mask.sum())
        self.first: tuple[int, ...] | None = None
        self.worst: tuple[int, ...] | None = None
        if self.wrong:
            wrong = np.argwhere(mask)
            apart = [_apart(x, y) for x, y in zip(got[mask].tolist(), want[mask].tolist())]
            self.first = tuple(int(i) for i in wrong[0])
            self.worst = tuple(int(i) for i in wrong[max(range(len(apart)), key=apart.__getitem__)])

    def differences(self, limit: int | None = None) -> list[ElementDifference]:
        """The wrong elements in the order of their indices; at most ``limit`` of them, if it is given."""
        import numpy as np

        return [self._difference(tuple(map(int, index))) for index in np.argwhere(self.mask)[:limit]]

    @cached_property
    def greatest(self) -> Extremes:
        """The largest differences of the wrong elements."""
        all = self.differences()

        def largest(values: Iterable[Any]) -> Any:
            return max((v for v in values if v is not None), default=None)

        return Extremes(*(largest(getattr(d, key) for d in all) for key in ("absolute", "relative", "ulp")))

    def _difference(self, index: tuple[int, ...]) -> ElementDifference:
        got, want = self.got[index], self.want[index]
        x, y = got.item(), want.item()
        if not (_is_finite(x) and _is_finite(y)):
            return ElementDifference(index, x, y, None, None, None)
        absolute, largest = abs(x - y), max(abs(x), abs(y))
        relative = absolute / largest if largest else 0.0
        return ElementDifference(index, x, y, absolute, relative, _ulp(got, want))

    @property
    def verdict(self) -> Literal["same", "differs"]:
        return "differs" if self.wrong else "same"

    @property
    def summary(self) -> str:
        """How many elements are wrong, in a few words; empty if none is."""
        return f"{self.wrong} of {self.mask.size} elements are wrong" if self.wrong else ""

    @property
    def data(self) -> Json:
        """The outcome as dictionaries and lists."""
        return {
            "verdict": self.verdict,
            "wrong": self.wrong,
            "elements": int(self.mask.size),
            "first": self.first,
            "worst": self.worst,
            "greatest": asdict(self.greatest),
            "differences": [_plain(d) for d in self.differences(_LISTED)],
            "findings": [f.data for f in self.findings],
        }

    def __str__(self) -> str:
        if not self.wrong:
            return f"same: all {self.mask.size} elements are within the tolerance"
        lines = [f"differs: {self.summary}"]
        for what, index in (("first", self.first), ("worst", self.worst)):
            if index is not None:
                lines.append(f"  {what} {self._difference(index)}")
        if greatest := _apart_in_words("", self.greatest):
            lines.append(f"  greatest  {greatest}")
        errors = [f for f in self.findings if f.grade == "error"]
        lines += [f"  checks: {f.kind} at {f.file}:{f.line}: {f.message}" for f in errors]
        if not errors:
            lines.append("  the checks find no error: compare with a kernel that is right to find the line")
        return "\n".join(lines)

    __repr__ = __str__


class Outcomes(TextResult, dict[Any, Outcome]):
    """The outcomes of a result of several arrays, by their names or numbers."""

    @property
    def verdict(self) -> Literal["same", "differs"]:
        return "differs" if self.wrong else "same"

    @property
    def wrong(self) -> int:
        """The number of wrong elements of all arrays."""
        return sum(outcome.wrong for outcome in self.values())

    @property
    def findings(self) -> Findings:
        """What the checks found."""
        return next((outcome.findings for outcome in self.values()), Findings())

    @property
    def summary(self) -> str:
        """The wrong arrays, in a few words; empty if none is."""
        return "; ".join(f"{name}: {outcome.summary}" for name, outcome in self.items() if outcome.wrong)

    @property
    def data(self) -> Json:
        """The outcomes as dictionaries and lists."""
        return {str(name): outcome.data for name, outcome in self.items()}

    def __str__(self) -> str:
        return "\n".join(f"{name}: {outcome}" for name, outcome in self.items())

    __repr__ = __str__


def _is_finite(value: Any) -> bool:
    return isinstance(value, int) or cmath.isfinite(value)


def _ulp(got: Any, want: Any) -> int | None:
    """The distance of two numbers of NumPy in representable numbers of the first one's type."""
    if got.dtype.kind != "f" or want.dtype.kind == "c" or got.dtype.itemsize > 8:
        return None
    places: list[int] = []
    for value in (got, got.dtype.type(want)):
        if not _is_finite(value.item()):
            return None  # The type has no such large number.
        bits = int(value.view(f"i{got.dtype.itemsize}"))
        # Numbers below zero are a magnitude with a sign: their order is the other one.
        places.append(bits if bits >= 0 else -(bits & ~(-1 << (8 * got.dtype.itemsize - 1))))
    return abs(places[0] - places[1])


def _apart_in_words(before: str, apart: ElementDifference | Extremes) -> str:
    """How far numbers are apart, in words after ``before``; empty if nothing can be said."""
    if apart.absolute is None:
        return ""
    ulp = f", {apart.ulp:,} ulp" if apart.ulp is not None else ""
    return f"{before}absolute {apart.absolute:.6g}, relative {apart.relative:.6g}{ulp}"


def _plain(difference: ElementDifference) -> Json:
    """A difference as JSON has it: numbers that it lacks (complex ones, NaN, infinities) are texts."""

    def number(value: Any) -> Any:
        return value if not isinstance(value, complex) and _is_finite(value) else str(value)

    return {**asdict(difference), "got": number(difference.got), "want": number(difference.want)}


def _apart(got: Any, want: Any) -> Any:
    """The distance of two numbers, exact for integers; NaN counts as the greatest."""
    apart = abs(got - want)
    return float("inf") if apart != apart else apart
