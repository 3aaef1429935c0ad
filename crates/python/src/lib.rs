//! The native part of the Python package `prlx`: the CPU device on memory of Python arrays, comparisons, and
//! recordings.
//!
//! The package's own modules (`python/prlx`) turn arrays into addresses, reports into attributes, and give
//! everything the names that users see. Nothing here is public.
//!
//! # Invariants
//! - Long calls release the GIL, and end soon after Ctrl-C.
//! - Every error is an exception of `prlx`, with the words of the command line.

mod arrow;
mod compare;
mod device;
mod errors;
mod launch;
mod module;
mod monitor;
mod numbers;
mod probe;
mod ranges;
mod recording;
mod report;

use pyo3::prelude::*;

/// The module `prlx._native`.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(m)?;
    m.add_class::<module::Module>()?;
    m.add_class::<launch::Array>()?;
    m.add_class::<launch::Scalar>()?;
    m.add_class::<launch::TensorMap>()?;
    m.add_class::<launch::Launch>()?;
    m.add_class::<launch::Snapshot>()?;
    m.add_class::<device::Device>()?;
    m.add_class::<device::Run>()?;
    m.add_class::<device::ScheduleChecks>()?;
    m.add_class::<report::Report>()?;
    m.add_class::<recording::Recording>()?;
    m.add_function(wrap_pyfunction!(compare::compare, m)?)?;
    m.add_function(wrap_pyfunction!(compare::compare_captured, m)?)?;
    m.add_function(wrap_pyfunction!(compare::diff, m)?)?;
    m.add_function(wrap_pyfunction!(compare::load, m)?)?;
    m.add_function(wrap_pyfunction!(compare::record, m)?)?;
    m.add_function(wrap_pyfunction!(probe::probe, m)?)?;
    Ok(())
}
