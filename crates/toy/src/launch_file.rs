//! Toy objects as modules of launch files. A file is one object, and the runtime fills in no argument.

use prlx_driver::{ModuleError, ModuleFormat};
use prlx_isa::InstructionSet;

use crate::TOY;
use crate::reader::Toy;

impl ModuleFormat for Toy {
    fn instruction_set(&self) -> InstructionSet {
        TOY
    }

    fn recognizes(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(b"toy\n")
    }

    fn object(&self, _: &str, bytes: &[u8], _: Option<&str>) -> Result<Vec<u8>, ModuleError> {
        Ok(bytes.to_vec())
    }
}
