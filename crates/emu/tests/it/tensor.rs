//! Tensor copies: what the corpus does not show. Maps that are wrong, tiles that are not there, copies that
//! end late.

use prlx_driver::tensor_map::{Swizzle, TensorMap};
use prlx_driver::{DevicePtr, Driver, Error, ErrorKind, LaunchConfig, ModuleCode};
use prlx_emu::{Emulator, Options};
use prlx_trace::Dim3;
use prlx_trace::kernel::Scalar;

/// A kernel of one warp that is given a tensor map and the address of 4096 words, over which the map is.
struct Case {
    body: String,
    map: TensorMap,
}

const WORDS: u64 = 4096;

/// 64 rows of 64 words, tiles of 8 by 32.
fn map() -> TensorMap {
    TensorMap {
        ty: Scalar::U32,
        sizes: vec![64, 64],
        strides: vec![256],
        tile: vec![32, 8],
        steps: vec![1, 1],
        swizzle: Swizzle::None,
        nan: false,
    }
}

const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;\n";

/// Loads the tile at 32, 8 into `tile`.
fn load() -> String {
    "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;\n\
     @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1, {32, 8}], [bar];\n"
        .into()
}

/// Stores it at 0, 0.
const STORE: &str = "@%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {0, 0}], [tile];\n\
                     @%p0 cp.async.bulk.commit_group;\n";

impl Case {
    fn new(body: impl Into<String>) -> Case {
        Case { body: body.into(), map: map() }
    }
    fn text(&self) -> String {
        format!(
            ".version 8.5\n.target sm_90a\n.address_size 64\n\
             .visible .entry k(.param .align 64 .b8 map[128], .param .u64 p)\n{{\n\
             .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n\
             .shared .align 1024 .b8 tile[8192]; .shared .align 8 .b8 bar[8];\n\
             mov.b64 %rd0, map; cvta.param.u64 %rd1, %rd0; ld.param.u64 %rd2, [p];\n\
             mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0;\n\
             @%p0 mbarrier.init.shared.b64 [bar], 1; bar.sync 0;\n{}\nret;\n}}\n",
            self.body
        )
    }
    /// The words after a run; before it they are 0, 1, 2 …
    fn run(&self, seed: u64) -> Result<Vec<u32>, Error> {
        let mut e = Emulator::new(Options { max_steps: 200_000, threads: 1, ..Options::default() });
        let module = e.load(ModuleCode::Ptx(&self.text()))?;
        let at = e.alloc(WORDS * 4, 256)?;
        let bytes: Vec<u8> = (0..WORDS as u32).flat_map(u32::to_le_bytes).collect();
        e.write(at, &bytes)?;
        let mut params = e.tensor_map(at, &self.map)?.to_vec();
        params.extend(at.0.to_le_bytes());
        let one = |x| Dim3 { x, y: 1, z: 1 };
        e.launch(
            module,
            "k",
            &LaunchConfig { grid: one(1), block: one(32), seed, ..LaunchConfig::default() },
            &params,
        )?;
        let mut out = vec![0; bytes.len()];
        e.read(at, &mut out)?;
        Ok(out.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
    }
    fn fails(&self, what: &str) {
        for seed in [0, 1] {
            let e = self.run(seed).expect_err(what);
            assert!(e.message.contains(what), "{what}: {e}");
        }
    }
}

/// Stores each lane's first word of the tile to the lane's word of the buffer.
const SHOW: &str = "shl.b32 %r1, %r0, 2; mov.u32 %r2, tile; add.u32 %r2, %r2, %r1; ld.shared.u32 %r3, [%r2];\n\
                    cvt.u64.u32 %rd3, %r1; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r3;\n";

#[test]
fn a_tile_comes_and_goes() {
    let case = Case::new(format!("{}{WAIT}{STORE} @%p0 cp.async.bulk.wait_group 0;\n", load()));
    for seed in 0..30 {
        let out = case.run(seed).unwrap();
        for (i, &w) in out.iter().enumerate() {
            let (x, y) = (i % 64, i / 64);
            let want = if x < 32 && y < 8 { i + 8 * 64 + 32 } else { i };
            assert_eq!(w as usize, want, "seed {seed} at {x}, {y}");
        }
    }
}

#[test]
fn a_tile_begins_at_16_bytes() {
    for (x, bytes) in [(33, 132), (-3, -12)] {
        let body = load().replace("{32, 8}", &format!("{{{x}, 8}}"));
        Case::new(body).fails(&format!("begins at {x}, {bytes} bytes into a row"));
    }
}

/// A reduction of what is in shared memory, zeros under the fair schedule.
fn reduction(name: &str, at: &str) -> String {
    STORE
        .replace("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor")
        .replace(".bulk_group", &format!(".{name}.bulk_group"))
        .replace("cp.reduce.async.bulk.commit", "cp.async.bulk.commit")
        .replace("{0, 0}", at)
}

#[test]
fn only_loads_begin_before_the_tensor() {
    // Beyond its end all may: nothing is written there.
    for at in ["{64, 0}", "{0, 64}", "{1000000, 3}"] {
        for body in [STORE.replace("{0, 0}", at), reduction("min", at)] {
            let out = Case::new(format!("{body}@%p0 cp.async.bulk.wait_group 0;\n")).run(0).unwrap();
            assert!(out.iter().copied().eq(0..WORDS as u32), "{body}");
        }
    }
    for (at, what) in [("{-4, 0}", "-4 along dimension 0"), ("{0, -1}", "-1 along dimension 1")] {
        for body in [STORE.replace("{0, 0}", at), reduction("add", at)] {
            Case::new(body)
                .fails(&format!("a tile that begins at {what}: only a load may begin before the tensor"));
        }
        let out = Case::new(format!("{}{WAIT}{SHOW}", load().replace("{32, 8}", at))).run(0).unwrap();
        assert_eq!(out[0], 0, "{at}");
    }
}

#[test]
fn reductions_are_those_of_the_type() {
    use Scalar::{Bf16, F16, F32, F64, S32, S64, U8, U16, U32, U64};
    let types = [U8, U16, U32, S32, U64, S64, F16, Bf16, F32, F64];
    // As an H200 takes them (bench/runs/2026-11-20-h200-tensor-copies.md).
    let taken: [(&str, &[Scalar]); 8] = [
        ("add", &[U32, S32, U64, F16, Bf16, F32, F64]),
        ("min", &[U32, S32, U64, S64, F16, Bf16]),
        ("max", &[U32, S32, U64, S64, F16, Bf16]),
        ("inc", &[U32]),
        ("dec", &[U32]),
        ("and", &[U32, S32, U64]),
        ("or", &[U32, S32, U64]),
        ("xor", &[U32, S32, U64]),
    ];
    for (name, taken) in taken {
        for ty in types {
            let tile = vec![32, 1];
            let case = Case { body: reduction(name, "{0, 0}"), map: TensorMap { ty, tile, ..map() } };
            match (case.run(0), taken.contains(&ty)) {
                (Ok(_), true) => {}
                (Err(e), false) => {
                    let why = format!("there is no such reduction of {}", ty.name());
                    assert!(e.message.contains(&why), "{name}: {e}");
                }
                (got, _) => panic!("{name} of {}: {got:?}", ty.name()),
            }
        }
    }
    // The greatest of 16-bit numbers: words hold 0 and their own number, as halves that count from the least
    // normal one on.
    let fill = "shl.b32 %r1, %r0, 2; mov.u32 %r2, tile; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], 0x00080008; bar.sync 0;\n";
    for ty in [F16, Bf16] {
        let tile = vec![32, 1];
        let case = Case {
            body: format!("{fill}{}", reduction("max", "{0, 0}")),
            map: TensorMap { ty, tile, ..map() },
        };
        let out = case.run(0).unwrap();
        let want = |i: u32| if i < 16 { i.max(8) | 8 << 16 } else { i };
        assert!(out.iter().copied().eq((0..WORDS as u32).map(want)), "{}: {:x?}", ty.name(), &out[..40]);
    }
}

#[test]
fn loads_and_stores_end_late() {
    // Without the wait for the load, what was in shared memory is seen; at seed 0 it is there at once.
    let hasty = Case::new(format!("{}bar.sync 0;\n{SHOW}", load()));
    let want: Vec<u32> = (0..32).map(|i| 8 * 64 + 32 + i).collect();
    assert_eq!(hasty.run(0).unwrap()[..32], want);
    let early = (1..40).filter(|&s| hasty.run(s).unwrap()[..32] != want).count();
    assert!(early > 10, "{early} of 39 schedules see it");
    // A tile that is overwritten before its store has read it: `.read` waits for just that.
    let spoil = "mov.u32 %r4, tile; shl.b32 %r1, %r0, 2; add.u32 %r4, %r4, %r1; st.shared.u32 [%r4], 7;\n";
    let spoilt = |wait: &str| {
        let case = Case::new(format!("{}{WAIT}{STORE}{wait}bar.sync 0;\n{spoil}", load()));
        (1..40).filter(|&s| case.run(s).unwrap()[..32] != want).count()
    };
    assert!(spoilt("") > 10);
    assert_eq!(spoilt("@%p0 cp.async.bulk.wait_group.read 0;\n"), 0);
    assert_eq!(spoilt("@%p0 cp.async.bulk.wait_group 0;\n"), 0);
    assert!(spoilt("@%p0 cp.async.bulk.wait_group 1;\n") > 10);
    // What was written is seen only behind the wait that is not `.read`.
    let look = "@%p0 ld.global.u32 %r5, [%rd2]; @%p0 st.global.u32 [%rd2+8192], %r5;\n";
    let seen = |wait: &str| {
        let case = Case::new(format!("{}{WAIT}{STORE}{wait}{look}", load()));
        (1..40).filter(|&s| case.run(s).unwrap()[2048] == want[0]).count()
    };
    assert_eq!(seen("@%p0 cp.async.bulk.wait_group 0;\n"), 39);
    assert!(seen("@%p0 cp.async.bulk.wait_group.read 0;\n") < 30);
}

#[test]
fn copies_of_lanes_end_late() {
    let copy = "shl.b32 %r1, %r0, 2; mov.u32 %r2, tile; add.u32 %r2, %r2, %r1; cvt.u64.u32 %rd3, %r1;\n\
                add.u64 %rd3, %rd2, %rd3; cp.async.ca.shared.global [%r2], [%rd3+4096], 4;\n";
    let want: Vec<u32> = (1024..1056).collect();
    let wrong = |wait: &str| {
        let case = Case::new(format!("{copy}{wait}{SHOW}"));
        assert_eq!(case.run(0).unwrap()[..32], want);
        (1..40).filter(|&s| case.run(s).unwrap()[..32] != want).count()
    };
    assert_eq!(wrong("cp.async.wait_all;\n"), 0);
    assert_eq!(wrong("cp.async.commit_group; cp.async.wait_group 0;\n"), 0);
    assert!(wrong("cp.async.commit_group; cp.async.wait_group 1;\n") > 20);
    // An arrival waits for the copies before it; the count of one is that of the lane which asks.
    let arrive = "@%p0 cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n";
    let one = "@%p0 bra A; bra B; A:\n";
    let first = |wait: &str| {
        let case = Case::new(format!("{one}{copy}{arrive}{wait}{SHOW}B:\n"));
        (1..40).filter(|&s| case.run(s).unwrap()[0] != 1024).count()
    };
    assert_eq!(first(WAIT), 0);
    assert!(first("") > 10);
    // The counted form adds one before it arrives: the phase ends with the arrival of the count itself.
    let counted = arrive.replace(".noinc", "");
    let both =
        Case::new(format!("{one}{copy}{counted}mbarrier.arrive.shared.b64 _, [bar];\n{WAIT}{SHOW}B:\n"));
    assert!((0..40).all(|s| both.run(s).unwrap()[0] == 1024));
}

#[test]
fn wrong_maps_and_places_are_named() {
    let good = load();
    Case::new(good.replace("[%rd1,", "[%rd1+32,")).fails("which is not a multiple of 64");
    Case::new(good.replace("[%rd1,", "[%rd2,")).fails("these 128 bytes are no tensor map of this device");
    Case::new(good.replace("[%rd1,", "[%rd2+65536,")).fails("where there are no 128 bytes");
    Case::new(good.replace("[tile]", "[tile+64]")).fails("which is not a multiple of 128");
    Case::new(good.replace("[tile]", "[tile+7680]")).fails("1024 bytes at 0x1e00, which are not all there");
    Case::new(good.replace("2d", "1d").replace("{32, 8}", "{32}"))
        .fails("it has 2 dimensions, and 1 coordinates");
    // A tensor that is larger than its buffer; the tile lies in the part that is not there.
    let long = TensorMap { sizes: vec![64, 65], ..map() };
    Case { map: long, body: good.replace("32, 8", "0, 60") }
        .fails("128 bytes of the tensor at 0x7f2000004000, which are not all there: the nearest allocation");
    let huge = TensorMap { tile: vec![256, 256], ..map() };
    Case { map: huge, body: good.clone() }
        .fails("a tile of 262144 bytes; there are 8200 bytes of shared memory");
    let narrow = TensorMap { swizzle: Swizzle::B128, tile: vec![16, 8], ..map() };
    Case { map: narrow, body: good }.fails("a swizzle of rows that are not as wide as it");
}

#[test]
fn what_cuda_would_not_encode_is_not() {
    let wrong = [
        (
            TensorMap { sizes: vec![], strides: vec![], tile: vec![], steps: vec![], ..map() },
            "1 to 5 dimensions",
        ),
        (TensorMap { ty: Scalar::F16x2, ..map() }, "no tensor maps of f16x2"),
        (TensorMap { strides: vec![], ..map() }, "has 0 numbers where a tensor of 2 dimensions needs 1"),
        (TensorMap { sizes: vec![0, 64], ..map() }, "0 is not between 1 and 2^32"),
        (TensorMap { strides: vec![264], ..map() }, "264 bytes is not a multiple of 16"),
        (TensorMap { strides: vec![1 << 40], ..map() }, "below 2^40"),
        (TensorMap { tile: vec![257, 8], ..map() }, "257 is not between 1 and 256"),
        (TensorMap { steps: vec![1, 9], ..map() }, "9 is not between 1 and 8"),
        (TensorMap { tile: vec![3, 8], ..map() }, "a row of 12 bytes is not a multiple of 16"),
        (TensorMap { swizzle: Swizzle::B64, ..map() }, "a row of 128 bytes is more than the 64"),
        (TensorMap { nan: true, ..map() }, "a u32 can't be NaN"),
    ];
    let mut e = Emulator::new(Options::default());
    for (map, why) in wrong {
        let got = e.tensor_map(DevicePtr(4096), &map).expect_err(why);
        assert!(got.kind == ErrorKind::Launch && got.message.contains(why), "{why}: {got}");
    }
    assert!(e.tensor_map(DevicePtr(4104), &map()).unwrap_err().message.contains("not a multiple of 16"));
}

#[test]
fn fields_are_replaced() {
    // A map in shared memory, made of zeros; then the tile of another width by it.
    let fields = [
        ("global_address.shared::cta.b1024.b64", "%rd2"),
        ("rank.shared::cta.b1024.b32", "1"),
        ("elemtype.shared::cta.b1024.b32", "2"),
        ("interleave_layout.shared::cta.b1024.b32", "0"),
        ("swizzle_mode.shared::cta.b1024.b32", "0"),
        ("fill_mode.shared::cta.b1024.b32", "0"),
        ("global_dim.shared::cta.b1024.b32", "0, 64"),
        ("global_dim.shared::cta.b1024.b32", "1, 64"),
        ("global_stride.shared::cta.b1024.b64", "0, 256"),
        ("box_dim.shared::cta.b1024.b32", "0, 32"),
        ("box_dim.shared::cta.b1024.b32", "1, 8"),
        ("element_stride.shared::cta.b1024.b32", "0, 1"),
        ("element_stride.shared::cta.b1024.b32", "1, 1"),
    ];
    let build = |fields: &[(&str, &str)]| {
        let set: String = fields
            .iter()
            .map(|(f, v)| format!("@%p0 tensormap.replace.tile.{f} [tile+4096], {v};\n"))
            .collect();

        let clear =
            "mov.u32 %r6, tile; shl.b32 %r7, %r0, 2; add.u32 %r6, %r6, %r7; st.shared.u32 [%r6+4096], 0;\n";
        // The copy needs the whole warp; the buffer's second half becomes the map.
        let publish = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned \
                       [%rd2+8192], [tile+4096], 128;\nfence.proxy.tensormap::generic.acquire.gpu [%rd2+8192], 128;\n";
        let load = load().replace("[%rd1,", "[%rd2+8192,");
        Case::new(format!("{clear}bar.sync 0;\n{set}bar.sync 0;\n{publish}{load}{WAIT}{SHOW}"))
    };
    let case = build(&fields);
    for seed in 0..5 {
        let out = case.run(seed).unwrap_or_else(|e| panic!("{e}\n{}", case.text()));
        assert!(out[..32].iter().copied().eq(544..576), "seed {seed}: {:?}", &out[..32]);
    }
    let with = |at: usize, value: &'static str| {
        let mut changed = fields;
        changed[at].1 = value;
        build(&changed)
    };
    with(2, "8").fails("its element type, number 8 of `tensormap.replace`, is not implemented");
    with(3, "1").fails("interleaved layouts are not implemented");
    with(4, "4").fails("its swizzle is not implemented");
    with(1, "7").fails("it has 8 dimensions");
    with(9, "0, 3").fails("a row of 12 bytes is not a multiple of 16");
}

#[test]
fn refusals() {
    let good = load();
    for (from, to, why) in [
        (".global.mbarrier", ".global.im2col.mbarrier", "`.im2col` is not implemented"),
        (".global.mbarrier", ".global.tile::gather4.mbarrier", "`.tile::gather4` is not implemented"),
        (".2d", ".3d", "it has 2 coordinates for 3 dimensions"),
        (", [bar];\n", ";\n", "it names no mbarrier"),
    ] {
        let line = good.lines().nth(1).unwrap().to_owned() + "\n";
        assert!(line.contains(from), "{from}");
        let e = Case::new(line.replacen(from, to, 1)).run(0).unwrap_err();
        assert!(e.kind == ErrorKind::Unsupported && e.message.contains(why), "{why}: {e}");
    }
    let e = Case::new("tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32 [tile], 1;")
        .run(0)
        .unwrap_err();
    assert!(e.kind == ErrorKind::Unsupported && e.message.contains("this field is not implemented"), "{e}");
    let e = Case::new(STORE.replace("cp.async", "cp.reduce.async").replace(".bulk_group", ".min.bulk_group"));
    Case { map: TensorMap { ty: Scalar::F32, ..map() }, ..e }.fails("there is no such reduction of f32");
}
