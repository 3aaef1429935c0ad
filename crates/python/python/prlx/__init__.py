"""PRLX for Python: run, check, compare and record GPU kernels, with a GPU or without.

    import prlx

    with prlx.cpu(check="all"):
        kernel[grid](x, y, n, BLOCK=128)      # a Triton or Numba kernel on NumPy arrays, no GPU

    print(prlx.compare(lambda: f(x), lambda: g(x)))

Names are imported when they are first used, so that ``import prlx`` is fast.
"""

from importlib import import_module

from ._native import (
    Error,
    FileError,
    KernelFault,
    KernelStuck,
    LaunchError,
    MemoryLimitError,
    ModuleError,
    UnsupportedError,
    __version__,
)

# The modules that define the public names.
_NAMES = {
    "against": "_against",
    "check": "_compare",
    "compare": "_compare",
    "diff": "_compare",
    "record_launches": "_compare",
    "CheckError": "_findings",
    "Finding": "_findings",
    "Findings": "_findings",
    "Kernel": "_kernel",
    "cpu": "_device",
    "ScheduleError": "_device",
    "Configurations": "_configurations",
    "Outcome": "_against",
    "Outcomes": "_against",
    "Table": "_recording",
    "Recording": "_recording",
    "read": "_recording",
    "Report": "_report",
    "convert": "_programs",
    "probe": "_programs",
    "profile": "_programs",
    "record": "_programs",
    "repeat": "_programs",
    # Names of PRLX 0.5.
    "TraceData": "_v1",
    "TraceEvent": "_v1",
    "TraceHeader": "_v1",
    "WarpData": "_v1",
    "diff_traces": "_v1",
    "display_trace_summary": "_v1",
    "find_differ_binary": "_v1",
    "read_trace": "_v1",
    "AnomalyRecord": "_monitor",
    "AnomalyType": "_monitor",
    "PrlxTrainingMonitor": "_monitor",
    "StepContext": "_monitor",
    "enable": "_names05",
    "enable_pytorch": "_names05",
    "integrate_with_triton": "_names05",
    "pytorch_trace": "_names05",
    "session": "_names05",
    "plot_divergence_heatmap": "_plot",
    "plot_warp_timeline": "_plot",
}

__all__ = [
    "Error",
    "FileError",
    "KernelFault",
    "KernelStuck",
    "LaunchError",
    "MemoryLimitError",
    "ModuleError",
    "UnsupportedError",
    "__version__",
    *_NAMES,
]


def __getattr__(name: str) -> object:
    if name == "torch":
        return import_module(".torch", __name__)
    if name not in _NAMES:
        raise AttributeError(f"module 'prlx' has no attribute {name!r}")
    value = getattr(import_module(f".{_NAMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])
