"""Makes the inputs that launch files here can't: inputs.py [FOLDER]. Seeded, so always the same bytes."""

import pathlib
import random
import struct
import sys
from array import array


def save(path, numbers):
    """Writes 32-bit integers as a .npy file."""
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + numbers.tobytes())


def starts(rows, most, seed):
    """Where rows begin that have up to `most` entries each, a few of them many."""
    draw, at, out = random.Random(seed), 0, array("i", [0])
    for _ in range(rows):
        n = draw.randrange(most // 2)
        at += n + most // 2 if draw.randrange(8) == 0 else n
        out.append(at)
    return out


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
save(folder / "spmv_start.npy", starts(1 << 20, 32, 1))
save(folder / "bfs_start.npy", starts(1 << 21, 16, 2))
# Half of the vertices are the frontier, a tenth of the others were seen.
draw = random.Random(3)
seen = array("i", [2] * (1 << 20)) + array("i", [2 if draw.randrange(10) == 0 else -1 for _ in range(1 << 20)])
save(folder / "bfs_level.npy", seen)
