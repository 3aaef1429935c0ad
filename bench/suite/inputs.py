"""Makes the inputs that launch files here can't: inputs.py [FOLDER]. Seeded, so always the same bytes."""

import pathlib
import random
import struct
import sys
from array import array

TYPES = {"i": "<i4", "I": "<u4", "f": "<f4"}


def save(name, numbers):
    """Writes an array of 32-bit elements as a .npy file."""
    header = f"{{'descr': '{TYPES[numbers.typecode]}', 'fortran_order': False, 'shape': ({len(numbers)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    (folder / name).write_bytes(head + numbers.tobytes())


def starts(rows, scale, power, most, seed):
    """Where the rows of a sparse matrix begin, whose sizes follow a power law."""
    draw, at, out = random.Random(seed), 0, array("i", [0])
    for _ in range(rows):
        at += min(int(scale * (draw.paretovariate(power) - 0.5)), most)
        out.append(at)
    return out


def mandelbrot():
    """The points of a picture of 2048 by 2048, row after row."""
    size = 2048
    line = [-2.0 + 2.5 * (x + 0.5) / size for x in range(size)]
    points = array("f")
    for y in range(size):
        imaginary = -1.25 + 2.5 * (y + 0.5) / size
        points.extend(part for real in line for part in (real, imaginary))
    save("mandelbrot_points.npy", points)


def bsearch():
    draw, at, table = random.Random(2), 0, array("I")
    for _ in range(1 << 20):
        at += 1 + int(draw.expovariate(1 / 4000))
        table.append(at & 0xFFFFFFFF)
    save("bsearch_table.npy", table)


def hash_join():
    """A table of 2^20 slots, 60 % of them taken by keys below 2^21."""
    bits, empty = 20, 0xFFFFFFFF
    size = 1 << bits
    key, value = array("I", [empty]) * size, array("I", [0]) * size
    for n, k in enumerate(random.Random(3).sample(range(1 << 21), size * 6 // 10)):
        at = (k * 2654435761 & empty) >> 32 - bits
        while key[at] != empty:
            at = (at + 1) % size
        key[at], value[at] = k, n
    save("hash_join_key.npy", key)
    save("hash_join_value.npy", value)


def ray_sphere():
    draw, spheres = random.Random(4), array("f")
    for _ in range(64):
        spheres.extend([draw.uniform(-8, 8), draw.uniform(-8, 8), draw.uniform(-8, 8), draw.uniform(0.3, 2)])
    save("ray_sphere_spheres.npy", spheres)


def bfs():
    """A graph whose edges mostly lead to few vertices; a quarter of the vertices is the frontier."""
    n, draw = 1 << 20, random.Random(5)
    start = starts(n, 4, 1.5, 2000, 6)
    save("bfs_start.npy", start)
    edges = array("i")
    for _ in range(start[-1]):
        r = draw.random()
        edges.append(int(n * r * r))
    save("bfs_edges.npy", edges)
    frontier = array("i", sorted(draw.sample(range(n), n // 4)))
    level = array("i", (1 if draw.random() < 0.1 else -1 for _ in range(n)))
    for vertex in frontier:
        level[vertex] = 2
    save("bfs_level.npy", level)
    save("bfs_frontier.npy", frontier)


folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
mandelbrot()
save("spmv_start.npy", starts(1 << 20, 5, 1.5, 1000, 1))
bsearch()
hash_join()
ray_sphere()
bfs()
