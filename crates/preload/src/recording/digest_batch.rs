//! Launches without hashes whose memory is digested after several of them, at once.
//!
//! A digest reads all memory behind a launch's pointers, up to the ends of allocations, which may be most of
//! the program's memory. So launches of one stream wait for others, and share one digest after the last of
//! them.
//!
//! # Invariants
//! - The driver has accepted all launches of a batch before its digest is put into their stream.
//! - Batches are digested before the program waits for the device, and before memory or streams go away.

use std::sync::Arc;

use prlx_driver::cuda::pointee_digest::{DigestStart, Digests, ParamsAndPlaces, PendingDigest};
use prlx_driver::queue::Stream;
use prlx_trace::Launch;

use crate::rewritten_module::ParamLayout;

/// Number of launches that share a digest.
const LAUNCHES: usize = 64;

/// A launch that waits for others.
struct BatchedLaunch {
    launch: Launch,
    layout: ParamLayout,
    /// The driver has accepted it.
    accepted: bool,
}

/// Launches of one stream that wait for others.
pub(super) struct OpenBatch {
    digests: Arc<Digests>,
    stream: Stream,
    launches: Vec<BatchedLaunch>,
}

/// Launches whose digests are in progress.
pub(super) struct PendingBatch {
    digests: Arc<Digests>,
    pending: PendingDigest,
    launches: Vec<Launch>,
}

/// Result of [`OpenBatch::start`].
pub(super) enum BatchStart {
    /// The digest is in the stream.
    Pending(PendingBatch),
    /// There are no digests, for the reason that each launch has, if it should have some.
    Done(Vec<Launch>),
    /// There is no room. The batch is as it was.
    Full(OpenBatch),
}

impl OpenBatch {
    /// A batch without launches.
    pub(super) fn new(digests: Arc<Digests>, stream: Stream) -> OpenBatch {
        OpenBatch { digests, stream, launches: Vec::new() }
    }

    /// Whether launches into this stream belong to the batch.
    pub(super) fn is_of(&self, digests: &Arc<Digests>, stream: Stream) -> bool {
        self.has(digests) && self.stream == stream
    }

    /// Whether another batch has launches of the same context and stream.
    pub(super) fn same_place(&self, other: &OpenBatch) -> bool {
        self.is_of(&other.digests, other.stream)
    }

    /// Whether it is one of this context's.
    pub(super) fn has(&self, digests: &Arc<Digests>) -> bool {
        Arc::ptr_eq(&self.digests, digests)
    }

    /// Whether it has no launch.
    pub(super) fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// Whether its launches go into this stream.
    pub(super) fn is_in(&self, stream: Stream) -> bool {
        self.stream == stream
    }

    /// Whether its stream is being captured, so that nothing can be put into it.
    pub(super) fn is_captured(&self) -> bool {
        self.digests.is_captured(self.stream)
    }

    /// Adds a launch that is about to go into the stream.
    pub(super) fn add(&mut self, launch: Launch, layout: &[(usize, usize)]) {
        self.launches.push(BatchedLaunch { launch, layout: layout.to_vec(), accepted: false });
    }

    /// The driver has accepted the launch with this number, or has refused it. Returns whether the batch has
    /// the launch.
    pub(super) fn queued(&mut self, number: u64, accepted: bool) -> bool {
        let Some(at) = self.launches.iter().rposition(|l| l.launch.number == number) else { return false };
        match accepted {
            true => self.launches[at].accepted = true,
            false => drop(self.launches.remove(at)),
        }
        true
    }

    /// Whether no other launch fits in.
    pub(super) fn is_full(&self) -> bool {
        self.launches.len() >= LAUNCHES
    }

    /// Takes the launches that the driver has accepted; `None` if there is none.
    pub(super) fn take_accepted(&mut self) -> Option<OpenBatch> {
        let launches: Vec<BatchedLaunch> = self.launches.extract_if(.., |l| l.accepted).collect();
        let (digests, stream) = (Arc::clone(&self.digests), self.stream);
        (!launches.is_empty()).then_some(OpenBatch { digests, stream, launches })
    }

    /// Puts accepted launches back that were taken from this batch.
    pub(super) fn put_back(&mut self, taken: OpenBatch) {
        self.launches.splice(0..0, taken.launches);
    }

    /// Puts the digest of launches that the driver has accepted into their stream, which must not be
    /// captured.
    pub(super) fn start(self) -> BatchStart {
        let params: Vec<ParamsAndPlaces<'_>> =
            self.launches.iter().map(|l| (&l.launch.params[..], &l.layout[..])).collect();
        let start = self.digests.after_several(self.stream, &params);
        if let DigestStart::Full = start {
            return BatchStart::Full(self);
        }
        let launches = self.launches.into_iter().map(|l| l.launch);
        match start {
            DigestStart::Started(pending) => BatchStart::Pending(PendingBatch {
                digests: self.digests,
                pending: *pending,
                launches: launches.collect(),
            }),
            DigestStart::Refused(why) => BatchStart::Done(launches.map(|l| undigested(l, why)).collect()),
            DigestStart::NoPointers | DigestStart::Full => BatchStart::Done(launches.collect()),
        }
    }

    /// The launches, without digests.
    pub(super) fn give_up(self, why: &str) -> Vec<Launch> {
        self.launches.into_iter().filter(|l| l.accepted).map(|l| undigested(l.launch, why)).collect()
    }
}

impl PendingBatch {
    /// Whether it is one of this context's.
    pub(super) fn has(&self, digests: &Arc<Digests>) -> bool {
        Arc::ptr_eq(&self.digests, digests)
    }

    /// Whether the digests are there.
    pub(super) fn is_done(&self) -> bool {
        self.digests.done(&self.pending)
    }

    /// The launches, with their digests if these are there, and `why` otherwise.
    pub(super) fn take(self, why: &str) -> Vec<Launch> {
        let done = self.is_done();
        let found = self.digests.take(self.pending);
        let launches = self.launches.into_iter().zip(found);
        launches
            .map(|(launch, pointees)| match done {
                true => Launch { pointees, ..launch },
                false => undigested(launch, why),
            })
            .collect()
    }
}

fn undigested(launch: Launch, why: &str) -> Launch {
    Launch { undigested: Some(why.to_owned()), ..launch }
}
