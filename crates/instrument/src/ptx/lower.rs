//! From a plan to edits: one snippet for each group of insertions.

use crate::tokens::prefix;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use prlx_isa::view::{BlockId, Class, Function, FunctionKind, InstId, Module, Space};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan};
use prlx_trace::SiteId;

use crate::edit::Edit;
use crate::error::Error;
use crate::ptx::call_sites::Calls;
use crate::ptx::lane_state::StateLayout;
use crate::ptx::lowering::{Lowering, Output, visit_counters};
use crate::ptx::markers::registers::{LoopConstants, open_span_registers};
use crate::ptx::preconditions::{can_exchange, fits, supported};
use crate::ptx::snippet::Snippet;
use crate::ptx::state_passing::passes_state;

/// Lowers `plan` to edits of `source`, from which `module` was read.
///
/// # Errors
/// If the module cannot carry a recorder, or the plan does not fit it. The error names the position.
pub fn ptx(source: &str, module: &Module, plan: &Plan) -> Result<Vec<Edit>, Error> {
    let recorded: Vec<bool> = (0..module.functions.len())
        .map(|i| plan.functions.get(i).is_some_and(|f| f.skipped.is_none()))
        .collect();
    if !recorded.contains(&true) {
        return Ok(Vec::new());
    }
    can_exchange(plan)?;
    fits(module, plan)?;
    let arch = supported(source, module, plan)?;
    let prefix = prefix(source);
    let calls = Calls::find(source, module, &recorded)?;
    let visits: Vec<u32> = (0..module.functions.len())
        .map(|i| match (module.functions[i].kind, plan.functions.get(i)) {
            (FunctionKind::Device, Some(f)) => visit_counters(f),
            _ => 0,
        })
        .collect();
    let state = StateLayout::new(plan, &visits);
    let mut edits = calls.declarations(&prefix, module);
    let number = Cell::new(0);
    let empty = FunctionPlan::default();
    let mut next_chunk = None;
    for (index, function) in module.functions.iter().enumerate() {
        let of_plan = if recorded[index] { &plan.functions[index] } else { &empty };
        let lowering = Lowering {
            source,
            module,
            plan,
            function,
            of_plan,
            index,
            state: &state,
            visits: &visits,
            own_visits: if function.kind == FunctionKind::Kernel { visit_counters(of_plan) } else { 0 },
            calls: &calls,
            constants: LoopConstants::new(module, plan, index),
            chain_ends: chain_ends(function, of_plan),
            arch,
            output: Output::Ptx,
            calls_next_chunk: chunk_places(plan, of_plan) > plan.request.inline_chunks,
        };
        lowering.lower(&prefix, recorded[index], &number, &mut edits)?;
        if lowering.calls_next_chunk {
            next_chunk = Some(lowering);
        }
    }
    if let (Some(lowering), Some(first)) = (next_chunk, module.functions.first()) {
        let text = lowering.next_chunk(Snippet::new(&prefix, number.get()));
        edits.push(Edit { at: first.span.start, text });
    }
    edits.sort_by_key(|e| e.at);
    Ok(edits)
}

/// Number of copies of the code that takes a chunk, if each place of a function has its own.
fn chunk_places(plan: &Plan, of_plan: &FunctionPlan) -> usize {
    let insertions: Vec<&Insertion> = of_plan.insertions.iter().collect();
    let copies = |group: &[&Insertion]| match group[0].action {
        Action::Reserve { bits } => usize::from(bits > 0),
        Action::TripEnd { room, .. } => 2 + usize::from(room > 0),
        Action::Event { .. } | Action::TripEvent { .. } => 1,
        Action::Checkpoint { .. } | Action::Operands { .. } => 1,
        _ => 0,
    };
    plan.event_groups(&insertions).map(copies).sum()
}

/// Bits that follow each other in a word, in a basic block with more than [`SHORT`].
const CHAIN: usize = 3;
/// The most bits of a basic block that are one chain.
const SHORT: usize = 8;

/// The decisions whose bits end a chain: every [`CHAIN`]-th of a basic block with many.
fn chain_ends(function: &Function, plan: &FunctionPlan) -> HashSet<SiteId> {
    let mut bits: HashMap<BlockId, Vec<SiteId>> = HashMap::new();
    for insertion in &plan.insertions {
        if let (Action::Bits { site: Some(site), .. }, At::Before(id) | At::After(id)) =
            (&insertion.action, insertion.at)
            && let Some(inst) = function.insts.get(id.index())
        {
            bits.entry(inst.block).or_default().push(*site);
        }
    }
    let long = bits.into_values().filter(|sites| sites.len() > SHORT);
    long.flat_map(|sites| sites.into_iter().skip(CHAIN - 1).step_by(CHAIN)).collect()
}

impl Lowering<'_> {
    fn lower(
        &self,
        prefix: &str,
        recorded: bool,
        number: &Cell<u32>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Error> {
        let mut by_place: HashMap<At, Vec<&Insertion>> = HashMap::new();
        // Insertions after a call come first: they move behind its results, before insertions that belong
        // there.
        let (calls, others): (Vec<&Insertion>, Vec<&Insertion>) =
            self.of_plan.insertions.iter().partition(|i| self.place(i) != i.at);
        for insertion in calls.into_iter().chain(others) {
            by_place.entry(self.place(insertion)).or_default().push(insertion);
        }
        let pieces = |insertions: &[&Insertion]| {
            let mut text = String::new();
            for piece in self.plan.event_groups(insertions) {
                let mut s = Snippet::new(prefix, number.get());
                self.piece(&mut s, piece);
                if !s.is_empty() {
                    number.set(number.get() + 1);
                    text.push_str(&s.finish());
                }
            }
            text
        };
        let at_entry = pieces(by_place.get(&At::Entry).map_or(&[], Vec::as_slice));
        let mut top = self.declarations(prefix, recorded);
        top.push_str(&at_entry);
        if !top.is_empty() {
            edits.push(Edit { at: self.function.body.start + 1, text: top });
        }
        for (i, inst) in self.function.insts.iter().enumerate() {
            let id = InstId(i as u32);
            let before = by_place.get(&At::Before(id)).map_or(&[][..], Vec::as_slice);
            let text = pieces(before);
            if !text.is_empty() {
                edits.push(Edit { at: inst.span.start, text: format!("{}\n\t", text.trim_start()) });
            }
            if self.calls.recorded(self.module, inst) {
                let saved = before.iter().any(|x| x.action == Action::Save);
                if recorded && !saved {
                    return Err(self.wrong(inst, "a call of a recorded function is without Action::Save"));
                }
                let mut s = Snippet::new(prefix, number.get());
                number.set(number.get() + 1);
                self.call(&mut s, inst, recorded, edits)?;
                let text = s.finish();
                if !text.is_empty() {
                    edits.push(Edit { at: inst.span.start, text: format!("{}\n\t", text.trim_start()) });
                }
            }
            let text = pieces(by_place.get(&At::After(id)).map_or(&[], Vec::as_slice));
            if !text.is_empty() {
                edits.push(Edit { at: inst.span.end, text });
            }
        }
        Ok(())
    }

    /// Position of an insertion's text. Nothing may separate a call from its arguments and results, so
    /// insertions at a call move before the arguments or after the results.
    fn place(&self, insertion: &Insertion) -> At {
        let insts = &self.function.insts;
        let (At::Before(id) | At::After(id)) = insertion.at else { return insertion.at };
        let call = insts.get(id.index()).filter(|i| i.class == Class::Call);
        let Some(call) = call.filter(|_| !passes_state(&insertion.action)) else {
            return insertion.at;
        };
        let moves = |at: usize, class| {
            insts
                .get(at)
                .is_some_and(|i| i.class == class && i.space == Space::Param && i.block == call.block)
        };
        let mut at = id.index();
        match insertion.at {
            At::Before(_) => {
                while at > 0 && moves(at - 1, Class::Store) {
                    at -= 1;
                }
                At::Before(InstId(at as u32))
            }
            _ => {
                while moves(at + 1, Class::Load) {
                    at += 1;
                }
                At::After(InstId(at as u32))
            }
        }
    }

    /// Declarations at the top of the body.
    fn declarations(&self, prefix: &str, recorded: bool) -> String {
        let mut s = Snippet::new(prefix, 0);
        if self.has_record() {
            s.ptx(&format!(".local .align 8 .b8 ~record[{}];\n.reg .b64 %~state;", self.state.size));
        }
        if recorded {
            if !self.in_kernel() {
                s.ptx(".reg .b64 %~state;");
            }
            for (ty, size) in [("b32", 4), ("b64", 8)] {
                let kept = self.state_registers();
                let names: Vec<_> =
                    kept.iter().filter(|k| k.size == size).map(|k| format!("%~{}", k.name)).collect();
                if !names.is_empty() {
                    s.ptx(&format!(".reg .{ty} {};", names.join(", ")));
                }
            }
            if self.of_plan.insertions.iter().any(|i| matches!(i.action, Action::Room { .. })) {
                s.ptx(".reg .pred %~room;");
            }
            let spans: Vec<String> =
                open_span_registers(self.of_plan).iter().map(|name| format!("%~{name}")).collect();
            if !spans.is_empty() {
                s.ptx(&format!(".reg .b32 {};", spans.join(", ")));
            }
        }
        s.finish()
    }

    /// Emits the code of one insertion, or of events for the same lanes.
    pub(super) fn piece(&self, s: &mut Snippet<'_>, piece: &[&Insertion]) {
        match piece {
            [] => {}
            [one] => self.action(s, one),
            events @ [first, ..] => self.guarded(s, first.guard, |s| self.events(s, events)),
        }
    }

    /// Emits the code of one insertion.
    pub(super) fn action(&self, s: &mut Snippet<'_>, insertion: &Insertion) {
        let guard = insertion.guard;
        match &insertion.action {
            Action::Begin => self.begin(s),
            Action::Save => {} // with the call's argument, see `call`
            Action::Restore => {
                if let At::After(id) = insertion.at
                    && self
                        .function
                        .insts
                        .get(id.index())
                        .is_some_and(|i| self.calls.recorded(self.module, i))
                {
                    self.take_back(s);
                }
            }
            Action::Bits { site, reg, from, bits, into } => {
                let ends_chain = site.is_some_and(|site| self.chain_ends.contains(&site));
                self.bits(s, *reg, (*from, *bits, *into), guard, ends_chain);
            }
            Action::ValueHash { values, bits, .. } => {
                self.value_hash(s, &self.moved(values, *bits), guard);
            }
            Action::TripBegin { counter } => self.trip_begin(s, *counter, guard),
            Action::TripAdd { counter } => self.trip_add(s, *counter, guard),
            Action::TripRead { counter, reg, less } => self.trip_read(s, *counter, *reg, *less),
            Action::TripFold { counter } => self.guarded(s, guard, |s| self.trip_fold(s, *counter)),
            Action::Fold { into, values, bits, .. } => self.fold(s, *into, &self.moved(values, *bits), guard),
            Action::FoldWord => self.fold_word(s),
            Action::End { trap } => {
                let exit = matches!(insertion.at, At::Before(id)
                    if self.function.insts.get(id.index()).is_some_and(|i| i.class == Class::Exit));
                self.guarded(s, guard, |s| self.end(s, exit, *trap));
            }
            Action::StartCursor => self.start_cursor(s),
            Action::Reserve { bits: 0 } => {}
            Action::Reserve { bits } => self.guarded(s, guard, |s| self.reserve(s, *bits)),
            Action::TripEnd { counter, room } => self.guarded(s, guard, |s| {
                if *room > 0 {
                    self.reserve(s, *room);
                    s.fresh_labels();
                }
                self.trip_end(s, *counter);
            }),
            Action::TripEvent { counter, site } => {
                self.guarded(s, guard, |s| self.trip_event(s, *counter, *site))
            }
            Action::Checkpoint { every } => self.checkpoint(s, *every, guard),
            Action::Event { .. } => self.guarded(s, guard, |s| self.events(s, &[insertion])),
            Action::Probe(code) => self.guarded(s, guard, |s| self.probe(s, code, insertion.at)),
            Action::Count { counter, add } => self.count(s, *counter, *add, guard),
            Action::Room { slots } => self.guarded(s, guard, |s| self.reserve_slots(s, *slots)),
            Action::Anchor => self.guarded(s, guard, |s| self.anchor(s)),
            Action::Mark { mark, back, words } => {
                self.guarded(s, guard, |s| self.mark(s, *mark, *back, words))
            }
            Action::Add { ends, begins, count } => {
                self.guarded(s, guard, |s| self.add(s, ends, begins, *count))
            }
            Action::Span { end, begin } => self.guarded(s, guard, |s| self.span(s, *end, begin.as_ref())),
            Action::Group { values } => self.guarded(s, guard, |s| self.group(s, values)),
            Action::Operands { site, counter, values } => {
                self.guarded(s, guard, |s| self.operands(s, *site, *counter, values));
            }
        }
    }
}
