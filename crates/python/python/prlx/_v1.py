"""Recordings of PRLX 0.x from Python, with the names that PRLX 0.5 had: `read_trace`, `diff_traces`.

`docs/v1.md` describes the files. Compressed ones need Python 3.14 or the package `zstandard`.

Invariants: a damaged file raises `ValueError`, which names the field; nothing is read outside of the file.
"""

from __future__ import annotations

import json
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._command import binary

if TYPE_CHECKING:
    from .typing import Path

MAGIC = 0x50524C5800000000
COMPACT, COMPRESSED, HISTORY, SAMPLED, SNAPSHOT = 1, 2, 4, 8, 16
_EVENTS = ("Branch", "SharedMemStore", "Atomic", "FuncEntry", "FuncExit", "Switch", "GlobalStore")
_HEADER = struct.Struct("<QIIQ64s3I3IIIIIQIIIIII")
_EVENT = struct.Struct("<IBBHII")
_RING = 16


@dataclass
class TraceHeader:
    """The header of a recording."""

    magic: int
    version: int
    flags: int
    kernel_name_hash: int
    kernel_name: str
    grid_dim: tuple[int, int, int]
    block_dim: tuple[int, int, int]
    num_warps_per_block: int
    total_warp_slots: int
    events_per_warp: int
    timestamp: int
    cuda_arch: int
    history_depth: int
    history_section_offset: int
    sample_rate: int
    snapshot_depth: int
    snapshot_section_offset: int

    @property
    def has_history(self) -> bool:
        return bool(self.flags & HISTORY) and self.history_depth > 0

    @property
    def has_snapshot(self) -> bool:
        return bool(self.flags & SNAPSHOT) and self.snapshot_depth > 0

    @property
    def is_sampled(self) -> bool:
        return bool(self.flags & SAMPLED)

    @property
    def total_blocks(self) -> int:
        x, y, z = self.grid_dim
        return x * y * z

    @property
    def threads_per_block(self) -> int:
        x, y, z = self.block_dim
        return x * y * z


@dataclass
class TraceEvent:
    """One event of a warp."""

    site_id: int
    event_type: int
    branch_dir: int
    active_mask: int
    value_a: int

    @property
    def event_type_name(self) -> str:
        return _EVENTS[self.event_type] if self.event_type < len(_EVENTS) else f"Unknown({self.event_type})"

    @property
    def is_branch(self) -> bool:
        return self.event_type == 0

    @property
    def branch_taken(self) -> bool:
        return self.is_branch and self.branch_dir == 1

    @property
    def active_thread_count(self) -> int:
        return self.active_mask.bit_count()


@dataclass
class HistoryEntry:
    """A value that a site had."""

    site_id: int
    value: int
    seq: int


@dataclass
class SnapshotEntry:
    """The operands of a comparison in all lanes."""

    site_id: int
    active_mask: int
    seq: int
    cmp_predicate: int
    lhs_values: list[int]
    rhs_values: list[int]


@dataclass
class WarpData:
    """What one warp recorded; `overflow_count` events are missing at the end."""

    warp_idx: int
    num_events: int
    overflow_count: int
    events: list[TraceEvent]
    history: list[HistoryEntry] = field(default_factory=list)
    snapshots: list[SnapshotEntry] = field(default_factory=list)


class TraceData:
    """A recording of PRLX 0.x."""

    def __init__(self, header: TraceHeader, data: bytes) -> None:
        self.header = header
        self._data = data

    @property
    def num_warps(self) -> int:
        return self.header.total_warp_slots

    def warp(self, index: int) -> WarpData:
        """The warp of this number."""
        if not 0 <= index < self.num_warps:
            raise IndexError(f"there is no warp {index}: the recording has {self.num_warps}")
        return self._warps[index]

    def warps(self) -> Iterator[WarpData]:
        """All warps, in order."""
        return iter(self._warps)

    @cached_property
    def _warps(self) -> list[WarpData]:
        header, at = self.header, _HEADER.size
        stride = _RING + _EVENT.size * header.events_per_warp
        warps = []
        for i in range(self.num_warps):
            _, overflow, count, _ = self._unpack("<4I", at, f"warp {i}")
            count = min(count, header.events_per_warp)
            raw = self._slice(at + _RING, count * _EVENT.size, f"events of warp {i}")
            events = [TraceEvent(s, t, d, m, v) for s, t, d, _, m, v in _EVENT.iter_unpack(raw)]
            warps.append(WarpData(i, len(events), overflow, events))
            at += stride
        if header.has_history:
            at = self._rings(warps, header.history_section_offset or at, 16, header.history_depth, self._history)
        if header.has_snapshot:
            first = header.snapshot_section_offset or at
            self._rings(warps, first, 288, header.snapshot_depth, self._snapshot)
        return warps

    def _rings(
        self, warps: list[WarpData], at: int, size: int, depth: int, add: Callable[[WarpData, int], None]
    ) -> int:
        for warp in warps:
            _, _, total, _ = self._unpack("<4I", at, f"ring of warp {warp.warp_idx}")
            for i in range(min(total, depth)):
                add(warp, at + _RING + i * size)
            at += _RING + size * depth
        for warp in warps:
            warp.history.sort(key=lambda e: e.seq)
            warp.snapshots.sort(key=lambda e: e.seq)
        return at

    def _history(self, warp: WarpData, at: int) -> None:
        site, value, seq, _ = self._unpack("<4I", at, "history")
        warp.history.append(HistoryEntry(site, value, seq))

    def _snapshot(self, warp: WarpData, at: int) -> None:
        site, mask, seq, predicate, *values = self._unpack("<68I", at, "snapshot")
        warp.snapshots.append(SnapshotEntry(site, mask, seq, predicate, values[:32], values[32:64]))

    def _slice(self, at: int, size: int, what: str) -> bytes:
        if at + size > len(self._data):
            raise ValueError(f"{what}: the file ends at byte {len(self._data)}, before byte {at + size}")
        return self._data[at : at + size]

    def _unpack(self, form: str, at: int, what: str) -> tuple[Any, ...]:
        return struct.unpack(form, self._slice(at, struct.calcsize(form), what))

    @property
    def total_events(self) -> int:
        return sum(w.num_events for w in self.warps())

    @property
    def total_overflows(self) -> int:
        return sum(w.overflow_count for w in self.warps())

    def divergent_warps(self, other: TraceData) -> list[int]:
        """Numbers of the warps whose events differ from those of another recording."""
        pairs = zip(self.warps(), other.warps())
        return [a.warp_idx for a, b in pairs if a.events != b.events]

    def compare_warps(
        self, other: TraceData, index: int
    ) -> tuple[int, TraceEvent | None, TraceEvent | None] | None:
        """The first event of a warp that differs: its index and both events; `None` if there is none."""
        a, b = self.warp(index).events, other.warp(index).events
        for i in range(max(len(a), len(b))):
            x, y = (side[i] if i < len(side) else None for side in (a, b))
            if x != y:
                return i, x, y
        return None

    def filter_events(
        self, event_type: int | None = None, site_id: int | None = None, warp_idx: int | None = None
    ) -> Iterator[tuple[int, TraceEvent]]:
        """The events that match, as pairs of warp number and event."""
        for warp in self.warps() if warp_idx is None else [self.warp(warp_idx)]:
            for event in warp.events:
                if event_type in (None, event.event_type) and site_id in (None, event.site_id):
                    yield warp.warp_idx, event

    def events_at_site(self, site_id: int) -> list[tuple[int, TraceEvent]]:
        return list(self.filter_events(site_id=site_id))

    def branches(self) -> list[tuple[int, TraceEvent]]:
        return list(self.filter_events(event_type=0))

    def atomics(self) -> list[tuple[int, TraceEvent]]:
        return list(self.filter_events(event_type=2))

    def summary(self) -> str:
        """The kernel, its shape, and how many events of each kind the recording has."""
        header = self.header
        kinds = Counter(event.event_type_name for _, event in self.filter_events())
        lines = [
            f"kernel {header.kernel_name}  grid {header.grid_dim}  block {header.block_dim}",
            f"{self.num_warps} warps, {self.total_events} events, {self.total_overflows} lost",
        ]
        return "\n".join(lines + [f"  {name:<15} {count}" for name, count in sorted(kinds.items())])


def read_trace(path: Path) -> TraceData:
    """Reads a recording of PRLX 0.x. Those of this version are read by :func:`prlx.read`."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < _HEADER.size:
        raise ValueError(f"{path}: {len(data)} bytes are less than a header")
    fields = _HEADER.unpack_from(data)
    magic, version, flags, name_hash, name = fields[:5]
    if magic != MAGIC:
        raise ValueError(f"{path} is no recording of PRLX 0.x: prlx.read reads those of this version")
    if version != 1:
        raise ValueError(f"{path}: version {version} is not known")
    if flags & COMPACT:
        raise ValueError(f"{path}: compact events were never written by PRLX 0.x, and are not read")
    header = TraceHeader(
        magic,
        version,
        flags,
        name_hash,
        name.split(b"\0")[0].decode(errors="replace"),
        fields[5:8],
        fields[8:11],
        *fields[11:14],
        *fields[15:],
    )
    if flags & COMPRESSED:
        data = data[: _HEADER.size] + _decompress(data[_HEADER.size :], path)
    return TraceData(header, data)


def _decompress(data: bytes, path: Path) -> bytes:
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        try:
            import zstandard as zstd
        except ImportError:
            raise ValueError(f"{path} is compressed: pip install zstandard") from None
        return bytes(zstd.ZstdDecompressor().decompressobj().decompress(data))
    return bytes(zstd.decompress(data))


def find_differ_binary() -> str:
    """The path of `prlx-diff`."""
    return binary("prlx-diff")


def diff_traces(
    a: Path,
    b: Path,
    map: Path | None = None,
    values: bool = False,
    tui: bool = False,
    history: bool = False,
    **options: Any,
) -> Any:
    """Compares two recordings of PRLX 0.x with `prlx-diff`. Returns its JSON, or the exit code of the viewer.

    Other keywords become options (`lookahead=64`, `max_allowed_divergences=3`)."""
    words = [find_differ_binary(), str(a), str(b)]
    words += ["--map", str(map)] if map else []
    words += [f"--{name}" for name, on in (("values", values), ("history", history)) if on]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)]
    if tui:
        return subprocess.run([*words, "--tui"], check=False).returncode
    done = subprocess.run([*words, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        raise ValueError(f"prlx-diff ended with {done.returncode}: see the message above")
    return json.loads(done.stdout)


def display_trace_summary(trace: Path | TraceData) -> None:
    """Prints the summary of a recording, given as a path or as :class:`TraceData`."""
    print((trace if isinstance(trace, TraceData) else read_trace(trace)).summary())
