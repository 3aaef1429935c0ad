//! Modules, libraries, kernels and link jobs.

use std::ffi::CString;

use prlx_driver::Driver;
use prlx_driver::cuda::calls::function;
use prlx_driver::signature::{Signature, cluster_unit};
use prlx_isa::image;
use prlx_isa::image::Target;

use crate::codes::code;
use crate::codes::{Result, of};
use crate::device::state::{Device, Kernel, SHARED, SHARED_OPTIN, THREADS};
use crate::graphs::capture_mode::exchange_mode;

impl Device {
    /// Loads PTX, or the PTX that a cubin keeps; the error comes with what a log would say.
    pub fn load(&mut self, image: &[u8]) -> std::result::Result<u64, (i32, String)> {
        let plain = |code| (code, String::new());
        self.ready().map_err(plain)?;
        self.unsafe_call().map_err(plain)?;
        let device = Target::of((self.capability.0 as u32, self.capability.1 as u32));
        let images = image::read(image).map_err(|e| (code::INVALID_PTX, e.to_string()))?;
        let first = images.first().ok_or(plain(code::INVALID_IMAGE))?;
        let other = || (code::NO_BINARY_FOR_GPU, format!("{} is not what {device} runs", first.target));
        let image = image::choose(&images, 0, device).ok_or_else(other)?;
        let ptx = image.ptx().ok().flatten().ok_or((code::NO_BINARY_FOR_GPU, String::new()))?;
        let module = self.emulator.load(ptx.as_bytes()).map_err(|e| (of(&e), e.message))?;
        let handle = self.handle();
        self.modules.insert(handle, module);
        Ok(handle)
    }

    pub fn unload(&mut self, module: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        if self.libraries.values().any(|m| *m == module) {
            return Err(code::INVALID_VALUE);
        }
        self.wait_for_all()?;
        self.drop_module(module)
    }

    fn drop_module(&mut self, module: u64) -> Result<()> {
        let loaded = self.modules.remove(&module).ok_or(code::INVALID_HANDLE)?;
        self.functions.retain(|_, f| f.module != module);
        self.emulator.unload(loaded).map_err(|e| of(&e))
    }

    fn view(&self, module: u64) -> Result<&prlx_isa::view::Module> {
        let loaded = *self.modules.get(&module).ok_or(code::INVALID_HANDLE)?;
        self.emulator.module(loaded).ok_or(code::INVALID_HANDLE)
    }

    pub fn names(&self, module: u64) -> Result<Vec<String>> {
        Ok(Signature::all(self.view(module)?).into_iter().map(|s| s.name).collect())
    }

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
        let counted = cluster_unit(&kernel.limits);
        let Signature { name, params, .. } = kernel;
        self.functions
            .insert(handle, Kernel { module, name, c_name, params, counted, shared: 0, dynamic: SHARED });
        Ok(handle)
    }

    /// A variable: where, and its size.
    pub fn global(&self, module: u64, name: &str) -> Result<(u64, usize)> {
        self.ready()?;
        let symbols = &self.view(module)?.symbols;
        let size = symbols.iter().find(|s| s.name == name).map(|s| s.size as usize).ok_or(code::NOT_FOUND)?;
        let at = self.emulator.symbol(self.modules[&module], name).ok_or(code::NOT_FOUND)?;
        Ok((at.0, size))
    }

    pub fn library(&mut self, image: &[u8]) -> Result<u64> {
        // A library can be loaded whatever is captured: it is taken into a context when it is used.
        let was = exchange_mode(prlx_driver::cuda::calls::capture::RELAXED)?;
        let loaded = self.load(image).map_err(|e| e.0);
        exchange_mode(was)?;
        let library = self.handle();
        self.libraries.insert(library, loaded?);
        Ok(library)
    }

    pub fn library_unload(&mut self, library: u64) -> Result<()> {
        self.wait_for_all()?;
        let module = self.libraries.remove(&library).ok_or(code::INVALID_HANDLE)?;
        let functions = &self.functions;
        self.kernels.retain(|_, f| functions.get(f).is_none_or(|f| f.module != module));
        self.drop_module(module)
    }

    pub fn library_module(&self, library: u64) -> Result<u64> {
        self.libraries.get(&library).copied().ok_or(code::INVALID_HANDLE)
    }

    pub fn library_of(&self, kernel: u64) -> Result<u64> {
        let module = self.kernel(kernel)?.module;
        self.libraries.iter().find(|(_, m)| **m == module).map(|(&l, _)| l).ok_or(code::INVALID_HANDLE)
    }

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

    /// A library's kernel as a function; a function stays what it is.
    pub fn function_of(&self, kernel: u64) -> u64 {
        self.kernels.get(&kernel).copied().unwrap_or(kernel)
    }

    pub fn kernel(&self, function: u64) -> Result<&Kernel> {
        self.functions.get(&self.function_of(function)).ok_or(code::INVALID_HANDLE)
    }

    pub fn link(&mut self) -> Result<u64> {
        self.ready()?;
        let link = self.handle();
        self.links.insert(link, None);
        Ok(link)
    }

    /// One input of PTX; what is linked is that PTX again.
    pub fn link_add(&mut self, link: u64, ptx: &[u8]) -> Result<()> {
        let into = self.links.get_mut(&link).ok_or(code::INVALID_HANDLE)?;
        let text = ptx.split(|b| *b == 0).next().unwrap_or_default();
        match into {
            None => *into = Some(CString::new(text).map_err(|_| code::INVALID_PTX)?),
            Some(_) => return Err(code::NOT_SUPPORTED),
        }
        Ok(())
    }

    pub fn linked(&self, link: u64) -> Result<&CString> {
        self.links.get(&link).ok_or(code::INVALID_HANDLE)?.as_ref().ok_or(code::INVALID_VALUE)
    }

    pub fn link_destroy(&mut self, link: u64) -> Result<()> {
        self.links.remove(&link).map(drop).ok_or(code::INVALID_HANDLE)
    }

    pub fn needs(&self, attribute: i32, function: u64) -> Result<i32> {
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

    pub fn resident(&self, function: u64, threads: i32) -> Result<i32> {
        self.ready()?;
        self.kernel(function)?;
        u32::try_from(threads)
            .ok()
            .and_then(|n| THREADS.checked_div(n))
            .map(|n| n as i32)
            .ok_or(code::INVALID_VALUE)
    }

    pub fn allow(&mut self, function: u64, attribute: i32, value: i32) -> Result<()> {
        self.ready()?;
        let function = self.function_of(function);
        let kernel = self.functions.get_mut(&function).ok_or(code::INVALID_HANDLE)?;
        match (attribute, u32::try_from(value)) {
            (function::MAX_DYNAMIC_SHARED, Ok(bytes)) if bytes <= SHARED_OPTIN => kernel.dynamic = bytes,
            (function::NON_PORTABLE_CLUSTER, Ok(0 | 1)) => {}
            _ => return Err(code::INVALID_VALUE),
        }
        Ok(())
    }
}
