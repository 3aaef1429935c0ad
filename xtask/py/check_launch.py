"""Checks that launch files fit the PTX they name: check_launch.py DIR...   (every launch*.toml below each DIR)

A launch file must name an entry of its module, have one [[arg]] for each of its parameters with a fitting type, the
block that `.reqntid` asks for, the shared memory that a Triton module's first line asks for, and files that exist.
Of a launch of AMD's machine code, only the buffers and their files are checked: the tests run it.
"""

import pathlib
import re
import sys
import tomllib

import numpy as np

SIZES = {"u8": 1, "s8": 1, "f16": 2, "bf16": 2, "u16": 2, "s16": 2, "u32": 4, "s32": 4, "f32": 4, "u64": 8, "s64": 8, "f64": 8}
KEYS = {"module", "arch", "kernel", "grid", "block", "shared", "seed", "source", "cluster", "arg"}
ARG_KEYS = {
    "name", "value", "type", "array", "npy", "fill", "iota", "random", "uninit", "len", "out", "expect", "rtol", "atol",
    "bytes", "fields", "tensor_map", "box", "sizes", "strides", "steps", "swizzle", "oob",
}
BUFFERS = ("array", "npy", "fill", "iota", "random", "uninit")
FROM_NUMPY = {"uint16": ("u16", "f16", "bf16"), "float16": ("f16",)}


def entries(text):
    """Every entry of a module: name, parameters as (type, bytes), and its required block."""
    found = {}
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    for match in re.finditer(r"\.entry\s+([\w$%.]+)\s*(?:\((.*?)\))?([^{;]*)\{", text, flags=re.S):
        name, params, directives = match.groups()
        fields = []
        for param in filter(str.strip, (params or "").split(",")):
            m = re.search(r"\.(pred|[usbf]\d+|bf16)\b(?!.*\.(?:[usbf]\d+)\b)[^\[]*(?:\[(\d+)\])?", param, flags=re.S)
            fields.append((m[1], int(m[1].lstrip("usbf") or 0) // 8 * int(m[2] or 1), m[2] is not None))
        needs = re.search(r"\.reqntid\s+([\d,\s]+)", directives)
        found[name] = fields, [int(n) for n in needs[1].split(",")] if needs else None
    return found


def dims(value):
    return [value] if isinstance(value, int) else value


def size_of_fields(fields):
    at = biggest = 0
    for field in fields:
        size = SIZES[field["type"]]
        at = -(-at // size) * size + size
        biggest = max(biggest, size)
    return -(-at // max(biggest, 1)) * max(biggest, 1)


class Check:
    """The complaints about one launch file."""

    def __init__(self, path):
        self.path, self.complaints = path, []
        self.file = tomllib.loads(path.read_text())

    def say(self, text):
        self.complaints.append(f"{self.path}: {text}")

    def run(self):
        for key in set(self.file) - KEYS:
            self.say(f"unknown key `{key}`")
        module = self.path.parent / self.file["module"]
        if module.suffix == ".cu":
            module = module.with_suffix(".ptx")
        if not module.is_file():
            return self.say(f"no {module.name}")
        if module.read_bytes().startswith(b"\x7fELF"):
            return self.buffers()
        text = module.read_text()
        found = entries(text)
        name = self.file.get("kernel") or (list(found)[0] if len(found) == 1 else None)
        if name not in found:
            return self.say(f"kernel `{name}` is not one of {', '.join(found)}")
        params, needs = found[name]
        block = dims(self.file["block"])
        if needs and (block + [1, 1])[:3] != (needs + [1, 1])[:3]:
            self.say(f"block is {block}, .reqntid {needs}")
        self.shared(text)
        args = self.file.get("arg", [])
        if len(args) != len(params):
            return self.say(f"{len(args)} arguments, {len(params)} parameters")
        for i, (arg, param) in enumerate(zip(args, params)):
            self.arg(f"argument {i} ({arg.get('name', '?')})", arg, *param)
        if any("random" in a for a in args) and any("expect" in a for a in args):
            self.say("`random` and `expect` in one file: only the reader knows the numbers")
        if any("expect" in a and not a.get("out") for a in args):
            self.say("`expect` without `out`")

    def buffers(self):
        """Checks the arguments that are buffers, whatever the kernel takes."""
        for i, arg in enumerate(self.file.get("arg", [])):
            for content in (b for b in BUFFERS if b in arg):
                self.buffer(f"argument {i} ({arg.get('name', '?')})", arg, content)

    def shared(self, text):
        first = text.split("\n", 1)[0].split()
        if "corpus:" in first:
            shared = int(first[first.index("shared") + 1])
            if self.file.get("shared", 0) != shared:
                self.say(f"shared is {self.file.get('shared', 0)}, the module asks for {shared}")

    def arg(self, where, arg, kind, size, is_struct):
        for key in set(arg) - ARG_KEYS:
            self.say(f"{where}: unknown key `{key}`")
        if "tensor_map" in arg:
            self.tensor_map(where, arg, size)
            if arg["tensor_map"] is not True:
                return
        contents = [b for b in BUFFERS if b in arg]
        others = [k for k in ("value", "bytes", "fields") if k in arg]
        if len(contents) + len(others) != 1:
            return self.say(f"{where}: needs one content, has {contents + others}")
        if contents:
            if "tensor_map" not in arg and (size != 8 or kind[0] not in "bu"):
                self.say(f"{where}: a buffer for a parameter of type {kind}")
            self.buffer(where, arg, contents[0])
        elif "value" in arg:
            self.scalar(where, arg, kind, size, is_struct)
        else:
            given = size_of_fields(arg["fields"]) if "fields" in arg else (len(arg["bytes"]) - 2) // 2
            if given != size:
                self.say(f"{where}: {given} bytes for {size}")

    def tensor_map(self, where, arg, size):
        if size not in (8, 128):
            self.say(f"{where}: a tensor map for {size} bytes")
        over = arg["tensor_map"]
        if over is not True and over not in [a.get("name") for a in self.file["arg"] if a is not arg]:
            self.say(f"{where}: no argument {over}")
        ranks = {len(arg[k]) for k in ("box", "sizes", "steps") if k in arg} | {len(arg[k]) + 1 for k in ("strides",) if k in arg}
        if "box" not in arg or len(ranks) != 1:
            self.say(f"{where}: a tensor of {sorted(ranks)} dimensions")

    def scalar(self, where, arg, kind, size, is_struct):
        if is_struct:
            self.say(f"{where}: a scalar for a struct of {size} bytes")
        if "type" in arg and SIZES.get(arg["type"]) != size:
            self.say(f"{where}: {arg['type']} for {kind}")
        is_float = (arg.get("type") or kind)[0] in "f"
        if not is_float and isinstance(arg["value"], float):
            self.say(f"{where}: a float for {kind}; say its type")
        if not is_float and kind[0] == "b" and "type" not in arg and isinstance(arg["value"], float):
            self.say(f"{where}: {kind} could be anything")

    def buffer(self, where, arg, content):
        length, kind = arg.get("len"), arg.get("type")
        if content == "array":
            length = len(arg["array"])
        if content == "npy":
            kind, length = self.npy(where, arg["npy"], kind)
        if length is None:
            return self.say(f"{where}: no len")
        if kind not in SIZES:
            self.say(f"{where}: type {kind}")
        if "expect" in arg:
            want, n = self.npy(where, arg["expect"], kind)
            if kind != want or n != length:
                self.say(f"{where}: {length} {kind}, expected are {n} {want}")

    def npy(self, where, name, kind):
        """A file's element type and number of elements."""
        path = self.path.parent / name
        if not path.is_file():
            self.say(f"{where}: no {name}")
            return kind, None
        array = np.load(path)
        name = array.dtype.name.replace("uint", "u").replace("int", "s").replace("float", "f")
        if kind in FROM_NUMPY.get(array.dtype.name, ()):
            name = kind
        return name, array.size


def main():
    complaints, files = [], 0
    for folder in map(pathlib.Path, sys.argv[1:]):
        launches = sorted(folder.rglob("*.toml"))
        launches = [p for p in launches if "module" in tomllib.loads(p.read_text())]
        if not launches:
            complaints.append(f"{folder}: no launch file")
        for path in launches:
            check = Check(path)
            check.run()
            complaints += check.complaints
            files += 1
    print(f"{files} launch files")
    if complaints:
        print("\n".join(complaints))
        sys.exit(1)


main()
