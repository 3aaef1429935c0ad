"""Types of the package's arguments and results, for annotations in programs that use it.

    from prlx.typing import Array, CompareOptions

Protocols describe what PRLX asks of arrays and kernels of other libraries; no class has to derive from them.
The dictionaries name the keyword arguments of functions that take many. :mod:`prlx.schema` has the types of a
report's attributes.
"""

from __future__ import annotations

import array
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsFloat, SupportsIndex, TypeAlias, TypedDict
from typing import Union

if TYPE_CHECKING:
    from .schema import Printed, Report

Verdict: TypeAlias = Literal["same", "differs", "unknown"]
Level: TypeAlias = Literal["fingerprint", "path", "values", "events", "operands"]
# An architecture of a GPU: a name, or the number in it.
ArchName: TypeAlias = Literal[
    "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86",
    "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_101", "sm_101a", "sm_103",
    "sm_103a", "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_121", "sm_121a",
]  # fmt: skip
Arch: TypeAlias = ArchName | str | int
CheckName: TypeAlias = Literal["all", "bounds", "init", "race", "sync", "async", "notes"]
# Checks: one name, names with commas, or a collection of names.
Checks: TypeAlias = CheckName | str | Sequence[CheckName] | set[CheckName] | frozenset[CheckName]
Path: TypeAlias = str | os.PathLike[str]
# A function that launches kernels.
Launches: TypeAlias = Callable[[], object]
# A grid or a CTA: its size, or its sizes in up to three dimensions.
Size: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | list[SupportsIndex] | list[int]
# A program and its arguments, or the path of a launch file (`.toml`).
Target: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
# JSON data as dictionaries and lists.
Json: TypeAlias = dict[str, Any]


class ArrayInterface(Protocol):
    """An array of NumPy, or of a library with its array interface."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


class Tensor(Protocol):
    """A tensor, as PyTorch has it; in the memory of the host."""

    def data_ptr(self) -> int: ...
    def element_size(self) -> int: ...
    def numel(self) -> int: ...
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def device(self) -> Any: ...


# What kernels take as a pointer.
Array: TypeAlias = Union[ArrayInterface, Tensor, "array.array[Any]"]

# What a parameter of `prlx.Kernel` takes: an array, a number, or the bytes of a structure.
Argument: TypeAlias = Union[Array, SupportsIndex, SupportsFloat, bytes, bytearray, memoryview, None]

# Arrays that a function returns, or a reference: one, or several with names or numbers.
Arrays: TypeAlias = Union[Array, Mapping[Any, Any], Sequence[Any]]


class RawKernel(Protocol):
    """A ``cupy.RawKernel``: CUDA source text, a kernel's name, and options of NVRTC."""

    @property
    def code(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def options(self) -> tuple[str, ...]: ...


# The code of a kernel: text or bytes of a module, CUDA C++ text, a path, or a `cupy.RawKernel`.
Code: TypeAlias = Union[str, bytes, bytearray, "os.PathLike[str]", RawKernel]


class Launcher(Protocol):
    """A kernel with the shape of its launch: a call launches it."""

    def __call__(self, *args: Argument) -> None: ...


class Launchable(Protocol):
    """A kernel that is launched as ``kernel[grid, block](arguments)`` or ``kernel[grid](arguments)``: a
    :class:`prlx.Kernel`, a kernel of Triton, or a kernel of Numba."""

    def __getitem__(self, shape: Any, /) -> Callable[..., Any]: ...


class TextOutput(Protocol):
    """Where text goes, as an open file."""

    def write(self, text: str, /) -> object: ...


class TritonConfig(Protocol):
    """A ``triton.Config``."""

    def all_kwargs(self) -> dict[str, Any]: ...


# Configurations of a kernel: arguments by name.
Configs: TypeAlias = Iterable[Union[Mapping[str, Any], TritonConfig]]


class LimitOptions(TypedDict, total=False):
    """Limits of the CPU device."""

    max_steps: int | None
    max_memory: int | None
    max_printed: int | None


class CompareOptions(LimitOptions, total=False):
    """Options of :func:`prlx.compare` for functions and launch files."""

    level: Level | None
    check: Checks | None
    rtol: float | None
    atol: float | None
    ulp: int | None
    equal_nan: bool
    strict: bool
    findings: int
    explain: bool
    zoom: bool
    gpu: bool


class AgainstOptions(TypedDict, total=False):
    """Options of :func:`prlx.compare` with a reference, which has the tolerances itself."""

    check: Checks | Literal[False] | None


class DiffOptions(TypedDict, total=False):
    """Options of :func:`prlx.diff`."""

    kernels: Sequence[str]
    strict: bool
    force: bool
    findings: int


class FileOptions(CompareOptions, total=False):
    """Options of :func:`prlx.compare` for files: of launch files, or those of :func:`prlx.diff`."""

    kernels: Sequence[str]
    force: bool


class RunOptions(TypedDict, total=False):
    """Options of :class:`prlx.cpu` that functions take which enter one."""

    arch: Arch
    check: Checks | None
    collect: bool
    max_steps: int | None
    max_memory: int | None
    max_printed: int | None
    threads: int | None


# Options of the command line, with the names that they have there. `--class` and `--from` are `class_` and
# `from_`, since `class` and `from` are words of Python.

# A value, or several: the option is repeated.
Words: TypeAlias = Union[str, Sequence[str]]


class CommonOptions(TypedDict, total=False):
    """Options of every command."""

    color: Literal["auto", "always", "never"]
    quiet: bool


class DeviceOptions(TypedDict, total=False):
    """Where launch files run."""

    device: str
    seed: int
    max_steps: int
    timeout: float
    check: Checks
    threads: int
    max_memory: int
    max_printed: int
    calibration: Path | Sequence[Path]


class SelectionOptions(TypedDict, total=False):
    """Which launches of a program are recorded."""

    launch: int | str
    skip: int
    count: int
    time: str
    # Without a number, the default of the command line: `digest=True`.
    digest: bool | int
    host_memory: int
    no_env: bool


class RecorderOptions(TypedDict, total=False):
    """What is recorded."""

    level: Level
    no_elide: bool
    kernel: Words
    function: Words
    line: Words
    class_: Words
    warps: Words
    ctas: Words
    rewritten: bool
    memory: int
    outputs: int


class RangeOptions(TypedDict, total=False):
    """A part of a program."""

    from_: int | str
    to: int | str
    range: Words


class ToleranceOptions(TypedDict, total=False):
    """How far outputs may be apart."""

    rtol: float
    atol: float
    ulp: int
    equal_nan: bool


class RecordOptions(
    RecorderOptions, RangeOptions, SelectionOptions, DeviceOptions, CommonOptions, total=False
):
    """Options of :func:`prlx.record`, as of ``prlx record``."""

    force: bool
    capture: bool | int


class RepeatOptions(
    RecorderOptions,
    RangeOptions,
    SelectionOptions,
    DeviceOptions,
    ToleranceOptions,
    CommonOptions,
    total=False,
):
    """Options of :func:`prlx.repeat` for launch files and programs, as of ``prlx repeat``."""

    runs: int
    findings: int
    strict: bool
    keep: Path
    force: bool


class ProbeOptions(DeviceOptions, CommonOptions, total=False):
    """Options of :func:`prlx.probe`, as of ``prlx probe``."""

    kernel: Words
    rewritten: bool
    output: Path
    force: bool
    memory: int
    interval: float
    top: int
    csv: Path
    parquet: Path
    html: Path


class ProbeFunctionOptions(TypedDict, total=False):
    """Options of :func:`prlx.probe` of a function, besides ``arch`` and ``seed``."""

    kernel: str | Iterable[str]
    rewritten: bool
    max_steps: int | None
    max_memory: int | None
    max_printed: int | None


AutoKind: TypeAlias = Literal["barrier", "mbarrier", "tma", "cp-async", "wgmma", "trip", "function"]


class ProfileOptions(SelectionOptions, DeviceOptions, CommonOptions, total=False):
    """Options of :func:`prlx.profile`, as of ``prlx profile``."""

    # Kinds with commas are possible, too; `True` stands for the kinds that wait, arrive and copy.
    auto: bool | AutoKind | str
    line: Words
    lanes: bool
    spans: bool
    sums: bool
    flight_recorder: bool | int
    machine_code: bool
    warps: Words
    kernel: Words
    memory: int
    rewritten: bool
    output: Path
    force: bool
    format: Literal["prlx", "cudaprofiler"]
    rows: int
    perfetto: Path
    chrome: Path
    csv: Path
    parquet: Path
    html: Path
    cudaprofiler: Path
    sm: Words
    cta: Words
    group: Words
    from_: float
    to: float


class ConvertOptions(CommonOptions, total=False):
    """Options of :func:`prlx.convert`, as of ``prlx convert``."""

    to: Literal["plain", "compact", "packed", "perfetto", "chrome", "parquet"]
    launch: int
    sites: Path


# Results of commands: their JSON with attributes instead of keys.


class RepeatedFunction(Protocol):
    """What :func:`prlx.repeat` returns of a function."""

    verdict: Literal["same"]
    runs: int
    launches: int


class RepeatOutcome(Protocol):
    """Runs that ended alike: how many, and the first of them."""

    runs: int
    first: list[int]
    digest: str | None
    ended: str | None
    launches: int
    printed: Printed
    kept: str | None
    report: Report | None


class Repeated(Protocol):
    """What :func:`prlx.repeat` returns of a launch file or a program (``docs/report.md``)."""

    format: Literal["prlx-repeat"]
    version: int
    verdict: Verdict
    command: str
    runs: int
    outcomes: list[RepeatOutcome]
    alone: Report | None


class TallyColumn(Protocol):
    """A column of a probe's table; ``shown`` says how its values are read."""

    name: str
    type: str
    shown: str


class Tally(Protocol):
    """A table that a probe keeps. A row has ``key``, and attributes that depend on ``aggregate``."""

    name: str
    aggregate: Literal["count", "sum", "min", "max", "avg", "hist", "lhist", "record"]
    keys: list[TallyColumn]
    values: list[TallyColumn]
    rows: list[Any]
    lost: int


class Tallies(Protocol):
    """What :func:`prlx.probe` returns (``docs/tallies.md``)."""

    format: Literal["prlx-tallies"]
    version: int
    tables: list[Tally]
    missed: list[Any]
    printed: list[Printed]


class Profile(Protocol):
    """What :func:`prlx.profile` returns. Its parts have attributes, too (``docs/profile.md``)."""

    format: Literal["prlx-profile"]
    version: int
    launches: list[Any]
    kernels: list[Any]
    calls: list[Any]
    host: Any
    axis: Any
    analysis: Any
    calibrations: list[Any]
    notes: list[str]
    printed: list[Printed]
