"""Compares approximate operations of a device with the CPU device: approx.py [options]

For each operation, over a strided part of all 2^32 operands, it prints how many results differ, and the largest distance
in units in the last place (binary32 values between the two) and relative to the result, each with its operand. `--write
FOLDER` writes a calibration file for each (docs/internals/calibration.md). It needs `prlx` and Python.

With `--device cpu` it compares the CPU device with itself: nothing differs.
"""

import argparse
import array
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OPS = [op + ftz for op in ("ex2", "lg2", "sin", "cos", "rcp", "sqrt", "rsqrt") for ftz in ("", "_ftz")] + ["tanh"]
BLOCK = 256

LAUNCH = """module = "{module}"
kernel = "{kernel}"
grid   = {grid}
block  = {block}

[[arg]]
name  = "first"
type  = "u32"
value = {first}

[[arg]]
name  = "stride"
type  = "u32"
value = {stride}

[[arg]]
name = "out"
type = "u32"
fill = 0
len  = {count}
out  = "{out}"
"""


def results(options, folder, kernel, device):
    """The results as bits, in the order of the operands."""
    out = folder / f"{kernel}.{device.partition(':')[0]}.npy"
    launch = folder / f"{kernel}.toml"
    module = (HERE / "approx.ptx").as_posix()
    text = LAUNCH.format(
        module=module, kernel=kernel, grid=options.count // BLOCK, block=BLOCK, first=options.first,
        stride=options.stride, count=options.count, out=out.name,
    )
    launch.write_text(text)
    done = subprocess.run(
        [options.prlx, "run", str(launch), "--device", device, "--quiet"], capture_output=True, text=True, cwd=folder
    )
    if done.returncode != 0:
        sys.exit(f"{kernel} on {device}: {done.stderr.strip() or done.stdout.strip()}")
    data = out.read_bytes()
    values = array.array("I")
    values.frombytes(data[len(data) - 4 * options.count :])
    if sys.byteorder == "big":
        values.byteswap()
    return values


def place(bits):
    """A binary32 in the order of values: those below 0 go the other way."""
    return -1 - (bits & 0x7FFFFFFF) if bits >> 31 else bits


def number(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def is_nan(bits):
    return bits & 0x7FFFFFFF > 0x7F800000


def compare(options, kernel, ours, theirs):
    """A row of the table, and the lines of a calibration file."""
    differ, odd, most, relative = 0, 0, (0, 0), (0.0, 0)
    lines = []
    for i in range(options.count) if ours != theirs else ():
        a, b = ours[i], theirs[i]
        if a == b or is_nan(a) and is_nan(b):
            continue
        operand = (options.first + i * options.stride) & 0xFFFFFFFF
        differ += 1
        special = is_nan(a) or is_nan(b) or (a & b & 0x7F800000) == 0x7F800000
        apart = place(b) - place(a)
        lines.append((operand, f"={b:08x}" if special else f"{apart:+d}"))
        if special or (a & 0x7FFFFFFF) == 0x7F800000 or (b & 0x7FFFFFFF) == 0x7F800000:
            odd += 1
            continue
        most = max(most, (abs(apart), operand))
        want = number(a)
        if want:
            relative = max(relative, (abs((number(b) - want) / want), operand))
    row = f"{kernel:10} {differ:10} {odd:8} {most[0]:12} {most[1]:08x} {relative[0]:12.3e} {relative[1]:08x}"
    return row, sorted(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prlx", default=str(HERE.parent / "prlx"), help="the binary")
    parser.add_argument("--device", default="cuda", help="what is compared with the CPU device")
    parser.add_argument("--count", type=int, default=1 << 20, help="operands of an operation")
    parser.add_argument("--stride", type=int, default=4099, help="bits from one operand to the next")
    parser.add_argument("--first", type=lambda s: int(s, 0), default=0, help="bits of the first operand")
    parser.add_argument("--write", type=pathlib.Path, help="a folder for calibration files")
    parser.add_argument("--ops", nargs="*", default=OPS, choices=OPS, help="which operations")
    options = parser.parse_args()
    options.count = max(options.count // BLOCK, 1) * BLOCK
    print(f"{options.count} operands from {options.first:08x} on, {options.stride} apart; {options.device} against cpu")
    print(f"{'':10} {'differ':>10} {'special':>8} {'most ulps':>12} {'at':8} {'relative':>12} at")
    with tempfile.TemporaryDirectory(prefix="prlx-approx-") as name:
        folder = pathlib.Path(name)
        for kernel in options.ops:
            ours = results(options, folder, kernel, "cpu")
            theirs = results(options, folder, kernel, options.device)
            row, lines = compare(options, kernel, ours, theirs)
            print(row, flush=True)
            if options.write:
                options.write.mkdir(parents=True, exist_ok=True)
                op = kernel.replace("_ftz", "") + ".approx" + (".ftz" if kernel.endswith("_ftz") else "") + ".f32"
                text = f"calibration 1 {op}\n# {options.count} operands, {options.stride} apart, on {options.device}\n"
                text += "".join(f"{operand:08x} {operand:08x} {change}\n" for operand, change in lines)
                (options.write / f"{op}.cal").write_text(text)


if __name__ == "__main__":
    main()
