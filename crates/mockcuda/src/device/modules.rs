//! Modules, libraries, kernels and link jobs.

use std::ffi::CString;

use prlx_driver::cuda::calls::function;
use prlx_driver::signature::{Signature, cluster_unit};
use prlx_driver::{Driver, ModuleCode};
use prlx_isa::image;
use prlx_isa::image::Target;

use crate::codes::code;
use crate::codes::{Result, code_of};
use crate::device::state::{DEFAULT_SHARED, Device, Kernel, MAX_SHARED, THREADS_PER_SM};
use crate::graphs::capture_mode::exchange_mode;

impl Device {
    /// Loads the PTX of an image, or of a cubin that contains it. An error comes with the text for the error
    /// log.
    pub fn load(&mut self, image: &[u8]) -> std::result::Result<u64, (i32, String)> {
        let plain = |code| (code, String::new());
        self.ready().map_err(plain)?;
        self.unsafe_during_capture().map_err(plain)?;
        let device = Target::of((self.capability.0 as u32, self.capability.1 as u32));
        let images = image::read(image).map_err(|e| (code::INVALID_PTX, e.to_string()))?;
        let first = images.first().ok_or(plain(code::INVALID_IMAGE))?;
        let other =
            || (code::NO_BINARY_FOR_GPU, format!("code for {} does not run on {device}", first.target));
        let image = image::choose(&images, 0, device).ok_or_else(other)?;
        let ptx = image.ptx().ok().flatten().ok_or((code::NO_BINARY_FOR_GPU, String::new()))?;
        let module = self.emulator.load(ModuleCode::Ptx(&ptx)).map_err(|e| (code_of(&e), e.message))?;
        let handle = self.handle();
        self.modules.insert(handle, module);
        Ok(handle)
    }

    /// Unloads a module after all work is done.
    pub fn unload(&mut self, module: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_during_capture()?;
        if self.libraries.values().any(|m| *m == module) {
            return Err(code::INVALID_VALUE);
        }
        self.wait_for_all()?;
        self.drop_module(module)
    }

    fn drop_module(&mut self, module: u64) -> Result<()> {
        let loaded = self.modules.remove(&module).ok_or(code::INVALID_HANDLE)?;
        self.functions.retain(|_, f| f.module != module);
        self.emulator.unload(loaded).map_err(|e| code_of(&e))
    }

    fn view(&self, module: u64) -> Result<&prlx_isa::view::Module> {
        let loaded = *self.modules.get(&module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.module(loaded).ok_or(code::INVALID_HANDLE)
    }

    /// Names of a module's kernels.
    pub fn names(&self, module: u64) -> Result<Vec<String>> {
        Ok(Signature::all(self.view(module)?).into_iter().map(|s| s.name).collect())
    }

    /// The kernel of that name. The same kernel has the same handle every time.
    pub fn function(&mut self, module: u64, name: &str) -> Result<u64> {
        self.ready()?;
        let kernel =
            Signature::all(self.view(module)?).into_iter().find(|s| s.name == name).ok_or(code::NOT_FOUND)?;
        let known = self.functions.iter().find(|(_, f)| f.module == module && f.name == kernel.name);
        if let Some((&handle, _)) = known {
            return Ok(handle);
        }
        let handle = self.handle();
        let c_name = CString::new(kernel.name.as_str()).unwrap_or_default();
        let grid_unit = cluster_unit(&kernel.limits);
        let Signature { name, params, .. } = kernel;
        self.functions.insert(
            handle,
            Kernel { module, name, c_name, params, grid_unit, shared: 0, dynamic: DEFAULT_SHARED },
        );
        Ok(handle)
    }

    /// Address and size in bytes of a variable.
    pub fn global(&self, module: u64, name: &str) -> Result<(u64, usize)> {
        self.ready()?;
        let symbols = &self.view(module)?.symbols;
        let size = symbols.iter().find(|s| s.name == name).map(|s| s.size as usize).ok_or(code::NOT_FOUND)?;
        let at = self.emulator.symbol(self.modules[&module], name).ok_or(code::NOT_FOUND)?;
        Ok((at.0, size))
    }

    /// Loads a library. Its code is loaded into the context at once, other than by the driver.
    pub fn library(&mut self, image: &[u8]) -> Result<u64> {
        // The driver loads a library's code at its first use, so a capture does not forbid this call.
        let was = exchange_mode(prlx_driver::cuda::calls::capture::RELAXED)?;
        let loaded = self.load(image).map_err(|e| e.0);
        exchange_mode(was)?;
        let library = self.handle();
        self.libraries.insert(library, loaded?);
        Ok(library)
    }

    /// Unloads a library after all work is done.
    pub fn library_unload(&mut self, library: u64) -> Result<()> {
        self.wait_for_all()?;
        let module = self.libraries.remove(&library).ok_or(code::INVALID_HANDLE)?;
        let functions = &self.functions;
        self.kernels.retain(|_, f| functions.get(f).is_none_or(|f| f.module != module));
        self.drop_module(module)
    }

    /// The module of a library.
    pub fn library_module(&self, library: u64) -> Result<u64> {
        self.libraries.get(&library).copied().ok_or(code::INVALID_HANDLE)
    }

    /// The library of a kernel.
    pub fn library_of(&self, kernel: u64) -> Result<u64> {
        let module = self.kernel(kernel)?.module;
        self.libraries.iter().find(|(_, m)| **m == module).map(|(&l, _)| l).ok_or(code::INVALID_HANDLE)
    }

    /// The kernel of that name. The same kernel has the same handle every time.
    pub fn library_kernel(&mut self, library: u64, name: &str) -> Result<u64> {
        let module = self.library_module(library)?;
        let function = self.function(module, name)?;
        if let Some((&kernel, _)) = self.kernels.iter().find(|(_, f)| **f == function) {
            return Ok(kernel);
        }
        let kernel = self.handle();
        self.kernels.insert(kernel, function);
        Ok(kernel)
    }

    /// The function of a library's kernel. The handle of a function is returned as it is.
    pub fn function_of(&self, kernel: u64) -> u64 {
        self.kernels.get(&kernel).copied().unwrap_or(kernel)
    }

    /// The kernel behind a handle of a function or of a library's kernel.
    pub fn kernel(&self, function: u64) -> Result<&Kernel> {
        self.functions.get(&self.function_of(function)).ok_or(code::INVALID_HANDLE)
    }

    /// Creates a link job.
    pub fn link(&mut self) -> Result<u64> {
        self.ready()?;
        let link = self.handle();
        self.links.insert(link, None);
        Ok(link)
    }

    /// Adds PTX to a link job, which takes one input. The job's result is that PTX.
    pub fn link_add(&mut self, link: u64, ptx: &[u8]) -> Result<()> {
        let input = self.links.get_mut(&link).ok_or(code::INVALID_HANDLE)?;
        let text = ptx.split(|b| *b == 0).next().unwrap_or_default();
        match input {
            None => *input = Some(CString::new(text).map_err(|_| code::INVALID_PTX)?),
            Some(_) => return Err(code::NOT_SUPPORTED),
        }
        Ok(())
    }

    /// The result of a link job.
    pub fn linked(&self, link: u64) -> Result<&CString> {
        self.links.get(&link).ok_or(code::INVALID_HANDLE)?.as_ref().ok_or(code::INVALID_VALUE)
    }

    /// Destroys a link job.
    pub fn link_destroy(&mut self, link: u64) -> Result<()> {
        self.links.remove(&link).map(drop).ok_or(code::INVALID_HANDLE)
    }

    /// An attribute of a kernel (`CUfunction_attribute`).
    pub fn function_attribute(&self, attribute: i32, function: u64) -> Result<i32> {
        self.ready()?;
        let kernel = self.kernel(function)?;
        match attribute {
            function::MAX_THREADS => Ok(1024),
            function::SHARED => Ok(kernel.shared as i32),
            function::LOCAL => Ok(0),
            function::REGISTERS => Ok(32),
            function::MAX_DYNAMIC_SHARED => Ok(kernel.dynamic as i32),
            _ => Err(code::INVALID_VALUE),
        }
    }

    /// Maximum resident CTAs of an SM, for CTAs of so many threads.
    pub fn max_resident_ctas(&self, function: u64, threads: i32) -> Result<i32> {
        self.ready()?;
        self.kernel(function)?;
        u32::try_from(threads)
            .ok()
            .and_then(|n| THREADS_PER_SM.checked_div(n))
            .map(|n| n as i32)
            .ok_or(code::INVALID_VALUE)
    }

    /// Sets an attribute of a kernel.
    pub fn set_function_attribute(&mut self, function: u64, attribute: i32, value: i32) -> Result<()> {
        self.ready()?;
        let function = self.function_of(function);
        let kernel = self.functions.get_mut(&function).ok_or(code::INVALID_HANDLE)?;
        match (attribute, u32::try_from(value)) {
            (function::MAX_DYNAMIC_SHARED, Ok(bytes)) if bytes <= MAX_SHARED => kernel.dynamic = bytes,
            (function::NON_PORTABLE_CLUSTER, Ok(0 | 1)) => {}
            _ => return Err(code::INVALID_VALUE),
        }
        Ok(())
    }
}
