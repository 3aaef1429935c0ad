//! Code objects with instrumented kernels: what stays as it was, what is added, and that no bytes make it
//! panic.

use std::path::PathBuf;

use prlx_isa::amdgpu::object::{CodeObject, Field};
use prlx_isa::view::FunctionKind;
use prlx_plan::{RecordingRequest, RegisterChoice};
use prlx_trace::kernel::Level;

/// The code objects beside the AMD tests, with their names.
fn objects() -> Vec<(String, Vec<u8>)> {
    let folder = crate::support::root().join("tests/kernels/amd");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "co")).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

/// Levels that can be inserted.
const LEVELS: [Level; 4] = [Level::Path, Level::Fingerprint, Level::Events, Level::Operands];

fn rewrite(bytes: &[u8], level: Level) -> Result<prlx_instrument::Rewrite, prlx_instrument::Error> {
    prlx_instrument::rewrite_object(
        &prlx_instrument::AmdGpu,
        bytes,
        "object",
        &RecordingRequest::new(level),
        &|_| None,
    )
}

#[test]
fn the_original_stays_and_every_kernel_gets_a_copy() {
    let mut kernels = 0;
    for (name, bytes) in objects() {
        for level in LEVELS {
            let rewrite = match rewrite(&bytes, level) {
                Ok(rewrite) => rewrite,
                // These have targets or contents that the reader refuses as well.
                Err(e) => {
                    assert!(
                        CodeObject::read(&bytes).is_err() || e.message.contains("waves of"),
                        "{name}: {e}"
                    );
                    continue;
                }
            };
            let after = rewrite.object.unwrap().bytes;
            // All but where the ELF header has its tables: offsets 32 to 48 and 56 to 64.
            let same = |from: usize, to: usize| after[from..to] == bytes[from..to];
            assert!(same(0, 32) && same(48, 56) && same(64, bytes.len()), "{name}");
            let (before, after) = (CodeObject::read(&bytes).unwrap(), CodeObject::read(&after).unwrap());
            assert_eq!(before.metadata, after.metadata, "{name}");
            for kernel in &before.kernels {
                assert!(after.kernels.contains(kernel), "{name}: {} has changed", kernel.name);
                let function = rewrite.module.functions.iter().position(|f| f.name == kernel.name).unwrap();
                let skipped = &rewrite.plan.functions[function].skipped;
                let copy = after.kernels.iter().find(|k| k.name == format!("{}.prlx", kernel.name));
                assert_eq!(copy.is_some(), skipped.is_none(), "{name}: {}: {skipped:?}", kernel.name);
                let Some(copy) = copy else { continue };
                kernels += 1;
                assert!(copy.descriptor.vgprs().vector >= kernel.descriptor.vgprs().vector);
                // Registers are allocated in blocks, which may have more of them than were asked for.
                assert!(copy.descriptor.vgprs().accumulator >= kernel.descriptor.vgprs().accumulator);
                assert_eq!(
                    u64::from(copy.descriptor.get(Field::Kernarg).unwrap()),
                    before.argument_bytes(kernel).next_multiple_of(8) + 32 + 24
                );
                // The reader understands the copy, and finds no more unknown control than in the original.
                let view = prlx_isa::amdgpu::read(&after).unwrap();
                let copied = view.functions.iter().find(|f| f.name == copy.name).unwrap();
                assert_eq!(copied.kind, FunctionKind::Kernel);
                assert_eq!(copied.unknown_control, None, "{name}: {}", copied.name);
            }
        }
    }
    assert!(kernels > 30, "only {kernels} kernels were instrumented");
}

#[test]
fn code_with_registers_that_are_saved_or_borrowed_is_verified() {
    let mut kernels = 0;
    for (name, bytes) in objects() {
        use RegisterChoice::{Dead, Saved, Scarce};
        for (level, registers) in
            [(Level::Path, Dead), (Level::Path, Saved), (Level::Values, Scarce), (Level::Events, Scarce)]
        {
            let request = RecordingRequest { registers, ..RecordingRequest::new(level) };
            let target = &prlx_instrument::AmdGpu;
            match prlx_instrument::rewrite_object(target, &bytes, "object", &request, &|_| None) {
                Ok(rewrite) => {
                    kernels += rewrite.plan.functions.iter().filter(|f| f.skipped.is_none()).count();
                }
                Err(e) => assert_ne!(e.kind, prlx_instrument::ErrorKind::Verify, "{name}, {level:?}: {e}"),
            }
        }
    }
    assert!(kernels > 150, "only {kernels} kernels were instrumented");
}

#[test]
fn what_cannot_be_inserted_is_said() {
    let bytes = std::fs::read(crate::support::root().join("tests/kernels/amd/calls.gfx942.co")).unwrap();
    let plan = rewrite(&bytes, Level::Path).unwrap().plan;
    let why =
        plan.functions.iter().zip(&plan.module.functions).find(|(_, f)| f.name == "recursive").unwrap().0;
    assert_eq!(why.skipped.as_deref(), Some("its functions call each other in a circle"));
}

#[test]
fn a_kernel_that_does_not_fit_keeps_no_other_from_it() {
    let bytes = std::fs::read(crate::support::root().join("tests/kernels/amd/jumps.gfx942.co")).unwrap();
    let rewrite = rewrite(&bytes, Level::Path).unwrap();
    let skipped = |name: &str| {
        let all = rewrite.plan.functions.iter().zip(&rewrite.module.functions);
        all.filter(|(_, f)| f.name == name).find_map(|(plan, _)| plan.skipped.clone())
    };
    for kernel in ["distances", "crowded", "far", "alone", "wide"] {
        assert_eq!(skipped(kernel), None, "{kernel}");
    }
    let object = rewrite.object.unwrap().bytes;
    let after = CodeObject::read(&object).unwrap();
    let copies: Vec<&str> =
        after.functions().map(|f| f.name).filter(|name| name.ends_with("half.prlx")).collect();
    assert_eq!(copies, ["crowded.half.prlx", "far.half.prlx", "wide.half.prlx"]);
    // Only the kernel that leaves no vector register keeps words in accumulation registers.
    let registers = |name: &str| {
        after.kernels.iter().find(|k| k.name == format!("{name}.prlx")).unwrap().descriptor.vgprs()
    };
    assert!(registers("wide").accumulator > 0 && registers("wide").vector == 256);
    assert!(registers("crowded").vector < 64);
}

#[test]
fn kernels_without_free_vector_registers_have_slots() {
    for target in ["gfx90a", "gfx942", "gfx1030", "gfx1100"] {
        let file = format!("tests/kernels/amd/full.{target}.co");
        let bytes = std::fs::read(crate::support::root().join(file)).unwrap();
        for level in LEVELS {
            let rewrite = rewrite(&bytes, level).unwrap();
            let object = rewrite.object.unwrap().bytes;
            let (before, after) = (CodeObject::read(&bytes).unwrap(), CodeObject::read(&object).unwrap());
            for kernel in &before.kernels {
                let name = format!("{}.prlx", kernel.name);
                let copy = after.kernels.iter().find(|k| k.name == name).expect("it is accepted").descriptor;
                let scratch = copy.get(Field::PrivateSegment).unwrap();
                let [accumulators, before] =
                    [copy, kernel.descriptor].map(|descriptor| descriptor.vgprs().accumulator);
                let on_gfx9 = target.starts_with("gfx9");
                assert_eq!(accumulators > before, on_gfx9, "{name} for {target}");
                assert_eq!(scratch > 0 && copy.is_set(Field::Scratch), !on_gfx9, "{name} for {target}");
                // Hardware knows where scratch memory is from gfx11 on.
                assert_eq!(copy.is_set(Field::FlatScratchInit), target == "gfx1030", "{name} for {target}");
            }
        }
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let mut state = 11u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n.max(1)
    };
    let mut accepted = 0;
    for (_, bytes) in objects() {
        for _ in 0..25 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + next(6) {
                let at = next(bytes.len());
                bytes[at] = [0, 0xff, 0x80, next(256) as u8][next(4)];
            }
            accepted += usize::from(rewrite(&bytes, LEVELS[next(4)]).is_ok());
        }
    }
    assert!(accepted > 50, "only {accepted} objects were accepted");
}
