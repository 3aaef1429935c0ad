//! What PTX opcodes do in neutral words, against a table written by hand from the PTX ISA.

use prlx_isa::operations;
use prlx_isa::ptx::{self, Opcode, semantics};
use prlx_isa::view::{
    Access, Async, AsyncStep, Atomic, Barrier, Class, CopiedBytes, Effect, Eval, OperandOrder, Order,
    Participants, Product, Queue, Scope, Semantics, Type,
};

fn of(text: &str) -> Semantics {
    semantics(&Opcode::parse(text).into())
}

fn access(text: &str) -> Access {
    match of(text).effect {
        Effect::Access(access) => access,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn accesses_have_directions_and_sizes() {
    // Reads, writes, bytes of an element, elements of a lane.
    for (text, want) in [
        ("ld.global.f32", (true, false, Some(4), 1)),
        ("ld.global.nc.L1::no_allocate.v4.b32", (true, false, Some(4), 4)),
        ("ld.param.u64", (true, false, Some(8), 1)),
        ("st.shared.v2.f64", (false, true, Some(8), 2)),
        ("atom.global.add.u32", (true, true, Some(4), 1)),
        ("red.relaxed.gpu.global.add.f32", (true, true, Some(4), 1)),
        ("st.async.mbarrier::complete_tx::bytes.shared::cluster.b32", (false, true, Some(4), 1)),
        ("suld.b.2d.b32", (true, false, Some(4), 1)),
        ("sust.b.2d.b32", (false, true, Some(4), 1)),
        ("sured.b.add.2d.u32", (true, true, Some(4), 1)),
        // x4: four matrices of 8 rows by 16 bytes, over 32 lanes: 4 * 128 / 32 bytes.
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", (true, false, Some(4), 4)),
        // A has 16 by 16 halves: 256 over 32 lanes.
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", (true, false, Some(2), 8)),
    ] {
        let a = access(text);
        assert_eq!((a.reads, a.writes, a.element, a.elements), want, "{text}");
        assert_eq!(a.tile, text.contains("matrix") || text.contains("wmma"), "{text}");
        assert_eq!(a.completes, text.contains("complete_tx"), "{text}");
    }
    assert!(access("ld.volatile.global.u32").volatile);
    assert_eq!(access("atom.global.cas.b32").atomic, Some(Atomic::CompareExchange));
    assert_eq!(access("atom.shared.inc.u32").atomic, Some(Atomic::Increment));
    assert_eq!(access("ld.global.u32").atomic, None);
}

#[test]
fn barriers_say_who_arrives_and_who_waits() {
    use Participants::{Cluster, Cta, Warp};
    // Participants, arrives, waits, converged.
    for (text, want) in [
        ("bar.sync", (Cta, true, true, true)),
        ("bar.arrive", (Cta, true, false, true)),
        ("barrier.sync", (Cta, true, true, false)),
        ("barrier.cta.red.popc.aligned.u32", (Cta, true, true, true)),
        ("bar.warp.sync", (Warp, true, true, false)),
        ("barrier.cluster.arrive.release.aligned", (Cluster, true, false, true)),
        ("barrier.cluster.wait", (Cluster, false, true, false)),
    ] {
        let (participants, arrives, waits, converged) = want;
        let want = Effect::Barrier(Barrier { participants, arrives, waits, converged });
        assert_eq!(of(text).effect, want, "{text}");
    }
    for (text, arrives, polls) in [
        ("mbarrier.init.shared.b64", false, false),
        ("mbarrier.arrive.expect_tx.shared::cta.b64", true, false),
        ("mbarrier.expect_tx.relaxed.cta.shared.b64", false, false),
        ("mbarrier.try_wait.parity.shared.b64", false, true),
    ] {
        assert_eq!(of(text).effect, Effect::BarrierObject { arrives, polls }, "{text}");
    }
    assert_eq!(of("fence.acq_rel.gpu").effect, Effect::Fence);
    assert_eq!(of("nanosleep.u32").effect, Effect::Sleep);
    assert_eq!(of("trap").effect, Effect::Trap);
    assert_eq!(of("add.f32").effect, Effect::Plain);
}

#[test]
fn asynchronous_work_has_queues_and_steps() {
    use AsyncStep::{Commit, Fence, Issue, Wait};
    use Queue::{Bulk, Copies, Products};
    let bulk = CopiedBytes::Operand(&[2]);
    for (text, queue, step, bytes) in [
        ("cp.async.ca.shared.global", Copies, Issue, CopiedBytes::Operand(&[3, 2])),
        ("cp.async.commit_group", Copies, Commit, CopiedBytes::Operand(&[3, 2])),
        ("cp.async.wait_all", Copies, Wait, CopiedBytes::Operand(&[3, 2])),
        ("cp.async.bulk.global.shared::cta.bulk_group", Bulk, Issue, bulk),
        ("cp.async.bulk.wait_group.read", Bulk, Wait, bulk),
        ("wgmma.fence.sync.aligned", Products, Fence, CopiedBytes::None),
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", Products, Issue, CopiedBytes::None),
        ("wgmma.commit_group.sync.aligned", Products, Commit, CopiedBytes::None),
    ] {
        let want = Async { queue, step, completes: false, multicast: false, bytes };
        assert_eq!(of(text).effect, Effect::Async(want), "{text}");
    }
    let tensor =
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster";
    let (queue, step, bytes) = (Bulk, Issue, CopiedBytes::TensorMap);
    let want = Async { queue, step, completes: true, multicast: true, bytes };
    assert_eq!(of(tensor).effect, Effect::Async(want));
    let product = of("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16").product;
    assert_eq!(product, Some(Product { shape: [64, 64, 16], lanes: 128 }));
    let product = of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").product;
    assert_eq!(product, Some(Product { shape: [16, 8, 16], lanes: 32 }));
    assert_eq!(of("ldmatrix.sync.aligned.m8n8.x4.shared.b16").product, None);
}

#[test]
fn comparisons_have_a_relation_a_type_and_a_join() {
    for (text, relation, ty, join) in [
        ("setp.lt.s32", Eval::Lt, Type::S32, None),
        ("setp.lo.b32", Eval::Lt, Type::U32, None),
        ("setp.hs.and.u64", Eval::Ge, Type::U64, Some(Eval::And)),
        ("setp.ne.xor.f32", Eval::Ne, Type::F32, Some(Eval::Xor)),
    ] {
        let Effect::Compare(found) = of(text).effect else { panic!("{text}") };
        assert_eq!((found.relation, found.ty, found.join), (relation, ty, join), "{text}");
    }
    let convert = of("cvt.rn.f16.f32");
    assert_eq!((convert.result, convert.input), (Some(Type::F16), Some(Type::F32)));
    assert_eq!((convert.class, convert.opcode.as_str()), (Class::Convert, "cvt.rn.f16.f32"));
}

#[test]
fn order_and_scope_are_as_written() {
    let order = |strong, release, acquire, scope| Order { strong, release, acquire, scope };
    for (text, want) in [
        ("ld.global.u32", order(false, false, false, Scope::Gpu)),
        ("ld.acquire.cta.global.u32", order(true, false, true, Scope::Cta)),
        ("st.release.cluster.global.u32", order(true, true, false, Scope::Cluster)),
        ("atom.acq_rel.gpu.global.add.u32", order(true, true, true, Scope::Gpu)),
        ("fence.sc.cta", order(false, true, true, Scope::Cta)),
        ("fence.proxy.async", Order::default()),
        ("membar.gl", order(false, true, true, Scope::Gpu)),
        ("mbarrier.arrive.shared.b64", order(true, true, false, Scope::Cta)),
    ] {
        assert_eq!(of(text).order, want, "{text}");
    }
}

#[test]
fn operations_are_known_by_name() {
    assert!(operations::mnemonics().any(|name| name == "ld"));
    for (name, order) in [
        ("ld", Some(OperandOrder::ResultAddress)),
        ("st", Some(OperandOrder::Address)),
        ("red", Some(OperandOrder::Address)),
        ("cp", Some(OperandOrder::TwoAddresses)),
        ("bra", Some(OperandOrder::Target)),
        ("trap", Some(OperandOrder::Target)),
        ("ldmatrix", Some(OperandOrder::Lists)),
        ("mma", Some(OperandOrder::Lists)),
        ("bar", Some(OperandOrder::Lists)),
        ("add", Some(OperandOrder::Result)),
        ("nothing", None),
    ] {
        assert_eq!(operations::operand_order(name), order, "{name}");
    }
}

/// LLVM counts lines up inside of inline assembly.
#[test]
fn a_block_of_inline_assembly_has_one_place() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"k.py\"\n.visible .entry k()\n{\n\
        .reg .b32 %r<4>;\n.loc 1 8 3\nmov.u32 %r0, 1;\n.loc 1 9 5\n// begin inline asm\n.loc 1 9 5\n\
        mov.u32 %r1, 2;\n.loc 1 10 5\nmov.u32 %r2, 3;\n// end inline asm\nmov.u32 %r3, 4;\n.loc 1 12 1\n\
        ret;\n// begin inline asm\n}\n";
    let (module, diagnostics) = ptx::read(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let lines: Vec<u32> =
        module.functions[0].insts.iter().map(|inst| module.locs[inst.loc.unwrap().index()].line).collect();
    assert_eq!(lines, [8, 9, 9, 9, 12]);
}
