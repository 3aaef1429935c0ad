//! The modules, libraries and kernels behind the program's handles.
//!
//! Handles are addresses in the driver, which reuses them. An entry is removed when its handle is unloaded.
//!
//! # Invariants
//! - A module or library handle without an entry belongs to code that was not rewritten.
//! - The lock is held for a lookup only, never during a call that loads code.
//! - The number of entries for kernels of unchanged modules is bounded ([`MAX_UNCHANGED`]).
//!
//! # Limitations
//! Entries do not name a context: a handle belongs to one context.

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use crate::rewritten_module::{Kernel, Module, ParamLayout};

/// A kernel of a rewritten module, with its module. `None` for a kernel of an unchanged module.
pub type RewrittenKernel = Option<(Arc<Module>, Kernel)>;

/// The driver's handle of a replacement library, as an address, and its module.
type LoadedLibrary = Option<(usize, Arc<Module>)>;

/// A library of the program, and the replacement that is loaded at its first use.
pub struct Library {
    /// Loads the replacement. Returns `None` if the library stays as it is.
    pub load: Box<dyn Fn() -> LoadedLibrary + Send + Sync>,
    /// The result of `load`, once it has run.
    pub loaded: OnceLock<LoadedLibrary>,
}

/// A kernel of an unchanged module.
#[derive(Default)]
pub struct UnchangedKernel {
    /// Its name; `None` if the driver does not know it.
    pub name: Option<Box<str>>,
    /// Its parameters, once they were asked for; `None` if the driver does not know them.
    pub params: OnceLock<Option<ParamLayout>>,
}

/// Maximum number of remembered kernels of unchanged modules.
const MAX_UNCHANGED: usize = 1 << 14;

#[derive(Default)]
struct Handles {
    /// Rewritten modules, by `CUmodule`.
    modules: HashMap<usize, Arc<Module>>,
    /// Libraries that have a replacement or may get one, by `CUlibrary`.
    libraries: HashMap<usize, Arc<Library>>,
    /// Kernels that were looked up, by `CUfunction` or `CUkernel`.
    kernels: HashMap<usize, RewrittenKernel>,
    /// The keys of `kernels` that are `CUkernel`s of rewritten libraries.
    library_kernels: BTreeSet<usize>,
    /// Kernels of unchanged modules, by handle.
    unchanged: HashMap<usize, Arc<UnchangedKernel>>,
}

static HANDLES: LazyLock<RwLock<Handles>> = LazyLock::new(RwLock::default);

fn read<T>(lookup: impl FnOnce(&Handles) -> T) -> T {
    lookup(&HANDLES.read().unwrap_or_else(PoisonError::into_inner))
}

fn update<T>(change: impl FnOnce(&mut Handles) -> T) -> T {
    change(&mut HANDLES.write().unwrap_or_else(PoisonError::into_inner))
}

fn pointer(address: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address)
}

/// Whether any entry exists. If not, no launch can be of a rewritten kernel.
pub fn any() -> bool {
    read(|h| !h.modules.is_empty() || !h.kernels.is_empty() || !h.libraries.is_empty())
}

/// Adds the rewritten module behind a handle.
pub fn add_module(handle: *mut c_void, module: Arc<Module>) {
    update(|h| h.modules.insert(handle.addr(), module));
}

/// The rewritten module behind a handle.
pub fn module(handle: *mut c_void) -> Option<Arc<Module>> {
    read(|h| h.modules.get(&handle.addr()).cloned())
}

/// Removes a module and its kernels, because it was unloaded or its handle was given to another module.
pub fn remove_module(handle: *mut c_void) {
    update(|h| match h.modules.remove(&handle.addr()) {
        Some(removed) => h.remove_kernels(&removed),
        None => h.forget_unchanged(),
    });
}

/// Removes all modules and kernels, because a context was reset. Libraries stay: they belong to no context.
pub fn clear_modules() {
    update(|h| {
        h.modules.clear();
        h.kernels.clear();
        h.library_kernels.clear();
        h.unchanged.clear();
    });
}

impl Handles {
    /// Removes a module's kernels, and all kernels of unchanged modules, whose handles may be reused too.
    fn remove_kernels(&mut self, removed: &Arc<Module>) {
        self.unchanged.clear();
        self.kernels.retain(|_, k| k.as_ref().is_some_and(|(module, _)| !Arc::ptr_eq(module, removed)));
        let kernels = &self.kernels;
        self.library_kernels.retain(|k| kernels.contains_key(k));
    }

    fn add_unchanged(&mut self, handle: *mut c_void, name: Option<&str>) -> Arc<UnchangedKernel> {
        if self.unchanged.len() >= MAX_UNCHANGED {
            self.forget_unchanged();
        }
        let kernel = Arc::new(UnchangedKernel { name: name.map(Box::from), ..UnchangedKernel::default() });
        self.unchanged.insert(handle.addr(), Arc::clone(&kernel));
        kernel
    }

    /// Removes the kernels of unchanged modules. A launch looks them up again.
    fn forget_unchanged(&mut self) {
        self.unchanged.clear();
        self.kernels.retain(|_, k| k.is_some());
    }
}

/// Adds a library of the program. Its replacement is loaded by [`library`].
pub fn add_library(handle: *mut c_void, library: Library) {
    update(|h| h.libraries.insert(handle.addr(), Arc::new(library)));
}

/// The replacement of a library, and its module. The first call loads it. `None` if the library is unchanged.
pub fn library(original: *mut c_void) -> Option<(*mut c_void, Arc<Module>)> {
    let library = read(|h| h.libraries.get(&original.addr()).cloned())?;
    let loaded = library.loaded.get_or_init(|| (library.load)());
    let (address, module) = loaded.as_ref()?;
    Some((pointer(*address), module.clone()))
}

/// The program's library that `replacement` replaces.
pub fn original_library(replacement: *mut c_void) -> Option<*mut c_void> {
    let is = |l: &Library| matches!(l.loaded.get(), Some(Some((at, _))) if *at == replacement.addr());
    read(|h| h.libraries.iter().find(|(_, l)| is(l)).map(|(at, _)| pointer(*at)))
}

/// Removes a library that the program unloads, with its modules and kernels. Returns its replacement.
pub fn remove_library(original: *mut c_void) -> Option<*mut c_void> {
    update(|h| {
        let library = h.libraries.remove(&original.addr())?;
        let (address, module) = library.loaded.get()?.clone()?;
        h.modules.retain(|_, m| !Arc::ptr_eq(m, &module));
        h.remove_kernels(&module);
        Some(pointer(address))
    })
}

/// Adds the kernel of that name. `module` is `None` for a kernel of an unchanged module.
pub fn add_kernel(handle: *mut c_void, module: Option<&Arc<Module>>, name: &str) {
    let kernel = module.and_then(|m| Some((m.clone(), m.kernels.get(name)?.clone())));
    update(|h| {
        if kernel.is_none() {
            h.add_unchanged(handle, Some(name));
        }
        h.kernels.insert(handle.addr(), kernel);
    });
}

/// As [`add_kernel`], for a `CUkernel` of a library.
pub fn add_library_kernel(handle: *mut c_void, module: Option<&Arc<Module>>, name: &str) {
    add_kernel(handle, module, name);
    if module.is_some() {
        update(|h| h.library_kernels.insert(handle.addr()));
    }
}

/// The `CUkernel`s of rewritten libraries that the program has asked for.
pub fn library_kernels() -> Vec<*mut c_void> {
    read(|h| h.library_kernels.iter().map(|address| pointer(*address)).collect())
}

/// Remembers a kernel of an unchanged module.
pub fn add_unchanged(handle: *mut c_void, name: Option<&str>) -> Arc<UnchangedKernel> {
    update(|h| h.add_unchanged(handle, name))
}

/// The kernel of an unchanged module behind a handle, if it is remembered.
pub fn unchanged(handle: *mut c_void) -> Option<Arc<UnchangedKernel>> {
    read(|h| h.unchanged.get(&handle.addr()).cloned())
}

/// Makes `alias` another handle of the kernel behind `handle`.
pub fn add_alias(alias: *mut c_void, handle: *mut c_void) {
    update(|h| {
        if let Some(kernel) = h.kernels.get(&handle.addr()).cloned() {
            h.kernels.insert(alias.addr(), kernel);
        }
    });
}

/// The kernel behind a handle. `None` if the handle was never looked up.
pub fn kernel(handle: *mut c_void) -> Option<RewrittenKernel> {
    read(|h| h.kernels.get(&handle.addr()).cloned())
}
