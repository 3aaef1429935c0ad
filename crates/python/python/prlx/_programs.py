"""Commands on programs and files: the packaged `prlx` runs them, and its JSON is the result.

Keyword arguments become options of the command line: ``digest=64`` is ``--digest 64``, ``force=True`` is
``--force``, ``kernel=["a", "b"]`` is ``--kernel a --kernel b``.
"""

import json
import os
import shlex
import subprocess
import sys
import threading

from . import _native
from ._command import binary
from ._findings import namespace

# Exit codes of results; all others are errors.
_RESULTS = (0, 1, 3)


def record(command, output, **options):
    """Records the launches of a program (``["python", "train.py"]``) or of a launch file. Returns the
    :class:`prlx.Recording`."""
    from ._recording import Recording

    output = os.fspath(output)
    _run(["record", *_before(command), "-o", output, *_flags(options), *_after(command)], json_output=False)
    return Recording(output)


def repeat(target, n=None, *, seeds=None, **options):
    """Runs a program or a launch file many times and compares the outcomes, as ``prlx repeat`` does. Returns
    its JSON with attributes: ``verdict``, ``runs``, ``outcomes``.

    Of a function, every launch runs on the CPU device under the schedules ``seeds`` (by default ``range(n)``,
    with ``n`` 10). If two schedules leave different results, :class:`prlx.ScheduleError` names the schedules
    and the arrays. Otherwise the result has ``verdict`` (``"same"``), ``runs`` and ``launches``.
    """
    if callable(target):
        from ._device import cpu

        with cpu(seeds=seeds if seeds is not None else range(n or 10), **options) as device:
            target()
        return namespace({"verdict": "same", "runs": len(device.seeds), "launches": device.launches})
    if n is not None:
        options["runs"] = n
    return namespace(_run(["repeat", *_before(target), *_flags(options), *_after(target)]))


def probe(program, target, **options):
    """Runs a probe program (``"inst:ld.global { @bytes[site] += size }"``) in a program or a launch file.
    Returns its tables."""
    return namespace(_run(["probe", program, *_before(target), *_flags(options), *_after(target)]))


def profile(target, **options):
    """Measures where the cycles of a program or a launch file go, as ``prlx profile`` does."""
    return namespace(_run(["profile", *_before(target), *_flags(options), *_after(target)]))


def convert(source, output, **options):
    """Converts a recording to another format, as ``prlx convert`` does."""
    _run(["convert", os.fspath(source), "-o", os.fspath(output), *_flags(options)], json_output=False)
    return output


def _before(target):
    """A launch file stands among the options, a program after them."""
    return [os.fspath(target)] if _is_file(target) else []


def _after(target):
    if _is_file(target):
        return []
    return ["--", *(shlex.split(target) if isinstance(target, str) else map(os.fspath, target))]


def _is_file(target):
    return isinstance(target, os.PathLike) or (isinstance(target, str) and target.endswith(".toml"))


def _flags(options):
    out = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values:
            if one is True:
                out.append(flag)
            elif one is not None and one is not False:
                out += [flag, str(one)]
    return out


def _run(words, json_output=True):
    words = [binary("prlx"), *words]
    if json_output:
        at = words.index("--") if "--" in words else len(words)
        words.insert(at, "--json")
    code, output, errors = _execute(words, json_output)
    if code not in _RESULTS:
        raise _error(errors, f"`{shlex.join(['prlx', *words[1:]])}` ended with {code}")
    return json.loads(output) if json_output else None


def _execute(words, keep_output):
    """Runs a command, and shows its messages as they come. Returns its exit code, output and messages."""
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE if keep_output else None, stderr=subprocess.PIPE, text=True
    )
    messages = []

    def show():
        for line in process.stderr:
            messages.append(line)
            sys.stderr.write(line)

    with process:
        shower = threading.Thread(target=show)
        shower.start()
        output = process.stdout.read() if keep_output else None
        shower.join()
    return process.returncode, output, "".join(messages)


def _error(messages, what):
    """The exception for the last error among the messages of a command."""
    _, found, text = f"\n{messages}".rpartition("\nerror: ")
    text = text.strip() if found else messages.strip()
    kind = _native.FileError if text.startswith("cannot read ") else _native.Error
    return kind(f"{text}\n{what}" if text else what)
