//! Tables of recordings and reports: their rows, and what a Parquet reader reads of the files.

use std::collections::BTreeMap;

use crate::build::{Hashed, S, module};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use prlx_analyze::{DiffOptions, diff, lane_visits};
use prlx_present::tables::parquet::Writer;
use prlx_present::tables::{self, Batch, Cell, FINDINGS, LAUNCHES, RECORDING, ROWS, TableSchema};
use prlx_trace::{Lane, SiteId, Trace};

fn toy() -> Vec<Vec<S>> {
    vec![vec![S::Store, S::Loop(vec![S::If(vec![S::Store], vec![])])]]
}

/// Two warps; with `other`, lane 3 of the second takes a different branch once.
fn trace(other: bool) -> Trace {
    let warps = (0..2).map(|w| {
        crate::build::warp(&toy(), w, |lane| {
            let mut h = Hashed::new(w * 32 + u64::from(lane.0), &[4]);
            if other && w == 1 && lane == Lane(3) {
                h.flips.push((SiteId(1), vec![0]));
            }
            h
        })
    });
    let mut trace = crate::build::trace(module(&toy()), warps.collect());
    trace.modules[0].functions[0].name = "k\u{1b}\"<".into();
    trace
}

/// All rows of the tables, by name.
fn rows(
    give: impl FnOnce(&mut tables::Sink<'_>) -> std::io::Result<()>,
) -> BTreeMap<&'static str, (TableSchema, Vec<Batch>)> {
    let mut all = BTreeMap::new();
    give(&mut |table, batch| {
        assert!(batch.len() == table.columns.len() && batch.iter().all(|c| c.len() == batch[0].len()));
        assert!(batch[0].len() <= ROWS);
        all.entry(table.name).or_insert_with(|| (*table, Vec::new())).1.push(batch);
        Ok(())
    })
    .unwrap();
    all
}

/// A table as a file.
fn file(table: &TableSchema, batches: &[Batch]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), table).unwrap();
    batches.iter().for_each(|b| writer.rows(b).unwrap());
    writer.finish().unwrap()
}

/// What a reader of Parquet reads of a file, by column.
fn read(file: Vec<u8>) -> (Vec<String>, Batch) {
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    let names: Vec<String> =
        reader.metadata().file_metadata().schema().get_fields().iter().map(|f| f.name().to_owned()).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        for (column, (_, field)) in columns.iter_mut().zip(row.get_column_iter()) {
            column.push(match field {
                Field::Null => Cell::None,
                Field::ULong(n) => Cell::Number(*n),
                Field::Bool(yes) => Cell::Flag(*yes),
                Field::Str(text) => Cell::Text(text.clone()),
                other => panic!("{other:?}"),
            });
        }
    }
    (names, columns)
}

/// The cells of a column.
fn column<'a>(table: &'a (TableSchema, Vec<Batch>), name: &str) -> Vec<&'a Cell> {
    let at = table.0.columns.iter().position(|(n, ..)| *n == name).unwrap();
    table.1.iter().flat_map(|b| &b[at]).collect()
}

#[test]
fn a_recording_is_read_back_as_it_was() {
    let trace = trace(false);
    let all = rows(|sink| RECORDING.iter().try_for_each(|(_, give)| give(7, &trace, sink)));
    assert_eq!(all.keys().copied().collect::<Vec<_>>(), ["launches", "sites", "visits", "warps"]);
    for (table, batches) in all.values() {
        let bytes = file(table, batches);
        assert_eq!(bytes, file(table, batches), "the same rows, the same bytes");
        let (names, columns) = read(bytes);
        assert_eq!(names, table.columns.iter().map(|(n, ..)| *n).collect::<Vec<_>>());
        let mut whole: Batch = vec![Vec::new(); names.len()];
        batches
            .iter()
            .for_each(|b| whole.iter_mut().zip(b).for_each(|(to, from)| to.extend_from_slice(from)));
        assert_eq!(columns, whole, "{}", table.name);
    }
    assert_eq!(column(&all["launches"], "kernel"), [&Cell::Text("k\u{1b}\"<".into())]);
    assert_eq!(column(&all["warps"], "warp"), [&Cell::Number(0), &Cell::Number(1)]);
    assert_eq!(column(&all["sites"], "line")[1], &Cell::Number(2));

    // Visits are those of the decoder, lane by lane.
    let r = &trace.launches[0];
    let mut expected = Vec::new();
    for w in r.streams.frame(0).unwrap() {
        for lane in 0..32 {
            let visits = lane_visits(&trace.modules[0], &r.launch, &w, Lane(lane)).unwrap().visits;
            expected
                .extend(visits.into_iter().map(|(site, _)| (w.warp.0, u64::from(lane), u64::from(site.0))));
        }
    }
    let number = |c: &Cell| if let Cell::Number(n) = c { *n } else { panic!("{c:?}") };
    let of = |name| column(&all["visits"], name).into_iter().map(number).collect::<Vec<u64>>();
    let got: Vec<_> =
        of("warp").into_iter().zip(of("lane")).zip(of("site")).map(|((w, l), s)| (w, l, s)).collect();
    assert_eq!(got, expected);
    // A store has no value, a decision has one.
    let values = column(&all["visits"], "value");
    assert!(got.iter().zip(values).all(|((.., site), v)| (*v == Cell::None) == [0, 2].contains(site)));
}

#[test]
fn findings_are_the_reports() {
    let report = diff(&trace(false), &trace(true), &DiffOptions::default()).unwrap();
    let all = rows(|sink| tables::findings(&report, sink));
    let (_, columns) = read(file(&FINDINGS, &all["findings"].1));
    let first = &report.launches[0].findings[0];
    assert_eq!(columns[0].len() as u64, report.launches[0].findings_total);
    let cell = |name: &str| &columns[FINDINGS.columns.iter().position(|(n, ..)| *n == name).unwrap()][0];
    assert_eq!(cell("kind"), &Cell::Text(first.kind.name().into()));
    assert_eq!((cell("warp"), cell("lane")), (&Cell::Number(1), &Cell::Number(3)));
    assert_eq!(cell("line"), &Cell::Number(2));
    assert_eq!(cell("culprit"), &Cell::Flag(false));
}

#[test]
fn an_empty_table_is_a_file() {
    let (names, columns) = read(file(&LAUNCHES, &[]));
    assert_eq!((names.len(), columns[0].len()), (LAUNCHES.columns.len(), 0));
}

#[test]
fn damaged_streams_are_refused() {
    let mut damaged = trace(false);
    damaged.modules[0].functions[0].blocks.clear();
    let found = RECORDING.iter().try_for_each(|(_, give)| give(0, &damaged, &mut |_, _| Ok(())));
    assert_eq!(found.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}
