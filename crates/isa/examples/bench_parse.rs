//! How fast PTX is read: `cargo xtask bench parse`, or this example with the files or folders to read as one
//! more row.
//!
//! `count` only counts semicolons; `parse` finds the structure; `view` resolves operands and makes blocks;
//! `graph` and `flow` (with decisions) are of all functions. Prints Markdown; speeds are in bytes of text, of
//! one thread on the processor.

#[path = "../../../bench/clock.rs"]
mod clock;

use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};

use clock::best;
use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{DefUse, decisions};
use prlx_isa::ptx;

fn main() -> io::Result<()> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    println!(
        "| text | files | MB | functions | instructions | count | parse | view | graph | flow | all, ns/instruction |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let heavy = kernels.join("triton/attention/sm_80.ptx");
    for (name, path) in [("`tests/kernels`", kernels.as_path()), ("its largest file", &heavy)] {
        row(name, &sources(&[path.to_owned()])?);
    }
    for path in std::env::args().skip(1) {
        let path = PathBuf::from(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        row(&format!("`{name}`"), &sources(&[path])?);
    }
    Ok(())
}

/// The texts of these files, and of all `.ptx` files below these folders.
fn sources(paths: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut entries =
                std::fs::read_dir(path)?.map(|e| Ok(e?.path())).collect::<io::Result<Vec<_>>>()?;
            entries.retain(|e| e.is_dir() || e.extension().is_some_and(|e| e == "ptx"));
            entries.sort();
            found.extend(sources(&entries)?);
        } else {
            found.push(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
        }
    }
    Ok(found)
}

fn row(name: &str, sources: &[String]) {
    let bytes: usize = sources.iter().map(String::len).sum();
    let modules: Vec<_> = sources.iter().map(|s| ptx::parse(s).0).collect();
    let views: Vec<_> = modules.iter().map(|m| ptx::view(m).0).collect();
    let functions: Vec<_> = views.iter().flat_map(|v| &v.functions).collect();
    let graphs: Vec<_> = functions.iter().map(|f| Cfg::of(f)).collect();
    let insts: usize = functions.iter().map(|f| f.insts.len()).sum();
    let times = [
        // As fast as any reader could hope to be.
        best(|| {
            black_box(
                sources.iter().map(|s| black_box(s).bytes().filter(|b| *b == b';').count()).sum::<usize>(),
            );
        }),
        best(|| sources.iter().for_each(|s| drop(black_box(ptx::parse(black_box(s)))))),
        best(|| modules.iter().for_each(|m| drop(black_box(ptx::view(black_box(m)))))),
        best(|| functions.iter().for_each(|f| drop(black_box(Cfg::of(black_box(f)))))),
        best(|| {
            for (f, g) in functions.iter().zip(&graphs) {
                let flow = DefUse::of(black_box(f), g);
                drop(black_box(decisions(f, &flow)));
            }
        }),
    ];
    let speeds: Vec<String> = times.iter().map(|t| format!("{:.0}", bytes as f64 / 1e6 / t)).collect();
    println!(
        "| {name} | {} | {:.2} | {} | {insts} | {} | {:.0} |",
        sources.len(),
        bytes as f64 / 1e6,
        functions.len(),
        speeds.join(" | "),
        times[1..].iter().sum::<f64>() * 1e9 / insts.max(1) as f64
    );
}
