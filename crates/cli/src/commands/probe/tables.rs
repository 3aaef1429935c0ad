//! Prints the tables of a probe program, and writes them into files.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use prlx_present::tallies::Tallies;
use prlx_trace::Printed;

use crate::args::TableArgs;
use crate::ui::Ui;

/// Prints tables, and writes the files that the options ask for. JSON also has `printed`, what the kernel of
/// each launch file printed, and why a launch was `stopped`.
pub fn print(
    tallies: &Tallies,
    printed: Option<&[Printed]>,
    stopped: Option<&str>,
    title: &str,
    args: &TableArgs,
    ui: &Ui,
) -> Result<()> {
    let write = |path: &Path, text: Vec<u8>| {
        prlx_driver::files::write(path, &text).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = &args.html {
        let mut page = Vec::new();
        prlx_present::tallies_html(&mut page, tallies, title)?;
        write(path, page)?;
    }
    if let Some(folder) = &args.csv {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for (table, name) in tallies.tables.iter().zip(names(tallies)) {
            let mut text = Vec::new();
            prlx_present::tallies_csv(&mut text, table)?;
            write(&folder.join(name + ".csv"), text)?;
        }
    }
    if let Some(folder) = &args.parquet {
        crate::tables::write_tables(&tallies.tables, &names(tallies), folder)?;
    }
    if tallies.tables.is_empty() {
        ui.warn("the program has no table and no record, so there is nothing to show; as `@n = count();`");
    }
    let mut out = ui.out(args.json);
    if args.json {
        prlx_present::tallies_json(&mut out, tallies, printed, stopped)?;
    } else {
        prlx_present::tallies(&mut out, tallies, args.top, &ui.style())?;
    }
    out.flush()?;
    Ok(())
}

/// A file name for each table, all distinct: tables of one name can differ in kind.
fn names(tallies: &Tallies) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for table in &tallies.tables {
        let mut name = if table.name.is_empty() { "table".to_owned() } else { file_name(&table.name) };
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// A table's name as a file name. A recording may come from anywhere, so the name can hold any character.
fn file_name(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().take(100).map(|c| if fits(c) { c } else { '_' }).collect()
}
