//! Which instructions the tracepoints of a program match, and why others have none.

use std::path::Path;

use prlx_plan::Filter;
use prlx_probe::ProbeMatch;
use prlx_probe::lang::parse;

/// What the only tracepoint of a program matches in the kernel that calls functions through pointers.
fn matches(program: &str) -> ProbeMatch {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../tests/kernels/cuda/function_pointer/sm_80.ptx");
    let (module, _) = prlx_isa::ptx::read(&std::fs::read_to_string(path).unwrap());
    let filter = Filter { kernels: vec!["function_pointer".to_owned()], ..Filter::default() };
    ProbeMatch::all(&parse(program).unwrap(), &module, &filter).remove(0)
}

#[test]
fn functions_called_through_a_pointer_are_there_but_not_probed() {
    for name in ["op_add", "_Z6op_addii", "'op_add(int, int)'"] {
        let name = name.replace('\'', "\"");
        let found = matches(&format!("func:{name}:begin {{ @n = count(); }}"));
        assert!(found.possible.is_empty());
        let why: Vec<&str> = found.missed.iter().map(|m| m.why.as_str()).collect();
        assert_eq!(why.len(), 1, "{why:?}");
        assert!(why[0].starts_with("op_add is not probed: its address is taken"), "{why:?}");
    }
}

#[test]
fn an_instruction_only_in_such_functions_is_there_too() {
    let found = matches("inst:max { @n = count(); }");
    assert!(found.possible.is_empty());
    assert!(found.missed.iter().any(|m| m.why.contains("op_max is not probed")), "{:?}", found.missed);
    assert!(matches("inst:sin { @n = count(); }").missed.is_empty());
    let here = matches("func:function_pointer:begin { @n = count(); }");
    assert!(here.possible.len() == 1 && here.missed.is_empty());
}
