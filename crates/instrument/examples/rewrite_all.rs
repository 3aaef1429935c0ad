//! Rewrites every module of the corpus at every level, for the assembler to judge: `rewrite_all DIR` writes
//! `DIR/LEVEL/NAME.ptx` and `DIR/none/NAME.ptx` (unchanged). With `--dense`, plans have an action at every place.

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let out = Path::new(args.first().map_or("target/rewritten", String::as_str));
    let words = &args[args.len().min(1)..];
    for (name, source) in support::corpus() {
        if !words.is_empty() && !words.iter().any(|w| name.contains(w)) {
            continue;
        }
        let (module, _) = prlx_isa::ptx::read(&source);
        let file = name.replace('/', "~");
        put(&out.join("none").join(&file), &source);
        for level in support::LEVELS {
            let plan = support::dense(&module, level);
            match prlx_instrument::ptx(&source, &module, &plan) {
                Ok(edits) => {
                    put(&out.join(level.name()).join(&file), &prlx_instrument::apply(&source, &edits));
                }
                Err(error) => eprintln!("{name} {}: {error}", level.name()),
            }
        }
    }
}

fn put(path: &Path, text: &str) {
    if let Some(dir) = path.parent() {
        let _ = fs::create_dir_all(dir);
    }
    if let Err(error) = fs::write(path, text) {
        eprintln!("{}: {error}", path.display());
    }
}
