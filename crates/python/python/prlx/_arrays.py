"""Arrays of other libraries as memory that kernels access: NumPy arrays, CPU tensors of PyTorch, every object
with ``__array_interface__``, and ``array.array`` by the buffer protocol, which needs no NumPy.

Invariants: a kernel works on the memory of an array. All views of an array share one allocation, that of the
memory's owner, so that checks know where an array ends.

Limitations: a read-only NumPy array, and one whose memory does not begin at a multiple of 8, is copied. The
device copies the second kind back; what a kernel writes to the first kind is lost.
"""

from __future__ import annotations

import ctypes
import sys
from array import array as PlainArray
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import numpy as np

    _NDArray = np.ndarray[Any, Any]

# Names of NumPy's and PyTorch's element types, and the types of PTX that reports show them as.
SCALARS = {
    "bool": "u8",
    "int8": "s8",
    "int16": "s16",
    "int32": "s32",
    "int64": "s64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


def is_array(value: object) -> bool:
    """Whether ``value`` is an array or a tensor, which kernels take as a pointer. A scalar of NumPy is none,
    though it has the attributes of one."""
    if is_tensor(value) or isinstance(value, PlainArray):
        return True
    return hasattr(value, "__array_interface__") and not is_numpy_scalar(value)


def is_numpy_scalar(value: object) -> bool:
    """Whether ``value`` is a number of NumPy, as ``np.float32(1)``."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def is_tensor(value: object) -> bool:
    """Whether ``value`` is a tensor of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def describe(name: str, value: Any, *, records: bool = False) -> tuple[_native.Array, object]:
    """The array argument of a launch, and the object that owns its memory. ``records``: whether the kernel knows
    the fields of structured arrays."""
    if is_tensor(value):
        return _tensor(name, value)
    if isinstance(value, PlainArray):
        return _plain(name, value)
    return _ndarray(name, value, records)


def content(address: int, size: int) -> bytes:
    """The bytes of memory that an array owns."""
    return ctypes.string_at(address, size)


def refuse_wrong_elements(name: str, dtype: Any, *, records: bool = False) -> None:
    """Raises an error if a kernel cannot work on elements of this type of NumPy. ``records``: whether it knows
    the fields of structured arrays."""
    if dtype.fields and records:
        for field, (inner, *_) in dtype.fields.items():
            refuse_wrong_elements(f"{name}.{field}", inner.base, records=True)
        return
    what = {"O": "Python objects", "M": "dates", "m": "times", "U": "texts"}.get(dtype.kind)
    if what is None and dtype.fields is None and dtype.subdtype is None and dtype.kind == "S":
        what = "texts"
    if dtype.hasobject:
        what = "Python objects"
    # `|` is no order: single bytes, and types that other packages add.
    if what is None and dtype.kind != "V" and dtype.newbyteorder("=") != dtype:
        raise _native.LaunchError(
            f"`{name}` has elements of type {dtype}, whose byte order is not that of a GPU\n"
            f"help: pass {name}.astype({name}.dtype.newbyteorder('='))"
        )
    if what is None and dtype.name in ("longdouble", "float128", "clongdouble", "complex256"):
        what = f"type {dtype.name}, which GPUs do not have"
    if dtype.names is not None:
        raise _native.LaunchError(
            f"`{name}` is an array of records: pass its fields one by one, or its bytes ({name}.view('u1'))"
        )
    if what is not None:
        raise _native.LaunchError(f"`{name}` has elements of type {dtype}: kernels cannot work on {what}")


def _scalar(name: str, size: int, shape: list[int]) -> tuple[str, list[int]]:
    """The type of PTX for an element type, and the shape in such elements."""
    if name in SCALARS:
        return SCALARS[name], shape
    if name.startswith("complex"):
        return {8: "f32", 16: "f64"}[size], [*shape, 2]
    # Elements that PTX has no name for, as 8-bit floats, are shown as their bytes.
    return "u8", [*shape, size]


def _tensor(name: str, tensor: Any) -> tuple[_native.Array, object]:
    if tensor.device.type != "cpu":
        raise _native.LaunchError(
            f"`{name}` is a tensor on {tensor.device}: the CPU device needs tensors on the CPU\n"
            f"help: pass {name}.cpu()"
        )
    storage = tensor.untyped_storage()
    first = storage.data_ptr()
    offset = tensor.data_ptr() - first
    size = tensor.element_size()
    shape = list(tensor.shape)
    if not tensor.is_contiguous():
        last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())) if tensor.numel() else -1
        shape = [last + 1]
    ty, shape = _scalar(str(tensor.dtype).rpartition(".")[2], size, shape)
    return _native.Array(name, first, storage.nbytes(), offset, ty, shape), tensor


def _plain(name: str, value: PlainArray[Any]) -> tuple[_native.Array, object]:
    kind = value.typecode
    if kind in "uw":
        raise _native.LaunchError(f"`{name}` has elements of type {kind!r}: kernels cannot work on texts")
    ty = f"{'f' if kind in 'fd' else 's' if kind.islower() else 'u'}{8 * value.itemsize}"
    # The view keeps the memory where it is: an array with a view cannot grow.
    view = memoryview(value)
    address, length = value.buffer_info()
    return _native.Array(name, address, view.nbytes, 0, ty, [length]), view


def _ndarray(name: str, value: Any, records: bool) -> tuple[_native.Array, object]:
    import numpy as np

    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    refuse_wrong_elements(name, array.dtype, records=records)
    if not array.flags.writeable:
        array = array.copy()
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    first, end = _bounds(owner)
    address = array.__array_interface__["data"][0]
    shape = list(array.shape)
    if not array.flags.c_contiguous:
        shape = [(_bounds(array)[1] - address) // array.itemsize]
    ty, shape = _scalar(array.dtype.name, array.itemsize, shape)
    return _native.Array(name, first, end - first, address - first, ty, shape), array


def _bounds(array: _NDArray) -> tuple[int, int]:
    """The first address of an array's elements, and the one past the last."""
    first = end = array.__array_interface__["data"][0]
    if array.size:
        for n, stride in zip(array.shape, array.strides):
            if stride < 0:
                first += (n - 1) * stride
            else:
                end += (n - 1) * stride
        end += array.itemsize
    return first, end


def put(address: int, content: bytes) -> None:
    """Writes bytes to memory that an array owns."""
    ctypes.memmove(address, content, len(content))
