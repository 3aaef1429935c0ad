//! `docs/ops.md` says what the tables say. `BLESS=1` writes it.

use std::fmt::Write;
use std::path::Path;

use prlx_emu::coverage::{Coverage, coverage};
use prlx_isa::ptx::Op;

fn table() -> String {
    let mut out = String::from(
        "# Operations and the CPU device's coverage\n\n\
         Every operation of PTX that PRLX knows, and what the CPU device does with it. A kernel that it can't run is refused\n\
         before it starts, naming instruction and line; what the kernel can't reach does not matter. Written by\n\
         `BLESS=1 cargo test -p prlx-emu --test ops` from `crates/isa/src/ptx/ops.rs` and `crates/emu/src/coverage.rs`.\n\n",
    );
    let count = |f: fn(Coverage) -> bool| Op::ALL.iter().filter(|&&op| f(coverage(op))).count();
    let _ = writeln!(
        out,
        "{} run, {} are hints without effect, {} are refused.\n\n| operation | what it does | CPU device |\n|---|---|---|",
        count(|c| matches!(c, Coverage::Runs(_))),
        count(|c| c == Coverage::Hint),
        count(|c| c == Coverage::Refused)
    );
    for &op in Op::ALL {
        let does = match coverage(op) {
            Coverage::Runs("") => "runs".into(),
            Coverage::Runs(limits) => format!("runs: {limits}"),
            Coverage::Hint => "no effect".into(),
            Coverage::Refused => "refused".into(),
        };
        let _ = writeln!(out, "| `{}` | {} | {does} |", op.mnemonic(), op.doc().trim().replace('|', "\\|"));
    }
    out
}

#[test]
fn the_page_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ops.md");
    let want = table();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, want).expect("docs/ops.md can be written");
        return;
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(have == want, "docs/ops.md is stale: BLESS=1 writes it again");
}
