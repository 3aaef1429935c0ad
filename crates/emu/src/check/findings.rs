//! The log of findings: each pair of source lines once per kind, with counts; and the text that describes
//! places.

use std::collections::HashSet;

use prlx_isa::view::{FuncId, Inst, InstId, LocId};
use prlx_trace::check::{
    Allocation, Check, Finding, Findings, Kind, Memory, Place, Side, SourceLine, Space, Threads,
};
use rustc_hash::FxHashMap;

use crate::exec::fault;
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;
use crate::mem::{self, Owner};
use prlx_lanes::LANES;
use prlx_trace::LaneMask;

use super::accesses::{self, WarpAccess};
use super::facts::Facts;
use super::reach::{self, Reach};

/// The most findings that are kept; the others are only counted.
const KEPT: usize = 1000;

/// Some lanes of a warp at a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpStep {
    /// Number of the CTA.
    pub cta: u64,
    /// Warp in it.
    pub warp: u32,
    /// Lanes of it.
    pub lanes: u32,
    /// Of what concerns a whole wave of 64 lanes: lanes of the next warp, which is the wave's upper half.
    pub upper: u32,
    /// Step of the code.
    pub step: u32,
}

impl WarpStep {
    /// The wave that these warps are the halves of, with these lanes of each.
    pub fn of_wave(self, halves: &[Warp], lanes: &[u32]) -> WarpStep {
        let of = |half: usize| lanes.get(half).copied().unwrap_or(0);
        let warp = halves.first().map_or(self.warp, |half| half.index);
        WarpStep { warp, lanes: of(0), upper: of(1), ..self }
    }
    /// The number of the warp or wave of a launch, and the lanes of it.
    fn whole(self, launch: &Launch<'_>) -> (u32, LaneMask) {
        let (warp, LaneMask(lower)) = launch.whole_warp(self.warp, self.lanes);
        (warp, LaneMask(lower | u64::from(self.upper) << LANES))
    }
}

/// What a check needs at a step.
pub struct CheckContext<'a, 'l> {
    /// The launch that is checked.
    pub launch: &'a Launch<'l>,
    /// Facts about its steps.
    pub facts: &'a Facts,
    /// The log of findings.
    pub log: &'a mut FindingLog,
    /// The lanes and the step that are checked now.
    pub who: WarpStep,
}

/// A place by its source location or, where there is none, by its instruction.
pub type Spot = (FuncId, Option<LocId>, Option<InstId>);

/// What tells findings apart: the kind, the places of both sides, and the allocation.
type Key = (Kind, Spot, Option<Spot>, u64);

/// The key of a finding. The schedule decides which side of a race comes first, so the key orders them.
fn key(launch: &Launch<'_>, kind: Kind, step: u32, other: Option<u32>, base: u64) -> Key {
    let (mut first, mut second) = (spot(launch, step), other.map(|s| spot(launch, s)));
    if let Some(other) = &mut second
        && kind.check() == Check::Race
        && *other < first
    {
        std::mem::swap(&mut first, other);
    }
    (kind, first, second, base)
}

/// The findings so far.
#[derive(Debug, Default)]
pub struct FindingLog {
    index: FxHashMap<Key, Option<Seen>>,
    findings: Findings,
    /// By index of a race: how far its threads are apart, at most.
    reach: FxHashMap<usize, Reach>,
    /// By step: the buffer that its pointer comes from, by address, if that is known.
    buffers: FxHashMap<u32, Option<u64>>,
    /// Steps checked so far. The halves of a wave of 64 lanes check one step.
    now: u64,
}

/// The index of a finding, the warp that was first seen, the step at which it was last seen, and the lanes at
/// that step.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: usize,
    first: u32,
    when: u64,
    lanes: u64,
}

impl FindingLog {
    /// The next step is checked.
    pub fn step(&mut self) {
        self.now += 1;
    }
    /// The number of steps checked so far.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Counts a visit of `who` at which something of this kind was seen, against the step `other` if there is
    /// another side, in the allocation that begins at `base` (0 where that is not the point). `make` is
    /// called the first time. Returns the number of the finding if it is kept.
    pub fn add(
        &mut self,
        launch: &Launch<'_>,
        kind: Kind,
        who: WarpStep,
        other: Option<u32>,
        base: u64,
        make: impl FnOnce() -> Finding,
    ) -> Option<usize> {
        let key = key(launch, kind, who.step, other, base);
        let list = &mut self.findings.list;
        let dropped = &mut self.findings.dropped;
        let seen = self.index.entry(key).or_insert_with(|| {
            if list.len() >= KEPT {
                *dropped += 1;
                return None;
            }
            list.push(make());
            Some(Seen { at: list.len() - 1, first: who.warp, when: 0, lanes: 0 })
        });
        let seen = seen.as_mut()?;
        let finding = list.get_mut(seen.at)?;
        if seen.when != self.now {
            (seen.when, seen.lanes) = (self.now, 0);
            finding.visits += 1;
        }
        let (warp, LaneMask(lanes)) = who.whole(launch);
        finding.lanes += u64::from((lanes & !seen.lanes).count_ones());
        seen.lanes |= lanes;
        // The halves of a wave access memory one after the other, and its first visit has the lanes of both.
        // The threads of a race are those that conflict with each other.
        if finding.visits == 1
            && who.warp != seen.first
            && kind.check() != Check::Race
            && let Some(threads) = finding.sides.first_mut().and_then(|side| side.threads.as_mut())
            && (threads.cta, threads.warp) == (launch.config.grid.position(who.cta), warp)
        {
            threads.lanes.0 |= lanes;
        }
        Some(seen.at)
    }
    /// Whether [`FindingLog::add`] has been called with these arguments.
    pub fn has(&self, launch: &Launch<'_>, kind: Kind, step: u32, other: u32, base: u64) -> bool {
        self.index.contains_key(&key(launch, kind, step, Some(other), base))
    }
    /// A race was seen between threads that are so far apart. `make` describes it anew if all before were
    /// closer.
    pub fn widen(&mut self, at: usize, reach: Reach, make: impl FnOnce() -> Finding) {
        let widest = self.reach.entry(at).or_insert(reach);
        if *widest < reach
            && let Some(f) = self.findings.list.get_mut(at)
        {
            *widest = reach;
            *f = Finding { visits: f.visits, lanes: f.lanes, ..make() };
        }
    }
    /// The address of the buffer that the pointer of a step comes from; `find` is called the first time.
    pub fn pointer_buffer(&mut self, step: u32, find: impl FnOnce() -> Option<u64>) -> Option<u64> {
        *self.buffers.entry(step).or_insert_with(find)
    }
    /// Notes once that something was not checked.
    pub fn unchecked(&mut self, what: &str) {
        if self.findings.unchecked.iter().all(|w| w != what) {
            self.findings.unchecked.push(what.into());
        }
    }
    /// Adds a finding that the caller has counted.
    pub fn put(&mut self, finding: Finding) {
        if self.findings.list.len() < KEPT {
            self.findings.list.push(finding);
        } else {
            self.findings.dropped += 1;
        }
    }
    /// The findings of the launch. A value can be read before another thread writes it, or before a copy of
    /// another thread completes, because nothing orders the two. In that case only the race is reported.
    pub fn finish(mut self) -> Findings {
        reach::widen(&mut self.findings.list, |i| self.reach.get(&i).copied());
        let races = self.findings.list.iter().filter(|f| f.kind == Kind::Race);
        let both = |f: &Finding| Some((f.sides.first()?.place.clone()?, f.sides.get(1)?.place.clone()?));
        let pairs: HashSet<(Place, Place)> =
            races.clone().filter_map(both).flat_map(|(a, b)| [(a.clone(), b.clone()), (b, a)]).collect();
        let raced: HashSet<Place> = races.flat_map(|f| &f.sides).filter_map(|s| s.place.clone()).collect();
        // An update reads what it updates.
        let read = |f: &Finding| usize::from(f.kind != Kind::UndefinedUpdate);
        let early = |f: &Finding| {
            f.sides.get(read(f)).and_then(|s| s.place.as_ref()).is_some_and(|p| raced.contains(p))
        };
        // A thread that could not wait because its mbarrier is wrong has a finding of its own.
        let broken =
            |f: &Finding| matches!(f.kind, Kind::MbarrierBytes | Kind::MbarrierCount | Kind::MbarrierNotInit);
        let broken = self.findings.list.iter().any(broken);
        self.findings.list.retain(|f| match f.kind.check() {
            Check::Init => !early(f),
            Check::Async if f.kind == Kind::LeftUnderWay => !broken,
            Check::Async => both(f).is_none_or(|pair| !pairs.contains(&pair)),
            _ => true,
        });
        self.findings
    }
}

/// The place of a step, for counting.
pub fn spot(launch: &Launch<'_>, step: u32) -> Spot {
    let (func, inst) = launch.code.origin.get(step as usize).copied().unwrap_or_default();
    let loc =
        launch.module.functions.get(func.index()).and_then(|f| f.insts.get(inst.index())).and_then(|i| i.loc);
    (func, loc, if loc.is_none() { Some(inst) } else { None })
}

/// A finding with counts of zero.
pub fn finding(kind: Kind, what: String, sides: Vec<Side>) -> Finding {
    Finding { kind, what, sides, help: None, visits: 0, lanes: 0 }
}

/// The place of a step in the code.
pub fn place(launch: &Launch<'_>, step: u32) -> Option<Place> {
    let &(func, inst) = launch.code.origin.get(step as usize)?;
    let module = launch.module;
    let function = module.functions.get(func.index())?;
    let i = function.insts.get(inst.index())?;
    let instruction = fault::text(launch.source, i);
    let module_line = launch.line(i.span.start as usize);
    let mut source = Vec::new();
    let mut loc = i.loc;
    // A chain that leads back to itself would not end.
    while let Some(l) = loc.and_then(|l| module.locs.get(l.index())).filter(|_| source.len() < 64) {
        let file = module.files.get(l.file as usize).map_or_else(String::new, |f| f.path.clone());
        let function = l.function.clone();
        source.push(SourceLine { file, line: l.line, column: l.column, function, text: None });
        loc = l.inlined_at;
    }
    let disassembly = launch.code.exec.is_some();
    Some(Place { function: function.name.clone(), instruction, module_line, disassembly, source })
}

/// The threads of a step, with their position in the grid.
pub fn threads(launch: &Launch<'_>, who: WarpStep) -> Option<Threads> {
    let (warp, lanes) = who.whole(launch);
    let first = u64::from(warp * launch.halves()) * LANES as u64 + u64::from(lanes.0.trailing_zeros());
    (lanes.0 != 0).then(|| Threads {
        cta: launch.config.grid.position(who.cta),
        warp,
        lanes,
        first: launch.config.block.position(first),
    })
}

/// A side of a finding: its role, the threads and the place in the code.
pub fn side(launch: &Launch<'_>, role: impl Into<String>, who: WarpStep) -> Side {
    Side { role: role.into(), place: place(launch, who.step), threads: threads(launch, who), memory: None }
}

/// The memory of a lane's access.
pub fn memory(launch: &Launch<'_>, t: &WarpAccess, l: usize) -> Memory {
    let space = accesses::space(t.space, t.addr.0[l]);
    let address = accesses::within(t.space, t.addr.0[l]);
    Memory { space, address, bytes: t.bytes[l], allocation: allocation(launch, space, address) }
}

/// The allocation or variable at an address, or the nearest one.
pub fn allocation(launch: &Launch<'_>, space: Space, address: u64) -> Option<Allocation> {
    match space {
        Space::Global => {
            let nearest = launch.memory.nearest(address)?;
            let mut parts = variables(nearest);
            let variable = parts.find(|v| address >= v.base && address - v.base < v.bytes);
            Some(variable.unwrap_or_else(|| buffer(nearest)))
        }
        Space::Shared => shared_variable(launch, address),
        Space::Local => Some(Allocation { name: "local memory".into(), base: 0, bytes: launch.stride }),
        _ => Some(Allocation { name: "parameters".into(), base: 0, bytes: launch.params.len() }),
    }
}

/// An allocation of global memory.
pub fn buffer(a: &mem::Allocation) -> Allocation {
    Allocation { name: a.owner.name().to_owned(), base: a.base, bytes: a.region.len() }
}

/// The variables of a code object that an allocation holds.
pub fn variables(a: &mem::Allocation) -> impl Iterator<Item = Allocation> {
    let list = if let Owner::CodeObject(list) = &a.owner { &list[..] } else { &[] };
    list.iter().map(|v| Allocation {
        name: v.name.clone(),
        base: a.base.saturating_add(v.offset),
        bytes: v.bytes,
    })
}

/// The variable in shared memory that an address is in, or the last one before it.
fn shared_variable(launch: &Launch<'_>, address: u64) -> Option<Allocation> {
    let total = u64::from(launch.code.static_shared) + u64::from(launch.config.shared);
    let variables = shared_variables(launch).into_iter();
    variables.filter(|v| v.base <= address).max_by_key(|v| (v.base, v.bytes)).or(Some(Allocation {
        name: "shared memory".into(),
        base: 0,
        bytes: total,
    }))
}

/// The variables in shared memory; one of unknown size ends where shared memory does.
pub fn shared_variables(launch: &Launch<'_>) -> Vec<Allocation> {
    let total = u64::from(launch.code.static_shared) + u64::from(launch.config.shared);
    let variables = launch.code.shared.iter().filter_map(|&(s, at)| {
        let symbol = launch.module.symbols.get(s.index())?;
        let at = u64::from(at);
        let bytes = if symbol.size > 0 { symbol.size } else { total.saturating_sub(at) };
        Some(Allocation { name: variable(&symbol.name), base: at, bytes })
    });
    variables.collect()
}

/// The instruction of a step.
pub fn instruction<'a>(launch: &Launch<'a>, step: u32) -> Option<&'a Inst> {
    let &(func, inst) = launch.code.origin.get(step as usize)?;
    launch.module.functions.get(func.index())?.insts.get(inst.index())
}

/// The source name of a variable: C++ mangles variables of functions, for example `_ZZ6kernelE4tile`.
pub fn variable(name: &str) -> String {
    let own = |(at, _): (usize, &str)| {
        let rest = &name[at + 1..];
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let len = rest[..digits].parse::<usize>().ok()?;
        let (own, after) = (rest.get(digits..digits.checked_add(len)?)?, &rest[digits + len..]);
        // A suffix numbers variables of the same name.
        (after.is_empty() || after.starts_with('_')).then(|| own.to_owned())
    };
    let ends = name.strip_prefix("_ZZ").map(|_| name.match_indices('E'));
    ends.and_then(|mut ends| ends.find_map(own)).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_variables() {
        for (name, want) in [
            ("_ZZ10raw_sharedE4tile", "tile"),
            ("_ZZ3EE5PfE4rows_0", "rows"),
            ("table", "table"),
            ("_ZZE9x", "_ZZE9x"),
        ] {
            assert_eq!(super::variable(name), want);
        }
    }
}
