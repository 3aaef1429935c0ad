//! How an image is stored in its file.

/// How an image is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// As it is.
    None,
    /// One LZ4 block.
    Lz4,
    /// One Zstandard frame.
    Zstd,
}
