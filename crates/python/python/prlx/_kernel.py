"""A kernel of PTX or CUDA source, launched as ``kernel[grid, block](arguments)``."""

from __future__ import annotations

import operator
import os
import re
import shlex
import struct
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _arrays, _native
from ._declarations import Declared, declared, templates
from ._device import Launch, architecture, cpu, current, dim

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from typing_extensions import TypeGuard

    from ._device import _Passed, _Sizes
    from .typing import Arch, Argument, Code, Launcher, Path, Size

_FORMATS = {
    "u8": "<B",
    "s8": "<b",
    "u16": "<H",
    "s16": "<h",
    "u32": "<I",
    "s32": "<i",
    "u64": "<Q",
    "s64": "<q",
    "b8": "<B",
    "b16": "<H",
    "b32": "<I",
    "b64": "<Q",
    "f16": "<e",
    "f32": "<f",
    "f64": "<d",
}


class Kernel:
    """A kernel, from PTX text, CUDA C++ text, the path of a ``.ptx``, ``.cubin`` or ``.cu`` file, or a
    ``cupy.RawKernel``.

    name: the kernel; code with a single kernel needs none. A name as in the source finds a mangled one. Of a
    template, it has the arguments: NVRTC compiles the instance ``"scale<float>"``.
    options: of NVRTC, which compiles CUDA text (``("-DN=4",)`` or ``"-DN=4"``). It is found in the ``nvidia-cuda-nvrtc``
    package or the CUDA toolkit; without it, ``nvcc`` compiles.

    >>> import numpy as np, prlx
    >>> ptx = '''
    ... .version 7.0
    ... .target sm_70
    ... .address_size 64
    ... .visible .entry inc(.param .u64 x, .param .u32 n)
    ... {
    ...     .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;
    ...     ld.param.u64 %rd1, [x]; ld.param.u32 %r1, [n];
    ...     mov.u32 %r2, %tid.x; setp.ge.u32 %p, %r2, %r1;
    ...     @%p ret;
    ...     mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
    ...     ld.global.u32 %r3, [%rd3]; add.u32 %r3, %r3, 1; st.global.u32 [%rd3], %r3;
    ...     ret;
    ... }'''
    >>> inc = prlx.Kernel(ptx)
    >>> x = np.arange(4, dtype=np.uint32)
    >>> inc[1, 32](x, 4)
    >>> x
    array([1, 2, 3, 4], dtype=uint32)
    """

    def __init__(
        self, code: Code, name: str | None = None, *, arch: Arch = "sm_90", options: str | Iterable[str] = ()
    ) -> None:
        words = tuple(shlex.split(options) if isinstance(options, str) else options)
        # The name of a `Path` is that of its file.
        name = name or (None if isinstance(code, os.PathLike) else getattr(code, "name", None))
        source = _source(code)
        self._module, lowered = _module(code, name, f"sm_{architecture(arch)}", words)
        self.name = lowered or _find(self._module, name, source)
        # The name in reports.
        self._shown = dict(zip(self._module.kernels(), self._module.source_names()))[self.name]
        self._params = self._module.params(self.name)
        # PTX text has no `__global__`, and so no such declaration.
        self._declared = self._find_declaration(source, name)
        self._names = [p.removeprefix(f"{self.name}_") for p, *_ in self._params]
        if self._declared is not None:
            # Compilers drop the names of the source.
            self._names = [p.name for p in self._declared]
        self._numbers: list[bool] | None = None

    def _find_declaration(self, source: str | None, name: str | None) -> list[Declared] | None:
        """The parameters as CUDA source text declares them, if it is understood."""
        plain = name and name.partition("<")[0].rpartition("::")[2].strip()
        for known in (name, plain, self.name):
            if source and known and (found := declared(source, known, len(self._params))):
                return found
        return None

    @property
    def ptx(self) -> str:
        """The PTX of the kernel's module."""
        return self._module.ptx()

    def __getitem__(self, shape: tuple[Size, Size] | tuple[Size, Size, int]) -> Launcher:
        """``kernel[grid, block]``, or ``kernel[grid, block, shared_bytes]``; sizes are numbers or tuples."""
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise TypeError("launch as kernel[grid, block](…) or kernel[grid, block, shared_bytes](…)")
        grid, block = (dim(part) for part in shape[:2])
        shared = shape[2] if len(shape) == 3 else 0
        return lambda *args: self._launch(grid, block, shared, args)

    def _launch(self, grid: _Sizes, block: _Sizes, shared: int, args: tuple[Argument, ...]) -> None:
        if len(args) != len(self._params):
            names = ", ".join(self._names)
            raise _native.LaunchError(
                f"`{self.name}` has {len(self._params)} parameters ({names}) and was given {len(args)}"
            )
        for parameter, value in zip(self._declared or (), args):
            _refuse_other_kind(parameter, value)
        if self._declared is None:
            self._refuse_arrays_for_numbers(args)
        arguments = [
            _argument(name, size, ty, value)
            for name, (_, size, ty), value in zip(self._names, self._params, args)
        ]
        launch = Launch(self._module, self.name, grid, block, arguments, shared=shared)
        device = current()
        try:
            if device is not None:
                device.run(launch, self._shown)
                return
            with cpu() as device:
                device.run(launch, self._shown)
        except _native.KernelFault as error:
            if not shared and "shared memory" in str(error) and ".extern .shared" in self.ptx:
                help = f"launch it as {self._shown}[grid, block, shared_bytes](…): its shared memory has no size"
                error.args = (f"{error}\nhelp: {help}",)
            raise

    def _refuse_arrays_for_numbers(self, args: tuple[Argument, ...]) -> None:
        """Raises an error for an array where the kernel computes with the parameter and reads no memory there:
        PTX without its source declares pointers and integers of 8 bytes alike."""
        arrays = [
            i for i, value in enumerate(args) if self._params[i][1] == 8 and _arrays.is_array(value)
        ]
        if not arrays:
            return
        if self._numbers is None:
            self._numbers = self._module.numbers(self.name)
        for i in arrays:
            if self._numbers[i]:
                raise _native.LaunchError(
                    f"argument `{self._names[i]}` is an array, and the kernel uses its parameter as a number: "
                    "it computes with it, and accesses no memory there\nhelp: pass a number"
                )


def _find(module: _native.Module, name: str | None, source: str | None) -> str:
    """The kernel with a name in the module or in the source: ``scale``, ``ns::scale<float>``, or a part of it.
    ``source`` is CUDA source text, if there is some."""
    kernels, shown = module.kernels(), module.source_names()
    if name is None and len(kernels) == 1:
        return kernels[0]
    if name is None:
        raise _native.ModuleError(f"name one of the kernels: {', '.join(shown)}")
    plain = name.replace(" ", "")
    both = [(k, s.replace(" ", "")) for k, s in zip(kernels, shown)]
    near = (
        [k for k, _ in both if k == name]
        or [k for k, s in both if s == plain]
        or [k for k, s in both if s.partition("<")[0] == plain]
        or [k for k, s in both if name in k or plain in s]
    )
    if len(near) == 1:
        return near[0]
    found = "there is no kernel" if not near else "several kernels are called"
    raise _native.ModuleError(f"{found} `{name}`: it has {', '.join(shown)}{_help(name, source)}")


def _help(name: str | None, source: str | None) -> str:
    """What to do about a kernel that was not found, if it is a template of the source."""
    names = templates(source or "")
    plain = name and name.partition("<")[0].rpartition("::")[2].strip()
    if not names or (plain and plain not in names):
        return ""
    if name and "<" in name:
        what = f"the source does not instantiate the template `{plain}`"
        return f"\nhelp: {what}: install NVRTC, which does: pip install nvidia-cuda-nvrtc"
    example = f'prlx.Kernel(code, "{name or names[0]}<float>")'
    return f"\nhelp: `{plain or names[0]}` is a template: name its arguments, as {example}"


def _source(code: Code) -> str | None:
    """CUDA source text, if code is some."""
    if hasattr(code, "code") and hasattr(code, "options"):  # cupy.RawKernel
        return str(code.code)
    if _is_path(code):
        path = os.fspath(code)
        if not path.endswith(".cu"):
            return None
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None  # Reading the code itself says why.
    return code if isinstance(code, str) else None


def _refuse_other_kind(parameter: Declared, value: Argument) -> None:
    """Raises an error for an array where the source declares an integer, and for a number where it declares a
    pointer: PTX has the same type for both."""
    name, kind = parameter.name, parameter.type
    if parameter.is_integer and _arrays.is_array(value):
        raise _native.LaunchError(
            f"argument `{name}` is an array, and its parameter a number ({kind})\n"
            "help: pass a number; a kernel that takes an array declares a pointer"
        )
    if parameter.is_pointer and not _arrays.is_array(value) and hasattr(value, "__index__") and value != 0:
        raise _native.LaunchError(
            f"argument `{name}` is {value!r}, and its parameter a pointer ({kind})\nhelp: pass an array"
        )


def _argument(name: str, size: int, ty: str, value: Argument) -> _Passed:
    """An argument of a launch for a parameter of this size and type of PTX."""
    if _arrays.is_array(value):
        # Compilers declare pointers as integers of 8 bytes.
        if size != 8 or ty not in ("u64", "b64", "s64"):
            raise _native.LaunchError(f"argument `{name}` is an array, and its parameter a number ({ty})")
        return _arrays.describe(name, value)
    if value is None and size == 8:
        return _native.Scalar(name, bytes(size), None), None
    if isinstance(value, (bytes, bytearray)):
        return _native.Scalar(name, bytes(value), None), None
    if isinstance(value, memoryview):
        return _native.Scalar(name, value.tobytes(), None), None
    if _arrays.is_numpy_scalar(value):
        return _native.Scalar(name, *_pack_numpy(name, size, ty, value)), None
    return _native.Scalar(name, *_pack(name, size, ty, value)), None


def _pack_numpy(name: str, size: int, ty: str, value: Any) -> tuple[bytes, str | None]:
    """The bytes of a NumPy scalar, and its type in PTX. An untyped parameter of its size takes its bits."""
    _arrays.refuse_wrong_elements(name, value.dtype)
    known = _arrays.SCALARS.get(value.dtype.name)
    if known is None or (ty[0] == "b" and value.dtype.itemsize == size):
        if value.dtype.itemsize != size:
            raise _native.LaunchError(
                f"argument `{name}` has {value.dtype.itemsize} bytes ({value.dtype}), its parameter {size}"
            )
        return value.astype(value.dtype.newbyteorder("=")).tobytes(), known
    return _pack(name, size, ty, value.item())


def _pack(name: str, size: int, ty: str, value: Any) -> tuple[bytes, str]:
    """The bytes of a Python number, and its type in PTX. PTX declares some parameters without a type: there a
    float becomes one of the parameter's size."""
    form = _FORMATS.get(ty)
    if form is None:
        raise _native.LaunchError(f"argument `{name}`: pass its {size} bytes, as struct.pack makes them")
    if ty[0] == "f":
        return _pack_float(name, ty, value), ty
    if isinstance(value, float) and ty[0] == "b":
        ty = {2: "f16", 4: "f32", 8: "f64"}.get(size, ty)
        if ty[0] == "f":
            return _pack_float(name, ty, value), ty
    try:
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise _native.LaunchError(
            f"argument `{name}` is {value!r} ({kind}), and its parameter an integer ({ty})"
        ) from None
    # C declares the sign, which PTX drops: `-1` and `2**32 - 1` are both right for an `.u32`.
    bits = 8 * size
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise _native.LaunchError(f"argument `{name}`: {number} does not fit into {size} bytes ({ty})")
    return (number % (1 << bits)).to_bytes(size, "little"), ty


def _pack_float(name: str, ty: str, value: Any) -> bytes:
    try:
        return struct.pack(_FORMATS[ty], value)
    except (struct.error, OverflowError) as e:
        raise _native.LaunchError(f"argument `{name}`: {value!r} is no number of type {ty}: {e}") from None


def _module(
    code: Code, name: str | None, arch: str, options: tuple[str, ...]
) -> tuple[_native.Module, str | None]:
    """The module of code, and the name in it of the kernel, if that is an instance that the compiler made."""
    if hasattr(code, "code") and hasattr(code, "options"):  # cupy.RawKernel
        raw: Any = code
        return _module(raw.code, raw.name, arch, (*raw.options, *options))
    if _is_path(code):
        return _module_of_file(os.fspath(code), name, arch, options)
    if isinstance(code, (bytes, bytearray)):
        return _native.Module(bytes(code), name or "kernel"), None
    if not isinstance(code, str):
        raise TypeError(
            f"Kernel: {type(code).__name__} is no code: pass PTX or CUDA text, a path, or a cupy.RawKernel"
        )
    file = (name or "kernel").partition("<")[0].replace("::", ".").strip()
    if any(line.lstrip().startswith(".version") for line in code.splitlines()):
        return _native.Module(code.encode(), f"{file}.ptx"), None
    return _compile(code, _source_file(f"{file}.cu", code), name, arch, options)


def _is_path(code: object) -> TypeGuard[Path]:
    """Whether code is the path of a file, which need not exist."""
    if isinstance(code, os.PathLike):
        return True
    if not isinstance(code, str) or "\n" in code:
        return False
    return os.path.exists(code) or re.fullmatch(r"[^{};]*\.(cu|ptx|cubin|fatbin)", code) is not None


def _module_of_file(
    path: str, name: str | None, arch: str, options: tuple[str, ...]
) -> tuple[_native.Module, str | None]:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as e:
        raise _native.FileError(f"cannot read {path}: {e.strerror}") from None
    if path.endswith(".cu"):
        return _compile(content.decode(errors="replace"), path, name, arch, options)
    return _native.Module(content, path), None


_sources: TemporaryDirectory[str] | None = None


def _source_file(name: str, text: str) -> str:
    """A file with source text, so that reports can show its lines; it lives as long as the process."""
    global _sources
    if _sources is None:
        import tempfile

        _sources = tempfile.TemporaryDirectory(prefix="prlx-")
    folder = os.path.join(_sources.name, str(len(os.listdir(_sources.name))))
    os.mkdir(folder)
    path = os.path.join(folder, os.path.basename(name))
    with open(path, "w") as file:
        file.write(text)
    return path


def _compile(
    source: str, path: str, name: str | None, arch: str, options: tuple[str, ...]
) -> tuple[_native.Module, str | None]:
    """The module of CUDA source text. If ``name`` is an instance of a template, NVRTC makes it."""
    from . import _nvrtc

    if (library := _nvrtc.find()) is not None:
        compile = partial(_nvrtc.compile, library, source, path, arch, options)
        if name is None or "<" not in name:
            return _module_of_ptx(compile()[0], path, source, name), None
        try:
            ptx, lowered = compile(name)
            return _native.Module(ptx, path), lowered
        except _native.ModuleError as error:
            # Without its namespace, the name is none of C++; the source may instantiate it all the same.
            try:
                module = _native.Module(compile()[0], path)
                return module, _find(module, name, None)
            except _native.ModuleError:
                names = ", ".join(f"`{t}`" for t in templates(source)) or "none"
                help = f"a name has namespaces and arguments; the kernel templates of the source: {names}"
                raise _native.ModuleError(f"{error}\nhelp: {help}") from None
    if options:
        raise _native.UnsupportedError("options need NVRTC\nhelp: pip install nvidia-cuda-nvrtc")
    try:
        return _native.Module.compile(path), None
    except _native.ModuleError as error:
        raise _native.ModuleError(f"{error}{_help(name, source)}") from None
    except _native.UnsupportedError as error:
        raise _native.UnsupportedError(f"{error}, or: pip install nvidia-cuda-nvrtc") from None


def _module_of_ptx(ptx: bytes, path: str, source: str, name: str | None) -> _native.Module:
    try:
        return _native.Module(ptx, path)
    except _native.ModuleError as error:
        # A template makes no kernel by itself.
        raise _native.ModuleError(f"{error}{_help(name, source)}") from None
