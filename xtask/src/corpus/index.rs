//! Writes `tests/kernels/index.toml` and `tests/kernels/PROVENANCE.md`: the list of modules, and how they
//! were made.

use super::{Kind, Product, Source, compile, put};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Opcodes that every reader of PTX has. `needs` in the index lists the others.
const BASE: &[&str] = &[
    "abs", "add", "and", "bar", "barrier", "bra", "cvt", "cvta", "div", "exit", "fma", "ld", "mad", "max",
    "min", "mov", "mul", "neg", "not", "or", "rem", "ret", "selp", "set", "setp", "shl", "shr", "st", "sub",
    "xor",
];

/// Writes both files; with `check`, returns the names of those that differ.
pub fn write(sources: &[Source], check: bool) -> Result<Vec<String>> {
    let sources: Vec<&Source> = sources.iter().filter(|s| s.is_listed()).collect();
    let mut stale = Vec::new();
    for (name, text) in [("index.toml", index(&sources)?), ("PROVENANCE.md", provenance(&sources))] {
        let path = Path::new("tests/kernels").join(name);
        if put(&path, &text, check)? {
            stale.push(path.display().to_string());
        }
    }
    Ok(stale)
}

fn index(sources: &[&Source]) -> Result<String> {
    let mut text = String::from(
        "# Made by `cargo xtask corpus`: every tracked module, and what it needs of its reader.\n",
    );
    for source in sources {
        for (i, product) in source.products.iter().filter(|p| p.kept).enumerate() {
            let module = fs::read_to_string(crate::root().join(&product.path))
                .context("a module that was just made")?;
            let launch =
                if i == 0 { "launch.toml".to_owned() } else { format!("launch.{}.toml", product.arch) };
            let (statements, needs) = needs(&module);
            let needs = needs.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ");
            let folder = source.dir.strip_prefix("tests/kernels").unwrap_or(&source.dir).display();
            let name = source.dir.file_name().unwrap_or_default().to_string_lossy();
            let kind = source.kind.name();
            let arch = product.arch;
            write!(text, "\n[[kernel]]\nname = \"{name}\"\nkind = \"{kind}\"\ntarget = \"{arch}\"\n")?;
            writeln!(text, "module = \"{folder}/{arch}.ptx\"")?;
            if source.launched {
                writeln!(text, "launch = \"{folder}/{launch}\"")?;
            }
            writeln!(text, "instructions = {statements}\nneeds = [{needs}]")?;
        }
    }
    Ok(text)
}

/// Counts the instructions of a module. Returns also the opcodes that are not in [`BASE`], and notable types.
fn needs(module: &str) -> (usize, BTreeSet<String>) {
    let skipped = [".loc", ".file", ".version", ".target", ".address_size"];
    let lines = module.lines().map(|l| l.split("//").next().unwrap_or_default().trim());
    let lines = lines
        .take_while(|l| !l.starts_with(".section"))
        .filter(|l| !skipped.iter().any(|s| l.starts_with(s)));
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut needs = BTreeSet::new();
    let mut count = 0;
    for statement in text.split(';').filter_map(instruction) {
        count += 1;
        classify(statement, &mut needs);
    }
    (count, needs)
}

/// Returns a statement from its opcode on; `None` for declarations and directives.
fn instruction(statement: &str) -> Option<&str> {
    let mut rest = statement;
    if rest.contains(".entry ") || rest.contains(".func ") {
        rest = rest.split_once('{')?.1;
    }
    loop {
        rest = rest.trim_start_matches(['{', '}', ' ', '\t']);
        let name = rest.find(|c: char| !(c.is_alphanumeric() || "_$%".contains(c))).unwrap_or(rest.len());
        match rest[name..].trim_start().strip_prefix(':') {
            Some(after) if !after.starts_with(':') => rest = after,
            _ => break,
        }
    }
    if rest.starts_with('@') {
        rest = rest.split_once([' ', '\t'])?.1.trim_start();
    }
    rest.starts_with(|c: char| c.is_ascii_lowercase()).then_some(rest)
}

/// Returns the callee of a call: a name, or a register.
fn callee(call: &str) -> &str {
    let rest = call.split_once([' ', '\t']).map_or("", |(_, rest)| rest).trim_start();
    let rest = if rest.starts_with('(') { rest.split_once(')').map_or("", |(_, rest)| rest) } else { rest };
    rest.trim_start_matches([',', ' ', '\t']).split([',', ' ']).next().unwrap_or_default()
}

fn classify(statement: &str, needs: &mut BTreeSet<String>) {
    let opcode = statement.split([' ', '\t', '(']).next().unwrap_or_default();
    let parts: Vec<&str> = opcode.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    let name = match parts[0] {
        "cp" if has("tensor") => "cp.async.bulk.tensor",
        "cp" if has("bulk") => "cp.async.bulk",
        "cp" => "cp.async",
        "barrier" if has("cluster") => "barrier.cluster",
        "bar" | "barrier" if has("red") => "bar.red",
        "bar" | "barrier" if has("arrive") => "bar.arrive",
        "call" => match callee(statement) {
            "vprintf" => "printf",
            "malloc" | "free" => "malloc",
            "__assertfail" => "assert",
            name if name.starts_with('%') => "call.indirect",
            _ => "call",
        },
        name => name,
    };
    if !BASE.contains(&name) {
        needs.insert(name.to_owned());
    }
    for part in &parts[1..] {
        let kind = match *part {
            "f16" | "bf16" | "f64" | "tf32" | "e4m3" | "e5m2" | "s128" | "b128" | "u128" => part,
            "f16x2" => "f16",
            "bf16x2" => "bf16",
            "e4m3x2" => "e4m3",
            "e5m2x2" => "e5m2",
            "local" | "const" | "cc" | "approx" => part,
            "shared::cluster" | "cluster" => "cluster",
            _ => continue,
        };
        needs.insert(kind.to_owned());
    }
    for register in ["%clock64", "%clock", "%globaltimer", "%smid", "%nsmid", "%cluster_ctarank", "%lanemask"]
    {
        if statement.contains(register) {
            needs.insert(register.trim_start_matches('%').to_owned());
        }
    }
}

fn provenance(sources: &[&Source]) -> String {
    let mut text = String::from(
        "# How these modules were made\n\n\
         By `cargo xtask corpus`, from the source beside each, with the tools that `cargo xtask setup` installs:\n\n",
    );
    for pin in crate::setup::PINS {
        text.push_str(&format!("- `{pin}`\n"));
    }
    text.push_str(
        "\nPaths in `.file` lines and hashes in internal names are made independent of the machine.\n\n",
    );
    text.push_str("| module | how |\n|---|---|\n");
    for source in sources {
        for product in source.products.iter().filter(|p| p.kept) {
            let path = product.path.strip_prefix("tests/kernels").unwrap_or(&product.path).display();
            text.push_str(&format!("| `{path}` | {} |\n", how(source, product)));
        }
    }
    text
}

fn how(source: &Source, product: &Product) -> String {
    match source.kind {
        Kind::Cuda => format!("`nvcc {} {}`", compile::flags(source, product).join(" "), source.file),
        Kind::Triton => format!("`triton.compile` of `BUILD` in `{}` for {}", source.file, product.arch),
    }
}
