"""Runs launches of Numba-CUDA kernels (`@cuda.jit`) on the CPU device.

Numba compiles a kernel to PTX, with its source lines; this needs libNVVM (`numba-cuda[cu13]`), no GPU. Arrays
of the host are used in place. `cuda.to_device` and its relatives make copies that live in host memory.

Limitations: times of events, managed and mapped memory, cooperative groups of the whole grid, and libraries to
link are refused. `NUMBA_CUDA_…` settings of debug builds are not looked at.
"""

import contextlib
import operator
import struct
from typing import Any

import numba.cuda.api
import numba.cuda.compiler
import numpy as np
from numba import cuda, types
from numba.core import sigutils
from numba.cuda.dispatcher import CUDADispatcher

from . import _arrays, _native
from ._device import Launch, current, dim
from ._integrations import Replacements

_replaced = Replacements()


def _device():
    """The CPU device that runs launches."""
    device = current()
    if device is None:
        raise _native.Error("Numba runs on the CPU device only inside of `with prlx.cpu()`")
    return device


class DeviceArray(np.ndarray):
    """An array that a program regards as one of a GPU."""

    def copy_to_host(self, ary=None, stream=0):
        if ary is None:
            return np.array(self)
        np.copyto(ary, self)
        return ary

    def copy_to_device(self, ary, stream=0):
        np.copyto(self, ary)


class Device:
    """What programs and Numba's compiler ask of a GPU. It is a context manager, as the entries of `cuda.gpus`
    are: inside of the block, it is the current device, which it always is."""

    id = 0
    name = b"PRLX CPU device"
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024

    @property
    def compute_capability(self):
        return divmod(_device().arch, 10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __eq__(self, other):
        return isinstance(other, Device)

    def __hash__(self):
        return hash(Device)

    def __str__(self):
        return f"<Managed Device {self.id}>"

    def reset(self):
        pass


class Gpus:
    """`cuda.gpus`: a list with one device."""

    current = Device()

    @property
    def lst(self):
        return [self.current]

    def __len__(self):
        return 1

    def __iter__(self):
        return iter(self.lst)

    def __getitem__(self, number):
        return self.lst[number if isinstance(number, slice) else operator.index(number)]

    def __str__(self):
        return ", ".join(map(str, self.lst))


class Stream:
    """A stream. Launches are complete when the call returns, so there is nothing to wait for."""

    handle = 0

    def synchronize(self):
        pass

    @contextlib.contextmanager
    def auto_synchronize(self):
        yield


class Event:
    """An event. It has always happened; a GPU's times cannot be measured."""

    def record(self, stream=0):
        pass

    def synchronize(self):
        pass

    def wait(self, stream=0):
        pass

    def query(self):
        return True

    def elapsed_time(self, end):
        raise _native.UnsupportedError("the CPU device cannot time a GPU: Event.elapsed_time")


def _refusal(name):
    def refused(*args, **kwargs):
        raise _native.UnsupportedError(f"the CPU device has no cuda.{name}")

    return refused


def enable():
    """Replaces Numba's launches and transfers."""
    replace = _replaced.replace
    for module in (cuda, cuda.api, cuda.dispatcher, cuda.compiler):
        if "get_current_device" in vars(module):
            replace(module, "get_current_device", Device)
    gpus = Gpus()
    for module in (cuda, cuda.api, cuda.cudadrv.devices):
        if "gpus" in vars(module):
            replace(module, "gpus", gpus)
    replace(cuda, "list_devices", lambda: gpus)
    replace(cuda, "select_device", lambda number: gpus[number])
    replace(cuda, "close", lambda: None)
    for name in ("stream", "default_stream", "legacy_default_stream", "per_thread_default_stream"):
        replace(cuda, name, Stream)
    replace(cuda, "event", lambda timing=True: Event())
    replace(cuda, "is_available", lambda: True)
    for name in ("managed_array", "mapped_array", "mapped_array_like", "pinned", "mapped", "current_context", "detect"):
        if name in vars(cuda):
            replace(cuda, name, _refusal(name))
    for name in ("pinned_array", "pinned_array_like"):
        if name in vars(cuda):
            replace(cuda, name, getattr(np, "empty" if name == "pinned_array" else "empty_like"))
    disable = CUDADispatcher.disable_compile
    replace(CUDADispatcher, "disable_compile", _disable_compile(disable))
    replace(CUDADispatcher, "compile", _compile_signature(CUDADispatcher.compile))
    replace(CUDADispatcher, "configure", _configure)
    replace(CUDADispatcher, "forall", _for_all)
    replace(cuda, "to_device", lambda obj, *_, **__: np.array(obj).view(DeviceArray))
    replace(cuda, "device_array", lambda shape, dtype=np.float64, **_: np.empty(shape, dtype).view(DeviceArray))
    replace(cuda, "device_array_like", lambda ary, **_: np.empty_like(np.asarray(ary)).view(DeviceArray))
    replace(cuda, "synchronize", lambda: None)


def disable():
    """Puts everything back."""
    _replaced.undo()


def _compile_signature(before):
    """Keeps the signature of `@cuda.jit(signature)`, which Numba compiles for a GPU at once. Device functions are
    compiled as before."""

    def compile(self, sig):
        if self.targetoptions.get("device"):
            return before(self, sig)
        kinds, _ = sigutils.normalize_signature(sig)
        self.__dict__.setdefault("_prlx_signatures", []).append(kinds)

    return compile


def _disable_compile(before):
    def disable_compile(self, val=True):
        if "_prlx_signatures" not in self.__dict__:
            before(self, val)

    return disable_compile


def _argument_kinds(dispatcher, args):
    """The types of a kernel's parameters for these arguments: those of a signature, if it has any."""
    kinds = tuple(dispatcher.typeof_pyval(arg) for arg in args)
    signatures = dispatcher.__dict__.get("_prlx_signatures")
    if signatures is None:
        return kinds
    for signature in signatures:
        if len(signature) == len(kinds) and all(map(_fits, signature, kinds)):
            return signature
    raise TypeError(f"No matching definition for argument type(s) {', '.join(map(str, kinds))}")


def _fits(wanted, given):
    """Whether a signature's type takes an argument."""
    if isinstance(wanted, types.Array):
        same = isinstance(given, types.Array) and (wanted.dtype, wanted.ndim) == (given.dtype, given.ndim)
        return same and wanted.layout in ("A", given.layout)
    return wanted == given or (isinstance(wanted, types.Number) and isinstance(given, (types.Number, types.Boolean)))


def _configure(dispatcher, grid, block, stream=0, sharedmem=0):
    return lambda *args: _launch(dispatcher, dim(grid), dim(block), sharedmem, args)


def _for_all(dispatcher, ntasks, tpb=0, stream=0, sharedmem=0):
    block = tpb or 128
    return _configure(dispatcher, -(-ntasks // block), block, stream, sharedmem)


def _launch(dispatcher: Any, grid: Any, block: Any, shared: int, args: Any) -> None:
    device = _device()
    if 0 in grid:
        return
    names = dispatcher.py_func.__code__.co_varnames
    for name, arg in zip(names, args):
        if _arrays.is_array(arg) and hasattr(arg, "dtype") and not _arrays.is_tensor(arg):
            _arrays.refuse_wrong_elements(name, arg.dtype, records=True)
    kinds = _argument_kinds(dispatcher, args)
    module, kernel = _compiled(dispatcher, kinds, device.arch)
    out: list[Any] = []
    for name, kind, value in zip(names, kinds, args):
        _add(out, name, kind, value)
    launch = Launch(module, kernel, grid, block, out, shared=shared)
    device.run(launch, dispatcher.py_func.__name__)


def _compiled(dispatcher, kinds, arch):
    """The PTX of a kernel for arguments of these types; the dispatcher keeps it."""
    cache = dispatcher.__dict__.setdefault("_prlx_modules", {})
    key = (kinds, arch)
    if key not in cache:
        options = dispatcher.targetoptions
        if options.get("link"):
            raise _native.UnsupportedError(
                f"`{dispatcher.py_func.__name__}` links other files, which the CPU device cannot run"
            )
        ptx, _ = cuda.compile_ptx(
            dispatcher.py_func,
            kinds,
            cc=divmod(arch, 10),
            lineinfo=True,
            fastmath=options.get("fastmath", False),
        )
        module = _native.Module(ptx.encode(), f"{dispatcher.py_func.__name__}.ptx")
        cache[key] = module, module.kernels()[0]
    return cache[key]


def _add(out, name, kind, value):
    """Adds the parameters that an argument becomes, as Numba's own launches do."""
    if isinstance(kind, types.Array):
        array = np.asarray(value)
        sizes = [0, 0, array.size, array.itemsize]
        out += [_word(f"{name}.{what}", n) for what, n in zip(("meminfo", "parent", "size", "itemsize"), sizes)]
        out.append(_arrays.describe(name, array, records=True))
        out += [_word(f"{name}.shape[{i}]", n) for i, n in enumerate(array.shape)]
        out += [_word(f"{name}.strides[{i}]", n) for i, n in enumerate(array.strides)]
    elif isinstance(kind, types.BaseTuple):
        for i, (inner, part) in enumerate(zip(kind, value)):
            _add(out, f"{name}[{i}]", inner, part)
    elif isinstance(kind, types.Complex):
        form, ty = ("<f", "f32") if kind == types.complex64 else ("<d", "f64")
        out += [(_native.Scalar(f"{name}.{part}", struct.pack(form, getattr(value, part)), ty), None)
                for part in ("real", "imag")]
    elif isinstance(kind, (types.Integer, types.Float, types.Boolean)):
        dtype = np.dtype(str(kind) if kind != types.boolean else "uint8")
        out.append((_native.Scalar(name, dtype.type(value).tobytes(), _arrays.SCALARS[dtype.name]), None))
    else:
        raise _native.UnsupportedError(f"argument `{name}` has Numba's type {kind}, which cannot be passed")


def _word(name, number):
    return _native.Scalar(name, struct.pack("<q", number), "s64"), None
