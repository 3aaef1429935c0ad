//! The NVTX ranges that have begun and not ended.
//!
//! # Invariants
//! - Pushed ranges belong to their thread. A pop ends the last one of its domain on that thread.
//! - Started ranges belong to the process.
//!
//! # Limitations
//! Of the ranges that a thread has pushed, the outermost [`DEPTH`] have names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use prlx_trace::launch::RangeName;

/// Maximum length of a range's name in bytes; the rest is cut off.
pub const NAME_BYTES: usize = 1024;

/// Maximum number of named ranges on a thread's stack. A program that never pops would make every launch
/// longer.
const DEPTH: usize = 64;

/// A range that has begun.
struct Open {
    /// Handle of its domain; 0 for the default domain.
    domain: usize,
    /// Number among all ranges of the process.
    instance: u64,
    /// `None` beyond [`DEPTH`].
    name: Option<Arc<RangeName>>,
}

thread_local! {
    static PUSHED: RefCell<Vec<Open>> = const { RefCell::new(Vec::new()) };
}
/// Ranges that were started, with their ids.
static STARTED: Mutex<Vec<(u64, Open)>> = Mutex::new(Vec::new());
/// Number of ranges that have begun so far.
static BEGUN: AtomicU64 = AtomicU64::new(0);
/// Names of domains and registered strings, by handle.
static DOMAINS: LazyLock<Mutex<HashMap<usize, String>>> = LazyLock::new(Mutex::default);
static STRINGS: LazyLock<Mutex<HashMap<usize, String>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A range that begins. PyTorch's `emit_nvtx` appends a number to the name of each operator (`aten::mm, seq =
/// 7`), which is cut off: the names of one operator are then equal.
fn open(domain: usize, mut name: String, named: bool) -> Open {
    for number in [", seq = ", ", op_id = "] {
        name.truncate(name.find(number).unwrap_or(name.len()));
    }
    let instance = BEGUN.fetch_add(1, Ordering::Relaxed);
    let domain_name = || match domain {
        0 => String::new(),
        _ => lock(&DOMAINS).get(&domain).cloned().unwrap_or_default(),
    };
    let name = named.then(|| Arc::new(RangeName { name, domain: domain_name() }));
    Open { domain, instance, name }
}

/// Pushes a range. Returns its level in its domain, from 0.
pub fn push(domain: usize, name: String) -> c_int {
    PUSHED
        .try_with(|pushed| {
            let mut pushed = pushed.borrow_mut();
            let level = pushed.iter().filter(|r| r.domain == domain).count();
            let named = pushed.len() < DEPTH;
            pushed.push(open(domain, name, named));
            level as c_int
        })
        .unwrap_or(-1)
}

/// Pops a range. Returns its level in its domain, or -1 if there is none.
pub fn pop(domain: usize) -> c_int {
    PUSHED
        .try_with(|pushed| {
            let mut pushed = pushed.borrow_mut();
            let Some(at) = pushed.iter().rposition(|r| r.domain == domain) else { return -1 };
            pushed.remove(at);
            pushed.iter().filter(|r| r.domain == domain).count() as c_int
        })
        .unwrap_or(-1)
}

/// Starts a range of the process. Returns its id: `theirs`, if another library has given it one.
pub fn start(domain: usize, name: String, theirs: Option<u64>) -> u64 {
    let range = open(domain, name, true);
    let id = theirs.unwrap_or(range.instance + 1);
    lock(&STARTED).push((id, range));
    id
}

/// Ends a range of the process.
pub fn end(id: u64) {
    lock(&STARTED).retain(|(started, _)| *started != id);
}

/// Registers a string. Returns its handle.
pub fn register(text: String, theirs: Option<usize>) -> usize {
    named(&STRINGS, text, theirs)
}

/// Creates a domain. Returns its handle.
pub fn domain(name: String, theirs: Option<usize>) -> usize {
    named(&DOMAINS, name, theirs)
}

/// Keeps a name. Returns its handle: `theirs`, if another library has given it one.
fn named(names: &Mutex<HashMap<usize, String>>, name: String, theirs: Option<usize>) -> usize {
    let mut names = lock(names);
    let handle = theirs.unwrap_or(names.len() + 1);
    names.insert(handle, name);
    handle
}

/// The text of a registered string.
pub fn registered(handle: usize) -> String {
    lock(&STRINGS).get(&handle).cloned().unwrap_or_default()
}

/// The ranges around what this thread does now, in the order in which they began, with their numbers.
pub fn current() -> Vec<(Arc<RangeName>, u64)> {
    if BEGUN.load(Ordering::Relaxed) == 0 {
        return Vec::new();
    }
    let named = |range: &Open| range.name.clone().map(|name| (name, range.instance));
    let mut all: Vec<_> = lock(&STARTED).iter().filter_map(|(_, range)| named(range)).collect();
    let _ = PUSHED.try_with(|pushed| all.extend(pushed.borrow().iter().filter_map(named)));
    all.sort_by_key(|(_, instance)| *instance);
    all
}
