"""Runs a whole script with its kernels on the CPU device: `prlx run script.py`, and `TRITON_PRLX=cpu`.

A process that the script forks or starts prints its findings at once: it may end without running any more code
of ours, as the workers of a `multiprocessing.Pool` do. It appends the number of its errors to a file, whose sum
decides the exit code of `prlx run`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import sys
import tempfile

from ._device import cpu, current
from ._findings import CheckError, Findings, LaunchFindings
from ._native import Error

# The file to which other processes of a script append the numbers of their errors.
_ERRORS = "TRITON_PRLX_ERRORS"


class ScriptFindings(Findings):
    """The findings of one process of a script.

    owner: the process that prints its findings at its end. Every other process prints them at once.
    errors: a file for the numbers of errors of those processes.
    """

    def __init__(self, owner: int | None, errors: str | None) -> None:
        super().__init__()
        self._owner, self._errors = owner, errors
        self._shown: set[tuple[str, str]] = set()

    def add(self, launch: LaunchFindings) -> None:
        super().add(launch)
        if self.is_owner:
            return
        key = (launch.kernel, launch.body(False))
        if key not in self._shown:
            self._shown.add(key)
            print(launch.text(sys.stdout.isatty()), flush=True)
        count = sum(f.grade == "error" for f in launch.findings)
        if count and self._errors:
            with contextlib.suppress(OSError), open(self._errors, "a") as file:
                file.write(f"{count}\n")

    @property
    def is_owner(self) -> bool:
        """Whether this process is the one that prints its findings at its end."""
        return os.getpid() == self._owner

    def elsewhere(self) -> int:
        """The number of errors in other processes."""
        if self._errors is None:
            return 0
        with open(self._errors) as file:
            return sum(int(line) for line in file)


def run(words: list[str]) -> int:
    """`prlx run [options] script.py [arguments]`. Returns the exit code: that of the script, or else 1 if checks
    found errors and 4 if a kernel failed."""
    at = next(i for i, w in enumerate(words) if w.endswith(".py"))
    parser = _parser()
    options = parser.parse_args(words[:at])
    if not os.path.isfile(words[at]):
        parser.error(f"there is no file {words[at]}")
    try:
        device = cpu(
            options.arch,
            check=options.check,
            seed=options.seed,
            max_steps=options.max_steps,
            threads=options.threads,
            collect=True,
        )
    except (ValueError, TypeError) as e:
        parser.error(str(e))
    # Processes that the script starts, as those of `multiprocessing`, begin with it: see `start`.
    os.environ["TRITON_PRLX"], os.environ["TRITON_PRLX_ARCH"] = "cpu", options.arch
    os.environ["TRITON_PRLX_CHECK"] = options.check or ""
    sys.argv = words[at:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[at])))
    descriptor, path = tempfile.mkstemp(prefix="prlx-")
    os.close(descriptor)
    os.environ[_ERRORS] = path
    findings = device.findings = ScriptFindings(os.getpid(), path)
    status, errors = 1, 0
    try:
        status = _script(device, os.path.abspath(words[at]))
    finally:
        errors = _show(device)
        if findings.is_owner:
            os.unlink(path)
    return status or errors


def help() -> None:
    """Prints the part of `prlx run --help` that is about scripts."""
    print()
    _parser().print_help()


def _parser() -> argparse.ArgumentParser:
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
    return parser


def _script(device: cpu, path: str) -> int:
    """Runs a script. Returns its exit code; exceptions of the script that are not PRLX's are raised."""
    try:
        with device:
            runpy.run_path(path, run_name="__main__")
    except SystemExit as e:
        if e.code is None or isinstance(e.code, int):
            return e.code or 0
        print(e.code, file=sys.stderr)
        return 1
    except Error as e:
        print("\n".join([f"prlx: {e}", *getattr(e, "__notes__", ())]), file=sys.stderr)
        return 1 if isinstance(e, CheckError) else 4
    return 0


def _show(device: cpu) -> int:
    """Prints what the checks found, each finding once. Returns the exit code."""
    if not device.check or not _is_owner(device):
        return 0
    errors = len(device.findings.errors)
    if device.findings:
        device.findings.show()
    print(f"checks: {_count(errors, 'error', 's')} in {_count(device.launches, 'launch', 'es')}", file=sys.stderr)
    elsewhere = device.findings.elsewhere() if isinstance(device.findings, ScriptFindings) else 0
    if elsewhere:
        print(f"checks: {_count(elsewhere, 'error', 's')} in other processes of the script", file=sys.stderr)
    return 1 if errors or elsewhere else 0


def _count(n: int, what: str, plural: str) -> str:
    return f"{n} {what}{'' if n == 1 else plural}"


def _is_owner(device: cpu) -> bool:
    """Whether this process prints the findings of a device. A process that the script forked has a copy of it."""
    return not isinstance(device.findings, ScriptFindings) or device.findings.is_owner


def start() -> None:
    """Puts the CPU device under a whole process; `prlx.pth` calls it if `TRITON_PRLX=cpu` is set.
    `TRITON_PRLX_CHECK` and `TRITON_PRLX_ARCH` are the checks and the architecture."""
    import atexit

    if current() is not None:
        return  # Python may read the `.pth` file twice.
    check = os.environ.get("TRITON_PRLX_CHECK") or None
    device = cpu(os.environ.get("TRITON_PRLX_ARCH", "sm_90"), check=check, collect=True)
    device.__enter__()
    errors = os.environ.get(_ERRORS)
    owner = None if errors else os.getpid()
    device.findings = ScriptFindings(owner, errors)
    if owner is not None:
        atexit.register(_show, device)
