//! Merges the tables of recordings: tables of the same name, aggregate and kinds of keys become one.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::Trace;
use prlx_trace::device::tables::ordered;
use prlx_trace::kernel::{Module, Scalar};
use prlx_trace::table::{self, Aggregate, Field, SITE_SEPARATOR, Shown, TableContents};

use super::model::{Tallies, TallyKey, TallyRow, TallyTable, wide};

impl Tallies {
    /// Merges the tables of recordings, each given with a unique name.
    pub fn of(recordings: &[(String, &Trace)]) -> Tallies {
        let mut tallies = Tallies::default();
        let mut groups: Vec<TableGroup<'_>> = Vec::new();
        for (recording, (_, trace)) in recordings.iter().enumerate() {
            for (m, module) in trace.modules.iter().enumerate() {
                for file in &module.files {
                    if let Some(text) = &file.text {
                        tallies.sources.entry(file.path.clone()).or_insert_with(|| text.clone());
                    }
                }
                for (t, table) in module.tables.iter().enumerate() {
                    let own = |tally: &&TableContents| tally.module.index() == m && tally.table as usize == t;
                    let group = groups.iter().position(|g| g.takes(table)).unwrap_or_else(|| {
                        groups.push(TableGroup { table, parts: Vec::new() });
                        groups.len() - 1
                    });
                    let parts = trace.tallies.iter().filter(own).map(|tally| TablePart {
                        recording,
                        module,
                        table,
                        tally,
                    });
                    groups[group].parts.extend(parts);
                }
            }
        }
        tallies.tables = groups.iter().map(|g| g.merged(recordings)).collect();
        tallies.drop_untouched();
        tallies
    }

    /// Removes the rows of sums where nothing was added: rows of 0 whose keys no other table with the same
    /// keys has, unless that is a row of 0 as well.
    fn drop_untouched(&mut self) {
        let names = |t: &TallyTable| t.keys.iter().map(|k| k.name.clone()).collect::<Vec<_>>();
        let empty = |t: &TallyTable, row: &TallyRow| t.aggregate == Aggregate::Sum && row.cells == [0];
        let mut touched: BTreeSet<(Vec<String>, Vec<TallyKey>)> = BTreeSet::new();
        for table in &self.tables {
            let rows = table.rows.iter().filter(|row| !empty(table, row));
            touched.extend(rows.map(|row| (names(table), row.keys.clone())));
        }
        for table in self.tables.iter_mut().filter(|t| t.aggregate == Aggregate::Sum && !t.keys.is_empty()) {
            let names = names(table);
            table.rows.retain(|row| row.cells != [0] || touched.contains(&(names.clone(), row.keys.clone())));
        }
    }
}

/// Tables that are merged into one.
struct TableGroup<'a> {
    table: &'a table::Table,
    parts: Vec<TablePart<'a>>,
}

struct TablePart<'a> {
    recording: usize,
    module: &'a Module,
    table: &'a table::Table,
    tally: &'a TableContents,
}

impl TableGroup<'_> {
    fn takes(&self, other: &table::Table) -> bool {
        let kinds = |t: &table::Table| t.keys.iter().map(|k| k.shown).collect::<Vec<_>>();
        let names = |t: &table::Table| t.values.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
        let of = self.table;
        (&of.name, of.aggregate, kinds(of), names(of))
            == (&other.name, other.aggregate, kinds(other), names(other))
    }

    /// Whether value `i` has type `f32` in every part.
    fn is_single(&self, i: usize) -> bool {
        self.parts.iter().all(|p| p.table.values.get(i).is_some_and(|v| v.ty == Scalar::F32))
    }

    fn merged(&self, recordings: &[(String, &Trace)]) -> TallyTable {
        let aggregate = self.table.aggregate;
        let record = matches!(aggregate, Aggregate::Record { .. });
        let mut values = self.table.values.clone();
        for (i, value) in values.iter_mut().enumerate() {
            let each = self.parts.iter().filter_map(|p| p.table.values.get(i)).map(|v| wide(v.ty));
            value.ty = each.reduce(wider).unwrap_or_else(|| wide(value.ty));
        }
        // Records of several launches stay apart; so do those of several recordings.
        let several = |of: &dyn Fn(&TablePart<'_>) -> u64| {
            record && self.parts.iter().map(of).collect::<BTreeSet<u64>>().len() > 1
        };
        let launch = |p: &TablePart<'_>| p.tally.launches.map_or(0, |l| l.0);
        let of_recordings = several(&|p| p.recording as u64);
        let of_launches = several(&launch);
        let mut keys = self.table.keys.clone();
        // A text as it stands in the program is one of several that the key can be.
        keys.iter_mut().filter(|k| k.name.starts_with('"')).for_each(|k| k.name = "text".to_owned());
        let key = |name: &str, shown| Field { name: name.to_owned(), ty: Scalar::U64, shown };
        if of_launches {
            keys.insert(0, key("launch", Shown::Number));
        }
        if of_recordings {
            keys.insert(0, key("recording", Shown::Word));
        }
        let mut rows: BTreeMap<Vec<TallyKey>, Vec<u64>> = BTreeMap::new();
        let mut lost = 0u64;
        for part in &self.parts {
            lost = lost.saturating_add(part.tally.lost);
            for row in &part.tally.rows {
                let mut at = Vec::with_capacity(keys.len());
                if of_recordings {
                    let name = recordings.get(part.recording).map(|r| r.0.clone());
                    at.push(TallyKey::Recording(part.recording, name.unwrap_or_default()));
                }
                if of_launches {
                    at.push(TallyKey::Int(launch(part).into()));
                }
                at.extend(
                    row.key
                        .iter()
                        .zip(&part.table.keys)
                        .map(|(bits, field)| TallyKey::of(*bits, field, part)),
                );
                let mut cells = row.cells.clone();
                for (i, (to, from)) in values.iter().zip(&part.table.values).enumerate() {
                    if let Some(cell) = value_cell(aggregate, i).and_then(|c| cells.get_mut(c)) {
                        *cell = converted(*cell, wide(from.ty), to.ty);
                    }
                }
                match rows.get_mut(&at) {
                    Some(into) => aggregate.merge(into, &cells, values.first().map_or(Scalar::U64, |v| v.ty)),
                    None => drop(rows.insert(at, cells)),
                }
            }
        }
        for (i, _) in values.iter().enumerate().filter(|(i, _)| self.is_single(*i)) {
            let cell = |cells| value_cell(aggregate, i).and_then(move |c| <[u64]>::get_mut(cells, c));
            rows.values_mut().filter_map(|cells| cell(cells)).for_each(|cell| *cell = as_single(*cell));
        }
        let rows = rows.into_iter().map(|(keys, cells)| TallyRow { keys, cells }).collect();
        let mut table = TallyTable { name: self.table.name.clone(), keys, aggregate, values, rows, lost };
        table.sort();
        table
    }
}

/// A number of type `f32`, stored as a binary64, with the digits that it has as an `f32`: 0.1 instead of
/// 0.10000000149011612. A sum that no `f32` holds stays as it is.
fn as_single(bits: u64) -> u64 {
    let exact = f64::from_bits(bits);
    let single = exact as f32;
    let shortest = if f64::from(single) == exact { single.to_string().parse().ok() } else { None };
    shortest.map_or(bits, f64::to_bits)
}

/// Which cell holds value `i`, if one does.
fn value_cell(aggregate: Aggregate, i: usize) -> Option<usize> {
    match aggregate {
        Aggregate::Sum => Some(0),
        Aggregate::Min | Aggregate::Max | Aggregate::Avg => Some(1),
        Aggregate::Record { .. } => Some(i),
        Aggregate::Count | Aggregate::Hist | Aggregate::Lhist { .. } => None,
    }
}

fn wider(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::F64, _) | (_, Scalar::F64) => Scalar::F64,
        (Scalar::S64, _) | (_, Scalar::S64) => Scalar::S64,
        _ => Scalar::U64,
    }
}

fn converted(bits: u64, from: Scalar, to: Scalar) -> u64 {
    match (from, to) {
        (Scalar::U64, Scalar::F64) => (bits as f64).to_bits(),
        (Scalar::S64, Scalar::F64) => (bits.cast_signed() as f64).to_bits(),
        _ => bits,
    }
}

impl TallyKey {
    fn of(bits: u64, field: &Field, part: &TablePart<'_>) -> TallyKey {
        let place = |loc: Option<&prlx_trace::kernel::Loc>| {
            let loc = loc?;
            Some((part.module.files.get(loc.file.index())?.path.clone(), loc.line))
        };
        let index = usize::try_from(bits).unwrap_or(usize::MAX);
        match field.shown {
            Shown::Number if wide(field.ty) == Scalar::F64 => {
                let shown = if field.ty == Scalar::F32 { as_single(bits) } else { bits };
                TallyKey::Float(ordered(bits, Scalar::F64), shown)
            }
            Shown::Number if field.ty.signed() => TallyKey::Int(bits.cast_signed().into()),
            Shown::Number => TallyKey::Int(bits.into()),
            Shown::Address => TallyKey::Address(bits),
            Shown::Hex => TallyKey::Hex(bits),
            Shown::Line => match place(part.module.locs.get(index)) {
                Some((path, line)) => TallyKey::Line(path, line),
                None => TallyKey::Word("no line".to_owned()),
            },
            Shown::Word | Shown::Site => {
                let word = part.table.words.get(index).map_or("", String::as_str);
                if !word.contains(SITE_SEPARATOR) {
                    return TallyKey::Word(word.to_owned());
                }
                let mut fields = word.splitn(3, SITE_SEPARATOR);
                let path = fields.next().unwrap_or_default().to_owned();
                let line = fields.next().and_then(|line| line.parse().ok()).unwrap_or(0);
                TallyKey::Site(path, line, fields.next().unwrap_or_default().to_owned())
            }
        }
    }
}
