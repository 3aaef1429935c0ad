"""The commands `prlx` and `prlx-diff`: they replace this process by the packaged programs. What needs Python is
done here: `prlx run script.py` runs a script with its kernels on the CPU device, and `prlx pytorch watch`,
`diff-steps` and `report` use the training monitor."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NoReturn

from ._native import FileError


def binary(name: str) -> str:
    """The path of a packaged program.

    Raises `FileError` in an installation without programs, as one from source.
    """
    path = os.path.join(os.path.dirname(__file__), "bin", name)
    if os.path.exists(path):
        return path
    raise FileError(
        f"this installation of PRLX has no program `{name}` in {os.path.dirname(path)}\n"
        "help: install a wheel, or build one with `cargo xtask wheel`"
    )


def main() -> NoReturn:
    """`prlx`."""
    words = sys.argv[1:]
    if words[:1] == ["run"] and any(w.endswith(".py") for w in words[1:]):
        from ._scripts import run

        sys.exit(run(words[1:]))
    if words[:1] == ["run"] and {"-h", "--help"} & set(words):
        sys.exit(_help(words))
    if words[:1] == ["pytorch"] and words[1:2] in (["watch"], ["diff-steps"], ["report"], ["-h"], ["--help"]):
        from ._pytorch_command import main as pytorch

        sys.exit(pytorch(words[1:]))
    _become("prlx", words)


def diff() -> NoReturn:
    """`prlx-diff`, the name of `prlx diff` in PRLX 0.5."""
    _become("prlx-diff", sys.argv[1:])


def _help(words: list[str]) -> int:
    """`prlx run --help`: that of launch files, and that of scripts."""
    from ._scripts import help

    done = subprocess.run([binary("prlx"), *words], check=False)
    help()
    return done.returncode


def _become(name: str, words: list[str]) -> NoReturn:
    try:
        path = binary(name)
    except FileError as e:
        print(f"prlx: {e}", file=sys.stderr)
        sys.exit(2)
    os.execv(path, [path, *words])
