//! What a probe program writes, for a single active lane: the model of invariant 7 at level `probe`.

use crate::ptx::PARAMETERS;
use crate::verify::plan_facts::has_warp_reductions;
use prlx_isa::view::{FunctionKind, Operand, Space};
use prlx_plan::VariableScope;
use prlx_plan::code::{Code, LaneQuery, Ty};
use prlx_plan::eval::{LaneHost, RowRef, run};
use prlx_plan::{PackedCounters, TableCopies};
use prlx_trace::device::tables::PROBES;
use prlx_trace::device::tables::{LOST, Part, Rows, Which, hash, ordered};
use prlx_trace::kernel::Scalar;
use prlx_trace::table::Aggregate;

use crate::verify::function::{FunctionPair, Inputs, translated};
use crate::verify::machine::{Machine, address, mix, within};
use crate::verify::memory::{Memory, read, write};
use crate::verify::model::lane::LaneModel;

/// Runs `code` on the model.
pub(in crate::verify) fn probe(
    texts: &Inputs<'_>,
    f: &FunctionPair<'_>,
    machine: &Machine,
    lane: &mut LaneModel,
    code: &Code,
) {
    let own = lane.lane;
    run(code, &mut Model { texts, f, machine, lane, operands: &code.operands }, 1 << own);
}

struct Model<'a> {
    texts: &'a Inputs<'a>,
    f: &'a FunctionPair<'a>,
    machine: &'a Machine,
    lane: &'a mut LaneModel,
    operands: &'a [Operand],
}

impl LaneHost for Model<'_> {
    fn read(&self, operand: u32, _: usize) -> u64 {
        let operand = self.operands.get(operand as usize).map(|o| translated(self.f, o));
        let values = operand.and_then(|o| self.machine.values(self.texts.after, self.f.new, &o));
        values.and_then(|v| v.first().copied()).unwrap_or(0)
    }
    fn ask(&self, what: LaneQuery, active: u64, _: usize) -> u64 {
        match what {
            LaneQuery::Active => active,
            LaneQuery::Leader => 1,
            LaneQuery::Clock => self.machine.special("%clock"),
            LaneQuery::Clock64 => self.machine.special("%clock64"),
            LaneQuery::Time => self.machine.special("%globaltimer"),
            LaneQuery::Launch if self.lane.context == 0 => 0,
            LaneQuery::Launch => self.lane.field("launch"),
        }
    }
    fn param(&self, at: u32) -> u64 {
        let f = self.f.old;
        if f.kind != FunctionKind::Kernel {
            return 0;
        }
        let Some(i) = f.param_offsets.iter().rposition(|o| *o <= at) else { return 0 };
        let symbol = f.params.get(i).and_then(|s| self.texts.module.symbols.get(s.index()));
        symbol.map_or(0, |s| mix(address(&s.name).wrapping_add(u64::from(at - f.param_offsets[i]))))
    }
    fn within(&self, space: Space, address: u64) -> bool {
        let parameter = space == Space::Global && self.texts.module.version >= PARAMETERS;
        within(space, address) && !(parameter && within(Space::Param, address))
    }
    fn load(&self, var: u32, _: usize) -> u64 {
        self.lane.vars.get(var as usize).copied().unwrap_or(0)
    }
    fn store(&mut self, var: u32, _: usize, bits: u64) {
        if let Some(v) = self.lane.vars.get_mut(var as usize) {
            *v = bits;
        }
    }
    fn get(&self, var: u32) -> u64 {
        self.shared_address(var).map_or(0, |at| read(&self.lane.memory, at, 8))
    }
    fn put(&mut self, var: u32, bits: u64) {
        let ty = self.texts.plan.probe_state.shared_variables.get(var as usize).map_or(Ty::U64, |h| h.ty);
        if let Some(at) = self.shared_address(var) {
            write(&mut self.lane.memory, at, if ty.bits() == 64 { 8 } else { 4 }, bits);
        }
    }
    fn tally(&mut self, counter: u32, value: u64, _: usize) {
        if let Some(counter) = self.lane.counters.get_mut(counter as usize) {
            *counter = counter.wrapping_add(value);
        }
    }
    fn update(&mut self, table: u32, row: RowRef<'_>, value: u64, _: usize) {
        if self.lane.context != 0 && self.lane.field("tables") != 0 {
            update(self.lane, self.texts, self.machine, table as usize, row, value);
        }
    }
    fn save(&mut self, record: u32, fields: &[u64], _: usize, leader: bool) {
        let kept = &self.texts.plan.probe_state;
        let Some(part) = kept.records.parts.get(record as usize) else { return };
        if part.numbered() {
            return self.numbered(record as usize, part, fields);
        }
        if self.lane.context == 0 || self.lane.field("records") == 0 {
            return;
        }
        let writes = part.of_lane || leader && self.lane.leads();
        if !writes {
            return;
        }
        if part.which == Which::Room {
            return self.log(part, fields);
        }
        let at = self.lane.field("records") + self.lane.warp * kept.records.warp + part.at;
        let memory = &mut self.lane.memory;
        // The count of records: eight bytes of its own, or two bytes after the fields.
        let (head, size) = match part.offsets().get(part.fields.len()) {
            Some(offset) => (at + offset, 2),
            None => (at, 8),
        };
        let written = read(memory, head, size);
        write(memory, head, size, written + 1);
        let slot = if part.which == Which::Last { written % u64::from(part.keep) } else { written };
        if slot < part.keep.into() {
            put_record(memory, part, at + part.rows() + slot * part.row(), fields);
        }
    }
}

/// Writes the fields of a record, each in its own width.
fn put_record(memory: &mut Memory, part: &Part, at: u64, fields: &[u64]) {
    for ((offset, ty), field) in part.offsets().into_iter().zip(&part.fields).zip(fields) {
        let bits = if *ty == Scalar::F32 { (f64::from_bits(*field) as f32).to_bits().into() } else { *field };
        write(memory, at + offset, u64::from(ty.bits().div_ceil(8)), bits);
    }
}

impl Model<'_> {
    /// Writes a record of the thread; in a full warp of equal lanes, one joint record of the warp.
    fn numbered(&mut self, record: usize, part: &Part, fields: &[u64]) {
        let lane = &mut *self.lane;
        if lane.records == 0 {
            return;
        }
        let number = lane.saved[record] + 1;
        lane.saved[record] = u64::from(number as u32);
        let own = u64::from(lane.lane);
        let at = lane.records + part.at;
        let slot = match part.which {
            Which::Last => (number - 1) % u64::from(part.keep),
            _ if number > part.keep.into() => return write(&mut lane.memory, at + 8 * own, 8, number),
            _ => number - 1,
        };
        let mut put = |at: u64, word: u64| write(&mut lane.memory, at, 8, word);
        let head = u64::from(number as u32) | part.beside().map_or(0, |i| fields[i] << 32);
        let behind = (0u64..).zip(part.behind().into_iter().map(|i| fields[i]));
        if lane.mask != u64::from(u32::MAX) {
            let at = at + part.singles() + slot * 32 * part.single() + 8 * own;
            put(at, head);
            behind.for_each(|(i, word)| put(at + 32 * 8 * (1 + i), word));
        } else if own == 0 {
            // The lanes are equal, so the step of every field is 0.
            let at = at + part.joints() + slot * part.joint();
            put(at, head);
            behind.for_each(|(i, word)| put(at + part.joint_fields() + 8 * i, word));
        }
    }

    /// Appends an entry to a log, if there is room.
    fn log(&mut self, part: &Part, fields: &[u64]) {
        let of = |names: [&str; 3]| names.map(|name| self.machine.special(name)).iter().product::<u64>();
        let warps =
            of(["%nctaid.x", "%nctaid.y", "%nctaid.z"]) * of(["%ntid.x", "%ntid.y", "%ntid.z"]).div_ceil(32);
        let (records, warp) = (self.lane.field("records"), self.texts.plan.probe_state.records.warp);
        let holder =
            if part.of_lane { self.lane.warp * 32 + u64::from(self.lane.lane) } else { self.lane.warp };
        let memory = &mut self.lane.memory;
        let entry = read(memory, records + part.at, 8);
        write(memory, records + part.at, 8, entry + 1);
        if entry < warps * part.entries() {
            let at =
                records + entry / part.entries() * warp + part.at + 8 + entry % part.entries() * part.entry();
            write(memory, at, 8, holder + 1);
            put_record(memory, part, at + 8, fields);
        }
    }

    /// Address of a shared variable, if it has storage.
    fn shared_address(&self, var: u32) -> Option<u64> {
        let kept = &self.texts.plan.probe_state;
        if self.lane.context == 0 || self.lane.field("records") == 0 {
            return None;
        }
        let [x, y, z] = ["%tid.x", "%tid.y", "%tid.z"].map(|name| self.machine.special(name));
        let [nx, ny] = ["%ntid.x", "%ntid.y"].map(|name| self.machine.special(name));
        let warp = match kept.shared_variables.get(var as usize)?.of {
            VariableScope::Cta => self.lane.warp - (x + nx * (y + ny * z)) / 32,
            _ => self.lane.warp,
        };
        Some(self.lane.field("records") + warp * kept.records.warp + 8 * u64::from(var))
    }
}

/// Adds the counters to their rows. A full warp adds 32 times the value of one lane, each row by a lane of
/// its own ([`PackedCounters`]).
pub(in crate::verify) fn flush(lane: &mut LaneModel, texts: &Inputs<'_>, machine: &Machine) {
    let kept = &texts.plan.probe_state;
    if lane.field("tables") == 0 {
        return;
    }
    let together = has_warp_reductions(texts);
    let whole = lane.mask == u64::from(u32::MAX) && together;
    let small = lane.counters[kept.packed.counters as usize..]
        .iter()
        .all(|sum| *sum < 1 << PackedCounters::small(texts.plan.warp_size));
    for (i, (counter, sum)) in (0u32..).zip(kept.counters.iter().zip(lane.counters.clone())) {
        let Some(layout) = kept.tables.get(counter.table as usize) else { continue };
        let writes = if whole && small { lane.lane == i } else { lane.leads() || !together };
        if writes {
            let at = lane.field("tables")
                + own_copy(texts, machine)
                + layout.at
                + u64::from(counter.row) * layout.row();
            let sum = sum.wrapping_mul(if whole { 32 } else { 1 });
            let new = read(&lane.memory, at, 8).wrapping_add(sum);
            write(&mut lane.memory, at, 8, new);
        }
    }
}

/// Offset of the SM's own copy of tables with fixed rows, bytes.
fn own_copy(texts: &Inputs<'_>, machine: &Machine) -> u64 {
    let TableCopies { count, stride } = texts.plan.probe_state.copies;
    machine.special("%smid") % u64::from(count) * u64::from(stride)
}

/// Updates a row with a value.
fn update(
    lane: &mut LaneModel,
    texts: &Inputs<'_>,
    machine: &Machine,
    table: usize,
    row: RowRef<'_>,
    value: u64,
) {
    let Some(layout) = texts.plan.probe_state.tables.get(table) else { return };
    let tables = lane.field("tables") + layout.at;
    let memory = &mut lane.memory;
    let cells = match (row, &layout.rows) {
        (RowRef::Keyed(keys), Rows::Hashed { log, .. }) => {
            let own = hash(keys);
            let rows = (0..PROBES).map(|n| ((own >> (64 - log)) + n) & ((1 << log) - 1));
            let mut found = rows.map(|r| tables + LOST + r * layout.row());
            let Some(at) = found.find(|at| matches!(read(memory, *at, 8), h if h == own || h == 0)) else {
                let lost = read(memory, tables, 8);
                return write(memory, tables, 8, lost + 1);
            };
            if read(memory, at, 8) == 0 {
                write(memory, at, 8, own);
                keys.iter().enumerate().for_each(|(i, k)| write(memory, at + 8 + 8 * i as u64, 8, *k));
            }
            at + 8 + 8 * keys.len() as u64
        }
        (RowRef::At(row), _) => tables + own_copy(texts, machine) + u64::from(row) * layout.row(),
        (RowRef::Keyed(_), Rows::Known(_)) => return,
    };
    let mut add = |cell: u64, more: u64| {
        let sum = read(memory, cells + 8 * cell, 8).wrapping_add(more);
        write(memory, cells + 8 * cell, 8, sum);
    };
    let sum = match layout.aggregate {
        Aggregate::Count => return add(0, 1),
        Aggregate::Hist | Aggregate::Lhist { .. } => {
            return add(layout.aggregate.bucket(value, layout.ty == Scalar::S64) as u64, 1);
        }
        Aggregate::Record { .. } => return,
        Aggregate::Sum => 0,
        Aggregate::Min | Aggregate::Max | Aggregate::Avg => {
            add(0, 1);
            1
        }
    };
    let old = read(memory, cells + 8 * sum, 8);
    let new = match layout.aggregate {
        Aggregate::Min => old.max(!ordered(value, layout.ty)),
        Aggregate::Max => old.max(ordered(value, layout.ty)),
        _ if layout.ty == Scalar::F64 => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
        _ => old.wrapping_add(value),
    };
    write(memory, cells + 8 * sum, 8, new);
}
