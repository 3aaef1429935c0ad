//! `prlx query`: SQL over the tables of one recording, or of two and what differs between them.
//!
//! # Invariants
//! - A thread makes the rows of a table as the query reads them, a batch at a time, so memory does not grow
//!   with the recording. [`MEMORY`] bounds what the query itself holds, as for a sort or a join.
//! - Rows have the order of the tables, unless the query asks for another.
//! - Nothing is written: statements that are no queries are refused.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::MemorySchemaProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use prlx::Monitor;
use prlx::diff::{diff_sessions, read_file};
use prlx_analyze::DiffOptions;
use prlx_driver::session::{LaunchPart, Session};
use prlx_present::legacy::csv_field;
use prlx_present::safe;
use prlx_present::tables::{self, Batch, Cell, ColumnKind, FINDINGS, RECORDING, RowSource, TableSchema};

use crate::args::QueryArgs;
use crate::ui::{Ui, broken_pipe};

/// Maximum memory of the query itself, in bytes.
const MEMORY: usize = 1 << 30;
/// Maximum number of rows in a text table; a warning counts the others.
const SHOWN: usize = 10_000;
/// Maximum number of batches that wait to be read.
const WAITING: usize = 2;

/// Runs the query and prints its rows.
pub fn run(args: &QueryArgs, ui: &Ui) -> Result<ExitCode> {
    let sessions =
        args.recordings.iter().map(|p| prlx::input::open_session(p)).collect::<Result<Vec<_>>>()?;
    let names = args.recordings.iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("cannot start")?;
    let mut out = ui.list(args.csv);
    runtime.block_on(async {
        let context = context(&sessions, &names)?;
        let options =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let query = context.sql_with_options(&args.sql, options).await.map_err(engine_error)?;
        let stream = query.execute_stream().await.map_err(engine_error)?;
        if args.csv { csv(&mut out, stream).await } else { text(&mut out, stream, ui).await }
    })?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Registers the tables: those of the first recording by name, those of each recording also as `a.NAME` and
/// `b.NAME`, and the findings between two recordings as `findings`.
fn context(sessions: &[Session], names: &[String]) -> Result<SessionContext> {
    let runtime =
        RuntimeEnvBuilder::new().with_memory_limit(MEMORY, 1.0).build_arc().map_err(engine_error)?;
    // Partitions would deliver rows in any order.
    let config = SessionConfig::new().with_target_partitions(1).with_information_schema(true);
    let context = SessionContext::new_with_config_rt(config, runtime);
    let catalog = context.catalog("datafusion").context("there is no catalog")?;
    for (side, session) in ["a", "b"].iter().zip(sessions) {
        catalog.register_schema(side, Arc::new(MemorySchemaProvider::new())).map_err(engine_error)?;
        for (table, give) in RECORDING {
            let source = || Source::new(table, Origin::Recording(session.clone(), *give));
            add(&context, format!("{side}.{}", table.name), source())?;
            if *side == "a" {
                add(&context, table.name.into(), source())?;
            }
        }
    }
    if let ([a, b], [x, y]) = (sessions, names) {
        let both = Origin::Comparison([a.clone(), b.clone()], [x.clone(), y.clone()]);
        add(&context, FINDINGS.name.into(), Source::new(&FINDINGS, both))?;
    }
    Ok(context)
}

fn add(context: &SessionContext, name: String, source: Source) -> Result<()> {
    let table =
        StreamingTable::try_new(source.schema.clone(), vec![Arc::new(source)]).map_err(engine_error)?;
    context.register_table(name, Arc::new(table)).map(drop).map_err(engine_error)
}

/// A table whose rows are made when a query reads them.
#[derive(Debug)]
struct Source {
    schema: SchemaRef,
    from: Origin,
}

/// Where the rows come from.
#[derive(Clone, Debug)]
enum Origin {
    Recording(Session, RowSource),
    Comparison([Session; 2], [String; 2]),
}

impl Source {
    fn new(table: &TableSchema, from: Origin) -> Source {
        let field = |(name, kind, _): &(&str, ColumnKind, &str)| {
            let of = match kind {
                ColumnKind::Number => DataType::UInt64,
                ColumnKind::Signed => DataType::Int64,
                ColumnKind::Float => DataType::Float64,
                ColumnKind::Flag => DataType::Boolean,
                ColumnKind::Text => DataType::Utf8,
            };
            Field::new(*name, of, true)
        };
        Source { schema: Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>())), from }
    }
}

impl PartitionStream for Source {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema.clone(), WAITING);
        let (to, schema, from) = (stream.tx(), self.schema.clone(), self.from.clone());
        stream.spawn_blocking(move || {
            let mut sink = |_: &TableSchema, batch: Batch| {
                let batch = RecordBatch::try_new(
                    schema.clone(),
                    batch.iter().zip(schema.fields()).map(array).collect(),
                );
                let sent = to.blocking_send(batch.map_err(Into::into));
                // The query needs no more rows.
                sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
            };
            let made = match &from {
                Origin::Recording(session, give) => (0..session.files.len()).try_for_each(|i| {
                    let trace = read_file(session, i)?;
                    give(i as u64, &trace, &mut sink)
                        .with_context(|| session.files[i].path.display().to_string())
                }),
                Origin::Comparison(sides, names) => {
                    let options = DiffOptions { findings: FINDINGS_LISTED, ..DiffOptions::default() };
                    diff_sessions(
                        sides,
                        names.clone(),
                        (&[], &LaunchPart::default()),
                        options,
                        None,
                        &Monitor::SILENT,
                    )
                    .and_then(|found| Ok(tables::findings(&found.report, &mut sink)?))
                }
            };
            match made {
                Err(e) if broken_pipe(&e) => Ok(()),
                made => made.map_err(|e| DataFusionError::External(e.into())),
            }
        });
        stream.build()
    }
}

/// Maximum number of findings of a launch.
const FINDINGS_LISTED: usize = 1 << 16;

fn array((cells, field): (&Vec<Cell>, &Arc<Field>)) -> ArrayRef {
    match field.data_type() {
        DataType::Boolean => {
            let flag = |c: &Cell| if let Cell::Flag(yes) = c { Some(*yes) } else { None };
            Arc::new(cells.iter().map(flag).collect::<BooleanArray>())
        }
        DataType::Utf8 => {
            let text = |c: &Cell| if let Cell::Text(t) = c { Some(t.clone()) } else { None };
            Arc::new(cells.iter().map(text).collect::<StringArray>())
        }
        _ => {
            let number = |c: &Cell| if let Cell::Number(n) = c { Some(*n) } else { None };
            Arc::new(cells.iter().map(number).collect::<UInt64Array>())
        }
    }
}

/// The texts of a batch, row by row.
fn texts(batch: &RecordBatch) -> Result<Vec<Vec<String>>> {
    let options = FormatOptions::default();
    let columns = batch.columns().iter().map(|c| ArrayFormatter::try_new(c, &options));
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|e| engine_error(e.into()))?;
    let row = |i: usize| columns.iter().map(|c| c.value(i).to_string()).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

/// Prints rows for people, numbers to the right.
async fn text(out: &mut impl Write, mut stream: SendableRecordBatchStream, ui: &Ui) -> Result<()> {
    let schema = stream.schema();
    let mut rows = vec![schema.fields().iter().map(|f| safe(f.name())).collect::<Vec<String>>()];
    let mut more = 0;
    while let Some(batch) = stream.next().await {
        let batch = texts(&batch.map_err(engine_error)?)?;
        let room = (SHOWN + 1).saturating_sub(rows.len());
        more += batch.len().saturating_sub(room);
        rows.extend(batch.into_iter().take(room).map(|row| row.iter().map(|cell| safe(cell)).collect()));
    }
    let wide = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..schema.fields().len()).map(wide).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).zip(schema.fields()).map(|((cell, w), field)| {
            if field.data_type().is_numeric() { format!("{cell:>w$}") } else { format!("{cell:<w$}") }
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    if more > 0 {
        ui.warn(&format!("{more} more rows are not shown: --csv prints all rows"));
    }
    Ok(())
}

/// Prints rows as CSV, as they come.
async fn csv(out: &mut impl Write, mut stream: SendableRecordBatchStream) -> Result<()> {
    let schema = stream.schema();
    writeln!(out, "{}", schema.fields().iter().map(|f| csv_field(f.name())).collect::<Vec<_>>().join(","))?;
    while let Some(batch) = stream.next().await {
        for row in texts(&batch.map_err(engine_error)?)? {
            let cells = row.into_iter().zip(schema.fields());
            let cells =
                cells.map(|(c, field)| if field.data_type().is_numeric() { c } else { csv_field(&c) });
            writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
        }
    }
    Ok(())
}

/// An error of the query engine, without its backtrace.
fn engine_error(e: DataFusionError) -> anyhow::Error {
    anyhow!("{}", safe(&e.strip_backtrace()))
}
