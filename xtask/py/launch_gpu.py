"""Runs launch files on a GPU and compares with their expected results: launch_gpu.py FILE_OR_DIR...

It uses only the CUDA driver and NumPy: a second opinion on launch files and references, without any code of PRLX. The
driver assembles the modules. Each launch runs in its own process, because a fault destroys the context. On a machine with
a GPU: `python3 launch_gpu.py tests/kernels`.
"""

import ctypes as c
import pathlib
import re
import subprocess
import sys
import tomllib

import numpy as np

TYPES = {
    "u8": "u1", "s8": "i1", "f16": "f2", "bf16": "u2", "u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "f32": "f4",
    "u64": "u8", "s64": "i8", "f64": "f8",
}  # fmt: skip


class Attribute(c.Structure):
    """CUlaunchAttribute: a value of 64 bytes, aligned to 8."""

    _fields_ = [("id", c.c_uint), ("pad", c.c_uint), ("value", c.c_uint * 16)]


class Config(c.Structure):
    """CUlaunchConfig."""

    _fields_ = [(n, c.c_uint) for n in ("gx", "gy", "gz", "bx", "by", "bz", "shared")] + [
        ("stream", c.c_void_p),
        ("attributes", c.POINTER(Attribute)),
        ("count", c.c_uint),
    ]


# CUtensorMapDataType and CUtensorMapSwizzle.
MAP_TYPES = {
    "u8": 0, "s8": 0, "u16": 1, "s16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9,
}  # fmt: skip
SWIZZLES = ["none", "32B", "64B", "128B"]


def call(function, *args):
    code = getattr(cuda, function)(*args)
    if code:
        text = c.c_char_p()
        cuda.cuGetErrorName(code, c.byref(text))
        raise RuntimeError(f"{function}: {text.value.decode() if text.value else code}")


def number(value, kind):
    """A TOML value as the bytes of a type."""
    if isinstance(value, str) and value.startswith("0x"):
        return np.array(int(value, 16), f"u{np.dtype(TYPES[kind]).itemsize}").view(TYPES[kind])
    if kind == "bf16" and isinstance(value, float):
        return np.array(np.float32(value).view(np.uint32) >> 16, "u2")
    if isinstance(value, int) and TYPES[kind][0] in "iu":
        value &= (1 << 8 * np.dtype(TYPES[kind]).itemsize) - 1
        return np.array(value, f"u{np.dtype(TYPES[kind]).itemsize}").view(TYPES[kind])
    return np.array(float(value) if isinstance(value, str) else value, TYPES[kind])


def content(arg, folder):
    """The host copy of a buffer."""
    kind = arg.get("type")
    if "npy" in arg:
        return np.load(folder / arg["npy"]).reshape(-1)
    if "array" in arg:
        return np.array([number(v, kind) for v in arg["array"]], TYPES[kind])
    if "fill" in arg:
        return np.full(arg["len"], number(arg["fill"], kind))
    if "iota" in arg:
        return (arg["iota"] + np.arange(arg["len"])).astype(TYPES[kind])
    if "uninit" in arg:
        return np.full(arg["len"] * np.dtype(TYPES[kind]).itemsize, 0xA5, np.uint8).view(TYPES[kind])
    return np.random.default_rng(0).uniform(*arg["random"], arg["len"]).astype(TYPES[kind])


def struct(fields):
    data = b""
    for field in fields:
        raw = number(field["value"], field["type"]).tobytes()
        data += bytes(-len(data) % len(raw)) + raw
    return data + bytes(-len(data) % max(np.dtype(TYPES[f["type"]]).itemsize for f in fields))


def shape(arg, folder):
    return list(np.load(folder / arg["npy"]).shape) if "npy" in arg else [arg.get("len") or len(arg["array"])]


def tensor_map(arg, over, address, folder):
    """The 128 bytes of a map over the buffer of argument `over`, at a multiple of 64. Lists go by dimension, slowest first."""
    kind = over.get("type") or {v: k for k, v in TYPES.items() if k != "bf16"}[np.load(folder / over["npy"]).dtype.str[1:]]
    sizes, size = arg.get("sizes") or shape(over, folder), np.dtype(TYPES[kind]).itemsize
    dense = [size * int(np.prod(sizes[i + 1 :])) for i in range(len(sizes) - 1)]
    longs = [(c.c_uint64 * 5)(*v[::-1]) for v in (sizes, arg.get("strides", dense))]
    words = [(c.c_uint32 * 5)(*v[::-1]) for v in (arg["box"], arg.get("steps", [1] * len(sizes)))]
    room = c.create_string_buffer(192)
    skip = -c.addressof(room) % 64
    into = (c.c_char * 128).from_buffer(room, skip)
    call("cuTensorMapEncodeTiled", into, MAP_TYPES[kind], len(sizes), address, *longs, *words, 0,
         SWIZZLES.index(arg.get("swizzle", "none")), 0, int(arg.get("oob") == "nan"))  # fmt: skip
    return into


def scalar(arg, declared):
    kind = arg.get("type") or declared.replace("b8", "u8").replace("b16", "s16").replace("b32", "s32").replace("b64", "s64")
    if isinstance(arg["value"], float) and "type" not in arg and kind[0] not in "f":
        kind = {4: "f32", 8: "f64"}[np.dtype(TYPES[kind]).itemsize]
    return number(arg["value"], kind).tobytes()


def declared_types(ptx, kernel):
    """Type of each parameter, and for arrays how many elements."""
    header = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\((.*?)\)", ptx, flags=re.S)
    return re.findall(r"\.param(?:\s+\.align\s+\d+)?\s+\.(\w+)[^,\[]*(?:\[(\d+)\])?", header[1] if header else "")


def differing(got, want, arg):
    if arg.get("type") == "bf16":
        got, want = ((v.astype(np.uint32) << 16).view(np.float32) for v in (got, want))
    if got.dtype.kind == "f":
        g, w = got.astype(np.float64), want.astype(np.float64)
        ok = np.isclose(g, w, rtol=arg.get("rtol", 0), atol=arg.get("atol", 0), equal_nan=True)
    else:
        ok = got == want
    if ok.all():
        return None
    first = np.flatnonzero(~ok)[:4]
    return f"{arg['name']}: {(~ok).sum()} of {ok.size} differ, at {first}: got {got[first]}, want {want[first]}"


def run(path):
    """Runs one launch; the buffers that are not as expected."""
    file, folder = tomllib.loads(path.read_text()), path.parent
    ptx = (folder / file["module"]).read_text()
    kernel = file.get("kernel") or re.search(r"\.entry\s+([\w$]+)", ptx)[1]
    context, module, function, device = c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_int()
    call("cuInit", 0)
    call("cuDeviceGet", c.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", c.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", c.byref(module), c.c_char_p(ptx.encode() + b"\0"))
    call("cuModuleGetFunction", c.byref(function), module, kernel.encode())
    shared = file.get("shared", 0)
    if shared > 48 * 1024:
        call("cuFuncSetAttribute", function, 8, shared)
    slots, checks = [], []
    args, declared_all = file.get("arg", []), declared_types(ptx, kernel)
    buffers = {}
    for arg in args:
        if not any(k in arg for k in ("value", "fields", "bytes")) and arg.get("tensor_map", True) is True:
            host, address = content(arg, folder), c.c_uint64()
            call("cuMemAlloc_v2", c.byref(address), c.c_size_t(max(host.nbytes, 1)))
            call("cuMemcpyHtoD_v2", address, host.ctypes.data_as(c.c_void_p), c.c_size_t(host.nbytes))
            buffers[id(arg)] = address
            checks.append((arg, host, address))
    for arg, (declared, size) in zip(args, declared_all):
        if "tensor_map" in arg:
            over = arg if arg["tensor_map"] is True else next(a for a in args if a.get("name") == arg["tensor_map"])
            slots.append(tensor_map(arg, over, buffers[id(over)], folder))
            if not size:
                address = c.c_uint64()
                call("cuMemAlloc_v2", c.byref(address), c.c_size_t(128))
                call("cuMemcpyHtoD_v2", address, slots[-1], c.c_size_t(128))
                slots[-1] = address
        elif "value" in arg:
            slots.append(c.create_string_buffer(scalar(arg, declared)))
        elif "fields" in arg or "bytes" in arg:
            slots.append(c.create_string_buffer(struct(arg["fields"]) if "fields" in arg else bytes.fromhex(arg["bytes"][2:])))
        else:
            slots.append(buffers[id(arg)])
    pointers = (c.c_void_p * len(slots))(*(c.cast(c.byref(s), c.c_void_p) for s in slots))
    dims = [(d if isinstance(d, list) else [d]) for d in (file["grid"], file["block"])]
    sizes = [n for d in dims for n in (d + [1, 1])[:3]]
    cluster = file.get("cluster")
    if cluster is None:
        call("cuLaunchKernel", function, *sizes, shared, None, pointers, None)
    else:
        cluster = ((cluster if isinstance(cluster, list) else [cluster]) + [1, 1])[:3]
        # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        attribute = Attribute(4, (c.c_uint * 16)(*cluster))
        config = Config(*sizes, shared, None, c.pointer(attribute), 1)
        call("cuLaunchKernelEx", c.byref(config), function, pointers, None)
    call("cuCtxSynchronize")
    wrong = []
    for arg, host, address in checks:
        got = np.empty_like(host)
        call("cuMemcpyDtoH_v2", got.ctypes.data_as(c.c_void_p), address, c.c_size_t(got.nbytes))
        if "expect" in arg:
            wrong.append(differing(got, np.load(folder / arg["expect"]).reshape(-1), arg))
    return [w for w in wrong if w]


def main():
    global cuda
    if sys.argv[1] == "--one":
        cuda = c.CDLL("libcuda.so.1")
        wrong = run(pathlib.Path(sys.argv[2]))
        print("\n".join(wrong))
        sys.exit(bool(wrong))
    paths = [p for a in map(pathlib.Path, sys.argv[1:]) for p in (sorted(a.rglob("launch*.toml")) if a.is_dir() else [a])]
    failed = 0
    for path in paths:
        try:
            one = subprocess.run([sys.executable, "-B", __file__, "--one", path], capture_output=True, text=True, timeout=60)
            ok, text = one.returncode == 0, one.stdout.strip() + one.stderr.strip().split("\n")[-1]
        except subprocess.TimeoutExpired:
            ok, text = False, "no end after 60 s"
        failed += not ok
        print("ok  " if ok else "FAIL", path, "" if ok else text, flush=True)
    print(f"{len(paths) - failed} of {len(paths)} as expected")
    sys.exit(failed > 0)


main()
