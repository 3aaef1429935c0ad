//! Conditions for lowering a plan: the plan fits the module, and the target supports what the recorder needs.

use crate::tokens;
use crate::tokens::span;
use prlx_isa::view::{Function, Module, Operand, Symbol};
use prlx_plan::code::{Op, Stmt};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan, SpanEnd, Word};
use prlx_trace::WarpSize;
use prlx_trace::device::WORD_BITS;
use prlx_trace::kernel::{Level, SiteClass};

use crate::error::{Error, ErrorKind};
use crate::ptx::values::scalars_of;

/// Checks that PTX can exchange values between the lanes of a warp, if the plan's level needs that.
pub(crate) fn can_exchange(plan: &Plan) -> Result<(), Error> {
    let level = plan.request.level;
    if plan.warp_size != WarpSize::W32 && matches!(level, Level::Events | Level::Probe) {
        let message = format!(
            "level {}: its code exchanges values between lanes, which PTX can't do in warps of {} lanes",
            level.name(),
            plan.warp_size
        );
        return Err(Error::new(ErrorKind::Unsupported, span(0, 0), message));
    }
    Ok(())
}

/// Checks that everything the plan refers to is in the module.
pub(crate) fn fits(module: &Module, plan: &Plan) -> Result<(), Error> {
    for (i, of_plan) in plan.functions.iter().enumerate() {
        let Some(function) = module.functions.get(i).filter(|_| of_plan.function.index() == i) else {
            let message = format!("the plan's function {i} is not the module's");
            return Err(Error::new(ErrorKind::Plan, span(0, 0), message));
        };
        for insertion in &of_plan.insertions {
            if let Some(what) = missing(module, plan, function, of_plan, insertion) {
                let message = format!(
                    "{}: the plan refers to {what} that the function does not have: {insertion:?}",
                    function.name
                );
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
    let readable = |v: &Operand| scalars_of(module, f, v).is_some();
    let bad = match &insertion.action {
        Action::Bits { reg, from, bits, into, .. } => {
            !known(*reg)
                || u32::from(into.shift) > WORD_BITS
                || u32::from(*bits) + u32::from(into.to) > WORD_BITS
                || u32::from(*from) + u32::from(*bits) > f.regs[reg.index()].ty.bits().max(1)
        }
        Action::Reserve { bits } => *bits > WORD_BITS,
        Action::TripRead { counter, reg, .. } => !known(*reg) || *counter >= of_plan.trip_counters,
        Action::TripBegin { counter }
        | Action::TripAdd { counter }
        | Action::TripEnd { counter, .. }
        | Action::TripEvent { counter, .. }
        | Action::TripFold { counter } => *counter >= of_plan.trip_counters,
        Action::ValueHash { values, .. } | Action::Fold { values, .. } | Action::Operands { values, .. } => {
            !values.iter().all(readable)
        }
        Action::Event { site, of, value, .. } => {
            let switch = plan.module.sites.get(site.index()).is_some_and(|s| s.class == SiteClass::Switch);
            of.is_some_and(|g| switch || !known(g.reg)) || value.as_ref().is_some_and(|v| !readable(v))
        }
        Action::Checkpoint { every } => *every > 31,
        Action::Add { ends, begins, count } => {
            let words = plan.probe_state.tracks.as_ref().map_or(0, |t| t.words);
            let mut all = ends.iter().chain(begins).chain(count.iter().map(|(word, _)| word));
            all.any(|word| *word >= words)
        }
        Action::Mark { words, .. } | Action::Group { values: words } => {
            let readable = |w: &Word| scalars_of(module, f, &w.of).is_some_and(|v| v.len() == 1);
            words.len() > 2 || !words.iter().all(readable)
        }
        Action::Span { end, begin } => {
            let known = |of: &SpanEnd| {
                plan.probe_state.tracks.as_ref().is_some_and(|t| (of.span as usize) < t.spans.len())
            };
            let word = begin.as_ref().and_then(|b| b.word.as_ref());
            let readable = |w: &Word| scalars_of(module, f, &w.of).is_some_and(|v| v.len() == 1);
            !end.as_ref().is_none_or(known) || !word.is_none_or(readable)
        }
        Action::Probe(code) => {
            !code.operands.iter().all(|o| scalars_of(module, f, o).is_some_and(|v| v.len() == 1))
        }
        _ => false,
    };
    bad.then_some("an operand")
}

/// Whether a probe program reduces values over lanes.
fn reduces(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Set(_, Op::Reduce(..)) => true,
        Stmt::If(_, then, other) => reduces(then) || reduces(other),
        _ => false,
    })
}

/// Checks the target. Returns the number of its architecture.
pub(super) fn supported(source: &str, module: &Module, plan: &Plan) -> Result<u32, Error> {
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
    if module.symbols.iter().any(Symbol::launches_kernels) {
        return no("kernels of this module launch kernels, whose parameters can't be extended".to_owned());
    }
    let head = tokens::tokens(source, 0, module.functions.first().map_or(0, |f| f.span.start as usize));
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
