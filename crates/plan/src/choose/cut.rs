//! Levels `path`, `values` and `fingerprint`: chooses values to record in place of the decisions that follow
//! from them.
//!
//! Between what a decoder cannot know (loads, other arithmetic than [`lower`] has) and the decisions lies a
//! graph of values. What is recorded must separate the two: it is a cut of this graph, and the cheapest is
//! taken. A loop that decides 400 times by a number that was loaded before it costs the 32 bits of that
//! number. A decision is a value of this graph like any other, so recording decisions is one of the cuts.
//!
//! Level `fingerprint` hashes the values of its cut ([`crate::choose::hashes`]). Equal hashes must mean equal
//! decisions, which nobody evaluates again, so more arithmetic leads on, and other costs count.
//!
//! # Invariants
//! - What a lane writes while it only waits is never recorded, nor a value that differs between two runs of
//!   one program although all inputs agree: results of atomics, votes, clocks, and what follows from them.
//! - A value is read where its instruction stands or behind it in the same basic block, before the first
//!   instruction that uses or changes it. So a load that nothing waited for yet is not waited for.
//!
//! # Limitations
//! - How often a block runs is not known: each loop around it counts as [`LOOP`] iterations.
//! - At `path`, a value of an instruction whose guard is not a recorded decision is not recorded.

use std::collections::{BTreeSet, HashMap, HashSet};

use prlx_isa::dataflow::Seen;
use prlx_isa::view::{Class, Effect, Eval, Guard, Inst, InstId, Operand, Reg, Role, Space, Type};
use prlx_trace::device::{COUNT_BITS, value_parts};
use prlx_trace::kernel::{Scalar, Source, Special};

use crate::choose::choice::{Choice, RecordedValue};
use crate::choose::elide::{self, Given};
use crate::choose::hashes::{Hashable, Hashes};
use crate::choose::lower;
use crate::choose::min_cut::{Network, Node, UNLIMITED};
use crate::choose::stored::StoredHashes;
use crate::function::body::{Body, read, scalar, written};
use crate::function::spin_loops;
use crate::function::wgmma::WgmmaHazards;
use crate::plan::At;

/// Iterations that a loop counts as.
const LOOP: u64 = 16;
/// What appending bits to the lane's word costs beside the bits themselves, in bits.
const APPEND: u64 = 3;
/// Instructions that fold a value of up to 32 bits into a hash, and one of up to 64.
const FOLD: u64 = 2;
const FOLD_WIDE: u64 = 4;
/// What writing an iteration count costs beside its bits.
const COUNT: u64 = 10;
/// Edges of the graph that the search for the cheapest cut may look at.
const WORK: u64 = 1 << 24;

/// Chooses for `body` as [`elide::choose`] does, and values too where that is cheaper. `stored`: the
/// bits that stand for stored values.
pub(crate) fn choose(body: &Body<'_>, kept: &[bool], stored: &StoredHashes) -> Choice {
    let hashed = BTreeSet::new();
    let choose = |values: &[RecordedValue]| {
        elide::choose(&Given { body, kept, waits: false, values, stored, hashed: &hashed })
    };
    let choice = choose(&[]);
    let values = values(body, kept, &choice, Form::Bits);
    if values.is_empty() {
        return choice;
    }
    // A loop in which values are recorded may not be counted any more, so this is not certain.
    let with_values = choose(&values);
    let cost = |choice: &Choice| Form::Bits.cost(body, choice);
    if cost(&with_values) < cost(&choice) { with_values } else { choice }
}

/// Chooses for level `fingerprint` what is hashed beside stores: all loads, or the cheapest cut.
pub(crate) fn choose_hashed(body: &Body<'_>, kept: &[bool], hashable: &Hashable) -> Choice {
    let stored = StoredHashes::new();
    let choose = |hashed: &BTreeSet<(InstId, Reg)>| {
        elide::choose(&Given { body, kept, waits: false, values: &[], stored: &stored, hashed })
    };
    let of_all = choose(&results(body, &hashable.loads));
    let Some(hashes) = Hashes::of(body, hashable) else { return of_all };
    let mut hashed = results(body, &hashes.addresses);
    let form = Form::Hashes(&hashes);
    hashed.extend(values(body, kept, &choose(&hashed), form).iter().map(|v| (v.at, v.reg)));
    let of_cut = choose(&hashed);
    if form.cost(body, &of_cut) < form.cost(body, &of_all) { of_cut } else { of_all }
}

/// The registers that instructions write.
pub(crate) fn results(body: &Body<'_>, insts: &BTreeSet<InstId>) -> BTreeSet<(InstId, Reg)> {
    insts.iter().flat_map(|at| written(body.inst(*at)).into_iter().map(|reg| (*at, reg))).collect()
}

/// The values of the cheapest cut, if it has any. `choice` is what is recorded without them.
fn values(body: &Body<'_>, kept: &[bool], choice: &Choice, form: Form<'_>) -> Vec<RecordedValue> {
    if !choice.sources.iter().any(|s| matches!(s, Source::Bits(_) | Source::Trips { .. })) {
        return Vec::new();
    }
    let mut graph = Graph::of(body, kept, choice, form);
    graph.grow();
    graph.cut()
}

/// How decisions and values are recorded.
#[derive(Clone, Copy)]
enum Form<'a> {
    /// As bits, from which a decoder goes on. Costs are bits: what lanes write, and what it takes to write
    /// it.
    Bits,
    /// As hashes. Costs are instructions.
    Hashes(&'a Hashes<'a>),
}

impl Form<'_> {
    /// What the recording of a function costs.
    fn cost(self, body: &Body<'_>, choice: &Choice) -> u64 {
        let decisions = (0..choice.sources.len()).filter(|d| {
            let recorded = matches!(choice.sources[*d], Source::Bits(_) | Source::Trips { .. });
            recorded && !choice.waits.contains(d)
        });
        let decisions = decisions.map(|d| self.decision(body, choice, d));
        let values = choice.values.iter().map(|v| self.value(body, v.at, v.bits));
        let bits = |reg: &Reg| body.function.regs.get(reg.index()).map_or(0, |r| r.ty.bits() as u8);
        let hashed = choice.hashed.iter().map(|(at, reg)| self.value(body, *at, bits(reg)));
        decisions.chain(values).chain(hashed).fold(0, u64::saturating_add)
    }

    /// What it costs to record `bits` bits that `at` makes.
    fn value(self, body: &Body<'_>, at: InstId, bits: u8) -> u64 {
        often(body, at)
            * match self {
                Form::Bits => u64::from(bits) + APPEND * value_parts(bits).count() as u64,
                Form::Hashes(hashes) if hashes.addresses.contains(&at) => 0,
                Form::Hashes(_) if bits > 32 => FOLD_WIDE,
                Form::Hashes(_) => FOLD,
            }
    }

    /// What it costs to record a decision.
    fn decision(self, body: &Body<'_>, choice: &Choice, d: usize) -> u64 {
        let often = often(body, body.decisions[d].at);
        let each = match self {
            Form::Bits => u64::from(body.decision_bits(d)) + APPEND,
            // Alone it takes one more; those of one block are folded together.
            Form::Hashes(_) => FOLD,
        };
        let count = match self {
            Form::Bits => u64::from(COUNT_BITS) + COUNT,
            Form::Hashes(_) => FOLD + 3,
        };
        match choice.sources[d] {
            Source::Trips { .. } => {
                let read = choice.trips.iter().any(|t| t.decision == d && t.read.is_some());
                often / LOOP * count + if read { 0 } else { often }
            }
            _ => often * each,
        }
    }

    /// The registers from which `reg` can be evaluated again at `at`.
    fn inputs(self, body: &Body<'_>, at: InstId, reg: Reg) -> Option<Vec<Reg>> {
        if let Some(operations) = lower::lower(body, at).filter(|o| lower::gives(o, reg)) {
            return Some(lower::inputs(body, at, &lower::part_for(&operations, reg)));
        }
        let on_device = matches!(self, Form::Hashes(hashes) if hashes.on_device.contains(&at));
        on_device.then(|| {
            let inst = body.inst(at);
            read(inst).into_iter().chain(inst.guard.map(|g| g.reg)).collect()
        })
    }
}

/// How often an instruction runs.
fn often(body: &Body<'_>, at: InstId) -> u64 {
    let innermost = body.graph.innermost_loop(body.part_of(at));
    let around = std::iter::successors(innermost, |l| body.graph.loops[*l].parent);
    LOOP.pow(around.take(8).count() as u32)
}

/// What the graph's nodes stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Key {
    /// What an instruction writes to a register.
    Made(InstId, Reg),
    /// A value of the body's data flow, of a register.
    Merged(u32, Reg),
    /// The index of a switch, by decision.
    Index(usize),
}

struct Graph<'a> {
    body: &'a Body<'a>,
    kept: &'a [bool],
    choice: &'a Choice,
    form: Form<'a>,
    /// By instruction, whether its results can differ between equal runs.
    varying: HashSet<InstId>,
    /// By part: whether it belongs to a loop that only waits.
    waiting: Vec<bool>,
    hazards: WgmmaHazards,
    network: Network,
    source: Node,
    sink: Node,
    /// By key: the node that its inputs lead to, and the node that leads to its users.
    nodes: HashMap<Key, (Node, Node)>,
    /// Keys whose inputs are not in the graph yet.
    open: Vec<Key>,
    /// Values that may be recorded.
    candidates: Vec<(Key, RecordedValue)>,
}

impl<'a> Graph<'a> {
    fn of(body: &'a Body<'a>, kept: &'a [bool], choice: &'a Choice, form: Form<'a>) -> Graph<'a> {
        let mut network = Network::default();
        let (source, sink) = (network.node(), network.node());
        Graph {
            body,
            kept,
            choice,
            form,
            varying: varying(body),
            waiting: spin_loops::waiting_parts(body),
            hazards: WgmmaHazards::of(body),
            network,
            source,
            sink,
            nodes: HashMap::new(),
            open: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// Adds all that the wanted decisions depend on.
    fn grow(&mut self) {
        for d in (0..self.body.decisions.len()).filter(|d| self.kept[*d]) {
            let decision = &self.body.decisions[d];
            let key = match self.body.is_switch(d) {
                true => Key::Index(d),
                false => Key::Made(decision.at, decision.reg),
            };
            let (_, out) = self.node(key);
            self.network.edge(out, self.sink, UNLIMITED);
        }
        while let Some(key) = self.open.pop() {
            let into = self.nodes[&key].0;
            match key {
                Key::Index(d) => {
                    let decision = &self.body.decisions[d];
                    self.input(into, decision.at, decision.reg);
                }
                Key::Made(at, reg) => match self.form.inputs(self.body, at, reg) {
                    Some(inputs) => inputs.into_iter().for_each(|reg| self.input(into, at, reg)),
                    None => self.network.edge(self.source, into, UNLIMITED),
                },
                Key::Merged(value, reg) => {
                    let node = self.body.flow.value(value);
                    if node.entry || node.defs.is_empty() && node.from.is_empty() {
                        self.network.edge(self.source, into, UNLIMITED);
                    }
                    let parts = node.defs.iter().map(|&def| Key::Made(def, reg));
                    for part in parts.chain(node.from.iter().map(|&v| Key::Merged(v, reg))) {
                        let (_, out) = self.node(part);
                        self.network.edge(out, into, UNLIMITED);
                    }
                }
            }
        }
    }

    /// Leads what `at` sees of `reg` to `into`.
    fn input(&mut self, into: Node, at: InstId, reg: Reg) {
        let key = match self.body.flow.seen(at, reg) {
            Seen::Nothing => return self.network.edge(self.source, into, UNLIMITED),
            Seen::Inst(def) => Key::Made(def, reg),
            Seen::Value(v) => Key::Merged(v, reg),
        };
        let (_, out) = self.node(key);
        self.network.edge(out, into, UNLIMITED);
    }

    fn node(&mut self, key: Key) -> (Node, Node) {
        if let Some(&nodes) = self.nodes.get(&key) {
            return nodes;
        }
        let into = self.network.node();
        let out = match self.capacity(key) {
            UNLIMITED => into,
            capacity => {
                let out = self.network.node();
                self.network.edge(into, out, capacity);
                out
            }
        };
        self.nodes.insert(key, (into, out));
        self.open.push(key);
        (into, out)
    }

    /// What it costs to record what a key stands for.
    fn capacity(&mut self, key: Key) -> u64 {
        let decision = match key {
            Key::Merged(..) => return UNLIMITED,
            Key::Index(d) => Some(d),
            Key::Made(at, reg) => self.decision(at, reg),
        };
        if let Some(d) = decision {
            let waits = self.choice.waits.contains(&d);
            return if waits { 0 } else { self.form.decision(self.body, self.choice, d) };
        }
        let Key::Made(at, reg) = key else { return UNLIMITED };
        let Some(value) = self.value(at, reg) else { return UNLIMITED };
        self.candidates.push((key, value));
        self.form.value(self.body, value.at, value.bits)
    }

    /// The wanted decision that `at` makes by writing `reg`.
    fn decision(&self, at: InstId, reg: Reg) -> Option<usize> {
        self.body.decision_of(at, reg).filter(|d| self.kept[*d])
    }

    /// How a value is recorded, if it can be.
    fn value(&self, at: InstId, reg: Reg) -> Option<RecordedValue> {
        let body = self.body;
        let inst = body.inst(at);
        let waits = self.waiting[body.part_of(at).index()];
        let load = matches!(self.form, Form::Hashes(hashes) if hashes.loads.contains(&at));
        if !load && (self.varying.contains(&at) || waits || inst.roles.contains(&Role::UseDef)) {
            return None;
        }
        // Code behind the instruction must be able to repeat the guard.
        let known =
            |guard: Guard| body.knows_guard(self.kept, at, guard) && !written(inst).contains(&guard.reg);
        if matches!(self.form, Form::Bits) && !inst.guard.is_none_or(known) {
            return None;
        }
        let ty = body.function.regs.get(reg.index())?.ty;
        let (bits, extend) = significant(inst, ty)?;
        // A computed integer of 64 bits may be an address, which differs from run to run.
        if matches!(self.form, Form::Hashes(_)) && !load && bits > 32 {
            return None;
        }
        let place = place(body, at, reg, inst.guard);
        let (At::Before(next) | At::After(next)) = place else { return None };
        let free = !self.hazards.before(next).contains(&reg);
        free.then_some(RecordedValue { at, reg, bits, extend, place })
    }

    /// The values among the cheapest cut.
    fn cut(self) -> Vec<RecordedValue> {
        let Some(side) = self.network.min_cut(self.source, self.sink, WORK) else { return Vec::new() };
        let cut = |key: &Key| {
            let (into, out) = self.nodes[key];
            !side[into.index()] && side[out.index()]
        };
        let mut values: Vec<RecordedValue> =
            self.candidates.iter().filter(|(key, _)| cut(key)).map(|(_, value)| *value).collect();
        values.sort_by_key(|v| (v.place.order(), v.at, v.reg));
        values
    }
}

/// Where the value that `at` writes to `reg` is recorded: before the first instruction of its block that uses
/// or changes it or the guard, or lets lanes meet or leave.
pub(crate) fn place(body: &Body<'_>, at: InstId, reg: Reg, guard: Option<Guard>) -> At {
    let end = body.function.blocks[body.inst(at).block.index()].insts.end;
    let ends = |inst: &Inst| {
        use Class::{Branch, Call, Exit, Opaque, Return, Switch, Sync, Warp};
        matches!(inst.class, Branch | Call | Exit | Opaque | Return | Switch | Sync | Warp)
            || inst.guard.is_some_and(|g| g.reg == reg)
            || read(inst).contains(&reg)
            || written(inst).iter().any(|w| *w == reg || guard.is_some_and(|g| g.reg == *w))
    };
    let next = (at.0 + 1..end).map(InstId).find(|&i| ends(body.inst(i)));
    next.map_or(At::After(InstId(end - 1)), At::Before)
}

/// How many low bits of a result of type `ty` can be other than 0, or than what extending them gives.
fn significant(inst: &Inst, ty: Type) -> Option<(u8, Option<Scalar>)> {
    let whole = match ty {
        Type::Pred => return Some((1, None)),
        ty => u8::try_from(ty.bits()).ok().filter(|bits| *bits <= 64)?,
    };
    let of = |ty: Type| {
        let bits = u8::try_from(ty.bits()).ok().filter(|bits| *bits < whole)?;
        Some((bits, scalar(ty).signed().then(|| scalar(ty))))
    };
    let constant = |o: Option<&Operand>| match o {
        Some(Operand::Int(n)) => u64::try_from(*n).ok(),
        _ => None,
    };
    let holds = |most: u64| u8::try_from(most.checked_ilog2().map_or(1, |n| n + 1)).ok();
    let narrow = match inst.eval {
        _ if inst.class == Class::Load => inst.semantics.result.and_then(of),
        Some((Eval::Convert(from), to)) if !lower::float(scalar(from)) && !lower::float(scalar(to)) => {
            of(if to.bits() < from.bits() { to } else { from })
        }
        Some((Eval::And, _)) => {
            let mask = constant(inst.operands.get(1)).or(constant(inst.operands.get(2)));
            mask.and_then(holds).map(|bits| (bits, None))
        }
        Some((Eval::Shr, ty)) if !scalar(ty).signed() => {
            let by = constant(inst.operands.get(2)).and_then(|n| u8::try_from(n).ok());
            by.filter(|n| *n < whole).map(|n| (whole - n, None))
        }
        Some((Eval::Popc | Eval::Clz, _)) => Some((7, None)),
        _ => None,
    };
    Some(narrow.filter(|(bits, _)| *bits < whole).unwrap_or((whole, None)))
}

/// Instructions whose results can differ between runs of one program with equal inputs. In shared and local
/// memory, what was stored by such an address or value makes all loads of that memory differ.
fn varying(body: &Body<'_>) -> HashSet<InstId> {
    let ids = || (0..body.function.insts.len() as u32).map(InstId);
    let mut varying: HashSet<InstId> = ids().filter(|&i| varies(body.inst(i))).collect();
    let mut open: Vec<InstId> = varying.iter().copied().collect();
    let mut memories = vec![Space::Shared, Space::Local];
    while let Some(at) = open.pop() {
        let inst = body.inst(at);
        for reg in written(inst) {
            open.extend(body.uses(at, reg).into_iter().filter(|user| varying.insert(*user)));
        }
        if inst.class == Class::Store && memories.contains(&inst.space) {
            memories.retain(|space| *space != inst.space);
            let loads =
                ids().filter(|&i| body.inst(i).class == Class::Load && body.inst(i).space == inst.space);
            open.extend(loads.filter(|load| varying.insert(*load)));
        }
    }
    varying
}

/// Whether the results of an instruction can differ although all that it reads agrees.
fn varies(inst: &Inst) -> bool {
    let access = match inst.semantics.effect {
        Effect::Access(access) => access.volatile || access.tile,
        _ => false,
    };
    let special = |o: &Operand| match o {
        Operand::Special(name) => !Special::ALL.iter().any(|s| s.name() == name),
        _ => false,
    };
    match inst.class {
        Class::Load | Class::Texture => access || inst.semantics.order.strong,
        Class::Atomic | Class::Warp | Class::Call | Class::Sync | Class::AsyncCopy | Class::Opaque => true,
        _ => inst.operands.iter().any(special),
    }
}
