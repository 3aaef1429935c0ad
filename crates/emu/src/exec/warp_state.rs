//! The state of a warp: registers, the position and calls of each lane, and what the lanes wait for.

use prlx_lanes::{LANES, Planes, V32, V64};
use prlx_trace::Dim3;

use super::cta_state::CtaState;
use super::launch::Launch;
use super::time::SMS;
use crate::code::{Code, SpecialRegister};
use crate::copies::state::{BulkGroups, LaneCopies};
use crate::hooks::recorder::Recorder;
use crate::matrix::wgmma_state::WarpProducts;
use crate::mem::Region;
use crate::mem::access::{VisibleMemory, each};

/// A key orders lanes: deeper calls first, then lower steps.
pub type Key = u32;

/// The key of a lane that cannot run: it waits or has ended.
pub const PARKED: Key = u32::MAX;

/// Bits of a key that are the step.
pub const STEP_BITS: u32 = 22;

/// The bits of a key that are the step, as a mask.
pub const STEP: u32 = (1 << STEP_BITS) - 1;

/// The most nested calls of a lane.
pub const DEPTH: u32 = (1 << (32 - STEP_BITS)) - 2;

/// Steps of one group (fewer with many atomics) after which the other groups of the warp get a turn.
pub const GROUP_QUANTUM: u32 = 1 << 18;

/// One call that a lane is in.
#[derive(Debug)]
pub struct Frame {
    /// The position at which the caller continues.
    pub ret: u32,
    /// Index of the call in the table of calls.
    pub call: u32,
    /// Number of the function that the lane is in.
    pub func: u32,
    /// Bytes that the caller had allocated with `alloca`.
    pub alloca_bytes: u32,
    /// The registers and parameters that a recursive call saved.
    pub saved: Option<Box<[u64]>>,
}

/// One call that a wave of AMD's is in.
#[derive(Debug)]
pub struct WaveCall {
    /// The step at which the caller continues.
    pub ret: u32,
    /// The trip counters of the caller.
    pub counters: Box<[V64]>,
}

/// Why a warp stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// No lane can run; some may be waiting.
    Idle,
    /// The budget of steps is used up.
    Budget,
}

/// The state of a warp.
#[derive(Debug)]
pub struct Warp {
    /// Number of the warp in the CTA; of the half, where a warp has 64 lanes (see [`super::wide`]).
    pub index: u32,
    /// The registers of all lanes.
    pub planes: Planes,
    /// The lanes that have not ended.
    pub alive: u32,
    /// The position of each lane that can run; [`PARKED`] for the others.
    pub key: [Key; LANES],
    /// The position of each waiting lane.
    pub waits_at: [Key; LANES],
    /// The lanes that wait at a barrier of the CTA or the cluster.
    pub at_barrier: u32,
    /// The barrier that each lane waits at.
    pub barrier_id: [u8; LANES],
    /// The lanes that have arrived at the barrier of the cluster and have not waited for it since.
    pub cluster_arrived: u32,
    /// The lanes that wait at a warp-level operation for other lanes.
    pub at_exchange: u32,
    /// The member mask of each waiting lane.
    pub members: [u32; LANES],
    /// Stack pointer of each lane.
    pub stack_pointer: [u32; LANES],
    /// Bytes that each lane has allocated with `alloca`, from the end of its stack.
    pub alloca_bytes: [u32; LANES],
    /// Calls that each lane is in.
    pub frames: Vec<Vec<Frame>>,
    /// Local memory of all lanes.
    pub local: Region,
    /// The `cp.async` copies in flight.
    pub copies: LaneCopies,
    /// The groups of bulk copies of each lane.
    pub bulk_groups: BulkGroups,
    /// The `wgmma` products in flight.
    pub wgmma: WarpProducts,
    /// In a wave of AMD's: the lanes that wait at a later step for the wave, as EXEC has left them out.
    pub away: u32,
    /// The depth of calls and the step at which each of them waits.
    pub away_at: [(usize, u32); LANES],
    /// The calls that a wave of AMD's is in, the outermost first.
    pub wave_calls: Vec<WaveCall>,
    /// The recorder of the warp, if the warp is recorded.
    pub recorder: Option<Box<Recorder>>,
    /// The index of the allocation that was accessed last.
    pub allocation_hint: usize,
    /// Steps until the other groups of the warp get a turn.
    pub group_budget: u32,
    /// The group that has the turn, once the lowest group has spent its budget.
    pub turn: Option<Key>,
}

impl Warp {
    /// A warp before its first CTA.
    pub fn new(index: u32, code: &Code, stride: u64) -> Warp {
        let (w32, w64, pred) = code.planes;
        let mut planes = Planes {
            w32: vec![V32([0; LANES]); usize::from(w32)],
            w64: vec![V64([0; LANES]); usize::from(w64)],
            pred: vec![0; usize::from(pred)],
            carry: 0,
        };
        for &(i, v) in &code.const32 {
            planes.w32[usize::from(i)] = V32([v; LANES]);
        }
        for &(i, v) in &code.const64 {
            planes.w64[usize::from(i)] = V64([v; LANES]);
        }
        for &(i, v) in &code.const_pred {
            planes.pred[usize::from(i)] = if v { u32::MAX } else { 0 };
        }
        Warp {
            index,
            planes,
            alive: 0,
            key: [PARKED; LANES],
            waits_at: [PARKED; LANES],
            at_barrier: 0,
            barrier_id: [0; LANES],
            cluster_arrived: 0,
            at_exchange: 0,
            members: [0; LANES],
            stack_pointer: [code.params_bytes; LANES],
            alloca_bytes: [0; LANES],
            frames: (0..LANES).map(|_| Vec::new()).collect(),
            local: Region::new(stride * LANES as u64),
            copies: LaneCopies::default(),
            bulk_groups: BulkGroups::default(),
            wgmma: WarpProducts::default(),
            away: 0,
            away_at: [(0, 0); LANES],
            wave_calls: Vec::new(),
            recorder: None,
            allocation_hint: 0,
            group_budget: GROUP_QUANTUM,
            turn: None,
        }
    }
    /// The bytes of host memory that a warp takes.
    pub fn bytes(code: &Code, stride: u64) -> u64 {
        let (w32, w64, pred) = code.planes;
        let planes = u64::from(w32) * size_of::<V32>() as u64 + u64::from(w64) * size_of::<V64>() as u64;
        let frames = (size_of::<Vec<Frame>>() * LANES) as u64;
        (stride * LANES as u64)
            .saturating_add(planes + u64::from(pred) * 4 + frames + size_of::<Warp>() as u64)
    }
    /// Resets the warp for the next CTA.
    pub fn reset(&mut self, code: &Code) {
        for &(i, end) in &code.variable[0] {
            self.planes.w32[usize::from(i)..usize::from(end)].fill(V32([0; LANES]));
        }
        for &(i, end) in &code.variable[1] {
            self.planes.w64[usize::from(i)..usize::from(end)].fill(V64([0; LANES]));
        }
        for &(i, end) in &code.variable[2] {
            self.planes.pred[usize::from(i)..usize::from(end)].fill(0);
        }
        self.planes.carry = 0;
        (self.at_barrier, self.at_exchange, self.cluster_arrived) = (0, 0, 0);
        self.away = 0;
        self.wave_calls.clear();
        self.stack_pointer = [code.params_bytes; LANES];
        self.alloca_bytes = [0; LANES];
        self.frames.iter_mut().for_each(Vec::clear);
        self.copies = LaneCopies::default();
        self.bulk_groups = BulkGroups::default();
        self.wgmma = WarpProducts::default();
        (self.group_budget, self.turn) = (GROUP_QUANTUM, None);
    }
    /// Starts the lanes of `alive` at the first step of the kernel, and sets the special registers.
    pub fn start(&mut self, launch: &Launch<'_>, cta: &CtaState, alive: u32) {
        self.alive = alive;
        for l in 0..LANES {
            self.key[l] = if alive >> l & 1 == 1 {
                key(0, launch.code.entries[&launch.code.kernel].start)
            } else {
                PARKED
            };
        }
        for &(i, s) in &launch.code.specials {
            self.planes.w32[usize::from(i)] = self.special(launch, cta, s);
        }
        if let Some(exec) = launch.code.exec {
            self.planes.pred[usize::from(exec)] = alive;
        }
    }
    fn special(&self, launch: &Launch<'_>, cta: &CtaState, s: SpecialRegister) -> V32 {
        use prlx_trace::kernel::Special as L;
        let mut out = V32([0; LANES]);
        let (size, grid, place, cluster) =
            (launch.config.block, launch.config.grid, cta.position, launch.cluster);
        let halves = launch.halves();
        let first_lane = self.index % halves * LANES as u32;
        let axis = |d: Dim3, a: u8| [d.x, d.y, d.z][usize::from(a) % 3];
        for (l, o) in out.0.iter_mut().enumerate() {
            let t = self.index * LANES as u32 + l as u32;
            let bit = 1u32 << l;
            *o = match s {
                SpecialRegister::Launch(which) => match which {
                    L::TidX => t % size.x.max(1),
                    L::TidY => t / size.x.max(1) % size.y.max(1),
                    L::TidZ => t / size.x.max(1) / size.y.max(1),
                    L::NtidX => size.x,
                    L::NtidY => size.y,
                    L::NtidZ => size.z,
                    L::CtaidX => place.x,
                    L::CtaidY => place.y,
                    L::CtaidZ => place.z,
                    L::NctaidX => grid.x,
                    L::NctaidY => grid.y,
                    L::NctaidZ => grid.z,
                    L::LaneId => first_lane + l as u32,
                    L::WarpSize => halves * LANES as u32,
                    // Code for warps of 64 lanes has no such masks (see `decode::warp_width`).
                    L::LanemaskEq => bit,
                    L::LanemaskLt => bit - 1,
                    L::LanemaskLe => bit | (bit - 1),
                    L::LanemaskGt => !(bit | (bit - 1)),
                    L::LanemaskGe => !(bit - 1),
                },
                SpecialRegister::WarpId => self.index / halves,
                SpecialRegister::NWarpId => launch.warps / halves,
                SpecialRegister::SmId => (cta.index % u64::from(SMS)) as u32,
                SpecialRegister::NSmId => SMS,
                SpecialRegister::GridId => 1,
                SpecialRegister::DynamicShared => launch.config.shared,
                SpecialRegister::TotalShared => launch.code.static_shared + launch.config.shared,
                SpecialRegister::GridWorkspace { high } => {
                    (launch.grid_workspace.unwrap_or(0) >> if high { 32 } else { 0 }) as u32
                }
                SpecialRegister::Value(v) => v,
                SpecialRegister::Param(at) => {
                    let mut bytes = [0; 4];
                    if u64::from(at) + 4 <= launch.params.len() {
                        launch.params.read(at.into(), &mut bytes);
                    }
                    u32::from_le_bytes(bytes)
                }
                SpecialRegister::PackedTid(dimensions) => {
                    let at = [
                        t % size.x.max(1),
                        t / size.x.max(1) % size.y.max(1),
                        t / size.x.max(1) / size.y.max(1),
                    ];
                    at.iter().zip([0, 10, 20]).take(dimensions.into()).fold(0, |all, (n, low)| all | n << low)
                }
                SpecialRegister::PackedCtaid => place.y | place.z << 16,
                SpecialRegister::ClusterId(a) => axis(place, a) / axis(cluster, a),
                SpecialRegister::NClusterId(a) => axis(grid, a) / axis(cluster, a),
                SpecialRegister::ClusterCtaid(a) => axis(place, a) % axis(cluster, a),
                SpecialRegister::ClusterNctaid(a) => axis(cluster, a),
                SpecialRegister::ClusterRank => cta.rank,
                SpecialRegister::ClusterSize => cluster.volume() as u32,
                SpecialRegister::ExplicitCluster => launch.explicit.into(),
            };
        }
        out
    }
    /// The lanes that can run.
    pub fn ready(&self) -> u32 {
        self.alive & !self.at_barrier & !self.at_exchange
    }
    /// Ends lanes: they never run again.
    pub fn end_lanes(&mut self, lanes: u32) {
        self.alive &= !lanes;
        each(lanes, |l| self.key[l] = PARKED);
    }
    /// The step of a key.
    pub fn step_of(k: Key) -> u32 {
        k & STEP
    }
    /// The call depth of a key.
    pub fn depth_of(k: Key) -> u32 {
        DEPTH - (k >> STEP_BITS)
    }
}

/// The key of a step at a call depth.
pub fn key(depth: u32, step: u32) -> Key {
    (DEPTH - depth) << STEP_BITS | step
}

/// The memory that the lanes of a warp can access.
pub fn visible_memory<'a>(launch: &'a Launch<'_>, cta: &'a CtaState, local: &'a Region) -> VisibleMemory<'a> {
    VisibleMemory {
        memory: launch.memory,
        shared: &cta.shared,
        peers: &cta.peers,
        rank: cta.rank,
        local,
        stride: launch.stride,
        params: launch.params,
    }
}
