"""The pytest plugin: kernels in tests, without a GPU.

    def test_softmax(prlx_same, prlx_clean, prlx_golden):
        prlx_clean(lambda: softmax[grid](out, x, n, BLOCK=128))
        prlx_same(lambda: softmax[grid](out, x, n, BLOCK=128),
                  lambda: softmax[grid](out, x, n, BLOCK=256), rtol=1e-6)
        prlx_golden(lambda: softmax[grid](out, x, n, BLOCK=128))

`--prlx-cpu` runs every test of a run on the CPU device; `--prlx-check all` checks all its launches, too.
`--prlx-update` writes golden recordings anew.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    import pathlib

    from typing_extensions import Unpack

    from ._findings import Findings
    from ._report import Report
    from .typing import Arch, Checks, CompareOptions, Launches, Level


class Same(Protocol):
    """The fixture ``prlx_same``."""

    def __call__(
        self, f: Launches, g: Launches, *, arch: Arch = "sm_90", seed: int = 0, **options: Unpack[CompareOptions]
    ) -> Report: ...


class Clean(Protocol):
    """The fixture ``prlx_clean``."""

    def __call__(
        self,
        f: Launches,
        *,
        check: Checks = "all",
        arch: Arch = "sm_90",
        seed: int = 0,
        seeds: Iterable[int] | None = None,
    ) -> Findings: ...


class Golden(Protocol):
    """The fixture ``prlx_golden``."""

    def __call__(self, f: Launches, level: Level = "events", *, arch: Arch = "sm_90", seed: int = 0) -> None: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("prlx", "PRLX: kernels without a GPU")
    group.addoption("--prlx-cpu", action="store_true", help="run the kernels of all tests on the CPU device")
    group.addoption(
        "--prlx-check",
        metavar="LIST",
        help="check all kernels, as with all or race,bounds (implies --prlx-cpu)",
    )
    group.addoption("--prlx-arch", default="sm_90", help="the GPU to compile for (default sm_90)")
    group.addoption("--prlx-update", action="store_true", help="write golden recordings anew")


def pytest_configure(config: pytest.Config) -> None:
    """Refuses wrong options before the first test."""
    from ._device import cpu

    try:
        cpu(config.getoption("--prlx-arch"), check=config.getoption("--prlx-check"))
    except (ValueError, TypeError) as e:
        raise pytest.UsageError(f"--prlx-{e}") from None


@pytest.fixture(autouse=True)
def _prlx_device(request: pytest.FixtureRequest) -> Iterator[None]:
    config = request.config
    check = config.getoption("--prlx-check")
    if not check and not config.getoption("--prlx-cpu"):
        yield
        return
    import prlx

    with prlx.cpu(config.getoption("--prlx-arch"), check=check):
        yield


@pytest.fixture
def prlx_same() -> Same:
    """``prlx_same(f, g, **options)`` fails unless two functions that launch kernels agree."""
    import prlx

    def same(f: Launches, g: Launches, **options: Any) -> Report:
        report: Report = prlx.compare(f, g, **options)
        if report.verdict != "same":
            pytest.fail(str(report), pytrace=False)
        return report

    return same


@pytest.fixture
def prlx_clean() -> Clean:
    """``prlx_clean(f, check="all")`` fails if checks find an error in the kernels that a function launches, or
    if it launches none."""
    from ._compare import run_checks

    def clean(f: Launches, *, check: Checks = "all", **options: Any) -> Findings:
        device = run_checks(f, check=check, **options)
        if device.findings.errors:
            pytest.fail(str(device.findings), pytrace=False)
        if not device.launches:
            pytest.fail("the function launches no kernel: nothing is checked", pytrace=False)
        return device.findings

    return clean


@pytest.fixture
def prlx_golden(request: pytest.FixtureRequest) -> Golden:
    """``prlx_golden(f)`` fails if the kernels that a function launches take other decisions or leave other
    outputs than when the golden recording was written, if it launches more or fewer, or if it launches none.

    Recordings have level ``events``, which includes every stored value; ``level`` chooses another one. They
    are in the folder ``golden`` beside the test file, one for each launch, with the names of the module, the
    class and the test, and the number of the call in the test. If a call has none, they are
    written, except in CI (if ``CI`` is set), where the test fails.
    """
    import prlx

    calls = 0

    def golden(f: Launches, level: Level = "events", **options: Any) -> None:
        nonlocal calls
        folder = request.path.parent / "golden"
        name, calls = f"{_golden_name(request.node)}.{calls}", calls + 1
        launches = prlx.record_launches(f, folder / f"{name}.new", level=level, **options)
        try:
            _golden(request.config, folder, name, launches)
        finally:
            for new in launches:
                new.unlink(missing_ok=True)

    return golden


def _golden_name(node: pytest.Item) -> str:
    """The module, the class and the name of a test as a file's name."""
    path, *names = node.nodeid.split("::")
    stem = os.path.splitext(os.path.basename(path))[0]
    return re.sub(r"[^\w.-]+", "_", ".".join([stem, *names]))


def _golden(config: pytest.Config, folder: pathlib.Path, name: str, launches: list[pathlib.Path]) -> None:
    """Compares the launches of a call with its golden recordings, or writes these."""
    import prlx

    if not launches:
        pytest.fail("the function launches no kernel: there is nothing to record", pytrace=False)
    wanted = [folder / f"{name}.{i}.prlx" for i in range(len(launches))]
    kept = sorted(path for path in folder.glob(f"{glob.escape(name)}.*.prlx") if ".new." not in path.name)
    if config.getoption("--prlx-update") or (not kept and not os.environ.get("CI")):
        for old in kept:
            old.unlink()
        for new, path in zip(launches, wanted):
            new.replace(path)
        return
    if not kept:
        pytest.fail(f"{wanted[0]} is missing: run pytest --prlx-update", pytrace=False)
    if set(kept) != set(wanted):
        pytest.fail(
            f"the function launches {len(wanted)} kernels, and {folder} has recordings of {len(kept)} "
            f"({name}.*.prlx)\n\nIf this is right: pytest --prlx-update",
            pytrace=False,
        )
    for new, path in zip(launches, wanted):
        report = prlx.diff(path, new)
        if report.verdict != "same":
            pytest.fail(f"{report}\n\nIf this is right: pytest --prlx-update", pytrace=False)
