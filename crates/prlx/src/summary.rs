//! What the recording of a program holds, as far as a message tells it.

use std::path::PathBuf;

use prlx_analyze::survey::Survey;
use prlx_trace::Level;

/// What a program's recording holds, for a message to the user.
#[derive(Debug)]
pub struct SessionSummary {
    /// The recording's folder.
    pub folder: PathBuf,
    /// The recorder's level.
    pub level: Level,
    /// At level `probe`: whether the script records markers.
    pub markers: bool,
    /// Processes that used the driver.
    pub processes: u64,
    /// Launches of these processes.
    pub launches: u64,
    /// The launches that were recorded.
    pub recorded: u64,
    /// Launch files of the launches that were captured.
    pub captured: Vec<PathBuf>,
    /// The launches by kernel.
    pub survey: Survey,
}
