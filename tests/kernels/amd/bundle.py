"""Writes an offload bundle: bundle.py OUT METHOD TARGET=OBJECT…, where METHOD is zlib, zstd or none."""

import struct
import subprocess
import sys
import zlib

out, method, *parts = sys.argv[1:]
entries = [("host-x86_64-unknown-linux-gnu-", b"")]
for part in parts:
    target, path = part.split("=")
    entries.append((f"hipv4-amdgcn-amd-amdhsa--{target}", open(path, "rb").read()))

table = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
end = len(table) + sum(24 + len(name) for name, _ in entries)
body = b""
for name, code in entries:
    start = (end + len(body) + 7) // 8 * 8
    body = body.ljust(start - end, b"\0") + code
    table += struct.pack("<QQQ", start, len(code), len(name)) + name.encode()
whole = table + body

if method == "zlib":
    packed = zlib.compress(whole, 9)
    # Version 2: the size of the file, that of the bundle, and a hash that only caches read.
    whole = b"CCOB" + struct.pack("<HHIIQ", 2, 0, 24 + len(packed), len(whole), 0) + packed
elif method == "zstd":
    packed = subprocess.run(["zstd", "-19", "-c", "-q"], input=whole, stdout=subprocess.PIPE, check=True).stdout
    whole = b"CCOB" + struct.pack("<HHQQQ", 3, 1, 32 + len(packed), len(whole), 0) + packed
open(out, "wb").write(whole)
