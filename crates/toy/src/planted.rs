//! Faults that are planted in inserted code are found by the verifier.

use prlx_instrument::inserted_code::Work;
use prlx_instrument::routines::Routines;
use prlx_isa::ObjectReader;
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::Level::{self, Events, Fingerprint, Path};

use crate::lower::Copy;
use crate::reader::Toy;
use crate::verify::verify;

const KERNEL: &str = include_str!("../tests/kernels/good.toy");

/// A fault: what is wrong, the level, a part of the routine's text (or what the piece does), what a line
/// begins with, which of these lines, and what stands there instead, of which `$` is the line.
type Fault = (&'static str, Level, &'static str, &'static str, Which, &'static str);

#[derive(Clone, Copy)]
enum Which {
    First,
    Last,
}
use Which::{First, Last};

/// Bits that are appended, and code that takes a block of memory.
const BITS: &str = "shl.b32 %prlx_word, %prlx_word, 2;";
const BLOCK: &str = "%prlx_magazine";

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    ("`exec` is not given back", Path, BITS, "mov.mask exec", Last, ""),
    ("a routine runs for `exec` instead of the lanes that are there", Path, BITS, "mov.mask exec", First, ""),
    ("bits are not moved", Path, BITS, "shl.u32", First, ""),
    ("bits are moved too far", Path, BITS, "shl.u32 v15, v15, 2", First, "shl.u32 v15, v15, 3"),
    ("a register of the kernel is written", Path, BITS, "mov.u32 v7, v2", First, "$\nmov.u32 v2, v15"),
    ("a mask of the kernel is written", Path, BITS, "mov.u32 v7, v2", First, "$\nmov.mask m0, exec"),
    ("a store is forgotten", Path, BLOCK, "st.global.u32", Last, ""),
    ("a word is stored four bytes on", Path, BLOCK, "st.global.u32 [d4+0]", Last, "st.global.u32 [d4+4], v15"),
    ("an atomic addition sets bits", Path, BLOCK, "atom.global.add.u64 d7, [d7+0]", First, "atom.global.or.u64 d7, [d7+0], d10"),
    ("a comparison of the other side", Path, BLOCK, "cmp.ge.u64 m9, d7, d8", First, "cmp.lt.u64 m9, d7, d8"),
    ("lanes go on that branch", Path, BLOCK, "andn.mask exec", First, "mov.mask exec, m11"),
    ("lanes come back at no label", Path, BLOCK, "or.mask exec", First, ""),
    ("a predicate is cleared in lanes that do not write it", Path, BLOCK, "andn.mask m14", Last, "mov.mask m14, 0"),
    ("a guard is forgotten", Path, BLOCK, "andn.mask exec, exec", First, ""),
    ("lanes that leave the wave are still with it", Path, "depart", "and.mask", Last, ""),
    ("lanes that leave the wave have no number", Path, "depart", "mov.u32", First, ""),
    ("lanes do not come back to the wave", Path, "rejoin", "or.mask", Last, ""),
    ("lanes come back that never began", Path, "rejoin", "cmp.eq.u32", First, "ballot.u64 d9, exec\nmov.mask m9, exec\nor.mask m7, m7, exec"),
    ("the rank counts the lane itself", Events, "mbcnt", "sub.u64", First, ""),
    ("half of a rotated hash is missing", Fingerprint, "shf.l.wrap", "shr.u32", First, ""),
    ("a loop does not end", Path, BITS, "mov.mask exec", Last, "$\nagain:\nbr again"),
    ("control leaves the piece", Path, BITS, "mov.mask exec", Last, "$\nbr elsewhere"),
];

/// Plants a fault in the first piece that has its place. Returns what is said of it.
fn plant(fault: &Fault) -> Option<Result<(), String>> {
    let (_, level, of, begin, which, instead) = *fault;
    let module = Toy.read(KERNEL.as_bytes()).unwrap();
    let plan = Plan::resolve(&RecordingRequest::new(level), &module, "kernel", &|_| None);
    let routines = Routines::new(&module, &plan);
    let mut copy = Copy::new(&module, &module.functions[0], &routines, &plan.functions[0].insertions, 0);
    copy.kernel().unwrap();
    for mut piece in std::mem::take(&mut copy.pieces) {
        let mut lines: Vec<String> =
            copy.text[piece.text.clone()].lines().map(|line| line.trim().to_owned()).collect();
        let fits = match &piece.work {
            Work::Routine(text) => text.lines.contains(of),
            Work::Depart(_) => of == "depart",
            Work::Rejoin(_) => of == "rejoin",
        };
        let mut places = (0..lines.len()).filter(|at| lines[*at].starts_with(begin));
        let place = match which {
            First => places.next(),
            Last => places.next_back(),
        };
        let Some(place) = place.filter(|_| fits) else { continue };
        lines[place] = instead.replace('$', &lines[place]);
        lines.retain(|line| !line.is_empty());
        let text = lines.join("\n");
        piece.text = 0..text.len();
        return Some(verify(&text, &[piece], &copy.registers, &copy.state));
    }
    None
}

#[test]
fn planted_faults_are_found() {
    let wrong = |fault: &Fault| match plant(fault) {
        Some(Err(_)) => None,
        Some(Ok(())) => Some(format!("{}: it is not found", fault.0)),
        None => Some(format!("{}: there is no such place", fault.0)),
    };
    let wrong: Vec<String> = FAULTS.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
