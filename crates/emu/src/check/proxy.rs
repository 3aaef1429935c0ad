//! Check of proxies: ordinary accesses to shared memory, and the asynchronous proxy of bulk copies and
//! `wgmma`.
//!
//! Without `fence.proxy.async` in between, the asynchronous proxy may not observe what ordinary accesses
//! wrote (PTX ISA, Memory Consistency Model: Proxies).
//!
//! # Invariants
//! A fence covers what its thread wrote before, and what any thread had written when the fencing thread last
//! passed a barrier, an exchange or an mbarrier. The check therefore reports no correct kernel.
//!
//! # Limitations
//! `cp.async` is not checked: compilers pass its bytes to `wgmma` without a fence. Ordinary reads of what the
//! asynchronous proxy wrote are not checked: the wait for the copy orders them. Global memory is not checked.

use prlx_trace::check::{Kind, Memory, Space};
use rustc_hash::FxHashMap;

use crate::code::{AddrSpace, Code, WgmmaA};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::mem::access::each;
use prlx_lanes::LANES;

use super::accesses::{self, WarpAccess};
use super::findings::{self, FindingLog, WarpStep};

/// Bytes that are marked together.
const WORD: u64 = 4;

/// The last ordinary write of a word.
#[derive(Clone, Copy, Debug, Default)]
struct Write {
    /// When, counted in events; 0: never, or the asynchronous proxy wrote it since.
    time: u64,
    who: WarpStep,
}

/// What the check knows of a CTA.
#[derive(Clone, Debug, Default)]
struct CtaWrites {
    words: Vec<Write>,
    /// By thread: the time of its last fence, and of its last synchronisation with others.
    threads: FxHashMap<u32, (u64, u64)>,
    /// Writes before this time are covered by some fence.
    fenced: u64,
}

/// The writes and fences of the running CTAs.
#[derive(Debug, Default)]
pub struct Proxy {
    /// Whether anything is read through the asynchronous proxy.
    on: bool,
    now: u64,
    ctas: FxHashMap<u64, CtaWrites>,
}

impl Proxy {
    /// The check of a kernel.
    pub fn new(code: &Code) -> Proxy {
        let copies = code.bulks.iter().any(|b| b.src.space != AddrSpace::Global);
        let products = code.products.iter().any(|p| matches!(p.a, WgmmaA::Shared(_)) || p.n > 0);
        Proxy { on: copies || products || !code.tensor_ops.is_empty(), ..Proxy::default() }
    }
    /// Lanes write shared memory by an ordinary instruction.
    pub fn wrote(&mut self, launch: &Launch<'_>, cta: &CtaState, t: &WarpAccess, here: WarpStep) {
        if !self.on {
            return;
        }
        each(t.lanes, |l| {
            let (at, bytes) = (accesses::within(t.space, t.addr.0[l]), u64::from(t.bytes[l]));
            let inside = cta.shared.len().checked_sub(bytes).is_some_and(|last| at <= last);
            if inside && accesses::space(t.space, t.addr.0[l]) == Space::Shared {
                let owner = accesses::owner(launch, cta, t, l);
                self.write(owner, at, bytes, WarpStep { lanes: 1 << l, ..here });
            }
        });
    }
    fn write(&mut self, cta: u64, at: u64, bytes: u64, who: WarpStep) {
        self.now += 1;
        let write = Write { time: self.now, who };
        let words = &mut self.ctas.entry(cta).or_default().words;
        let end = (at + bytes).div_ceil(WORD) as usize;
        if words.len() < end {
            words.resize(end, Write::default());
        }
        words[(at / WORD) as usize..end].fill(write);
    }
    /// The asynchronous proxy writes some bytes.
    pub fn replaced(&mut self, cta: u64, at: u64, bytes: u64) {
        if let Some(c) = self.ctas.get_mut(&cta) {
            let end = ((at + bytes).div_ceil(WORD) as usize).min(c.words.len());
            c.words
                .get_mut((at / WORD) as usize..end)
                .into_iter()
                .flatten()
                .for_each(|w| *w = Write::default());
        }
    }
    /// Lanes run `fence.proxy.async`.
    pub fn fence(&mut self, here: WarpStep) {
        self.now += 1;
        let c = self.ctas.entry(here.cta).or_default();
        each(here.lanes, |l| {
            let thread = c.threads.entry(here.warp * LANES as u32 + l as u32).or_default();
            thread.0 = self.now;
            c.fenced = c.fenced.max(thread.1);
        });
    }
    /// Lanes have synchronised with others.
    pub fn synced(&mut self, who: WarpStep) {
        if !self.on {
            return;
        }
        self.now += 1;
        let c = self.ctas.entry(who.cta).or_default();
        each(who.lanes, |l| c.threads.entry(who.warp * LANES as u32 + l as u32).or_default().1 = self.now);
    }
    /// The asynchronous proxy is about to read some bytes of a CTA's shared memory.
    pub fn read(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        (cta, at, bytes): (u64, u64, u64),
        who: WarpStep,
    ) {
        let Some(c) = self.ctas.get(&cta) else { return };
        let range = (at / WORD) as usize..(at + bytes).div_ceil(WORD) as usize;
        let unseen = |w: &&Write| {
            let thread = w.who.warp * LANES as u32 + w.who.lanes.trailing_zeros();
            let fenced = c.threads.get(&thread).map_or(0, |t| t.0);
            w.time > 0 && w.time >= c.fenced && w.time > fenced
        };
        let Some(write) = c.words.iter().take(range.end).skip(range.start).find(unseen) else { return };
        log.add(launch, Kind::ProxyFence, who, Some(write.who.step), 0, || {
            let allocation = findings::allocation(launch, Space::Shared, at);
            let mut first = findings::side(launch, "read here, through the asynchronous proxy", who);
            first.memory =
                Some(Memory { space: Space::Shared, address: at, bytes: bytes as u32, allocation });
            let sides = vec![first, findings::side(launch, "written here, by an ordinary store", write.who)];
            let what = "reads what was written with no `fence.proxy.async` since".into();
            let mut f = findings::finding(Kind::ProxyFence, what, sides);
            f.help = Some("run `fence.proxy.async` after the writes, before the barrier".into());
            f
        });
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.ctas.remove(&cta);
    }
}
