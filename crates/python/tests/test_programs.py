"""The commands: the packaged programs, scripts on the CPU device, Ctrl-C."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import prlx
import pytest

SCRIPT = """
import numpy as np, sys
import triton, triton.language as tl

@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) * 2)

x = np.arange(int(sys.argv[1]), dtype=np.float32)
double[(1,)](x, len(x), BLOCK=128)
print(x[:4].tolist())
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "double.py"
    path.write_text(textwrap.dedent(SCRIPT))
    return str(path)


def run(*words, **env):
    prlx_command = os.path.join(os.path.dirname(sys.executable), "prlx")
    return subprocess.run([prlx_command, *words], capture_output=True, text=True, env={**os.environ, **env})


def test_a_script_runs_without_a_gpu(script):
    done = run("run", script, "128")
    assert (done.returncode, done.stdout) == (0, "[0.0, 2.0, 4.0, 6.0]\n"), done.stderr


def test_a_script_is_checked(script):
    done = run("run", "--check", "bounds", script, "100")
    assert done.returncode == 1 and "double.py:8" in done.stdout and "out-of-bounds" in done.stdout


@pytest.mark.parametrize(
    "end, code, wrong",
    [
        ("sys.exit()", 1, True),
        ("sys.exit(0)", 1, True),
        ("sys.exit(7)", 7, True),
        ("raise IndexError", 1, True),
        ("sys.exit('no')", 1, False),
        ("sys.exit(0)", 0, False),
    ],
)
def test_findings_outlive_the_end_of_a_script(script, end, code, wrong):
    """The wrong script reads and writes past the end."""
    with open(script, "a") as file:
        file.write(f"assert __file__ == {script!r}\n{end}\n")
    done = run("run", "--check", "bounds", script, "100" if wrong else "128")
    assert done.returncode == code and ("out-of-bounds" in done.stdout) == wrong, done.stderr
    assert f"checks: {2 * wrong} errors in 1 launch" in done.stderr


def test_wrong_use_of_scripts_has_exit_code_2(script):
    for words in (["--check", "foo", script], ["--arch", "sm_1", script], ["--nope", script], ["nothere.py"]):
        done = run("run", *words)
        assert done.returncode == 2 and "usage: prlx run" in done.stderr
    assert "script.py" in run("run", "--help").stdout


def test_a_fault_of_a_script_has_exit_code_4(script):
    done = run("run", script, "100")
    assert done.returncode == 4 and "right past the end of `x`" in done.stderr
    assert "double.py:11" in done.stderr.splitlines()[-1], "the line of the launch"


def test_an_environment_variable_switches_a_whole_process(script):
    done = subprocess.run(
        [sys.executable, script, "128"],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_PRLX": "cpu", "TRITON_PRLX_CHECK": "all"},
    )
    assert done.stdout.startswith("[0.0, 2.0, 4.0, 6.0]\n"), done.stderr
    assert "0 errors in 1 launch" in done.stderr


def test_other_commands_are_the_packaged_program():
    done = run("doctor")
    assert "CPU device" in done.stdout
    assert run("run", "nothing.toml").returncode == 2
    old = subprocess.run([sys.executable, "-m", "prlx", "triton", "--info"], capture_output=True, text=True)
    assert "is now: prlx doctor" in old.stderr and "CPU device" in old.stdout


def test_ctrl_c_ends_a_kernel():
    code = textwrap.dedent(
        """
        import numpy as np, prlx, signal
        # A process in the background of a script ignores this signal.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ptx = '''
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry spin(.param .u64 x)
        {
            .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p;
            ld.param.u64 %rd1, [x];
        AGAIN:
            atom.global.add.u32 %r1, [%rd1], 1;
            setp.ne.u32 %p, %r1, 4000000000;
            @%p bra AGAIN;
            ret;
        }'''
        print("started", flush=True)
        with prlx.cpu(max_steps=10**12):
            prlx.Kernel(ptx)[1, 1](np.zeros(1, np.uint32))
        """
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np, prlx

class Timeout(Exception):
    pass

def handler(*_):
    raise Timeout

signal.signal(signal.SIGALRM, handler)
spin = prlx.Kernel('extern "C" __global__ void k(int *x, int n) { while (n--) x[0] = x[0] * 3 + n; }')
x = np.ones(1, np.int32)
snapshots = []
device = prlx.cpu()
device.before_launch = lambda launch, kernel: snapshots.append(launch.snapshot("a", 0))
with device:
    spin[1, 1](x, 10)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGALRM)).start()
try:
    while True:
        prlx._native.compare(snapshots[0], snapshots[0], ("a", "b"), progress=lambda *_: None)
except Timeout:
    print("timeout")

def failing(kind, text):
    raise KeyError(kind)

try:
    prlx._native.compare(snapshots[0], snapshots[0], ("a", "b"), progress=failing)
except KeyError as e:
    print(e)
"""


def test_exceptions_of_signals_and_callbacks_end_native_work():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["timeout", "'begin'"], done.stderr


def test_probes_of_a_launch_file(tmp_path):
    file = os.path.join(os.path.dirname(__file__), "../../../examples/threshold/good.toml")
    tables = prlx.probe("inst:st.global { @stores = count() }", file)
    assert "stores" in str(tables)
    with pytest.raises(prlx.Error, match="ended with 2"):
        prlx.probe("nonsense {", file)


SQUARE_ROOTS = prlx.Kernel("""
extern "C" __global__ void roots(float *out, const float *x, float shift) {
    int i = threadIdx.x;
    float v = x[i];
    out[i] = sqrtf(v - shift);
}
""")


def test_probes_of_a_function():
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)

    def run():
        SQUARE_ROOTS[1, 32](out, x, 3.0)
        SQUARE_ROOTS[1, 32](out, out, 0.0)

    (stores,) = prlx.probe("inst:st.global { @stores[line] = count() }", run).tables
    assert [(row.key[0].line, row.count) for row in stores.rows] == [(5, 64)]
    # The second launch loads what the first one has computed.
    tables = {t.name: t.rows for t in prlx.probe("nan-origin", run).tables}
    assert [row.key[0].line for row in tables["origin"]] == [5]
    assert [row.key[0].line for row in tables["loaded"]] == [4]
    assert not out.any(), "the arrays hold what they held before"
    with pytest.raises(prlx.LaunchError, match="the function launches roots, roots, not other"):
        prlx.probe("nan-origin", run, kernel="other")
    with pytest.raises(prlx.LaunchError, match="launches no kernel on the CPU device"):
        prlx.probe("nan-origin", lambda: None)
    with pytest.raises(prlx.Error, match="there is no tool `nonsense`"):
        prlx.probe("nonsense", run)
    with pytest.raises(prlx.Error, match="matches no instruction in roots"):
        prlx.probe("inst:atom { @n = count() }", run)
    with pytest.raises(prlx.KernelStuck, match="`max_steps`"):
        prlx.probe("nan-origin", run, max_steps=2)


def test_options_reach_the_command_line(tmp_path):
    file = os.path.join(os.path.dirname(__file__), "../../../examples/threshold/good.toml")
    # Options that may stand alone take a value after `=` only.
    profile = prlx.profile(file, auto="trip,function", rows=3, quiet=True)
    assert profile.format == "prlx-profile" and profile.launches[0].kernel == "find_beats"
    every = prlx.record(file, tmp_path / "a.prlx", level="events", warps="0-1")
    branches = prlx.record(file, tmp_path / "b.prlx", level="events", warps="0-1", class_="branch")
    assert len(every.warps) == len(branches.warps) == 2 and 0 < len(branches.visits) < len(every.visits)
    with pytest.raises(TypeError, match="seeds are of functions"):
        prlx.repeat(file, seeds=range(3))


def test_errors_of_programs_have_their_words(tmp_path):
    with pytest.raises(prlx.FileError, match="cannot read nope.prlx: No such file"):
        prlx.convert("nope.prlx", tmp_path / "x")
    with pytest.raises(prlx.FileError, match="cannot read the launch file nope.toml"):
        prlx.repeat("nope.toml", 2)
    with pytest.raises(prlx.Error, match="there is no tool `nonsense`"):
        prlx.probe("nonsense", os.path.join(os.path.dirname(__file__), "../../../examples/threshold/good.toml"))
    with pytest.raises(prlx.Error, match="(?s)the program nothere is not on PATH.*help: .*ended with"):
        prlx.record(["nothere"], tmp_path / "r")


BARE = """
import sys
sys.modules["numpy"] = None
import prlx
recording = prlx.read(sys.argv[1])
print(repr(recording).endswith("1 launch>"), recording.kernels(), next(recording.warps.rows())["warp"])
"""


def test_recordings_are_read_without_numpy(tmp_path):
    path = os.path.join(os.path.dirname(__file__), "../../../examples/threshold/good.toml")
    prlx.record(path, tmp_path / "a.prlx")
    words = [sys.executable, "-c", BARE, str(tmp_path / "a.prlx")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout == "True ['find_beats'] 0\n", done.stderr


SPAWN = """
import multiprocessing
import sys
import numpy as np
import double_kernel

def work(n):
    x = np.arange(n, dtype=np.float32)
    double_kernel.double[(1,)](x, n, BLOCK=128)
    return float(x[1])

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.map(work, [128]))
"""


def test_processes_of_a_script_run_on_the_cpu_device(tmp_path):
    (tmp_path / "double_kernel.py").write_text(textwrap.dedent(SCRIPT).split("x = np")[0])
    (tmp_path / "main.py").write_text(SPAWN)
    done = run("run", str(tmp_path / "main.py"))
    assert done.stdout == "[2.0]\n[2.0]\n", done.stderr


FORK = """
import multiprocessing
import os
import sys
import numpy as np
import prlx

KERNEL = 'extern "C" __global__ void k(float *x) { x[threadIdx.x + 1] = 1; }'

def work(n):
    prlx.Kernel(KERNEL)[1, n](np.zeros(4, np.float32))
    return os.getpid()

if __name__ == "__main__":
    if sys.argv[1] == "os.fork":
        child = os.fork()
        work(4 if child == 0 else 3)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    else:
        work(3)
        with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
            pool.map(work, [4, 4])
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "os.fork"])
def test_findings_of_processes_of_a_script_are_printed_and_decide_the_exit_code(method, tmp_path):
    (tmp_path / "main.py").write_text(FORK)
    done = run("run", "--check", "bounds", str(tmp_path / "main.py"), method)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("error[out-of-bounds]") == 1, done.stdout
    count = 1 if method == "os.fork" else 2
    errors = "1 error" if count == 1 else f"{count} errors"
    own, others = "checks: 0 errors in 1 launch", f"checks: {errors} in other processes of the script"
    assert done.stderr.splitlines() == [own, others]


def test_processes_of_a_script_without_errors_leave_the_exit_code(tmp_path):
    (tmp_path / "main.py").write_text(FORK.replace("4 if", "3 if"))
    done = run("run", "--check", "bounds", str(tmp_path / "main.py"), "os.fork")
    assert (done.returncode, done.stderr) == (0, "checks: 0 errors in 1 launch\n"), done.stdout


def test_repeat_of_a_function_says_which_schedules_differ():
    x = np.zeros(4, np.float32)
    kernel = prlx.Kernel('extern "C" __global__ void last(float *x) { x[0] = blockIdx.x; }', "last")
    with pytest.raises(prlx.Error, match="other results"):
        prlx.repeat(lambda: kernel[64, 1](x), 10)
    same = prlx.repeat(lambda: kernel[1, 1](x), seeds=[3, 4, 5], check="all")
    assert (same.verdict, same.runs, same.launches) == ("same", 3, 1)


NVRTC = """
import ctypes, prlx._nvrtc as nvrtc
library = nvrtc.find()
program = ctypes.c_void_p()
source = b'extern "C" __global__ void k(float *x) { x[threadIdx.x] += 1; }'
library.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None)
options = (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_90")
assert library.nvrtcCompileProgram(program, 1, options) == 0
size = ctypes.c_size_t()
library.nvrtcGetCUBINSize(program, ctypes.byref(size))
cubin = ctypes.create_string_buffer(size.value)
library.nvrtcGetCUBIN(program, cubin)
print(b".nv_debug_ptx_txt" in cubin.raw)
"""


@pytest.mark.parametrize("options, kept", [([], "True"), (["--no-env"], "False")])
def test_recorded_programs_keep_the_ptx_of_nvrtc(options, kept, tmp_path):
    done = run("record", *options, "-o", str(tmp_path / "r"), "--", sys.executable, "-c", NVRTC)
    assert done.stdout.strip() == kept, done.stderr
