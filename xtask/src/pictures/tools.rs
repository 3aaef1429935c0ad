//! Pictures of the probe tools: the page of `prlx probe --html` for each tool, with a kernel of the corpus.
//!
//! Listings are cut to the lines with values and their neighbours.
//!
//! # Invariants
//! Every tool has a picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::{Context, Result, ensure};

use super::{prlx, shoot};
use crate::root;

/// A tool, its kernel, and replacements to make in a template first.
type Shown = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const TOOLS: &[Shown] = &[
    ("block-scheduling", "reduce_tree", &[]),
    ("residency", "mandelbrot", &[]),
    ("global-bytes", "gemm_cp_async", &[]),
    ("bytes", "gemm_tiled", &[]),
    ("transactions", "transpose", &[]),
    ("coalescing", "transpose", &[]),
    ("bank-conflicts", "transpose", &[]),
    ("tensor-ops", "gemm_wmma", &[]),
    ("instruction-mix", "softmax", &[]),
    ("branch-efficiency", "collatz", &[]),
    ("progress", "binary_search", &[]),
    ("memory-timeline", "spmv_csr", &[]),
    ("barrier-wait", "reduce_tree", &[]),
    ("barrier-order", "reduce_tree", &[]),
    ("imbalance", "spmv_csr", &[]),
    ("stopwatch", "reduce_tree", &[("line == 20", "line == 6"), ("line == 30", "line == 13")]),
    ("values", "mandelbrot", &[]),
    ("stored-range", "layernorm", &[]),
    ("nan-origin", "math_functions", &[]),
];
/// Width and height of a picture, in pixels.
const SIZE: (u32, u32) = (960, 400);
/// Maximum size of a picture, in bytes.
const BYTES: u64 = 80_000;
/// Number of browsers that run at a time.
const BROWSERS: usize = 2;
/// Style that hides the parts of a page that a picture does not need.
const STYLE: &str = "<style>.code tr{display:none}.code tr.warm,.code tr:has(+ .warm),.code .warm + tr{display:table-row}\
    .source ~ .scroll,header{display:none}main{padding-top:0}h2{margin-top:.8rem}</style></head>";

/// Makes a picture of every tool in `out`.
pub(super) fn pictures(out: &Path) -> Result<Vec<PathBuf>> {
    let folder = root().join("crates/probe/tools");
    for tool in fs::read_dir(&folder)? {
        let path = tool?.path();
        let name = path.file_stem().and_then(|n| n.to_str()).context("a tool has a name")?;
        ensure!(
            TOOLS.iter().any(|t| t.0 == name),
            "the tool {name} has no picture: xtask/src/pictures/tools.rs"
        );
    }
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<PathBuf>> {
        let mine = std::iter::from_fn(|| TOOLS.get(next.fetch_add(1, Relaxed)));
        mine.map(|shown| picture(out, shown).with_context(|| format!("the picture of {}", shown.0))).collect()
    };
    let done = std::thread::scope(|threads| {
        let all: Vec<_> = (0..BROWSERS).map(|_| threads.spawn(work)).collect();
        all.into_iter()
            .map(|t| t.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
            .collect::<Vec<_>>()
    });
    Ok(done.into_iter().collect::<Result<Vec<_>>>()?.concat())
}

fn picture(out: &Path, (tool, kernel, edits): &Shown) -> Result<PathBuf> {
    let page = out.join(format!("{tool}.html"));
    let mut program = (*tool).to_owned();
    if !edits.is_empty() {
        program = fs::read_to_string(root().join(format!("crates/probe/tools/{tool}.prlx")))?;
        for (from, to) in *edits {
            ensure!(program.contains(from), "the template has no `{from}`");
            program = program.replace(from, to);
        }
    }
    let launch = format!("tests/kernels/cuda/{kernel}/launch.toml");
    let ended =
        prlx()?.args(["probe", &program, &launch, "--html"]).arg(&page).current_dir(root()).output()?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let html = fs::read_to_string(&page)?;
    ensure!(!html.contains("<section></section>") && html.contains("<section>"), "the page has no table");
    fs::write(&page, html.replacen("</head>", STYLE, 1))?;
    let picture = shoot(&page, &out.join(format!("{tool}.png")), SIZE.0, SIZE.1, 5_000)?;
    let bytes = fs::metadata(&picture)?.len();
    ensure!(bytes <= BYTES, "{} has {bytes} bytes, more than {BYTES}", picture.display());
    Ok(picture)
}
