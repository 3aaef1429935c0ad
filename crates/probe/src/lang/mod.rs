//! The probe language: `tracepoint /predicate/ { action }`.
//!
//! [`parse`] turns a text into a [`Script`]; errors point into the text ([`ProbeError`]). What a program
//! means at the places of a module is `bind`'s work, when a plan is resolved. The language's reference is
//! docs/probes.md.

mod ast;
mod availability;
mod builtin;
mod check;
pub(crate) mod constant;
mod error;
mod function;
mod order;
mod parse;
mod print;
mod token;
mod types;

pub use ast::{
    Clause, Expr, ExprKind, Record, Script, Side, Span, Stmt, Table, Tracepoint, Update, Var, What,
};
pub use builtin::{BUILTINS, Builtin, Gives, Index};
pub use check::{FIELDS, KEEP, KEYS, LOCALS, MERGES, POINTS, RECORDS, STATEMENTS, TABLES, TRIPS, VARS};
pub use error::ProbeError;
pub(crate) use error::{MAX_ERRORS, nearest};
pub use function::{AGGREGATES, FUNCTIONS, Function};
pub use parse::{TRACEPOINTS, parse};
pub use types::{alone, common, fits, promoted, range};
