"""The tensors of PyTorch inside of a value."""

from __future__ import annotations

from typing import Any


def leaves(value: Any) -> list[Any]:
    """The tensors in a value, in order; lists, tuples, dictionaries and data classes are followed."""
    if hasattr(value, "data_ptr"):
        return [value]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    if hasattr(value, "__dataclass_fields__"):
        return [leaf for name in value.__dataclass_fields__ for leaf in leaves(getattr(value, name))]
    return []
