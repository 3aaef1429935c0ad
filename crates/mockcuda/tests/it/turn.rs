//! One test at a time: the mock has one device for each process, and some tests leave a dead context until
//! they end.

use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard};

use prlx_driver::cuda::VARIABLE;

static TURN: LazyLock<Mutex<()>> = LazyLock::new(|| {
    #[expect(unsafe_code, reason = "tests have no other way to name the library")]
    // SAFETY: `set_var` must not run beside another access to the environment. This runs once, and every test
    // that uses the driver library waits here before it opens the library, which is the first to read these
    // variables.
    unsafe {
        std::env::set_var(VARIABLE, driver());
        std::env::set_var("PRLX_MOCK_KERNEL_MICROS", "100");
    }
    Mutex::new(())
});

/// Waits for the device. A test holds the guard until it has released the device's context.
pub fn take() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|e| e.into_inner())
}

/// The driver library: the mock, or what `PRLX_TEST_LIBCUDA` names. On a real driver each test needs a
/// process of its own, because a dead context stays dead there.
pub fn driver() -> PathBuf {
    let mock = || std::env::current_exe().unwrap().with_file_name("libprlx_mockcuda.so");
    std::env::var_os("PRLX_TEST_LIBCUDA").map_or_else(mock, PathBuf::from)
}
