//! Tables as Parquet files.
//!
//! # Invariants
//! One file for a table and one row group for a batch, compressed with zstd. Every column is nullable. The
//! same rows give the same bytes. Memory is proportional to a batch.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};

use super::model::{Batch, Cell, ColumnKind, TableSchema};

/// Writes one table to a Parquet file.
pub struct Writer<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> Writer<W> {
    /// Starts a file for a declared table.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, table: &TableSchema) -> io::Result<Writer<W>> {
        Self::of(out, table.name, table.columns.iter().map(|(name, kind, _)| (*name, *kind)))
    }

    /// Starts a file with the given columns.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn of<'c>(
        out: W,
        name: &str,
        columns: impl Iterator<Item = (&'c str, ColumnKind)>,
    ) -> io::Result<Writer<W>> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("prlx {}", env!("CARGO_PKG_VERSION")))
            .build();
        let schema = schema(name, columns).map_err(other)?;
        SerializedFileWriter::new(out, schema, Arc::new(properties)).map(Writer).map_err(other)
    }

    /// Writes a batch of rows as one row group.
    ///
    /// # Errors
    /// Those of the file; also if the batch does not have the file's columns.
    pub fn rows(&mut self, batch: &Batch) -> io::Result<()> {
        let mut group = self.0.next_row_group().map_err(other)?;
        let mut columns = batch.iter();
        while let Some(mut column) = group.next_column().map_err(other)? {
            let cells = columns.next().ok_or_else(|| io::Error::other("a column is missing"))?;
            // Whether each cell is there.
            let there: Vec<i16> = cells.iter().map(|c| (*c != Cell::None).into()).collect();
            let written = match column.untyped() {
                ColumnWriter::Int64ColumnWriter(to) => {
                    let number = |c: &Cell| match c {
                        Cell::Number(n) => Some(n.cast_signed()),
                        Cell::Signed(n) => Some(*n),
                        _ => None,
                    };
                    to.write_batch(&cells.iter().filter_map(number).collect::<Vec<_>>(), Some(&there), None)
                }
                ColumnWriter::DoubleColumnWriter(to) => {
                    let float =
                        |c: &Cell| if let Cell::Float(bits) = c { Some(f64::from_bits(*bits)) } else { None };
                    to.write_batch(&cells.iter().filter_map(float).collect::<Vec<_>>(), Some(&there), None)
                }
                ColumnWriter::BoolColumnWriter(to) => {
                    let flag = |c: &Cell| if let Cell::Flag(yes) = c { Some(*yes) } else { None };
                    to.write_batch(&cells.iter().filter_map(flag).collect::<Vec<_>>(), Some(&there), None)
                }
                ColumnWriter::ByteArrayColumnWriter(to) => {
                    let text = |c: &Cell| {
                        if let Cell::Text(t) = c { Some(ByteArray::from(t.as_str())) } else { None }
                    };
                    to.write_batch(&cells.iter().filter_map(text).collect::<Vec<_>>(), Some(&there), None)
                }
                _ => Err(ParquetError::General("a column of another type".into())),
            };
            written.map_err(other)?;
            column.close().map_err(other)?;
        }
        group.close().map_err(other).map(drop)
    }

    /// Ends the file and returns the writer.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(self) -> io::Result<W> {
        self.0.into_inner().map_err(other)
    }
}

fn schema<'c>(
    name: &str,
    columns: impl Iterator<Item = (&'c str, ColumnKind)>,
) -> Result<TypePtr, ParquetError> {
    let column = |(name, kind): (&str, ColumnKind)| {
        let (physical, logical) = match kind {
            ColumnKind::Number => (Physical::INT64, Some(LogicalType::integer(64, false))),
            ColumnKind::Signed => (Physical::INT64, Some(LogicalType::integer(64, true))),
            ColumnKind::Float => (Physical::DOUBLE, None),
            ColumnKind::Flag => (Physical::BOOLEAN, None),
            ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let column = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        column.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
    };
    let columns = columns.map(column).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(name).with_fields(columns).build().map(Arc::new)
}

fn other(e: ParquetError) -> io::Error {
    match e {
        ParquetError::External(e) => match e.downcast::<io::Error>() {
            Ok(e) => *e,
            Err(e) => io::Error::other(e),
        },
        e => io::Error::other(e),
    }
}
