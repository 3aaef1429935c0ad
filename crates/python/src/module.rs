//! The code of kernels, as PTX.

use std::path::Path;
use std::sync::Arc;

use prlx_driver::signature::Signature;
use prlx_isa::{image, ptx};
use prlx_trace::names::display_name;
use pyo3::prelude::*;

use crate::errors::ModuleError;

/// A module of PTX, with the kernels that it declares.
#[pyclass(frozen)]
pub struct Module {
    /// Name in reports.
    pub name: String,
    /// Text of the module in PTX.
    pub text: Arc<str>,
    /// Declarations of the kernels, in the order of the text.
    pub kernels: Vec<Signature>,
}

#[pymethods]
impl Module {
    /// Reads PTX text, or the PTX in a cubin or fatbin.
    #[new]
    fn new(code: &[u8], name: String) -> PyResult<Module> {
        let text = if image::is_binary(code) {
            image::source(code, None).map_err(|e| ModuleError::new_err(format!("{name}: {e}")))?
        } else {
            let code = code.split(|b| *b == 0).next().unwrap_or_default();
            let text = std::str::from_utf8(code);
            text.map_err(|e| ModuleError::new_err(format!("{name} is not text: {e}")))?.to_owned()
        };
        let (view, diagnostics) = ptx::read(&text);
        if let Some((line, open)) = ptx::truncation(&text, &diagnostics) {
            let what = format!("{name} is truncated, at line {line}: {}", open.message);
            return Err(ModuleError::new_err(what));
        }
        let kernels = Signature::all(&view);
        if kernels.is_empty() {
            let reason = diagnostics.first().map_or(String::new(), |d| format!(" ({})", d.message));
            return Err(ModuleError::new_err(format!("{name} has no kernel{reason}")));
        }
        Ok(Module { name, text: text.into(), kernels })
    }

    /// Compiles CUDA C++ with nvcc, for the architecture of the CPU device.
    #[staticmethod]
    fn compile(py: Python<'_>, path: &str) -> PyResult<Module> {
        let code = py
            .detach(|| prlx_driver::compile_cuda(Path::new(path), &prlx_driver::CompilerOptions::default()));
        Module::new(&code.map_err(|e| crate::errors::of_driver(&e))?, path.to_owned())
    }

    /// Names of the kernels.
    fn kernels(&self) -> Vec<&str> {
        self.kernels.iter().map(|s| s.name.as_str()).collect()
    }

    /// The same names as the source has them: `ns::scale<float>`.
    fn source_names(&self) -> Vec<String> {
        self.kernels.iter().map(|s| display_name(&s.name)).collect()
    }

    /// The parameters of a kernel: names, sizes in bytes, and types in PTX.
    fn params(&self, kernel: &str) -> PyResult<Vec<(&str, u32, &'static str)>> {
        Ok(self.kernel(kernel)?.params.iter().map(|p| (p.name.as_str(), p.size, p.ty.name())).collect())
    }

    /// By parameter of a kernel: whether the kernel uses it as a number only, and so takes no array there.
    fn numbers(&self, kernel: &str) -> PyResult<Vec<bool>> {
        self.kernel(kernel)?;
        let (view, _) = ptx::read(&self.text);
        Ok(view.function(kernel).map(crate::numbers::numbers).unwrap_or_default())
    }

    /// The PTX text.
    fn ptx(&self) -> &str {
        &self.text
    }
}

impl Module {
    /// The declaration of a kernel.
    pub fn kernel(&self, name: &str) -> PyResult<&Signature> {
        self.kernels.iter().find(|s| s.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.kernels.iter().map(|s| s.name.as_str()).collect();
            ModuleError::new_err(format!("{} has no kernel `{name}`: it has {}", self.name, names.join(", ")))
        })
    }
}

/// Reads a source file that debug information names, if it is there.
pub fn source_text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
