//! Tables and records of probe programs: their declarations, and their contents.
//!
//! Records of a program are tables too: the keys name the owner of a record and its index there.
//! [`crate::device`] describes how both lie in device memory.

use crate::ids::ModuleId;
use crate::kernel::Scalar;

structures! {
    /// A table of a probe program, as declared for one module.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Table {
        /// Name without `@`; may be empty.
        pub name: String,
        /// The keys that identify a row; possibly none.
        pub keys: Vec<Field>,
        /// How the values of a row are aggregated.
        pub aggregate: Aggregate,
        /// The aggregated value, with the type that the program computes; the fields of a record; none for
        /// [`Aggregate::Count`].
        pub values: Vec<Field>,
        /// Texts to which keys of kind [`Shown::Word`] refer by index.
        pub words: Vec<String>,
    }

    /// A key or a value of a table.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Field {
        /// Name in the probe program.
        pub name: String,
        /// Type in the probe program. Rows hold 64 bits: integers are extended, floats are binary64.
        pub ty: Scalar,
        /// How reports show the number.
        pub shown: Shown,
    }

    /// Contents of a table after launches of one module. A file may have several of these for one table.
    /// Their rows are aggregated as values are.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct TableContents {
        /// Module of the table.
        pub module: ModuleId,
        /// Index into [`crate::kernel::Module::tables`].
        pub table: u32,
        /// Numbers of the first and the last launch. `None` if it covers all launches of the module.
        pub launches: Option<(u64, u64)>,
        /// Rows, in ascending order of their keys.
        pub rows: Vec<Row>,
        /// Number of values that were lost because memory was full. Rows may be missing or incomplete.
        pub lost: u64,
    }

    /// One row of a table.
    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
    pub struct Row {
        /// Values of the keys, in declared order.
        pub key: Vec<u64>,
        /// Aggregated values; [`Aggregate::cells`] gives their number.
        pub cells: Vec<u64>,
    }
}

choices! {
    /// How the values of a row are aggregated.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Aggregate {
        /// Number of values.
        Count = 0,
        /// Sum of the values in 64 bits. Integers wrap.
        Sum = 1,
        /// Number of values, and the smallest.
        Min = 2,
        /// Number of values, and the largest.
        Max = 3,
        /// Number of values, and their sum; for the mean.
        Avg = 4,
        /// Number of values in each power of two: below 0, 0, then `[2^n, 2^(n+1))` for n from 0 to 63.
        Hist = 5,
        /// Number of values in each step of a range: below it, in each step, above it.
        Lhist {
            /// Begin of the first step.
            low: i64,
            /// Width of a step, at least 1.
            step: u64,
            /// Number of steps, at most [`STEPS`].
            steps: u32,
        } = 6,
        /// Fields of a record, without aggregation.
        Record {
            /// Number of records that are kept of each owner. With 0, all owners share one memory.
            keep: u32,
            /// Whether the last records are kept, not the first ones.
            last: bool,
        } = 7,
    }
}

choices! {
    /// How reports show a number.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Shown {
        /// A plain number.
        Number = 0,
        /// A memory address.
        Address = 1,
        /// An index into the words of the table.
        Word = 2,
        /// A site: an index into the words of the table, which is its path, line and instruction, separated
        /// by U+001F.
        Site = 3,
        /// File and line of a location of the module. 2^32 - 1 stands for code without a location.
        Line = 4,
        /// A number that text shows in hexadecimal: a mask of lanes, or an address in a record.
        Hex = 5,
    }
}

#[expect(clippy::derivable_impls, reason = "the table has no place for #[default]")]
impl Default for Shown {
    fn default() -> Self {
        Shown::Number
    }
}

/// Key of code without a known line, for keys of kind [`Shown::Line`].
pub const NO_LINE: u64 = u32::MAX as u64;
/// Stands between the path, line and instruction of a site in the words of a table.
pub const SITE_SEPARATOR: char = '\u{1f}';
/// Maximum number of steps of [`Aggregate::Lhist`].
pub const STEPS: u32 = 1 << 12;
/// Number of cells of [`Aggregate::Hist`].
pub const POWERS: usize = 66;

impl Aggregate {
    /// Number of cells of a row. A record has one cell for each of its `fields`.
    pub fn cells(self, fields: usize) -> usize {
        match self {
            Aggregate::Count | Aggregate::Sum => 1,
            Aggregate::Min | Aggregate::Max | Aggregate::Avg => 2,
            Aggregate::Hist => POWERS,
            Aggregate::Lhist { steps, .. } => steps as usize + 2,
            Aggregate::Record { .. } => fields,
        }
    }

    /// Index of the histogram cell that counts a value, an integer of 64 bits.
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

    /// Merges the cells of a row into those of another row with the same keys. `ty` is the 64-bit type of the
    /// value.
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
