"""Commands on programs and files: the packaged `prlx` runs them, and its JSON is the result.

Keyword arguments become options of the command line: ``digest=64`` is ``--digest 64``, ``force=True`` is
``--force``, ``kernel=["a", "b"]`` is ``--kernel a --kernel b``. Options whose names are words of Python end with
``_`` here: ``class_``, ``from_``.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _native, _progress
from ._command import binary
from ._findings import namespace

if TYPE_CHECKING:
    from typing_extensions import TypeIs, Unpack

    from ._recording import Recording
    from .typing import Arch, ConvertOptions, Path, ProbeFunctionOptions, ProbeOptions, Profile, ProfileOptions
    from .typing import RecordOptions, Repeated, RepeatedFunction, RepeatOptions, RunOptions, Tallies, Target

P = TypeVar("P", bound="Path")

# Exit codes of results; all others are errors.
_RESULTS = (0, 1, 3)


def record(command: Target, output: Path, **options: Unpack[RecordOptions]) -> Recording:
    """Records the launches of a program (``["python", "train.py"]``) or of a launch file. Returns the
    :class:`prlx.Recording`."""
    from ._recording import Recording

    output = os.fspath(output)
    _run(["record", *_before(command), "-o", output, *_flags(options), *_after(command)], json_output=False)
    return Recording(output)


@overload
def repeat(
    target: Callable[[], object],
    n: int | None = None,
    *,
    seeds: Iterable[int] | None = None,
    **options: Unpack[RunOptions],
) -> RepeatedFunction: ...
@overload
def repeat(target: Target, n: int | None = None, **options: Unpack[RepeatOptions]) -> Repeated: ...
def repeat(
    target: Callable[[], object] | Target,
    n: int | None = None,
    *,
    seeds: Iterable[int] | None = None,
    **options: Any,
) -> Any:
    """Runs a program or a launch file many times and compares the outcomes, as ``prlx repeat`` does. Returns
    its JSON with attributes: ``verdict``, ``runs``, ``outcomes``.

    Of a function, every launch runs on the CPU device under the schedules ``seeds`` (by default ``range(n)``,
    with ``n`` 10). If two schedules leave different results, :class:`prlx.ScheduleError` names the schedules
    and the arrays. Otherwise the result has ``verdict`` (``"same"``), ``runs`` and ``launches``.
    """
    if callable(target):
        from ._device import cpu

        schedules = list(seeds if seeds is not None else range(n or 10))
        with cpu(seeds=schedules, **options) as device:
            target()
        return namespace({"verdict": "same", "runs": len(schedules), "launches": device.launches})
    if seeds is not None:
        raise TypeError("repeat: seeds are of functions; a launch file has n and seed")
    if n is not None:
        options["runs"] = n
    return namespace(_run(["repeat", *_before(target), *_flags(options), *_after(target)]))


@overload
def probe(
    program: str,
    target: Callable[[], object],
    *,
    arch: Arch = "sm_90",
    seed: int = 0,
    **options: Unpack[ProbeFunctionOptions],
) -> Tallies: ...
@overload
def probe(program: str, target: Target, **options: Unpack[ProbeOptions]) -> Tallies: ...
def probe(program: str, target: Callable[[], object] | Target, **options: Any) -> Tallies:
    """Runs a probe program (``"inst:ld.global { @bytes[site] += size }"``), or one of the tools in the box
    (``"nan-origin"``), in a function, a launch file or a program. Returns its tables.

    Of a function, every launch runs on the CPU device, and the arrays hold afterwards what they held before.
    ``kernel`` limits the probes to kernels whose names match. ``arch``, ``seed`` and the limits are those of
    :class:`prlx.cpu`. A launch that faults raises :class:`prlx.KernelFault`.

    >>> import prlx
    >>> prlx.probe("inst:st.global { @stores = count() }", lambda: None)
    Traceback (most recent call last):
    ...
    prlx.LaunchError: the function launches no kernel on the CPU device
    """
    if callable(target):
        return _probe_function(program, target, **options)
    tables: Tallies = namespace(_run(["probe", program, *_before(target), *_flags(options), *_after(target)]))
    return tables


def _probe_function(
    program: str,
    function: Callable[[], object],
    *,
    arch: Arch = "sm_90",
    seed: int = 0,
    kernel: str | Iterable[str] = (),
    **options: Any,
) -> Tallies:
    """Runs a probe program in the launches of a function."""
    from ._compare import limits_of, record_calls

    calls, _ = record_calls(function, arch, seed, **limits_of(options))
    launches = [(f"launch {i} ({call.kernel})", call.snapshot) for i, call in enumerate(calls)]
    kernels = [kernel] if isinstance(kernel, str) else list(kernel)
    text = _native.probe(program, launches, kernels=kernels, progress=_progress.callback(), **options)
    tables: Tallies = namespace(json.loads(text))
    return tables


def profile(target: Target, **options: Unpack[ProfileOptions]) -> Profile:
    """Measures where the cycles of a program or a launch file go, as ``prlx profile`` does."""
    measured: Profile = namespace(_run(["profile", *_before(target), *_flags(options), *_after(target)]))
    return measured


def convert(source: Path, output: P, **options: Unpack[ConvertOptions]) -> P:
    """Converts a recording to another format, as ``prlx convert`` does."""
    _run(["convert", os.fspath(source), "-o", str(output), *_flags(options)], json_output=False)
    return output


def _before(target: Target) -> list[str]:
    """A launch file stands among the options, a program after them."""
    return [os.fspath(target)] if _is_file(target) else []


def _after(target: Target) -> list[str]:
    if _is_file(target):
        return []
    if isinstance(target, str):
        return ["--", *shlex.split(target)]
    return ["--", *(os.fspath(word) for word in target)]


def _is_file(target: Target) -> TypeIs[os.PathLike[str]]:
    return isinstance(target, os.PathLike) or (isinstance(target, str) and target.endswith(".toml"))


def _flags(options: Mapping[str, object]) -> list[str]:
    out = []
    for name, value in options.items():
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values:
            if one is True:
                out.append(flag)
            elif one is not None and one is not False:
                # Options that may stand alone take a value after `=` only.
                out.append(f"{flag}={one}")
    return out


def _run(words: list[str], json_output: bool = True) -> Any:
    words = [binary("prlx"), *words]
    if json_output:
        at = words.index("--") if "--" in words else len(words)
        words.insert(at, "--json")
    code, output, errors = _execute(words, json_output)
    if code not in _RESULTS:
        raise _error(errors, f"`{shlex.join(['prlx', *words[1:]])}` ended with {code}")
    return json.loads(output or "") if json_output else None


def _execute(words: list[str], keep_output: bool) -> tuple[int, str | None, str]:
    """Runs a command, and shows its messages as they come. Returns its exit code, output and messages."""
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE if keep_output else None, stderr=subprocess.PIPE, text=True
    )
    messages: list[str] = []

    def show() -> None:
        for line in process.stderr or ():
            messages.append(line)
            sys.stderr.write(line)

    with process:
        shower = threading.Thread(target=show)
        shower.start()
        output = process.stdout.read() if process.stdout else None
        shower.join()
    return process.returncode, output, "".join(messages)


def _error(messages: str, what: str) -> _native.Error:
    """The exception for the last error among the messages of a command."""
    _, found, text = f"\n{messages}".rpartition("\nerror: ")
    text = text.strip() if found else messages.strip()
    kind = _native.FileError if text.startswith("cannot read ") else _native.Error
    return kind(f"{text}\n{what}" if text else what)
