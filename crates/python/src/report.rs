//! The report of a comparison.

use prlx_analyze::Report as Comparison;
use prlx_analyze::view::ViewModel;
use prlx_present::{Sides, Style};
use prlx_trace::Printed;
use prlx_trace::check::Findings;
use pyo3::prelude::*;

/// The report of a comparison, with what viewers show of it.
#[pyclass(frozen)]
pub struct Report {
    /// The report of the comparison.
    pub report: Comparison,
    /// Source text and views of findings.
    pub scene: ViewModel,
    /// What the checks found on each side, and what the kernels printed, if they ran for the comparison.
    pub sides: Option<([Findings; 2], [Printed; 2])>,
}

/// Columns of text that no terminal shows.
const UNLIMITED: usize = 10_000;

/// How text is written: for a terminal, with its colours and its width; or whole.
pub fn style(py: Python<'_>, terminal: bool) -> PyResult<Style> {
    if !terminal {
        return Ok(Style { color: false, width: UNLIMITED, cut: false });
    }
    let fallback = (Style::default().width, 24);
    let size = py.import("shutil")?.call_method1("get_terminal_size", (fallback,))?;
    let (columns, _): (usize, usize) = size.extract()?;
    Ok(Style { color: true, width: columns.clamp(NARROWEST, UNLIMITED), cut: true })
}

/// Columns that text has at least.
const NARROWEST: usize = 60;

#[pymethods]
impl Report {
    /// `same`, `differs` or `unknown`.
    #[getter]
    fn verdict(&self) -> &'static str {
        self.report.verdict.name()
    }
    /// The report as the JSON that `--json` prints.
    fn json(&self) -> PyResult<String> {
        let sides = match &self.sides {
            Some((checks, printed)) => Sides {
                checks: checks.iter().any(|f| !f.list.is_empty()).then(|| checks.each_ref()),
                printed: Some(printed.each_ref()),
            },
            None => Sides::default(),
        };
        let mut out = Vec::new();
        prlx_present::json(&mut out, &self.report, sides)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
    /// The report as text, as the command line prints it to a terminal, or to a file.
    fn text(&self, py: Python<'_>, terminal: bool) -> PyResult<String> {
        let mut out = Vec::new();
        prlx_present::text(&mut out, &self.report, &style(py, terminal)?)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
    /// The report as an HTML page.
    fn html(&self) -> PyResult<String> {
        let mut out = Vec::new();
        prlx_present::html(&mut out, &self.report, &self.scene)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}
