//! How the program's driver calls come to this library.
//!
//! Programs find driver functions in three ways. Linked: the exports of this library come first. By `dlsym`,
//! which is exported here too. By `cuGetProcAddress`, whose answers are changed.

mod dlsym;
pub mod driver_functions;
mod exports;
