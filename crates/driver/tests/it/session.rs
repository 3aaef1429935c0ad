//! A session's folder: files of processes that never touch each other, read with and without an index.

use std::fs;
use std::path::PathBuf;

use prlx_driver::session::{INDEX, ProcessEntry, Session, SessionIndex, create_process_file, this_process};
use prlx_trace::ids::Nanos;
use prlx_trace::kernel::{Function, Module};
use prlx_trace::{Launch, Process, Streams, WarpSize, Writer};

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A file of a process with so many launches, the last of which was not recorded; it is ended or not.
fn write(folder: &std::path::Path, process: &Process, launches: u64, ended: bool) -> PathBuf {
    let (file, path) = create_process_file(folder, process).unwrap();
    let mut to = Writer::new(file, "test", Some(process)).unwrap();
    let kernel = Function { name: "k".into(), kernel: true, ..Function::default() };
    let module = to.module(&Module { functions: vec![kernel], ..Module::default() }).unwrap();
    for number in 0..launches {
        let skipped = (number + 1 == launches).then(|| "no PTX".to_owned());
        let launch = Launch { module, number, warp_size: WarpSize::W32, skipped, ..Launch::default() };
        to.launch(&launch, &Streams::default()).unwrap();
    }
    if ended {
        to.finish().unwrap();
    }
    path
}

#[test]
fn processes_come_by_rank_and_start() {
    let folder = folder("session-order");
    let process =
        |pid, rank, started| Process { pid, rank, started, host: "no/de 1".into(), ..Process::default() };
    let all = [
        process(7, None, Nanos(3)),
        process(8, Some(1), Nanos(2)),
        process(9, Some(0), Nanos(5)),
        process(7, None, Nanos(1)),
    ];
    let paths = all.each_ref().map(|p| write(&folder, p, 2, p.pid != 8));
    // A process that replaces itself has two files.
    assert!(paths[0].ends_with("no_de_1.7.prlx") && paths[3].ends_with("no_de_1.7.1.prlx"), "{paths:?}");
    fs::write(folder.join("notes.txt"), "not ours").unwrap();
    fs::write(folder.join("torn.prlx"), "PRLX").unwrap();

    let session = Session::open(&folder).unwrap();
    let found: Vec<Option<Process>> = session.files.iter().map(|f| f.process.clone()).collect();
    let want = [2, 1, 3, 0].map(|i| Some(all[i].clone()));
    assert_eq!((&found[..4], &found[4], session.index), (&want[..], &None, None));

    let session = Session::open(&folder).unwrap();
    let entries: Vec<ProcessEntry> =
        session.files.iter().map(|f| ProcessEntry::new(f, &session.read_index(f))).collect();
    assert_eq!((entries[0].launches, entries[0].recorded, entries[0].rank), (2, 1, Some(0)));
    assert_eq!(entries[0].skipped.get("no PTX"), Some(&1));
    assert_eq!(entries[0].incomplete, None);
    assert!(entries[1].incomplete.as_ref().is_some_and(|why| why.contains("cut off")), "{entries:?}");
    assert!(entries[4].incomplete.as_ref().is_some_and(|why| why.contains("no recording")), "{entries:?}");
    assert_eq!(session.read(&session.files[1]).unwrap().launches.len(), 2);

    let index = SessionIndex::new(vec!["app".into()], None, Some(9), prlx_trace::Nanos(12), entries);
    index.write(&folder).unwrap();
    assert_eq!(Session::open(&folder).unwrap().index, Some(index));
}

#[test]
fn a_file_is_a_session_of_one() {
    let folder = folder("session-file");
    let path = write(&folder, &this_process(), 1, true);
    let session = Session::open(&path).unwrap();
    assert_eq!((session.files.len(), session.index.is_none()), (1, true));
    let trace = session.read(&session.files[0]).unwrap();
    let process = trace.process.unwrap();
    assert_eq!(process.pid, std::process::id());
    assert_eq!(process.command, std::env::args().collect::<Vec<_>>());
    assert!(!process.host.is_empty(), "{process:?}");
}

#[test]
fn what_is_no_session_is_refused() {
    let folder = folder("session-none");
    let e = Session::open(&folder).unwrap_err();
    assert!(e.message.contains("without a recording"), "{e}");
    for (text, what) in [
        ("{", "EOF"),
        ("{\"format\":\"prlx-report\"", "EOF"),
        (
            "{\"format\":\"x\",\"version\":1,\"command\":[],\"code\":0,\"signal\":null,\"nanos\":0,\"processes\":[]}",
            "not a `prlx-session`",
        ),
        (
            "{\"format\":\"prlx-session\",\"version\":2,\"command\":[],\"code\":0,\"signal\":null,\"nanos\":0,\"processes\":[]}",
            "this prlx reads 1",
        ),
    ] {
        fs::write(folder.join(INDEX), text).unwrap();
        let e = Session::open(&folder).unwrap_err();
        assert!(e.message.contains(what), "{e}");
    }
    let e = Session::open(&folder.join("nothing")).unwrap();
    assert!(e.read(&e.files[0]).unwrap_err().message.starts_with("cannot read "));
}
