//! The keys of launch files. `docs/launch-file.md` explains them.

pub(super) const KEYS: &[&str] =
    &["module", "kernel", "grid", "block", "cluster", "shared", "seed", "source", "arg"];

pub(super) const ARG_KEYS: &[&str] = &[
    "name",
    "type",
    "value",
    "bytes",
    "fields",
    "array",
    "npy",
    "fill",
    "iota",
    "random",
    "uninit",
    "len",
    "out",
    "expect",
    "rtol",
    "atol",
    "tensor_map",
    "box",
    "sizes",
    "strides",
    "steps",
    "swizzle",
    "oob",
];

/// What only a tensor map has.
pub(super) const MAP_KEYS: &[&str] = &["box", "sizes", "strides", "steps", "swizzle", "oob"];

/// Ways to say what an argument is: exactly one of them.
pub(super) const SCALARS: &[&str] = &["value", "bytes", "fields"];

pub(super) const CONTENTS: &[&str] = &["array", "npy", "fill", "iota", "random", "uninit"];
