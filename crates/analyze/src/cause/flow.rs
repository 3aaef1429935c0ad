//! Looks up where a value came from in the data flow of one launch: the last definition of a register in a
//! lane, the last write of a byte.
//!
//! # Limitations
//! A load whose bytes come from several stores is taken for one of the store of its first byte. The rows of a
//! tensor copy are not distinguished: the copy as a whole is the source.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use prlx_trace::LaneMask;
use prlx_trace::check::{Allocation, Space};
use prlx_trace::dataflow::{Access, AccessKind, Action, DataFlow, Instruction, Operand, Operation, Visit};
use prlx_trace::kernel::Scalar;

use crate::outputs::index;
use crate::report::place;

/// Bits of a place in the order that number the lanes of a visit.
const LANE_BITS: u32 = 6;

/// A visit of an instruction by one lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct At {
    /// The warp: an index into [`DataFlow::warps`].
    pub warp: u32,
    /// The visit: an index into the warp's visits.
    pub visit: u32,
    /// The lane of the warp.
    pub lane: u32,
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// Result number `1` of an instruction that the lane executed.
    Result(At, usize),
    /// Bytes in memory as they are before a point in the order of visits.
    Memory(Word),
    /// A constant of the instruction.
    Constant(u64),
    /// A special register, by name.
    Special(String),
    /// The address of a variable, by name and offset.
    Symbol(String, i64),
    /// A register that nothing has written in this lane.
    Nothing,
}

/// Bytes in memory at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Word {
    /// The space of the address.
    pub space: Space,
    /// Whose memory ([`Access::owner`], of this lane).
    pub owner: u64,
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// The first point in the order ([`Flow::order`]) that is too late to have written it.
    pub before: u64,
}

/// A write of memory by one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writer {
    /// The visit that wrote.
    pub at: At,
    /// The access that wrote.
    pub access: Access,
    /// Its address in this lane.
    pub address: u64,
}

/// A write of 16 aligned bytes or a part of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Write {
    key: u64,
    order: u64,
    warp: u32,
    access: u32,
    lane: u32,
}

/// For one warp: where each register is written, and where each instruction is visited.
struct Index {
    /// By register: the visits that write it, and which result it is.
    defs: Vec<Vec<(u32, u32)>>,
    /// By instruction: its visits.
    visits: Vec<Vec<u32>>,
    /// By instruction: the lanes that came to it at each of its visits, if they are the same each time.
    groups: Vec<Option<u64>>,
}

/// The accesses that write the memory of an owner.
#[derive(Default)]
struct OwnedWrites {
    /// By warp and access.
    accesses: Vec<(u32, u32)>,
    /// The same, lane by lane and sorted.
    sorted: OnceCell<Vec<Write>>,
}

/// The data flow of a launch with indices.
pub struct Flow<'a> {
    /// What the device recorded.
    pub data: &'a DataFlow,
    warps: Vec<OnceCell<Index>>,
    /// By register: its type as declared, or for untyped bits, the one that its uses give it.
    types: Vec<Option<Scalar>>,
    /// By space and owner; of local memory, the warp is the owner.
    writes: OnceCell<HashMap<(Space, u64), OwnedWrites>>,
    /// Names of the variables in shared memory, in the order of the data: those that both sides compare.
    shared: Vec<&'a str>,
}

/// The memory that a write belongs to: space, owner and 16 aligned bytes.
fn key(space: Space, owner: u64, address: u64) -> u64 {
    match space {
        Space::Global | Space::Params => address >> 4,
        Space::Shared => 1 << 63 | (owner & 0xff_ffff_ffff) << 22 | address >> 4 & 0x3f_ffff,
        Space::Local => 3 << 62 | (owner & 0x7f_ffff_ffff) << 22 | address >> 4 & 0x3f_ffff,
    }
}

impl<'a> Flow<'a> {
    /// Prepares the look-ups of both sides; indices are made when they are needed. A variable in shared
    /// memory that only B has gets the name of the one that only A has, if it is as large and has the same
    /// position: Numba numbers such variables anew in each kernel.
    pub fn of_sides(data: [&'a DataFlow; 2]) -> [Flow<'a>; 2] {
        let names = |side: usize| data[side].shared.iter().map(|v| v.name.as_str()).collect::<Vec<_>>();
        let (of_a, mut of_b) = (names(0), names(1));
        if of_a.len() == of_b.len() {
            let only = |name: &str, others: &[&str]| !others.contains(&name);
            let renamed = |i: usize| {
                let same = data[0].shared[i].bytes == data[1].shared[i].bytes;
                (same && only(of_a[i], &of_b) && only(of_b[i], &of_a)).then_some(of_a[i])
            };
            let renamed: Vec<Option<&str>> = (0..of_a.len()).map(renamed).collect();
            of_b.iter_mut().zip(renamed).for_each(|(name, new)| *name = new.unwrap_or(name));
        }
        let [a, b] = data;
        [Flow::new(a, of_a), Flow::new(b, of_b)]
    }
    fn new(data: &'a DataFlow, shared: Vec<&'a str>) -> Flow<'a> {
        let warps = data.warps.iter().map(|_| OnceCell::new()).collect();
        Flow { data, warps, types: register_types(data), writes: OnceCell::new(), shared }
    }
    /// The type of a source's value; `None` if it is not that of a register, nor stored from one.
    pub fn type_of(&self, source: &Source) -> Option<Scalar> {
        self.used_as(source).or_else(|| {
            let Source::Result(at, n) = source else { return None };
            let register = *self.instruction(*at)?.results.get(*n)?;
            Some(match self.data.registers.get(register as usize)?.ty {
                Scalar::B32 => Scalar::S32,
                Scalar::B64 => Scalar::S64,
                ty => ty,
            })
        })
    }
    /// The type that declarations and uses give to a value: of the register that holds it, or of the one that
    /// it was stored from.
    pub fn used_as(&self, source: &Source) -> Option<Scalar> {
        let mut source = source.clone();
        for _ in 0..COPIES {
            source = match &source {
                Source::Result(at, n) => {
                    let instruction = self.instruction(*at)?;
                    let register = *instruction.results.get(*n)?;
                    if let Some(ty) = self.types.get(register as usize).copied().flatten() {
                        return Some(ty);
                    }
                    if instruction.action != Action::Load {
                        return None;
                    }
                    Source::Memory(self.read_word(*at, *n)?)
                }
                Source::Memory(word) => self.written(&self.writer(word)?, word)?,
                _ => return None,
            };
        }
        None
    }
    /// The lanes of a result that is a word of a mask of lanes, with those of its other word.
    pub fn lane_mask(&self, source: &Source) -> Option<LaneMask> {
        let Source::Result(at, n) = source else { return None };
        let results = &self.instruction(*at)?.results;
        let first_lane = |n: usize| self.data.registers.get(*results.get(n)? as usize)?.first_lane;
        let word = |n: usize| Some(self.value(&Source::Result(*at, n), *at)? & u64::from(u32::MAX));
        let first = first_lane(*n)?;
        let own = word(*n)? << first;
        let other = if first == 0 { Some(n + 1) } else { n.checked_sub(1) };
        let other = other.filter(|n| first_lane(*n) == Some(32 - first));
        Some(LaneMask(own | other.and_then(word).unwrap_or(0) << (32 - first)))
    }
    /// The visit at a place; `None` if there is none.
    pub fn visit(&self, at: At) -> Option<&'a Visit> {
        self.data.warps.get(at.warp as usize)?.visits.get(at.visit as usize)
    }
    /// The instruction of a visit.
    pub fn instruction(&self, at: At) -> Option<&'a Instruction> {
        self.data.instructions.get(self.visit(at)?.instruction as usize)
    }
    /// The number of the instruction of a visit.
    pub fn number(&self, at: At) -> u32 {
        self.visit(at).map_or(u32::MAX, |v| v.instruction)
    }
    /// The place of a visit in the order of all visits.
    pub fn order(&self, at: At) -> u64 {
        self.visit(at).map_or(u64::MAX, |v| v.order << LANE_BITS)
    }
    /// The point in this order at which a lane of an atomic acts: the lanes of a visit act one after the
    /// other.
    pub fn moment(&self, at: At) -> u64 {
        self.order(at) | u64::from(at.lane)
    }
    fn index(&self, warp: u32) -> Option<&Index> {
        let flow = self.data.warps.get(warp as usize)?;
        Some(self.warps.get(warp as usize)?.get_or_init(|| {
            let mut index = Index {
                defs: vec![Vec::new(); self.data.registers.len()],
                visits: vec![Vec::new(); self.data.instructions.len()],
                groups: vec![None; self.data.instructions.len()],
            };
            for (i, v) in flow.visits.iter().enumerate() {
                let number = v.instruction as usize;
                let Some(instruction) = self.data.instructions.get(number) else { continue };
                let same = index.visits[number].is_empty() || index.groups[number] == Some(v.group);
                index.groups[number] = same.then_some(v.group);
                index.visits[number].push(i as u32);
                for (n, &register) in instruction.results.iter().enumerate() {
                    if let Some(defs) = index.defs.get_mut(register as usize) {
                        defs.push((i as u32, n as u32));
                    }
                }
            }
            index
        }))
    }
    /// The last write of a register before a visit, in its lane.
    pub fn definition(&self, register: u32, at: At) -> Source {
        let defs = self.index(at.warp).and_then(|i| i.defs.get(register as usize));
        let visits = &self.data.warps[at.warp as usize].visits;
        let order = |visit: u32| visits[visit as usize].order;
        let before = |d: &[(u32, u32)]| d.partition_point(|&(visit, _)| order(visit) < order(at.visit));
        let defs = defs.map_or(&[][..], |d| &d[..before(d)]);
        let last = defs.iter().rev().find(|&&(visit, _)| visits[visit as usize].lanes >> at.lane & 1 == 1);
        last.map_or(Source::Nothing, |&(visit, n)| Source::Result(At { visit, ..at }, n as usize))
    }
    /// The load that would have replaced the result of a visit, had its guard let it: how compilers give the
    /// elements that a mask excludes another value.
    pub fn skipped_load(&self, at: At) -> Option<At> {
        let register = *self.instruction(at)?.results.first()?;
        let visits = &self.data.warps[at.warp as usize].visits;
        let defs = self.index(at.warp)?.defs.get(register as usize)?;
        let later = defs[defs.partition_point(|&(visit, _)| visit <= at.visit)..].iter();
        let here = |&&(visit, _): &&(u32, u32)| visits[visit as usize].group >> at.lane & 1 == 1;
        let skipped = At { visit: later.clone().find(here)?.0, ..at };
        let executed = visits[skipped.visit as usize].lanes >> at.lane & 1 == 1;
        (!executed && self.instruction(skipped)?.action == Action::Load).then_some(skipped)
    }
    /// The visits of an instruction that a lane came to, in order, executed or not.
    pub fn visits_of(&self, instruction: u32, warp: u32, lane: u32) -> Vec<u32> {
        let visits = self.index(warp).and_then(|i| i.visits.get(instruction as usize));
        let Some(flow) = self.data.warps.get(warp as usize) else { return Vec::new() };
        let came = |&&v: &&u32| flow.visits[v as usize].group >> lane & 1 == 1;
        visits.into_iter().flatten().filter(came).copied().collect()
    }
    /// The last visit that a lane came to; `None` if it made none.
    pub fn last_visit(&self, warp: u32, lane: u32) -> Option<At> {
        let visits = &self.data.warps.get(warp as usize)?.visits;
        let visit = visits.iter().rposition(|v| v.group >> lane & 1 == 1)?;
        Some(At { warp, visit: visit as u32, lane })
    }
    /// The last visits of warps that did not end: of each the first lane.
    pub fn running(&self) -> impl Iterator<Item = At> {
        (0..).zip(&self.data.warps).filter_map(|(warp, flow)| {
            let last = flow.visits.last()?;
            let code = self.data.instructions.get(last.instruction as usize)?;
            let visit = flow.visits.len() as u32 - 1;
            (code.action != Action::Call).then(|| At { warp, visit, lane: last.group.trailing_zeros() })
        })
    }
    /// The branches with a condition that a lane came to last, up to a visit: the last visit of each.
    pub fn last_branches(&self, at: At) -> Vec<At> {
        let visits = self.data.warps.get(at.warp as usize).map_or(&[][..], |w| &w.visits);
        let conditional = |v: &Visit| {
            let code = self.data.instructions.get(v.instruction as usize);
            code.is_some_and(|i| i.action == Action::Branch && i.guard.is_some())
        };
        let upto = (0..=at.visit).rev().filter_map(|visit| Some((visit, visits.get(visit as usize)?)));
        let own = upto.filter(|(_, v)| v.group >> at.lane & 1 == 1 && conditional(v));
        let mut seen = BTreeSet::new();
        let last = own.take(LAST_BRANCHES).filter(|(_, v)| seen.insert(v.instruction));
        last.map(|(visit, _)| At { visit, ..at }).collect()
    }
    /// The visits by which threads wait for each other or let others go on: of each the first lane.
    pub fn events(&self) -> impl Iterator<Item = At> {
        let event = |v: &Visit| {
            let code = self.data.instructions.get(v.instruction as usize);
            let kinds = [Action::Sync, Action::Exchange, Action::Copy];
            code.is_some_and(|i| kinds.contains(&i.action)) && v.group != 0
        };
        (0..).zip(&self.data.warps).flat_map(move |(warp, flow)| {
            let visits = (0..).zip(&flow.visits).filter(move |(_, v)| event(v));
            visits.map(move |(visit, v)| At { warp, visit, lane: v.group.trailing_zeros() })
        })
    }
    /// How often the lane came to the instruction before this visit.
    pub fn trip(&self, at: At) -> u64 {
        let (Some(index), Some(flow)) = (self.index(at.warp), self.data.warps.get(at.warp as usize)) else {
            return 0;
        };
        let number = self.number(at) as usize;
        let Some(all) = index.visits.get(number) else { return 0 };
        let before = &all[..all.partition_point(|v| *v < at.visit)];
        match index.groups.get(number).copied().flatten() {
            Some(group) => (group >> at.lane & 1) * before.len() as u64,
            None => {
                before.iter().filter(|&&v| flow.visits[v as usize].group >> at.lane & 1 == 1).count() as u64
            }
        }
    }
    /// Where an operand of a visit comes from.
    pub fn operand(&self, operand: &Operand, at: At) -> Source {
        match operand {
            Operand::Register(r) | Operand::Not(r) => self.definition(*r, at),
            Operand::OtherLane(r, lanes) => match lanes.get(at.lane as usize).copied().flatten() {
                Some(lane) => self.definition(*r, At { lane: lane.into(), ..at }),
                None => Source::Constant(0),
            },
            Operand::Constant(bits) => Source::Constant(*bits),
            Operand::Special(name) => Source::Special(name.clone()),
            Operand::Symbol(name, offset) => Source::Symbol(name.clone(), *offset),
        }
    }
    /// The value of a source as a lane of `at`'s warp sees it; `None` if it was not recorded.
    pub fn value(&self, source: &Source, at: At) -> Option<u64> {
        match source {
            Source::Result(at, n) => {
                let flow = self.data.warps.get(at.warp as usize)?;
                flow.value(&self.data.instructions, at.visit, *n, at.lane)
            }
            Source::Constant(bits) => Some(*bits),
            Source::Special(name) => self.special(name, at),
            Source::Symbol(name, offset) => {
                let variable = self.data.shared.iter().find(|v| v.name == *name);
                let base = variable.or_else(|| self.data.buffers.iter().find(|v| v.name == *name))?.base;
                Some(base.wrapping_add_signed(*offset))
            }
            Source::Memory(_) | Source::Nothing => None,
        }
    }
    /// The number of a visit's CTA in the grid.
    pub fn cta(&self, at: At) -> u64 {
        u64::from(at.warp) / self.data.warps_per_cta.max(1)
    }
    /// The position of a visit's CTA, and of the thread in it.
    pub fn thread(&self, at: At) -> ([u32; 3], [u32; 3]) {
        let warps = self.data.warps_per_cta.max(1);
        let cta = self.data.grid.position(self.cta(at));
        let thread = u64::from(at.warp) % warps * self.data.warp_size.lanes() + u64::from(at.lane);
        let thread = self.data.block.position(thread);
        ([cta.x, cta.y, cta.z], [thread.x, thread.y, thread.z])
    }
    fn special(&self, name: &str, at: At) -> Option<u64> {
        let (cta, thread) = self.thread(at);
        let (register, axis) =
            name.trim_start_matches('%').split_once('.').unwrap_or((name.trim_start_matches('%'), "x"));
        let axis = "xyz".find(axis).unwrap_or(0);
        let size = |d: prlx_trace::Dim3| [d.x, d.y, d.z][axis];
        Some(u64::from(match register {
            "tid" => thread[axis],
            "ctaid" => cta[axis],
            "ntid" => size(self.data.block),
            "nctaid" => size(self.data.grid),
            "laneid" => at.lane,
            "warpid" => at.warp % self.data.warps_per_cta.max(1) as u32,
            _ => return None,
        }))
    }
    /// The writes of the memory that a word belongs to, in the order of [`Write`].
    fn writes(&self, space: Space, owner: u64) -> &[Write] {
        let all = self.writes.get_or_init(|| {
            let mut out: HashMap<(Space, u64), OwnedWrites> = HashMap::new();
            for (warp, flow) in (0..).zip(&self.data.warps) {
                for (i, access) in (0..).zip(&flow.accesses) {
                    if access.kind != AccessKind::Read && access.space != Space::Params {
                        let owner = if access.space == Space::Local { warp.into() } else { access.owner };
                        out.entry((access.space, owner)).or_default().accesses.push((warp, i));
                    }
                }
            }
            out
        });
        let owner = if space == Space::Local { self.warp_of(owner) } else { owner };
        let Some(own) = all.get(&(space, owner)) else { return &[] };
        own.sorted.get_or_init(|| self.sorted(&own.accesses))
    }
    /// The warp of a thread of the grid, which owns local memory.
    fn warp_of(&self, thread: u64) -> u64 {
        let threads = self.data.block.volume().max(1);
        thread / threads * self.data.warps_per_cta + thread % threads / self.data.warp_size.lanes()
    }
    /// The writes of accesses, lane by lane.
    fn sorted(&self, accesses: &[(u32, u32)]) -> Vec<Write> {
        let mut out = Vec::new();
        for &(warp, i) in accesses {
            let flow = &self.data.warps[warp as usize];
            let access = &flow.accesses[i as usize];
            let order = flow.visits.get(access.visit as usize).map_or(0, |v| v.order << LANE_BITS);
            for lane in lanes(access.lanes) {
                let Some(address) = flow.address(access, lane) else { continue };
                let owner = owner(access, lane);
                let last = address.saturating_add(u64::from(access.bytes.max(1)) - 1);
                for granule in address >> 4..=last >> 4 {
                    let key = key(access.space, owner, granule << 4);
                    out.push(Write { key, order: order | u64::from(lane), warp, access: i, lane });
                }
            }
        }
        out.sort_unstable();
        out
    }
    /// Who wrote the first byte of a word last.
    pub fn writer(&self, word: &Word) -> Option<Writer> {
        let writes = self.writes(word.space, word.owner);
        let key = key(word.space, word.owner, word.address);
        let end = writes.partition_point(|w| (w.key, w.order) < (key, word.before));
        writes[..end].iter().rev().take_while(|w| w.key == key).find_map(|w| {
            let flow = &self.data.warps[w.warp as usize];
            let access = flow.accesses[w.access as usize];
            let address = flow.address(&access, w.lane)?;
            let covers = (address..address + u64::from(access.bytes)).contains(&word.address);
            let at = At { warp: w.warp, visit: access.visit, lane: w.lane };
            covers.then_some(Writer { at, access, address })
        })
    }
    /// The CTA that wrote a word, if its data flow is not recorded.
    pub fn unrecorded_writer(&self, word: &Word) -> Option<u64> {
        self.data.unrecorded.last(word.address).filter(|_| word.space == Space::Global)
    }
    /// The words of a CTA's shared memory that were written in a part of the order, in the order of writing.
    pub fn shared_words(&self, owner: u64, when: Range<u64>) -> Vec<Word> {
        let (first, last) = (key(Space::Shared, owner, 0), key(Space::Shared, owner, 0x3f_ffff << 4));
        let writes = self.writes(Space::Shared, owner);
        let range = writes.partition_point(|w| w.key < first)..writes.partition_point(|w| w.key <= last);
        let mut list: Vec<&Write> = writes[range].iter().filter(|w| when.contains(&w.order)).collect();
        list.sort_by_key(|w| w.order);
        let words = list.into_iter().filter_map(|w| {
            let flow = &self.data.warps[w.warp as usize];
            let access = flow.accesses[w.access as usize];
            let address = flow.address(&access, w.lane)?.max((w.key & 0x3f_ffff) << 4);
            Some(Word { space: Space::Shared, owner, address, bytes: access.bytes.min(4), before: when.end })
        });
        words.collect()
    }
    /// The memory that a visit reads in its lane: for result `n` of a load, its own bytes.
    pub fn read_word(&self, at: At, n: usize) -> Option<Word> {
        let flow = self.data.warps.get(at.warp as usize)?;
        let instruction = self.instruction(at)?;
        let accesses = || {
            let all = flow.accesses_of(at.visit).iter();
            all.filter(|a| a.kind != AccessKind::Write && a.lanes >> at.lane & 1 == 1)
        };
        let results = instruction.results.len().max(1) as u32;
        let (bytes, offset) = match instruction.action {
            Action::Load => {
                let bytes = accesses().map(|a| a.bytes).sum::<u32>() / results;
                (bytes, n as u32 * bytes)
            }
            _ => (accesses().next()?.bytes, 0),
        };
        let (access, offset) = part(accesses(), offset)?;
        Some(Word {
            space: access.space,
            owner: owner(access, at.lane),
            address: flow.address(access, at.lane)? + u64::from(offset),
            bytes: bytes.max(1),
            before: if instruction.action == Action::Atomic { self.moment(at) } else { self.order(at) },
        })
    }
    /// Where the bytes that a writer wrote to a word come from: the operand of a store, the source of a copy,
    /// what a call or a return passes.
    pub fn written(&self, writer: &Writer, word: &Word) -> Option<Source> {
        let instruction = self.instruction(writer.at)?;
        let offset = word.address.wrapping_sub(writer.address);
        match instruction.action {
            Action::Store => {
                if let Some(source) = self.stored_element(writer, word) {
                    return Some(source);
                }
                let flow = self.data.warps.get(writer.at.warp as usize)?;
                let accesses = flow.accesses_of(writer.at.visit).iter();
                let own = |a: &&Access| a.kind == AccessKind::Write && a.lanes >> writer.at.lane & 1 == 1;
                let own = accesses.filter(own);
                let bytes = own.clone().map(|a| u64::from(a.bytes)).sum::<u64>();
                let before = own.take_while(|a| a.addresses != writer.access.addresses);
                let before = before.map(|a| u64::from(a.bytes)).sum::<u64>();
                let size = (bytes / instruction.operands.len().max(1) as u64).max(1);
                let operand = instruction.operands.get(((before + offset) / size) as usize)?;
                Some(self.operand(operand, writer.at))
            }
            Action::Copy => {
                let flow = self.data.warps.get(writer.at.warp as usize)?;
                let mut reads = flow
                    .accesses_of(writer.at.visit)
                    .iter()
                    .filter(|a| a.kind == AccessKind::Read && a.lanes >> writer.at.lane & 1 == 1);
                let (from, more) = (reads.next()?, reads.next());
                if more.is_some() || offset >= u64::from(from.bytes) {
                    return None;
                }
                let address = flow.address(from, writer.at.lane)? + offset;
                let owner = owner(from, writer.at.lane);
                Some(Source::Memory(Word {
                    space: from.space,
                    owner,
                    address,
                    before: self.order(writer.at),
                    ..*word
                }))
            }
            Action::Call => {
                let flow = self.data.warps.get(writer.at.warp as usize)?;
                let lane = writer.at.lane;
                let accesses = flow.accesses_of(writer.at.visit).iter().filter(|a| a.lanes >> lane & 1 == 1);
                let before: Vec<_> = accesses.take_while(|a| **a != writer.access).collect();
                if let Some(from) = before.last().filter(|a| a.kind == AccessKind::Read) {
                    let address = flow.address(from, lane)? + offset;
                    let owner = owner(from, lane);
                    let before = self.order(writer.at);
                    return Some(Source::Memory(Word { space: from.space, owner, address, before, ..*word }));
                }
                let passed = before.iter().filter(|a| a.kind == AccessKind::Write).count();
                let operand = instruction.operands.get(passed);
                let value = operand.filter(|o| matches!(o, Operand::Register(_) | Operand::Constant(_)))?;
                Some(self.operand(value, writer.at))
            }
            _ => None,
        }
    }
    /// Name of the buffer or variable that an address lies in, and the offset there. A variable of a code
    /// object lies in the memory of the object.
    pub fn place_of(&self, space: Space, address: u64) -> Option<(&'a str, u64)> {
        let list = match space {
            Space::Global => &self.data.buffers,
            Space::Shared => &self.data.shared,
            _ => return None,
        };
        let inside = |a: &Allocation| address >= a.base && address - a.base < a.bytes;
        let around = list.iter().enumerate().filter(|(_, a)| inside(a));
        let (i, found) = around.min_by_key(|(_, a)| a.bytes)?;
        let shared = self.shared.get(i).filter(|_| space == Space::Shared);
        Some((shared.copied().unwrap_or(&found.name), address - found.base))
    }
    /// The element of a buffer at an offset in bytes, as `A[12,11]`, in the buffer's shape where it is known.
    /// `bytes`: the size of the access, which elements have otherwise.
    pub fn element(&self, name: &str, offset: u64, bytes: u64) -> String {
        match self.data.arrays.get(name).filter(|a| a.bytes > 0 && !a.shape.is_empty()) {
            Some(array) => place(name, &index(&array.shape, offset / array.bytes)),
            None => place(name, &[offset / bytes.max(1)]),
        }
    }
    /// The warp and lane of a thread, by its position in the grid and in its CTA.
    pub fn find_thread(&self, cta: [u32; 3], thread: [u32; 3]) -> Option<(u32, u32)> {
        let linear = |p: [u32; 3], d: prlx_trace::Dim3| {
            let inside = p[0] < d.x && p[1] < d.y && p[2] < d.z;
            let n = (u64::from(p[2]) * u64::from(d.y) + u64::from(p[1])) * u64::from(d.x) + u64::from(p[0]);
            inside.then_some(n)
        };
        let (cta, thread) = (linear(cta, self.data.grid)?, linear(thread, self.data.block)?);
        let lanes = self.data.warp_size.lanes();
        let warp = cta.checked_mul(self.data.warps_per_cta)? + thread / lanes;
        Some((u32::try_from(warp).ok()?, (thread % lanes) as u32))
    }
}

/// The types of registers: as declared, or for untyped bits, that of the arithmetic they take part in,
/// directly or through copies; `None` if they take part in none.
fn register_types(data: &DataFlow) -> Vec<Option<Scalar>> {
    use Scalar::{B8, B16, B32, B64};
    let arithmetic = |i: &&Instruction| {
        matches!(i.action, Action::Compute | Action::Compare | Action::Atomic)
            && !matches!(i.ty, B8 | B16 | B32 | B64)
    };
    let mut used: Vec<Option<Scalar>> = vec![None; data.registers.len()];
    for i in data.instructions.iter().filter(arithmetic) {
        let written = i.results.iter().copied().filter(|_| i.action == Action::Compute);
        for r in i.registers_read().chain(written) {
            if let Some(seen) = used.get_mut(r as usize) {
                prefer(seen, Some(i.ty));
            }
        }
    }
    for i in data.instructions.iter().filter(|i| i.action == Action::Convert) {
        for r in &i.results {
            if let Some(seen) = used.get_mut(*r as usize) {
                *seen = Some(i.ty);
            }
        }
    }
    for _ in 0..COPIES {
        for all in data.instructions.iter().flat_map(copies) {
            let mut known = None;
            all.iter().for_each(|r| prefer(&mut known, used.get(*r).copied().flatten()));
            for r in all {
                if let Some(seen) = used.get_mut(r) {
                    prefer(seen, known);
                }
            }
        }
    }
    let declared = data.registers.iter().map(|r| r.ty);
    let of = |(ty, used): (Scalar, Option<Scalar>)| match ty {
        B8 | B16 | B32 | B64 => used.filter(|used| used.bits() == ty.bits()),
        ty => Some(ty),
    };
    declared.zip(used).map(of).collect()
}

/// Branches of a thread that [`Flow::last_branches`] looks at.
const LAST_BRANCHES: usize = 64;

/// Copies in a row through which the type of a register is followed.
const COPIES: usize = 4;

/// For each result of a copy: the register, and those whose bits it can have. The type in the name of a copy
/// says nothing.
fn copies(i: &Instruction) -> Vec<Vec<usize>> {
    let exchange = i.operation != Operation::Other;
    let sources = match i.action {
        Action::Move => 1,
        Action::Exchange if exchange => 1,
        Action::Select => 2,
        _ => return Vec::new(),
    };
    let words = if i.operands.len() < sources * i.results.len() { 1 } else { i.results.len() };
    let of = |(n, result): (usize, &u32)| {
        let operands = (0..sources).filter_map(|s| i.operands.get(s * words + n)?.register());
        std::iter::once(*result).chain(operands).map(|r| r as usize).collect()
    };
    i.results.iter().take(words).enumerate().map(of).collect()
}

/// Takes a type over if none is known, or if it is one of floating-point numbers.
fn prefer(seen: &mut Option<Scalar>, new: Option<Scalar>) {
    use Scalar::{Bf16, F16, F32, F64};
    if seen.is_none() || matches!(new, Some(F16 | F32 | F64 | Bf16)) {
        *seen = new.or(*seen);
    }
}

/// The access that has the bytes at an offset into the bytes of all, and the offset in it.
fn part<'a>(accesses: impl Iterator<Item = &'a Access>, mut offset: u32) -> Option<(&'a Access, u32)> {
    for access in accesses {
        if offset < access.bytes.max(1) {
            return Some((access, offset));
        }
        offset -= access.bytes;
    }
    None
}

/// The lanes of a mask, ascending.
pub(super) fn lanes(mask: u64) -> impl Iterator<Item = u32> {
    LaneMask(mask).lanes().map(|l| l.0.into())
}

/// The owner of the memory that a lane accesses.
pub(super) fn owner(access: &Access, lane: u32) -> u64 {
    match access.space {
        Space::Local => access.owner + u64::from(lane - access.lanes.trailing_zeros().min(lane)),
        _ => access.owner,
    }
}
