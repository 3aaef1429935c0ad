//! Writes recordings, reports and tables of probe programs as Parquet files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use prlx::diff::read_file;
use prlx_analyze::Report;
use prlx_driver::files::create;
use prlx_driver::session::Session;
use prlx_present::profile;
use prlx_present::tables::parquet::Writer;
use prlx_present::tables::{self, FINDINGS, RECORDING};
use prlx_present::tallies::TallyTable;
use prlx_timeline::Timeline;

type Out = Writer<BufWriter<File>>;

/// Writes the findings of a report into a file.
pub fn write_findings(report: &Report, path: &Path) -> Result<()> {
    let all = || -> io::Result<()> {
        let (file, unfinished) = create(path)?;
        let mut out = Writer::new(BufWriter::new(file), &FINDINGS)?;
        tables::findings(report, &mut |_, batch| out.rows(&batch))?;
        finish(out)?;
        unfinished.finish()
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the tables of a recording into a new folder, a file each.
pub fn write_recording(session: &Session, folder: &Path) -> Result<()> {
    fs::create_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut files: BTreeMap<&str, Out> = BTreeMap::new();
    for (table, _) in RECORDING {
        let path = folder.join(format!("{}.parquet", table.name));
        let open = || Writer::new(BufWriter::new(File::create(&path)?), table);
        files.insert(table.name, open().with_context(|| format!("cannot write {}", path.display()))?);
    }
    for (process, file) in (0u64..).zip(&session.files) {
        let trace = read_file(session, process as usize)?;
        let mut write = |table: &tables::TableSchema, batch| match files.get_mut(table.name) {
            Some(out) => out.rows(&batch),
            None => Err(io::Error::other(format!("there is no file for {}", table.name))),
        };
        let mut all = RECORDING.iter();
        all.try_for_each(|(_, give)| give(process, &trace, &mut write))
            .with_context(|| file.path.display().to_string())?;
    }
    files
        .into_values()
        .try_for_each(finish)
        .with_context(|| format!("cannot write into {}", folder.display()))
}

/// Writes the tables of a probe program into a folder, a file each, under these names.
pub fn write_tables(tables: &[TallyTable], names: &[String], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (table, name) in tables.iter().zip(names) {
        let path = folder.join(format!("{name}.parquet"));
        let flat = table.flat();
        let write = || -> io::Result<()> {
            let columns = flat.columns.iter().map(|(name, kind)| (name.as_str(), *kind));
            let (file, unfinished) = create(&path)?;
            let mut out = Writer::of(BufWriter::new(file), name, columns)?;
            out.rows(&flat.cells)?;
            finish(out)?;
            unfinished.finish()
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Writes the spans of a timeline into a file.
pub fn write_spans(timeline: &Timeline, path: &Path) -> Result<()> {
    let all = || -> io::Result<()> {
        let (file, unfinished) = create(path)?;
        let mut out = Writer::new(BufWriter::new(file), &profile::SPANS)?;
        profile::rows(timeline, &mut |batch| out.rows(&batch))?;
        out.finish()?.flush()?;
        unfinished.finish()
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}

fn finish(out: Out) -> io::Result<()> {
    out.finish()?.into_inner().map_err(|e| e.into_error())?.sync_data()
}
