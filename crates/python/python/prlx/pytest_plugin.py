"""The pytest plugin: kernels in tests, without a GPU.

    def test_softmax(prlx_same, prlx_clean, prlx_golden):
        prlx_clean(lambda: softmax[grid](out, x, n, BLOCK=128))
        prlx_same(lambda: softmax[grid](out, x, n, BLOCK=128),
                  lambda: softmax[grid](out, x, n, BLOCK=256), rtol=1e-6)
        prlx_golden(lambda: softmax[grid](out, x, n, BLOCK=128))

`--prlx-cpu` runs every test of a run on the CPU device; `--prlx-check all` checks all its launches, too.
`--prlx-update` writes golden recordings anew.
"""

import os
import re

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("prlx", "PRLX: kernels without a GPU")
    group.addoption("--prlx-cpu", action="store_true", help="run the kernels of all tests on the CPU device")
    group.addoption(
        "--prlx-check",
        metavar="LIST",
        help="check all kernels, as with all or race,bounds (implies --prlx-cpu)",
    )
    group.addoption("--prlx-arch", default="sm_90", help="the GPU to compile for (default sm_90)")
    group.addoption("--prlx-update", action="store_true", help="write golden recordings anew")


@pytest.fixture(autouse=True)
def _prlx_device(request):
    config = request.config
    check = config.getoption("--prlx-check")
    if not check and not config.getoption("--prlx-cpu"):
        yield
        return
    import prlx

    with prlx.cpu(config.getoption("--prlx-arch"), check=check):
        yield


@pytest.fixture
def prlx_same():
    """``prlx_same(f, g, **options)`` fails unless two functions that launch kernels agree."""
    import prlx

    def same(f, g, **options):
        report = prlx.compare(f, g, **options)
        if report.verdict != "same":
            pytest.fail(str(report), pytrace=False)
        return report

    return same


@pytest.fixture
def prlx_clean():
    """``prlx_clean(f, check="all")`` fails if checks find an error in the kernels that a function launches."""
    import prlx

    def clean(f, **options):
        findings = prlx.check(f, **options)
        if errors := [found for found in findings if found.grade == "error"]:
            pytest.fail("\n".join(map(repr, errors)), pytrace=False)
        return findings

    return clean


@pytest.fixture
def prlx_golden(request):
    """``prlx_golden(f)`` fails if the kernels that a function launches take other decisions or leave other
    outputs than when the golden recording was written.

    Recordings have level ``events``, which includes every stored value; ``level`` chooses another one. They
    are in the folder ``golden`` beside the test file, one for each launch. A missing one is
    written, except in CI (if ``CI`` is set), where the test fails.
    """
    import prlx

    def golden(f, level="events", **options):
        folder = request.path.parent / "golden"
        name = re.sub(r"[^\w.-]+", "_", request.node.name)
        launches = prlx.record_launches(f, folder / f"{name}.new", level=level, **options)
        missing = [new for new in launches if not _golden(new).exists()]
        if request.config.getoption("--prlx-update") or (missing and not os.environ.get("CI")):
            for new in launches:
                new.replace(_golden(new))
            return
        try:
            if missing:
                pytest.fail(f"{_golden(missing[0])} is missing: run pytest --prlx-update", pytrace=False)
            for new in launches:
                report = prlx.diff(_golden(new), new)
                if report.verdict != "same":
                    pytest.fail(f"{report}\n\nIf this is right: pytest --prlx-update", pytrace=False)
        finally:
            for new in launches:
                new.unlink()

    return golden


def _golden(new):
    return new.with_name(new.name.replace(".new.", "."))
