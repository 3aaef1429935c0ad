//! Tests of recordings: written, read, and refused when damaged.

mod file;
mod made;
