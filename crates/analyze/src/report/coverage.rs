//! How much of a pair of launches was compared: warps, lanes, visits, elements, sites.

use super::plain_data::data;

data! {
    /// How much was looked at.
    struct Coverage {
        /// Lanes that were seen to their end on both sides, in percent of the launch's; 100 only if all were.
        percent: f64,
        /// Warps of the launch.
        warps: Warps,
        /// Lanes of the warps.
        lanes: Lanes,
        /// By side: visits of the lanes that were decoded.
        visits: [Visits; 2],
        /// By side: what devices wrote.
        elements: [Elements; 2],
        /// By side: sites of the kernel and what it calls; at level `path`, its decisions.
        sites: [Sites; 2],
    }
    /// Warps, by what happened to them.
    struct Warps {
        /// All of them: the sum of the others.
        total: u64,
        /// Recorded the same; not decoded.
        equal: u64,
        /// Compared lane by lane.
        compared: u64,
        /// Not recorded on one side or both.
        missing: u64,
        /// Recorded, but not decodable.
        failed: u64,
    }
    /// Lanes of recorded warps, by what happened to them.
    struct Lanes {
        /// All lanes of all warps.
        total: u64,
        /// In warps that recorded the same.
        in_equal_warps: u64,
        /// With the same words.
        same_words: u64,
        /// Decoded to their end on both sides.
        compared: u64,
        /// Decoded as far as the recording goes, or until the launch was stopped.
        truncated: u64,
        /// In warps that were not recorded.
        missing: u64,
        /// Lanes whose recording cannot be decoded.
        failed: u64,
    }
    /// Decoded visits, by where their value came from.
    struct Visits {
        /// Decisions that were recorded.
        recorded: u64,
        /// Decisions that were evaluated again.
        computed: u64,
        /// Sites that are not in the recording.
        other: u64,
    }
    /// What devices wrote.
    struct Elements {
        /// Elements that are in the recording.
        recorded: u64,
        /// Lost for want of room.
        dropped: u64,
    }
    /// Sites of a kernel and of what it calls.
    struct Sites {
        /// All that the level could record.
        total: u64,
        /// Left out, or hidden because what they depend on was.
        skipped: u64,
        /// Without a match on the other side ([`Uncompared`](super::launch::Uncompared) lists them).
        #[cfg_attr(
            feature = "schema",
            schemars(description = "Without a partner on the other side ([`Uncompared`] says which).")
        )]
        unmatched: u64,
    }
}

impl Lanes {
    /// The lanes that were seen to their end on both sides, in percent, rounded down to hundredths. 100 only
    /// if all were.
    pub fn percent(&self) -> f64 {
        let seen = self.in_equal_warps + self.same_words + self.compared;
        if seen >= self.total {
            100.0
        } else {
            (seen as f64 / self.total as f64 * 1e4).floor().min(9999.0) / 100.0
        }
    }
}
