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
    /// A marker: a point in the code that writes a record.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Mark {
        /// Name of the region or moment.
        pub name: String,
        /// What the marker states, such as the begin of the region.
        pub kind: MarkKind,
        /// Why the marker was inserted.
        pub via: Via,
        /// The function that contains the marker.
        pub function: FuncId,
        /// Source location of the marker.
        pub loc: Option<LocId>,
        /// Payload words of its records, at most two.
        pub payload: Vec<Field>,
    }

    /// The records of the markers of one launch. A file may have several of these for one launch, with
    /// different tracks.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Marks {
        /// Module of the markers.
        pub module: ModuleId,
        /// Number of the launch in its process.
        pub launch: u64,
        /// Tracks, by warp and lane.
        pub tracks: Vec<Track>,
        /// Number of warps without a track: memory was exhausted, or a filter excluded them.
        pub left_out: u64,
    }

    /// The records of one lane.
    #[derive(Clone, PartialEq, Eq, Debug, Default)]
    pub struct Track {
        /// Warp of the lane.
        pub warp: WarpId,
        /// The lane that wrote the records.
        pub lane: u8,
        /// The SM on which the lane began.
        pub sm: u32,
        /// The group that the lane declared. `None` without such a marker.
        pub group: Option<u32>,
        /// Anchor at the begin of the lane, if it was recorded.
        pub begin: Option<Anchor>,
        /// Anchor at the end of the lane. `None` if the lane never ended.
        pub end: Option<Anchor>,
        /// Number of records that were lost.
        pub lost: u64,
        /// Whether the first records were lost (in a ring), not the last ones.
        pub last: bool,
        /// The records that were kept, in the order in which they were written.
        pub records: Records,
        /// Regions whose visits were summed up instead of recorded.
        pub sums: Vec<Sum>,
        /// Anchors between begin and end, in the order in which they were written.
        #[since(10)] pub anchors: Anchors,
    }

    /// One moment, on two clocks.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Anchor {
        /// The clock of the SM.
        pub cycles: Cycles,
        /// The global timer of the device.
        pub nanos: Nanos,
        /// Cycles from the reading of the clock to the answer of the timer, at most
        /// [`SLOWEST`](crate::device::tracks::SLOWEST). `None` if it was not measured.
        #[since(11)] pub took: Option<u32>,
    }

    /// Sums over all visits of a region.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Sum {
        /// The marker at which the region begins: an index into [`crate::kernel::Module::marks`].
        pub mark: u32,
        /// Number of visits that ended.
        pub count: u64,
        /// Total cycles of all visits.
        pub cycles: Cycles,
    }
}

/// One record of a marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// The marker: an index into [`crate::kernel::Module::marks`].
    pub mark: u32,
    /// Low 32 bits of the SM's clock.
    pub clock: u32,
    /// Payload words of the marker. Words that the marker does not have are 0.
    pub payload: [u32; 2],
}

/// Records of a track. Files hold them in columns, with clocks as differences.
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
        /// The open region ends, and this region begins.
        Switch = 3 "switch",
        /// Asynchronous work begins. The first word identifies it.
        Issue = 4 "issue",
        /// The asynchronous work with this first word has completed.
        Complete = 5 "complete",
        /// The lane arrives at a barrier that other lanes wait for. The first word identifies the barrier.
        Arrive = 6 "arrive",
        /// The lane declares its group, which is the first word.
        Group = 7 "group",
    }
    /// Why a marker was inserted.
    Via {
        /// The source contains the marker.
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
        /// An iteration of a loop.
        Trip = 6 "trip",
        /// Entry and exit of a function.
        Function = 7 "function",
        /// A source line.
        Line = 8 "line",
    }
}
