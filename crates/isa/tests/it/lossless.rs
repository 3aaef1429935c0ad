//! Reading is lossless, whatever the text: over the corpus, the cases, and mutations of the cases.

use std::collections::BTreeSet;

use crate::common::Random;
use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{DefUse, decisions};
use prlx_isa::ptx::{self, ItemKind, StatementKind, opcode};
use prlx_isa::view::{Operand, Role, Span};

const FOLDERS: [&str; 3] = ["tests/kernels", "tests/cases", "examples"];

/// Whether only whitespace, NUL and comments are there.
fn is_trivia(mut text: &str) -> bool {
    loop {
        text = text.trim_start_matches(|c: char| c <= ' ');
        if let Some(rest) = text.strip_prefix("/*") {
            text = rest.split_once("*/").map_or("", |(_, after)| after);
        } else if text.starts_with("//") || text.starts_with('#') {
            text = text.split_once('\n').map_or("", |(_, after)| after);
        } else {
            return text.is_empty();
        }
    }
}

/// Ranges are in order, inside of `outer`, on character boundaries, and nothing but trivia is between them.
fn check_cover(source: &str, outer: Span, spans: impl Iterator<Item = Span>, what: &str) {
    let mut at = outer.start;
    let mut again = String::new();
    for span in spans.chain([Span { start: outer.end, end: outer.end }]) {
        assert!(
            at <= span.start && span.start <= span.end && span.end <= outer.end,
            "{what}: {span:?} after {at}"
        );
        let gap = source.get(at as usize..span.start as usize).expect("a boundary");
        assert!(is_trivia(gap), "{what}: {gap:?} is lost before {span:?}");
        again.push_str(gap);
        again.push_str(source.get(span.range()).expect("a boundary"));
        at = span.end;
    }
    assert_eq!(again, &source[outer.range()], "{what}");
}

fn check(source: &str) {
    let (module, _) = ptx::parse(source);
    let all = Span { start: 0, end: source.len() as u32 };
    check_cover(source, all, module.items.iter().map(|i| i.span), "items");
    for item in &module.items {
        if let ItemKind::Function(n) = item.kind {
            let f = &module.functions[n as usize];
            assert_eq!(f.span, item.span);
            assert!(module.text(f.body).starts_with('{'));
            let closed = module.text(f.body).ends_with('}') && f.body.end > f.body.start + 1;
            let inner = Span { start: f.body.start + 1, end: f.body.end - u32::from(closed) };
            // Without its closing brace a body can end with another one's.
            let covered = module.body(f).last().is_none_or(|s| s.span.end <= inner.end);
            let inner = if covered { inner } else { Span { end: f.body.end, ..inner } };
            check_cover(source, inner, module.body(f).iter().map(|s| s.span), "statements");
        }
    }
    for statement in &module.statements {
        let text = module.text(statement.span);
        assert!(!text.is_empty());
        if statement.kind == StatementKind::Inst {
            let form = module.form(statement).expect("an instruction has a form");
            assert!(module.source[statement.opcode as usize..].starts_with(&form.text));
            assert!(text.contains(&form.text));
        }
    }
    let (view, _) = ptx::view(&module);
    for (f, parsed) in view.functions.iter().zip(&module.functions) {
        let insts = module.body(parsed).iter().filter(|s| s.kind == StatementKind::Inst);
        assert!(f.insts.iter().map(|i| i.span).eq(insts.map(|s| s.span)), "every instruction, in order");
        let mut at = 0;
        for (b, block) in f.blocks.iter().enumerate() {
            assert_eq!(block.insts.start, at);
            at = block.insts.end;
            assert!(block.insts.clone().all(|i| f.insts[i as usize].block.index() == b));
            for s in &block.succs {
                assert!(f.blocks[s.index()].preds.iter().any(|p| p.index() == b));
            }
            for p in &block.preds {
                assert!(f.blocks[p.index()].succs.iter().any(|s| s.index() == b));
            }
        }
        assert_eq!(at as usize, f.insts.len());
        for inst in &f.insts {
            assert_eq!(inst.operands.len(), inst.roles.len());
            inst.for_each_reg(&mut |r, _, _| {
                let info = &f.regs[r.index()];
                assert!(
                    info.scope.start <= inst.span.start && inst.span.end <= info.scope.end,
                    "{info:?} {inst:?}"
                );
            });
            assert!(inst.loc.is_none_or(|l| l.index() < view.locs.len()));
        }
        let graph = Cfg::of(f);
        let flow = DefUse::of(f, &graph);
        decisions(f, &flow);
    }
    let _ = view.to_string();
}

#[test]
fn corpus_and_cases_are_covered() {
    let files = crate::common::ptx_files(&FOLDERS);
    assert!(files.len() >= 14);
    for path in files {
        let bytes = std::fs::read(&path).expect("a file of the corpus");
        let mut source = String::from_utf8(bytes).expect("the corpus is text");
        check(&source);
        // As the driver gets it.
        source.push('\0');
        check(&source);
    }
}

#[test]
fn corpus_is_understood() {
    for path in crate::common::ptx_files(&["tests/kernels", "examples"]) {
        let source = std::fs::read_to_string(&path).expect("a file of the corpus");
        let (module, diagnostics) = ptx::read(&source);
        assert_eq!(diagnostics, [], "{}", path.display());
        for inst in module.functions.iter().flat_map(|f| &f.insts) {
            assert!(opcode(inst).op.is_some(), "{}: {}", path.display(), inst.semantics.opcode);
            for (operand, role) in inst.operands.iter().zip(&inst.roles) {
                let writable = matches!(
                    operand,
                    Operand::Reg(_)
                        | Operand::Vector(_)
                        | Operand::Pair(..)
                        | Operand::Element(..)
                        | Operand::Sink
                        | Operand::List(_)
                );
                let in_brackets = matches!(operand, Operand::Address(..) | Operand::Tensor(..));
                let target = matches!(operand, Operand::Label(_) | Operand::Targets(_));
                let fits = match role {
                    Role::Def | Role::UseDef => writable,
                    Role::Use => !in_brackets && !target,
                    Role::Addr => in_brackets,
                    Role::Target => target || matches!(operand, Operand::Reg(_) | Operand::Symbol(..)),
                    Role::Other => target,
                };
                assert!(fits, "{}: {}: {role:?} {operand:?}", path.display(), inst.span.of(&source));
            }
        }
    }
}

#[test]
fn recursion_is_found() {
    let found = crate::common::ptx_files(&["tests/kernels"]).into_iter().filter(|path| {
        let source = std::fs::read_to_string(path).expect("a file of the corpus");
        ptx::read(&source).0.recursive()
    });
    let found: BTreeSet<String> =
        found.filter_map(|p| Some(p.parent()?.file_name()?.to_string_lossy().into_owned())).collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["function_pointer", "recursion"]);
}

#[test]
fn chosen_functions_match_the_full_view() {
    let path = crate::common::root().join("tests/cases/isa/torture.ptx");
    let source = std::fs::read_to_string(path).expect("the case is there");
    let (module, _) = ptx::parse(&source);
    let (view, _) = ptx::view_of(&module, |name| name == "k_fast");
    assert_eq!(view.functions.len(), 1);
    let (whole, _) = ptx::view(&module);
    let same = whole.function("k_fast").expect("it is there");
    assert_eq!(view.functions[0].insts.len(), same.insts.len());
    assert_eq!(view.functions[0].blocks, same.blocks);
    let helper = view.symbols.iter().find(|s| s.name == "helper").expect("a symbol");
    assert!(helper.is_function && helper.function.is_none());
}

/// Damages a text as editors, truncation and bad luck do.
fn mutate(r: &mut Random, source: &str) -> String {
    const PIECES: [&str; 28] = [
        "{", "}", ";", ":", "\"", "(", ")", "[", "]", "/*", "*/", "//", "\n", ",", ".", "@", "!", "|", "<",
        ">", "%r<10>", "\\", "\0", "é", "#", ".loc", "::", "0x",
    ];
    let mut bytes = source.as_bytes().to_vec();
    for _ in 0..1 + r.below(8) {
        let at = r.below(bytes.len().max(1)).min(bytes.len());
        match r.below(6) {
            0 => bytes.truncate(at),
            1 => {
                let to = (at + r.below(40)).min(bytes.len());
                bytes.drain(at..to);
            }
            2 | 3 => {
                let piece = PIECES[r.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            4 => {
                let from = r.below(bytes.len().max(1)).min(bytes.len());
                let to = (from + r.below(60)).min(bytes.len());
                let copy = bytes[from..to].to_vec();
                bytes.splice(at..at, copy);
            }
            _ if at < bytes.len() => bytes[at] = (r.next() & 0x7f) as u8,
            _ => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutations_are_read_without_panic_or_loss() {
    let sources: Vec<String> = crate::common::ptx_files(&["tests/cases/isa"])
        .iter()
        .map(|p| std::fs::read_to_string(p).expect("a case is text"))
        .collect();
    let mut r = Random(20);
    for round in 0..6000 {
        let source = mutate(&mut r, &sources[round % sources.len()]);
        check(&source);
    }
}

#[test]
fn time_and_memory_are_linear_in_depth_and_size() {
    // Deep nesting, long lists and many declarations: linear, and on the heap.
    let n = 200_000;
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 %r<4294967295>;\n.reg .pred %p<9>;\n";
    let mut nested = head.to_owned();
    nested.push_str(&"{ L: ".repeat(n));
    nested.push_str("bra L;");
    nested.push_str(&"}".repeat(n));
    nested.push('}');
    check(&nested);
    check(&format!("{head} mov.u32 %r1, {}1{}; }}", "(".repeat(n), ")".repeat(n)));
    check(&format!("{head} mov.u32 %r1, {}1{}; }}", "{".repeat(n), "}".repeat(n)));
    check(&format!("{head} mov.u32 %r1, {}1; }}", "-".repeat(n)));
    check(&format!("{head} mov.u32 %r1, 1{}; }}", "?1:1".repeat(n)));
    check(&format!("{head} mov.u32 %r1, 1{}; }}", "+1".repeat(n)));
    check(&format!("{head} add.s32 %r1{}; }}", ", %r4294967294".repeat(n)));
    check(&format!("{head} {} ret; }}", "L: ".repeat(n)));
    check(&format!("{head} {} }}", "@%p1 bra L; L: ".repeat(n / 4)));
    check(&format!(
        "{head} T: .branchtargets L{}; {} L: ret; }}",
        ", L".repeat(5000),
        "brx.idx %r1, T;".repeat(5000)
    ));
    check(&format!(".global .b8 x[4294967295][4294967295] = {{ {} }};", "{1},".repeat(1000)));
    check(&"/*".repeat(n));
    check(&"\"".repeat(n));
    check(&".entry k(".repeat(n / 10));
    // A nest of loops, each around the next.
    let heads: String = (0..n / 50).map(|i| format!("L{i}: add.s32 %r1, %r1, 1;\n")).collect();
    let latches: String = (0..n / 50).rev().map(|i| format!("@%p1 bra L{i};\n")).collect();
    check(&format!("{head} {heads} {latches} ret; }}"));
    // A cascade of early exits, and as many loops beside each other.
    check(&format!("{head} {} OUT: ret; }}", "@%p1 bra OUT; ".repeat(n / 4)));
    let loops: String = (0..n / 10).map(|i| format!("L{i}: @%p1 bra L{i};\n")).collect();
    check(&format!("{head} {loops} ret; }}"));
}

/// What `n` ifs in a row leave of one register: the graph of values grows with `n`, though the last use sees
/// `n` definitions.
#[test]
fn the_data_flow_of_many_ifs_is_linear() {
    let size = |n: usize| {
        let ifs: String = (0..n)
            .map(|i| format!("@%p1 bra L{i}; add.s32 %r1, %r1, 1; L{i}: setp.lt.s32 %p1, %r1, 9;\n"))
            .collect();
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {{ .reg .b32 %r<2>; .reg .pred %p<2>; \
             mov.u32 %r1, 0; setp.lt.s32 %p1, %r1, 9; {ifs} ret; }}"
        );
        let (module, _) = prlx_isa::ptx::read(&text);
        let function = &module.functions[0];
        let flow = prlx_isa::dataflow::DefUse::of(function, &prlx_isa::cfg::Cfg::of(function));
        let last = prlx_isa::view::InstId(function.insts.len() as u32 - 2);
        let reg = function.insts[last.index()].uses().next().expect("the register that it compares");
        assert_eq!(flow.defs(last, reg).len(), n + 1);
        assert_eq!(flow.some_defs(last, reg, 64).len(), 64);
        (0..flow.value_count() as u32)
            .map(|v| flow.value(v))
            .map(|v| v.defs.len() + v.from.len() + v.users.len() + v.onward.len())
            .sum::<usize>()
    };
    let (few, many) = (size(500), size(4000));
    assert!(many < 9 * few, "8 times the ifs make {few} entries {many}");
}
