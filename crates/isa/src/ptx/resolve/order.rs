//! How a PTX instruction orders accesses to memory (PTX ISA, Memory Consistency Model).

use crate::ptx::opcode::Opcode;
use crate::ptx::ops::Op;
use crate::view::{Order, Scope};

/// How an instruction orders accesses, from its modifiers.
pub(super) fn order(f: &Opcode) -> Order {
    let has = |names: &[&str]| f.one_of(names).is_some();
    let scope = match f.one_of(&["cta", "cluster", "gpu", "gl", "sys"]) {
        Some("cta") => Scope::Cta,
        Some("cluster") => Scope::Cluster,
        _ => Scope::Gpu,
    };
    let atomic = matches!(f.op, Some(Op::Atom | Op::Red));
    let acq_rel = has(&["acq_rel", "sc"]);
    match f.op {
        // A proxy fence orders one thread's accesses by different ways to memory, not threads.
        Some(Op::Fence) if f.text.contains("proxy") && !has(&["acquire", "release"]) => Order::default(),
        Some(Op::Fence) => {
            let both = !has(&["acquire", "release"]);
            Order {
                strong: false,
                release: both || has(&["release"]),
                acquire: both || has(&["acquire"]),
                scope,
            }
        }
        Some(Op::Membar) => Order { strong: false, release: true, acquire: true, scope },
        // The arrival releases and the wait acquires at the scope of the CTA, if nothing else is said.
        Some(Op::Mbarrier) => {
            let relaxed = f.has("relaxed");
            let scope = if f.has("cluster") { Scope::Cluster } else { Scope::Cta };
            let wait = has(&["test_wait", "try_wait"]);
            let arrive = has(&["arrive", "arrive_drop", "complete_tx"]);
            Order { strong: !f.has("init"), release: arrive && !relaxed, acquire: wait && !relaxed, scope }
        }
        Some(Op::Tcgen05) if f.has("commit") => {
            Order { strong: true, release: true, acquire: false, scope: Scope::Cluster }
        }
        // All barriers release and acquire, but a relaxed arrival at that of the cluster.
        Some(Op::Bar | Op::Barrier) => {
            let relaxed = f.has("relaxed");
            Order { strong: false, release: !relaxed, acquire: true, scope: Scope::Cluster }
        }
        // When the lane's copies so far are done, it arrives.
        Some(Op::Cp) if f.has("mbarrier") => Order { strong: true, release: true, acquire: false, scope },
        // Each element is updated as by `red.relaxed.gpu`.
        Some(Op::Cp) if f.has("reduce") => Order { strong: true, scope: Scope::Gpu, ..Order::default() },
        _ => Order {
            strong: atomic || has(&["volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"]),
            release: acq_rel || f.has("release"),
            acquire: acq_rel || f.has("acquire"),
            scope,
        },
    }
}
