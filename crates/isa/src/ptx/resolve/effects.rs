//! What a PTX opcode does, in the words of the neutral view.
//!
//! # Limitations
//! `tcgen05` is described by its class alone.

use std::sync::Arc;

use super::order::order;
use crate::ptx::opcode::Opcode;
use crate::ptx::ops::Op;
use crate::view::{
    Access, Async, AsyncStep, Atomic, Barrier, Class, Comparison, CopiedBytes, Effect, Eval, Native,
    Participants, Product, Queue, Semantics, Type,
};

/// What an opcode says of its instructions.
pub fn semantics(form: &Arc<Opcode>) -> Semantics {
    let class = form.class();
    Semantics {
        opcode: form.text.clone(),
        class,
        space: form.space(),
        effect: effect(form, class).unwrap_or_default(),
        result: form.types.first().copied(),
        input: form.types.last().copied(),
        order: order(form),
        product: product(form, class),
        native: Native::new(form.clone()),
        ..Semantics::default()
    }
}

fn effect(form: &Opcode, class: Class) -> Option<Effect> {
    let op = form.op?;
    Some(match op {
        Op::Setp => Effect::Compare(comparison(form)?),
        Op::Shfl => Effect::Exchange,
        Op::Bar | Op::Barrier => Effect::Barrier(barrier(form, op)),
        Op::Mbarrier => Effect::BarrierObject {
            arrives: form.one_of(&["arrive", "arrive_drop"]).is_some(),
            polls: form.one_of(&["try_wait", "test_wait"]).is_some(),
        },
        Op::Membar | Op::Fence => Effect::Fence,
        Op::Cp | Op::Multimem if class == Class::AsyncCopy => Effect::Async(copy(form)),
        Op::Wgmma => Effect::Async(asynchronous(form, Queue::Products, CopiedBytes::None)),
        Op::Nanosleep => Effect::Sleep,
        Op::Trap => Effect::Trap,
        Op::Sust => access(form, [false, true]),
        Op::Sured => access(form, [true, true]),
        Op::Tex | Op::Tld4 | Op::Suld => access(form, [true, false]),
        _ => match class {
            Class::Load => access(form, [true, false]),
            Class::Store => access(form, [false, true]),
            Class::Atomic => access(form, [true, true]),
            // `st.async` and `red.async`.
            Class::AsyncCopy => access(form, [op != Op::St, true]),
            _ => return None,
        },
    })
}

fn comparison(form: &Opcode) -> Option<Comparison> {
    let relation = relation(form)?;
    let join = form.one_of(&["and", "or", "xor"]).map(|name| match name {
        "and" => Eval::And,
        "or" => Eval::Or,
        _ => Eval::Xor,
    });
    let unsigned = form.one_of(&["lo", "ls", "hi", "hs"]).is_some();
    let ty = match form.ty(0)? {
        Type::B8 | Type::S8 if unsigned => Type::U8,
        Type::B16 | Type::S16 if unsigned => Type::U16,
        Type::B32 | Type::S32 if unsigned => Type::U32,
        Type::B64 | Type::S64 if unsigned => Type::U64,
        ty => ty,
    };
    Some(Comparison { relation, ty, join })
}

/// The relation that a comparison tests (PTX ISA, Comparison and Selection Instructions: setp).
pub(super) fn relation(form: &Opcode) -> Option<Eval> {
    Some(match form.one_of(&["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"])? {
        "eq" => Eval::Eq,
        "ne" => Eval::Ne,
        "lt" | "lo" => Eval::Lt,
        "le" | "ls" => Eval::Le,
        "gt" | "hi" => Eval::Gt,
        _ => Eval::Ge,
    })
}

/// `bar` is `barrier.aligned` (PTX ISA, Parallel Synchronization and Communication Instructions: bar).
fn barrier(form: &Opcode, op: Op) -> Barrier {
    let participants = if form.has("warp") {
        Participants::Warp
    } else if form.has("cluster") {
        Participants::Cluster
    } else {
        Participants::Cta
    };
    Barrier {
        participants,
        arrives: !form.has("wait"),
        waits: !form.has("arrive"),
        converged: participants != Participants::Warp && (op == Op::Bar || form.has("aligned")),
    }
}

/// PTX ISA, cp.async: `[dst], [src], cp-size{, src-size}{, cache-policy}`, where zeros replace what
/// `src-size` leaves out. And cp.async.bulk: `[dst], [src], size, [mbar]`.
fn copy(form: &Opcode) -> Async {
    let (queue, bytes) = match (form.has("bulk"), form.has("tensor")) {
        (_, true) => (Queue::Bulk, CopiedBytes::TensorMap),
        (true, _) => (Queue::Bulk, CopiedBytes::Operand(&[2])),
        _ => (Queue::Copies, CopiedBytes::Operand(&[3, 2])),
    };
    asynchronous(form, queue, bytes)
}

fn asynchronous(form: &Opcode, queue: Queue, bytes: CopiedBytes) -> Async {
    let step = if form.has("commit_group") {
        AsyncStep::Commit
    } else if form.one_of(&["wait_group", "wait_all"]).is_some() {
        AsyncStep::Wait
    } else if form.has("fence") {
        AsyncStep::Fence
    } else {
        AsyncStep::Issue
    };
    Async { queue, step, completes: completes(form), multicast: form.has("multicast::cluster"), bytes }
}

fn completes(form: &Opcode) -> bool {
    form.has("mbarrier::complete_tx::bytes")
}

fn access(form: &Opcode, [reads, writes]: [bool; 2]) -> Effect {
    let ty = form.types.last();
    let tile = matches!(form.op, Some(Op::Ldmatrix | Op::Stmatrix | Op::Wmma));
    let number = |names: &[&str]| form.one_of(names).and_then(|v| v[1..].parse().ok()).unwrap_or(1);
    let (element, elements) = match form.op {
        // PTX ISA, ldmatrix: each of x1, x2, x4 is an 8x8 matrix of b16, four bytes of it a lane.
        Some(Op::Ldmatrix | Op::Stmatrix) => (Some(4), number(&["x1", "x2", "x4"])),
        Some(Op::Wmma) => (ty.map(|t| t.bytes()), fragment(form).unwrap_or(1)),
        _ => (ty.map(|t| t.bytes()), number(&["v2", "v4", "v8"])),
    };
    let atomic = (reads && writes).then(|| atomic(form));
    let (volatile, completes) = (form.has("volatile"), completes(form));
    Effect::Access(Access { reads, writes, atomic, volatile, element, elements, tile, completes })
}

/// Elements of a matrix that a lane moves. PTX ISA, wmma.load: of the product's shape, a is m by k, b is k by
/// n, c and d are m by n. All 32 lanes share it.
fn fragment(form: &Opcode) -> Option<u32> {
    let [m, n, k] = shape(form)?;
    let elements = match form.one_of(&["a", "b"]) {
        Some("a") => m.checked_mul(k)?,
        Some(_) => k.checked_mul(n)?,
        None => m.checked_mul(n)?,
    };
    let ty = form.types.last()?;
    Some(elements.checked_mul(ty.bits())? / 32 / (8 * ty.bytes()).max(1))
}

fn atomic(form: &Opcode) -> Atomic {
    match form.one_of(&["exch", "cas", "add", "min", "max", "and", "or", "xor", "inc", "dec"]) {
        Some("exch") => Atomic::Exchange,
        Some("cas") => Atomic::CompareExchange,
        Some("add") => Atomic::Add,
        Some("min") => Atomic::Min,
        Some("max") => Atomic::Max,
        Some("and") => Atomic::And,
        Some("or") => Atomic::Or,
        Some("xor") => Atomic::Xor,
        Some("inc") => Atomic::Increment,
        Some("dec") => Atomic::Decrement,
        _ => Atomic::Other,
    }
}

/// `mma` is a warp's, `wgmma` a warpgroup's.
fn product(form: &Opcode, class: Class) -> Option<Product> {
    let shape = shape(form).filter(|_| class == Class::Matrix)?;
    Some(Product { shape, lanes: if form.op == Some(Op::Wgmma) { 128 } else { 32 } })
}

/// `m16n8k16`.
fn shape(form: &Opcode) -> Option<[u32; 3]> {
    form.mods.iter().find_map(|modifier| {
        let (m, rest) = modifier.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    })
}
