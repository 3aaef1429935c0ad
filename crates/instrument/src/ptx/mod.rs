//! A plan becomes insertions of PTX text.
//!
//! Every recorded function gets: a parameter at the end of its list, declarations of the state's registers at the top of
//! its body, and one piece of text an insertion, each in a scope of its own. Kernels get the address of the launch's
//! context, device functions that of their caller's state; see [`state`] for what the state is, [`chunk`] for how
//! elements reach memory.
//!
//! Holds: only registers, labels and variables with the module's prefix are written; branches go forward, inside their
//! piece; nothing waits but for lanes that `activemask` saw a few instructions before; no instruction of the source is
//! moved or changed, except that direct calls of recorded functions pass one more argument.
//!
//! Misses: modules for targets before sm_70 (no `match`), 32-bit addresses, kernels that other kernels launch, recorded
//! functions whose address is taken (the plan should leave those out; they are refused here).

mod begin;
mod call;
mod chunk;
mod events;
mod flush;
mod held;
mod marks;
mod numbered;
mod operands;
mod path;
mod print;
mod probe;
mod snippet;
mod state;
mod table;
mod value;
mod written;

use std::cell::Cell;
use std::collections::HashMap;

use prlx_isa::view::{Class, Function, FunctionKind, Guard, Inst, InstId, Module, Operand, Space};
use prlx_plan::code::{Op, Stmt};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan, SpanEnd, Word};
use prlx_trace::device::WORD_BITS;
use prlx_trace::kernel::{Level, SiteClass};

use crate::edit::Edit;
use crate::error::{Error, ErrorKind};
use crate::text::{self, span};
use call::Calls;
pub(crate) use probe::PARAMETERS;
use snippet::{Snippet, guard_text};
use state::{Kept, State, WARP};
use value::Value;

/// Lowers `plan` to edits of `source`, from which `module` was read.
///
/// # Errors
/// When the module can't carry a recorder or the plan is not one for it; the error names the place.
pub fn ptx(source: &str, module: &Module, plan: &Plan) -> Result<Vec<Edit>, Error> {
    let recorded: Vec<bool> = (0..module.functions.len())
        .map(|i| plan.functions.get(i).is_some_and(|f| f.skipped.is_none()))
        .collect();
    if !recorded.contains(&true) {
        return Ok(Vec::new());
    }
    fits(module, plan)?;
    let arch = supported(source, module, plan)?;
    let prefix = text::prefix(source);
    let calls = Calls::find(source, module, &recorded)?;
    let visits: Vec<u32> = (0..module.functions.len())
        .map(|i| match (module.functions[i].kind, plan.functions.get(i)) {
            (FunctionKind::Device, Some(f)) => visit_counters(f),
            _ => 0,
        })
        .collect();
    let state = State::new(plan, &visits);
    let mut edits = calls.declarations(&prefix, module);
    let number = Cell::new(0);
    let empty = FunctionPlan::default();
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
            calls: &calls,
            constants: marks::Constants::new(module, plan, index),
            arch,
        };
        lowering.lower(&prefix, recorded[index], &number, &mut edits)?;
    }
    edits.sort_by_key(|e| e.at);
    Ok(edits)
}

/// Whether everything that the plan refers to is in the module.
pub(crate) fn fits(module: &Module, plan: &Plan) -> Result<(), Error> {
    for (i, of_plan) in plan.functions.iter().enumerate() {
        let Some(function) = module.functions.get(i).filter(|_| of_plan.function.index() == i) else {
            let message = format!("the plan's function {i} is not the module's");
            return Err(Error::new(ErrorKind::Plan, span(0, 0), message));
        };
        for insertion in &of_plan.insertions {
            if let Some(what) = missing(module, plan, function, of_plan, insertion) {
                let message =
                    format!("{}: the plan names {what} that can't be: {insertion:?}", function.name);
                return Err(Error::new(ErrorKind::Plan, function.span, message));
            }
        }
    }
    Ok(())
}

/// What an insertion refers to and the function does not have.
fn missing(
    module: &Module,
    plan: &Plan,
    f: &Function,
    of_plan: &FunctionPlan,
    insertion: &Insertion,
) -> Option<&'static str> {
    if let At::Before(id) | At::After(id) = insertion.at
        && id.index() >= f.insts.len()
    {
        return Some("an instruction");
    }
    let known = |r: prlx_isa::view::Reg| r.index() < f.regs.len();
    if insertion.guard.is_some_and(|g| !known(g.reg)) {
        return Some("a guard");
    }
    let readable = |v: &Operand| value::values(module, f, v).is_some();
    let bad = match &insertion.action {
        Action::Bits { reg, bits, .. } => !known(*reg) || u32::from(*bits) > WORD_BITS,
        Action::Reserve { bits } => *bits > WORD_BITS,
        Action::TripRead { counter, reg, .. } => !known(*reg) || *counter >= of_plan.trip_counters,
        Action::TripBegin { counter }
        | Action::TripAdd { counter }
        | Action::TripEnd { counter, .. }
        | Action::TripEvent { counter, .. }
        | Action::TripFold { counter } => *counter >= of_plan.trip_counters,
        Action::Fold { values, .. } | Action::Operands { values, .. } => !values.iter().all(readable),
        Action::Event { site, of, value, .. } => {
            let switch = plan.module.sites.get(site.index()).is_some_and(|s| s.class == SiteClass::Switch);
            of.is_some_and(|g| switch || !known(g.reg)) || value.as_ref().is_some_and(|v| !readable(v))
        }
        Action::Checkpoint { every } => *every > 31,
        Action::Add { ends, begins, count } => {
            let words = plan.kept.tracks.as_ref().map_or(0, |t| t.words);
            let mut all = ends.iter().chain(begins).chain(count.iter().map(|(word, _)| word));
            all.any(|word| *word >= words)
        }
        Action::Mark { words, .. } | Action::Group { values: words } => {
            let readable = |w: &Word| value::values(module, f, &w.of).is_some_and(|v| v.len() == 1);
            words.len() > 2 || !words.iter().all(readable)
        }
        Action::Span { end, begin } => {
            let known =
                |of: &SpanEnd| plan.kept.tracks.as_ref().is_some_and(|t| (of.span as usize) < t.spans.len());
            let word = begin.as_ref().and_then(|b| b.word.as_ref());
            let readable = |w: &Word| value::values(module, f, &w.of).is_some_and(|v| v.len() == 1);
            !end.as_ref().is_none_or(known) || !word.is_none_or(readable)
        }
        Action::Probe(code) => {
            !code.operands.iter().all(|o| value::values(module, f, o).is_some_and(|v| v.len() == 1))
        }
        _ => false,
    };
    bad.then_some("an operand")
}

/// Whether a code brings values of several lanes together.
fn reduces(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Set(_, Op::Reduce(..)) => true,
        Stmt::If(_, then, other) => reduces(then) || reduces(other),
        _ => false,
    })
}

/// The number of the target's architecture, if it is one that this lowering is for.
fn supported(source: &str, module: &Module, plan: &Plan) -> Result<u32, Error> {
    let no = |what: String| Err(Error::new(ErrorKind::Unsupported, span(0, 0), what));
    let digits: String =
        module.target.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let arch = digits.parse().unwrap_or(0);
    if arch < 70 {
        return no(format!("target {} is older than sm_70", module.target));
    }
    if module.version < (6, 2) {
        return no(format!("PTX {}.{} is older than 6.2", module.version.0, module.version.1));
    }
    if module
        .symbols
        .iter()
        .any(|s| s.name.starts_with("cudaLaunchDevice") || s.name.starts_with("cudaGetParameterBuffer"))
    {
        return no("kernels of this module launch kernels, whose parameters can't be extended".to_owned());
    }
    let head = text::tokens(source, 0, module.functions.first().map_or(0, |f| f.span.start as usize));
    if head.windows(2).any(|w| w[0].text == "address_size" && w[1].text == "32") {
        return no("addresses have 32 bits".to_owned());
    }
    let reducing = |i: &&Insertion| matches!(&i.action, Action::Probe(code) if reduces(&code.body));
    for (f, of_plan) in module.functions.iter().zip(&plan.functions).filter(|_| arch < 80) {
        if let Some(insertion) = of_plan.insertions.iter().find(reducing) {
            let at = match insertion.at {
                At::Before(id) | At::After(id) => f.insts.get(id.index()).map_or(f.span, |inst| inst.span),
                At::Entry => f.span,
            };
            let message =
                format!("{}: lanes_sum and its like need sm_80, and the target is {}", f.name, module.target);
            return Err(Error::new(ErrorKind::Unsupported, at, message));
        }
    }
    Ok(arch)
}

/// How many visit counters a function has.
fn visit_counters(plan: &FunctionPlan) -> u32 {
    let counters = plan.insertions.iter().filter_map(|i| match i.action {
        Action::Operands { counter, .. } => Some(counter.saturating_add(1)),
        _ => None,
    });
    counters.max().unwrap_or(0)
}

/// Whether an action leads to elements in memory, at once, in a callee or at the lane's end.
fn writes_elements(action: &Action) -> bool {
    match action {
        Action::Begin
        | Action::End { .. }
        | Action::Restore
        | Action::Fold { .. }
        | Action::TripFold { .. } => false,
        // It counts, and only level `path` writes what was counted: where a loop ends.
        Action::TripBegin { .. } | Action::TripAdd { .. } | Action::TripRead { .. } => false,
        // To tables and records.
        Action::Probe(_) | Action::Count { .. } => false,
        Action::Room { .. } | Action::Anchor | Action::Mark { .. } | Action::Add { .. } => false,
        Action::Span { .. } | Action::Group { .. } => false,
        Action::Reserve { bits } => *bits > 0,
        _ => true,
    }
}

/// The lowering of one function.
struct Lowering<'a> {
    source: &'a str,
    module: &'a Module,
    plan: &'a Plan,
    function: &'a Function,
    of_plan: &'a FunctionPlan,
    /// Of the function.
    index: usize,
    state: &'a State,
    /// By function: visit counters in the record.
    visits: &'a [u32],
    calls: &'a Calls,
    /// What its loops have in registers.
    constants: marks::Constants,
    /// 80 for sm_80 and its kin.
    arch: u32,
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
        // Those after a call first: moved behind its results, they come before what is there for its own sake.
        let (calls, others): (Vec<&Insertion>, Vec<&Insertion>) =
            self.of_plan.insertions.iter().partition(|i| self.place(i) != i.at);
        for insertion in calls.into_iter().chain(others) {
            by_place.entry(self.place(insertion)).or_default().push(insertion);
        }
        let pieces = |insertions: &[&Insertion]| {
            let mut text = String::new();
            for piece in self.plan.pieces(insertions) {
                let mut s = Snippet::new(prefix, number.get());
                match piece {
                    [one] => self.action(&mut s, one),
                    events => self.guarded(&mut s, events[0].guard, |s| self.events(s, events)),
                }
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

    /// Where an insertion's text goes: at its place; but from a call's either side, which nothing may part from its
    /// arguments and results, to beyond those.
    fn place(&self, insertion: &Insertion) -> At {
        let insts = &self.function.insts;
        let (At::Before(id) | At::After(id)) = insertion.at else { return insertion.at };
        let call = insts.get(id.index()).filter(|i| i.class == Class::Call);
        let Some(call) = call.filter(|_| !begin::passes_state(&insertion.action)) else {
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
                let kept = self.kept();
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
                marks::under_way(self.of_plan).iter().map(|name| format!("%~{name}")).collect();
            if !spans.is_empty() {
                s.ptx(&format!(".reg .b32 {};", spans.join(", ")));
            }
        }
        s.finish()
    }

    /// One insertion's text.
    fn action(&self, s: &mut Snippet<'_>, insertion: &Insertion) {
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
            Action::Bits { reg, bits, .. } => self.bits(s, *reg, *bits, guard),
            Action::TripBegin { counter } => self.trip_begin(s, *counter, guard),
            Action::TripAdd { counter } => self.trip_add(s, *counter, guard),
            Action::TripRead { counter, reg, less } => self.trip_read(s, *counter, *reg, *less),
            Action::TripFold { counter } => self.guarded(s, guard, |s| self.trip_fold(s, *counter)),
            Action::Fold { into, values, bits, .. } => self.fold(s, *into, &self.moved(values, *bits), guard),
            Action::End { trap } => {
                let exit = matches!(insertion.at, At::Before(id)
                    if self.function.insts.get(id.index()).is_some_and(|i| i.class == Class::Exit));
                self.guarded(s, guard, |s| self.end(s, exit, *trap));
            }
            Action::Reserve { bits: 0 } => {}
            Action::Reserve { bits } => self.guarded(s, guard, |s| self.reserve(s, *bits)),
            Action::TripEnd { counter, room } => self.guarded(s, guard, |s| {
                self.reserve(s, *room);
                s.again();
                self.trip_end(s, *counter);
            }),
            Action::TripEvent { counter, site } => {
                self.guarded(s, guard, |s| self.trip_event(s, *counter, *site))
            }
            Action::Checkpoint { every } => self.checkpoint(s, *every, guard),
            Action::Event { .. } => self.guarded(s, guard, |s| self.events(s, &[insertion])),
            Action::Probe(code) => self.guarded(s, guard, |s| self.probe(s, code, insertion.at)),
            Action::Count { counter, add } => self.count(s, *counter, *add, guard),
            Action::Room { slots } => self.guarded(s, guard, |s| self.room(s, *slots)),
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

    /// Wraps code in a branch around it, for lanes whose guard does not hold.
    fn guarded(&self, s: &mut Snippet<'_>, guard: Option<Guard>, body: impl FnOnce(&mut Snippet<'_>)) {
        let skip = s.label("skip");
        if let Some(g) = guard {
            s.ptx(&format!("{} bra {skip};", guard_text(self.function, g, true)));
        }
        body(s);
        if guard.is_some() {
            s.ptx(&format!("{skip}:"));
        }
    }

    /// Operands as scalars, in order.
    fn scalars(&self, values: &[Operand]) -> Vec<Value> {
        values.iter().filter_map(|v| value::values(self.module, self.function, v)).flatten().collect()
    }

    /// Of operands that an access moves, what it moves: `bits` of each scalar.
    fn moved(&self, values: &[Operand], bits: u8) -> Vec<Value> {
        self.scalars(values).into_iter().map(|v| v.low(bits)).collect()
    }

    fn in_kernel(&self) -> bool {
        self.function.kind == FunctionKind::Kernel
    }

    /// Whether this function makes the record: it hands state to others and got none.
    fn has_record(&self) -> bool {
        (self.in_kernel() || self.of_plan.insertions.is_empty() && !self.is_recorded())
            && self.calls.from(self.index)
    }

    fn is_recorded(&self) -> bool {
        self.plan.functions.get(self.index).is_some_and(|f| f.skipped.is_none())
    }

    /// Whether anything here or in its callees writes elements. Often all of a kernel's decisions can be evaluated again.
    fn writes(&self) -> bool {
        let writes = || self.of_plan.insertions.iter().any(|i| writes_elements(&i.action));
        self.state.level != Level::Probe && (!self.in_kernel() || writes())
    }

    /// Whether its parameters are registers, as in PTX before there was an ABI.
    fn register_parameters(&self) -> bool {
        call::register_list(self.source, self.function)
    }

    /// The registers that it keeps.
    fn kept(&self) -> Vec<Kept> {
        let visits = if self.in_kernel() { visit_counters(self.of_plan) } else { 0 };
        let mut kept = self.state.kept(self.of_plan.trip_counters, visits);
        kept.extend(self.constants.registers().map(|(name, _, none)| Kept::new(name, 4, Some(none), None)));
        kept
    }

    /// Visit counters of function `index` in the record.
    fn device_visits(&self, index: usize) -> u32 {
        self.visits.get(index).copied().unwrap_or_default()
    }

    fn wrong(&self, inst: &Inst, what: &str) -> Error {
        Error::new(ErrorKind::Plan, inst.span, format!("{}: {what}", self.function.name))
    }
}

/// Lanes of a warp, for the checks of this crate.
const _: () = assert!(WARP == 32);
