//! Files of PRLX 0.x: old files are read, what is written is read, hostile ones are refused with their place.

use std::fs;
use std::path::{Path, PathBuf};

use prlx_legacy::v1::{
    Event, EventKind, File, Flags, Head, Header, HistoryEntry, Ring, SessionEntry, SiteEntry, Snapshot, Warp,
    Writer, dump,
};
use prlx_trace::Error;
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces/v1")
}

fn golden(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

fn text(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    dump(&mut out, &File::open(bytes).unwrap()).unwrap();
    String::from_utf8(out).unwrap()
}

/// Everything that a file holds is looked at; written as it was read.
fn rewritten(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let file = File::open(bytes)?;
    let mut header = file.header.clone();
    (header.history_offset, header.snapshot_offset) = (0, 0);
    let mut out = Writer::new(Vec::new(), &header).unwrap();
    let mut cursor = file.cursor()?;
    for w in 0..header.warps {
        let warp = Warp::new(cursor.events(w..w + 1)?, header.flags.has(Flags::COMPACT));
        let events: Vec<Event> = warp.events().iter().map(Event::of).collect();
        out.warp(warp.head, &events).unwrap();
    }
    let (mut rings, mut snapshots) = (Vec::new(), Vec::new());
    let swapped = matches!((file.layout.history, file.layout.snapshots), (Some(h), Some(s)) if s.at < h.at);
    for histories in [!swapped, swapped] {
        for w in 0..header.warps {
            match histories {
                true => rings.extend(cursor.history(w)?),
                false => snapshots.extend(cursor.snapshots(w)?),
            }
        }
    }
    rings.iter().for_each(|r| out.history(r).unwrap());
    snapshots.iter().for_each(|r| out.snapshots(r).unwrap());
    Ok(out.finish().unwrap())
}

/// Made from the published layout alone, and never made again. (When the dump changes, BLESS=1 makes the
/// texts again.)
#[test]
fn old_files_are_read() {
    for name in ["plain", "offsets", "compact", "packed"] {
        let made = text(&golden(&format!("{name}.prlx")));
        let path = folder().join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &made).unwrap();
        }
        assert_eq!(made, fs::read_to_string(&path).unwrap(), "{name}");
    }
}

#[test]
fn old_files_are_written_as_they_are() {
    let compact = golden("compact.prlx");
    assert_eq!(rewritten(&compact).unwrap(), compact);
    // In order of their numbers, a wrapped ring's entries lie elsewhere than they did.
    let plain = golden("plain.prlx");
    let again = rewritten(&plain).unwrap();
    assert_eq!(again.len(), plain.len());
    assert_eq!(text(&again), text(&plain));
    assert_eq!(rewritten(&again).unwrap(), again);
    let packed = rewritten(&golden("packed.prlx")).unwrap();
    assert_eq!(text(&packed), text(&golden("packed.prlx")));
}

#[test]
fn every_cut_is_refused() {
    for name in ["plain.prlx", "compact.prlx", "packed.prlx"] {
        let file = golden(name);
        for n in 0..file.len() {
            let e = rewritten(&file[..n]).expect_err("cut");
            assert!(!e.field.is_empty() && !e.what.is_empty(), "{name} cut at {n}: {e}");
        }
    }
}

/// Any byte may be anything: what is read is bounded, and nothing panics.
#[test]
fn changed_bytes_are_read_or_refused() {
    for name in ["plain.prlx", "offsets.prlx", "compact.prlx", "packed.prlx"] {
        let file = golden(name);
        for i in 0..file.len() {
            for bit in [0x01, 0x80, 0xff] {
                let mut bad = file.clone();
                bad[i] ^= bit;
                if let Ok(f) = File::open(&bad) {
                    let _ = dump(&mut std::io::sink(), &f);
                }
            }
        }
    }
}

#[test]
fn hostile_headers_are_refused_with_their_field() {
    let cases: &[(usize, u32, u64, &str)] = &[
        (0, 1, 0, "magic"),
        (8, 2, 8, "version"),
        (12, 0x34, 12, "flags"),
        (116, 0, 116, "total_warp_slots"),
        (116, u32::MAX, 120, "events_per_warp"),
        (120, u32::MAX, 120, "events_per_warp"),
        (140, u32::MAX, 140, "history_depth"),
        (144, 160, 144, "history_section_offset"),
        (144, 0x1001, 144, "history_section_offset"),
        (144, 0xffff_fff0, 140, "history_depth"),
        (152, 5, 152, "snapshot_depth"),
        (156, 304, 156, "snapshot_section_offset"),
        (156, 320, 156, "snapshot_section_offset"),
    ];
    let file = golden("plain.prlx");
    for (at, value, offset, field) in cases {
        let mut bad = file.clone();
        bad[*at..at + 4].copy_from_slice(&value.to_le_bytes());
        let e = File::open(&bad).expect_err(field);
        assert_eq!((e.offset, e.field.as_str()), (*offset, format!("Header.{field}").as_str()), "{e}");
    }
    // The flag says that events have 8 bytes, and there is room for events of 16.
    let mut wide = Header { warps: 1, events_per_warp: 4, ..File::open(&file).unwrap().header };
    (wide.flags, wide.history_depth, wide.snapshot_depth) = (Flags(Flags::COMPACT), 0, 0);
    let bytes = [&wide.bytes()[..], &[0; 16 + 4 * 16]].concat();
    let e = File::open(&bytes).unwrap_err();
    assert_eq!((e.offset, e.field.as_str()), (12, "Header.flags"), "{e}");
    assert!(File::open(&bytes[..160 + 16 + 4 * 8]).is_ok());
    // Everything at its largest does not wrap around.
    let mut bad = file.clone();
    bad[116..124].fill(0xff);
    assert!(File::open(&bad).unwrap_err().what.contains("can be counted"));
    assert!(File::open(b"GDDBGGPU\0 and more").unwrap_err().what.contains("never published"));
}

#[test]
fn a_ring_that_lies_about_its_depth_is_refused() {
    let mut file = golden("plain.prlx");
    let at = File::open(&file).unwrap().layout.history.unwrap().at as usize;
    file[at + 4] = 9;
    let e = rewritten(&file).unwrap_err();
    assert_eq!((e.offset, e.field.as_str()), (at as u64 + 4, "history[0].depth"));
}

/// A head whose counts its entries do not bear out: the ring is read, and said not to be believed, with its
/// place.
#[test]
fn a_ring_whose_head_lies_is_not_to_be_believed() {
    let entry = |seq| HistoryEntry { site: 7, value: seq, seq };
    let made = |depth: u32, written: u32, seqs: &[u32]| {
        let mut header = Header { warps: 1, warps_per_block: 1, events_per_warp: 1, ..Header::default() };
        header.set_kernel("k");
        (header.flags.0, header.history_depth) = (Flags::HISTORY, depth);
        let mut out = Writer::new(Vec::new(), &header).unwrap();
        out.warp(Head::default(), &[]).unwrap();
        let entries = seqs.iter().copied().map(entry).collect();
        out.history(&Ring { written, entries, ..Ring::default() }).unwrap();
        out.finish().unwrap()
    };
    let read = |bytes: &[u8]| File::open(bytes).unwrap().cursor().unwrap().history(0).unwrap().unwrap();
    let head = 160 + 32;
    let with = |mut bytes: Vec<u8>, at: usize, value: u32| {
        bytes[head + at..head + at + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    // Numbered from 0 or from 1; the next place within the ring, or counted on.
    let whole = made(4, 4, &[0, 1, 2, 3]);
    for good in [
        whole.clone(),
        made(4, 3, &[0, 1, 2]),
        made(4, 3, &[1, 2, 3]),
        made(4, 9, &[5, 6, 7, 8]),
        made(4, 0, &[]),
        with(made(4, 9, &[5, 6, 7, 8]), 0, 9),
    ] {
        assert_eq!(read(&good).wrong, None);
    }
    for (bad, at, field, what) in [
        (with(whole.clone(), 0, 70), 0, "write_idx", "70, in a ring of 4"),
        (with(whole.clone(), 8, u32::MAX), 8, "total_writes", "its last entry has number 3"),
        (with(whole.clone(), 8, 6), 8, "total_writes", "its last entry has number 3"),
        (with(whole.clone(), 8, 2), 8, "total_writes", "there are more entries"),
        (with(made(4, 2, &[0, 1]), 8, 4), 8, "total_writes", "do not follow each other"),
        (made(4, 4, &[0, 1, 1, 2]), 8, "total_writes", "do not follow each other"),
        (made(4, 4, &[0, 1, 2, u32::MAX]), 8, "total_writes", "do not follow each other"),
    ] {
        let e = read(&bad).wrong.expect(what);
        assert_eq!((e.offset, e.field), (head as u64 + at, format!("history[0].{field}")), "{what}");
        assert!(e.what.contains(what), "{}", e.what);
        assert!(
            text(&bad)
                .contains(&format!("  not to be believed: at byte {}, history[0].{field}", head as u64 + at))
        );
    }
}

/// A frame that says it holds gigabytes costs no more than what it holds.
#[test]
fn bombs_are_refused_before_they_are_unpacked() {
    let mut bad = golden("packed.prlx");
    bad[120..124].copy_from_slice(&0x1000_0000u32.to_le_bytes());
    assert_eq!(File::open(&bad).unwrap_err().field, "Header.events_per_warp");
}

#[test]
fn sessions_stay_in_their_folder() {
    let entry = |file: &str| {
        let text = format!(
            r#"[{{"launch":0,"kernel":"k","file":{file:?},"grid":[1,1,1],"block":[32,1,1],"more":1}}]"#
        );
        serde_json::from_str::<Vec<SessionEntry>>(&text).unwrap().remove(0)
    };
    assert_eq!(entry("k_0.prlx").places().unwrap(), ["k_0.prlx"]);
    assert_eq!(entry("run/k_0.prlx").places().unwrap(), ["run/k_0.prlx", "k_0.prlx"]);
    assert_eq!(entry("/tmp/run/k_0.prlx").places().unwrap(), ["k_0.prlx"]);
    assert_eq!(entry("C:\\run\\k_0.prlx").places().unwrap(), ["k_0.prlx"]);
    assert_eq!(entry("../../etc/passwd").places().unwrap(), ["passwd"]);
    assert!(entry("a/..").places().unwrap_err().contains("names no file"));
    assert!(entry("").places().is_err());
}

#[test]
fn site_tables_are_read() {
    let text =
        br#"[{"site_id":4294967295,"filename":"k.cu","function":"f","line":3,"column":0,"event_type":0}]"#;
    let sites = serde_json::from_slice::<Vec<SiteEntry>>(text).unwrap();
    assert_eq!((sites[0].site_id, sites[0].line, sites[0].ordinal), (u32::MAX, 3, 0));
    assert!(serde_json::from_str::<Vec<SiteEntry>>(r#"[{"site_id":-1}]"#).is_err());
}

/// As PRLX's pass made it for a real kernel.
#[test]
fn ids_are_hashes_of_places() {
    assert_eq!(prlx_legacy::v1::site_id(""), 0x811c_9dc5);
    assert_eq!(prlx_legacy::v1::site_id("a"), 0xe40c_292c);
    assert_eq!(prlx_legacy::v1::kernel_hash("a"), 0xaf63_dc4c_8601_ec8c);
    assert!(EventKind::ALL.iter().all(|k| EventKind::of(*k as u8) == Some(*k)));
}

fn ring<T: Clone>(depth: u32, entries: Vec<T>) -> Ring<T> {
    Ring {
        written: entries.len() as u32,
        entries: entries.into_iter().take(depth as usize).collect(),
        ..Ring::default()
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        warps in prop::collection::vec(prop::collection::vec(any::<[u8; 16]>(), 0..6), 1..5),
        packed: bool,
        depth in 0u32..4,
    ) {
        let packed = if packed { Flags::PACKED } else { 0 };
        let mut header = Header {
            flags: Flags(packed | Flags::HISTORY | Flags::SNAPSHOT),
            warps: warps.len() as u32,
            events_per_warp: 6,
            history_depth: depth,
            snapshot_depth: depth,
            ..Header::default()
        };
        header.set_kernel("kernel");
        let mut out = Writer::new(Vec::new(), &header).unwrap();
        for events in &warps {
            let head = Head { events: events.len() as u32, ..Head::default() };
            let events: Vec<Event> = events.iter().map(Event::of).collect();
            out.warp(head, &events).unwrap();
        }
        if depth > 0 {
            let h = ring(depth, vec![HistoryEntry { site: 1, value: 2, seq: 3 }]);
            let s = ring(depth, vec![Snapshot { site: 1, lhs: [7; 32], ..Snapshot::default() }]);
            warps.iter().for_each(|_| out.history(&h).unwrap());
            warps.iter().for_each(|_| out.snapshots(&s).unwrap());
        }
        let bytes = out.finish().unwrap();
        prop_assert_eq!(rewritten(&bytes).unwrap(), bytes.clone());
        let file = File::open(&bytes).unwrap();
        let mut cursor = file.cursor().unwrap();
        let stride = file.layout.events.stride as usize;
        let parts: Vec<u8> = cursor.events(0..header.warps).unwrap().to_vec();
        for (part, events) in parts.chunks(stride).zip(&warps) {
            prop_assert_eq!(&Warp::new(part, false).events()[..], &events[..]);
        }
    }
}
