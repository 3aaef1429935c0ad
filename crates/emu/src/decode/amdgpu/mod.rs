//! Decoding of AMD's machine code.

mod decoder;
