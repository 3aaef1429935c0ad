//! The exceptions of the package, and how errors of the library become them.

use prlx::Cancelled;
use prlx_driver::ErrorKind;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;

create_exception!(prlx, Error, PyException, "An error of PRLX. The message says where and what to do.");
create_exception!(prlx, ModuleError, Error, "The code of a kernel is not understood.");
create_exception!(prlx, UnsupportedError, Error, "The CPU device cannot run something that a kernel uses.");
create_exception!(prlx, LaunchError, Error, "The shape or the arguments of a launch do not fit its kernel.");
create_exception!(prlx, KernelFault, Error, "A kernel was stopped by an access that is not allowed.");
create_exception!(prlx, KernelStuck, Error, "A kernel did not end: it is deadlocked, or ran into a limit.");
create_exception!(prlx, MemoryLimitError, Error, "A launch needs more memory than the limit allows.");
create_exception!(prlx, FileError, Error, "A file is missing, or is not what it should be.");

/// Adds the exceptions to the module.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("Error", py.get_type::<Error>())?;
    m.add("ModuleError", py.get_type::<ModuleError>())?;
    m.add("UnsupportedError", py.get_type::<UnsupportedError>())?;
    m.add("LaunchError", py.get_type::<LaunchError>())?;
    m.add("KernelFault", py.get_type::<KernelFault>())?;
    m.add("KernelStuck", py.get_type::<KernelStuck>())?;
    m.add("MemoryLimitError", py.get_type::<MemoryLimitError>())?;
    m.add("FileError", py.get_type::<FileError>())
}

/// An error of a driver as an exception: its message, and its advice on a line of its own.
pub fn of_driver(e: &prlx_driver::Error) -> PyErr {
    let text = match &e.help {
        Some(help) => format!("{}\nhelp: {help}", e.message),
        None => e.message.clone(),
    };
    of_kind(e.kind, text)
}

/// Advice of the command line with the names that options have in Python.
pub fn in_python(text: &str) -> String {
    let options = ["max-steps", "max-memory", "max-printed"];
    options.iter().fold(text.to_owned(), |text, option| {
        text.replace(&format!("--{option}"), &format!("`{}`", option.replace('-', "_")))
    })
}

fn of_kind(kind: ErrorKind, text: String) -> PyErr {
    let text = in_python(&text);
    match kind {
        ErrorKind::Module => ModuleError::new_err(text),
        ErrorKind::Unsupported => UnsupportedError::new_err(text),
        ErrorKind::Launch | ErrorKind::NotFound => LaunchError::new_err(text),
        ErrorKind::Fault => KernelFault::new_err(text),
        ErrorKind::Stuck => KernelStuck::new_err(text),
        ErrorKind::Memory => MemoryLimitError::new_err(text),
        ErrorKind::File => FileError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// An error of the library as an exception, with its chain of causes.
pub fn of_library(e: &anyhow::Error) -> PyErr {
    if e.is::<Cancelled>() {
        return PyKeyboardInterrupt::new_err(());
    }
    let driver = e.chain().find_map(|cause| cause.downcast_ref::<prlx_driver::Error>());
    let mut text = format!("{e:#}");
    if let Some(help) = driver.and_then(|d| d.help.as_ref()) {
        text = format!("{text}\nhelp: {help}");
    }
    let file = e.chain().any(|cause| cause.is::<std::io::Error>());
    let kind = driver.map_or(if file { ErrorKind::File } else { ErrorKind::Record }, |d| d.kind);
    of_kind(kind, text)
}
