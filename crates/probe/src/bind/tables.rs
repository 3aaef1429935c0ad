//! The tables of a program over all sites of a module: types, rows, words.
//!
//! PRLX binds a module twice. The first time collects the types of values and the rows with constant keys;
//! the second time uses them.

use std::collections::HashMap;

use prlx_trace::WarpSize;
use prlx_trace::device::tables::{Layout, Part, Records, Rows, Which};
use prlx_trace::kernel::Scalar;
use prlx_trace::table::{Aggregate, Field, Shown, Table};

use super::value::Reason;
use crate::lang::{Expr, Script, Stmt, Update};
use prlx_plan::VariableScope;
use prlx_plan::code::Ty;

/// Logarithm of how many rows a table has whose rows are not known.
const ROWS: u32 = 16;
/// Most bytes of such a table, and most rows that may be known.
const BYTES: u64 = 64 << 20;
const KNOWN: usize = 1 << 16;

/// What is known of a key.
pub(super) type KeyPart = (Shown, Ty);

/// A table so far.
#[derive(Clone, Debug, Default)]
struct Seen {
    value: Option<Ty>,
    /// A value is of another type than `f32`, so that floats have the digits of an `f64`.
    double: bool,
    keys: Option<Vec<KeyPart>>,
    /// The same, by key.
    double_keys: Vec<bool>,
    /// Keys of known rows, with their numbers.
    rows: HashMap<Vec<u64>, u32>,
    /// There are rows that are not known.
    open: bool,
}

/// The type that a table declares for a value: `f32` for floats that were all of that type. Rows have 64 bits
/// all the same.
fn digits(ty: Ty, double: bool) -> Scalar {
    if ty == Ty::F64 && !double { Scalar::F32 } else { ty.scalar() }
}

/// All tables so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    seen: Vec<Seen>,
    words: Vec<String>,
    known_words: HashMap<String, u64>,
    /// The second time.
    settled: bool,
}

impl Tables {
    pub fn new(script: &Script) -> Tables {
        Tables { seen: vec![Seen::default(); script.tables.len()], ..Tables::default() }
    }
    /// From here on, what was seen is what is.
    pub fn settle(&mut self) {
        self.settled = true;
    }
    /// A value of type `ty` is aggregated: the type that the table has.
    pub fn value(&mut self, table: usize, ty: Ty) -> Ty {
        let Some(seen) = self.seen.get_mut(table) else { return ty.wide() };
        let wide = match (seen.value, ty.wide()) {
            (None, new) => new,
            (Some(Ty::F64), _) | (_, Ty::F64) => Ty::F64,
            (Some(Ty::S64), _) | (_, Ty::S64) => Ty::S64,
            _ => Ty::U64,
        };
        seen.value = Some(wide);
        seen.double |= ty != Ty::F32;
        wide
    }
    /// A row has keys of these kinds.
    pub fn keys(&mut self, table: usize, keys: &[KeyPart]) -> Result<(), Reason> {
        let Some(seen) = self.seen.get_mut(table) else { return Ok(()) };
        let before = seen.keys.get_or_insert_with(|| keys.iter().map(|k| (k.0, k.1.wide())).collect());
        seen.double_keys.resize(keys.len().max(seen.double_keys.len()), false);
        seen.double_keys.iter_mut().zip(keys).for_each(|(double, key)| *double |= key.1 != Ty::F32);
        for (old, new) in before.iter_mut().zip(keys) {
            old.0 = match (old.0, new.0) {
                (old, new) if old == new => old,
                (Shown::Hex, Shown::Number) | (Shown::Number, Shown::Hex) => Shown::Number,
                (Shown::Site, Shown::Word) | (Shown::Word, Shown::Site) => Shown::Word,
                (old, _) => old,
            };
            let same = old.0 == new.0
                || matches!((old.0, new.0), (Shown::Number, Shown::Hex) | (Shown::Word, Shown::Site));
            if !same {
                return Err("this key has another kind at another site".to_owned());
            }
            old.1 = match (old.1, new.1.wide()) {
                (Ty::F64, _) | (_, Ty::F64) => Ty::F64,
                (Ty::S64, _) | (_, Ty::S64) => Ty::S64,
                _ => Ty::U64,
            };
        }
        Ok(())
    }
    /// Whether a row of known keys is found by number: if all of the table are.
    pub fn knows(&mut self, table: usize, key: &[u64]) -> bool {
        let Some(seen) = self.seen.get_mut(table) else { return false };
        let full = seen.rows.len() >= KNOWN && !seen.rows.contains_key(key);
        if full {
            seen.open = true;
        }
        !(self.settled && seen.open)
    }
    /// A row is found at run time.
    pub fn open(&mut self, table: usize) {
        if let Some(seen) = self.seen.get_mut(table) {
            seen.open = true;
        }
    }
    /// The number of a known row.
    pub fn row(&mut self, table: usize, key: &[u64]) -> u32 {
        let Some(seen) = self.seen.get_mut(table) else { return 0 };
        let next = seen.rows.len() as u32;
        *seen.rows.entry(key.to_vec()).or_insert(next)
    }
    /// The number of a text that is a key.
    pub fn word(&mut self, text: &str) -> u64 {
        if let Some(n) = self.known_words.get(text) {
            return *n;
        }
        let n = self.words.len() as u64;
        self.words.push(text.to_owned());
        self.known_words.insert(text.to_owned(), n);
        n
    }

    /// What the trace keeps of tables and records, and where they lie. `once`: of which records no thread
    /// writes more than one.
    pub fn finish(
        self,
        script: &Script,
        once: &[bool],
        warp_size: WarpSize,
    ) -> (Vec<Table>, Vec<Layout>, Records) {
        let (mut tables, mut layouts) = (Vec::new(), Vec::new());
        let mut at = 0;
        for (of, seen) in script.tables.iter().zip(self.seen) {
            let value = seen.value.unwrap_or(Ty::U64);
            let keys = seen.keys.unwrap_or_else(|| vec![(Shown::Number, Ty::U64); of.keys]);
            let words = if keys.iter().any(|k| matches!(k.0, Shown::Word | Shown::Site)) {
                self.words.clone()
            } else {
                Vec::new()
            };
            let values = match of.aggregate {
                Aggregate::Count => Vec::new(),
                _ => {
                    let ty = digits(value, seen.double);
                    vec![Field { name: "value".to_owned(), ty, shown: Shown::Number }]
                }
            };
            let names = key_names(script, tables.len());
            let field = |(i, (shown, ty)): (usize, (Shown, Ty))| Field {
                name: names.get(i).cloned().unwrap_or_default(),
                ty: digits(ty, seen.double_keys.get(i).copied().unwrap_or(true)),
                shown,
            };
            tables.push(Table {
                name: of.name.clone(),
                keys: keys.iter().copied().enumerate().map(field).collect(),
                aggregate: of.aggregate,
                values,
                words,
            });
            let rows = match seen.open {
                true => Rows::Hashed { keys: keys.len(), log: ROWS },
                false => {
                    let mut rows: Vec<(Vec<u64>, u32)> = seen.rows.into_iter().collect();
                    rows.sort_unstable_by_key(|r| r.1);
                    Rows::Known(rows.into_iter().map(|r| r.0).collect())
                }
            };
            let mut layout = Layout { at, rows, aggregate: of.aggregate, ty: value.scalar() };
            if let Rows::Hashed { keys, log } = &mut layout.rows {
                let row = 8 + 8 * *keys as u64 + 8 * of.aggregate.cells(0) as u64;
                while *log > 3 && row << *log > BYTES {
                    *log -= 1;
                }
            }
            at += layout.bytes();
            layouts.push(layout);
        }
        let mut parts = Vec::new();
        for (i, (r, once)) in script.records.iter().zip(once).enumerate() {
            let hexadecimal = hexadecimal_fields(script, i);
            let of_lane = r.of == VariableScope::Thread;
            let field = |name: &str, ty: Scalar| Field { name: name.to_owned(), ty, shown: Shown::Number };
            tables.push(Table {
                name: r.name.clone(),
                keys: vec![
                    field(if of_lane { "thread" } else { "warp" }, Scalar::U64),
                    field("nth", Scalar::U64),
                ],
                aggregate: match r.which {
                    Which::Room => Aggregate::Record { keep: 0, last: false },
                    which => Aggregate::Record { keep: r.keep, last: which == Which::Last },
                },
                values: (r.fields.iter().enumerate())
                    .map(|(n, (name, ty))| Field {
                        shown: if hexadecimal.contains(&n) { Shown::Hex } else { Shown::Number },
                        ..field(name, ty.wide().scalar())
                    })
                    .collect(),
                words: Vec::new(),
            });
            let fields = r.fields.iter().map(|(_, ty)| ty.scalar()).collect();
            parts.push(Part { at: 0, of_lane, warp_size, fields, keep: r.keep, which: r.which, once: *once });
        }
        let held = script.vars.iter().filter(|v| v.of != VariableScope::Thread).count();
        (tables, layouts, Records::new(held, parts))
    }
}

/// A part of the program with the parentheses around its ends, which no span of an expression contains.
fn balanced(text: &str) -> String {
    let (mut open, mut missing) = (0usize, 0usize);
    for c in text.chars() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => missing += 1,
            ')' => open -= 1,
            _ => {}
        }
    }
    format!("{}{text}{}", "(".repeat(missing), ")".repeat(open))
}

/// The fields of a record that every statement that saves it fills with an address or a mask of lanes.
fn hexadecimal_fields(script: &Script, record: usize) -> Vec<usize> {
    fn saves<'a>(body: &'a [Stmt], record: usize, out: &mut Vec<&'a [Expr]>) {
        for stmt in body {
            match stmt {
                Stmt::Save { record: own, fields, .. } if *own == record => out.push(fields),
                Stmt::If(_, then, other) => {
                    saves(then, record, out);
                    saves(other, record, out);
                }
                Stmt::For(_, _, body, _) => saves(body, record, out),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    script.clauses.iter().for_each(|c| saves(&c.body, record, &mut all));
    let count = script.records.get(record).map_or(0, |r| r.fields.len());
    let is = |n: &usize| !all.is_empty() && all.iter().all(|f| f.get(*n).is_some_and(Expr::is_hexadecimal));
    (0..count).filter(is).collect()
}

/// Keys as the program writes them, where the table is first updated.
fn key_names(script: &Script, table: usize) -> Vec<String> {
    fn find(body: &[Stmt], table: usize) -> Option<&Update> {
        body.iter().find_map(|stmt| match stmt {
            Stmt::Update(update) if update.table == table => Some(update),
            Stmt::If(_, then, other) => find(then, table).or_else(|| find(other, table)),
            Stmt::For(_, _, body, _) => find(body, table),
            _ => None,
        })
    }
    let update = script.clauses.iter().find_map(|c| find(&c.body, table));
    let text = |e: &Expr| balanced(script.text.get(e.span.clone()).unwrap_or_default());
    update.map(|u| u.key.iter().map(text).collect()).unwrap_or_default()
}
