//! Case files: `tests/cases/instrument/NAME.ptx`, and what it is rewritten to in `NAME.LEVEL`. `BLESS=1` writes those.

mod support;

use std::fs;

use prlx_trace::kernel::Level;
use prlx_trace::launch::Window;

#[test]
fn cases_are_rewritten_as_written_down() {
    let dir = support::root().join("tests/cases/instrument");
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "ptx")) {
        let source = fs::read_to_string(path).unwrap();
        for level in support::LEVELS {
            let mut program = support::program(level);
            program.elide = true;
            if level == Level::Operands {
                let sites = (0..64).map(prlx_trace::SiteId).collect();
                program.window = Some(Window { sites, warps: (0, 4), visits: (0, 8) });
            }
            let what = format!("{} at {}", path.display(), level.name());
            let rewrite = prlx_instrument::rewrite(&source, "case", &program, &|_| None)
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            let expected = path.with_extension(level.name());
            if bless {
                fs::write(expected, rewrite.text).unwrap();
            } else if fs::read_to_string(expected).unwrap_or_default() != rewrite.text {
                wrong.push(what);
            }
        }
    }
    assert!(wrong.is_empty(), "not as written (look at them with BLESS=1): {wrong:#?}");
}
