//! How an image is stored in its file.

/// How an image is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Stored without compression.
    None,
    /// One LZ4 block.
    Lz4,
    /// One Zstandard frame.
    Zstd,
}
