//! Markers of a module, and what each track of a launch recorded at them.
//!
//! A track is the sequence of records of one lane. A record has a marker and the low half of the SM's clock.
//! Anchors at the ends of a track, and sometimes in between, hold the whole clock and the global timer; they
//! put all clocks on one axis.
//!
//! # Invariants
//! Reading allocates in proportion to the bytes.
//!
//! # Limitations
//! If two records of a track are 2^32 cycles (about two seconds) apart or more, whole turns of the clock are
//! lost. A track with both anchors shows that this happened.

use crate::Error;
use crate::codec::{Codec, Reader, put_number};
use crate::ids::{Cycles, FuncId, LocId, ModuleId, Nanos, WarpId};
use crate::table::Field;

structures! {
    /// A marker: a place in the code that leaves a record.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Mark {
        /// The region's, or the moment's name.
        pub name: String,
        /// What it says of that.
        pub kind: MarkKind,
        /// Why it is there.
        pub via: Via,
        /// The function that it is in.
        pub function: FuncId,
        /// Where in the source.
        pub loc: Option<LocId>,
        /// The words that follow its records, at most two.
        pub payload: Vec<Field>,
    }

    /// What the markers of one launch left. A file may have several of one launch: each has tracks of its
    /// own.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Marks {
        /// Module of the markers.
        pub module: ModuleId,
        /// Of which launch, by number.
        pub launch: u64,
        /// Tracks, by warp and lane.
        pub tracks: Vec<Track>,
        /// Warps of the launch that had no track, for want of memory or because they were not asked for.
        pub left_out: u64,
    }

    /// What one lane recorded.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Track {
        /// Warp of the lane.
        pub warp: WarpId,
        /// Lane that recorded.
        pub lane: u8,
        /// The multiprocessor on which it began.
        pub sm: u32,
        /// The group that it said it belongs to.
        pub group: Option<u32>,
        /// When it began, if that was written.
        pub begin: Option<Anchor>,
        /// When it ended. `None`: it never did.
        pub end: Option<Anchor>,
        /// Records that are not there.
        pub lost: u64,
        /// Whether those are the first ones, not the last: a ring.
        pub last: bool,
        /// Those that are, in the order in which they were made.
        pub records: Records,
        /// Regions that were added up instead.
        pub sums: Vec<Sum>,
        /// Anchors between begin and end, in the order in which they were made.
        #[since(10)] pub anchors: Anchors,
    }

    /// One moment, by two clocks.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Anchor {
        /// The multiprocessor's clock, in cycles.
        pub cycles: Cycles,
        /// The device's global timer, in nanoseconds.
        pub nanos: Nanos,
        /// Cycles from then until the timer had answered, [`SLOWEST`](crate::device::tracks::SLOWEST) for
        /// more; `None`: not known.
        #[since(11)] pub took: Option<u32>,
    }

    /// What all visits of a region took together.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Sum {
        /// The marker at which it begins: which of [`crate::kernel::Module::marks`].
        pub mark: u32,
        /// How often it ended.
        pub count: u64,
        /// Total cycles of all visits.
        pub cycles: Cycles,
    }
}

/// A visit of a marker, as recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// Which of [`crate::kernel::Module::marks`].
    pub mark: u32,
    /// Low 32 bits of the multiprocessor's clock.
    pub clock: u32,
    /// The marker's words; those that it has not are 0.
    pub payload: [u32; 2],
}

/// Records of a track; in files by columns, clocks as differences.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Records(pub Vec<Record>);

impl Codec for Records {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.0.len() as u64);
        let mut clock = 0;
        let mut columns = [const { Vec::new() }; 4];
        for r in &self.0 {
            let since = r.clock.wrapping_sub(std::mem::replace(&mut clock, r.clock));
            let values = [r.mark, since, r.payload[0], r.payload[1]];
            columns.iter_mut().zip(values).for_each(|(column, value)| put_number(column, value.into()));
        }
        columns.iter().for_each(|column| out.extend_from_slice(column));
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        // A number takes a byte at least, a record four of them.
        let n = from.count(4)?;
        let mut records = vec![Record::default(); n];
        let mut clock = 0u32;
        for column in 0..4 {
            for r in &mut records {
                let number = from.number()?;
                let value = u32::try_from(number)
                    .map_err(|_| from.error(format!("{number} has more than 32 bits")))?;
                match column {
                    0 => r.mark = value,
                    1 => {
                        clock = clock.wrapping_add(value);
                        r.clock = clock;
                    }
                    2 => r.payload[0] = value,
                    _ => r.payload[1] = value,
                }
            }
        }
        Ok(Records(records))
    }
}

/// Anchors of a track; in files each as its difference to the one before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Anchors(pub Vec<Anchor>);

impl Codec for Anchors {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.0.len() as u64);
        let mut before = Anchor::default();
        for a in &self.0 {
            put_number(out, a.cycles.0.wrapping_sub(before.cycles.0));
            put_number(out, a.nanos.0.wrapping_sub(before.nanos.0));
            a.took.put(out);
            before = *a;
        }
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        // A number takes a byte at least, an anchor two of them.
        let n = from.count(2)?;
        let mut anchors = Vec::with_capacity(n);
        let mut last = Anchor::default();
        for _ in 0..n {
            last.cycles.0 = last.cycles.0.wrapping_add(from.number()?);
            last.nanos.0 = last.nanos.0.wrapping_add(from.number()?);
            last.took = if from.version < 11 { None } else { from.field("took")? };
            anchors.push(last);
        }
        Ok(Anchors(anchors))
    }
}

codes! {
    /// What a marker says.
    MarkKind {
        /// A region begins; it ends at the next end of its name, regions lie in one another.
        Begin = 0 "begin",
        /// A region ends.
        End = 1 "end",
        /// A point in time, without duration.
        Instant = 2 "instant",
        /// The region that is open ends, and this one begins.
        Switch = 3 "switch",
        /// Asynchronous work begins; its first word tells it from other work.
        Issue = 4 "issue",
        /// The asynchronous work of this first word has ended.
        Complete = 5 "complete",
        /// Somebody arrives at what others wait for: the first word says at what.
        Arrive = 6 "arrive",
        /// The track says which group it belongs to: the first word.
        Group = 7 "group",
    }
    /// Why a marker is there.
    Via {
        /// It stands in the source.
        Source = 0 "source",
        /// A barrier of the CTA or cluster.
        Barrier = 1 "barrier",
        /// A wait or arrival at an mbarrier.
        Mbarrier = 2 "mbarrier",
        /// A tensor or bulk copy.
        Tma = 3 "tma",
        /// A `cp.async` group.
        CpAsync = 4 "cp.async",
        /// A product of a warp group.
        Wgmma = 5 "wgmma",
        /// A trip of a loop.
        Trip = 6 "trip",
        /// Entry and exit of a function.
        Function = 7 "function",
        /// A source line.
        Line = 8 "line",
    }
}
