//! Tables and records of probe programs: their declarations, and their contents.
//!
//! Records of a program are tables too: the keys name the owner of a record and its index there.
//! [`crate::device`] describes how both lie in device memory.

use crate::ids::ModuleId;
use crate::kernel::Scalar;

structures! {
    /// A table of a probe program, as it is for one module.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Table {
        /// Its name without `@`, perhaps empty.
        pub name: String,
        /// The keys that identify a row; possibly none.
        pub keys: Vec<Field>,
        /// How values come together in a row.
        pub aggregate: Aggregate,
        /// What is aggregated: one, with its type as the program computes it, none for [`Aggregate::Count`];
        /// a record's fields.
        pub values: Vec<Field>,
        /// Texts that keys are numbers of.
        pub words: Vec<String>,
    }

    /// A key, or a value.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Field {
        /// As the program calls it.
        pub name: String,
        /// Its type; in rows it has 64 bits: sign- or zero-extended, floats as a binary64.
        pub ty: Scalar,
        /// What the number means.
        pub shown: Shown,
    }

    /// What was in a table at the end, of one module's launches. A file may have several of one table: their
    /// rows come together as values do.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct TableContents {
        /// Module of the table.
        pub module: ModuleId,
        /// Index into [`crate::kernel::Module::tables`].
        pub table: u32,
        /// Of which launches, by number: first and last. `None`: of all launches of the module.
        pub launches: Option<(u64, u64)>,
        /// Rows, by ascending keys.
        pub rows: Vec<Row>,
        /// Values that found no room: rows that are not there, or not all.
        pub lost: u64,
    }

    /// One row of a table.
    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
    pub struct Row {
        /// Values of the keys, in declared order.
        pub key: Vec<u64>,
        /// What [`Aggregate::cells`] says.
        pub cells: Vec<u64>,
    }
}

choices! {
    /// How values come together in a row.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Aggregate {
        /// How often: a number.
        Count = 0,
        /// Their sum, in 64 bits: integers wrap.
        Sum = 1,
        /// The least: how often, and which.
        Min = 2,
        /// The greatest: how often, and which.
        Max = 3,
        /// Their mean: how often, and the sum.
        Avg = 4,
        /// How often in each power of two: below 0, 0, then `[2^n, 2^(n+1))` for n from 0 to 63.
        Hist = 5,
        /// How often in each step of a range: below it, then each step, then above it.
        Lhist {
            /// Where the first step begins.
            low: i64,
            /// How wide a step is, at least 1.
            step: u64,
            /// How many steps there are, at most [`STEPS`].
            steps: u32,
        } = 6,
        /// A record's fields, as they are.
        Record {
            /// How many of a holder are kept; 0: as many as there was room for, which all holders share.
            keep: u32,
            /// The last ones, not the first.
            last: bool,
        } = 7,
    }
}

choices! {
    /// What a key's number means.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Shown {
        /// A plain number.
        Number = 0,
        /// A memory address.
        Address = 1,
        /// One of the table's words.
        Word = 2,
        /// One of the module's sites.
        Site = 3,
        /// One of the module's locations: its file and line; 2^32 - 1 is code without one.
        Line = 4,
    }
}

#[expect(clippy::derivable_impls, reason = "the table has no place for #[default]")]
impl Default for Shown {
    fn default() -> Self {
        Shown::Number
    }
}

/// The key of code of which no line is known, where keys are lines.
pub const NO_LINE: u64 = u32::MAX as u64;
/// Most steps of [`Aggregate::Lhist`].
pub const STEPS: u32 = 1 << 12;
/// Cells of [`Aggregate::Hist`].
pub const POWERS: usize = 66;

impl Aggregate {
    /// How many cells a row has; a record's are its fields.
    pub fn cells(self, fields: usize) -> usize {
        match self {
            Aggregate::Count | Aggregate::Sum => 1,
            Aggregate::Min | Aggregate::Max | Aggregate::Avg => 2,
            Aggregate::Hist => POWERS,
            Aggregate::Lhist { steps, .. } => steps as usize + 2,
            Aggregate::Record { .. } => fields,
        }
    }

    /// Which cell of a histogram counts a value, an integer of 64 bits.
    pub fn bucket(self, value: u64, signed: bool) -> usize {
        let negative = signed && value.cast_signed() < 0;
        match self {
            Aggregate::Lhist { low, step, steps } => {
                let value = if signed { i128::from(value.cast_signed()) } else { i128::from(value) };
                match value - i128::from(low) {
                    below if below < 0 => 0,
                    over => {
                        let cell = (over / i128::from(step.max(1))).min(i128::from(steps));
                        usize::try_from(cell).map_or(0, |cell| 1 + cell)
                    }
                }
            }
            _ if negative => 0,
            _ => value.checked_ilog2().map_or(1, |power| 2 + power as usize),
        }
    }

    /// Lets a row take what another of the same key has. `ty` is that of the value, as kept in rows.
    pub fn merge(self, into: &mut [u64], from: &[u64], ty: Scalar) {
        let add = |a: u64, b: u64, ty: Scalar| match ty {
            Scalar::F64 => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
            _ => a.wrapping_add(b),
        };
        let less = |a: u64, b: u64| match ty {
            Scalar::F64 => f64::from_bits(a).total_cmp(&f64::from_bits(b)).is_lt(),
            Scalar::S64 => a.cast_signed() < b.cast_signed(),
            _ => a < b,
        };
        match (self, into, from) {
            (Aggregate::Sum, [sum], [more]) => *sum = add(*sum, *more, ty),
            (Aggregate::Avg, [n, sum], [m, more]) => {
                *n = n.wrapping_add(*m);
                *sum = add(*sum, *more, ty);
            }
            (Aggregate::Min | Aggregate::Max, [n, value], [m, other]) => {
                let better = if self == Aggregate::Min { less(*other, *value) } else { less(*value, *other) };
                if *m > 0 && (*n == 0 || better) {
                    *value = *other;
                }
                *n = n.wrapping_add(*m);
            }
            (_, into, from) => into.iter_mut().zip(from).for_each(|(a, b)| *a = a.wrapping_add(*b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_have_a_cell_for_every_value() {
        let hist = Aggregate::Hist;
        let of = |v: i64| hist.bucket(v.cast_unsigned(), true);
        assert_eq!([of(-1), of(0), of(1), of(2), of(3), of(4), of(i64::MAX)], [0, 1, 2, 3, 3, 4, 64]);
        assert_eq!(hist.bucket(u64::MAX, false), POWERS - 1);
        let steps = Aggregate::Lhist { low: -10, step: 5, steps: 4 };
        let of = |v: i64| steps.bucket(v.cast_unsigned(), true);
        assert_eq!([of(-11), of(-10), of(-6), of(-5), of(9), of(10), of(i64::MAX)], [0, 1, 1, 2, 4, 5, 5]);
        assert_eq!(steps.cells(1), 6);
        assert_eq!(steps.bucket(u64::MAX, false), 5);
    }

    #[test]
    fn rows_come_together_as_values_do() {
        let merged = |aggregate: Aggregate, a: [u64; 2], b: [u64; 2], ty| {
            let mut into = a;
            aggregate.merge(&mut into, &b, ty);
            into
        };
        let minus = (-3i64).cast_unsigned();
        assert_eq!(merged(Aggregate::Min, [2, 5], [1, minus], Scalar::S64), [3, minus]);
        assert_eq!(merged(Aggregate::Min, [2, 5], [1, minus], Scalar::U64), [3, 5]);
        assert_eq!(merged(Aggregate::Max, [0, 7], [1, 2], Scalar::U64), [1, 2]);
        let half = 0.5f64.to_bits();
        assert_eq!(merged(Aggregate::Avg, [2, half], [1, half], Scalar::F64), [3, 1f64.to_bits()]);
    }
}
