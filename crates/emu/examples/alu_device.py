"""Runs the kernels that alu_device wrote: python3 alu_device.py PROGRAM DIR. Needs a GPU, and nothing but its driver."""

import ctypes
import os
import subprocess
import sys

N = 32768
program, where = sys.argv[1:3]
subprocess.run([program, "write", where], check=True)
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code != 0:
        sys.exit(f"{name}: error {code}")


context, device = ctypes.c_void_p(), ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
image = os.path.join(where, "ops.cubin")
if not os.path.exists(image):
    image = os.path.join(where, "ops.ptx")
module = ctypes.c_void_p()
call("cuModuleLoad", ctypes.byref(module), image.encode())
values = open(os.path.join(where, "in.bin"), "rb").read()
ops = open(os.path.join(where, "ops.txt")).read().splitlines()
source, sink = ctypes.c_uint64(), ctypes.c_uint64()
call("cuMemAlloc_v2", ctypes.byref(source), ctypes.c_size_t(len(values)))
call("cuMemAlloc_v2", ctypes.byref(sink), ctypes.c_size_t(2 * N * 8))
call("cuMemcpyHtoD_v2", source, values, ctypes.c_size_t(len(values)))
with open(os.path.join(where, "out.bin"), "wb") as out:
    for i, line in enumerate(ops):
        size = int(line.split()[0]) * N * 8
        function = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(function), module, f"op{i}".encode())
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(source), ctypes.addressof(sink))
        call("cuLaunchKernel", function, N // 256, 1, 1, 256, 1, 1, 0, None, arguments, None)
        call("cuCtxSynchronize")
        buffer = ctypes.create_string_buffer(size)
        call("cuMemcpyDtoH_v2", buffer, sink, ctypes.c_size_t(size))
        out.write(buffer.raw)
sys.exit(subprocess.run([program, "compare", where]).returncode)
