//! How a file of PRLX 0.x stores its events.

use prlx_legacy::v1::Flags;

/// How a file of PRLX 0.x stores its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// 16 bytes an event.
    Plain,
    /// 8 bytes an event, without values.
    Compact,
    /// The plain file as one zstd frame.
    Packed,
}

impl Packing {
    /// The flags of a file with `old` flags in this packing.
    pub(super) fn flags(self, old: Flags) -> Flags {
        let kept = old.0 & !(Flags::COMPACT | Flags::PACKED);
        Flags(match self {
            Packing::Packed => kept | Flags::PACKED,
            Packing::Compact => kept | Flags::COMPACT,
            Packing::Plain => kept,
        })
    }
}
