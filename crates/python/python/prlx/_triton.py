"""Runs launches of Triton and Gluon kernels on the CPU device.

Triton compiles a kernel as for a GPU, up to PTX; its driver is replaced by one that runs PTX. This needs
neither a GPU nor PyTorch. The parts of Triton that are replaced are the driver (`triton.runtime.driver`), two
methods of its CUDA compiler, and `run` of kernels, which wraps NumPy arrays as tensors.

Invariants:
- What is replaced is put back by `disable`. Compiled kernels have cache entries of their own, in memory and on
  disk: a GPU never sees PTX instead of a cubin, and the CPU device no cubin.
- Nothing depends on the version of Triton; 3.4 to 3.9 are tested.

Limitations: autotuning picks the configuration with the fewest executed instructions, not the fastest one on
a GPU.
"""

import hashlib
import re
import struct
from typing import Any

import triton
import triton.testing
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource
from triton.runtime import autotuner, jit
from triton.runtime.driver import driver as driver_config

from . import _arrays, _native
from ._device import Launch, current
from ._integrations import Replacements

_replaced = Replacements()


def enable():
    """Replaces Triton's driver."""
    _replaced.replace(CUDABackend, "add_stages", _add_stages(CUDABackend.add_stages))
    _replaced.replace(CUDABackend, "hash", _hash)
    _replaced.replace(ASTSource, "hash", _hash_with_file(ASTSource.hash))
    for owner in (jit.JITFunction, autotuner.Autotuner, autotuner.Heuristics):
        _replaced.replace(owner, "run", _wrapping_run(owner.run))
    _enable_host_tensors()
    _replaced.replace(triton.testing, "do_bench", _do_bench)
    state = dict(vars(driver_config))
    _replaced.on_undo(lambda: vars(driver_config).update(state))
    driver_config.set_active(Driver())


def _enable_host_tensors():
    """Makes `triton.reinterpret` and host-side tensor descriptors take NumPy arrays."""
    for module in (triton, jit):
        _replaced.replace(module, "reinterpret", _tensor_arguments(module.reinterpret))
    try:
        from triton.tools.tensor_descriptor import TensorDescriptor
    except ImportError:
        return
    _replaced.replace(TensorDescriptor, "__post_init__", _descriptor_init(TensorDescriptor.__post_init__))
    from_tensor = _tensor_arguments(TensorDescriptor.from_tensor)
    _replaced.replace(TensorDescriptor, "from_tensor", staticmethod(from_tensor))


def disable():
    """Puts everything back."""
    _replaced.undo()


def _add_stages(before):
    def add_stages(self, stages, *args, **kwargs):
        before(self, stages, *args, **kwargs)
        stages["cubin"] = lambda ptx, metadata: ptx.encode()

    return add_stages


def _hash(backend):
    # The original asks ptxas for its version. The hash is a part of the key of Triton's cache.
    return f"prlx-{_native.__version__}-{backend.target.arch}"


def _hash_with_file(before):
    """Adds the file of a kernel to its key: equal kernels of two files have lines of their own."""

    def hash(self):
        code = getattr(getattr(self.fn, "fn", None), "__code__", None)
        file = getattr(code, "co_filename", "")
        return hashlib.sha256(f"{before(self)}-{file}".encode()).hexdigest()

    return hash


def _wrapping_run(before):
    def run(self, *args, **kwargs):
        names = [*(getattr(self, "arg_names", None) or ()), *(f"argument {i}" for i in range(len(args)))]
        args = tuple(map(_wrapped, names, args))
        kwargs = {name: _wrapped(name, value) for name, value in kwargs.items()}
        return before(self, *args, **kwargs)

    return run


def _wrapped(name, value):
    """An argument as Triton takes it: arrays become tensors, NumPy scalars numbers."""
    if _arrays.is_numpy_scalar(value):
        return value.item()
    if _is_plain_array(value):
        return Tensor(value, name)
    if type(value) in (tuple, list):
        return type(value)(_wrapped(f"{name}.{i}", part) for i, part in enumerate(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_wrapped(f"{name}.{key}", part) for key, part in zip(value._fields, value)))
    # Host-side tensor descriptors hold their tensor.
    if hasattr(value, "block_shape") and _is_plain_array(getattr(value, "base", None)):
        value.base = Tensor(value.base, name)
    return value


def _is_plain_array(value):
    """Whether a value is an array that has not what Triton asks tensors for."""
    return hasattr(value, "__array_interface__") and not hasattr(value, "data_ptr")


def _tensor_arguments(before):
    """Wraps the first argument of a function of Triton if it is an array."""

    def call(first, *args, **kwargs):
        return before(Tensor(first) if _is_plain_array(first) else first, *args, **kwargs)

    return call


def _descriptor_init(before):
    """Wraps the array of a host-side tensor descriptor before Triton looks at it."""

    def __post_init__(self):
        if _is_plain_array(self.base):
            self.base = Tensor(self.base, "base")
        before(self)

    return __post_init__


class Tensor:
    """A NumPy array with what Triton asks tensors for."""

    def __init__(self, array, name="tensor"):
        import numpy as np

        self.array = array if isinstance(array, np.ndarray) else np.asarray(array)
        _arrays.refuse_wrong_elements(name, self.array.dtype)
        self.dtype = self.array.dtype
        self.device = "cpu"

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def element_size(self):
        return self.array.itemsize

    def numel(self):
        return self.array.size

    def stride(self, axis=None):
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if axis is None else strides[axis]

    def size(self, axis=None):
        return self.array.shape if axis is None else self.array.shape[axis]

    def zero_(self):
        self.array[...] = 0
        return self

    def clone(self):
        return Tensor(self.array.copy())

    def copy_(self, other):
        self.array[...] = getattr(other, "array", other)
        return self

    def __getattr__(self, name):
        return getattr(self.array, name)


class Utils:
    """What Triton asks of a device and of its loader."""

    def get_device_properties(self, device):
        return {
            "max_shared_mem": 227 << 10,
            "max_num_regs": 65536,
            "multiprocessor_count": 132,
            "warpSize": 32,
            "sm_clock_rate": 1,
            "mem_clock_rate": 1,
            "mem_bus_width": 1,
        }

    def load_binary(self, name, binary, shared, device):
        code = binary if isinstance(binary, bytes) else binary.encode()
        return None, _native.Module(code, name), 0, 0, 1024


class Driver(DriverBase):
    """The CPU device as a driver of Triton."""

    def __init__(self):
        self.utils = Utils()
        self.launcher_cls = Launcher

    @staticmethod
    def is_active():
        return True

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        return GPUTarget("cuda", _device().arch, 32)

    def get_current_device(self):
        # Triton keeps compiled kernels by this value.
        return f"prlx-sm_{_device().arch}"

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device):
        return 0

    def get_active_torch_device(self):
        return "cpu"

    def get_device_interface(self):
        raise _native.UnsupportedError("the CPU device has no interface of a GPU for PyTorch")

    def get_benchmarker(self):
        return _count_instructions


def _device():
    device = current()
    if device is None:
        raise _native.Error("Triton runs on the CPU device only inside of `with prlx.cpu()`")
    return device


def _count_instructions(kernel_call, *, quantiles=None, **_):
    """Stands in for Triton's timing of a kernel: how many warp instructions one run executes, in millions."""
    device = _device()
    before = device.warp_instructions
    with device.trial():
        kernel_call()
    cost = (device.warp_instructions - before) / 1e6
    return [cost] * len(quantiles) if quantiles else cost


def _do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean", **_):
    """Stands in for `triton.testing.do_bench`: the same number, of one run."""
    device = _device()
    before = device.warp_instructions
    fn()
    cost = (device.warp_instructions - before) / 1e6
    if quantiles:
        return cost if len(quantiles) == 1 else [cost] * len(quantiles)
    return [cost] if return_mode == "all" else cost


# How Triton passes scalars, by the names of its types: a format of `struct`, and the type of PTX.
_SCALARS = {
    "i1": ("<?", "u8"),
    "i8": ("<b", "s8"),
    "i16": ("<h", "s16"),
    "i32": ("<i", "s32"),
    "i64": ("<q", "s64"),
    "u1": ("<?", "u8"),
    "u8": ("<B", "u8"),
    "u16": ("<H", "u16"),
    "u32": ("<I", "u32"),
    "u64": ("<Q", "u64"),
    "fp16": ("<e", "f16"),
    "fp32": ("<f", "f32"),
    "f32": ("<f", "f32"),
    "fp64": ("<d", "f64"),
}


class Launcher:
    """Turns a call with Triton's arguments into a launch."""

    def __init__(self, src, metadata):
        self.metadata = metadata
        self.signature = list(src.signature.values())
        names = getattr(getattr(src, "fn", None), "arg_names", None)
        self.names = names or [f"argument {i}" for i in range(len(self.signature))]
        self.descriptors = getattr(metadata, "tensordesc_meta", None) or []

    def __call__(self, grid_x, grid_y, grid_z, stream, module, packed, launch_metadata, enter, leave, *args):
        if grid_x * grid_y * grid_z == 0:
            return
        if enter is not None:
            enter(launch_metadata)
        kernel = self.metadata.name
        params = module.params(kernel)
        arguments = self._arguments(args)
        metadata = self.metadata
        ctas = getattr(metadata, "num_ctas", 1)
        grid = (grid_x * ctas, grid_y, grid_z)
        self._add_scratch(arguments, params, grid)
        block = (metadata.num_warps * 32, 1, 1)
        launch = Launch(
            module,
            kernel,
            grid,
            block,
            arguments,
            cluster=(ctas, 1, 1),
            shared=metadata.shared,
            contract=getattr(metadata, "enable_fp_fusion", True),
        )
        _device().run(launch, kernel)
        if leave is not None:
            leave(launch_metadata)

    def _arguments(self, args: Any) -> list[Any]:
        if len(args) != len(self.signature):
            # Newer versions leave constants out.
            constants = [ty for ty in self.signature if ty == "constexpr"]
            if len(args) + len(constants) != len(self.signature):
                raise _native.LaunchError(
                    f"{len(args)} arguments do not fit the {len(self.signature)} of Triton's signature"
                )
            rest = iter(args)
            args = [None if ty == "constexpr" else next(rest) for ty in self.signature]
        out: list[Any] = []
        descriptors = iter(self.descriptors)
        for name, ty, value in zip(self.names, self.signature, args):
            self._add(out, name, ty, value, descriptors)
        return out

    def _add(self, out, name, ty, value, descriptors):
        if isinstance(ty, (tuple, list)):
            for i, (inner, part) in enumerate(zip(ty, value)):
                self._add(out, f"{name}.{i}", inner, part, descriptors)
        elif ty == "constexpr":
            pass
        elif ty.startswith("*"):
            out.append(_pointer(name, value))
        elif ty.startswith("tensordesc"):
            out.extend(_descriptor(name, ty, value, next(descriptors, None)))
        elif ty == "bf16":
            bits = struct.pack("<f", value)[2:]
            out.append((_native.Scalar(name, bits, "bf16"), None))
        elif ty in _SCALARS:
            form, scalar = _SCALARS[ty]
            out.append((_native.Scalar(name, struct.pack(form, value), scalar), None))
        else:
            raise _native.UnsupportedError(f"argument `{name}` has Triton's type {ty}, which is not known")

    def _add_scratch(self, arguments, params, grid):
        """Adds the parameters that Triton appends to every kernel: scratch memory of all CTAs, and of its
        profiler."""
        import numpy as np

        sizes = [
            (getattr(self.metadata, f"{kind}_scratch_size", 0) or 0, f"{kind} scratch")
            for kind in ("global", "profile")
        ]
        for (name, bytes_of, _), (size, what) in zip(params[len(arguments) :], sizes):
            total = size * grid[0] * grid[1] * grid[2]
            if total:
                arguments.append(_scratch(np, what, total))
            else:
                arguments.append((_native.Scalar(name, bytes(bytes_of), "u64"), None))


def _scratch(np, name, size, align=256):
    """Memory that only the kernel uses, as an argument."""
    memory = np.empty(size + align, np.uint8)
    address = memory.ctypes.data
    address += -address % align
    return _native.Array(name, address, size, 0, "u8", [size]), memory


def _pointer(name, value):
    if value is None:
        return _native.Scalar(name, bytes(8), "u64"), None
    if isinstance(value, Tensor):
        return _arrays.describe(name, value.array)
    if _arrays.is_array(value):
        return _arrays.describe(name, value)
    base = getattr(value, "base", None)  # `triton.reinterpret` wraps a tensor.
    if base is not None:
        return _pointer(name, base)
    raise _native.LaunchError(
        f"argument `{name}` is a {type(value).__name__}: the CPU device takes NumPy arrays and CPU tensors"
    )


def _descriptor(name, ty, value, meta):
    """The parameters that a host-side tensor descriptor becomes."""
    rank = len(value.shape)
    sizes = [_number(f"{name}.shape", n, "i32") for n in value.shape]
    strides = [_number(f"{name}.stride", n, "i64") for n in value.strides]
    array, owner = _pointer(name, value.base)
    if meta is None:
        # A GPU without TMA: versions of Triton differ in how many flags stand in the middle.
        wide = [_number(f"{name}.shape", n, "i64") for n in value.shape]
        middle = _decomposed(value)[1 + 2 * rank : -2 * rank]
        flags = [_number(f"{name}.flag", bool(flag), "i1") for flag in middle]
        return [(array, owner), *wide, *strides, *flags, *sizes, *strides]
    element = int(re.findall(r"\d+", ty.split("<")[1].split("[")[0])[0]) // 8
    element = meta.get("elem_size", element)
    tile = list(meta.get("block_size", value.block_shape))
    tensor_map = _native.TensorMap(
        array,
        [int(n) for n in reversed(value.shape)],
        [int(n) * element for n in reversed(value.strides[: rank - 1])],
        [int(n) for n in reversed(tile)],
        {0: 16, 1: 32, 2: 64, 3: 128}[meta.get("swizzle", 0)],
        getattr(value, "padding", "zero") == "nan",
    )
    return [(tensor_map, owner), *sizes, *strides]


def _decomposed(descriptor):
    """What Triton passes for a descriptor on a GPU without TMA: pointer, sizes, strides, flags, sizes, strides."""
    import triton.backends.driver
    import triton.backends.nvidia.driver

    decompose = getattr(triton.backends.driver, "decompose_descriptor", None)
    if decompose is not None:
        return decompose(descriptor)
    return triton.backends.nvidia.driver.make_tensordesc_arg(descriptor, None)


def _number(name, value, ty):
    form, scalar = _SCALARS[ty]
    return _native.Scalar(name, struct.pack(form, value), scalar), None
