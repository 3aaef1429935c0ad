//! The macro with which all modules of this folder call the driver.

/// Calls a function of the call table and turns its result into a `Result`.
macro_rules! call {
    ($self:ident.$name:ident($($arg:expr),*)) => {
        // SAFETY: C1: the function has the type of its row. C2: the arguments are local variables, fields of
        // a borrowed value, or addresses in device memory, which the driver checks; all of them outlive the
        // call. C3: handles come from the driver or from `foreign`.
        match unsafe { ($self.functions.$name)($($arg),*) } {
            0 => Ok(()),
            code => Err($self.failure(stringify!($name), code)),
        }
    };
}
