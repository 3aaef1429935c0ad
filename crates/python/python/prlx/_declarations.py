"""Parameters of kernels, as CUDA source text declares them: their names, and what kind of value each takes.

Compilers drop the names, and declare pointers and integers of 8 bytes alike.

Limitations: the text is not preprocessed. A parameter list that macros make up is not understood, and neither
is a type that a ``typedef`` names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Words of integer types.
_INTEGERS = {"bool", "char", "int", "long", "short", "signed", "unsigned", "size_t", "ssize_t", "ptrdiff_t"}
_INTEGERS |= {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
# Words that say nothing about the kind of a value.
_QUALIFIERS = {"const", "volatile", "__grid_constant__", "std"}


@dataclass
class Declared:
    """A parameter: its name, and its type as it is written."""

    name: str
    type: str

    @property
    def is_pointer(self) -> bool:
        """Whether the type is a pointer or an array."""
        return self.type.endswith(("*", "]"))

    @property
    def is_integer(self) -> bool:
        """Whether the type is an integer of C."""
        words = set(re.findall(r"\w+", self.type)) - _QUALIFIERS
        return bool(words) and words <= _INTEGERS and re.search(r"[*&\[(<]", self.type) is None


def declared(source: str, kernel: str, count: int) -> list[Declared] | None:
    """The ``count`` parameters of a kernel in CUDA source text; ``None`` if they are not understood, or if
    several kernels of this name have other types. ``kernel`` is its name in the source or in the module."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    head = re.compile(rf"__global__[^;{{}}]*?\b{re.escape(source_name(kernel))}\s*\(")
    found: list[list[Declared]] = []
    for match in head.finditer(text):
        parameters = [_parameter(part) for part in _split(text[match.end() :])]
        known = [p for p in parameters if p is not None]
        if len(known) == len(parameters) == count:
            found.append(known)
    types = [[p.type for p in known] for known in found]
    # A definition follows its declarations, whose names may be others.
    return found[-1] if found and all(t == types[0] for t in types) else None


def templates(source: str) -> list[str]:
    """The names of the kernels in CUDA source text that are templates."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|__launch_bounds__\s*\([^()]*\)", " ", source, flags=re.S)
    # `template <>` begins a specialisation, and `template` alone an instance.
    head = r"\btemplate\s*<\s*[^>\s][^;{}]*?\b__global__\b[^;{}(]*?\b(\w+)\s*\("
    return list(dict.fromkeys(re.findall(head, text)))


def source_name(kernel: str) -> str:
    """The name of a kernel in the source: that of a mangled one is a part of it."""
    mangled = re.match(r"_Z(\d+)", kernel)
    return kernel[mangled.end() :][: int(mangled[1])] if mangled else kernel


def _split(text: str) -> list[str]:
    """The parts of a parameter list, which begins ``text``; none if it has no end."""
    depth, parts = 0, [""]
    for char in text:
        if char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        if depth < 0:
            parts = [part.strip() for part in parts]
            return [] if parts in ([""], ["void"]) else parts
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return []


def _parameter(text: str) -> Declared | None:
    """A parameter: type, name, and maybe the sizes of an array."""
    found = re.fullmatch(r"(.*?)(\w+)\s*((?:\[[^\]]*\]\s*)*)(?:=.*)?", text, re.S)
    if found is None or not found[1].strip():
        return None
    if found[2] in _INTEGERS:
        return None  # A type without a name.
    # A pointer that is constant itself is a pointer.
    type = re.sub(r"\*(\s|const\b|volatile\b|__restrict(__)?\b)+$", "*", " ".join(found[1].split()))
    return Declared(found[2], f"{type} {found[3].strip()}".strip())
