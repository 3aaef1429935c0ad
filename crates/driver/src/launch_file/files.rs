//! The files that a launch file names.

use crate::error::Error;
use crate::launch_file::table::Value;

/// Gives the content of a file that a launch file names.
pub type Files<'a> = dyn Fn(&str) -> Result<Vec<u8>, Error> + 'a;

/// A file that `value` names.
pub(super) fn load(files: &Files<'_>, value: Value<'_>, name: &str) -> Result<Vec<u8>, Error> {
    files(name).map_err(|e| Error { message: value.error(&e.message).message, ..e })
}
