//! Runs the code of a probe program beside the original code, and collects its tables and records.
//!
//! # Invariants
//! Probe code does not change the machine. Rows are found by their keys, whatever capacity the tables of a
//! GPU would have. Floating-point sums are added CTA by CTA, in order.
//!
//! # Limitations
//! The launch number that a probe sees is 0.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use prlx_isa::view::Space;
use prlx_plan::VariableScope;
use prlx_plan::code::{Code, LaneQuery};
use prlx_plan::eval::{self, LaneHost, RowRef};
use prlx_plan::{Plan, ProbeState};
use prlx_trace::device::tables::{Part, Rows, Which};
use prlx_trace::kernel::Scalar;
use prlx_trace::mark::Track;
use prlx_trace::table::{Aggregate, Row};
use prlx_trace::{FuncId, ModuleId, TableContents, WarpId};

use crate::code::{Hook, HookValue, window};
use crate::exec::time::EPOCH;
use crate::hooks::tracks;
use crate::hooks::value::{HookContext, Registers, each_lane};

/// Rows by table; the tables of records follow the tables of the program.
#[derive(Clone, Debug, Default)]
pub struct ProbeResults {
    tables: Vec<BTreeMap<Vec<u64>, Vec<u64>>>,
    lost: Vec<u64>,
    /// The tracks of markers.
    pub tracks: Vec<Track>,
}

impl ProbeResults {
    /// No results yet.
    pub fn new(probe_state: &ProbeState) -> ProbeResults {
        let n = probe_state.tables.len() + probe_state.records.parts.len();
        ProbeResults { tables: vec![BTreeMap::new(); n], lost: vec![0; n], tracks: Vec::new() }
    }
    /// Adds a value to a row.
    fn add_value(&mut self, probe_state: &ProbeState, table: usize, key: &[u64], value: u64) {
        let (Some(layout), Some(rows)) = (probe_state.tables.get(table), self.tables.get_mut(table)) else {
            return;
        };
        let aggregate = layout.aggregate;
        let mut one = vec![0; aggregate.cells(0)];
        match aggregate {
            Aggregate::Count => one[0] = 1,
            Aggregate::Sum => one[0] = value,
            Aggregate::Min | Aggregate::Max | Aggregate::Avg => one.copy_from_slice(&[1, value]),
            Aggregate::Hist | Aggregate::Lhist { .. } => {
                one[aggregate.bucket(value, layout.ty == Scalar::S64)] = 1
            }
            Aggregate::Record { .. } => return,
        }
        match rows.get_mut(key) {
            Some(cells) => aggregate.merge(cells, &one, layout.ty),
            None => {
                let mut cells = vec![0; one.len()];
                aggregate.merge(&mut cells, &one, layout.ty);
                rows.insert(key.to_vec(), cells);
            }
        }
    }
    /// Adds the value of a counter to a row.
    fn add_count(&mut self, probe_state: &ProbeState, table: usize, row: u32, sum: u64) {
        let Some(key) = probe_state.tables.get(table).and_then(|t| known(&t.rows, row)) else { return };
        let cells = self.tables[table].entry(key.to_vec()).or_insert_with(|| vec![0]);
        cells[0] = cells[0].wrapping_add(sum);
    }
    /// Adds other results.
    pub fn merge(&mut self, probe_state: &ProbeState, other: ProbeResults) {
        self.tracks.extend(other.tracks);
        for (i, rows) in other.tables.into_iter().enumerate() {
            for (key, cells) in rows {
                match probe_state.tables.get(i) {
                    Some(layout) => {
                        let empty = || vec![0; cells.len()];
                        layout.aggregate.merge(
                            self.tables[i].entry(key).or_insert_with(empty),
                            &cells,
                            layout.ty,
                        );
                    }
                    None => drop(self.tables[i].insert(key, cells)),
                }
            }
            self.lost[i] = self.lost[i].saturating_add(other.lost[i]);
        }
    }
    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(BTreeMap::is_empty) && self.tracks.is_empty()
    }
    /// The approximate size in bytes.
    pub fn bytes(&self) -> u64 {
        let row = |(key, cells): (&Vec<u64>, &Vec<u64>)| 64 + 8 * (key.len() + cells.len()) as u64;
        self.tables.iter().flatten().map(row).sum()
    }
    /// Discards the records for which a log has no room: those of later warps, and of a warp the later ones.
    fn limit_logs(&mut self, probe_state: &ProbeState, warps: u64) {
        for (i, part) in probe_state.records.parts.iter().enumerate() {
            let table = probe_state.tables.len() + i;
            let room = room(part, warps);
            let Some(rows) = self.tables.get_mut(table).filter(|rows| rows.len() as u64 > room) else {
                continue;
            };
            if part.which != Which::Room {
                continue;
            }
            let owners = if part.of_lane { part.warp_size.lanes() } else { 1 };
            let mut keys: Vec<Vec<u64>> = rows.keys().cloned().collect();
            keys.sort_by_key(|key| match key.as_slice() {
                [holder, n] => (holder / owners, *n, *holder),
                _ => (u64::MAX, 0, 0),
            });
            for key in keys.iter().skip(usize::try_from(room).unwrap_or(usize::MAX)) {
                rows.remove(key);
                self.lost[table] = self.lost[table].saturating_add(1);
            }
        }
    }
    /// The contents of the tables of a launch of `warps` warps, as a GPU would give them.
    pub fn table_contents(mut self, probe_state: &ProbeState, warps: u64) -> Vec<TableContents> {
        self.limit_logs(probe_state, warps);
        let contents = |(i, rows): (usize, BTreeMap<Vec<u64>, Vec<u64>>)| {
            let mut rows = rows;
            let layout = probe_state.tables.get(i);
            match layout.map(|t| (t.aggregate, &t.rows)) {
                // A table of sums has every known row.
                Some((Aggregate::Sum, Rows::Known(known))) => {
                    for key in known {
                        rows.entry(key.clone()).or_insert_with(|| vec![0]);
                    }
                }
                Some((Aggregate::Sum, Rows::Hashed { .. })) | None => {}
                Some(_) => rows.retain(|_, cells| cells.iter().any(|c| *c != 0)),
            }
            TableContents {
                module: ModuleId(0),
                table: i as u32,
                launches: Some((0, 0)),
                rows: rows.into_iter().map(|(key, cells)| Row { key, cells }).collect(),
                lost: self.lost[i],
            }
        };
        let mut all = self.tables.into_iter().enumerate().map(contents).collect();
        probe_state.add_shares(&mut all);
        all
    }
}

fn known(rows: &Rows, row: u32) -> Option<&[u64]> {
    match rows {
        Rows::Known(rows) => rows.get(row as usize).map(Vec::as_slice),
        Rows::Hashed { .. } => None,
    }
}

/// The records of a lane or a warp.
#[derive(Clone, Debug, Default)]
struct KeptRecords {
    written: u64,
    kept: Vec<(u64, Vec<u64>)>,
}

/// Records that the log of a declaration has room for in a launch of `warps` warps.
fn room(part: &Part, warps: u64) -> u64 {
    part.entries().saturating_mul(warps)
}

/// The state of a probe program in one warp.
#[derive(Clone, Debug)]
pub struct WarpProbes {
    vars: Vec<Vec<u64>>,
    /// The warp variables, by index in `ProbeState::shared_variables`.
    variables: Vec<u64>,
    counters: Vec<Vec<u64>>,
    results: ProbeResults,
    /// By record and lane; records of the warp are in lane 0.
    saved: Vec<Vec<KeptRecords>>,
    /// By record: how many records a log of all warps has room for, and how many this warp wrote to it.
    logs: Vec<(u64, u64)>,
    /// The tracks of its lanes.
    pub marks: tracks::WarpTracks,
}

impl WarpProbes {
    /// The state at the start of a warp, one of `warps`.
    pub fn new(plan: &Plan, kernel: FuncId, warp: WarpId, warps: u64) -> WarpProbes {
        let (probe_state, size) = (&plan.probe_state, plan.warp_size);
        let lanes = size.lanes() as usize;
        WarpProbes {
            vars: probe_state.vars.iter().map(|v| vec![v.init; lanes]).collect(),
            variables: vec![0; probe_state.shared_variables.len()],
            counters: vec![vec![0; lanes]; probe_state.counters.len()],
            results: ProbeResults::new(probe_state),
            saved: vec![vec![KeptRecords::default(); lanes]; probe_state.records.parts.len()],
            logs: probe_state.records.parts.iter().map(|part| (room(part, warps), 0)).collect(),
            marks: tracks::WarpTracks::new(kernel, warp, size),
        }
    }
    /// Runs a piece of the program for the lanes `m`.
    pub fn run(
        &mut self,
        probe_state: &ProbeState,
        hook: &Hook,
        code: &Code,
        planes: &Registers<'_, '_>,
        m: u64,
        context: HookContext<'_>,
    ) {
        eval::run(
            code,
            &mut LaneProbes { warp: self, probe_state, values: &hook.values, planes, context },
            m,
        );
    }
    /// Adds to a counter.
    pub fn count(&mut self, counter: u32, add: u64, m: u64) {
        if let Some(counter) = self.counters.get_mut(counter as usize) {
            each_lane(m, |l| counter[l] = counter[l].wrapping_add(add));
        }
    }
    /// Lanes end. `kernel`: in the kernel itself; `trap`: by a `trap`.
    pub fn end(
        &mut self,
        probe_state: &ProbeState,
        m: u64,
        kernel: bool,
        trap: bool,
        context: HookContext<'_>,
    ) {
        if let Some(layout) = probe_state.tracks.as_ref().filter(|t| t.ends(trap)) {
            self.marks.end(layout, m, kernel, context);
        }
        for (counter, values) in probe_state.counters.iter().zip(&mut self.counters) {
            let mut sum = 0u64;
            each_lane(m, |l| sum = sum.wrapping_add(std::mem::take(&mut values[l])));
            self.results.add_count(probe_state, counter.table as usize, counter.row, sum);
        }
    }
    /// The approximate size in bytes.
    pub fn bytes(&self) -> u64 {
        let saved = self.saved.iter().flatten().flat_map(|s| &s.kept);
        self.results.bytes() + self.marks.bytes() + saved.map(|s| 32 + 8 * s.1.len() as u64).sum::<u64>()
    }
    /// The results of the warp, with number `warp` in the grid.
    pub fn finish(mut self, probe_state: &ProbeState, warp: u64) -> ProbeResults {
        for (i, (part, holders)) in probe_state.records.parts.iter().zip(self.saved).enumerate() {
            let table = probe_state.tables.len() + i;
            let lanes = holders.len() as u64;
            for (lane, saved) in holders.into_iter().enumerate() {
                let holder = if part.of_lane { warp * lanes + lane as u64 } else { warp };
                self.results.lost[table] += saved.written - saved.kept.len() as u64;
                for (n, fields) in saved.kept {
                    self.results.tables[table].insert(vec![holder, n], fields);
                }
            }
        }
        if let Some(layout) = &probe_state.tracks {
            self.results.tracks.extend(self.marks.finish(layout, warp));
        }
        self.results
    }
}

struct LaneProbes<'a, 'b> {
    warp: &'a mut WarpProbes,
    probe_state: &'a ProbeState,
    values: &'a [HookValue],
    planes: &'a Registers<'a, 'b>,
    context: HookContext<'a>,
}

impl LaneHost for LaneProbes<'_, '_> {
    fn read(&self, operand: u32, lane: usize) -> u64 {
        self.values.get(operand as usize).map_or(0, |v| self.planes.value(*v, lane))
    }
    fn ask(&self, what: LaneQuery, active: u64, lane: usize) -> u64 {
        match what {
            LaneQuery::Active => active,
            LaneQuery::Leader => u64::from(active.trailing_zeros() as usize == lane),
            LaneQuery::Clock => self.context.clock & u64::from(u32::MAX),
            LaneQuery::Clock64 => self.context.clock,
            LaneQuery::Time => EPOCH + self.context.clock / 2,
            LaneQuery::Launch => 0,
        }
    }
    fn param(&self, at: u32) -> u64 {
        let mut bytes = [0; 8];
        let at = u64::from(at);
        for (i, byte) in bytes.iter_mut().enumerate() {
            let at = at + i as u64;
            *byte = if at < self.context.params.len() { self.context.params.load(at, 1) as u8 } else { 0 };
        }
        u64::from_le_bytes(bytes)
    }
    fn within(&self, space: Space, address: u64) -> bool {
        let own = window::SHARED + window::CTA * (1 + u64::from(self.context.rank));
        let inside = |at: u64, bytes: u64| address.wrapping_sub(at) < bytes;
        let constants = self.context.constants;
        match space {
            Space::Shared => inside(window::SHARED, window::CTA) || inside(own, window::CTA),
            Space::Local => inside(window::LOCAL, window::PARAMS - window::LOCAL),
            Space::Const => inside(constants.0, constants.1),
            _ => inside(0, window::SHARED) && !inside(constants.0, constants.1),
        }
    }
    fn load(&self, var: u32, lane: usize) -> u64 {
        self.warp.vars.get(var as usize).map_or(0, |v| v[lane])
    }
    fn store(&mut self, var: u32, lane: usize, bits: u64) {
        if let Some(v) = self.warp.vars.get_mut(var as usize) {
            v[lane] = bits;
        }
    }
    fn get(&self, var: u32) -> u64 {
        let var = var as usize;
        match self.probe_state.shared_variables.get(var).map(|h| h.of) {
            Some(VariableScope::Cta) => self.context.cta_variables.get(var).map_or(0, |v| v.load(Relaxed)),
            _ => self.warp.variables.get(var).copied().unwrap_or(0),
        }
    }
    fn put(&mut self, var: u32, bits: u64) {
        let var = var as usize;
        match self.probe_state.shared_variables.get(var).map(|h| h.of) {
            Some(VariableScope::Cta) => {
                self.context.cta_variables.get(var).into_iter().for_each(|v| v.store(bits, Relaxed))
            }
            _ => self.warp.variables.get_mut(var).into_iter().for_each(|v| *v = bits),
        }
    }
    fn tally(&mut self, counter: u32, value: u64, lane: usize) {
        self.warp.count(counter, value, 1 << lane);
    }
    fn update(&mut self, table: u32, row: RowRef<'_>, value: u64, _: usize) {
        let key = match row {
            RowRef::Keyed(keys) => Some(keys),
            RowRef::At(row) => self.probe_state.tables.get(table as usize).and_then(|t| known(&t.rows, row)),
        };
        if let Some(key) = key {
            self.warp.results.add_value(self.probe_state, table as usize, key, value);
        }
    }
    fn save(&mut self, record: u32, fields: &[u64], lane: usize, leader: bool) {
        let Some(part) = self.probe_state.records.parts.get(record as usize) else { return };
        if !part.of_lane && !leader {
            return;
        }
        let holder = if part.of_lane { lane } else { 0 };
        let Some(saved) = self.warp.saved.get_mut(record as usize).and_then(|r| r.get_mut(holder)) else {
            return;
        };
        let n = saved.written;
        saved.written += 1;
        if part.which == Which::Room {
            if let Some((room, written)) = self.warp.logs.get_mut(record as usize)
                && written < room
            {
                *written += 1;
                saved.kept.push((n, fields.to_vec()));
            }
        } else if saved.kept.len() < part.keep as usize {
            saved.kept.push((n, fields.to_vec()));
        } else if part.which == Which::Last {
            saved.kept.remove(0);
            saved.kept.push((n, fields.to_vec()));
        }
    }
}
