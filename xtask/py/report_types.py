"""Writes the types of a report's attributes from its JSON schema: crates/python/python/prlx/schema.py.

usage: report_types.py [SCHEMA]

SCHEMA is by default docs/report.schema.json. Prints the module. A test of the package compares it with the
file, so that the types follow the schema.
"""

import json
import keyword
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).parents[2]
WIDTH = 110
HEADER = '''"""Types of a report's attributes, as :class:`prlx.Report` has them. `docs/report.md` describes the
keys.

Written by `xtask/py/report_types.py` from `docs/report.schema.json`, which follows the types of the library.

The objects of a report have these attributes, but no classes of their own: the types are protocols. A key
that is a word of Python ends with ``_`` here.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

'''
# What reports of launches have besides: `prlx_present::report::json`.
PRINTED = {
    "description": "The text that a kernel printed.",
    "properties": {
        "dropped_calls": {"description": "Calls of `printf` after the limit.", "type": "integer"},
        "text": {"description": "The text.", "type": "string"},
    },
}
MORE = {
    "checks": {
        "description": "By side: what the checks found. Absent if they found nothing on either side.",
        "items": {},
        "type": "array",
    },
    "printed": {
        "description": "By side: what the kernels printed. Absent for recordings.",
        "items": {"$ref": "#/$defs/Printed"},
        "type": "array",
    },
}
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def type_of(schema):
    """The type of a value that a schema describes."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "anyOf" in schema:
        return " | ".join(type_of(part) for part in schema["anyOf"])
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not kinds:
        return "Any"
    item = {"array": f"list[{type_of(schema.get('items', {}))}]"}
    return " | ".join({**PLAIN, **item}[kind] for kind in kinds)


def wrapped(first, rest, text):
    """A description as lines that begin with ``first``, and after the first line with ``rest``."""
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=rest)


def protocol(name, schema):
    """The class of an object."""
    yield from ("", "", f"class {name}(Protocol):")
    yield from wrapped("    ", "    ", f'"""{schema["description"]}"""')
    for key, value in schema["properties"].items():
        yield from ("", f"    {key}{'_' * keyword.iskeyword(key)}: {type_of(value)}")
        if "description" in value:
            # Editors show such a text with the attribute.
            yield from wrapped("    ", "    ", f'"""{value["description"]}"""')


def words(name, schema):
    """The alias of a set of words, with the meaning of each."""
    yield ""
    yield f"# {schema['description']}"
    for word in schema["oneOf"]:
        yield from wrapped("# - ", "#   ", f"{word['const']}: {word['description']}")
    values = ", ".join(json.dumps(word["const"]) for word in schema["oneOf"])
    yield from wrapped("", "    ", f"{name} = Literal[{values}]")


def module(schema):
    """The text of the module."""
    definitions = {**schema["$defs"], "Printed": PRINTED}
    properties = dict(sorted({**schema["properties"], **MORE}.items()))
    lines = []
    for name, part in sorted(definitions.items()):
        if "oneOf" in part:
            lines += words(name, part)
    for name, part in sorted(definitions.items()):
        if "oneOf" not in part:
            lines += protocol(name, part)
    whole = {"description": "A report (`report.data` with attributes).", "properties": properties}
    lines += protocol("Report", whole)
    return HEADER + "\n".join(lines[1:]) + "\n"


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/report.schema.json"
    print(module(json.loads(path.read_text())), end="")
