//! Plans as text: for people who wonder what is recorded and why, and for the tests that compare it.

use std::fmt::{self, Display, Formatter};

use prlx_trace::device::ALL;
use prlx_trace::kernel::{Alu, Arg, Block, End, Function, Guard, Site, Source, Step};

use crate::plan::{Action, At, FunctionPlan, Insertion, Plan, SpanBegin, SpanEnd, WordBits};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} level {}", self.module.name, self.module.target, self.request.level.name())?;
        for (id, (function, plan)) in self.module.functions.iter().zip(&self.functions).enumerate() {
            let sites = self.module.sites.iter().enumerate().filter(|(_, s)| s.function.index() == id);
            writeln!(f)?;
            self.function(f, function, plan, sites.collect())?;
        }
        Ok(())
    }
}

impl Plan {
    fn function(
        &self,
        f: &mut Formatter<'_>,
        function: &Function,
        plan: &FunctionPlan,
        sites: Vec<(usize, &Site)>,
    ) -> fmt::Result {
        let kind = if function.kernel { "kernel" } else { "function" };
        writeln!(
            f,
            "{kind} {}: {} slots, {} trip counters",
            function.name, function.slots, plan.trip_counters
        )?;
        if let Some(most) = plan.most_written {
            writeln!(f, "  a lane writes at most {} bits, {} full words", most.bits, most.words)?;
        }
        if let Some(why) = &function.skipped {
            writeln!(f, "  skipped: {why}")?;
        } else if let Some(why) = &plan.skipped {
            writeln!(f, "  nothing inserted: {why}")?;
        }
        for p in &function.params {
            writeln!(
                f,
                "  param {} .{} [{}..{}]",
                p.name,
                p.ty.name(),
                p.offset,
                p.offset.saturating_add(p.size)
            )?;
        }
        for (i, l) in function.loops.iter().enumerate() {
            let blocks: Vec<String> = l.blocks.iter().map(|b| b.0.to_string()).collect();
            let kind = if l.irreducible { "irreducible " } else { "" };
            write!(f, "  {kind}loop{i} at {} of {}", l.header, blocks.join(" "))?;
            match l.parent {
                Some(p) => writeln!(f, " in {p}")?,
                None => writeln!(f)?,
            }
        }
        for (i, block) in function.blocks.iter().enumerate() {
            self.block(f, i, block)?;
        }
        for (id, site) in sites {
            self.site(f, id, site)?;
        }
        for i in &plan.insertions {
            writeln!(f, "  {}", Inserted(i))?;
        }
        Ok(())
    }

    fn block(&self, f: &mut Formatter<'_>, i: usize, block: &Block) -> fmt::Result {
        write!(f, "  block{i}: ")?;
        match &block.end {
            End::Jump(to) => write!(f, "-> {to}")?,
            End::Branch { guard, taken, other } => write!(f, "{}-> {taken} else {other}", Condition(*guard))?,
            End::Switch { index, targets } => write!(f, "{index} of {targets:?}")?,
            End::Return => write!(f, "return")?,
            End::Exit => write!(f, "exit")?,
        }
        if let Some(d) = block.ipdom {
            write!(f, ", meets at {d}")?;
        }
        if let Some(l) = block.in_loop {
            write!(f, ", in {l}")?;
        }
        writeln!(f)?;
        for step in &block.steps {
            write!(f, "    ")?;
            match step {
                Step::Let { to, op, ty, args, guard } => {
                    write!(f, "{}{to} = ", Guarded(*guard))?;
                    operation(f, *op, ty.name(), args)?;
                }
                Step::Decide { site, slot, guard } => {
                    let source = self.module.sites.get(site.index()).map_or(Source::None, |s| s.source);
                    write!(f, "{}decide {site} in {slot}: {source:?}", Guarded(*guard))?;
                }
                Step::Visit { site, guard } => write!(f, "{}visit {site}", Guarded(*guard))?,
                Step::Read { to, bits, guard, text, .. } => {
                    write!(f, "{}{to} = read {bits} of `{text}`", Guarded(*guard))?;
                }
                Step::Call { function, guard, .. } => write!(f, "{}call {function}", Guarded(*guard))?,
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn site(&self, f: &mut Formatter<'_>, id: usize, site: &Site) -> fmt::Result {
        write!(f, "  site{id} {}.{} {}", site.class.name(), site.nth, site.block)?;
        if let Some(loc) = site.loc.and_then(|l| self.module.locs.get(l.index())) {
            write!(f, " line {}", loc.line)?;
        }
        write!(f, " `{}`", site.text)?;
        if site.source != Source::None {
            write!(f, " {:?}", site.source)?;
        }
        if !site.operands.is_empty() {
            let operands: Vec<String> =
                site.operands.iter().map(|o| format!("{}.{}", o.name, o.ty.name())).collect();
            write!(f, " ({})", operands.join(", "))?;
        }
        if let Some(why) = &site.skipped {
            write!(f, " skipped: {why}")?;
        }
        writeln!(f)?;
        for s in &site.steers {
            writeln!(f, "    steers {} `{}`", s.class.name(), s.text)?;
        }
        for (i, n) in site.slice.iter().enumerate() {
            writeln!(f, "    slice {i} {} `{}` {:?}", n.kind.name(), n.text, n.inputs)?;
        }
        Ok(())
    }
}

fn operation(f: &mut Formatter<'_>, op: Alu, ty: &str, args: &[Arg]) -> fmt::Result {
    write!(f, "{}.{ty}", op.name())?;
    for (i, arg) in args.iter().enumerate() {
        write!(f, "{}", if i == 0 { " " } else { ", " })?;
        match arg {
            Arg::Slot(s) => write!(f, "{s}")?,
            Arg::Const(c) => write!(f, "{}", *c as i64)?,
            Arg::Special(s) => write!(f, "{}", s.name())?,
            Arg::Param { offset, size } => {
                write!(f, "param[{offset}..{}]", offset.saturating_add(u32::from(*size)))?
            }
        }
    }
    Ok(())
}

/// A guard of the decode program.
struct Condition(Guard);
impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{} ", if self.0.negate { "!" } else { "" }, self.0.slot)
    }
}

/// One that may be absent.
struct Guarded(Option<Guard>);
impl Display for Guarded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |g| Condition(g).fmt(f))
    }
}

struct Inserted<'i>(&'i Insertion);
impl Display for Inserted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0.at {
            At::Entry => write!(f, "entry: ")?,
            At::Before(i) => write!(f, "before {i:?}: ")?,
            At::After(i) => write!(f, "after {i:?}: ")?,
        }
        if let Some(g) = self.0.guard {
            write!(f, "@{}{:?} ", if g.negate { "!" } else { "" }, g.reg)?;
        }
        match &self.0.action {
            Action::Begin => write!(f, "begin"),
            Action::End { trap: false } => write!(f, "end"),
            Action::End { trap: true } => write!(f, "end at a trap"),
            Action::Save => write!(f, "save"),
            Action::Restore => write!(f, "restore"),
            Action::StartCursor => write!(f, "start cursor"),
            Action::Reserve { bits } => write!(f, "reserve {bits}"),
            Action::Bits { site, reg, from, bits, into } => {
                match site {
                    Some(site) => write!(f, "bits {site} {reg:?} x{bits}")?,
                    None => write!(f, "value {reg:?} {from}+{bits}")?,
                }
                match into {
                    _ if *into == WordBits::alone(*bits) => Ok(()),
                    WordBits { shift: 0, to } => write!(f, " to bit {to}"),
                    WordBits { shift, to } => write!(f, " to bit {to} after a shift by {shift}"),
                }
            }
            Action::ValueHash { site, values, bits } => {
                write!(f, "value hash {site} {values:?}{}", moved(*bits))
            }
            Action::TripBegin { counter } => write!(f, "trip begin {counter}"),
            Action::TripAdd { counter } => write!(f, "trip add {counter}"),
            Action::TripRead { counter, reg, less } => {
                write!(f, "trip read {counter} of {reg:?} less {less}")
            }
            Action::TripEvent { counter, site } => write!(f, "trip event {counter} of {site}"),
            Action::TripEnd { counter, room } => write!(f, "trip end {counter}, room {room}"),
            Action::TripFold { counter } => write!(f, "trip fold {counter}"),
            Action::Fold { site, into, values, bits } => {
                let site = site.map(|site| format!(" {site}")).unwrap_or_default();
                write!(f, "fold{site} into {into:?} {values:?}{}", moved(*bits))
            }
            Action::FoldWord => write!(f, "fold word into Control"),
            Action::Checkpoint { every } => write!(f, "checkpoint every 2^{every}"),
            Action::Event { site, of, value, bits } => {
                write!(f, "event {site}")?;
                if let Some(value) = value {
                    write!(f, " {value:?}{}", moved(*bits))?;
                }
                match of {
                    Some(g) => write!(f, " of {}{:?}", if g.negate { "!" } else { "" }, g.reg),
                    None => Ok(()),
                }
            }
            Action::Probe(code) => write!(f, "probe {{ {code} }}"),
            Action::Count { counter, add } => write!(f, "count {counter} {add}"),
            Action::Room { slots } => write!(f, "room for {slots}"),
            Action::Anchor => write!(f, "anchor"),
            Action::Mark { mark, back, words } => write!(f, "mark {mark} at -{back} {words:?}"),
            Action::Add { ends, begins, count } => {
                write!(f, "clock to {ends:?} from {begins:?} count {count:?}")
            }
            Action::Span { end, begin } => {
                write!(f, "span")?;
                if let Some(SpanEnd { span, back }) = end {
                    write!(f, " {span} ends at -{back}")?;
                }
                match begin {
                    Some(SpanBegin { mark, word }) => write!(f, " {mark} begins {word:?}"),
                    None => Ok(()),
                }
            }
            Action::Group { values } => write!(f, "group {values:?}"),
            Action::Operands { site, counter, values } => {
                write!(f, "operands {site} visits {counter} {values:?}")
            }
        }
    }
}

/// Of a value that is moved: how much of it, if not all.
fn moved(bits: u8) -> String {
    if bits < ALL { format!(" low {bits}") } else { String::new() }
}
