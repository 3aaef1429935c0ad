"""The pytest plugin, in test runs of its own."""

import pathlib
import textwrap

pytest_plugins = ["pytester"]

KERNELS = pathlib.Path(__file__).parent

TESTS = """
import sys
sys.path.insert(0, {folder!r})
import kernels_triton as kernels
import numpy as np

x = np.random.default_rng(0).standard_normal((4, 100)).astype(np.float32)
out = np.zeros_like(x)

def go(kernel, **config):
    kernel[(4,)](out, x, 100, **{{"BLOCK": 128, **config}})

def test_same(prlx_same):
    prlx_same(lambda: go(kernels.softmax), lambda: go(kernels.softmax, num_warps=8), rtol=1e-5)

def test_differs(prlx_same):
    prlx_same(lambda: go(kernels.softmax), lambda: go(kernels.softmax_zero))

def test_clean(prlx_clean):
    prlx_clean(lambda: go(kernels.softmax))

def test_snapshot(prlx_golden):
    prlx_golden(lambda: go(kernels.{golden}))
"""


def write(pytester, golden="softmax"):
    pytester.makepyfile(textwrap.dedent(TESTS.format(folder=str(KERNELS), golden=golden)))


def test_fixtures_pass_and_fail(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    write(pytester)
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["*differs*softmax*", "*cause*out?0,0?*"])


def test_golden_recordings(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    write(pytester)
    assert pytester.runpytest_subprocess("-k", "snapshot").ret == 0
    assert list(pytester.path.glob("golden/test_golden_recordings.test_snapshot.0.0.prlx"))
    assert pytester.runpytest_subprocess("-k", "snapshot").ret == 0
    write(pytester, "softmax_zero")
    done = pytester.runpytest_subprocess("-k", "snapshot")
    done.stdout.fnmatch_lines(["*If this is right: pytest --prlx-update*"])
    assert done.ret == 1
    assert pytester.runpytest_subprocess("-k", "snapshot", "--prlx-update").ret == 0
    assert pytester.runpytest_subprocess("-k", "snapshot").ret == 0


def test_a_missing_golden_recording_fails_in_ci(pytester, monkeypatch):
    monkeypatch.setenv("CI", "true")
    write(pytester)
    done = pytester.runpytest_subprocess("-k", "snapshot")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*missing*--prlx-update*"])


def test_all_tests_run_on_the_cpu_device(pytester):
    pytester.makepyfile(
        f"""
        import sys
        sys.path.insert(0, {str(KERNELS)!r})
        import kernels_triton as kernels
        import numpy as np

        def test_plain():
            x = np.zeros(50, np.float32)
            kernels.softmax[(1,)](x, x, 64, BLOCK=64)
        """
    )
    done = pytester.runpytest_subprocess("--prlx-check", "bounds")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*out-of-bounds*"])


LAUNCHES = """
import sys
sys.path.insert(0, {folder!r})
import kernels_triton as kernels
import numpy as np

x = np.random.default_rng(0).standard_normal((4, 100)).astype(np.float32)

def go(*columns):
    for n in columns:
        kernels.softmax[(4,)](np.zeros_like(x), x, n, BLOCK=128)

def test_fewer(prlx_golden):
    prlx_golden(lambda: go({fewer}))

def test_more(prlx_golden):
    prlx_golden(lambda: go({more}))

def test_calls(prlx_golden):
    prlx_golden(lambda: go(100))
    prlx_golden(lambda: go(90))

class TestA:
    def test_name(self, prlx_golden):
        prlx_golden(lambda: go(100))

class TestB:
    def test_name(self, prlx_golden):
        prlx_golden(lambda: go(50))
"""


def test_golden_recordings_belong_to_a_call_and_its_launches(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyfile(LAUNCHES.format(folder=str(KERNELS), fewer="100, 90", more="100"))
    pytester.runpytest_subprocess().assert_outcomes(passed=5)
    pytester.runpytest_subprocess().assert_outcomes(passed=5)
    assert len(list(pytester.path.glob("golden/*.prlx"))) == 7
    pytester.makepyfile(LAUNCHES.format(folder=str(KERNELS), fewer="100", more="77, 90"))
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(passed=3, failed=2)
    done.stdout.fnmatch_lines(["*launches 1 kernels*recordings of 2*", "*launches 2 kernels*recordings of 1*"])
    assert len(list(pytester.path.glob("golden/*.prlx"))) == 7


def test_a_function_without_launches_fails(pytester):
    pytester.makepyfile(
        """
        def test_golden(prlx_golden):
            prlx_golden(lambda: None)

        def test_clean(prlx_clean):
            prlx_clean(lambda: None)
        """
    )
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*launches no kernel*", "*launches no kernel*"])


def test_wrong_checks_are_a_usage_error(pytester):
    done = pytester.runpytest_subprocess("--prlx-check", "foo")
    assert done.ret == 4
    done.stderr.fnmatch_lines(["*--prlx-check: 'foo' names no checks*"])


def test_errors_are_shown_with_their_source_lines(pytester):
    pytester.makepyfile(
        """
        import numpy as np
        import prlx

        store = prlx.Kernel('extern "C" __global__ void store(int *x) { x[threadIdx.x] = 1; }')

        def test_clean(prlx_clean):
            prlx_clean(lambda: store[1, 8](np.zeros(7, np.int32)))
        """
    )
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["error?out-of-bounds?: writes 4 bytes*", "*void store(int *x) { x?threadIdx.x? = 1; }"])
