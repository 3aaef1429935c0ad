//! The keys of launch files, explained in `docs/launch-file.md`.

pub(super) const KEYS: &[&str] = &[
    "module", "arch", "kernel", "grid", "block", "cluster", "shared", "seed", "source", "arg", "buffer",
    "variable", "before", "defines", "include", "flags",
];

/// Keys that say how to compile a `.cu` or `.hip` module; `arch` does so as well.
pub(super) const COMPILER_KEYS: &[&str] = &["defines", "include", "flags"];

/// Keys of a launch that runs before the one that the file describes.
pub(super) const BEFORE_KEYS: &[&str] = &["kernel", "grid", "block", "cluster", "shared", "args"];

pub(super) const ARG_KEYS: &[&str] = &[
    "name",
    "type",
    "value",
    "bytes",
    "fields",
    "pointers",
    "array",
    "npy",
    "fill",
    "iota",
    "random",
    "uninit",
    "len",
    "shape",
    "out",
    "expect",
    "rtol",
    "atol",
    "allocation",
    "offset",
    "tensor_map",
    "box",
    "sizes",
    "strides",
    "steps",
    "swizzle",
    "oob",
];

/// Keys that only a buffer has.
pub(super) const BUFFER_KEYS: &[&str] =
    &["len", "shape", "out", "expect", "rtol", "atol", "allocation", "offset"];

/// Keys that only a tensor map has.
pub(super) const MAP_KEYS: &[&str] = &["box", "sizes", "strides", "steps", "swizzle", "oob"];

/// Keys of which exactly one defines the argument, for parameters that are not buffers.
pub(super) const SCALARS: &[&str] = &["value", "bytes", "fields"];

pub(super) const CONTENTS: &[&str] = &["array", "npy", "fill", "iota", "random", "uninit"];
