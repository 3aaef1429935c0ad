//! Loads the files that a launch file names.

use crate::error::Error;
use crate::launch_file::table::Value;

/// A function that returns the content of a file by its name in the launch file.
pub type Files<'a> = dyn Fn(&str) -> Result<Vec<u8>, Error> + 'a;

/// Loads the file `name`. Errors point to `value`.
pub(super) fn load(files: &Files<'_>, value: Value<'_>, name: &str) -> Result<Vec<u8>, Error> {
    files(name).map_err(|e| Error { message: value.error(&e.message).message, ..e })
}
