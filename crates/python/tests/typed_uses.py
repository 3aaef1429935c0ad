"""Uses of the package's types, on which `test_types.py` runs mypy. A line that ends with ``# wrong: CODE`` must have
an error of that code, and no other line may have one. Nothing here runs.
"""

from __future__ import annotations

import array
import io
import pathlib
from typing import Any

import numpy as np
import prlx
import prlx.torch
import pytest
from prlx.pytest_plugin import Clean, Golden, Same
from prlx.schema import Cause, CauseClass, LaunchReport
from prlx.typing import Argument, Array, Arrays, CompareOptions, Launchable, Verdict
from typing_extensions import assert_type

x = np.zeros(4, np.float32)
plain = array.array("f", [0.0])


def launches() -> None: ...
def configured(block: int) -> None: ...


def one_array() -> np.ndarray[Any, Any]:
    return x


def two_arrays() -> dict[str, np.ndarray[Any, Any]]:
    return {"x": x}


def configured_array(block: int) -> np.ndarray[Any, Any]:
    return x


# prlx.cpu
with prlx.cpu() as device:
    assert_type(device, prlx.cpu)
with prlx.cpu("sm_80", check="all", seed=3, collect=True, threads=2, stdout=io.StringIO()) as device:
    assert_type(device.findings, prlx.Findings)
    assert_type(device.launches, int)
prlx.cpu(90, check=["race", "bounds"], seeds=range(20), max_steps=1000, max_memory=np.int64(1 << 20), max_printed=None)
prlx.cpu(check="race,bounds")
prlx.cpu(checks="all")  # wrong: call-arg
prlx.cpu(check=True)  # wrong: arg-type
prlx.cpu(check=["races"])  # wrong: list-item
prlx.cpu(seed="1")  # wrong: arg-type
prlx.cpu(seed=1.5)  # wrong: arg-type
prlx.cpu("sm_80", "all")  # wrong: call-arg
prlx.cpu(stdout="out.txt")  # wrong: arg-type
device.finding  # wrong: attr-defined

# prlx.Kernel
kernel = prlx.Kernel(pathlib.Path("k.cu"), "k", arch="sm_80", options=["-DN=4"])
kernel[1, 32](x, 3, 1.5, None, True, b"bytes", plain, np.int8(3))
kernel[(1, 2), (32, 1, 1), 1024](x)
assert_type(kernel.name, str)
assert_type(kernel.ptx, str)
as_protocol: Launchable = kernel
argument: Argument = 1.5
some_array: Array = plain
arrays: Arrays = {"x": x}
prlx.Kernel(b"fatbin", options="-DN=4")
prlx.Kernel(42)  # wrong: arg-type
prlx.Kernel("k.cu", architecture="sm_80")  # wrong: call-arg
kernel[1](x)  # wrong: index
kernel[1, 1.5](x)  # wrong: index
kernel[1, 1]("text")  # wrong: arg-type
kernel[1, 1](x=x)  # wrong: call-arg

# prlx.compare
report = prlx.compare(launches, launches, rtol=1e-5, atol=0, ulp=2, equal_nan=True, level="events", check="race")
assert_type(report, prlx.Report)
assert_type(prlx.compare("a.prlx", pathlib.Path("b.prlx"), kernels=["gemm*"], force=True), prlx.Report)
assert_type(prlx.compare("a.toml", "b.toml", seed=3, gpu=True, explain=False, zoom=False), prlx.Report)
assert_type(prlx.compare(configured, configs=[{"block": 1}, {"block": 2}]), "prlx.Configurations[prlx.Report]")
assert_type(prlx.compare(configured, launches, configs=[{"block": 1}]), "prlx.Configurations[prlx.Report]")
outcome = prlx.compare(one_array, prlx.against(x, rtol=1e-5), check="race")
assert_type(outcome, prlx.Outcome)
assert_type(prlx.compare(two_arrays, prlx.against({"x": x})), prlx.Outcomes)
table = prlx.compare(configured_array, prlx.against(x), configs=[{"block": 1}])
assert_type(table, "prlx.Configurations[prlx.Outcome]")
assert_type(table[0], tuple[dict[str, Any], prlx.Outcome])
options: CompareOptions = {"rtol": 1e-5, "strict": True, "max_steps": 1000}
prlx.compare(launches, launches, **options)
prlx.compare(launches, "b.toml")  # wrong: call-overload
prlx.compare(launches)  # wrong: call-overload
prlx.compare(launches, launches, tolerance=1e-5)  # wrong: call-overload
prlx.compare(launches, launches, level="paths")  # wrong: call-overload
prlx.compare(one_array, prlx.against(x), rtol=1e-5)  # wrong: call-overload
prlx.compare(launches, prlx.against(x))  # wrong: arg-type
prlx.compare("a.toml", "b.toml", arch="sm_80")  # wrong: call-overload
bad_options: CompareOptions = {"rtol": "small"}  # wrong: typeddict-item
prlx.diff("a", "b", kernel="gemm")  # wrong: call-arg
prlx.diff("a", "b", kernels=["gemm"], strict=True, findings=3).show()

# prlx.Report
verdict: Verdict = report.verdict
launch: LaunchReport = report.launches[0]
cause: Cause = report.causes[0]
kind: CauseClass = cause.class_
assert_type(launch.outputs[0].max_ulp, "int | None")
assert_type(launch.grid, list[int])
place = cause.places[0]
if place is not None and place.location is not None:
    assert_type(place.location.line, int)
place.location  # wrong: union-attr
report.verdict == "equal"  # wrong: comparison-overlap
report.launch  # wrong: attr-defined
cause.reason  # wrong: attr-defined
report.save(pathlib.Path("report.html"))
report.save(1)  # wrong: arg-type

# prlx.against
assert_type(outcome.differences(8)[0].ulp, "int | None")
assert_type(outcome.first, "tuple[int, ...] | None")
assert_type(outcome.greatest.absolute, "float | None")
prlx.against(lambda: x, atol=1.0, equal_nan=True)
prlx.against(x, ulp=1)  # wrong: call-arg

# prlx.check
findings = prlx.check(launches, check="race", arch="sm_80", seed=1, seeds=range(3))
assert_type(findings, prlx.Findings)
assert_type(findings.errors[0].line, "int | None")
assert_type(findings[0], prlx.Finding)
if findings[0].launched is not None:
    assert_type(findings[0].launched.file, str)
findings[0].severity  # wrong: attr-defined
findings[0].grade == "fatal"  # wrong: comparison-overlap
prlx.check(configured)  # wrong: arg-type
prlx.check(launches, "all")  # wrong: call-arg

assert_type(prlx.compare(launches, seeds=range(4), check="race"), prlx.Report)
prlx.compare("launch.toml", seeds=range(4))  # wrong: call-overload

# prlx.repeat, prlx.probe, prlx.profile, prlx.convert, prlx.record
repeated = prlx.repeat(launches, 20, check="all", max_steps=1000)
assert_type(repeated.runs, int)
repeated.outcomes  # wrong: attr-defined
many = prlx.repeat("launch.toml", 20, level="path", kernel=["a", "b"], class_="branch", rtol=1e-5)
if many.alone is not None:
    verdict = many.alone.verdict
assert_type(many.outcomes[0].ended, "str | None")
prlx.repeat(["python", "train.py"], digest=64, from_="gemm#2", range="step_3", keep=pathlib.Path("runs"))
prlx.repeat("launch.toml", seeds=range(3))  # wrong: call-overload
prlx.repeat("launch.toml", colour="never")  # wrong: call-overload
tallies = prlx.probe("inst:ld.global { @n = count() }", "launch.toml", top=5, csv="tables")
assert_type(tallies.tables[0].name, str)
prlx.probe("global-bytes", ["./app"], interval=1.5, memory=64)
assert_type(prlx.probe("nan-origin", launches, arch="sm_80", kernel="scale", max_steps=1000).version, int)
prlx.probe("global-bytes", "launch.toml", topp=5)  # wrong: call-overload
prlx.probe("global-bytes", launches, top=5)  # wrong: call-overload
profile = prlx.profile("launch.toml", auto="trip", html="page.html", flight_recorder=60)
assert_type(profile.notes, list[str])
prlx.profile("launch.toml", rows="5")  # wrong: arg-type
assert_type(prlx.convert("app.prlx", pathlib.Path("tables"), to="parquet"), pathlib.Path)
prlx.convert("app.prlx", "tables", to="csv")  # wrong: arg-type
recording = prlx.record(["python", "train.py"], "run", level="fingerprint", capture=True, no_env=True)
assert_type(recording, prlx.Recording)
assert_type(recording.visits, prlx.Table)
recording.events  # wrong: attr-defined
prlx.record("launch.toml")  # wrong: call-arg
assert_type(prlx.record_launches(launches, "scale", level="events"), list[pathlib.Path])
prlx.record_launches(launches, "scale", level="all")  # wrong: arg-type
assert_type(prlx.read("a.prlx").kernels(), list[str])

# Exceptions
try:
    launches()
except prlx.CheckError as error:
    assert_type(error.findings.errors, list[prlx.Finding])
except prlx.ScheduleError as error:
    assert_type(error.seeds, tuple[int, int])
except (prlx.KernelFault, prlx.KernelStuck, prlx.LaunchError, prlx.ModuleError) as error:
    base: prlx.Error = error
    error.findings  # wrong: union-attr


# PyTorch
def steps(model: Any, batch: Any) -> None:
    found = prlx.torch.compare_steps(model, batch, ["eager", "compile"], rtol=1e-3)
    assert_type(found.verdict, Verdict)
    assert_type(found.first, "prlx.torch.Difference | None")
    found.second  # wrong: attr-defined
    prlx.torch.compare_steps(model, batch, tolerance=1e-3)  # wrong: call-arg
    with prlx.torch.annotate(model, operators=True), prlx.torch.step() as part:
        assert_type(part.launches, "tuple[int, int] | None")
    monitor = prlx.PrlxTrainingMonitor("monitor", model=model, on_anomaly=lambda record: print(record.message))
    with monitor.step(3) as step:
        step.report_loss(0.5)
        step.report_items(None)  # wrong: arg-type
    assert_type(monitor.report()["steps"], int)
    prlx.PrlxTrainingMonitor.from_env(window_size=20, window=20)  # wrong: call-arg


# The pytest plugin
def test_kernel(prlx_same: Same, prlx_clean: Clean, prlx_golden: Golden) -> None:
    assert_type(prlx_same(launches, launches, rtol=1e-5), prlx.Report)
    assert_type(prlx_clean(launches, check="race", seeds=range(3)), prlx.Findings)
    prlx_golden(launches, level="path")
    prlx_golden(launches, "paths")  # wrong: arg-type
    prlx_same(launches)  # wrong: call-arg
    prlx_clean(launches, checks="all")  # wrong: call-arg


# Names of PRLX 0.5
trace = prlx.read_trace("old.prlx")
assert_type(trace.warp(0).events[0].site_id, int)
prlx.plot_warp_timeline(trace, warp_idx=1).save("picture.svg")
with prlx.session("runs", level="path") as recorded:
    assert_type(recorded.name, str)
prlx.nothing  # wrong: attr-defined

__all__ = ["pytest"]
