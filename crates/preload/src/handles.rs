//! What each of the program's handles stands for: rewritten modules and libraries, and the kernels that come
//! from them.
//!
//! Handles are addresses in the driver, which reuses them. The entry of a handle is removed as soon as it is
//! unloaded.
//!
//! # Invariants
//! - A handle without an entry belongs to code that was not rewritten.
//! - The lock is held for a lookup only, never during a call that loads code.
//! - The number of entries for kernels that were not rewritten is bounded.
//!
//! # Limitations
//! Contexts are not entries: a handle belongs to one context.

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use crate::rewritten_module::{Kernel, Module};

/// What a handle of a kernel stands for; `None`: nothing of ours.
pub type Found = Option<(Arc<Module>, Kernel)>;

/// A library of the program's.
pub struct Library {
    /// What is to be done when it is used first.
    pub later: Box<dyn Fn() -> Option<(usize, Arc<Module>)> + Send + Sync>,
    /// What it came to: the library that was loaded in its place, and its module.
    pub done: OnceLock<Option<(usize, Arc<Module>)>>,
}

/// Kernels that are nobody's that are known at a time.
const NOBODYS: usize = 1 << 14;

#[derive(Default)]
struct Handles {
    modules: HashMap<usize, Arc<Module>>,
    libraries: HashMap<usize, Arc<Library>>,
    /// By handle of a kernel: `CUfunction` or `CUkernel`.
    kernels: HashMap<usize, Found>,
    /// Those of our libraries: `CUkernel`.
    of_libraries: BTreeSet<usize>,
    /// What kernels are called that are nobody's.
    names: HashMap<usize, Arc<str>>,
}

static HANDLES: LazyLock<RwLock<Handles>> = LazyLock::new(RwLock::default);

fn look<T>(at: impl FnOnce(&Handles) -> T) -> T {
    at(&HANDLES.read().unwrap_or_else(PoisonError::into_inner))
}

fn change<T>(of: impl FnOnce(&mut Handles) -> T) -> T {
    of(&mut HANDLES.write().unwrap_or_else(PoisonError::into_inner))
}

/// Whether anything was rewritten that has not been unloaded.
pub fn any() -> bool {
    look(|h| !h.modules.is_empty() || !h.kernels.is_empty() || !h.libraries.is_empty())
}

/// A module of the program's, and what it is.
pub fn module_is(handle: *mut c_void, module: Arc<Module>) {
    change(|h| h.modules.insert(handle.addr(), module));
}

/// The module of a handle.
pub fn module(handle: *mut c_void) -> Option<Arc<Module>> {
    look(|h| h.modules.get(&handle.addr()).cloned())
}

/// A module was unloaded, or another has its handle.
pub fn module_gone(handle: *mut c_void) {
    change(|h| {
        if let Some(gone) = h.modules.remove(&handle.addr()) {
            h.forget(&gone);
        } else {
            h.forget_nobodys();
        }
    });
}

/// A context was reset: all modules are gone, and the kernels that are not a library's.
pub fn modules_gone() {
    change(|h| {
        h.modules.clear();
        h.kernels.clear();
        h.of_libraries.clear();
        h.names.clear();
    });
}

impl Handles {
    /// Forgets a module's kernels, and those that were nobody's, whose handles may come back.
    fn forget(&mut self, gone: &Arc<Module>) {
        self.names.clear();
        self.kernels.retain(|_, k| k.as_ref().is_some_and(|(module, _)| !Arc::ptr_eq(module, gone)));
        let kernels = &self.kernels;
        self.of_libraries.retain(|k| kernels.contains_key(k));
    }
    fn name(&mut self, handle: *mut c_void, name: &str) {
        if self.names.len() >= NOBODYS {
            self.forget_nobodys();
        }
        self.names.insert(handle.addr(), name.into());
    }
    /// Forgets the kernels that are nobody's: they are looked at again.
    fn forget_nobodys(&mut self) {
        self.names.clear();
        self.kernels.retain(|_, k| k.is_some());
    }
}

/// A library of the program's, with what is to be done when it is used.
pub fn library_is(handle: *mut c_void, library: Library) {
    change(|h| h.libraries.insert(handle.addr(), Arc::new(library)));
}

/// The library that is there in the place of the program's, and its module; it is made now, if it was not.
pub fn library(handle: *mut c_void) -> Option<(*mut c_void, Arc<Module>)> {
    let library = look(|h| h.libraries.get(&handle.addr()).cloned())?;
    let done = library.done.get_or_init(|| (library.later)());
    let (at, module) = done.as_ref()?;
    Some((std::ptr::with_exposed_provenance_mut(*at), module.clone()))
}

/// The program's library in whose place this one is.
pub fn library_behind(real: *mut c_void) -> Option<*mut c_void> {
    let is = |l: &Library| matches!(l.done.get(), Some(Some((at, _))) if *at == real.addr());
    look(|h| {
        h.libraries.iter().find(|(_, l)| is(l)).map(|(at, _)| std::ptr::with_exposed_provenance_mut(*at))
    })
}

/// The program unloads a library; gives the one that was in its place.
pub fn library_gone(handle: *mut c_void) -> Option<*mut c_void> {
    change(|h| {
        let library = h.libraries.remove(&handle.addr())?;
        let (at, module) = library.done.get()?.clone()?;
        h.modules.retain(|_, m| !Arc::ptr_eq(m, &module));
        h.forget(&module);
        Some(std::ptr::with_exposed_provenance_mut(at))
    })
}

/// A handle stands for a kernel of that name of a module; `None`: of none of ours.
pub fn kernel_is(handle: *mut c_void, module: Option<&Arc<Module>>, name: &str) {
    let found = module.and_then(|m| Some((m.clone(), m.kernels.get(name)?.clone())));
    change(|h| {
        if found.is_none() {
            h.name(handle, name);
        }
        h.kernels.insert(handle.addr(), found);
    });
}

/// A handle stands for a kernel of that name of a library.
pub fn library_kernel_is(handle: *mut c_void, module: Option<&Arc<Module>>, name: &str) {
    kernel_is(handle, module, name);
    if module.is_some() {
        change(|h| h.of_libraries.insert(handle.addr()));
    }
}

/// The kernels of our libraries that the program has asked for.
pub fn library_kernels() -> Vec<*mut c_void> {
    look(|h| h.of_libraries.iter().map(|at| std::ptr::with_exposed_provenance_mut(*at)).collect())
}

/// What a kernel is called that is not recorded.
pub fn name_is(handle: *mut c_void, name: &str) {
    change(|h| h.name(handle, name));
}

/// What a kernel is called that is nobody's, if it came to its handle by our ways.
pub fn name(handle: *mut c_void) -> Option<Arc<str>> {
    look(|h| h.names.get(&handle.addr()).cloned())
}

/// A handle stands for the same kernel as another.
pub fn kernel_as(handle: *mut c_void, other: *mut c_void) {
    change(|h| {
        if let Some(found) = h.kernels.get(&other.addr()).cloned() {
            h.kernels.insert(handle.addr(), found);
        }
    });
}

/// What a handle stands for; the outer `None`: never seen.
pub fn kernel(handle: *mut c_void) -> Option<Found> {
    look(|h| h.kernels.get(&handle.addr()).cloned())
}
