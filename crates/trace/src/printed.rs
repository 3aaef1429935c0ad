//! The text that the threads of a launch print.

/// What `printf` calls have printed, in the order in which the threads ran.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Printed {
    /// The text of the first calls: the bytes that the kernel formatted, escape sequences included.
    pub text: Vec<u8>,
    /// Number of later calls whose text is lost, because the text reached the device's limit.
    pub dropped: u64,
}
