//! Vector clocks: which accesses of other threads are ordered before the current step.
//!
//! Every CTA has a clock that advances at every release, and an access carries the time of its CTA. A vector
//! clock says up to which time the accesses of each thread happened before. It is compressed by CTA: a floor
//! for all threads of the CTA (which a full barrier raises), and later times for single threads.

use std::sync::Arc;

/// Number of a CTA in the grid.
pub type CtaNumber = u32;

/// The part of a vector clock for one CTA.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct CtaClock {
    /// The time up to which the accesses of all threads of the CTA happened before.
    floor: u32,
    /// Later times of single threads (0 to 1023), in the order of the threads.
    over: Vec<(u16, u32)>,
}

impl CtaClock {
    fn time(&self, thread: u16) -> u32 {
        let over = self.over.binary_search_by_key(&thread, |o| o.0).map_or(0, |i| self.over[i].1);
        over.max(self.floor)
    }
    fn learn(&mut self, thread: u16, time: u32) {
        if time <= self.floor {
            return;
        }
        match self.over.binary_search_by_key(&thread, |o| o.0) {
            Ok(i) => self.over[i].1 = self.over[i].1.max(time),
            Err(i) => self.over.insert(i, (thread, time)),
        }
    }
    fn covers(&self, other: &CtaClock) -> bool {
        self.floor >= other.floor && other.over.iter().all(|&(thread, time)| self.time(thread) >= time)
    }
    fn join(&mut self, other: &CtaClock) {
        if other.floor > self.floor {
            self.floor = other.floor;
            self.over.retain(|o| o.1 > other.floor);
        }
        if self.over.is_empty() {
            self.over.extend(other.over.iter().filter(|o| o.1 > self.floor));
        } else {
            other.over.iter().for_each(|&(thread, time)| self.learn(thread, time));
        }
    }
}

/// A vector clock: the clocks of all CTAs, in the order of their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VectorClock(Vec<(CtaNumber, CtaClock)>);

impl VectorClock {
    fn part(&mut self, cta: CtaNumber) -> &mut CtaClock {
        let i = match self.0.binary_search_by_key(&cta, |p| p.0) {
            Ok(i) => i,
            Err(i) => {
                self.0.insert(i, (cta, CtaClock::default()));
                i
            }
        };
        &mut self.0[i].1
    }
    /// The time up to which the accesses of all threads of a CTA happened before, if no later ones did.
    pub fn floor(&self, cta: CtaNumber) -> Option<u32> {
        match self.0.binary_search_by_key(&cta, |p| p.0) {
            Ok(i) => Some(self.0[i].1.floor).filter(|_| self.0[i].1.over.is_empty()),
            Err(_) => Some(0),
        }
    }
    /// The threads among `lanes` of a warp whose accesses at `time` did not happen before.
    pub fn unknown(&self, cta: CtaNumber, warp: u32, lanes: u32, time: u32) -> u32 {
        let Ok(i) = self.0.binary_search_by_key(&cta, |p| p.0) else { return lanes };
        let part = &self.0[i].1;
        if part.floor >= time {
            return 0;
        }
        if part.over.is_empty() {
            return lanes;
        }
        let mut unknown = 0;
        crate::mem::access::each(lanes, |l| unknown |= u32::from(part.time(thread(warp, l)) < time) << l);
        unknown
    }
    /// Adds the accesses of threads of a warp up to a time.
    pub fn learn(&mut self, cta: CtaNumber, warp: u32, lanes: u32, time: u32) {
        let part = self.part(cta);
        crate::mem::access::each(lanes, |l| part.learn(thread(warp, l), time));
    }
    /// Adds the accesses of all threads of a CTA up to a time.
    pub fn learn_all(&mut self, cta: CtaNumber, time: u32) {
        let part = self.part(cta);
        part.floor = part.floor.max(time);
        let floor = part.floor;
        part.over.retain(|o| o.1 > floor);
    }
    /// Whether joining `other` would change nothing.
    fn covers(&self, other: &VectorClock) -> bool {
        let mut parts = self.0.iter();
        let mut covers = |(cta, part): &(CtaNumber, CtaClock)| {
            parts.find(|(c, _)| c >= cta).is_some_and(|(c, own)| c == cta && own.covers(part))
        };
        self.0.len() >= other.0.len() && other.0.iter().all(&mut covers)
    }
    /// Adds everything that another clock has.
    pub fn join(&mut self, other: &VectorClock) {
        for (cta, part) in &other.0 {
            self.part(*cta).join(part);
        }
    }
}

/// A thread's number in its CTA.
fn thread(warp: u32, l: usize) -> u16 {
    (warp * 32 + l as u32) as u16
}

/// The join of two clocks, without a copy where one covers the other.
pub fn joined(a: &Arc<VectorClock>, b: &Arc<VectorClock>) -> Arc<VectorClock> {
    if Arc::ptr_eq(a, b) || b.0.is_empty() || a == b {
        return a.clone();
    }
    if a.0.is_empty() || b.covers(a) {
        return b.clone();
    }
    if a.covers(b) {
        return a.clone();
    }
    let mut both = (**a).clone();
    both.join(b);
    Arc::new(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_and_single_threads() {
        let mut a = VectorClock::default();
        a.learn(3, 1, 0b101, 7);
        assert_eq!(a.unknown(3, 1, 0b111, 7), 0b010);
        assert_eq!((a.unknown(3, 1, 0b101, 8), a.unknown(2, 1, 1, 1)), (0b101, 1));
        let mut b = VectorClock::default();
        b.learn_all(3, 6);
        b.learn(5, 0, 1, 2);
        a.join(&b);
        assert_eq!(
            (a.unknown(3, 9, u32::MAX, 6), a.unknown(3, 1, 0b111, 7), a.unknown(5, 0, 1, 2)),
            (0, 0b010, 0)
        );
        assert_eq!([3, 5, 9].map(|cta| a.floor(cta)), [None, None, Some(0)]);
        a.learn_all(3, 7);
        assert_eq!((a.unknown(3, 1, 0b111, 7), a.floor(3)), (0, Some(7)));
        let (x, y) = (Arc::new(a.clone()), Arc::new(a));
        assert!(Arc::ptr_eq(&joined(&x, &y), &x));
    }
}
