"""Runs a whole script with its kernels on the CPU device: `prlx run script.py`, and `TRITON_PRLX=cpu`."""

import argparse
import runpy
import sys

from ._device import cpu, current
from ._findings import CheckError
from ._native import Error


def run(words):
    """`prlx run [options] script.py [arguments]`. Returns the exit code: 0, 1 if checks found errors, 4 if a
    kernel failed."""
    at = next(i for i, w in enumerate(words) if w.endswith(".py"))
    parser = argparse.ArgumentParser(
        prog="prlx run",
        usage="prlx run [options] script.py [arguments]",
        description="Run a Python script with its Triton and Numba kernels on the CPU device.",
        epilog="Example:\n  prlx run --check all script.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--arch", default="sm_90", help="the GPU to compile for (default sm_90)")
    parser.add_argument("--check", metavar="LIST", help="checks to make, as all or race,bounds")
    parser.add_argument("--seed", type=int, default=0, help="the schedule (default 0)")
    parser.add_argument("--max-steps", type=int, metavar="N", help="instructions of a CTA before it is stuck")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the host")
    options = parser.parse_args(words[:at])
    sys.argv = words[at:]
    sys.path.insert(0, _folder(words[at]))
    device = cpu(
        options.arch,
        check=options.check,
        seed=options.seed,
        max_steps=options.max_steps,
        threads=options.threads,
        collect=True,
    )
    try:
        with device:
            runpy.run_path(words[at], run_name="__main__")
    except Error as e:
        _show(device)
        print(f"prlx: {e}", file=sys.stderr)
        return 1 if isinstance(e, CheckError) else 4
    return _show(device)


def _folder(path):
    import os

    return os.path.dirname(os.path.abspath(path))


def _show(device):
    """Prints what the checks found, each finding once. Returns the exit code."""
    if not device.check:
        return 0
    errors = sum(f.grade == "error" for f in device.findings)
    shown = set()
    for found in device.reports:
        text = str(found)
        if text not in shown:
            shown.add(text)
            found.show()
    print(f"checks: {errors} errors in {device.launches} launches", file=sys.stderr)
    return 1 if errors else 0


def start():
    """Puts the CPU device under a whole process; `prlx.pth` calls it if `TRITON_PRLX=cpu` is set.
    `TRITON_PRLX_CHECK` and `TRITON_PRLX_ARCH` are the checks and the architecture."""
    import atexit
    import os

    if current() is not None:
        return  # Python may read the `.pth` file twice.
    check = os.environ.get("TRITON_PRLX_CHECK") or None
    device = cpu(os.environ.get("TRITON_PRLX_ARCH", "sm_90"), check=check, collect=True)
    device.__enter__()
    atexit.register(_show, device)
