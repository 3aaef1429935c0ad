//! Markers in the source of AMD's code (`tests/kernels/amd/roles.hip`).

use prlx_isa::amdgpu::object::CodeObject;
use prlx_isa::amdgpu::read;
use prlx_isa::view::{Module, Operand};

use crate::amd_descriptors::file;

/// The markers of a function: kind, name, words and line.
fn markers(module: &Module, function: &str) -> Vec<(&'static str, String, Vec<String>, u32)> {
    let f = module.function(function).unwrap();
    let exec = f.regs.iter().position(|reg| reg.name.starts_with("exec")).unwrap();
    let one = |marker: &prlx_isa::view::Marker| {
        assert_eq!(marker.guard.map(|guard| (guard.reg.index(), guard.negate)), Some((exec, false)));
        let words = marker.payload.iter().map(|word| match word {
            Operand::Reg(reg) => f.regs[reg.index()].name.clone(),
            other => format!("{other:?}"),
        });
        let line = module.locs[marker.loc.unwrap().index()].line;
        (marker.kind.name(), marker.name.clone(), words.collect(), line)
    };
    f.markers.iter().map(one).collect()
}

/// As `llvm-objdump -s -j .prlx.markers` and `llvm-dwarfdump --debug-line` show them.
#[test]
fn markers_have_kind_name_words_and_line() {
    let bytes = file("roles.gfx942.co");
    let module = read(&CodeObject::read(&bytes).unwrap()).unwrap();
    let named = |kind, name: &str, words: &[&str], line| {
        (kind, name.to_owned(), words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), line)
    };
    let expected = [
        named("begin", "all", &[], 73),
        named("begin", "work", &["v0"], 75),
        named("instant", "odd", &["v0"], 78),
        named("end", "work", &[], 80),
        named("end", "all", &[], 82),
    ];
    assert_eq!(markers(&module, "collatz"), expected);
    let consumed = named("begin", "consume", &["v6", "Int(-1)"], 46);
    assert!(markers(&module, "pipe").contains(&consumed), "{:?}", markers(&module, "pipe"));
    assert_eq!(markers(&module, "late"), []);
}

#[test]
fn an_entry_with_another_address_or_text_is_refused_with_its_place() {
    let whole = file("roles.gfx942.co");
    let object = CodeObject::read(&whole).unwrap();
    let section = object.sections.iter().find(|section| section.name == ".prlx.markers").unwrap();
    let at = section.at as usize;
    let changed = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = whole.clone();
        change(&mut bytes[at..]);
        let object = CodeObject::read(&bytes).unwrap();
        read(&object).map(|module| markers(&module, "pipe").len()).map_err(|e| (e.at, e.what))
    };
    let all = changed(&|_| ()).unwrap();
    // Functions that the linker drops leave the address 0.
    assert_eq!(changed(&|entry| entry[..8].fill(0)), Ok(all - 1));
    let (place, what) = changed(&|entry| entry[0] += 4).unwrap_err();
    assert_eq!(place, section.at);
    assert!(what.starts_with("section .prlx.markers: marker `group_role` is at 0x"), "{what}");
    assert!(what.ends_with(", where no function has an s_nop"), "{what}");
    let (place, what) = changed(&|entry| entry[8] = b'x').unwrap_err();
    assert_eq!(place, section.at);
    assert!(what.contains("is no marker: a kind and a name come first"), "{what}");
}
