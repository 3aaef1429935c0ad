//! Decides whether the order of CTAs can change the result of a kernel without races.
//!
//! CTAs on several host threads run in a different order each time. Plain loads and stores of a kernel
//! without races do not depend on it, and neither do integer additions. The values that atomics return do,
//! and so do floating-point sums.
//!
//! # Invariants
//! A kernel whose result cannot depend on the order, and whose CTAs do not race, gives the same result on any
//! number of host threads.
//!
//! # Limitations
//! Only the code is examined. A generic address counts as global, and the result of an atomic counts as used.

use crate::code::{AddrSpace, Builtin, Callee, Code, MemAccess, Op, Plane, Rmw};

/// Whether it can.
pub fn matters(code: &Code) -> bool {
    let global = |m: &MemAccess| matches!(m.space, AddrSpace::Global | AddrSpace::Generic);
    let mut kinds: Vec<Rmw> = Vec::new();
    // The same change again and again gives the same in any order; two kinds need not.
    let mut changes = |rmw: Rmw| {
        if !kinds.contains(&rmw) {
            kinds.push(rmw);
        }
        !commutes(rmw) || kinds.len() > 1
    };
    code.steps.iter().any(|s| match s.op {
        Op::Ld(i) | Op::St(i) => {
            let mem = &code.mems[i as usize];
            mem.strong && global(mem)
        }
        Op::Atom(i) => {
            let a = &code.atoms[i as usize];
            global(&a.mem) && (a.mem.planes.iter().any(|&p| p != Plane::None) || changes(a.rmw))
        }
        Op::BulkCopy(i) => {
            let b = &code.bulks[i as usize];
            global(&b.dst) && b.reduce.is_some_and(|(rmw, _)| changes(rmw))
        }
        // Of what type the elements are, the tensor map says when it runs.
        Op::TensorCopy(i) => code.tensors[i as usize].reduce.is_some(),
        Op::Call(i) => code.calls[i as usize].callee == Callee::Builtin(Builtin::Malloc),
        _ => false,
    })
}

/// Whether the kernel may print: the order of its text depends on the order of CTAs.
pub fn prints(code: &Code) -> bool {
    code.calls.iter().any(|c| c.callee == Callee::Builtin(Builtin::Vprintf))
}

/// Whether changes of this kind to one place may come in any order.
fn commutes(rmw: Rmw) -> bool {
    use Rmw::{Add, And, MaxS, MaxU, MinS, MinU, Or, Xor};
    matches!(rmw, Add | MinU | MaxU | MinS | MaxS | And | Or | Xor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Request, decode};
    use prlx_lanes::Simd;

    fn of(body: &str) -> bool {
        let source = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n\
             .visible .entry k(.param .u64 p) {{ .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; \
             .shared .b32 s;\n\
             ld.param.u64 %rd0, [p];\n{body}\nret; }}\n"
        );
        let (module, problems) = prlx_isa::ptx::read(&source);
        assert!(problems.is_empty(), "{problems:?}");
        let addresses = vec![None; module.symbols.len()];
        let (plan, stack) = (None, 0);
        let r = Request {
            machine: None,
            module: &module,
            source: &source,
            addresses: &addresses,
            constants: (0, 0),
            kernel: "k",
            plan,
            stack,
            simd: Simd::Base,
            contract: false,
            calibrations: &[],
        };
        matters(&decode(&r).unwrap())
    }

    #[test]
    fn what_depends_on_who_comes_first() {
        let shows = [
            "atom.global.add.u32 %r1, [%rd0], 1;",
            "atom.add.u32 %r1, [%rd0], 1;",
            "red.global.add.f32 [%rd0], %f1;",
            "red.global.inc.u32 [%rd0], 7;",
            "red.global.add.u32 [%rd0], 7; red.global.max.u32 [%rd0], 7;",
            "atom.global.exch.b32 _, [%rd0], 7;",
            "ld.volatile.global.u32 %r1, [%rd0];",
            "ld.acquire.gpu.global.u32 %r1, [%rd0];",
            "ld.relaxed.gpu.u32 %r1, [%rd0];",
            "st.release.gpu.global.u32 [%rd0], 1;",
            "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 8; call (r), malloc, (n); }",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd0], [%r1], 16;",
            "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd0, {%r1}], [%r2];",
        ];
        for body in shows {
            assert!(of(body), "{body}");
        }
        let hidden = [
            "ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd0], %r1; membar.gl;",
            "red.global.add.u32 [%rd0], 7; red.global.add.u64 [%rd0+8], %rd1;",
            "atom.global.min.s32 _, [%rd0], 7;",
            "atom.shared.add.u32 %r1, [s], 1; ld.volatile.shared.u32 %r1, [s]; red.shared.add.f32 [s], %f1;",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%rd0], [%r1], 16;",
            "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd0, {%r1}], [%r2];",
            "mov.u64 %rd1, %clock64; mov.u64 %rd1, %globaltimer;",
        ];
        for body in hidden {
            assert!(!of(body), "{body}");
        }
    }
}
