//! Intercepts the program's driver calls.
//!
//! Programs find driver functions in three ways. Linked: the exports of this library come first. By `dlsym`:
//! this library exports it too. By `cuGetProcAddress`: its export here changes the answers.

mod dlsym;
pub mod driver_functions;
mod exports;
