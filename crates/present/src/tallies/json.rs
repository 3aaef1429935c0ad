//! Tables of tallies as JSON, or one table as CSV. `docs/tallies.md` describes both.

use std::io::{self, Write};

use prlx_trace::Printed;
use prlx_trace::kernel::Scalar;
use prlx_trace::table::{Aggregate, Field, Shown};
use serde_json::{Map, Value, json};

use super::model::{Bucket, Tallies, TallyKey, TallyRow, TallyTable, mean};
use crate::tables::Cell;

/// What the document says it is.
const FORMAT: &str = "prlx-tallies";
/// Changes when a key changes its meaning or is removed.
const VERSION: u32 = 1;

/// Writes all tables whole, as JSON. `printed` is what the kernel of each launch file printed; `None` for
/// recordings and programs. `stopped`: why a launch did not end.
///
/// # Errors
/// Those of `out`.
pub fn tallies_json(
    out: &mut impl Write,
    tallies: &Tallies,
    printed: Option<&[Printed]>,
    stopped: Option<&str>,
) -> io::Result<()> {
    let tables: Vec<Value> = tallies.tables.iter().map(|t| table(tallies, t)).collect();
    let missed: Vec<Value> =
        tallies.missed.iter().map(|m| json!({ "tables": m.tables, "what": m.what })).collect();
    let mut all = json!({ "format": FORMAT, "version": VERSION, "tables": tables, "missed": missed });
    if let Some(printed) = printed {
        all["printed"] = json!(printed);
    }
    if let Some(why) = stopped {
        all["error"] = json!({ "kind": "fault", "message": why, "help": null });
    }
    serde_json::to_writer_pretty(&mut *out, &all)?;
    writeln!(out)
}

fn table(tallies: &Tallies, table: &TallyTable) -> Value {
    let (aggregate, more) = match table.aggregate {
        Aggregate::Count => ("count", json!({})),
        Aggregate::Sum => ("sum", json!({})),
        Aggregate::Min => ("min", json!({})),
        Aggregate::Max => ("max", json!({})),
        Aggregate::Avg => ("avg", json!({})),
        Aggregate::Hist => ("hist", json!({})),
        Aggregate::Lhist { low, step, steps } => {
            ("lhist", json!({ "low": low, "step": step, "steps": steps }))
        }
        Aggregate::Record { keep, last } => ("record", json!({ "keep": keep, "last": last })),
    };
    let field = |f: &Field| json!({ "name": f.name, "type": f.ty.name(), "shown": shown(f.shown) });
    let keys: Vec<Value> = table.keys.iter().map(field).collect();
    let values: Vec<Value> = table.values.iter().map(field).collect();
    let rows: Vec<Value> = table.rows.iter().map(|r| row(tallies, table, r)).collect();
    let mut all = Map::new();
    all.insert("name".into(), json!(table.name));
    all.insert("aggregate".into(), json!(aggregate));
    if let Value::Object(more) = more {
        all.extend(more);
    }
    all.insert("keys".into(), json!(keys));
    all.insert("values".into(), json!(values));
    all.insert("rows".into(), json!(rows));
    all.insert("lost".into(), json!(table.lost));
    Value::Object(all)
}

fn shown(shown: Shown) -> &'static str {
    match shown {
        Shown::Number | Shown::Hex => "number",
        Shown::Address => "address",
        Shown::Word => "text",
        Shown::Site => "site",
        Shown::Line => "line",
    }
}

fn row(tallies: &Tallies, table: &TallyTable, row: &TallyRow) -> Value {
    let keys: Vec<Value> = row.keys.iter().map(|k| key(tallies, k)).collect();
    let ty = table.ty();
    let mut all = Map::new();
    all.insert("key".into(), json!(keys));
    match (table.aggregate, row.cells.as_slice()) {
        (Aggregate::Count, [n]) => drop(all.insert("count".into(), json!(n))),
        (Aggregate::Sum, [sum]) => drop(all.insert("sum".into(), number(*sum, ty))),
        (Aggregate::Min | Aggregate::Max, [n, value]) => {
            let name = if table.aggregate == Aggregate::Min { "min" } else { "max" };
            all.insert(name.into(), number(*value, ty));
            all.insert("count".into(), json!(n));
        }
        (Aggregate::Avg, [n, sum]) => {
            all.insert("avg".into(), float(mean(*n, *sum, ty)));
            all.insert("sum".into(), number(*sum, ty));
            all.insert("count".into(), json!(n));
        }
        (Aggregate::Record { .. }, cells) => {
            let fields = cells.iter().zip(&table.values);
            let fields: Map<String, Value> =
                fields.map(|(bits, field)| (field.name.clone(), number(*bits, field.ty))).collect();
            all.insert("fields".into(), Value::Object(fields));
        }
        (_, cells) => {
            let bucket = |b: Bucket| {
                // Beyond 64 bits there is one bound: the end of what integers can be.
                let bound = |n: Option<i128>| match n {
                    None => Value::Null,
                    Some(n) => i64::try_from(n)
                        .map(Value::from)
                        .or(u64::try_from(n).map(Value::from))
                        .unwrap_or_default(),
                };
                json!({ "low": bound(b.low), "high": bound(b.high), "count": b.count })
            };
            let buckets: Vec<Value> = table.buckets(cells).into_iter().map(bucket).collect();
            all.insert("buckets".into(), json!(buckets));
        }
    }
    Value::Object(all)
}

fn key(tallies: &Tallies, key: &TallyKey) -> Value {
    match key {
        TallyKey::Int(n) => {
            i64::try_from(*n).map(Value::from).or(u64::try_from(*n).map(Value::from)).unwrap_or_default()
        }
        TallyKey::Hex(n) => json!(n),
        TallyKey::Float(_, bits) => float(f64::from_bits(*bits)),
        TallyKey::Address(at) => json!(format!("{at:#x}")),
        TallyKey::Word(text) | TallyKey::Recording(_, text) => json!(text),
        TallyKey::Line(path, line) => {
            json!({ "file": path, "line": line, "text": tallies.source(path, *line) })
        }
        TallyKey::Site(path, line, text) => json!({ "file": path, "line": line, "text": text }),
    }
}

fn number(bits: u64, ty: Scalar) -> Value {
    match ty {
        Scalar::F64 => float(f64::from_bits(bits)),
        Scalar::S64 => json!(bits.cast_signed()),
        _ => json!(bits),
    }
}

/// JSON has no infinities and no NaN: they are texts.
fn float(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}

/// Writes one table as CSV, a head and a line for each row; of a histogram one for each bucket.
///
/// # Errors
/// Those of `out`.
pub fn tallies_csv(out: &mut impl Write, table: &TallyTable) -> io::Result<()> {
    let flat = table.flat();
    let head: Vec<String> = flat.columns.iter().map(|(name, _)| Cell::from(name.as_str()).csv()).collect();
    writeln!(out, "{}", head.join(","))?;
    for row in 0..flat.cells.first().map_or(0, Vec::len) {
        let cells: Vec<String> = flat.cells.iter().map(|column| column[row].csv()).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}
