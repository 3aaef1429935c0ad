//! Chooses which decisions need no recording: the decoder evaluates them again, or counts a loop's
//! iterations.
//!
//! A register is *known* at an instruction if the decoder executes every definition that reaches it: a
//! recorded decision, or an operation on known values under a known guard. This is the greatest fixpoint:
//! assume that all registers are known, and strike out those for which it fails. Loop-carried values are no
//! special case, since the decoder takes the same steps in the same order. A decision whose operation is
//! known is computed. Every other decision is recorded, and so known afterwards.
//!
//! Level `fingerprint` needs no values, only that equal hashes mean equal decisions. There floating-point
//! arithmetic on what is hashed counts as known too: a decision that needs it *follows* from that. One by a
//! parameter does not, so that recordings with other parameters still say which lanes take another branch.
//!
//! How often a loop that only waits goes round is a matter of timing ([`spin_loops`]). Its decision is
//! computed too: the decoder leaves after one iteration.
//!
//! Only the operations that a computed decision needs become [`Let`](prlx_trace::kernel::Step::Let) steps.
//!
//! # Limitations
//!
//! - Unknown: parameters of device functions, loads from constant memory, results of calls, floating-point
//!   arithmetic, and the second of two predicates whose first is recorded.
//! - A register that nothing wrote is unknown. As the predicate of a branch it counts as false, which is
//!   right for every program with defined behaviour.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::dataflow::Seen;
use prlx_isa::view::{InstId, Reg};
use prlx_trace::kernel::{Alu, Scalar, Source};

use crate::choose::choice::{Choice, RecordedValue};
use crate::choose::lower::{self, DecoderPlace, Operation, Value};
use crate::choose::stored::StoredHashes;
use crate::choose::trips;
use crate::function::body::{Body, SeenOnce, read, written};
use crate::function::spin_loops;

/// What a decoder gets from a recording, apart from what it computes.
pub(crate) struct Given<'a> {
    /// The function, with its decisions and data flow.
    pub body: &'a Body<'a>,
    /// By decision: whether it is wanted, so that its value is known, however it comes.
    pub kept: &'a [bool],
    /// Whether the number of iterations of a loop that only waits is wanted.
    pub waits: bool,
    /// Values that are recorded beside decisions.
    pub values: &'a [RecordedValue],
    /// Bits that stand for stored values.
    pub stored: &'a StoredHashes,
    /// Values of which a hash is recorded: where two hashes agree, so do all decisions that follow.
    pub hashed: &'a BTreeSet<(InstId, Reg)>,
}

impl Given<'_> {
    /// Whether what `at` writes to `reg` is a wanted decision or a recorded value.
    fn has(&self, at: InstId, reg: Reg) -> bool {
        self.body.decision_of(at, reg).is_some_and(|d| self.kept[d]) || self.has_value(at, reg)
    }
    fn has_value(&self, at: InstId, reg: Reg) -> bool {
        self.hashed.contains(&(at, reg)) || self.values.iter().any(|v| v.at == at && v.reg == reg)
    }
}

/// The choice without elision: each wanted decision is recorded as it is. `kept[d]`: whether decision `d` is
/// wanted.
pub(crate) fn all(body: &Body<'_>, kept: &[bool]) -> Choice {
    let recorded = |d: usize| if kept[d] { Source::Bits(body.decision_bits(d)) } else { Source::None };
    Choice { sources: (0..body.decisions.len()).map(recorded).collect(), ..Choice::default() }
}

/// Chooses by what is given.
pub(crate) fn choose(given: &Given<'_>) -> Choice {
    let (body, kept) = (given.body, given.kept);
    let mut choice = all(body, kept);
    let known = Known::of(given, Arithmetic::Decoders);
    let computed: Vec<usize> = (0..kept.len()).filter(|&d| kept[d] && known.decides(given, d)).collect();
    computed.iter().for_each(|&d| choice.sources[d] = Source::Computed);
    if !given.hashed.is_empty() {
        let on_device = Known::of(given, Arithmetic::Devices);
        for (d, source) in choice.sources.iter_mut().enumerate() {
            if matches!(source, Source::Bits(_)) && on_device.decides(given, d) {
                *source = Source::Follows;
            }
        }
    }
    let recorded = |d: usize| matches!(choice.sources[d], Source::Bits(_));
    let exits = if given.waits { Vec::new() } else { spin_loops::wait_exits(body, &recorded) };
    for exit in &exits {
        choice.sources[exit.decision] = Source::Computed;
    }
    choice.lets = slices(given, &choice.sources, known.lowered, &computed);
    for exit in exits {
        // The decoder goes round once.
        let decision = &body.decisions[exit.decision];
        let to = DecoderPlace::Reg(decision.reg);
        let args = vec![Value::Const(exit.leave.into())];
        choice.lets.insert(decision.at, vec![Operation { to, op: Alu::Mov, ty: Scalar::Pred, args }]);
        choice.waits.push(exit.decision);
    }
    choice.values = given.values.to_vec();
    choice.stored = given.stored.clone();
    choice.hashed = given.hashed.clone();
    trips::count(body, &mut choice);
    choice
}

/// What counts as evaluated again.
enum Arithmetic {
    /// What decoders evaluate.
    Decoders,
    /// Also what only the device evaluates, but no parameters.
    Devices,
}

/// The instructions that can be evaluated again.
struct Known {
    lowered: BTreeMap<InstId, Vec<Operation>>,
    /// Instructions that only the device evaluates, from known values.
    on_device: BTreeSet<InstId>,
    /// By value of the body's data flow: whether a definition in it is unknown.
    unknown: Vec<bool>,
}

impl Known {
    /// The greatest such set.
    ///
    /// Each value becomes unknown at most once, and its users are looked at again then. So the time is linear
    /// in the data flow, where lists of definitions by use can be its square.
    fn of(given: &Given<'_>, arithmetic: Arithmetic) -> Known {
        let body = given.body;
        let flow = &body.flow;
        let ids = (0..body.function.insts.len() as u32).map(InstId);
        let mut lowered: BTreeMap<InstId, Vec<Operation>> =
            ids.filter_map(|i| Some((i, lower::lower(body, i)?))).collect();
        let on_device = match arithmetic {
            Arithmetic::Decoders => BTreeSet::new(),
            Arithmetic::Devices => {
                lowered.retain(|_, operations| !lower::reads_parameters(operations));
                lower::on_device(body)
            }
        };
        let mut known = Known { lowered, on_device, unknown: vec![false; flow.value_count()] };
        for v in 0..flow.value_count() as u32 {
            let node = flow.value(v);
            if node.entry || node.defs.is_empty() && node.from.is_empty() {
                known.forget(body, v, &mut Vec::new());
            }
        }
        for &(at, reg, v) in flow.made() {
            if !known.gives(given, at, reg) {
                known.forget(body, v, &mut Vec::new());
            }
        }
        let mut queue: Vec<InstId> = known.lowered.keys().chain(&known.on_device).copied().collect();
        while let Some(at) = queue.pop() {
            let lost = known.lost(given, at);
            for reg in &lost {
                let reg = *reg;
                if flow.single(reg) == Some(at) {
                    queue.extend(flow.readers(reg));
                }
            }
            let from = flow.made().partition_point(|m| m.0 < at);
            for &(_, reg, v) in flow.made()[from..].iter().take_while(|m| m.0 == at) {
                if lost.contains(&reg) && !given.has(at, reg) {
                    known.forget(body, v, &mut queue);
                }
            }
        }
        known
    }

    /// Strikes out what `at` can't be evaluated to, as its inputs are known now. Returns the registers of
    /// which that is news.
    fn lost(&mut self, given: &Given<'_>, at: InstId) -> Vec<Reg> {
        let inst = given.body.inst(at);
        let sees = |known: &Known, reg: Reg| known.sees(given, at, reg);
        let guarded = inst.guard.is_none_or(|g| sees(self, g.reg));
        if self.on_device.contains(&at) {
            let stays = guarded && read(inst).iter().all(|&reg| sees(self, reg));
            return if !stays && self.on_device.remove(&at) { written(inst) } else { Vec::new() };
        }
        let Some(operations) = self.lowered.get(&at) else { return Vec::new() };
        if lower::inputs(given.body, at, operations).iter().all(|&reg| sees(self, reg)) {
            return Vec::new();
        }
        let left = match guarded {
            true => lower::known_part(operations, |reg| sees(self, reg)),
            false => Vec::new(),
        };
        let lost = |reg: &Reg| lower::gives(operations, *reg) && !lower::gives(&left, *reg);
        let lost: Vec<Reg> = written(inst).into_iter().filter(lost).collect();
        match left.is_empty() {
            true => self.lowered.remove(&at),
            false => self.lowered.insert(at, left),
        };
        lost
    }

    /// Whether evaluating again gives decision `d`; of a switch, its index.
    fn decides(&self, given: &Given<'_>, d: usize) -> bool {
        let decision = &given.body.decisions[d];
        match given.body.is_switch(d) {
            false => self.gives_register(decision.at, decision.reg),
            true => self.sees(given, decision.at, decision.reg),
        }
    }

    /// Whether what `at` writes to `reg` is known.
    fn gives(&self, given: &Given<'_>, at: InstId, reg: Reg) -> bool {
        given.has(at, reg) || self.gives_register(at, reg)
    }

    /// Whether evaluating `at` again gives what it writes to `reg`.
    fn gives_register(&self, at: InstId, reg: Reg) -> bool {
        self.on_device.contains(&at)
            || self.lowered.get(&at).is_some_and(|operations| lower::gives(operations, reg))
    }

    /// Whether every definition of `reg` that reaches `at` is known.
    fn sees(&self, given: &Given<'_>, at: InstId, reg: Reg) -> bool {
        match given.body.flow.seen(at, reg) {
            Seen::Nothing => false,
            Seen::Inst(def) => self.gives(given, def, reg),
            Seen::Value(v) => !self.unknown[v as usize],
        }
    }

    /// Marks a value and all that include it as unknown, and adds who sees them to `users`.
    fn forget(&mut self, body: &Body<'_>, value: u32, users: &mut Vec<InstId>) {
        let mut work = vec![value];
        while let Some(v) = work.pop() {
            if !std::mem::replace(&mut self.unknown[v as usize], true) {
                let node = body.flow.value(v);
                users.extend(node.users);
                work.extend(node.onward);
            }
        }
    }
}

/// Of what can be evaluated, what computed decisions need: the instructions that make them, and for switches
/// what gives the index.
fn slices(
    given: &Given<'_>,
    sources: &[Source],
    mut lowered: BTreeMap<InstId, Vec<Operation>>,
    computed: &[usize],
) -> BTreeMap<InstId, Vec<Operation>> {
    let body = given.body;
    // What is recorded is there already; evaluating it too would be wrong only in being idle.
    let recorded = |i: InstId, reg: Reg| {
        let decision = body.decision_of(i, reg).filter(|d| given.kept[*d]);
        decision.is_some_and(|d| !sources[d].is_derived()) || given.has_value(i, reg)
    };
    let mut needed: Vec<InstId> = Vec::new();
    let mut seen = SeenOnce::new(body);
    let mut need = |needed: &mut Vec<InstId>, at: InstId, reg: Reg| {
        needed.extend(seen.defs(body, at, reg).into_iter().filter(|&i| !recorded(i, reg)));
    };
    for &d in computed {
        let decision = &body.decisions[d];
        match body.is_switch(d) {
            true => need(&mut needed, decision.at, decision.reg),
            false => needed.push(decision.at),
        }
    }
    let mut taken: BTreeSet<InstId> = BTreeSet::new();
    while let Some(at) = needed.pop() {
        let Some(operations) = lowered.get(&at) else { continue };
        if taken.insert(at) {
            for reg in lower::inputs(body, at, operations) {
                need(&mut needed, at, reg);
            }
        }
    }
    lowered.retain(|i, _| taken.contains(i));
    lowered
}
