//! How far racing threads are apart, which decides what orders them.
//!
//! # Invariants
//! The remedy of a finding orders all pairs of threads that were seen, not only the first.

use prlx_trace::check::{Finding, Kind};

use super::shadow::AccessRecord;

/// How far two racing threads are apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reach {
    /// Lanes of one warp.
    Lanes,
    /// Warps of one CTA.
    Warps,
    /// Threads of two CTAs.
    Ctas,
}

impl Reach {
    /// The reach of two accesses.
    pub fn of(a: AccessRecord, b: AccessRecord) -> Reach {
        match (a.cta == b.cta, a.warp() == b.warp()) {
            (false, _) => Reach::Ctas,
            (true, true) => Reach::Lanes,
            (true, false) => Reach::Warps,
        }
    }
    /// The other thread, as a part of a sentence.
    pub fn who(self) -> &'static str {
        match self {
            Reach::Lanes => "of another lane of the warp",
            Reach::Warps => "of another warp",
            Reach::Ctas => "of another CTA",
        }
    }
}

/// Gives races in one variable the remedy of the widest reach among them, if they share a place: a barrier of
/// a warp would leave the others.
pub fn widen(findings: &mut [Finding], reach: impl Fn(usize) -> Option<Reach>) {
    let variable = |f: &Finding| {
        let memory = f.sides.first()?.memory.as_ref()?;
        Some((memory.space, memory.allocation.as_ref()?.base))
    };
    let meets = |a: &Finding, b: &Finding| {
        let mut places = a.sides.iter().filter_map(|s| s.place.as_ref());
        places.any(|p| b.sides.iter().any(|s| s.place.as_ref() == Some(p)))
    };
    for i in 0..findings.len() {
        let Some(own) = reach(i).filter(|_| findings[i].kind == Kind::Race) else { continue };
        let wider = (0..findings.len()).filter(|&j| {
            reach(j).is_some_and(|r| r > own && r < Reach::Ctas)
                && variable(&findings[j]) == variable(&findings[i])
                && meets(&findings[i], &findings[j])
        });
        if let Some(j) = wider.max_by_key(|&j| reach(j)) {
            findings[i].help = findings[j].help.clone();
        }
    }
}
