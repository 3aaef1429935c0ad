//! The same launch gives the same recording and the same verdict, even if its CTAs race.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use prlx_trace::{Nanos, Trace};

use crate::programs::{folder, prlx};

/// Each of 64 CTAs counts in one word with plain loads and stores, and leaves in its own word what it saw.
/// The number of rounds depends on the count.
const RACE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry race(.param .u64 sum, .param .u64 seen)
{
    .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [sum];
    ld.param.u64 %rd2, [seen];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, 0;
ROUND:
    ld.global.u32 %r3, [%rd1];
    add.u32 %r3, %r3, 1;
    st.global.u32 [%rd1], %r3;
    add.u32 %r2, %r2, 1;
    and.b32 %r4, %r3, 7;
    add.u32 %r4, %r4, 4000;
    setp.lt.u32 %p1, %r2, %r4;
    @%p1 bra ROUND;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r3;
    ret;
}
";

const LAUNCH: &str = "module = \"race.ptx\"\ngrid = 64\nblock = 1\n
[[arg]]\nname = \"sum\"\ntype = \"u32\"\nfill = 0\nlen = 1\nout = true\n
[[arg]]\nname = \"seen\"\ntype = \"u32\"\nfill = 0\nlen = 64\nout = true\n";

/// A recording without what the host's clock and its process numbers decide.
fn recorded(file: &Path) -> String {
    let mut trace = Trace::read(&fs::read(file).unwrap()).unwrap();
    trace.process = Default::default();
    for launch in &mut trace.launches {
        launch.launch.start = Nanos(0);
    }
    format!("{trace:?}")
}

#[test]
fn whatever_the_number_of_host_threads() {
    let here = folder("deterministic", "race");
    fs::write(here.join("race.ptx"), RACE).unwrap();
    fs::write(here.join("race.toml"), LAUNCH).unwrap();
    for seed in ["0", "1", "7"] {
        let mut recordings = BTreeSet::new();
        for threads in ["1", "2", "4"] {
            for n in 0..3 {
                let file = format!("{seed}-{threads}-{n}.prlx");
                let options = ["--seed", seed, "--threads", threads];
                let made = prlx(
                    &here,
                    &[&["record", "race.toml", "-o", &file, "--force"], &options[..]].concat(),
                    &[],
                );
                assert_eq!(made.0, Some(0), "{made:?}");
                recordings.insert(recorded(&here.join(&file)));
                let words = [&["compare", "race.toml", "race.toml"], &options[..]].concat();
                let (code, out, err) = prlx(&here, &words, &[]);
                assert_eq!(code, Some(0), "seed {seed}, {threads} threads: {out}{err}");
            }
            let golden = format!("{seed}-1-0.prlx");
            let words = ["assert", &golden, &format!("{seed}-{threads}-2.prlx")];
            let (code, out, err) = prlx(&here, &words, &[]);
            assert_eq!(code, Some(0), "seed {seed}, {threads} threads: {out}{err}");
        }
        assert_eq!(recordings.len(), 1, "seed {seed}");
    }
}
