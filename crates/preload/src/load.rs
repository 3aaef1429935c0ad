//! Modules, libraries, the linker, and the names of kernels.
//!
//! A module is rewritten when it is loaded; a library when it is first asked for something, as the driver does with it: until
//! then the program's handle is of its own code, and afterwards stands for the library in its place ([`known::library`]).
//!
//! What the linker makes is not touched, for programs keep it; if it came from one PTX, that is known when it is loaded.
//!
//! Holds: what can't be replaced is loaded as it is. Misses: options of a load but for the registers and the optimisation.
#![allow(unsafe_code, reason = "a C interface: pointers come from the program, as cuda.h says what they point to")]
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(clippy::too_many_arguments, reason = "as cuda.h has them")]

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::slice::from_raw_parts;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use prlx_driver::cuda::calls::{attribute, input, jit};
use prlx_driver::cuda::{Functions, image};
use prlx_isa::image::Target;
use prlx_trace::kernel::Fidelity;
use xxhash_rust::xxh3::xxh3_128;

use crate::known;
use crate::record;
use crate::rewrite::{self, Replacement};
use crate::say;
use crate::source::{self, Source};
use crate::symbols;
use crate::think::think;

/// `CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE`, `CU_LIBRARY_BINARY_IS_PRESERVED`.
const HOST_TABLE: i32 = 0;
const PRESERVED: i32 = 1;
/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: i32 = 1;

pub unsafe fn cuGetProcAddress(
    real: &Functions,
    symbol: *const c_char,
    at: *mut *mut c_void,
    version: i32,
    flags: u64,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuGetProcAddress)(symbol, at, version, flags) };
    // SAFETY: the same arguments.
    unsafe { replace(code, symbol, at, version, flags) };
    code
}
pub unsafe fn cuGetProcAddress_v2(
    real: &Functions,
    symbol: *const c_char,
    at: *mut *mut c_void,
    version: i32,
    flags: u64,
    status: *mut i32,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuGetProcAddress_v2)(symbol, at, version, flags, status) };
    // SAFETY: the same arguments.
    unsafe { replace(code, symbol, at, version, flags) };
    code
}
/// # Safety
/// The arguments of `cuGetProcAddress`, and what it answered.
unsafe fn replace(code: i32, symbol: *const c_char, at: *mut *mut c_void, version: i32, flags: u64) {
    think(|| {
        // SAFETY: the driver has found the name, so both can be read.
        unsafe {
            if code == 0 && !symbol.is_null() && !at.is_null() && !(*at).is_null() {
                let name = CStr::from_ptr(symbol).to_str().ok()?;
                *at = symbols::replaced(name, version, flags, *at);
            }
        }
        Some(())
    });
}

/// The target of the thread's device, or of the first.
fn device(real: &Functions) -> Option<Target> {
    let (mut device, mut major, mut minor) = (0, 0, 0);
    // SAFETY: each has a place for its answer.
    unsafe {
        if (real.cuCtxGetDevice)(&mut device) != 0 {
            device = 0;
        }
        let asked = (real.cuDeviceGetAttribute)(&mut major, attribute::MAJOR, device)
            | (real.cuDeviceGetAttribute)(&mut minor, attribute::MINOR, device);
        (asked == 0).then(|| Target::of((major as u32, minor as u32)))
    }
}

/// Options of a load that change code, as an assembler takes them.
///
/// # Safety
/// `count` options, each with its value.
unsafe fn options(count: u32, options: *mut i32, values: *mut *mut c_void) -> Vec<String> {
    if count == 0 || options.is_null() || values.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let pairs = unsafe { from_raw_parts(options, count as usize).iter().zip(from_raw_parts(values, count as usize)) };
    let option = |(option, value): (&i32, &*mut c_void)| match *option {
        jit::MAX_REGISTERS => Some(format!("-maxrregcount={}", value.addr() as u32)),
        jit::OPTIMIZATION => Some(format!("-O{}", value.addr() as u32)),
        jit::DEBUG if value.addr() as u32 != 0 => Some("-g".to_owned()),
        _ => None,
    };
    pairs.filter_map(option).collect()
}

/// What is loaded in the place of an image.
fn replacement(real: &Functions, bytes: &[u8], more: &[String]) -> Option<Replacement> {
    let begun = std::time::Instant::now();
    let device = device(real)?;
    let source = match linked(bytes) {
        Some(link) => link.source(bytes, device),
        None => source::find(bytes, device),
    };
    match source.and_then(|source| rewrite::replacement(source, more)) {
        Ok(replacement) => Some(replacement),
        Err(why) => {
            let why = why.lines().next().unwrap_or_default();
            let (size, spent) = (bytes.len(), begun.elapsed().as_secs_f64() * 1e3);
            say::log(&format!("module of {size} bytes: not rewritten: {why}; {spent:.1} ms"));
            record::left(real, &format!("{size} bytes"), why);
            None
        }
    }
}
/// Why a module of parts is left as it is.
const RELOCATABLE: &str = "relocatable device code (-rdc=true) is not supported";

/// A module is left as it is before anything of it was read.
fn refused(real: &Functions, why: &str) {
    say::log(&format!("module: not rewritten: {why}"));
    record::left(real, "?", why);
}

/// The same of an image in memory.
///
/// # Safety
/// `at` is null or points to an image, as the driver takes it.
unsafe fn in_place_of(real: &Functions, at: *const c_void, more: &[String]) -> Option<Replacement> {
    // SAFETY: the caller's promise.
    match unsafe { image::bytes(at) } {
        Ok(bytes) => replacement(real, bytes, more),
        Err(image::Unreadable::Null) => None,
        Err(image::Unreadable::Relocatable) => {
            refused(real, RELOCATABLE);
            None
        }
    }
}

/// Loads a module: what is in its place, or, if there is nothing or the driver does not take it, itself.
///
/// # Safety
/// `module` may be written.
unsafe fn module(
    module: *mut *mut c_void,
    replacement: Option<Replacement>,
    load: impl FnOnce(*const c_void) -> i32,
    itself: impl FnOnce() -> i32,
) -> i32 {
    let code = match &replacement {
        None => itself(),
        Some(r) => match load(r.image.as_ptr().cast()) {
            0 => 0,
            code => {
                think(|| {
                    say::once(&format!("the driver does not load a rewritten module (error {code}): it runs as it is"));
                    Some(())
                });
                let code = itself();
                // SAFETY: the caller's promise.
                forget(code, unsafe { module.as_ref() });
                return code;
            }
        },
    };
    // SAFETY: the caller's promise; the driver has put a module there.
    let at = unsafe { module.as_ref() };
    forget(code, at);
    if let (0, Some(r), Some(at)) = (code, replacement, at) {
        think(|| {
            known::module_is(*at, r.module);
            Some(())
        });
    }
    code
}
/// A handle that was given out anew is of nothing that was known.
fn forget(code: i32, handle: Option<&*mut c_void>) {
    if let (0, Some(handle)) = (code, handle) {
        think(|| {
            known::module_gone(*handle);
            Some(())
        });
    }
}

pub unsafe fn cuModuleLoad(real: &Functions, to: *mut *mut c_void, path: *const c_char) -> i32 {
    let found = think(|| {
        // SAFETY: the program's promise: a string that ends.
        let name = unsafe { path.as_ref().map(|p| CStr::from_ptr(p)) }?;
        let bytes = std::fs::read(OsStr::from_bytes(name.to_bytes())).ok()?;
        replacement(real, &bytes, &[])
    });
    // SAFETY: the program's call; the replacement lives through it.
    unsafe { module(to, found, |image| (real.cuModuleLoadData)(to, image), || (real.cuModuleLoad)(to, path)) }
}
pub unsafe fn cuModuleLoadData(real: &Functions, to: *mut *mut c_void, at: *const c_void) -> i32 {
    // SAFETY: the program's promise.
    let found = think(|| unsafe { in_place_of(real, at, &[]) });
    // SAFETY: the program's call; the replacement lives through it.
    unsafe { module(to, found, |image| (real.cuModuleLoadData)(to, image), || (real.cuModuleLoadData)(to, at)) }
}
pub unsafe fn cuModuleLoadDataEx(
    real: &Functions,
    to: *mut *mut c_void,
    at: *const c_void,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the program's promise.
    let found = think(|| unsafe { in_place_of(real, at, &options(count, names, values)) });
    let load = |image| {
        // SAFETY: the program's call; the replacement lives through it.
        unsafe { (real.cuModuleLoadDataEx)(to, image, count, names, values) }
    };
    // SAFETY: as above.
    unsafe { module(to, found, load, || load(at)) }
}
pub unsafe fn cuModuleLoadFatBinary(real: &Functions, to: *mut *mut c_void, at: *const c_void) -> i32 {
    // SAFETY: the program's promise.
    let found = think(|| unsafe { in_place_of(real, at, &[]) });
    // SAFETY: the program's call; the replacement lives through it.
    unsafe { module(to, found, |image| (real.cuModuleLoadData)(to, image), || (real.cuModuleLoadFatBinary)(to, at)) }
}
pub unsafe fn cuModuleUnload(real: &Functions, handle: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuModuleUnload)(handle) };
    forget(code, Some(&handle));
    code
}
pub unsafe fn cuModuleGetFunction(
    real: &Functions,
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuModuleGetFunction)(function, module, name) };
    // SAFETY: it has answered, so its arguments can be read.
    unsafe { named(code, function, name, |at, name| known::kernel_is(at, known::module(module).as_ref(), name)) };
    code
}
/// A handle was given out for a name.
///
/// # Safety
/// If `code` is 0, `handle` holds a handle and `name` is a string.
unsafe fn named(code: i32, handle: *mut *mut c_void, name: *const c_char, is: impl FnOnce(*mut c_void, &str)) {
    if code == 0 {
        think(|| {
            // SAFETY: the caller's promise.
            let (handle, name) = unsafe { (*handle, CStr::from_ptr(name)) };
            is(handle, name.to_str().unwrap_or_default());
            Some(())
        });
    }
}

/// The library that stands in the place of the program's.
fn library(handle: *mut c_void) -> *mut c_void {
    think(|| known::library(handle)).map_or(handle, |(real, _)| real)
}

pub unsafe fn cuLibraryLoadData(
    real: &'static Functions,
    to: *mut *mut c_void,
    at: *const c_void,
    names: *mut i32,
    values: *mut *mut c_void,
    count: u32,
    library_names: *mut i32,
    library_values: *mut *mut c_void,
    library_count: u32,
) -> i32 {
    // SAFETY: the program's call.
    let code =
        unsafe { (real.cuLibraryLoadData)(to, at, names, values, count, library_names, library_values, library_count) };
    if code == 0 {
        think(|| {
            // SAFETY: the program's promise.
            unsafe {
                let bytes = match image::bytes(at) {
                    Ok(bytes) => bytes,
                    Err(_) => {
                        refused(real, RELOCATABLE);
                        return None;
                    }
                };
                let mut preserved = false;
                for i in 0..if library_names.is_null() { 0 } else { library_count as usize } {
                    // A value may be left out: the option's presence says enough.
                    let set = library_values.is_null() || !(*library_values.add(i)).is_null();
                    match *library_names.add(i) {
                        PRESERVED => preserved |= set,
                        HOST_TABLE => {
                            refused(real, "it shares functions with the host");
                            return None;
                        }
                        _ => {}
                    }
                }
                let held = match preserved || mapped(bytes) {
                    true => Held::There(bytes.as_ptr().expose_provenance(), bytes.len()),
                    false => Held::Copied(bytes.to_vec()),
                };
                later(real, *to, held, options(count, names, values));
            }
            Some(())
        });
    }
    code
}
pub unsafe fn cuLibraryLoadFromFile(
    real: &'static Functions,
    to: *mut *mut c_void,
    path: *const c_char,
    names: *mut i32,
    values: *mut *mut c_void,
    count: u32,
    library_names: *mut i32,
    library_values: *mut *mut c_void,
    library_count: u32,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe {
        (real.cuLibraryLoadFromFile)(to, path, names, values, count, library_names, library_values, library_count)
    };
    if code == 0 {
        think(|| {
            // SAFETY: the program's promise.
            unsafe {
                let name = OsStr::from_bytes(CStr::from_ptr(path).to_bytes());
                later(real, *to, Held::Copied(std::fs::read(name).ok()?), options(count, names, values));
            }
            Some(())
        });
    }
    code
}

/// An image that will be looked at later.
enum Held {
    /// It stays where it is as long as the library.
    There(usize, usize),
    Copied(Vec<u8>),
}
impl Held {
    fn bytes(&self) -> &[u8] {
        match self {
            // SAFETY: the program, or the file that is mapped there, keeps it.
            Held::There(at, len) => unsafe { from_raw_parts(std::ptr::with_exposed_provenance(*at), *len) },
            Held::Copied(bytes) => bytes,
        }
    }
}

/// Whether an image is in the read-only part of a program or library that is loaded, as nvcc puts it: there it stays.
fn mapped(image: &[u8]) -> bool {
    struct Wanted {
        first: usize,
        end: usize,
        found: bool,
    }
    unsafe extern "C" fn object(info: *mut libc::dl_phdr_info, _: usize, wanted: *mut c_void) -> i32 {
        // SAFETY: the loader describes an object; the last argument is what was given it below.
        unsafe {
            let (info, wanted) = (&*info, &mut *wanted.cast::<Wanted>());
            if info.dlpi_phnum == 0 {
                return 0;
            }
            for part in from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) {
                let first = (info.dlpi_addr + part.p_vaddr) as usize;
                if part.p_type == libc::PT_LOAD
                    && part.p_flags & libc::PF_W == 0
                    && first <= wanted.first
                    && wanted.end <= first + part.p_filesz as usize
                {
                    wanted.found = true;
                    return 1;
                }
            }
        }
        0
    }
    let first = image.as_ptr().addr();
    let mut wanted = Wanted { first, end: first + image.len(), found: false };
    // SAFETY: the function takes what it is given here.
    unsafe { libc::dl_iterate_phdr(Some(object), (&raw mut wanted).cast()) };
    wanted.found
}

/// A library that is rewritten when it is used.
fn later(real: &'static Functions, handle: *mut c_void, held: Held, options: Vec<String>) {
    let later = move || {
        let made = replacement(real, held.bytes(), &options)?;
        let mut library = null_mut();
        // SAFETY: the image lives through the call, and the driver copies it.
        let code = unsafe {
            let none = null_mut();
            (real.cuLibraryLoadData)(&mut library, made.image.as_ptr().cast(), none, null_mut(), 0, none, null_mut(), 0)
        };
        if code != 0 {
            say::once(&format!("the driver does not load a rewritten library (error {code}): it runs as it is"));
            return None;
        }
        Some((library.expose_provenance(), made.module))
    };
    known::library_is(handle, known::Library { later: Box::new(later), done: OnceLock::new() });
}

pub unsafe fn cuLibraryUnload(real: &Functions, handle: *mut c_void) -> i32 {
    let other = think(|| known::library_gone(handle));
    // SAFETY: the program's call; the other one was loaded by us, for this one alone.
    unsafe {
        if let Some(other) = other {
            (real.cuLibraryUnload)(other);
        }
        (real.cuLibraryUnload)(handle)
    }
}
pub unsafe fn cuLibraryGetKernel(
    real: &Functions,
    kernel: *mut *mut c_void,
    handle: *mut c_void,
    name: *const c_char,
) -> i32 {
    let found = think(|| known::library(handle));
    let library = found.as_ref().map_or(handle, |f| f.0);
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLibraryGetKernel)(kernel, library, name) };
    // SAFETY: it has answered, so its arguments can be read.
    unsafe { named(code, kernel, name, |at, name| known::library_kernel_is(at, found.as_ref().map(|f| &f.1), name)) };
    code
}
pub unsafe fn cuLibraryGetKernelCount(real: &Functions, count: *mut u32, handle: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetKernelCount)(count, library(handle)) }
}
pub unsafe fn cuLibraryEnumerateKernels(
    real: &Functions,
    kernels: *mut *mut c_void,
    count: u32,
    handle: *mut c_void,
) -> i32 {
    let found = think(|| known::library(handle));
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLibraryEnumerateKernels)(kernels, count, found.as_ref().map_or(handle, |f| f.0)) };
    if code == 0 && count > 0 {
        think(|| {
            let module = found.as_ref().map(|f| &f.1);
            // SAFETY: the driver has filled it.
            for kernel in unsafe { from_raw_parts(kernels, count as usize) }.iter().filter(|k| !k.is_null()) {
                let mut name = std::ptr::null();
                // SAFETY: a kernel of the driver's, and a place for its name, which lives as long as its library.
                unsafe {
                    if (real.cuKernelGetName)(&mut name, *kernel) == 0 && !name.is_null() {
                        known::library_kernel_is(*kernel, module, CStr::from_ptr(name).to_str().unwrap_or_default());
                    }
                }
            }
            Some(())
        });
    }
    code
}
pub unsafe fn cuLibraryGetModule(real: &Functions, module: *mut *mut c_void, handle: *mut c_void) -> i32 {
    let found = think(|| known::library(handle));
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLibraryGetModule)(module, found.as_ref().map_or(handle, |f| f.0)) };
    if let (0, Some((_, of))) = (code, found) {
        think(|| {
            // SAFETY: the driver has put it there.
            known::module_is(unsafe { *module }, of);
            Some(())
        });
    }
    code
}
pub unsafe fn cuLibraryGetGlobal(
    real: &Functions,
    at: *mut u64,
    bytes: *mut usize,
    handle: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetGlobal)(at, bytes, library(handle), name) }
}
pub unsafe fn cuLibraryGetManaged(
    real: &Functions,
    at: *mut u64,
    bytes: *mut usize,
    handle: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetManaged)(at, bytes, library(handle), name) }
}
pub unsafe fn cuLibraryGetUnifiedFunction(
    real: &Functions,
    at: *mut *mut c_void,
    handle: *mut c_void,
    symbol: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { (real.cuLibraryGetUnifiedFunction)(at, library(handle), symbol) }
}
pub unsafe fn cuKernelGetFunction(real: &Functions, function: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuKernelGetFunction)(function, kernel) };
    if code == 0 {
        think(|| {
            // SAFETY: the driver has put it there.
            known::kernel_as(unsafe { *function }, kernel);
            Some(())
        });
    }
    code
}
pub unsafe fn cuKernelGetLibrary(real: &Functions, library: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuKernelGetLibrary)(library, kernel) };
    if code == 0 {
        think(|| {
            // SAFETY: the driver has put it there.
            unsafe {
                if let Some(own) = known::library_behind(*library) {
                    *library = own;
                }
            }
            Some(())
        });
    }
    code
}
pub unsafe fn cuKernelGetParamInfo(
    real: &Functions,
    kernel: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    if hidden(kernel, index) {
        return INVALID_VALUE;
    }
    // SAFETY: the program's call.
    unsafe { (real.cuKernelGetParamInfo)(kernel, index, offset, size) }
}
pub unsafe fn cuFuncGetParamInfo(
    real: &Functions,
    function: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    if hidden(function, index) {
        return INVALID_VALUE;
    }
    // SAFETY: the program's call.
    unsafe { (real.cuFuncGetParamInfo)(function, index, offset, size) }
}
/// Whether a parameter is one that the program does not know of.
fn hidden(kernel: *mut c_void, index: usize) -> bool {
    think(|| known::kernel(kernel)?).is_some_and(|(_, k)| k.skipped.is_none() && index >= k.params.len())
}

/// What went into a linking.
#[derive(Clone, Debug, Default)]
struct Link {
    /// Its PTX; the last, if there were several.
    ptx: String,
    inputs: usize,
    options: Vec<String>,
}
impl Link {
    fn source(self, code: &[u8], device: Target) -> Result<Source, String> {
        if self.inputs != 1 || self.ptx.is_empty() {
            return Err(format!("it was linked from {} inputs", self.inputs));
        }
        let target = prlx_driver::assemble::target(&self.ptx, device).map_err(|e| e.message)?;
        let target = target.ok_or("its `.target` is not known")?;
        // What is loaded came from this PTX: there is no other source.
        let code = Some(code.to_vec());
        Ok(Source { ptx: self.ptx, target, options: self.options, code, fidelity: Fidelity::Source })
    }
}

/// Linkings.
#[derive(Default)]
struct Links {
    /// Those that go on, by handle.
    open: HashMap<usize, Link>,
    /// Those that are done, by the hash of what came of them; at most [`KEPT`].
    done: HashMap<u128, Link>,
}
static LINKS: LazyLock<Mutex<Links>> = LazyLock::new(Mutex::default);
const KEPT: usize = 1000;

fn linked(bytes: &[u8]) -> Option<Link> {
    let links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    if links.done.is_empty() { None } else { links.done.get(&xxh3_128(bytes)).cloned() }
}
fn link(change: impl FnOnce(&mut Links)) {
    change(&mut LINKS.lock().unwrap_or_else(PoisonError::into_inner));
}

pub unsafe fn cuLinkCreate_v2(
    real: &Functions,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
    state: *mut *mut c_void,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkCreate_v2)(count, names, values, state) };
    if code == 0 {
        think(|| {
            // SAFETY: the driver has put it there; the program's options.
            let (state, options) = unsafe { (*state, options(count, names, values)) };
            link(|l| drop(l.open.insert(state.addr(), Link { options, ..Link::default() })));
            Some(())
        });
    }
    code
}
/// An input was added.
fn added(state: *mut c_void, kind: i32, bytes: impl FnOnce() -> Option<Vec<u8>>, more: Vec<String>) {
    think(|| {
        let text = (kind == input::PTX).then(bytes).flatten().and_then(|b| String::from_utf8(b).ok());
        let text = text.map(|t| t.trim_end_matches('\0').to_owned()).unwrap_or_default();
        link(|l| {
            if let Some(link) = l.open.get_mut(&state.addr()) {
                link.inputs += 1;
                link.ptx = text;
                link.options.extend(more);
            }
        });
        Some(())
    });
}
pub unsafe fn cuLinkAddData_v2(
    real: &Functions,
    state: *mut c_void,
    kind: i32,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkAddData_v2)(state, kind, data, size, name, count, names, values) };
    if code == 0 {
        // SAFETY: the program's promise: so many bytes, and its options.
        unsafe {
            added(
                state,
                kind,
                || (!data.is_null()).then(|| from_raw_parts(data.cast(), size).to_vec()),
                options(count, names, values),
            )
        };
    }
    code
}
pub unsafe fn cuLinkAddFile_v2(
    real: &Functions,
    state: *mut c_void,
    kind: i32,
    path: *const c_char,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkAddFile_v2)(state, kind, path, count, names, values) };
    if code == 0 {
        // SAFETY: the program's promise: a string that ends, and its options.
        unsafe {
            let file = || std::fs::read(OsStr::from_bytes(CStr::from_ptr(path).to_bytes())).ok();
            added(state, kind, file, options(count, names, values));
        }
    }
    code
}
pub unsafe fn cuLinkComplete(real: &Functions, state: *mut c_void, cubin: *mut *mut c_void, size: *mut usize) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkComplete)(state, cubin, size) };
    if code == 0 {
        think(|| {
            // SAFETY: the driver has put an image there.
            let bytes = unsafe { image::bytes(*cubin) }.ok()?;
            let hash = xxh3_128(bytes);
            link(|l| {
                if let Some(link) = l.open.get(&state.addr()).filter(|_| l.done.len() < KEPT) {
                    l.done.insert(hash, link.clone());
                }
            });
            Some(())
        });
    }
    code
}
pub unsafe fn cuLinkDestroy(real: &Functions, state: *mut c_void) -> i32 {
    think(|| {
        link(|l| drop(l.open.remove(&state.addr())));
        Some(())
    });
    // SAFETY: the program's call.
    unsafe { (real.cuLinkDestroy)(state) }
}
