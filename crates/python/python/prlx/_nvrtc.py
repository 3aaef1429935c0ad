"""Compiles CUDA C++ to PTX with NVRTC, NVIDIA's run-time compiler.

It is looked for in the packages `nvidia-cuda-nvrtc` and `nvidia-cuda-nvrtc-cu12`, and where the system's loader
finds it. It needs no GPU.
"""

from __future__ import annotations

import ctypes
import glob
import os
import re
import site
import sys
from collections.abc import Iterable, Iterator

from . import _native


def find() -> ctypes.CDLL | None:
    """The loaded library, or ``None``."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        # NVRTC opens this library by its bare name, which works if it is loaded already.
        for builtins in glob.glob(os.path.join(os.path.dirname(path), "libnvrtc-builtins.so.*")):
            ctypes.CDLL(builtins, ctypes.RTLD_GLOBAL)
        return library
    return None


def _candidates() -> Iterator[str]:
    for folder in [*site.getsitepackages(), site.getusersitepackages(), *sys.path]:
        # Packages for CUDA 13 and later share a folder `cu13`; those for CUDA 12 have one each.
        for pattern in ("nvidia/cu[0-9]*/lib/libnvrtc.so.*", "nvidia/cuda_nvrtc/lib/libnvrtc.so.*"):
            yield from sorted(glob.glob(os.path.join(folder, pattern)), key=_numbers, reverse=True)
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if home:
            yield from sorted(glob.glob(os.path.join(home, "lib64/libnvrtc.so.*")), reverse=True)
    yield from ("libnvrtc.so.13", "libnvrtc.so.12")


def compile(
    library: ctypes.CDLL, source: str, path: str, arch: str, options: Iterable[str], instance: str | None = None
) -> tuple[bytes, str | None]:
    """PTX of CUDA source text, with source lines; ``path`` is its name in messages and reports. ``instance`` is an
    instance of a template to compile, as ``scale<float>``: the second result is its name in the PTX."""
    program = ctypes.c_void_p()
    _check(
        library,
        library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), path.encode(), 0, None, None
        ),
    )
    try:
        flags = [f"--gpu-architecture=compute_{str(arch).removeprefix('sm_')}", "-lineinfo", *options]
        flags += [f"-I{folder}" for folder in _includes(library)]
        array = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
        if instance is not None:
            _check(library, library.nvrtcAddNameExpression(program, instance.encode()))
        if library.nvrtcCompileProgram(program, len(flags), array):
            log = _text(library, program, "ProgramLog").rstrip()
            # NVRTC adds a text of its own with the name of the instance.
            if instance and (wrong := re.search(r"^__nv_name_map\(\d+\): error: (.*)", log, re.M)):
                raise _native.ModuleError(f"{path} has no kernel `{instance}`: {wrong[1]}")
            raise _native.ModuleError(f"{path} does not compile\n{log}")
        ptx = _text(library, program, "PTX").encode()
        return ptx, None if instance is None else _lowered(library, program, instance)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _lowered(library: ctypes.CDLL, program: ctypes.c_void_p, instance: str) -> str:
    """The name in the PTX of an instance of a template."""
    lowered = ctypes.c_char_p()
    _check(library, library.nvrtcGetLoweredName(program, instance.encode(), ctypes.byref(lowered)))
    return (lowered.value or b"").decode()


def _includes(library: ctypes.CDLL) -> list[str]:
    """The CUDA headers that lie beside the library, or in the package of CUDA 12's run-time library."""
    home = os.path.dirname(os.path.dirname(library._name))
    homes = [home, os.path.join(os.path.dirname(home), "cuda_runtime")]
    folders = [os.path.join(home, "include") for home in homes]
    return [folder for folder in folders if os.path.isdir(folder)]


def _numbers(path: str) -> list[int]:
    """The numbers in a path, by which versions are ordered."""
    return [int(n) for n in re.findall(r"\d+", path)]


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, text))
    return text.value.decode(errors="replace")


def _check(library: ctypes.CDLL, code: int) -> None:
    if code:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise _native.Error(f"NVRTC: {library.nvrtcGetErrorString(code).decode()}")
