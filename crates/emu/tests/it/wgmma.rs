//! `wgmma`: every type, shape, layout and swizzle against a plain product; what is seen before the wait; what
//! goes wrong.
//!
//! # Invariants
//! Elements are small integers, so that the sums are exact in every format and must be met to the bit.

use crate::case::{Case, encode, half};
use prlx_driver::ErrorKind;

/// Where things lie in the buffer, in words: what goes to shared memory, descriptors, A's registers,
/// accumulators.
const DESCRIPTORS: usize = 12288;
const FRAGMENT: usize = DESCRIPTORS + 4;
const SUMS: usize = FRAGMENT + 512;
/// B's place in shared memory, bytes.
const RIGHT: usize = 16384;

fn bits(ty: &str) -> usize {
    match ty {
        "f16" | "bf16" => 16,
        "tf32" => 32,
        "b1" => 1,
        _ => 8,
    }
}

/// How a matrix lies in shared memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Bytes of a swizzled row; 0: none.
    swizzle: usize,
    k_major: bool,
    /// Where it begins in its half of shared memory: so many times 128 bytes past the pattern's boundary.
    shift: usize,
    /// Bytes of the row before those that are multiplied (K-major and swizzled).
    skip: usize,
}

impl Layout {
    /// Leading and stride offset; more than is needed, so that they count.
    fn strides(self) -> (usize, usize) {
        match (self.swizzle, self.k_major) {
            (0, true) => (128, 512),
            (0, false) => (128, 384),
            (w, true) => (0, 8 * w),
            // All 256 columns of 2 bytes, then the next 8 of k.
            (w, false) => (8 * w, 512 / w * 8 * w),
        }
    }
    fn descriptor(self, at: usize) -> u64 {
        let (leading, stride) = self.strides();
        let mode = [0, 3, 2, 1][[0, 32, 64, 128].iter().position(|&w| w == self.swizzle).unwrap()];
        let start = at + self.shift * 128 + self.skip;
        let base = if self.swizzle == 0 { 0 } else { self.shift & 7 };
        [(start, 0), (leading, 16), (stride, 32)].iter().fold(0, |d, &(v, by)| d | (v as u64 >> 4) << by)
            | (base as u64) << 49
            | mode << 62
    }
    /// The place of byte `byte` of a row (K-major), or of element `mn` of 2 bytes at `k = byte / 2`.
    fn place(self, mn: usize, byte: usize) -> usize {
        let (leading, stride) = self.strides();
        let w = self.swizzle;
        let (k, low) = (byte / 2, byte % 2);
        let plain = match (w, self.k_major) {
            (0, true) => mn / 8 * stride + mn % 8 * 16 + byte / 16 * leading + byte % 16,
            (0, false) => mn / 8 * stride + mn % 8 * 2 + k / 8 * leading + k % 8 * 16 + low,
            (w, true) => mn / 8 * stride + mn % 8 * w + byte + self.skip,
            (w, false) => mn * 2 / w * leading + mn * 2 % w + k / 8 * stride + k % 8 * w + low,
        };
        let swizzled = if w == 0 { plain } else { plain ^ (plain >> 7 & (w / 16 - 1)) << 4 };
        self.shift * 128 + swizzled
    }
}

/// One product under test.
#[derive(Clone, Copy, Debug)]
struct Test {
    n: usize,
    d: &'static str,
    a: &'static str,
    b: &'static str,
    /// A's; none: in registers.
    left: Option<Layout>,
    right: Layout,
    negate: [i64; 2],
    /// C is D.
    add: bool,
}

const PLAIN: Layout = Layout { swizzle: 0, k_major: true, shift: 0, skip: 0 };

impl Test {
    fn new(n: usize, d: &'static str, a: &'static str, b: &'static str) -> Test {
        Test { n, d, a, b, left: Some(PLAIN), right: PLAIN, negate: [1, 1], add: true }
    }
    fn registers(&self) -> usize {
        if self.d == "f16" { self.n / 4 } else { self.n / 2 }
    }
    fn opcode(&self) -> String {
        let Test { n, d, a, b, .. } = self;
        let k = 256 / bits(a);
        let more = if *a == "b1" { ".and.popc" } else { "" };
        format!("wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{more}")
    }
    /// The instruction; D is in `%r100` and on, A in `%r50` and on or `%rd20`, B's descriptor in `%rd21`.
    fn instruction(&self) -> String {
        let d: Vec<String> = (0..self.registers()).map(|i| format!("%d{i}")).collect();
        let a = if self.left.is_some() { "%rd20".into() } else { "{%r50, %r51, %r52, %r53}".to_owned() };
        let mut tail = format!("{}", u8::from(self.add));
        if self.d != "s32" {
            tail += &format!(", {}, {}", self.negate[0], self.negate[1]);
        }
        if bits(self.a) == 16 {
            if let Some(l) = self.left {
                tail += &format!(", {}", u8::from(!l.k_major));
            }
            tail += &format!(", {}", u8::from(!self.right.k_major));
        }
        format!("{} {{{}}}, {a}, %rd21, {tail};", self.opcode(), d.join(", "))
    }
    /// Everything around `inner`: shared memory filled, operands loaded; D stored.
    fn body(&self, inner: &str) -> String {
        let n = self.registers();
        let (descriptors, fragment) = (DESCRIPTORS * 4, FRAGMENT * 4);
        let mut out = format!(
            ".reg .b32 %d<{n}>;\n\
             mov.u32 %r1, %r0; L: mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd0, %rd2; \
             ld.global.u32 %r2, [%rd3];\n\
             shl.b32 %r3, %r1, 2; mov.u32 %r4, sm; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r2;\n\
             add.u32 %r1, %r1, 128; setp.lt.u32 %p1, %r1, {DESCRIPTORS}; @%p1 bra L;\n\
             fence.proxy.async.shared::cta; bar.sync 0;\n\
             ld.global.v2.u64 {{%rd20, %rd21}}, [%rd0+{descriptors}];\n\
             mul.wide.u32 %rd4, %r0, 16; add.u64 %rd4, %rd0, %rd4;\n\
             ld.global.v4.u32 {{%r50, %r51, %r52, %r53}}, [%rd4+{fragment}];\n\
             mul.wide.u32 %rd5, %r0, {}; add.u64 %rd5, %rd0, %rd5;\n",
            n * 4
        );
        let place = |i: usize| SUMS * 4 + 4 * i;
        (0..n).for_each(|i| out += &format!("ld.global.u32 %d{i}, [%rd5+{}];\n", place(i)));
        out += inner;
        (0..n).for_each(|i| out += &format!("st.global.u32 [%rd5+{}], %d{i};\n", place(i)));
        out
    }
    fn simple(&self) -> String {
        self.body(&format!(
            "wgmma.fence.sync.aligned;\n{}\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
            self.instruction()
        ))
    }
    /// An element of A or B; the same sequence always.
    fn element(&self, of: usize, mn: usize, k: usize) -> i64 {
        let h = ((of * 977 + mn) * 389 + k).wrapping_mul(0x9E37_79B9) >> 7;
        match [self.a, self.b][of] {
            "b1" => h as i64 & 1,
            "u8" => h as i64 % 4,
            _ => h as i64 % 7 - 3,
        }
    }
    fn c(&self, row: usize, col: usize) -> i64 {
        (row * 3 + col * 5) as i64 % 7 - 3
    }
    /// Bytes of a row of A or a column of B, as they lie along k.
    fn row(&self, of: usize, mn: usize) -> [u8; 32] {
        let ty = [self.a, self.b][of];
        let (mut out, width) = ([0u8; 32], bits(ty));
        for k in 0..256 / width {
            let v = self.element(of, mn, k);
            match width {
                1 => out[k / 8] |= (v as u8) << (k % 8),
                w => out[k * w / 8..(k + 1) * w / 8].copy_from_slice(&encode(ty, v).to_le_bytes()[..w / 8]),
            }
        }
        out
    }
    fn word(&self, v: i64) -> u32 {
        match self.d {
            "f16" => u32::from(half(v)),
            "f32" => (v as f32).to_bits(),
            _ => v as u32,
        }
    }
    /// Place of accumulator `i` of a thread: row and column (PTX ISA, register fragments of wgmma).
    fn place(t: usize, i: usize) -> (usize, usize) {
        (t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + t % 4 * 2 + i % 2)
    }
    /// The accumulators' words for values by row and column.
    fn words(&self, value: impl Fn(usize, usize) -> i64) -> Vec<u32> {
        let mut out = Vec::new();
        for t in 0..128 {
            let at = |i| {
                let (row, col) = Test::place(t, i);
                self.word(value(row, col))
            };
            match self.d {
                "f16" => out.extend((0..self.registers()).map(|r| at(2 * r) | at(2 * r + 1) << 16)),
                _ => out.extend((0..self.registers()).map(at)),
            }
        }
        out
    }
    fn case(&self, body: &str) -> Case {
        let mut image = vec![0u8; DESCRIPTORS * 4];
        let mut put = |layout: Layout, at: usize, of: usize, count: usize| {
            for mn in 0..count {
                for (i, b) in self.row(of, mn).into_iter().enumerate() {
                    image[at + layout.place(mn, i)] = b;
                }
            }
        };
        if let Some(l) = self.left {
            put(l, 0, 0, 64);
        }
        put(self.right, RIGHT, 1, self.n);
        let mut words: Vec<u32> =
            image.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let descriptors = [self.left.map_or(0, |l| l.descriptor(0)), self.right.descriptor(RIGHT)];
        words.extend(descriptors.iter().flat_map(|d| [*d as u32, (*d >> 32) as u32]));
        for t in 0..128 {
            for r in 0..4 {
                let row = self.row(0, t / 32 * 16 + t % 32 / 4 + r % 2 * 8);
                let at = r / 2 * 16 + t % 4 * 4;
                words.push(u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]));
            }
        }
        words.extend(self.words(|row, col| self.c(row, col)));
        let shared = ".shared .align 1024 .b8 sm[49152];";
        Case { words, ..Case::new(body).module(shared).shape(1, 128) }
    }
    fn want(&self, times: i64) -> Vec<u32> {
        let k = 256 / bits(self.a);
        self.words(|row, col| {
            let sum: i64 = (0..k).map(|x| self.element(0, row, x) * self.element(1, col, x)).sum();
            sum * times * self.negate[0] * self.negate[1] + if self.add { self.c(row, col) } else { 0 }
        })
    }
    fn run(&self) {
        let case = self.case(&self.simple());
        for seed in [0, 1] {
            let (words, ..) = case.seed(seed).unwrap_or_else(|e| panic!("{self:?}, seed {seed}: {e}"));
            assert!(words[SUMS..] == self.want(1), "{self:?}, seed {seed}");
        }
    }
}

const TYPES: [(&str, &str, &str); 17] = [
    ("f32", "f16", "f16"),
    ("f16", "f16", "f16"),
    ("f32", "bf16", "bf16"),
    ("f32", "tf32", "tf32"),
    ("f32", "e4m3", "e4m3"),
    ("f32", "e4m3", "e5m2"),
    ("f32", "e5m2", "e4m3"),
    ("f32", "e5m2", "e5m2"),
    ("f16", "e4m3", "e4m3"),
    ("f16", "e4m3", "e5m2"),
    ("f16", "e5m2", "e4m3"),
    ("f16", "e5m2", "e5m2"),
    ("s32", "s8", "s8"),
    ("s32", "s8", "u8"),
    ("s32", "u8", "s8"),
    ("s32", "u8", "u8"),
    ("s32", "b1", "b1"),
];

#[test]
fn types_and_where_a_is() {
    for (d, a, b) in TYPES {
        let t = Test::new(32, d, a, b);
        t.run();
        Test { left: None, ..t }.run();
        Test { add: false, ..t }.run();
        if d != "s32" {
            Test { negate: [-1, 1], ..t }.run();
            Test { negate: [1, -1], left: None, ..t }.run();
        }
    }
}

#[test]
fn every_width() {
    for n in (8..=256).step_by(8) {
        Test::new(n, "f32", "f16", "f16").run();
        if n <= 32 || n % 16 == 0 {
            Test { left: None, ..Test::new(n, "s32", "s8", "u8") }.run();
        }
    }
}

#[test]
fn swizzles_and_directions() {
    for swizzle in [0, 32, 64, 128] {
        for shift in [0, 1, 3, 6] {
            for (a_major, b_major) in [(true, true), (true, false), (false, true), (false, false)] {
                for (d, ty) in [("f32", "f16"), ("f32", "bf16"), ("f16", "f16")] {
                    let layout = |k_major| Layout { swizzle, k_major, shift, skip: 0 };
                    let t = Test::new(64, d, ty, ty);
                    Test { left: Some(layout(a_major)), right: layout(b_major), ..t }.run();
                    Test { left: None, right: layout(b_major), n: 192, ..t }.run();
                }
            }
            for (d, ty) in [("f32", "tf32"), ("f32", "e4m3"), ("s32", "s8"), ("s32", "b1")] {
                let layout = Layout { swizzle, k_major: true, shift, skip: 0 };
                Test { left: Some(layout), right: layout, ..Test::new(48, d, ty, ty) }.run();
            }
        }
        // Further along k in a swizzled row.
        for skip in (32..swizzle).step_by(32) {
            let layout = Layout { swizzle, k_major: true, shift: 0, skip };
            Test { left: Some(layout), right: layout, ..Test::new(24, "f32", "f16", "f16") }.run();
        }
    }
}

#[test]
fn saturation() {
    let mut t = Test::new(8, "s32", "u8", "u8");
    t.add = true;
    let body = t.simple().replace(".s32.u8.u8", ".s32.u8.u8.satfinite");
    let mut case = t.case(&body);
    case.words[SUMS..].fill(i32::MAX as u32 - 1);
    assert!(case.words()[SUMS..].iter().all(|&w| w == i32::MAX as u32));
    case.body = t.simple();
    assert!(case.words()[SUMS..].iter().any(|&w| (w as i32) < 0));
}

#[test]
fn groups_are_waited_for_in_order() {
    // Three products into the same accumulators, in three groups; the waits come one by one.
    let t = Test::new(16, "f32", "f16", "f16");
    let one = format!("{} wgmma.commit_group.sync.aligned;\n", t.instruction());
    let waits: String = (0..3).rev().map(|n| format!("wgmma.wait_group.sync.aligned {n};\n")).collect();
    let case = t.case(&t.body(&format!("wgmma.fence.sync.aligned;\n{one}{one}{one}{waits}")));
    assert!(case.all()[SUMS..] == t.want(3));
}

#[test]
fn a_wait_is_for_the_whole_warpgroup() {
    // The first warp overwrites B as soon as its own wait is over.
    let t = Test::new(8, "f32", "f16", "f16");
    let spoil = format!(
        "setp.ge.u32 %p2, %r0, 32; @%p2 bra E; mov.u32 %r4, sm; shl.b32 %r3, %r0, 2; add.u32 %r4, %r4, %r3;\n\
         st.shared.u32 [%r4+{RIGHT}], 0; E:\n"
    );
    let wait = "wgmma.wait_group.sync.aligned 0;\n";
    let case = t.case(&t.simple().replace(wait, &format!("{wait}{spoil}")));
    assert!(case.all()[SUMS..] == t.want(1));
}

#[test]
fn what_is_read_before_the_wait_is_noise() {
    let t = Test::new(8, "f32", "f16", "f16");
    let early = "mov.b32 %r10, %d0;\n";
    let wait = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nmov.b32 %d0, %r10;\n";
    let case = t.case(&t.body(&format!("wgmma.fence.sync.aligned;\n{}\n{early}{wait}", t.instruction())));
    let firsts = |words: &[u32]| -> Vec<u32> { words.iter().step_by(t.registers()).copied().collect() };
    let want = firsts(&t.want(1));
    let mut wrong = 0;
    for seed in 1..20 {
        let got = firsts(&case.seed(seed).unwrap().0[SUMS..]);
        for (&got, &want) in got.iter().zip(&want) {
            assert!(got == want || f32::from_bits(got).is_nan());
            wrong += usize::from(got != want);
        }
    }
    assert!(wrong > 600, "{wrong} of 2432 lanes read noise");
}
#[test]
fn operands_are_read_until_the_wait() {
    // A's registers, and then shared memory, are changed before the wait.
    for (left, change) in [
        (None, "mov.b32 %r50, 0; mov.b32 %r51, 0;"),
        (Some(PLAIN), "mov.u32 %r4, sm; shl.b32 %r3, %r0, 2; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], 0;"),
    ] {
        let t = Test { left, ..Test::new(8, "f32", "f16", "f16") };
        let case = t.case(&t.body(&format!(
            "wgmma.fence.sync.aligned;\n{}\nwgmma.commit_group.sync.aligned;\n{change}\n\
             wgmma.wait_group.sync.aligned 0;\n",
            t.instruction()
        )));
        let want = t.want(1);
        assert!(case.words()[SUMS..] == want);
        let late = (1..20).filter(|&seed| case.seed(seed).unwrap().0[SUMS..] != want).count();
        assert!(late > 5, "{late} of 19 schedules show it");
    }
}

#[test]
fn sums_keep_to_their_bound() {
    // Binary16 numbers of all magnitudes: 16 products and a sum, within k·2^-24 of the sum of the magnitudes.
    let t = Test::new(64, "f32", "f16", "f16");
    let mut case = t.case(&t.simple());
    let mut x = 7u64;
    let mut next = || {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (x >> 40) as u32
    };
    let finite = |r: u32| (r & 0x8000) + (r >> 1 & 0x7fff) % 0x7c00;
    case.words[..DESCRIPTORS].iter_mut().for_each(|w| *w = finite(next()) | finite(next()) << 16);
    case.words[SUMS..].iter_mut().for_each(|w| *w = ((next() as f32 - 8e6) * 3e-3).to_bits());
    let element = |at: usize, row: usize, k: usize| {
        let byte = at + PLAIN.place(row, 2 * k);
        value(case.words[byte / 4] >> (byte % 4 * 8) & 0xffff)
    };
    let got = case.words();
    for (j, &w) in got[SUMS..].iter().enumerate() {
        let (row, col) = Test::place(j / t.registers(), j % t.registers());
        let c = f64::from(f32::from_bits(case.words[SUMS + j]));
        let terms = (0..16).map(|k| element(0, row, k) * element(RIGHT, col, k));
        let (sum, size) = terms.fold((c, c.abs()), |(s, m), v| (s + v, m + v.abs()));
        let off = (f64::from(f32::from_bits(w)) - sum).abs();
        assert!(off <= 16.0 * 2f64.powi(-24) * size, "{row},{col}: {off} off {sum}");
    }
}

/// A finite binary16's value.
fn value(h: u32) -> f64 {
    let (e, m) = ((h >> 10 & 31) as i32, f64::from(h & 0x3ff));
    let magnitude = if e == 0 { m * 2f64.powi(-24) } else { (1024.0 + m) * 2f64.powi(e - 25) };
    if h >> 15 == 1 { -magnitude } else { magnitude }
}

#[test]
fn nan_is_the_canonical_one() {
    for (d, want) in [("f32", 0x7fff_ffff), ("f16", 0x7fff_7fff)] {
        let t = Test { left: None, ..Test::new(8, d, "f16", "f16") };
        let mut case = t.case(&t.simple());
        case.words[FRAGMENT..SUMS].fill(0xfe01_fe01);
        assert!(case.words()[SUMS..].iter().all(|&w| w == want), "{d}");
    }
}

#[test]
fn a_warpgroup_is_four_warps() {
    let t = Test::new(8, "f32", "f16", "f16");
    let whole = t.case(&t.simple());
    // The last warp leaves before the product.
    let short = Case {
        body: t.simple().replace("wgmma.fence", "setp.ge.u32 %p2, %r0, 96; @%p2 exit; wgmma.fence"),
        ..whole.clone()
    };
    for seed in 0..5 {
        let e = short.seed(seed).unwrap_err();
        assert_eq!(e.kind, ErrorKind::Stuck);
        assert!(e.message.contains("for warp 3 of its warpgroup to begin the products"), "{e}");
        assert!(e.message.contains("`wgmma.wait_group.sync.aligned 0;`"), "{e}");
    }
    let small = Case { block: 64, ..whole.clone() };
    assert!(
        small.error().message.contains("needs a warpgroup of 4 warps; this CTA has 2 warps"),
        "{}",
        small.error()
    );
    // Half of them begin another one.
    let other =
        format!("setp.ge.u32 %p2, %r0, 64; @%p2 bra B; {} bra C; B: {} C:", t.instruction(), t.instruction());
    let split = Case { body: t.simple().replace(&t.instruction(), &other), ..whole };
    let e = split.error();
    assert!(e.message.contains("is not the product that the others of the warpgroup begin"), "{e}");
    // Some lanes of a warp are not there.
    let lanes = Case {
        body: t.simple().replace("wgmma.fence", "setp.eq.u32 %p2, %r0, 5; @%p2 exit; wgmma.fence"),
        ..split
    };
    assert!(lanes.error().message.contains("needs all 32 lanes"), "{}", lanes.error());
}

#[test]
fn places_outside_shared_memory_are_named() {
    let t = Test::new(8, "f32", "f16", "f16");
    let mut case = t.case(&t.simple());
    case.words[DESCRIPTORS + 2] = 0x3fff;
    let e = case.error();
    assert!(e.message.contains("reads 16 bytes at 0x3fff0 of shared memory; there are 49152, for B"), "{e}");
}

#[test]
fn refusals() {
    let t = Test::new(8, "f32", "f16", "f16");
    for (from, to, why) in [
        (".mma_async.sync", ".mma_async.sp.sync", "sparse products are not implemented"),
        ("m64n8k16", "m64n12k16", "PTX has no such shape for these types"),
        (".f32.f16.f16", ".f16.bf16.bf16", "it is not implemented for these types"),
        ("{%d0, %d1, %d2, %d3}", "{%d0, %d1}", "it names 2 accumulators where 4 are needed"),
        ("1, 1, 1, 0, 0;", "1, 1, 2, 0, 0;", "a scale is 1 or -1"),
        ("1, 1, 1, 0, 0;", "1, 1, 1, 0;", "whether a matrix is transposed is 0 or 1"),
    ] {
        let body = t.simple();
        assert!(body.contains(from), "{from}");
        let e = t.case(&body.replace(from, to)).error();
        assert!(e.kind == ErrorKind::Unsupported && e.message.contains(why), "{to}: {e}");
    }
}
