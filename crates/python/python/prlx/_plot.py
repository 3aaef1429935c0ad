"""Pictures of recordings of PRLX 0.x, with the names of PRLX 0.5: `plot_warp_timeline`,
`plot_divergence_heatmap`.

A picture is SVG text, which notebooks show. Recordings of this version have `prlx timeline` and the report's
page.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ._v1 import TraceData, read_trace

if TYPE_CHECKING:
    from .typing import Path

_COLOURS = ("#4c78a8", "#f58518", "#e45756", "#72b7b2", "#54a24b", "#b279a2", "#9d755d")
# Warps and events that a picture has at most.
_WARPS, _EVENTS = 64, 512


class Picture:
    """A picture: ``svg`` is its text; notebooks show it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Path) -> None:
        """Writes the picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def plot_warp_timeline(
    trace: Path | TraceData, warp_idx: int | None = None, save_path: Path | None = None
) -> Picture:
    """The events of warps, one row for each warp, in the order in which the warp recorded them. The colour is
    the kind of event. The first 64 warps and 512 events are drawn.

    trace: a path, or :class:`TraceData`. warp_idx: only this warp. save_path: a file for the picture."""
    trace = _trace(trace)
    warps = trace.warps() if warp_idx is None else [trace.warp(warp_idx)]
    shown = list(warps)[:_WARPS]
    cells = [
        (
            x,
            y,
            _COLOURS[event.event_type % len(_COLOURS)],
            f"{event.event_type_name}, site {event.site_id:#x}",
        )
        for y, warp in enumerate(shown)
        for x, event in enumerate(warp.events[:_EVENTS])
    ]
    labels = [f"warp {warp.warp_idx}" for warp in shown]
    return _picture(f"{trace.header.kernel_name}: events of warps", labels, cells, save_path)


def plot_divergence_heatmap(
    trace_a: Path | TraceData, trace_b: Path | TraceData, save_path: Path | None = None
) -> Picture:
    """The warps of two recordings, 32 in a row. Red warps have other events on both sides; the text of a cell
    names the first one.

    trace_a, trace_b: paths, or :class:`TraceData`. save_path: a file for the picture."""
    a, b = _trace(trace_a), _trace(trace_b)
    different = set(a.divergent_warps(b))
    cells = []
    for i in range(min(a.num_warps, b.num_warps)):
        first = a.compare_warps(b, i) if i in different else None
        text = f"warp {i}: " + ("same" if first is None else f"differs from event {first[0]} on")
        cells.append((i % 32, i // 32, "#e45756" if first else "#d0d0d0", text))
    rows = max((y for _, y, *_ in cells), default=0) + 1
    labels = [f"warp {32 * y}" for y in range(rows)]
    title = f"{a.header.kernel_name}: {len(different)} of {len(cells)} warps differ"
    return _picture(title, labels, cells, save_path)


def _trace(trace: Path | TraceData) -> TraceData:
    return trace if isinstance(trace, TraceData) else read_trace(trace)


def _picture(
    title: str, labels: list[str], cells: list[tuple[int, int, str, str]], save_path: Path | None
) -> Picture:
    """A grid of coloured cells of 12 by 14 units, beside the labels of the rows."""
    left, top = 80, 30
    width = left + 12 * (max((x for x, *_ in cells), default=0) + 1) + 10
    height = top + 14 * max(len(labels), 1) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(width, 400)} {height}" '
        'font-family="sans-serif" font-size="10">',
        f'<text x="4" y="16" font-size="12">{escape(title)}</text>',
    ]
    out += [f'<text x="4" y="{top + 14 * y + 10}">{escape(label)}</text>' for y, label in enumerate(labels)]
    for x, y, colour, text in cells:
        out.append(
            f'<rect x="{left + 12 * x}" y="{top + 14 * y}" width="11" height="12" fill="{colour}">'
            f"<title>{escape(text)}</title></rect>"
        )
    picture = Picture("\n".join([*out, "</svg>", ""]))
    if save_path is not None:
        picture.save(save_path)
    return picture
