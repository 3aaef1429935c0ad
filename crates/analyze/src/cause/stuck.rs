//! Why threads of one side alone wait for an event that never comes: what the other side does for it.
//!
//! A thread in a loop leaves it on the other side, so walks start at the branches of that loop. They lead
//! through the word that the thread reads to the store that one side lacks. Other waits have no condition. Of
//! these, the first barrier, arrival, copy or exchange counts that the other side makes and this one does
//! not, although its thread does not wait itself, or that has other operands.
//!
//! # Limitations
//! Threads correspond by their position, so both sides need equal launch dimensions.

use std::collections::BTreeSet;

use prlx_trace::check::Finding;
use prlx_trace::dataflow::Action;

use super::checks::{access_place, error_of_chance, words};
use super::code_match::CodeMatch;
use super::explain::{ExplainedLaunch, cause_of_walk};
use super::flow::{At, Flow, Source};
use super::walk::{Found, Walk, name};
use crate::report::{Cause, CauseClass, CausePlace};

/// The cause of a deadlock (`finding`) that side `side` alone has.
pub(super) fn explain(
    launch: &ExplainedLaunch<'_>,
    flows: [&Flow<'_>; 2],
    code: &CodeMatch,
    (side, finding): (usize, &Finding),
) -> Option<Cause> {
    let threads = finding.sides.iter().filter_map(|of| {
        let place = of.threads.and(access_place(of))?;
        let (warp, lane) = flows[side].find_thread(place.cta, place.thread)?;
        flows[side].last_visit(warp, lane)
    });
    let stuck = Stuck { flows, code, side, waiting: threads.collect() };
    let at = finding.sides.first().and_then(access_place);
    stuck.cause(launch, words(side, finding), at)
}

/// The cause of a run that reached a limit on one side alone, without a deadlock that was proved.
pub(super) fn explain_limit(
    launch: &ExplainedLaunch<'_>,
    flows: [&Flow<'_>; 2],
    code: &CodeMatch,
) -> Option<Cause> {
    let (side, why) = match launch.stopped {
        [Some(why), None] => (0, why),
        [None, Some(why)] => (1, why),
        _ => return None,
    };
    let running = flows[side].running().take(MOST_THREADS).collect();
    let stuck = Stuck { flows, code, side, waiting: running };
    let why = why.split(';').next().unwrap_or(why);
    stuck.cause(launch, format!("in {}: {why}", name(side)), None)
}

/// Threads at most that are followed of a run that reached a limit.
const MOST_THREADS: usize = 32;

/// A side with threads that wait for an event that never comes.
struct Stuck<'a> {
    flows: [&'a Flow<'a>; 2],
    code: &'a CodeMatch,
    side: usize,
    /// Of some threads that did not end: the last visits.
    waiting: Vec<At>,
}

/// The walk with the best first difference: on the one line that differs, then by its rank.
fn best<'a>(walks: impl Iterator<Item = Walk<'a>>) -> Option<Walk<'a>> {
    let rank = |walk: &Walk<'_>| walk.best().map(|found| (!walk.leads(found), found.rank));
    walks.filter(|walk| rank(walk).is_some()).min_by_key(rank)
}

impl<'a> Stuck<'a> {
    /// The cause of what `what` says; `at` is where a thread is.
    fn cause(&self, launch: &ExplainedLaunch<'_>, what: String, at: Option<CausePlace>) -> Option<Cause> {
        if !launch.same_geometry() {
            return None;
        }
        let branches = self.waiting.iter().flat_map(|at| self.flows[self.side].last_branches(*at));
        let walk = best(branches.flat_map(|branch| self.of_branch(branch))).or_else(|| self.of_event())?;
        let found = walk.best()?;
        if !walk.leads(found) && error_of_chance(launch.findings[self.side]).is_some() {
            return None;
        }
        let cause = cause_of_walk(&walk, found, format!("{what}; {}", found.what), at);
        Some(Cause { class: CauseClass::Stuck, ..cause })
    }

    /// Walks from a branch in the loop that a thread is in: from its last decision on the other side, which
    /// ends the loop there, to the same one on this side, and to the last one, since loops that wait take any
    /// number of iterations. If the other side does not come to the branch: from the branch at which it
    /// parted.
    fn of_branch(&self, at: At) -> Vec<Walk<'a>> {
        let (here, there) = (self.flows[self.side], self.flows[1 - self.side]);
        let number = here.number(at);
        let Some(partner) = self.code.of(self.side, number) else { return Vec::new() };
        let other = there.visits_of(partner, at.warp, at.lane);
        let own = here.visits_of(number, at.warp, at.lane);
        let Some(&end) = other.last() else {
            let first = own.first().map(|visit| At { visit: *visit, ..at });
            let walk = first.and_then(|at| Walk::of_visit(self.flows, self.code, true, (self.side, at)));
            return walk.into_iter().collect();
        };
        let same = own.get(other.len() - 1).copied();
        let mut visits: Vec<u32> = same.into_iter().chain([at.visit]).collect();
        visits.dedup();
        let walks = visits.into_iter().filter_map(|visit| {
            let mut users = [At { visit: end, ..at }; 2];
            users[self.side].visit = visit;
            Walk::of_guards(self.flows, self.code, users)
        });
        walks.filter(|walk| walk.best().is_some_and(|found| !self.is_event(walk, found))).collect()
    }

    /// Whether a first difference is the result of an instruction that waits: why it came out so is not said.
    fn is_event(&self, walk: &Walk<'_>, found: &Found) -> bool {
        let at = found.places[self.side].and_then(|at| self.flows[self.side].instruction(at));
        !walk.on_change(found) && at.is_some_and(|i| i.action == Action::Sync)
    }

    /// A walk from the first event that the other side has and this one has not, or has in another way.
    fn of_event(&self) -> Option<Walk<'a>> {
        let (here, there) = (self.flows[self.side], self.flows[1 - self.side]);
        let ctas: BTreeSet<u64> = self.waiting.iter().map(|at| here.cta(*at)).collect();
        let events: BTreeSet<u32> = self.waiting.iter().map(|at| here.number(*at)).collect();
        let mut all: Vec<At> = there.events().filter(|at| ctas.contains(&there.cta(*at))).collect();
        all.sort_by_key(|at| there.order(*at));
        all.into_iter().find_map(|at| {
            let last = here.last_visit(at.warp, at.lane);
            let waits = last.is_some_and(|last| events.contains(&here.number(last)));
            let number = self.code.of(1 - self.side, there.number(at));
            let own = number.map(|number| here.visits_of(number, at.warp, at.lane)).unwrap_or_default();
            match own.get(there.trip(at) as usize) {
                None if waits => None,
                None => Walk::of_visit(self.flows, self.code, true, (1 - self.side, at)),
                Some(visit) => {
                    let mut users = [at; 2];
                    users[self.side].visit = *visit;
                    Walk::of_operands(self.flows, self.code, users)
                }
            }
            .filter(|walk| walk.best().is_some())
        })
    }
}

impl<'a> Walk<'a> {
    /// Follows back why the guards of two visits of one thread differ; `None` if they do not.
    fn of_guards(flows: [&'a Flow<'a>; 2], code: &'a CodeMatch, users: [At; 2]) -> Option<Walk<'a>> {
        let mut walk = Walk::at(flows, code, true, [Source::Nothing, Source::Nothing], users);
        walk.guards(0, users).then(|| walk.follow(1))?;
        Some(walk)
    }
    /// Follows back why operands or addresses of two visits of one thread differ; `None` if they do not.
    fn of_operands(flows: [&'a Flow<'a>; 2], code: &'a CodeMatch, users: [At; 2]) -> Option<Walk<'a>> {
        let mut walk = Walk::at(flows, code, true, [Source::Nothing, Source::Nothing], users);
        let [a, b] = walk.instructions(users)?;
        let operands = a.operands.iter().zip(&b.operands);
        let addresses = a.addresses.iter().zip(&b.addresses).map(|(x, y)| (&x.base, &y.base));
        for (x, y) in operands.chain(addresses) {
            let sources = [flows[0].operand(x, users[0]), flows[1].operand(y, users[1])];
            if walk.differ(&sources, users, 64) {
                walk.push(0, sources, users, None);
            }
        }
        (walk.pairs.len() > 1).then(|| walk.follow(1))?;
        Some(walk)
    }
}
