//! What launches change in memory, on the stand-in for the driver: as the host finds it, wherever memory
//! lies.

use prlx_driver::cuda::Library;
use prlx_driver::cuda::memory_changes::{ChangeFinder, PTX};
use prlx_driver::memory_changes::{BLOCK, MemoryChanges, RangeChanges, block_hash, block_infos};

use crate::turn;

/// Finds what `work` changes in this memory behind these pointers, which are offsets in it, and whether it
/// must be what the host finds in ranges with these sizes. `most` bytes are copied.
fn check(most: u64, memory: &[u8], pointers: &[(usize, [usize; 2])], changes: &[(usize, u8)]) {
    let _turn = turn::take();
    let library = Library::open().unwrap();
    let device = library.device(0).unwrap();
    let context = library.retain_primary_context(device).unwrap();
    library.set_current_context(context).unwrap();
    let finder = ChangeFinder::new(library, context, 0, PTX.as_bytes(), most).unwrap();
    let at = library.alloc(memory.len()).unwrap();
    library.write(at, memory).unwrap();
    let params: Vec<u8> = pointers.iter().flat_map(|(from, _)| (at + *from as u64).to_le_bytes()).collect();
    let launch = finder.before(&params, &[(0, params.len())]).unwrap();
    let mut after = memory.to_vec();
    for (i, byte) in changes {
        after[*i] = *byte;
        library.write(at + *i as u64, &[*byte]).unwrap();
    }
    let found = finder.after(&launch).unwrap();
    library.release_primary_context(device).unwrap();
    let range = |(i, (from, [size, copied])): (usize, &(usize, [usize; 2]))| {
        let content = [memory, &after].map(|bytes| &bytes[*from..from + copied]);
        let hashes: Vec<u64> = content[0].chunks(BLOCK).map(block_hash).collect();
        let sizes = [8 * i as u64, *size as u64, *copied as u64];
        let mut range = RangeChanges::new(sizes, &hashes, &block_infos(content[0], content[1]));
        range.add(0, content[0], content[1]);
        range
    };
    assert_eq!(found, MemoryChanges::new(pointers.iter().enumerate().map(range).collect()));
}

fn bytes(n: usize) -> Vec<u8> {
    (0..n as u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect()
}

#[test]
fn the_device_finds_what_the_host_finds() {
    let memory = bytes(300_000);
    let changes = [(0, 9), (5000, 1), (5001, 2), (150_000, 3), (299_999, 4)];
    for from in [0, 1, 4, 8, 12, 4999, 150_001, 299_993, 299_999] {
        check(1 << 30, &memory, &[(from, [300_000 - from; 2])], &changes);
    }
    // Two ranges of one allocation, one pointer twice, and only a part of what lies behind them.
    check(1 << 30, &memory, &[(1000, [299_000; 2]), (0, [1000; 2]), (1000, [299_000; 2])], &changes);
    check(6000, &memory, &[(1000, [299_000, 5000]), (0, [1000; 2])], &changes);
}

#[test]
fn nothing_changes_without_pointers_or_work() {
    check(1 << 30, &bytes(5000), &[(0, [5000; 2])], &[]);
    check(1 << 30, &bytes(5000), &[], &[(7, 7)]);
}
