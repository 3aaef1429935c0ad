//! House rules that the compiler does not check: crate edges, circles of files, module headers, file sizes,
//! prose.
//!
//! [`EDGES`] is the architecture diagram of `docs/internals/architecture.md` as a table. A new edge is a
//! design change and is made here. The length of functions is a lint of clippy (`too_many_lines`).

mod imports;
mod prose;

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each crate may depend on inside the workspace.
const EDGES: &[(&str, &[&str])] = &[
    ("trace", &[]),
    ("lanes", &[]),
    ("isa", &[]),
    ("plan", &["isa", "trace"]),
    ("probe", &["plan", "isa", "trace"]),
    ("instrument", &["plan", "isa", "trace"]),
    ("driver", &["plan", "isa", "trace"]),
    ("emu", &["driver", "plan", "isa", "trace", "lanes"]),
    ("mockcuda", &["emu", "driver", "isa", "trace"]),
    ("preload", &["driver", "instrument", "plan", "probe", "isa", "trace"]),
    ("analyze", &["trace", "lanes"]),
    ("timeline", &["trace"]),
    // Comparison of version 1 fills the report of `analyze`; CudaProfiler buffers become timelines.
    ("legacy", &["analyze", "timeline", "trace"]),
    ("present", &["analyze", "timeline", "legacy", "trace"]),
    (
        "prlx",
        &[
            "trace",
            "isa",
            "plan",
            "probe",
            "instrument",
            "driver",
            "emu",
            "analyze",
            "timeline",
            "legacy",
            "present",
        ],
    ),
    (
        "cli",
        &[
            "prlx",
            "trace",
            "isa",
            "plan",
            "probe",
            "instrument",
            "driver",
            "emu",
            "analyze",
            "timeline",
            "legacy",
            "present",
        ],
    ),
    // An instruction set that lives in tests.
    ("toy", &["instrument", "emu", "driver", "plan", "isa", "trace", "lanes"]),
    ("python", &["prlx", "trace", "isa", "driver", "emu", "analyze", "present"]),
];

/// Libraries that touch no file, environment or terminal: they work on values.
const PURE: &[&str] =
    &["trace", "lanes", "isa", "plan", "probe", "instrument", "analyze", "timeline", "legacy", "present"];

/// Libraries that know no instruction set: what an instruction does, they ask its neutral semantics.
const NEUTRAL: &[&str] = &["plan", "probe", "analyze", "timeline", "present"];

/// A folder that reads objects of any instruction set, and the files in it that may name AMD's: its row of
/// `MODULE_FORMATS`, the types of its arguments, and the compiler of HIP.
const LAUNCH_FILES: (&str, &[&str]) =
    ("crates/driver/src/launch_file/", &["amd.rs", "param_uses_amd.rs", "compile.rs"]);

/// Lines that a source file should not pass; tables and tests may.
const LONG: usize = 800;

/// Known places that break a rule, by folder. The numbers only go down: fix places, then lower the number.
const KNOWN: &[(&str, usize)] = &[("xtask/src", 4)];

/// Checks every rule and names every place that breaks one. `--all` also names known places.
pub fn run(args: &[String]) -> Result<()> {
    let mut wrong = Vec::new();
    edges(&mut wrong)?;
    sources(&mut wrong)?;
    circles(&mut wrong)?;
    pages(&mut wrong)?;
    if args.iter().any(|a| a == "--all") {
        wrong.iter().for_each(|line| println!("{line}"));
    }
    for (folder, known) in KNOWN {
        let here = |line: &String| line.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', ':']));
        let count = wrong.iter().filter(|l| here(l)).count();
        if count <= *known {
            wrong.retain(|l| !here(l));
        }
    }
    if !wrong.is_empty() {
        bail!("{} places break house rules:\n  {}", wrong.len(), wrong.join("\n  "));
    }
    Ok(())
}

fn edges(wrong: &mut Vec<String>) -> Result<()> {
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir(crate::root().join("crates"))? {
        let dir = entry?.path();
        let name = dir.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        let Some((_, allowed)) = EDGES.iter().find(|(n, _)| *n == name) else {
            wrong.push(format!("crates/{name} has no row in xtask/src/tidy.rs"));
            continue;
        };
        let text = fs::read_to_string(dir.join("Cargo.toml"))
            .with_context(|| format!("crates/{name}/Cargo.toml"))?;
        let manifest: toml::Table = text.parse()?;
        let table = manifest.get("dependencies").and_then(toml::Value::as_table);
        for dependency in table
            .into_iter()
            .flat_map(|t| t.keys())
            .filter_map(|k| if k == "prlx" { Some("prlx") } else { k.strip_prefix("prlx-") })
        {
            if !allowed.contains(&dependency) || !known.contains(dependency) {
                wrong.push(format!("crates/{name} depends on {dependency}: not an allowed edge"));
            }
        }
        let mut files = Vec::new();
        rust_files(&dir.join("src"), &mut files)?;
        let code = files.iter().map(fs::read_to_string).collect::<Result<String, _>>()?;
        let tested = manifest.get("lib").and_then(|l| l.get("test")).and_then(toml::Value::as_bool);
        if tested == Some(false) && ["#[test]", "proptest!"].iter().any(|test| code.contains(test)) {
            wrong.push(format!("crates/{name} has unit tests, and its manifest says `test = false`"));
        }
        let names = |a: &str| if a == "prlx" { "prlx::".to_owned() } else { format!("prlx_{a}") };
        for unused in allowed.iter().filter(|a| !code.contains(&names(a))) {
            wrong.push(format!("crates/{name} may depend on {unused} and uses nothing of it: a dead edge"));
        }
    }
    Ok(())
}

fn sources(wrong: &mut Vec<String>) -> Result<()> {
    let root = crate::root();
    let mut files = Vec::new();
    for top in ["crates", "xtask", "fuzz"] {
        rust_files(&root.join(top), &mut files)?;
    }
    for file in files {
        let text = fs::read_to_string(&file)?;
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        if !text.starts_with("//!") && !text.starts_with("#![") {
            wrong.push(format!("{name}: a module opens with what it is (`//!`)"));
        }
        if file.file_stem().is_some_and(|s| s == "utils" || s == "util" || s == "helpers") {
            wrong.push(format!("{name}: name the file after what it holds"));
        }
        let code = text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).count();
        let exempt = name.contains("/tests/") || text.contains("for_each_ptx_op!");
        if code > LONG && !exempt {
            wrong.push(format!("{name}: {code} lines; split it"));
        }
        if !name.ends_with("tidy/prose.rs") {
            prose::rust(&name, &text, wrong);
        }
        let of = |crates: &[&str]| crates.iter().any(|c| name.starts_with(&format!("crates/{c}/src/")));
        let neutral = of(NEUTRAL);
        let pure = of(PURE);
        let (folder, own) = LAUNCH_FILES;
        let shared = name.strip_prefix(folder).is_some_and(|file| !own.contains(&file));
        for (i, line) in text.lines().take(code).enumerate() {
            let line = line.trim_start();
            if pure
                && !line.starts_with("//")
                && ["std::fs", "std::env", "println!", "eprintln!"].iter().any(|w| line.contains(w))
            {
                wrong.push(format!("{name}:{}: no files, environment or printing in this crate", i + 1));
            }
            if shared && line.contains("amdgpu") && !line.starts_with("//") {
                wrong.push(format!("{name}:{}: only rows of MODULE_FORMATS know an instruction set", i + 1));
            }
            if neutral && line.contains("ptx::") {
                wrong.push(format!("{name}:{}: this crate knows no instruction set", i + 1));
            }
        }
    }
    Ok(())
}

fn circles(wrong: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(crate::root().join("crates"))? {
        let dir = entry?.path();
        let name = dir.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        for circle in imports::circles(&dir.join("src"))? {
            wrong.push(format!("crates/{name}: files use each other:\n    {}", circle.ties.join("\n    ")));
        }
    }
    Ok(())
}

/// Folders with pages that people read.
const PAGES: [&str; 6] = ["docs", "examples", "tests", "bench", "crates", "fuzz"];

fn pages(wrong: &mut Vec<String>) -> Result<()> {
    let root = crate::root();
    let mut pages = vec![root.join("README.md")];
    for top in PAGES {
        files_with(&root.join(top), "md", &mut pages)?;
    }
    // Kept runs are records, cases are expectations, and the provenance is a list of commands.
    let records = ["bench/runs", "tests/cases", "tests/kernels/PROVENANCE.md"];
    pages.retain(|p| !records.iter().any(|r| p.starts_with(root.join(r))));
    for page in &pages {
        prose::page(&root, page, wrong)?;
    }
    prose::contents(&root, &pages, wrong)
}

/// Rust sources below a folder, sorted.
fn rust_files(dir: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    files_with(dir, "rs", out)
}

/// Files below a folder with an extension, sorted; build output is left out.
fn files_with(dir: &Path, extension: &str, out: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|n| n != "target" && n != "book") {
                files_with(&path, extension, out)?;
            }
        } else if path.extension().is_some_and(|e| e == extension) {
            out.push(path);
        }
    }
    out.sort();
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_is_tidy() {
        super::run(&[]).unwrap_or_else(|e| panic!("{e}"));
    }
}
