//! `tcgen05`: products of every kind, shape and layout against plain ones; copies, loads and stores of tensor
//! memory; what is seen before a wait; what goes wrong, and what the checks say.
//!
//! # Invariants
//! Elements are small integers, so that the sums are exact in every format and must be met to the bit.

use crate::case::{Case, encode, half};
use prlx_emu::Checks;
use prlx_trace::check::{Check, Kind};

/// Bytes of a CTA's image of shared memory.
const IMAGE: usize = 32768;
/// B's place in shared memory.
const RIGHT: usize = 16384;
/// Columns of tensor memory that are filled and read back.
const COLUMNS: usize = 256;
/// The words of a CTA: the image, descriptors of A and B, then 128 lanes of tensor memory.
const DESCRIPTORS: usize = IMAGE / 4;
const TENSOR: usize = DESCRIPTORS + 4;
const WORDS: usize = TENSOR + 128 * COLUMNS;

/// The number of a type in an instruction descriptor.
fn number(kind: &str, ty: &str) -> u32 {
    match (kind, ty) {
        ("mxf4" | "mxf4nvf4", _) | (_, "bf16" | "e5m2" | "s8") => 1,
        (_, "tf32") => 2,
        (_, "e2m3") => 3,
        (_, "e3m2") => 4,
        (_, "e2m1") => 5,
        _ => 0,
    }
}

/// One product under test.
#[derive(Clone, Debug)]
struct Test {
    kind: &'static str,
    types: [&'static str; 2],
    /// `f32`, `f16` or `s32`.
    d: &'static str,
    m: usize,
    n: usize,
    pair: bool,
    ws: bool,
    /// Bytes of a swizzled row of A and B; 0: none, 1: of 128 bytes in pieces of 32.
    swizzle: usize,
    transpose: [bool; 2],
    negate: [bool; 2],
    /// Whether A lies in tensor memory, from column 192 on.
    tensor_a: bool,
    /// The lane of D.
    lane: usize,
    /// Scales of a row; they lie from columns 128 (A) and 144 (B) on.
    scales: usize,
    add: bool,
}

impl Test {
    fn new(kind: &'static str, a: &'static str, b: &'static str, d: &'static str) -> Test {
        Test {
            kind,
            types: [a, b],
            d,
            m: 128,
            n: 64,
            pair: false,
            ws: false,
            swizzle: 0,
            transpose: [false; 2],
            negate: [false; 2],
            tensor_a: false,
            lane: 0,
            scales: 0,
            add: true,
        }
    }
    fn ctas(&self) -> usize {
        if self.pair { 2 } else { 1 }
    }
    /// Rows in each CTA.
    fn rows(&self) -> usize {
        self.m / self.ctas()
    }
    fn dense(&self) -> bool {
        self.kind.starts_with("mxf4")
    }
    /// Elements of a row of A.
    fn k(&self) -> usize {
        match self.types[0] {
            "f16" | "bf16" => 16,
            "tf32" => 8,
            _ if self.dense() => 64,
            _ => 32,
        }
    }
    /// An element of A or B; the same sequence always.
    fn element(&self, of: usize, mn: usize, k: usize) -> i64 {
        let h = ((of * 977 + mn) * 389 + k).wrapping_mul(0x9E37_79B9) >> 7;
        if self.types[of] == "u8" { h as i64 % 4 } else { h as i64 % 7 - 3 }
    }
    /// The exponent of a scale.
    fn scale(&self, of: usize, mn: usize, i: usize) -> i64 {
        if self.scales == 0 { 0 } else { (of + mn * 3 + i * 5) as i64 % 4 }
    }
    fn c(&self, row: usize, col: usize) -> i64 {
        (row * 3 + col * 5) as i64 % 7 - 3
    }
    fn want(&self, row: usize, col: usize) -> i64 {
        let sign = if self.negate[0] == self.negate[1] { 1 } else { -1 };
        let block = self.k() / self.scales.max(1);
        let product = |x: usize| {
            let by = self.scale(0, row, x / block) + self.scale(1, col, x / block);
            (self.element(0, row, x) * self.element(1, col, x)) << by
        };
        (0..self.k()).map(product).sum::<i64>() * sign + if self.add { self.c(row, col) } else { 0 }
    }
    fn word(&self, v: i64) -> u32 {
        match self.d {
            "f16" => u32::from(half(v)),
            "f32" => (v as f32).to_bits(),
            _ => v as u32,
        }
    }
    /// The lane and column of an element of D in its CTA's tensor memory (Data Path Layout Organization).
    fn place(&self, row: usize, col: usize) -> (usize, usize) {
        match (self.rows(), self.ws || self.pair) {
            (64, false) => (self.lane + row / 16 * 32 + row % 16, col),
            (128, _) => (row, col),
            (64, true) => (row + col / (self.n / 2) * 64, col % (self.n / 2)),
            _ => (row + col / (self.n / 4) * 32, col % (self.n / 4)),
        }
    }
    /// Bytes of a row of A or a column of B, as they lie along k.
    fn row(&self, of: usize, mn: usize) -> [u8; 32] {
        let (mut out, ty) = ([0u8; 32], self.types[of]);
        for k in 0..self.k() {
            let v = encode(ty, self.element(of, mn, k));
            let (bit, width) = match ty {
                "e2m1" if self.dense() => (4 * k, 4),
                "e2m1" => (k / 16 * 128 + k % 16 * 4, 4),
                "e2m3" | "e3m2" => (k / 16 * 128 + k % 16 * 6, 6),
                _ => (256 / self.k() * k, 256 / self.k()),
            };
            for i in 0..width {
                out[(bit + i) / 8] |= ((v >> i & 1) as u8) << ((bit + i) % 8);
            }
        }
        out
    }
    /// The strides of a matrix: leading, and the other.
    fn strides(&self, of: usize) -> (usize, usize) {
        match (self.swizzle, self.transpose[of]) {
            (0, false) => (128, 256),
            (0, true) => (128, 2048),
            // 4 rows of k are a pattern.
            (1, _) => (512, 4096),
            (w, false) => (0, 8 * w),
            (w, true) => (8 * w, 4096),
        }
    }
    /// The place of byte `byte` of element-row `mn`.
    fn byte(&self, of: usize, mn: usize, byte: usize) -> usize {
        let (leading, stride) = self.strides(of);
        let element = 32 / self.k().min(32);
        let (k, low, w) = (byte / element, byte % element, self.swizzle);
        let (piece, inside) = (mn * element / 16, mn * element % 16 + low);
        let plain = match (w, self.transpose[of]) {
            (0, false) => mn / 8 * stride + mn % 8 * 16 + byte / 16 * leading + byte % 16,
            (0, true) => piece * stride + k / 8 * leading + k % 8 * 16 + inside,
            (1, _) => piece / 8 * leading + piece % 8 * 16 + k / 4 * stride + k % 4 * 128 + inside,
            (w, false) => mn / 8 * stride + mn % 8 * w + byte,
            (w, true) => {
                piece / (w / 16) * leading + piece % (w / 16) * 16 + k / 8 * stride + k % 8 * w + inside
            }
        };
        match w {
            0 => plain,
            1 => plain ^ (plain >> 7 & 3) << 5,
            w => plain ^ (plain >> 7 & (w / 16 - 1)) << 4,
        }
    }
    fn descriptor(&self, of: usize, at: usize) -> u64 {
        let (leading, stride) = self.strides(of);
        let mode = match self.swizzle {
            0 => 0,
            1 => 1,
            32 => 6,
            64 => 4,
            _ => 2u64,
        };
        [(at, 0), (leading, 16), (stride, 32)].iter().fold(1 << 46, |d, &(v, by)| d | (v as u64 >> 4) << by)
            | mode << 61
    }
    fn instruction_descriptor(&self) -> u32 {
        let of = |i: usize| number(self.kind, self.types[i]);
        let d = match self.d {
            _ if self.scales > 0 => 0,
            "f16" => 0,
            "f32" => 1,
            _ => 2,
        };
        let flags = [self.negate[0], self.negate[1], self.transpose[0], self.transpose[1]];
        let bits = flags.iter().enumerate().fold(0, |b, (i, &f)| b | u32::from(f) << (13 + i));
        let scale = if self.kind == "mxf4nvf4" { 0 } else { u32::from(self.scales > 0) << 23 };
        d << 4
            | of(0) << 7
            | of(1) << 10
            | bits
            | (self.n as u32 >> 3) << 17
            | (self.m as u32 >> 4) << 24
            | scale
    }
    fn instruction(&self) -> String {
        let (group, ws) = (self.ctas(), if self.ws { ".ws" } else { "" });
        let a = if self.tensor_a { format!("[%r40+{}]", self.lane * 65536 + 192) } else { "%rd20".into() };
        let (scaled, scales) = match self.scales {
            0 => (String::new(), ""),
            n => (format!(".block_scale.scale_vec::{n}X"), "[%r40+128], [%r40+144], "),
        };
        format!(
            "tcgen05.mma{ws}.cta_group::{group}.kind::{}{scaled} [%r40+{}], {a}, %rd21, {:#x}, {scales}{};",
            self.kind,
            self.lane * 65536,
            self.instruction_descriptor(),
            if self.add { "%p15" } else { "%p14" }
        )
    }
    /// The words of each CTA before the launch.
    fn words(&self) -> Vec<u32> {
        let mut words = Vec::new();
        for cta in 0..self.ctas() {
            let mut image = vec![0u8; IMAGE];
            let mut tensor = vec![0u32; 128 * COLUMNS];
            for (of, at, count) in [(0, 0, self.rows()), (1, RIGHT, self.n / self.ctas())] {
                for mn in 0..count {
                    for (i, b) in self.row(of, cta * count + mn).into_iter().enumerate() {
                        image[at + self.byte(of, mn, i)] = b;
                    }
                }
            }
            for row in 0..self.rows() {
                let global = cta * self.rows() + row;
                for col in 0..self.n {
                    let (lane, column) = self.place(row, col);
                    tensor[lane * COLUMNS + column] = self.word(self.c(global, col));
                    if self.tensor_a {
                        for (i, b) in self.row(0, global).as_chunks::<4>().0.iter().enumerate() {
                            tensor[lane * COLUMNS + 192 + i] = u32::from_le_bytes(*b);
                        }
                    }
                }
            }
            for (of, first, count) in [(0, 128, self.rows()), (1, 144, self.n)] {
                for mn in 0..count * usize::from(self.scales > 0) {
                    let global = if of == 0 { cta * count + mn } else { mn };
                    let bytes = |i: usize| match self.kind {
                        "mxf4nvf4" => (7 + self.scale(of, global, i) as u32) << 3,
                        _ => 127 + self.scale(of, global, i) as u32,
                    };
                    let word = (0..self.scales).fold(0, |w, i| w | bytes(i) << (8 * i));
                    for quarter in 0..4 {
                        tensor[(quarter * 32 + mn % 32) * COLUMNS + first + mn / 32] = word;
                    }
                }
            }
            words.extend(image.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)));
            for d in [self.descriptor(0, 0), self.descriptor(1, RIGHT)] {
                words.extend([d as u32, (d >> 32) as u32]);
            }
            words.extend(tensor);
        }
        words
    }
    fn case(&self, inner: &str) -> Case {
        let words = self.words();
        Case { words, cluster: self.ctas() as u32, ..program(inner, self.ctas() as u32) }
    }
    /// Issues a product and a commit, and waits for it. In a pair, the even CTA issues it.
    fn simple(&self) -> String {
        format!("{}{}", issue(self.ctas(), &self.instruction()), WAIT)
    }
    fn check(&self, words: &[u32]) -> Result<(), String> {
        for row in 0..self.m {
            let (cta, local) = (row / self.rows(), row % self.rows());
            for col in 0..self.n {
                let (lane, column) = self.place(local, col);
                let got = words[cta * WORDS + TENSOR + lane * COLUMNS + column];
                let want = self.word(self.want(row, col));
                if got != want {
                    return Err(format!("row {row} column {col}: {got:#x}, not {want:#x}"));
                }
            }
        }
        Ok(())
    }
    fn run(&self) {
        let case = self.case(&self.simple());
        for seed in [0, 1] {
            let (words, ..) = case.seed(seed).unwrap_or_else(|e| panic!("{self:?}, seed {seed}: {e}"));
            self.check(&words).unwrap_or_else(|e| panic!("{self:?}, seed {seed}: {e}"));
        }
    }
}

/// The thread that issues the tensor core's work runs this.
fn issue(ctas: usize, what: &str) -> String {
    let (group, cast, mask) = if ctas == 2 {
        (2, ".shared::cluster.multicast::cluster", ", 3")
    } else {
        (1, ".shared::cluster", "")
    };
    format!(
        "@!%p10 bra ISSUED;\n{what}\n\
         tcgen05.commit.cta_group::{group}.mbarrier::arrive::one{cast}.b64 [bar]{mask};\nISSUED:\n"
    )
}

/// All threads wait for the first phase of the mbarrier.
const WAIT: &str = "WAIT: mbarrier.test_wait.parity.shared.b64 %p5, [bar], 0;\n@!%p5 bra WAIT;\n\
     tcgen05.fence::after_thread_sync;\n";

/// A program of 128 threads a CTA that fills shared memory and tensor memory (its address is in `%r40`, with
/// the warp's lanes in `%r41`), runs `inner` and writes tensor memory back. `%p10` holds in the thread that
/// issues work, `%p15` in all, `%p14` in none; the descriptors of A and B are in `%rd20` and `%rd21`.
fn program(inner: &str, ctas: u32) -> Case {
    let meet = if ctas == 2 {
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
    } else {
        "bar.sync 0;"
    };
    let (descriptors, tensor) = (DESCRIPTORS * 4, TENSOR * 4);
    let body = format!(
        "mul.wide.u32 %rd10, %r61, {}; add.u64 %rd0, %rd0, %rd10;\n\
         mov.u32 %r1, %r0; L: mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd0, %rd2;\n\
         ld.global.u32 %r2, [%rd3];\n\
         shl.b32 %r3, %r1, 2; mov.u32 %r4, sm; add.u32 %r4, %r4, %r3; st.shared.u32 [%r4], %r2;\n\
         add.u32 %r1, %r1, 128; setp.lt.u32 %p1, %r1, {DESCRIPTORS}; @%p1 bra L;\n\
         fence.proxy.async.shared::cta;\n\
         setp.eq.u32 %p15, %r0, %r0; setp.ne.u32 %p14, %r0, %r0; setp.eq.u32 %p9, %r0, 0;\n\
         mov.u32 %r5, %cluster_ctarank; setp.eq.and.u32 %p10, %r5, 0, %p9;\n\
         @%p9 mbarrier.init.shared.b64 [bar], 1;\n\
         ld.global.v2.u64 {{%rd20, %rd21}}, [%rd0+{descriptors}];\n\
         setp.lt.u32 %p8, %r0, 32;\n\
         @%p8 tcgen05.alloc.cta_group::{ctas}.sync.aligned.shared::cta.b32 [place], 512;\n\
         @%p8 tcgen05.relinquish_alloc_permit.cta_group::{ctas}.sync.aligned;\n\
         {meet}\n\
         ld.shared.u32 %r40, [place]; shr.u32 %r6, %r0, 5; shl.b32 %r6, %r6, 21; add.u32 %r41, %r40, %r6;\n\
         mul.wide.u32 %rd4, %r0, {}; add.u64 %rd4, %rd0, %rd4; add.u64 %rd4, %rd4, {tensor};\n\
         mov.u64 %rd5, %rd4;\n\
         mov.u32 %r7, %r41; add.u32 %r8, %r41, {COLUMNS};\n\
         FILL: ld.global.u32 %r9, [%rd5]; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {{%r9}};\n\
         add.u64 %rd5, %rd5, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, %r8; @%p2 bra FILL;\n\
         tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; {meet}\n\
         tcgen05.fence::after_thread_sync;\n\
         {inner}\n\
         mov.u32 %r7, %r41; mov.u64 %rd5, %rd4;\n\
         DRAIN: tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r9}}, [%r7]; st.global.u32 [%rd5], %r9;\n\
         add.u64 %rd5, %rd5, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, %r8; @%p2 bra DRAIN;\n\
         tcgen05.wait::ld.sync.aligned; {meet}\n\
         @%p8 tcgen05.dealloc.cta_group::{ctas}.sync.aligned.b32 %r40, 512;\n",
        WORDS * 4,
        COLUMNS * 4,
    );
    let shared = format!(
        ".shared .align 1024 .b8 sm[{IMAGE}];\n.shared .align 8 .b64 bar;\n.shared .align 4 .b32 place;"
    );
    Case { words: vec![0; WORDS * ctas as usize], ..Case::new(&body).module(&shared).shape(ctas, 128) }
}

#[test]
fn types() {
    for (kind, a, b, d) in [
        ("f16", "f16", "f16", "f32"),
        ("f16", "f16", "f16", "f16"),
        ("f16", "bf16", "bf16", "f32"),
        ("tf32", "tf32", "tf32", "f32"),
        ("i8", "s8", "s8", "s32"),
        ("i8", "u8", "s8", "s32"),
        ("i8", "s8", "u8", "s32"),
        ("i8", "u8", "u8", "s32"),
    ] {
        let t = Test::new(kind, a, b, d);
        t.run();
        Test { add: false, ..t.clone() }.run();
        if kind != "i8" {
            Test { negate: [true, false], ..t.clone() }.run();
            Test { negate: [true, true], ..t }.run();
        }
    }
    let small = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"];
    for a in small {
        for b in small {
            Test { n: 16, ..Test::new("f8f6f4", a, b, "f32") }.run();
        }
        Test { n: 8, ..Test::new("f8f6f4", a, "e4m3", "f16") }.run();
    }
}

#[test]
fn shapes() {
    let t = Test::new("f16", "f16", "f16", "f32");
    for (m, ws, pair, sizes) in [
        (64, false, false, &[8, 24, 256][..]),
        (128, false, false, &[8, 136, 256]),
        (32, true, false, &[64, 256]),
        (64, true, false, &[64, 128]),
        (128, true, false, &[128]),
        (128, false, true, &[16, 128]),
        (256, false, true, &[32, 256]),
    ] {
        for &n in sizes {
            Test { m, n, ws, pair, ..t.clone() }.run();
        }
    }
    Test { m: 64, lane: 16, ..t.clone() }.run();
    Test { m: 256, pair: true, ..Test::new("i8", "s8", "u8", "s32") }.run();
    for bad in [Test { m: 96, ..t.clone() }, Test { n: 264, ..t.clone() }, Test { m: 256, ..t.clone() }] {
        let error = t.case(&bad.simple()).error();
        assert!(error.to_string().contains("instruction descriptor"), "{error}");
    }
    let error = t.case(&Test { lane: 32, ..t.clone() }.simple()).error().to_string();
    assert!(error.contains("has D at lane 32 of tensor memory"), "{error}");
}

#[test]
fn a_in_tensor_memory() {
    for (kind, ty, d) in
        [("f16", "f16", "f32"), ("tf32", "tf32", "f32"), ("f8f6f4", "e4m3", "f32"), ("i8", "s8", "s32")]
    {
        let t = Test { tensor_a: true, ..Test::new(kind, ty, ty, d) };
        t.run();
        Test { m: 64, lane: 16, ..t.clone() }.run();
        Test { m: 128, pair: true, ..t.clone() }.run();
        Test { m: 32, ws: true, ..t }.run();
    }
    let t = Test { tensor_a: true, ..Test::new("f8f6f4", "e2m1", "e4m3", "f32") };
    assert!(t.case(&t.simple()).error().to_string().contains("fewer than 8 bits"));
}

#[test]
fn swizzles_and_directions() {
    for swizzle in [0, 32, 64, 128] {
        for transpose in [[false, false], [true, false], [false, true], [true, true]] {
            for (kind, ty, d) in [("f16", "f16", "f32"), ("f8f6f4", "e5m2", "f32"), ("i8", "u8", "s32")] {
                Test { swizzle, transpose, m: 64, ..Test::new(kind, ty, ty, d) }.run();
            }
        }
        Test { swizzle, ..Test::new("tf32", "tf32", "tf32", "f32") }.run();
    }
    Test { swizzle: 1, transpose: [true; 2], ..Test::new("tf32", "tf32", "tf32", "f32") }.run();
}

#[test]
fn scales() {
    for (pair, m) in [(false, 128), (true, 256)] {
        for ty in ["e4m3", "e5m2", "e2m3", "e2m1"] {
            Test { scales: 1, pair, m, n: 96, ..Test::new("mxf8f6f4", ty, "e4m3", "f32") }.run();
        }
        Test { scales: 2, pair, m, n: 96, ..Test::new("mxf4", "e2m1", "e2m1", "f32") }.run();
        Test {
            scales: 4,
            pair,
            m,
            n: 96,
            negate: [false, true],
            ..Test::new("mxf4nvf4", "e2m1", "e2m1", "f32")
        }
        .run();
    }
}

/// The lanes and columns of tensor memory after `inner`, which begins with these words.
fn tensor(inner: &str, word: impl Fn(usize, usize) -> u32) -> Vec<Vec<u32>> {
    let mut case = program(inner, 1);
    for lane in 0..128 {
        (0..COLUMNS).for_each(|c| case.words[TENSOR + lane * COLUMNS + c] = word(lane, c));
    }
    (0..IMAGE / 4).for_each(|i| case.words[i] = 0x5000_0000 + i as u32);
    let words = case.all();
    words[TENSOR..].chunks(COLUMNS).map(<[u32]>::to_vec).collect()
}

#[test]
fn fragments() {
    let registers = |n: usize| (20..20 + n).map(|i| format!("%r{i}")).collect::<Vec<_>>().join(", ");
    let cell = |lane: usize, column: usize| (lane * 1000 + column) as u32;
    // What is loaded in one shape is stored, from column 64 on, in rows of registers.
    for (shape, n, more, at) in [
        ("32x32b.x2", 2, "", None),
        ("16x64b.x2", 2, "", Some((2, 4, 8))),
        ("16x128b.x2", 4, "", Some((1, 4, 8))),
        ("16x256b.x2", 8, "", Some((1, 4, 8))),
        ("16x32bx2.x2", 2, ", 5", None),
    ] {
        let loaded = format!(
            "tcgen05.ld.sync.aligned.{shape}.b32 {{{0}}}, [%r41+3]{more};\ntcgen05.wait::ld.sync.aligned;\n\
             tcgen05.st.sync.aligned.32x32b.x{n}.b32 [%r41+64], {{{0}}};\ntcgen05.wait::st.sync.aligned;\n\
             tcgen05.st.sync.aligned.{shape}.b32 [%r41+{1}]{more}, {{{0}}};\n\
             tcgen05.wait::st.sync.aligned;\n",
            registers(n),
            65536 * if shape.starts_with("32") { 0 } else { 16 } + 128,
        );
        let cells = tensor(&loaded, cell);
        for lane in 0..128 {
            let (first, l) = (lane / 32 * 32, lane % 32);
            for r in 0..n {
                let (row, column) = match (shape, at) {
                    ("32x32b.x2", _) => (l, r),
                    ("16x32bx2.x2", _) => (l % 16, r + l / 16 * 5),
                    ("16x64b.x2", _) => (l / 4 + l % 2 * 8, 2 * r + l / 2 % 2),
                    ("16x128b.x2", _) => (l / 4 + r % 2 * 8, l % 4 + r / 2 * 4),
                    _ => (l / 4 + r / 2 % 2 * 8, l % 4 * 2 + r % 2 + r / 4 * 8),
                };
                let want = cell(first + row, 3 + column);
                assert_eq!(cells[lane][64 + r], want, "{shape} lane {lane} register {r}");
                let upper = if shape.starts_with("32") { 0 } else { 16 };
                assert_eq!(cells[first + upper + row][128 + column], want, "{shape} stored");
            }
        }
    }
    let packed = "tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%r20, %r21}, [%r41];\n\
         tcgen05.wait::ld.sync.aligned;\n\
         tcgen05.st.sync.aligned.32x32b.x2.b32 [%r41+64], {%r20, %r21};\n\
         tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r41+80], {%r20, %r21};\n\
         tcgen05.wait::st.sync.aligned;\n";
    let cells = tensor(packed, |lane, column| 0xabcd_0000 | cell(lane, column) & 0xffff);
    for (lane, row) in cells.iter().enumerate() {
        let low = |c: usize| cell(lane, c) & 0xffff;
        assert_eq!(row[64..66], [low(0) | low(1) << 16, low(2) | low(3) << 16]);
        assert_eq!(row[80..84], [low(0), low(1), low(2), low(3)]);
    }
}

#[test]
fn copies() {
    for (shape, rows, bytes) in [
        ("128x256b", 128, 32),
        ("128x128b", 128, 16),
        ("4x256b", 4, 32),
        ("64x128b.warpx2::02_13", 64, 16),
        ("64x128b.warpx2::01_23", 64, 16),
        ("32x128b.warpx4", 32, 16),
    ] {
        // Rows of 16 bytes; 8 of them lie next to each other, then the next 8. Second pieces are 8 KiB on.
        let copy = format!("tcgen05.cp.cta_group::1.{shape} [%r40+16], %rd22;");
        let descriptor = (8192u64 >> 4) << 16 | (128 >> 4) << 32;
        let inner = format!("mov.u64 %rd22, {descriptor};\n{}{WAIT}", issue(1, &copy));
        let cells = tensor(&inner, |_, _| 7);
        for (lane, row) in cells.iter().enumerate() {
            let from = match shape {
                "4x256b" => (lane % 32 == 0).then_some(lane / 32),
                "64x128b.warpx2::02_13" => Some(lane % 64),
                "64x128b.warpx2::01_23" => Some(lane / 64 * 32 + lane % 32),
                _ => Some(lane % rows),
            };
            for c in 0..bytes / 4 {
                let word = |r: usize| 0x5000_0000 + (r * 4 + c % 4 + c / 4 * 2048) as u32;
                assert_eq!(row[16 + c], from.map_or(7, word), "{shape} lane {lane} column {c}");
            }
            assert_eq!(row[16 + bytes / 4], 7);
        }
    }
}

#[test]
fn lanes_that_keep_their_values_and_scaled_sums() {
    let t = Test::new("f16", "f16", "f16", "f32");
    let whole = t.instruction();
    let (head, tail) = whole.split_at(whole.find("%p15").unwrap());
    let masked = format!("{head}{{0x1, 0, 0x80000000, 0}}, {tail}");
    let words = t.case(&format!("{}{WAIT}", issue(1, &masked))).all();
    let d = |row: usize| f32::from_bits(words[TENSOR + row * COLUMNS]);
    for row in [0, 95] {
        assert_eq!(d(row), t.c(row, 0) as f32);
    }
    assert_eq!(d(1), t.want(1, 0) as f32);
    let halved = format!("{head}{}", tail.replace(';', ", 1;"));
    let words = t.case(&format!("{}{WAIT}", issue(1, &halved))).all();
    let product = t.want(5, 3) - t.c(5, 3);
    assert_eq!(f32::from_bits(words[TENSOR + 5 * COLUMNS + 3]), product as f32 + t.c(5, 3) as f32 / 2.0);
}

#[test]
fn what_is_wrong_is_said() {
    for (inner, text) in [
        (
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r40];",
            "accesses lanes 0 to 31 of tensor memory; warp 1",
        ),
        ("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r41+512];", "lane 0 of column 512"),
        ("@%p8 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r40, 256;", "frees 256 columns"),
        (
            "@%p8 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 32;",
            "relinquish_alloc_permit",
        ),
        ("add.u32 %r41, %r41, %r0; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r41];", "other addresses"),
    ] {
        let error = program(inner, 1).error().to_string();
        assert!(error.contains(text), "{inner}: {error}");
    }
    let edit = |from: &str, to: &str| {
        let mut case = program("", 1);
        assert!(case.body.contains(from));
        case.body = case.body.replace(from, to);
        case.error().to_string()
    };
    let free = "@%p8 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r40, 512;";
    assert!(edit(free, "").contains("512 columns of tensor memory that are not freed when the CTA ends"));
    assert!(edit("[place], 512", "[place], 48").contains("48 columns, which is not a power of two"));
    assert!(
        edit("[place], 512", "[place], 128").contains("column 128 of tensor memory, which is not allocated")
    );
}

/// What the check of asynchronous work says: its kinds, in order.
fn findings(case: &Case) -> Vec<(Kind, String)> {
    let mut case = case.clone();
    case.options.checks = Checks::all();
    let found = case.findings();
    found.list.into_iter().filter(|f| f.kind.check() == Check::Async).map(|f| (f.kind, f.what)).collect()
}

#[test]
fn missing_waits() {
    let t = Test::new("f16", "f16", "f16", "f32");
    let issued = issue(1, &t.instruction());
    assert_eq!(findings(&t.case(&t.simple())), []);
    // Nobody waits for the product before D is read.
    let early = t.case(&format!("{issued}bar.sync 0;\n"));
    let (kind, what) = findings(&early).remove(0);
    assert_eq!(kind, Kind::NotLanded);
    assert_eq!(what, "reads tensor memory that a product or copy of the tensor core may still write");
    let stale = (1..20).filter(|&s| t.check(&early.seed(s).unwrap().0).is_err()).count();
    assert!(stale > 5, "{stale} of 19 schedules show it");
    // Shared memory changes while the product may still read it.
    let spoil =
        "shl.b32 %r3, %r0, 2; mov.u32 %r4, sm; add.u32 %r4, %r4, %r3; bar.sync 0; st.shared.u32 [%r4], 0;\n";
    let late = t.case(&format!("{issued}{spoil}{WAIT}"));
    assert_eq!(findings(&late)[0].0, Kind::StillRead);
    let wrong = (1..20).filter(|&s| t.check(&late.seed(s).unwrap().0).is_err()).count();
    assert!(wrong > 5, "{wrong} of 19 schedules show it");
    // The store that sets D is not complete when the product begins, and the load of D neither.
    let without = |wait: &str, inner: &str| {
        let mut case = t.case(inner);
        case.body = case.body.replacen(wait, "", 1);
        findings(&case)
    };
    let found = without("tcgen05.wait::st.sync.aligned;", &t.simple());
    assert!(found[0].1.contains("that a `tcgen05.st` may still write"), "{found:?}");
    let again =
        format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r20}}, [%r41];\nbar.sync 0;\n{}", t.simple());
    let found = findings(&t.case(&again));
    assert!(found[0].1.contains("that a `tcgen05.ld` may still read"), "{found:?}");
    // Shared memory was written by ordinary stores, without a fence.
    let found = without("fence.proxy.async.shared::cta;", &t.simple());
    assert_eq!(found[0].0, Kind::ProxyFence);
}
