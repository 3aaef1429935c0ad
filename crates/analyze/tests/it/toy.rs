//! Makes traces without any tool: a structured toy program is compiled to a module, and a separate walk of
//! the toy program encodes its runs. The walk shares no code with the decoder.
//!
//! A run depends on the *identity* of trips, not on their position. Loop trips have names, and each decision
//! is chosen by its site and the names of the trips around it. Dropping a trip therefore leaves all others
//! unchanged.

#![allow(dead_code, reason = "each test uses its part")]

use prlx_trace::kernel::*;
use prlx_trace::launch::*;
use prlx_trace::{
    BlockId, Dim3, FileId, FuncId, Lane, LocId, LoopId, ModuleId, Recording, SiteId, Slot, Streams, Trace,
    WarpId, WarpSize,
};

/// A statement of the toy program. Sites are numbered in the order of the text, each on a line of its own.
#[derive(Clone, Debug)]
pub enum S {
    /// One store instruction.
    Store,
    /// A recorded decision, and what it steers.
    If(Vec<S>, Vec<S>),
    /// The body, then a decision whether to stay in the loop.
    Loop(Vec<S>),
    /// A decision whether there is another trip, then the body.
    While(Vec<S>),
    /// As `While`, with its trips recorded as a count.
    Counted(Vec<S>),
    /// A decision that guards a store.
    Guard,
    /// A decision that only chooses a value.
    Select,
    /// A decision that the decoder computes: `tid.x < n`.
    Computed(u64),
    /// Leaves the innermost loop if the decision is true.
    Break,
    /// Returns if the decision is true.
    Leave,
    /// Calls the function of that number (0 is the kernel).
    Call(u32),
}

/// Builds the module of a toy program.
struct Compiler {
    module: Module,
    function: u32,
    f: Function,
    /// The blocks that a break jumps to, innermost loop last.
    breaks: Vec<BlockId>,
    ret: BlockId,
}

const NONE: BlockId = BlockId(u32::MAX);

impl Compiler {
    fn block(&mut self, in_loop: Option<LoopId>) -> BlockId {
        self.f.blocks.push(Block { loc: None, steps: Vec::new(), end: End::Exit, ipdom: None, in_loop });
        BlockId(self.f.blocks.len() as u32 - 1)
    }
    fn site(&mut self, at: BlockId, class: SiteClass, source: Source) -> SiteId {
        let id = SiteId(self.module.sites.len() as u32);
        let loc = LocId(self.module.locs.len() as u32);
        let line = id.0 + 1;
        self.module.locs.push(Loc { file: FileId(0), line, column: 5, ..Loc::default() });
        let decision = class != SiteClass::Store;
        let ty = Scalar::S32;
        self.module.sites.push(Site {
            function: FuncId(self.function),
            block: at,
            loc: Some(loc),
            class,
            text: if decision {
                format!("setp.lt.s32 %p{}, %r1, %r2;", id.0)
            } else {
                "st.global.u32 [%rd1], %r3;".into()
            },
            source,
            operands: vec![Operand { name: "%r1".into(), ty }, Operand { name: "%r2".into(), ty }],
            steers: if class == SiteClass::Branch {
                vec![Steered { class, text: format!("@%p{} bra L{};", id.0, at.0), loc: Some(loc) }]
            } else {
                Vec::new()
            },
            slice: vec![
                Node {
                    kind: NodeKind::Op,
                    text: format!("setp.lt.s32 %p{}, %r1, %r2;", id.0),
                    loc: Some(loc),
                    inputs: vec![1],
                },
                Node {
                    kind: NodeKind::Load,
                    text: "ld.global.u32 %r1, [%rd1];".into(),
                    loc: Some(loc),
                    inputs: vec![],
                },
            ],
            ..Site::default()
        });
        id
    }
    fn decide(&mut self, at: BlockId, class: SiteClass, source: Source) -> (SiteId, Slot) {
        let site = self.site(at, class, source);
        let slot = Slot(self.f.slots);
        self.f.slots += 1;
        self.f.blocks[at.index()].steps.push(Step::Decide { site, slot, guard: None });
        (site, slot)
    }
    fn branch(&mut self, at: BlockId, slot: Slot, taken: BlockId, other: BlockId) {
        let guard = Guard { slot, negate: false };
        self.f.blocks[at.index()].end = End::Branch { guard, taken, other };
    }
    fn jump(&mut self, at: BlockId, to: BlockId) {
        if at != NONE {
            self.f.blocks[at.index()].end = End::Jump(to);
        }
    }
    /// Compiles statements from block `at` on. Returns the block where they end.
    fn all(&mut self, mut at: BlockId, body: &[S], of: Option<LoopId>) -> BlockId {
        for s in body {
            at = self.one(at, s, of);
        }
        at
    }
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of statement")]
    fn one(&mut self, at: BlockId, s: &S, of: Option<LoopId>) -> BlockId {
        match s {
            S::Store => {
                let site = self.site(at, SiteClass::Store, Source::None);
                self.f.blocks[at.index()].steps.push(Step::Visit { site, guard: None });
                at
            }
            S::Guard => {
                let (_, slot) = self.decide(at, SiteClass::Guard, Source::Bits(1));
                let site = self.site(at, SiteClass::Store, Source::None);
                let guard = Some(Guard { slot, negate: false });
                self.f.blocks[at.index()].steps.push(Step::Visit { site, guard });
                at
            }
            S::Select => {
                self.decide(at, SiteClass::Select, Source::Bits(1));
                at
            }
            S::Computed(n) => {
                let (_, slot) = self.decide(at, SiteClass::Select, Source::Computed);
                let args = vec![Arg::Special(Special::TidX), Arg::Const(*n)];
                let step = Step::Let { to: slot, op: Alu::Lt, ty: Scalar::U32, args, guard: None };
                let steps = &mut self.f.blocks[at.index()].steps;
                let last = steps.len() - 1;
                steps.insert(last, step);
                at
            }
            S::If(then, other) => {
                let (_, slot) = self.decide(at, SiteClass::Branch, Source::Bits(1));
                let (t, o) = (self.block(of), self.block(of));
                self.branch(at, slot, t, o);
                let t = self.all(t, then, of);
                let o = self.all(o, other, of);
                let join = self.block(of);
                self.jump(t, join);
                self.jump(o, join);
                self.f.blocks[at.index()].ipdom = Some(join);
                join
            }
            S::Loop(body) | S::Counted(body) => {
                let l = LoopId(self.f.loops.len() as u32);
                let header = self.block(Some(l));
                self.f.loops.push(Loop {
                    header,
                    parent: of,
                    blocks: Vec::new(),
                    irreducible: false,
                    loc: None,
                });
                self.jump(at, header);
                let after = self.block(of);
                self.breaks.push(after);
                let end = self.all(header, body, Some(l));
                self.breaks.pop();
                let counted = matches!(s, S::Counted(_));
                let bits = small_counts(self.module.sites.len() as u32);
                let source =
                    if counted { Source::Trips { of: l, stay: true, bits } } else { Source::Bits(1) };
                let (site, slot) = self.decide(end, SiteClass::Branch, source);
                self.branch(end, slot, header, after);
                self.f.blocks[end.index()].ipdom = Some(after);
                self.f.loops[l.index()].loc = self.module.sites[site.index()].loc;
                after
            }
            S::While(body) => {
                let l = LoopId(self.f.loops.len() as u32);
                let header = self.block(Some(l));
                self.f.loops.push(Loop {
                    header,
                    parent: of,
                    blocks: Vec::new(),
                    irreducible: false,
                    loc: None,
                });
                self.jump(at, header);
                let (after, first) = (self.block(of), self.block(Some(l)));
                let (site, slot) = self.decide(header, SiteClass::Branch, Source::Bits(1));
                self.branch(header, slot, first, after);
                self.f.blocks[header.index()].ipdom = Some(after);
                self.f.loops[l.index()].loc = self.module.sites[site.index()].loc;
                let end = self.all(first, body, Some(l));
                self.jump(end, header);
                after
            }
            S::Break | S::Leave => {
                let (_, slot) = self.decide(at, SiteClass::Branch, Source::Bits(1));
                let next = self.block(of);
                let to =
                    if matches!(s, S::Break) { *self.breaks.last().expect("in a loop") } else { self.ret };
                self.branch(at, slot, to, next);
                self.f.blocks[at.index()].ipdom = Some(to);
                next
            }
            S::Call(function) => {
                self.f.blocks[at.index()].steps.push(Step::Call {
                    function: FuncId(*function),
                    guard: None,
                    loc: None,
                });
                at
            }
        }
    }
}

/// Compiles functions; the first is the kernel `toy`.
pub fn module(functions: &[Vec<S>]) -> Module {
    let mut c = Compiler {
        module: Module { name: "toy".into(), target: "sm_80".into(), ..Module::default() },
        function: 0,
        f: Function::default(),
        breaks: Vec::new(),
        ret: NONE,
    };
    for (i, body) in functions.iter().enumerate() {
        c.function = i as u32;
        let name = if i == 0 { "toy".into() } else { format!("helper{i}") };
        c.f = Function { name, kernel: i == 0, ..Function::default() };
        let entry = c.block(None);
        c.ret = c.block(None);
        let end = c.all(entry, body, None);
        let ret = c.ret;
        c.jump(end, ret);
        c.f.blocks[ret.index()].end = End::Return;
        for (l, lp) in c.f.loops.iter_mut().enumerate() {
            lp.blocks = (0..c.f.blocks.len() as u32)
                .map(BlockId)
                .filter(|b| {
                    // Loops are numbered outer before inner: nested ids follow through parents, looked up
                    // below.
                    c.f.blocks[b.index()].in_loop == Some(LoopId(l as u32))
                })
                .collect();
        }
        c.module.functions.push(std::mem::take(&mut c.f));
    }
    let lines: Vec<String> =
        (1..=c.module.sites.len()).map(|l| format!("    statement on line {l};")).collect();
    c.module.files.push(SourceFile { path: "toy.cu".into(), text: Some(lines.join("\n")) });
    c.module
}

/// Chooses what a lane does. Trips have names; `trips` holds those of the open loops, outermost first.
pub trait Choose {
    /// Whether the decision at `site` is true.
    fn decide(&mut self, site: SiteId, trips: &[u64]) -> bool;
    /// The names of the trips of the loop that the decision at `site` closes; at least one.
    fn trips(&mut self, site: SiteId, trips: &[u64]) -> Vec<u64>;
}

/// What a lane did, and how it is recorded.
#[derive(Clone, Debug, Default)]
pub struct Lived {
    pub visits: Vec<(SiteId, u64)>,
    pub bits: Vec<bool>,
    pub counts: Vec<u64>,
}

impl Lived {
    /// The words that a device would write for the lane.
    pub fn words(&self) -> Vec<u32> {
        let mut words: Vec<u32> =
            self.bits.chunks(30).map(|c| c.iter().fold(1, |w, b| w << 1 | u32::from(*b))).collect();
        for mut count in self.counts.iter().copied() {
            loop {
                let more = if count >> 30 > 0 { 1 << 30 } else { 0 };
                words.push(1 << 31 | more | (count & ((1 << 30) - 1)) as u32);
                count >>= 30;
                if more == 0 {
                    break;
                }
            }
        }
        words
    }
}

/// How a statement ended.
#[derive(PartialEq)]
enum Went {
    On,
    Broke,
    Left,
}

struct Walk<'a> {
    functions: &'a [Vec<S>],
    /// First site of each function.
    first: Vec<u32>,
    tid: u64,
    choose: &'a mut dyn Choose,
    out: Lived,
    trips: Vec<u64>,
}

/// The number of sites in the statements.
fn sites(body: &[S]) -> u32 {
    body.iter()
        .map(|s| match s {
            S::Call(_) => 0,
            S::Guard => 2,
            S::If(a, b) => 1 + sites(a) + sites(b),
            S::Loop(b) | S::While(b) | S::Counted(b) => 1 + sites(b),
            _ => 1,
        })
        .sum()
}

/// The width of the small count for the counted loop at `site`. Both encodings of counts occur.
fn small_counts(site: u32) -> u8 {
    if site % 2 == 1 { 3 } else { 0 }
}

impl Walk<'_> {
    fn count(&mut self, count: u64, bits: u8) {
        let large = (1u64 << bits) - 1;
        self.out.bits.extend((0..bits).rev().map(|i| count.min(large) >> i & 1 == 1));
        if count >= large {
            self.out.counts.push(count);
        }
    }
    fn decide(&mut self, site: u32) -> bool {
        let holds = self.choose.decide(SiteId(site), &self.trips);
        self.out.visits.push((SiteId(site), holds.into()));
        self.out.bits.push(holds);
        holds
    }
    fn all(&mut self, body: &[S], mut site: u32) -> Went {
        for s in body {
            let went = self.one(s, site);
            if went != Went::On {
                return went;
            }
            site += sites(std::slice::from_ref(s));
        }
        Went::On
    }
    fn one(&mut self, s: &S, site: u32) -> Went {
        match s {
            S::Store => self.out.visits.push((SiteId(site), 0)),
            S::Select => {
                self.decide(site);
            }
            S::Guard => {
                if self.decide(site) {
                    self.out.visits.push((SiteId(site + 1), 0));
                }
            }
            S::Computed(n) => self.out.visits.push((SiteId(site), u64::from(self.tid < *n))),
            S::If(then, other) => {
                return if self.decide(site) {
                    self.all(then, site + 1)
                } else {
                    self.all(other, site + 1 + sites(then))
                };
            }
            S::Break => {
                if self.decide(site) {
                    return Went::Broke;
                }
            }
            S::Leave => {
                if self.decide(site) {
                    return Went::Left;
                }
            }
            S::Call(f) => {
                let functions = self.functions;
                self.all(&functions[*f as usize], self.first[*f as usize]);
            }
            S::While(body) => {
                let names = self.choose.trips(SiteId(site), &self.trips);
                for name in names.iter().map(Some).chain([None]) {
                    self.out.visits.push((SiteId(site), name.is_some().into()));
                    self.out.bits.push(name.is_some());
                    let Some(name) = name else { break };
                    self.trips.push(*name);
                    let went = self.all(body, site + 1);
                    self.trips.pop();
                    assert!(went == Went::On, "nothing breaks out of it");
                }
            }
            S::Loop(body) | S::Counted(body) => {
                let decision = site + sites(body);
                let names = self.choose.trips(SiteId(decision), &self.trips);
                let counted = matches!(s, S::Counted(_));
                if counted {
                    self.count(names.len() as u64 - 1, small_counts(decision));
                }
                for (i, name) in names.iter().enumerate() {
                    self.trips.push(*name);
                    let went = self.all(body, site);
                    self.trips.pop();
                    match went {
                        Went::On => {}
                        Went::Broke => break,
                        Went::Left => return Went::Left,
                    }
                    let stay = i + 1 < names.len();
                    self.out.visits.push((SiteId(decision), stay.into()));
                    if !counted {
                        self.out.bits.push(stay);
                    }
                }
            }
        }
        Went::On
    }
}

/// What a lane with thread number `tid` does.
pub fn live(functions: &[Vec<S>], tid: u64, choose: &mut dyn Choose) -> Lived {
    let first = functions.iter().scan(0, |n, f| Some(std::mem::replace(n, *n + sites(f)))).collect();
    let mut walk = Walk { functions, first, tid, choose, out: Lived::default(), trips: Vec::new() };
    walk.all(&functions[0], 0);
    walk.out
}

/// A pseudo-random choice by site and trip names. `shape` gives the number of trips by loop depth.
#[derive(Clone)]
pub struct Hashed {
    pub seed: u64,
    pub shape: Vec<u64>,
    /// Decisions to invert: site and trip names.
    pub flips: Vec<(SiteId, Vec<u64>)>,
    /// Trips to drop: the loop's decision, the trips around it, and the trip's name.
    pub drops: Vec<(SiteId, Vec<u64>, u64)>,
    /// Trips to add at the end: the loop's decision, the trips around it, and how many.
    pub adds: Vec<(SiteId, Vec<u64>, u64)>,
}

impl Hashed {
    pub fn new(seed: u64, shape: &[u64]) -> Hashed {
        Hashed { seed, shape: shape.to_vec(), flips: Vec::new(), drops: Vec::new(), adds: Vec::new() }
    }
}

pub fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

impl Choose for Hashed {
    fn decide(&mut self, site: SiteId, trips: &[u64]) -> bool {
        let hash = trips.iter().fold(mix(self.seed ^ u64::from(site.0) << 32), |h, t| mix(h ^ t));
        (hash & 1 == 1) != self.flips.iter().any(|(s, t)| *s == site && t == trips)
    }
    fn trips(&mut self, site: SiteId, trips: &[u64]) -> Vec<u64> {
        let n = self.shape.get(trips.len()).copied().unwrap_or(2);
        let mut names: Vec<u64> = (0..n).collect();
        names.retain(|n| !self.drops.iter().any(|(s, t, d)| *s == site && t == trips && d == n));
        for (_, _, more) in self.adds.iter().filter(|(s, t, _)| *s == site && t == trips) {
            names.extend(n..n + more);
        }
        names
    }
}

/// A warp's stream of level `path`, from its lanes' runs.
pub fn stream(warp: u64, lanes: &[Lived]) -> WarpStream {
    let (mut words, mut ends) = (Vec::new(), Vec::new());
    for lane in lanes {
        words.extend(lane.words());
        ends.push(words.len() as u32);
    }
    WarpStream { warp: WarpId(warp), dropped: 0, lanes: Lanes::Path { words, ends } }
}

/// A trace of one launch: one CTA of 32 lanes for each warp.
pub fn trace(module: Module, warps: Vec<WarpStream>) -> Trace {
    let launch = Launch {
        module: ModuleId(0),
        kernel: FuncId(0),
        grid: Dim3 { x: warps.iter().map(|w| w.warp.0 as u32 + 1).max().unwrap_or(1), y: 1, z: 1 },
        block: Dim3 { x: 32, y: 1, z: 1 },
        warp_size: WarpSize::W32,
        device: "toy device".into(),
        level: Level::Path,
        // A buffer that the launch leaves alone: its memory is known.
        args: vec![ArgInfo {
            name: "data".into(),
            bytes: Some(4),
            before: Some(1),
            after: Some(1),
            ..ArgInfo::default()
        }],
        totals: Totals { recorded: warps.iter().map(elements).sum(), ..Totals::default() },
        ..Launch::default()
    };
    Trace {
        producer: "toy".into(),
        modules: vec![module],
        launches: vec![Recording { launch, streams: Streams::new(warps) }],
        ..Trace::default()
    }
}

fn elements(w: &WarpStream) -> u64 {
    match &w.lanes {
        Lanes::Path { words, .. } => words.len() as u64,
        Lanes::Fingerprint { checkpoints, .. } => checkpoints.len() as u64,
        Lanes::Events(e) => e.len() as u64,
        Lanes::Operands { records, .. } => records.len() as u64,
    }
}

/// A warp in which each lane runs by `choose`.
pub fn warp(functions: &[Vec<S>], warp: u64, mut choose: impl FnMut(Lane) -> Hashed) -> WarpStream {
    let lanes: Vec<Lived> = (0..32).map(|l| live(functions, u64::from(l), &mut choose(Lane(l)))).collect();
    stream(warp, &lanes)
}
