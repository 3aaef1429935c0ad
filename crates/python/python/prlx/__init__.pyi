from . import torch as torch
from ._against import Outcome
from ._against import Outcomes
from ._against import against
from ._compare import check
from ._compare import compare
from ._compare import diff
from ._compare import record_launches
from ._configurations import Configurations
from ._device import ScheduleError
from ._device import cpu
from ._findings import CheckError
from ._findings import Finding
from ._findings import Findings
from ._kernel import Kernel
from ._monitor import AnomalyRecord
from ._monitor import AnomalyType
from ._monitor import PrlxTrainingMonitor
from ._monitor import StepContext
from ._names05 import enable
from ._names05 import enable_pytorch
from ._names05 import integrate_with_triton
from ._names05 import pytorch_trace
from ._names05 import session
from ._native import Error
from ._native import FileError
from ._native import KernelFault
from ._native import KernelStuck
from ._native import LaunchError
from ._native import MemoryLimitError
from ._native import ModuleError
from ._native import UnsupportedError
from ._native import __version__
from ._plot import plot_divergence_heatmap
from ._plot import plot_warp_timeline
from ._programs import convert
from ._programs import probe
from ._programs import profile
from ._programs import record
from ._programs import repeat
from ._recording import Recording
from ._recording import Table
from ._recording import read
from ._report import Report
from ._v1 import TraceData
from ._v1 import TraceEvent
from ._v1 import TraceHeader
from ._v1 import WarpData
from ._v1 import diff_traces
from ._v1 import display_trace_summary
from ._v1 import find_differ_binary
from ._v1 import read_trace

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
    "against",
    "check",
    "compare",
    "diff",
    "record_launches",
    "CheckError",
    "Finding",
    "Findings",
    "Kernel",
    "cpu",
    "ScheduleError",
    "Configurations",
    "Outcome",
    "Outcomes",
    "Table",
    "Recording",
    "read",
    "Report",
    "convert",
    "probe",
    "profile",
    "record",
    "repeat",
    "TraceData",
    "TraceEvent",
    "TraceHeader",
    "WarpData",
    "diff_traces",
    "display_trace_summary",
    "find_differ_binary",
    "read_trace",
    "AnomalyRecord",
    "AnomalyType",
    "PrlxTrainingMonitor",
    "StepContext",
    "enable",
    "enable_pytorch",
    "integrate_with_triton",
    "pytorch_trace",
    "session",
    "plot_divergence_heatmap",
    "plot_warp_timeline",
]
