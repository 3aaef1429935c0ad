//! Tables as they are read, from recordings made by hand.

use prlx_trace::kernel::{Loc, Module, Scalar, SourceFile};
use prlx_trace::table::{self, Aggregate, Field, Shown, TableContents};
use prlx_trace::{FileId, ModuleId, Trace};

use super::{Tallies, TallyTable, Unavailable, tallies, tallies_csv, tallies_html, tallies_json};
use crate::Style;

/// A module of one file, each of whose lines is a location, with tables.
fn module(path: &str, tables: Vec<table::Table>) -> Module {
    let text = "float x = a[i];\nb[i] = x, \"y\";\n\tif (x < 0) <b>;\n";
    let loc = |line| Loc { file: FileId(0), line, ..Loc::default() };
    Module {
        files: vec![SourceFile { path: path.to_owned(), text: Some(text.to_owned()) }],
        locs: vec![loc(1), loc(2), loc(3), Loc { column: 7, ..loc(1) }],
        tables,
        ..Module::default()
    }
}

fn key(name: &str, shown: Shown) -> Field {
    Field { name: name.to_owned(), ty: Scalar::U32, shown }
}

fn of(name: &str, keys: Vec<Field>, aggregate: Aggregate, ty: Scalar) -> table::Table {
    let value = Field { name: "value".to_owned(), ty, shown: Shown::Number };
    let values = if aggregate == Aggregate::Count { Vec::new() } else { vec![value] };
    table::Table { name: name.to_owned(), keys, aggregate, values, words: Vec::new() }
}

fn tally(rows: &[(&[u64], &[u64])], lost: u64) -> TableContents {
    let row = |(key, cells): &(&[u64], &[u64])| table::Row { key: key.to_vec(), cells: cells.to_vec() };
    TableContents {
        module: ModuleId(0),
        table: 0,
        launches: None,
        rows: rows.iter().map(row).collect(),
        lost,
    }
}

fn trace(module: Module, tallies: Vec<TableContents>) -> Trace {
    Trace { modules: vec![module], tallies, ..Trace::default() }
}

/// What a table of one recording looks like.
fn shown(table: table::Table, tallies: Vec<TableContents>, top: usize) -> String {
    let trace = trace(module("src/a.cu", vec![table]), tallies);
    text(&Tallies::of(&[("a".to_owned(), &trace)]), top)
}

fn text(kept: &Tallies, top: usize) -> String {
    let mut out = Vec::new();
    tallies(&mut out, kept, top, &Style::default()).unwrap();
    String::from_utf8(out).unwrap()
}

/// Lines without the first line break, and without the indentation that they share.
fn lines(text: &str) -> String {
    let text = text.trim_start_matches('\n').trim_end_matches(' ');
    let indent = text.lines().filter(|l| !l.trim().is_empty()).map(|l| l.len() - l.trim_start().len()).min();
    text.lines().map(|l| l.get(indent.unwrap_or(0)..).unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn rows_that_read_the_same_are_one() {
    let table = || of("bytes", vec![key("line", Shown::Line)], Aggregate::Sum, Scalar::U32);
    // Locations 0 and 3 are of one line; the second module has another file of that name.
    let a = trace(
        module("src/a.cu", vec![table()]),
        vec![tally(&[(&[0], &[4096]), (&[2], &[1]), (&[3], &[1000])], 0)],
    );
    let b = trace(module("lib/a.cu", vec![table()]), vec![tally(&[(&[1], &[2048])], 3)]);
    let mut kept = Tallies::of(&[("a".to_owned(), &a), ("b".to_owned(), &b)]);
    let missed =
        |what: &str, table: &str| Unavailable { tables: vec![table.to_owned()], what: what.to_owned() };
    kept.missed = vec![missed("nothing of `wgmma`", "bytes"), missed("not here", "other")];
    let want = "
        @bytes[line]  sum of bytes, 3 rows, 7,145 in total
          line        bytes
          src/a.cu:1  5,096  71.3 %  float x = a[i];
          lib/a.cu:2  2,048  28.7 %  b[i] = x, \"y\";
          src/a.cu:3      1   0.0 %  if (x < 0) <b>;
          3 values did not fit: rows are missing or too low
          nothing of `wgmma`
        ";
    assert_eq!(text(&kept, 20), lines(want));
    assert_eq!(kept.lost(), 3);
    let kept = Tallies::of(&[("a".to_owned(), &a)]);
    let want = "
        @bytes[line]  sum of bytes, 2 rows, 5,097 in total
          line     bytes
          a.cu:1   5,096  100.0 %  float x = a[i];
          1 other      1    0.0 %
        ";
    assert_eq!(text(&kept, 1), lines(want));
}

#[test]
fn values_have_their_types() {
    let minus = |n: i64| n.cast_unsigned();
    let sm = || vec![key("sm", Shown::Number)];
    let table = of("", sm(), Aggregate::Min, Scalar::S32);
    let rows = tally(&[(&[0], &[2, minus(-1_500)]), (&[1], &[9, minus(-7_000_000)]), (&[10], &[1, 3])], 0);
    let want = "
        @[sm]  minimum, 3 rows
          sm     minimum  values
           1  -7,000,000       9
           0      -1,500       2
          10           3       1
        ";
    assert_eq!(shown(table, vec![rows], 20), lines(want));
    let table = of("took_ns", Vec::new(), Aggregate::Avg, Scalar::F32);
    let rows = || tally(&[(&[], &[3, 10.0f64.to_bits()])], 0);
    let want = "
        @took_ns  mean of ns
          mean ns  values
            3.333       6
        ";
    assert_eq!(shown(table, vec![rows(), rows()], 20), lines(want));
    // The tenth of an `f32` has one digit; a sum that no `f32` holds has those of a binary64.
    let tenth = f64::from(0.1f32).to_bits();
    let keys = vec![Field { name: "x".to_owned(), ty: Scalar::F32, shown: Shown::Number }];
    let table = of("t", keys, Aggregate::Max, Scalar::F32);
    let want = "
        @t[x]  maximum, 1 row
            x  maximum  values
          0.1      0.1       4
        ";
    assert_eq!(shown(table, vec![tally(&[(&[tenth], &[4, tenth])], 0)], 20), lines(want));
    let table = of("t", Vec::new(), Aggregate::Sum, Scalar::F32);
    let sum = (f64::from(0.1f32) + f64::from(0.2f32)).to_bits();
    assert_eq!(shown(table, vec![tally(&[(&[], &[sum])], 0)], 20), "@t  sum\n  0.30000000447034836\n");
    let table = of("n", Vec::new(), Aggregate::Count, Scalar::U64);
    assert_eq!(shown(table.clone(), vec![tally(&[(&[], &[12_345])], 0)], 20), "@n  count\n  12,345\n");
    assert_eq!(shown(table, vec![], 20), "@n  count\n  no values\n");
    // One module sums integers, the other floats.
    let table = |ty| of("s", Vec::new(), Aggregate::Sum, ty);
    let whole = trace(module("a.cu", vec![table(Scalar::S32)]), vec![tally(&[(&[], &[minus(-2)])], 0)]);
    let half = trace(module("a.cu", vec![table(Scalar::F32)]), vec![tally(&[(&[], &[0.5f64.to_bits()])], 0)]);
    let kept = Tallies::of(&[("a".to_owned(), &whole), ("b".to_owned(), &half)]);
    assert_eq!(text(&kept, 20), "@s  sum\n  -1.5\n");
}

#[test]
fn histograms_have_bars() {
    let mut cells = vec![0; Aggregate::Hist.cells(1)];
    (cells[1], cells[4], cells[12]) = (2, 1_000, 1);
    let table = of("sizes", Vec::new(), Aggregate::Hist, Scalar::U32);
    let want = "
        @sizes  histogram
          [0]             2 |@                                       |
          [1]             0 |                                        |
          [2, 4)          0 |                                        |
          [4, 8)      1,000 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
          [8, 16)         0 |                                        |
          [16, 32)        0 |                                        |
          [32, 64)        0 |                                        |
          [64, 128)       0 |                                        |
          [128, 256)      0 |                                        |
          [256, 512)      0 |                                        |
          [512, 1K)       0 |                                        |
          [1K, 2K)        1 |@                                       |
        ";
    assert_eq!(shown(table, vec![tally(&[(&[], &cells)], 0)], 20), lines(want));
    let steps = Aggregate::Lhist { low: -4, step: 4, steps: 2 };
    let table = of("d", vec![key("cta", Shown::Number)], steps, Scalar::S32);
    let rows = tally(&[(&[2], &[0, 1, 3, 0]), (&[10], &[1, 0, 0, 1])], 0);
    let want = "
        @d[cta]  histogram, 2 rows
          cta 2
          [-4, 0)  1 |@@@@@@@@@@@@@                           |
          [0, 4)   3 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

          cta 10
          (..., -4)  1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
          [-4, 0)    0 |                                        |
          [0, 4)     0 |                                        |
          [4, ...)   1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
        ";
    assert_eq!(shown(table, vec![rows], 20), lines(want));
}

/// Records of warps with two fields.
fn sched() -> table::Table {
    let field = |name: &str, ty| Field { name: name.to_owned(), ty, shown: Shown::Number };
    table::Table {
        name: "sched".to_owned(),
        keys: vec![field("warp", Scalar::U64), field("nth", Scalar::U64)],
        aggregate: Aggregate::Record { keep: 2, last: false },
        values: vec![field("start", Scalar::U64), field("x", Scalar::F32)],
        words: Vec::new(),
    }
}

#[test]
fn records_stay_apart() {
    let launch = |n: u64, rows: &[(&[u64], &[u64])], lost| TableContents {
        launches: Some((n, n)),
        ..tally(rows, lost)
    };
    let half = 0.5f64.to_bits();
    let first = launch(0, &[(&[0, 0], &[1_000, half]), (&[10, 0], &[7, half]), (&[10, 1], &[8, half])], 4);
    let want = "
        @sched  records, the first 2 of each warp, 3 records
          warp  nth  start    x
             0    0  1,000  0.5
            10    0      7  0.5
          and 1 more
          4 further records were discarded
        ";
    assert_eq!(shown(sched(), vec![first.clone()], 2), lines(want));
    let second = launch(3, &[(&[0, 0], &[9, half])], 0);
    let a = trace(module("a.cu", vec![sched()]), vec![first, second.clone()]);
    let b = trace(module("a.cu", vec![sched()]), vec![second]);
    let kept = Tallies::of(&[("good".to_owned(), &a), ("bad".to_owned(), &b)]);
    let want = "
        @sched  records, the first 2 of each warp, 5 records
          recording  launch  warp  nth  start    x
          good            0     0    0  1,000  0.5
          good            0    10    0      7  0.5
          good            0    10    1      8  0.5
          good            3     0    0      9  0.5
          bad             3     0    0      9  0.5
          4 further records were discarded
        ";
    assert_eq!(text(&kept, 20), lines(want));
    assert_eq!(kept.lost(), 0, "who asks for two has lost nothing of the third");
    assert_eq!(csv(&kept.tables[0]).lines().nth(1), Some("good,0,0,0,1000,0.5"));
}

fn csv(table: &TallyTable) -> String {
    let mut out = Vec::new();
    tallies_csv(&mut out, table).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn programs_get_all_of_it() {
    let mut table =
        of("e", vec![key("opcode", Shown::Word), key("line", Shown::Line)], Aggregate::Max, Scalar::F64);
    table.words = vec!["a\x1b[31m, \"b\"".to_owned()];
    let rows = tally(&[(&[0, 2], &[3, f64::INFINITY.to_bits()])], 1);
    let trace = trace(module("src/a.cu", vec![table]), vec![rows]);
    let kept = Tallies::of(&[("a".to_owned(), &trace)]);
    assert_eq!(
        csv(&kept.tables[0]),
        "opcode,file,line,max,count\n\"a\x1b[31m, \"\"b\"\"\",src/a.cu,3,inf,3\n"
    );
    let mut out = Vec::new();
    tallies_json(&mut out, &kept, None, None).unwrap();
    let all: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let want = serde_json::json!([{
        "key": ["a\x1b[31m, \"b\"", { "file": "src/a.cu", "line": 3, "text": "if (x < 0) <b>;" }],
        "max": "inf",
        "count": 3,
    }]);
    assert_eq!((&all["tables"][0]["rows"], &all["tables"][0]["lost"]), (&want, &1.into()));
    // A terminal is safe from names, and so is a page.
    assert!(text(&kept, 20).contains("a\\u{1b}[31m, \"b\""));
    let mut page = Vec::new();
    tallies_html(&mut page, &kept, "<i>").unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("<title>&lt;i&gt;</title>") && page.contains("if (x &lt; 0) &lt;b&gt;;"));
    assert!(!page.contains("<b>;") && !page.contains('\x1b'));
}

#[test]
fn pages_are_as_warm_as_their_values() {
    let table = of("n", vec![key("line", Shown::Line)], Aggregate::Count, Scalar::U64);
    let trace = trace(module("src/a.cu", vec![table]), vec![tally(&[(&[0], &[30]), (&[1], &[10])], 0)]);
    let mut page = Vec::new();
    tallies_html(&mut page, &Tallies::of(&[("a".to_owned(), &trace)]), "counts").unwrap();
    let page = String::from_utf8(page).unwrap();
    let warm = |line: u32, heat: u32, n: u64| {
        page.contains(&format!(
            "<tr class=\"warm\" style=\"--heat:{heat}%\"><th>{line}</th><td class=\"num\">{n}</td>"
        ))
    };
    assert!(warm(1, 60, 30) && warm(2, 25, 10), "{page}");
    assert!(page.contains("<tr><th>3</th><td class=\"num\"></td>"));
    assert!(page.contains("<span style=\"width:33.3%\">"));
}

#[test]
fn tables_with_the_same_keys_are_one_on_a_page() {
    let table = |name: &str| of(name, vec![key("line", Shown::Line)], Aggregate::Count, Scalar::U64);
    let mut second = tally(&[(&[0], &[7])], 0);
    second.table = 1;
    let trace = trace(
        module("src/a.cu", vec![table("n"), table("m")]),
        vec![tally(&[(&[0], &[30]), (&[1], &[10])], 0), second],
    );
    let mut page = Vec::new();
    tallies_html(&mut page, &Tallies::of(&[("a".to_owned(), &trace)]), "counts").unwrap();
    let page = String::from_utf8(page).unwrap();
    let times = |text: &str| page.matches(text).count();
    assert_eq!((times("<section>"), times("<h4>"), times("<table class=\"list\">")), (1, 1, 1), "{page}");
    // In the listing and in the table, both values stand beside the line.
    assert_eq!(times("<td class=\"num\">30</td><td class=\"num\">7</td>"), 2, "{page}");
    assert_eq!(times("<td class=\"num\">10</td><td class=\"num\"></td>"), 2, "{page}");
    assert!(page.contains("<th class=\"num\">n</th><th class=\"num\">m</th>"), "{page}");
}

#[test]
fn sites_have_a_file_a_line_and_a_text() {
    let mut table = of("n", vec![key("site", Shown::Site)], Aggregate::Count, Scalar::U64);
    table.words = ["src/a.cu\u{1f}3\u{1f}add in k", "\u{1f}0\u{1f}#7 add in k"].map(str::to_owned).into();
    let trace = trace(module("src/a.cu", vec![table]), vec![tally(&[(&[0], &[2]), (&[1], &[1])], 0)]);
    let tallies = Tallies::of(&[("a".to_owned(), &trace)]);
    let shown = text(&tallies, 20);
    assert!(shown.contains("a.cu:3 add in k") && shown.contains(" #7 add in k"), "{shown}");
    let mut csv = Vec::new();
    tallies_csv(&mut csv, &tallies.tables[0]).unwrap();
    assert_eq!(
        String::from_utf8(csv).unwrap(),
        "file,line,instruction,count\nsrc/a.cu,3,add in k,2\n,0,#7 add in k,1\n"
    );
}

#[test]
fn sums_where_nothing_was_added_have_no_row() {
    let tables = ["a", "b"].map(|name| of(name, vec![key("x", Shown::Number)], Aggregate::Sum, Scalar::U64));
    let rows =
        [tally(&[(&[0], &[5]), (&[1], &[0]), (&[2], &[0])], 0), tally(&[(&[1], &[7]), (&[2], &[0])], 0)];
    let [first, mut second] = rows;
    second.table = 1;
    let trace = trace(module("src/a.cu", tables.into()), vec![first, second]);
    let tallies = Tallies::of(&[("a".to_owned(), &trace)]);
    assert_eq!(tallies.tables[0].rows.len(), 2);
    assert_eq!(tallies.tables[1].rows.len(), 1);
}

#[test]
fn a_text_of_the_program_is_no_name_of_a_key() {
    let mut table = of("n", vec![key("\"global\"", Shown::Word)], Aggregate::Count, Scalar::U64);
    table.words = vec!["global".to_owned(), "shared".to_owned()];
    let want = "
        @n[text]  count, 2 rows, 4 in total
          text    count
          shared      3  75.0 %
          global      1  25.0 %
        ";
    assert_eq!(shown(table, vec![tally(&[(&[0], &[1]), (&[1], &[3])], 0)], 20), lines(want));
}

#[test]
fn columns_are_of_one_kind_and_of_one_name() {
    use crate::tables::{Cell, ColumnKind};
    let mut table =
        of("t", vec![key("line", Shown::Line), key("line", Shown::Line)], Aggregate::Min, Scalar::S64);
    table.keys.push(key("x", Shown::Number));
    let minus = (-5i64).cast_unsigned();
    let rows = tally(&[(&[0, table::NO_LINE, 7], &[3, minus]), (&[2, 1, 9], &[1, 8])], 0);
    let trace = trace(module("a.cu", vec![table]), vec![rows]);
    let kept = Tallies::of(&[("a".to_owned(), &trace)]);
    let flat = kept.tables[0].flat();
    let names: Vec<(&str, ColumnKind)> =
        flat.columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    let (text, number) = (ColumnKind::Text, ColumnKind::Number);
    let expected = [
        ("file", text),
        ("line", number),
        ("file_", text),
        ("line_", number),
        ("x", number),
        ("min", ColumnKind::Signed),
        ("count", number),
    ];
    assert_eq!(names, expected);
    assert_eq!(flat.cells[2], ["no line".into(), Cell::from("a.cu")]);
    assert_eq!(flat.cells[3], [Cell::None, Cell::Number(2)]);
    assert_eq!(flat.cells[5], [Cell::Signed(-5), Cell::Signed(8)]);
    assert_eq!(csv(&kept.tables[0]).lines().nth(1), Some("a.cu,1,no line,,7,-5,3"));
}

/// A key that is a number in one module and a text in another, next to floats: a reader gives what was
/// written.
#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_what_csv_says() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};

    let record = |name: &str| Field { name: name.to_owned(), ty: Scalar::F64, shown: Shown::Number };
    let mut table =
        of("r", vec![key("warp", Shown::Number), key("n", Shown::Number)], Aggregate::Count, Scalar::U64);
    table.aggregate = Aggregate::Record { keep: 2, last: false };
    table.keys[1].ty = Scalar::F64;
    table.values = vec![record("x"), Field { ty: Scalar::S32, ..record("y") }];
    let minus = (-1i64).cast_unsigned();
    let cells: [u64; 2] = [f64::NEG_INFINITY.to_bits(), minus];
    let rows = tally(
        &[(&[1, 2.5f64.to_bits()], &cells), (&[u64::MAX, 0.25f64.to_bits()], &[0.5f64.to_bits(), 1])],
        0,
    );
    let trace = trace(module("a.cu", vec![table]), vec![rows]);
    let kept = Tallies::of(&[("a".to_owned(), &trace)]);
    let flat = kept.tables[0].flat();
    let columns = flat.columns.iter().map(|(name, kind)| (name.as_str(), *kind));
    let mut to = crate::tables::parquet::Writer::of(Vec::new(), "r", columns).unwrap();
    to.rows(&flat.cells).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(to.finish().unwrap())).unwrap();
    let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    assert_eq!(
        rows,
        ["{warp: 1, n: 2.5, x: -inf, y: -1}", "{warp: 18446744073709551615, n: 0.25, x: 0.5, y: 1}"]
    );
    assert_eq!(csv(&kept.tables[0]), "warp,n,x,y\n1,2.5,-inf,-1\n18446744073709551615,0.25,0.5,1\n");
}
