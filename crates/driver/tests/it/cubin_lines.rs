//! Source locations of the PTX that a cubin stores, against those of the PTX that was assembled.

use prlx_isa::ptx::opcode;
use std::fs;
use std::path::Path;

use prlx_driver::assemble::Assembler;
use prlx_isa::image::{Target, cubin};
use prlx_isa::ptx;
use prlx_isa::view::{Class, LocId, Module, Space};

use crate::nvidia::nvidia;

/// A source line as `file:line`, with the lines of the calls that it was inlined at, innermost first.
fn stack(module: &Module, mut loc: Option<LocId>) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(at) = loc {
        let place = &module.locs[at.index()];
        let file = module.files.get(place.file as usize).map_or("", |f| f.path.as_str());
        let function = if place.inlined_at.is_some() { place.function.as_str() } else { "" };
        out.push(format!("{file}:{} {function}", place.line));
        loc = place.inlined_at;
    }
    out
}

/// How many instructions that can be sites a kernel has, and of how many the location is right in a cubin.
/// With `again`, the assembler must accept the PTX with its locations.
fn right(ptxas: &Assembler, path: &Path, again: bool) -> (usize, usize) {
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_str().unwrap();
    let code = ptxas.assemble(&text, Target::parse(name).unwrap(), &[]).unwrap();
    let stored = cubin::read(&code).unwrap().ptx.unwrap();
    let [(a, _), (b, _)] = [ptx::read(&text), ptx::read(&stored)];
    if again {
        ptxas.assemble(&stored, Target::parse(name).unwrap(), &[]).unwrap();
    }
    // Comments name the calls in Triton's PTX, and cubins have no comments.
    let commented = text.contains("@[ ");
    let (mut sites, mut right) = (0, 0);
    for (f, g) in a.functions.iter().zip(&b.functions) {
        assert_eq!(f.insts.len(), g.insts.len(), "{}", path.display());
        for (i, j) in f.insts.iter().zip(&g.insts) {
            let branch = i.guard.is_some() && i.class == Class::Branch;
            let memory = matches!(i.class, Class::Load | Class::Store | Class::Atomic)
                && opcode(i).space() != Space::Param;
            // Line 0 means that there is none.
            let line = i.loc.map_or(0, |loc| a.locs[loc.index()].line);
            if !branch && !memory || line == 0 {
                continue;
            }
            let [mut x, y] = [stack(&a, i.loc), stack(&b, j.loc)];
            if commented {
                x.truncate(1);
                x[0] = x[0].trim_end().to_owned() + " ";
            }
            sites += 1;
            if x == y { right += 1 } else { println!("{} {x:?} {y:?}", path.display()) }
        }
    }
    (sites, right)
}

#[test]
fn cubins_tell_the_source_lines() {
    let Some(ptxas) = nvidia("bin/ptxas") else { return };
    let ptxas = Assembler::ptxas(&ptxas).unwrap();
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    for family in ["triton", "cuda"] {
        let mut all = (0, 0);
        let mut folders: Vec<_> =
            fs::read_dir(kernels.join(family)).unwrap().map(|e| e.unwrap().path()).collect();
        folders.sort();
        for (n, folder) in folders.into_iter().enumerate() {
            let Some(path) =
                ["sm_90a.ptx", "sm_80.ptx"].map(|f| folder.join(f)).into_iter().find(|p| p.exists())
            else {
                continue;
            };
            let (sites, ok) = right(&ptxas, &path, n % 4 == 0);
            println!("{} {ok} {sites}", path.display());
            all = (all.0 + sites, all.1 + ok);
        }
        println!("{family}: {} of {}", all.1, all.0);
        assert!(all.1 * 100 >= all.0 * 95, "{family}: {all:?}");
    }
}
