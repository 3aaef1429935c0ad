"""Comparison of a kernel's results with a reference."""

from ._findings import Findings
from ._pages import TextResult

# Tolerances for numbers that are no integers.
_RTOL, _ATOL = 1e-5, 1e-8


class against:
    """A reference to compare a kernel with: ``prlx.compare(f, prlx.against(expected, rtol=1e-5))``.

    ``reference`` is the expected array or tensor, or a function without arguments that returns it. ``f`` returns
    the array that its kernels filled. The result is an :class:`Outcome`: which elements are wrong, and if some
    are, what the checks of the same launches find. A tuple, list or dictionary of arrays is compared part by
    part; the result is an :class:`Outcomes`.

    rtol, atol: an element may be ``atol + rtol * abs(expected)`` away. By default 1e-5 and 1e-8 for results that
    are floating-point numbers. Integers and booleans must be equal unless a tolerance is given.
    """

    def __init__(self, reference, *, rtol=None, atol=None, equal_nan=False):
        self.reference, self.rtol, self.atol, self.equal_nan = reference, rtol, atol, equal_nan

    def evaluated(self):
        """The same with the array, if the reference is a function."""
        value = self.reference() if callable(self.reference) else self.reference
        return against(value, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan)

    def copy(self, returned):
        """What a function returned, as arrays of its own."""
        if returned is None:
            raise TypeError("against: the function returns the array that its kernels filled")
        if _is_structure(returned):
            return {name: self.copy(part) for name, part in _parts(returned)}
        return _numpy(returned).copy()

    def outcome(self, got, findings):
        """Compares arrays with the reference. ``findings()`` runs the checks."""
        want = self.evaluated().reference
        pairs = list(_pairs(got, want, "the result"))
        close = [self._close(x, y) for _, x, y in pairs]
        found = findings() if not all(c.all() for c in close) else Findings()
        outcomes = [(name, Outcome(x, y, ~c, found)) for (name, x, y), c in zip(pairs, close)]
        return outcomes[0][1] if not isinstance(got, dict) else Outcomes(outcomes)

    def _close(self, got, want):
        import numpy as np

        if got.dtype.kind in "iub":
            return self._close_integers(got, want)
        rtol = _RTOL if self.rtol is None else self.rtol
        atol = _ATOL if self.atol is None else self.atol
        return np.isclose(got, want, rtol, atol, self.equal_nan)

    def _close_integers(self, got, want):
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


def _exact(array):
    """Integers of all sizes and signs as numbers that compare exactly."""
    return array.astype(object) if array.dtype.kind in "uf" else array


def _is_structure(value):
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return isinstance(value, dict) or any(hasattr(p, "dtype") and hasattr(p, "shape") for p in parts)


def _parts(value):
    return value.items() if isinstance(value, dict) else enumerate(value)


def _pairs(got, want, name):
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


def _numpy(value):
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


class Outcome(TextResult):
    """A kernel's result beside its reference.

    ``wrong`` is the number of wrong elements, ``first`` and ``worst`` are indices, ``mask`` tells them all, and
    ``findings`` are those of the checks.
    """

    def __init__(self, got, want, mask, findings):
        import numpy as np

        self.got, self.want, self.mask, self.findings = got, want, mask, findings
        self.wrong = int(mask.sum())
        self.first = self.worst = None
        if self.wrong:
            wrong = np.argwhere(mask)
            apart = [_apart(x, y) for x, y in zip(got[mask].tolist(), want[mask].tolist())]
            self.first = tuple(int(i) for i in wrong[0])
            self.worst = tuple(int(i) for i in wrong[max(range(len(apart)), key=apart.__getitem__)])

    @property
    def verdict(self):
        return "differs" if self.wrong else "same"

    @property
    def summary(self):
        """How many elements are wrong, in a few words; empty if none is."""
        return f"{self.wrong} of {self.mask.size} elements are wrong" if self.wrong else ""

    @property
    def data(self):
        """The outcome as dictionaries and lists."""
        return {
            "verdict": self.verdict,
            "wrong": self.wrong,
            "elements": int(self.mask.size),
            "first": self.first,
            "worst": self.worst,
            "findings": [f.data for f in self.findings],
        }

    def __str__(self):
        if not self.wrong:
            return f"same: all {self.mask.size} elements are within the tolerance"
        lines = [f"differs: {self.summary}"]
        for what, index in (("first", self.first), ("worst", self.worst)):
            place = ",".join(map(str, index))
            lines.append(f"  {what} [{place}]  got {self.got[index]}  expected {self.want[index]}")
        errors = [f for f in self.findings if f.grade == "error"]
        lines += [f"  checks: {f.kind} at {f.file}:{f.line}: {f.message}" for f in errors]
        if not errors:
            lines.append("  the checks find no error: compare with a kernel that is right to find the line")
        return "\n".join(lines)

    __repr__ = __str__


class Outcomes(TextResult, dict):
    """The outcomes of a result of several arrays, by their names or numbers."""

    @property
    def verdict(self):
        return "differs" if self.wrong else "same"

    @property
    def wrong(self):
        """The number of wrong elements of all arrays."""
        return sum(outcome.wrong for outcome in self.values())

    @property
    def findings(self):
        """What the checks found."""
        return next((outcome.findings for outcome in self.values()), Findings())

    @property
    def summary(self):
        """The wrong arrays, in a few words; empty if none is."""
        return "; ".join(f"{name}: {outcome.summary}" for name, outcome in self.items() if outcome.wrong)

    @property
    def data(self):
        """The outcomes as dictionaries and lists."""
        return {str(name): outcome.data for name, outcome in self.items()}

    def __str__(self):
        return "\n".join(f"{name}: {outcome}" for name, outcome in self.items())

    __repr__ = __str__


def _apart(got, want):
    """The distance of two numbers, exact for integers; NaN counts as the greatest."""
    apart = abs(got - want)
    return float("inf") if apart != apart else apart
