//! The reader: the view of a kernel, the plan that follows from it, what is refused, and that printing is the
//! inverse of reading.

use prlx_emu::Checks;
use prlx_isa::view::Module;
use prlx_plan::{Plan, RecordingRequest};
use prlx_toy::TOY;
use prlx_toy::code::Instruction;
use prlx_trace::Level;

use crate::support::{BAD, GOOD, device, golden, read_job};

fn view(text: &str) -> Module {
    TOY.read(text.as_bytes()).unwrap()
}

#[test]
fn the_view_of_a_kernel() {
    golden("view.txt", &view(GOOD).to_string());
}

#[test]
fn the_plan_of_a_kernel() {
    let mut text = String::new();
    for level in [Level::Path, Level::Fingerprint, Level::Events] {
        let plan = Plan::resolve(&RecordingRequest::new(level), &view(GOOD), "good", &|_| None);
        assert_eq!(plan.warp_size.lanes(), 64);
        assert_eq!(plan.functions[0].skipped, None);
        text += &format!("{}\n{plan}\n", level.name());
    }
    golden("plan.txt", &text);
}

#[test]
fn printing_is_the_inverse_of_reading() {
    let mut lines = 0;
    for text in [GOOD, BAD] {
        for inst in &view(text).functions[0].insts {
            let Some(native) = inst.semantics.native.get::<Instruction>() else { continue };
            assert_eq!(native.to_string(), inst.span.of(text));
            assert_eq!(Instruction::parse(&native.to_string()).as_ref(), Ok(native));
            lines += 1;
        }
    }
    assert!(lines > 100, "{lines}");
}

#[test]
fn what_no_view_can_hold_is_refused() {
    for (body, why) in [
        ("mov.u32 v0, %tid.x", "a kernel ends with `end`"),
        ("jump away\nend", "there is no operation `jump`"),
        ("mov.u33 v0, 1\nend", "there is no type `u33`"),
        ("mov.u32 v00, 1\nend", "no parameter `v00`"),
        ("add.u32 v0, 1\nend", "too few or too many operands"),
        ("ld.global.u32 v0, [s1]\nend", "`[s1]` is no operand"),
        ("br away\nend", "it has no label of this kernel"),
        ("again:\nskip again\nend", "`skip` goes forward"),
        ("loop on\non:\nend", "`loop` goes back"),
        ("skip on\nbr c0, far\non:\nadd.u32 s0, s0, 1\nfar:\nend", "goes elsewhere"),
        ("mov.u32 v0, 1 ; last\nend", "the number of a line"),
    ] {
        let text = format!("toy\nkernel k()\n{body}\n");
        let error = TOY.read(text.as_bytes()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(why), "{body}: {error}");
    }
    assert!(TOY.read(b"kernel k()\nend\n").is_err() && TOY.read(&[0xff]).is_err());
}

#[test]
fn no_text_makes_it_panic() {
    let mut state = 11u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let words: Vec<&str> = GOOD.split_inclusive([' ', ',', '\n', '.', ':']).collect();
    let mut accepted = 0;
    for _ in 0..400 {
        let mut words = words.clone();
        for _ in 0..1 + next(3) {
            let at = next(words.len());
            words[at] = words[next(words.len())];
        }
        let text = words.concat();
        let request = RecordingRequest::new(Level::Path);
        let rewrite =
            prlx_instrument::rewrite_object(&prlx_toy::Toy, text.as_bytes(), "k", &request, &|_| None);
        if let Ok(module) = TOY.read(text.as_bytes()) {
            accepted += 1;
            assert!(module.functions.len() == 1 && rewrite.is_ok(), "{text}");
            // It is run or refused. A wrong address or a loop without end is a fault.
            let job = read_job("kernel", &text);
            let _ = job.and_then(|job| prlx_driver::run(&mut device(Checks::NONE), &job));
        }
    }
    assert!(accepted > 40, "only {accepted} texts were accepted");
}
