//! The text that the threads of a launch print.

use serde::{Serialize, Serializer};

/// What `printf` calls have printed, in the order in which the threads ran.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Printed {
    /// The text of the first calls: the bytes that the kernel formatted, escape sequences included. JSON has
    /// U+FFFD for bytes that are not UTF-8.
    #[serde(serialize_with = "as_utf8")]
    pub text: Vec<u8>,
    /// Number of later calls whose text is lost, because the text reached the device's limit.
    #[serde(rename = "dropped_calls")]
    pub dropped: u64,
}

fn as_utf8<S: Serializer>(text: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&String::from_utf8_lossy(text))
}
