"""Types of the native module. Nothing here is public; the package's other modules use it."""

from collections.abc import Callable, Sequence
from typing import Any, final

from .typing import Verdict

__version__: str

class Error(Exception): ...
class ModuleError(Error): ...
class UnsupportedError(Error): ...
class LaunchError(Error): ...
class KernelFault(Error): ...
class KernelStuck(Error): ...
class MemoryLimitError(Error): ...
class FileError(Error): ...

@final
class Module:
    def __new__(cls, code: bytes, name: str) -> Module: ...
    @staticmethod
    def compile(path: str) -> Module: ...
    def kernels(self) -> list[str]: ...
    def source_names(self) -> list[str]: ...
    def params(self, kernel: str) -> list[tuple[str, int, str]]: ...
    def numbers(self, kernel: str) -> list[bool]: ...
    def ptx(self) -> str: ...

@final
class Array:
    def __new__(
        cls, name: str, owner: int, bytes: int, offset: int, ty: str, shape: Sequence[int]
    ) -> Array: ...
    @property
    def name(self) -> str: ...
    @property
    def memory(self) -> tuple[int, int]: ...

@final
class Scalar:
    def __new__(cls, name: str, bytes: bytes, ty: str | None = None) -> Scalar: ...

@final
class TensorMap:
    def __new__(
        cls,
        array: Array,
        sizes: Sequence[int],
        strides: Sequence[int],
        tile: Sequence[int],
        swizzle: int,
        nan: bool,
    ) -> TensorMap: ...
    @property
    def array(self) -> Array: ...

@final
class Launch:
    def __new__(
        cls,
        module: Module,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int],
        shared: int,
        arguments: Sequence[Array | Scalar | TensorMap],
        owners: Sequence[object],
        contract: bool,
    ) -> Launch: ...
    def snapshot(self, content: Callable[[int, int], bytes], name: str, seed: int) -> Snapshot: ...

@final
class Snapshot:
    @property
    def kernel(self) -> str: ...

@final
class Run:
    @property
    def warp_instructions(self) -> int: ...
    @property
    def nanos(self) -> int: ...
    @property
    def printed(self) -> str: ...
    @property
    def printed_limit(self) -> str | None: ...
    def findings(self) -> str: ...
    def errors(self) -> int: ...
    def findings_text(self, terminal: bool) -> str: ...
    def raise_fault(self) -> None: ...

@final
class ScheduleChecks:
    def __new__(cls) -> ScheduleChecks: ...
    def add(self, run: Run, seed: int) -> None: ...
    def findings(self) -> str: ...
    def findings_text(self, terminal: bool) -> str: ...

@final
class Device:
    def __new__(
        cls,
        check: str | None = None,
        max_steps: int | None = None,
        max_memory: int | None = None,
        threads: int | None = None,
        max_printed: int | None = None,
    ) -> Device: ...
    def run(self, launch: Launch, seed: int) -> Run: ...

@final
class Report:
    @property
    def verdict(self) -> Verdict: ...
    def json(self) -> str: ...
    def text(self, terminal: bool) -> str: ...
    def html(self) -> str: ...

@final
class Recording:
    def __new__(cls, path: str) -> Recording: ...
    def files(self) -> int: ...
    @staticmethod
    def tables() -> list[tuple[str, list[tuple[str, str]]]]: ...
    def arrow(self, name: str) -> object: ...
    # The columns: the kind of their values, the values, and which of them are missing.
    def table(self, name: str) -> dict[str, tuple[str, Any, bytes | None]]: ...

def compare(
    a: Snapshot,
    b: Snapshot,
    names: tuple[str, str],
    *,
    level: str | None = None,
    check: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: int | None = None,
    equal_nan: bool = False,
    strict: bool = False,
    findings: int = 8,
    explain: bool = True,
    zoom: bool = True,
    gpu: bool = False,
    max_steps: int | None = None,
    max_memory: int | None = None,
    max_printed: int | None = None,
    progress: Callable[[str, str], object] | None = None,
) -> Report: ...
def compare_captured(
    a: str,
    b: str,
    names: tuple[str, str],
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    progress: Callable[[str, str], object] | None = None,
) -> Report: ...
def diff(
    a: str,
    b: str,
    *,
    kernels: Sequence[str] = ...,
    strict: bool = False,
    force: bool = False,
    findings: int = 8,
    progress: Callable[[str, str], object] | None = None,
) -> Report: ...
def load(path: str, seed: int | None = None) -> Snapshot: ...
def record(
    launch: Snapshot,
    path: str,
    *,
    level: str | None = None,
    progress: Callable[[str, str], object] | None = None,
) -> None: ...
def probe(
    program: str,
    launches: Sequence[tuple[str, Snapshot]],
    *,
    kernels: Sequence[str] = ...,
    rewritten: bool = False,
    max_steps: int | None = None,
    max_memory: int | None = None,
    max_printed: int | None = None,
    progress: Callable[[str, str], object] | None = None,
) -> str: ...
