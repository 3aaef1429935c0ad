"""A kernel of PTX or CUDA source, launched as ``kernel[grid, block](arguments)``."""

import operator
import os
import re
import shlex
import struct

from . import _arrays, _native
from ._device import Launch, architecture, cpu, current, dim

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

    name: the kernel; code with a single kernel needs none. A name as in the source finds a mangled one.
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

    def __init__(self, code, name=None, *, arch="sm_90", options=()):
        options = shlex.split(options) if isinstance(options, str) else tuple(options)
        # The name of a `Path` is that of its file.
        name = name or (None if isinstance(code, os.PathLike) else getattr(code, "name", None))
        self._module = _module(code, name, f"sm_{architecture(arch)}", options)
        self.name = _find(self._module.kernels(), name)
        self._params = self._module.params(self.name)
        self._names = _parameter_names(code, name, self._params, self.name)

    @property
    def ptx(self):
        """The PTX of the kernel's module."""
        return self._module.ptx()

    def __getitem__(self, shape):
        """``kernel[grid, block]``, or ``kernel[grid, block, shared_bytes]``; sizes are numbers or tuples."""
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise TypeError("launch as kernel[grid, block](…) or kernel[grid, block, shared_bytes](…)")
        grid, block = (dim(part) for part in shape[:2])
        shared = shape[2] if len(shape) == 3 else 0
        return lambda *args: self._launch(grid, block, shared, args)

    def _launch(self, grid, block, shared, args):
        if len(args) != len(self._params):
            names = ", ".join(self._names)
            raise _native.LaunchError(
                f"`{self.name}` has {len(self._params)} parameters ({names}) and was given {len(args)}"
            )
        arguments = [
            _argument(name, size, ty, value)
            for name, (_, size, ty), value in zip(self._names, self._params, args)
        ]
        launch = Launch(self._module, self.name, grid, block, arguments, shared=shared)
        device = current()
        if device is not None:
            device.run(launch, self.name)
            return
        with cpu() as device:
            device.run(launch, self.name)


def _find(kernels, name):
    if name is None and len(kernels) == 1:
        return kernels[0]
    if name is None:
        raise _native.ModuleError(f"name one of the kernels: {', '.join(kernels)}")
    near = [k for k in kernels if k == name] or [k for k in kernels if name in k]
    if len(near) == 1:
        return near[0]
    raise _native.ModuleError(f"there is no kernel `{name}`: it has {', '.join(kernels)}")


def _parameter_names(code, name, params, kernel):
    """Names for reports: those of the source, which compilers drop, or else of the PTX."""
    source = getattr(code, "code", code)
    if name and isinstance(source, str):
        found = re.search(rf"__global__[^;{{}}]*?\b{re.escape(name)}\s*\(([^)]*)\)", source)
        names = [re.findall(r"\w+", p)[-1:] for p in found.group(1).split(",")] if found else []
        if len(names) == len(params) and all(names):
            return [n[0] for n in names]
    return [p.removeprefix(f"{kernel}_") for p, *_ in params]


def _argument(name, size, ty, value):
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


def _pack_numpy(name, size, ty, value):
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


def _pack(name, size, ty, value):
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


def _pack_float(name, ty, value):
    try:
        return struct.pack(_FORMATS[ty], value)
    except (struct.error, OverflowError) as e:
        raise _native.LaunchError(f"argument `{name}`: {value!r} is no number of type {ty}: {e}") from None


def _module(code, name, arch, options):
    if hasattr(code, "code") and hasattr(code, "options"):  # cupy.RawKernel
        return _module(code.code, code.name, arch, (*code.options, *options))
    if _is_path(code):
        return _module_of_file(os.fspath(code), arch, options)
    if isinstance(code, (bytes, bytearray)):
        return _native.Module(bytes(code), name or "kernel")
    if not isinstance(code, str):
        raise TypeError(
            f"Kernel: {type(code).__name__} is no code: pass PTX or CUDA text, a path, or a cupy.RawKernel"
        )
    if any(line.lstrip().startswith(".version") for line in code.splitlines()):
        return _native.Module(code.encode(), f"{name or 'kernel'}.ptx")
    return _compile(code, _source_file(f"{name or 'kernel'}.cu", code), arch, options)


def _is_path(code):
    """Whether code is the path of a file, which need not exist."""
    if isinstance(code, os.PathLike):
        return True
    if not isinstance(code, str) or "\n" in code:
        return False
    return os.path.exists(code) or re.fullmatch(r"[^{};]*\.(cu|ptx|cubin|fatbin)", code) is not None


def _module_of_file(path, arch, options):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as e:
        raise _native.FileError(f"cannot read {path}: {e.strerror}") from None
    if path.endswith(".cu"):
        return _compile(content.decode(errors="replace"), path, arch, options)
    return _native.Module(content, path)


_sources = None


def _source_file(name, text):
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


def _compile(source, path, arch, options):
    from . import _nvrtc

    if (library := _nvrtc.find()) is not None:
        return _native.Module(_nvrtc.compile(library, source, path, arch, options), path)
    if options:
        raise _native.UnsupportedError("options need NVRTC\nhelp: pip install nvidia-cuda-nvrtc")
    return _native.Module.compile(path)
