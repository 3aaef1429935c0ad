//! Calls one function of the driver's table and turns its answer into a `Result`.

/// Makes a call of the table; what it answers becomes a `Result`.
macro_rules! call {
    ($self:ident.$name:ident($($arg:expr),*)) => {
        // SAFETY: the module's invariant: pointers live through the call and have the size it is told.
        match unsafe { ($self.functions.$name)($($arg),*) } {
            0 => Ok(()),
            code => Err($self.failure(stringify!($name), code)),
        }
    };
}
