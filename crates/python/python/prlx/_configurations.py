"""The result of a comparison of configurations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ._pages import TextResult

if TYPE_CHECKING:
    from ._against import Outcome, Outcomes
    from ._report import Report
    from .typing import Json, Verdict

# What each configuration has: a report, or the outcome of a comparison with a reference.
R = TypeVar("R", bound="Report | Outcome | Outcomes")


class Configurations(TextResult, list[tuple[dict[str, Any], R]]):
    """The configurations of a kernel, each compared with the same side: ``(config, report)`` pairs. ``str()`` is
    a table of verdicts and causes; ``reference`` is the first configuration, or the name of the other side."""

    def __init__(self, reference: str | dict[str, Any], pairs: Iterable[tuple[dict[str, Any], R]]) -> None:
        super().__init__(pairs)
        self.reference = reference

    @property
    def verdict(self) -> Verdict:
        """``"differs"`` if one does, else ``"unknown"`` if one is, else ``"same"``."""
        verdicts = [report.verdict for _, report in self]
        return next((v for v in ("differs", "unknown") if v in verdicts), "same")

    @property
    def data(self) -> Json:
        """The table as dictionaries and lists."""
        rows = [
            {"config": config, "verdict": report.verdict, "cause": report.summary} for config, report in self
        ]
        return {"verdict": self.verdict, "reference": self.reference, "configurations": rows}

    def __str__(self) -> str:
        rows = [(words(config), report.verdict, report.summary) for config, report in self]
        width = max((len(config) for config, _, _ in rows), default=0)
        lines = [f"reference  {words(self.reference)}"]
        lines += [f"{config:<{width}}  {verdict:<8}  {cause}".rstrip() for config, verdict, cause in rows]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<prlx.Configurations {self.verdict}: {len(self)} compared with {words(self.reference)}>"


def words(config: str | dict[str, Any]) -> str:
    """A configuration in words."""
    if isinstance(config, str):
        return config
    return " ".join(f"{k}={v}" for k, v in config.items()) or "no options"
