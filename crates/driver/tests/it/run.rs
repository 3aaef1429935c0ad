//! Running a job on a fake device: data goes there and comes back, and is compared as the launch file asks.

use crate::fake::{self, Fake};
use prlx_driver::job::Expect;
use prlx_driver::run::compare;
use prlx_driver::{Error, ErrorKind, Job, LaunchStats, npy, run};
use prlx_trace::Nanos;
use prlx_trace::kernel::Scalar;

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.visible .entry add(.param .u16 n, .param .u64 x, .param .u64 y) { ret; }";

fn job() -> Job {
    let text = "module = 'k.ptx'\ngrid = 1\nblock = 32\n[[arg]]\nvalue = 3\n[[arg]]\ntype = 'u8'\niota = 1\nlen = 3\n
[[arg]]\ntype = 'u8'\nuninit = true\nlen = 3\nout = 'sum.npy'\nexpect = 'want.npy'\natol = 1";
    let want = npy::write(&npy::Array { ty: Scalar::U8, shape: vec![3], bytes: vec![4, 6, 7] });
    Job::parse("a.toml", text, &|f| Ok(if f == "k.ptx" { PTX.as_bytes().to_vec() } else { want.clone() }))
        .unwrap()
}

/// y[i] = x[i] + n
fn add(memory: &mut fake::Memory, params: &[u8]) {
    let n = params[0];
    let x = u64::from_le_bytes(params[8..16].try_into().unwrap());
    let y = u64::from_le_bytes(params[16..24].try_into().unwrap());
    let sum: Vec<u8> = memory.blocks[&x].iter().map(|v| v + n).collect();
    memory.set(y, &sum);
}

#[test]
fn outputs_are_compared_and_saved() {
    let mut device = Fake::new(|memory, text, config, params| {
        assert_eq!((text, config.block.x, params.len()), (PTX, 32, 24));
        add(memory, params);
        Ok(LaunchStats { warp_instructions: 12, nanos: Nanos(1) })
    });
    let mut job = job();
    job.folder = std::env::temp_dir().join(format!("prlx-run-{}", std::process::id()));
    let got = run(&mut device, &job).unwrap();
    assert!(device.memory.blocks.is_empty());
    assert_eq!(got.stats.warp_instructions, 12);
    let [sum] = &got.outputs[..] else { panic!() };
    assert_eq!((sum.name.as_str(), &sum.bytes), ("y", &vec![4, 5, 6]));
    let comparison = sum.expect.as_ref().unwrap();
    assert_eq!((comparison.wrong, comparison.worst), (0, 1.0));
    assert_eq!(sum.save().unwrap_err().kind, ErrorKind::File);
    std::fs::create_dir_all(&job.folder).unwrap();
    sum.save().unwrap();
    let saved = npy::read(&std::fs::read(job.folder.join("sum.npy")).unwrap()).unwrap();
    std::fs::remove_dir_all(&job.folder).unwrap();
    assert_eq!((saved.shape, saved.bytes), (vec![3], vec![4, 5, 6]));
}

#[test]
fn a_fault_gives_memory_back() {
    let mut device = Fake::new(|_, _, _, _| Err(Error::new(ErrorKind::Fault, "out of bounds")));
    assert_eq!(run(&mut device, &job()).unwrap_err().message, "out of bounds");
    assert!(device.memory.blocks.is_empty());
    device.limit = 2;
    assert!(run(&mut device, &job()).unwrap_err().message.starts_with("argument `x`, 3 bytes: "));
    assert!(device.memory.blocks.is_empty());
}

#[test]
fn comparisons() {
    let floats = |v: &[f32]| v.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<u8>>();
    let wrong = |got: &[f32], want: &[f32], rtol, atol| {
        let expect = Expect { file: "w".into(), bytes: floats(want), rtol, atol };
        compare(Scalar::F32, &floats(got), &expect).wrong
    };
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    assert_eq!(wrong(&[1.0, nan, inf, -0.0], &[1.0, -nan, inf, 0.0], 0.0, 0.0), 0);
    assert_eq!(wrong(&[nan, 1.0, inf, 1.0], &[1.0, nan, -inf, inf], 1.0, 1.0), 4);
    assert_eq!(wrong(&[100.5, 99.0], &[100.0, 100.0], 0.005, 0.0), 1);
    assert_eq!(wrong(&[0.5], &[0.0], 0.0, 0.5), 0);
    let ints = |a: i64, b: i64, atol| {
        let expect = Expect { file: "w".into(), bytes: b.to_le_bytes().into(), rtol: 0.0, atol };
        compare(Scalar::S64, &a.to_le_bytes(), &expect).wrong
    };
    // These two are the same binary64.
    assert_eq!(ints(1 << 60, (1 << 60) + 1, 0.0), 1);
    assert_eq!(ints(-5, -4, 1.0), 0);
}
