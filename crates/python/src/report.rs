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

/// How text is written.
pub fn style(color: bool) -> Style {
    Style { color, ..Style::default() }
}

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
    /// The report as text, as the command line prints it.
    fn text(&self, color: bool) -> PyResult<String> {
        let mut out = Vec::new();
        prlx_present::text(&mut out, &self.report, &style(color))?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
    /// The report as an HTML page.
    fn html(&self) -> PyResult<String> {
        let mut out = Vec::new();
        prlx_present::html(&mut out, &self.report, &self.scene)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}
