//! Probe programs: the tables of hooks and of inserted code, and what they count.

use std::collections::BTreeMap;

use prlx_plan::RecordingRequest;

use crate::rewrite::by_code;
use crate::support::{ELEMENTS, GOOD, THREADS, by_hooks, job, trace};

/// Counts, sums by lane, a maximum with its address, votes, matches and reductions over lanes. Rows of the
/// table `wrong` are what should not be.
const PROGRAM: &str = "
kernel:begin {
    @threads = count();
    if lane != thread % 64 || thread != tid.x { @wrong[1] = count(); }
    if warp != cta * 2 + u64(warp_in_cta) || ntid.x != 100 || nctaid.x != 2 { @wrong[2] = count(); }
    if popc(lanes_below) != lane || leader != (lane == 0) { @wrong[3] = count(); }
    if popc(ballot(lane < 5)) != 5 { @wrong[4] = count(); }
    if lanes_max(lane) - lanes_min(lane) != lanes_sum(u32(1)) - 1 { @wrong[5] = count(); }
    if popc(lanes_same(lane / 4)) != 4 { @wrong[6] = count(); }
}
inst:ld.global { @loads[lane] = count(); @read[line] = sum(size); }
inst:st.global { @stored[lane / 32] = max(in0); @places[address] = count(); }
inst:bar.sync { @barriers = count(); }
inst:atom.global { @atomics[line, opcode] = count(); }
kernel:end { @ended[warp] = count(); }
";

#[test]
fn inserted_programs_have_the_tables_of_hooks() {
    let request = RecordingRequest::of_probe(prlx_probe::program(PROGRAM).unwrap());
    let job = job("good", GOOD);
    let hooks = by_hooks(&job, &request);
    let code = by_code(&job, &request);
    assert_eq!(hooks.1.tallies, code.1.tallies);
    let tables = trace(&hooks);
    let rows = |name: &str| -> BTreeMap<Vec<u64>, u64> {
        let at = tables.modules[0].tables.iter().position(|table| table.name == name).unwrap();
        let table = tables.tallies.iter().find(|table| table.table as usize == at);
        table
            .map(|table| table.rows.iter().map(|row| (row.key.clone(), row.cells[0])).collect())
            .unwrap_or_default()
    };
    assert_eq!(rows("wrong"), BTreeMap::new());
    assert_eq!(rows("threads")[&Vec::new()], u64::from(2 * THREADS));
    // Lane l loads an element in each wave that has it.
    let elements =
        |lane: u64| (0..2 * THREADS).filter(move |i| u64::from(i % THREADS % 64) == lane && *i < ELEMENTS);
    let loads: BTreeMap<Vec<u64>, u64> =
        (0..64).map(|lane| (vec![lane], elements(lane).count() as u64)).collect();
    assert_eq!(rows("loads"), loads);
    assert_eq!(rows("read").values().sum::<u64>(), 4 * u64::from(ELEMENTS));
    assert_eq!(rows("places").len(), ELEMENTS as usize);
    assert_eq!(rows("ended").values().sum::<u64>(), u64::from(2 * THREADS));
    assert_eq!(rows("barriers")[&Vec::new()], u64::from(2 * THREADS));
    assert_eq!(rows("atomics").len(), 2);
}
