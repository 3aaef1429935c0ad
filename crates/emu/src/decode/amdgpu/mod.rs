//! Decoding of AMD's machine code.

pub mod alone;
mod alu;
mod decoder;
mod float_mode;

pub use float_mode::FloatMode;
