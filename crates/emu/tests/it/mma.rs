//! Every shape and type of `mma` and `wmma` against sums that are exact: integers in `i64`, floating-point
//! ones whose sum has no more bits than binary64, rounded by `rustc_apfloat`.

use crate::alu::Random;
use crate::case::Case;
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// An element type.
#[derive(Clone, Copy, PartialEq)]
struct Ty(&'static str);

impl Ty {
    fn bits(self) -> usize {
        match self.0 {
            "b1" => 1,
            "s4" | "u4" => 4,
            "s8" | "u8" | "e4m3" | "e5m2" => 8,
            "f16" | "bf16" => 16,
            "f64" => 64,
            _ => 32,
        }
    }
    fn is_integer(self) -> bool {
        matches!(self.0, "b1" | "s4" | "u4" | "s8" | "u8" | "s32")
    }
    /// An element whose products have few enough bits.
    fn random(self, r: &mut Random) -> u64 {
        let x = r.next();
        let small =
            |fraction: u32, bias: u64| (x & ((1 << fraction) - 1)) | (bias - 2 + (x >> 60 & 3)) << fraction;
        match self.0 {
            "f16" => small(10, 15) | x >> 40 & 0x8000,
            "bf16" => small(7, 127) | x >> 40 & 0x8000,
            "e4m3" => small(3, 7) | x >> 40 & 0x80,
            "e5m2" => small(2, 15) | x >> 40 & 0x80,
            // Bits below those of tf32 must not count.
            "tf32" => small(10, 127) << 13 | x >> 20 & 0x1fff | x >> 4 & 0x8000_0000,
            "f32" => small(8, 127) << 15 | x >> 4 & 0x8000_0000,
            "f64" => ((x & 0xff) << 44 | (1021 + (x >> 60 & 3)) << 52) | x << 20 & 1 << 63,
            "s32" => x >> 32,
            _ => x & ((1 << self.bits()) - 1),
        }
    }
    fn number(self, bits: u64) -> f64 {
        fn of<F: Float + FloatConvert<Double>>(bits: u64) -> f64 {
            f64::from_bits(F::from_bits(bits.into()).convert(&mut false).value.to_bits() as u64)
        }
        match self.0 {
            "f16" => of::<Half>(bits),
            "bf16" => of::<BFloat>(bits),
            "e4m3" => of::<Float8E4M3FN>(bits),
            "e5m2" => of::<Float8E5M2>(bits),
            "tf32" => of::<Single>(bits & !0x1fff),
            "f32" => of::<Single>(bits),
            _ => f64::from_bits(bits),
        }
    }
    fn integer(self, bits: u64) -> i64 {
        let up = 64 - self.bits() as u32;
        if self.0.starts_with('s') { (bits << up) as i64 >> up } else { bits as i64 }
    }
    /// A number rounded to it.
    fn round(self, x: f64) -> u64 {
        let near = Round::NearestTiesToEven;
        let x = Double::from_bits(x.to_bits().into());
        match self.0 {
            "f16" => FloatConvert::<Half>::convert_r(x, near, &mut false).value.to_bits() as u64,
            "f32" => FloatConvert::<Single>::convert_r(x, near, &mut false).value.to_bits() as u64,
            _ => x.to_bits() as u64,
        }
    }
}

/// Types of D and C, of A, of B; the shape; modifiers between the types and the end, and before the types.
#[derive(Clone, Copy)]
struct Product {
    d: Ty,
    a: Ty,
    b: Ty,
    shape: [usize; 3],
    end: &'static str,
}

/// Matrices by rows; B by columns.
struct Matrices {
    a: Vec<u64>,
    b: Vec<u64>,
    c: Vec<u64>,
    d: Vec<u64>,
}

impl Product {
    fn matrices(&self, r: &mut Random) -> Matrices {
        let [m, n, k] = self.shape;
        let mut some = |ty: Ty, len: usize| (0..len).map(|_| ty.random(r)).collect::<Vec<u64>>();
        let (a, b, c) = (some(self.a, m * k), some(self.b, n * k), some(self.d, m * n));
        let d =
            (0..m * n).map(|at| self.element(&a[at / n * k..][..k], &b[at % n * k..][..k], c[at])).collect();
        Matrices { a, b, c, d }
    }
    fn element(&self, row: &[u64], col: &[u64], c: u64) -> u64 {
        let pairs = row.iter().zip(col);
        if !self.a.is_integer() {
            let product = |(&x, &y)| self.a.number(x) * self.b.number(y);
            return self.d.round(self.d.number(c) + pairs.map(product).sum::<f64>());
        }
        let product = |(&x, &y): (&u64, &u64)| match self.end {
            ".and.popc" => (x & y) as i64,
            ".xor.popc" => (x ^ y) as i64,
            _ => self.a.integer(x) * self.b.integer(y),
        };
        let sum = self.d.integer(c) + pairs.map(product).sum::<i64>();
        let sum = if self.end == ".satfinite" { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
        u64::from(sum as u32)
    }
}

/// Elements of a fragment: by lane, row and column (of A; of B column and row). PTX ISA, Matrix Fragments for
/// mma: of a lane's elements, those of one register lie next to each other; registers alternate between the
/// upper and the lower 8 rows.
fn fragment(lane: usize, rows: usize, each: usize, i: usize) -> (usize, usize) {
    let (g, t, register) = (lane >> 2, lane % 4, i / each);
    let lower = rows == 16 && register % 2 == 1;
    let block = if rows == 16 { register / 2 } else { register };
    (if lower { g + 8 } else { g }, block * 4 * each + t * each + i % each)
}

/// Packs elements into registers, lane by lane: `of(lane, i)` is a lane's element number `i`.
fn pack(count: usize, bits: usize, of: impl Fn(usize, usize) -> u64) -> Vec<u32> {
    let width = bits.max(32);
    let registers = count * bits / width;
    let mut words = Vec::new();
    for r in 0..registers {
        for lane in 0..32 {
            let per = width / bits;
            let v = (0..per).fold(0, |v, j| v | of(lane, r * per + j) << (j * bits));
            words.extend((0..width / 32).map(|w| (v >> (32 * w)) as u32));
        }
    }
    words
}

/// Loads or stores `n` registers `name` of all lanes, from word `at` of the buffer on.
fn move_all(load: bool, name: &str, wide: bool, n: usize, at: usize) -> String {
    let (size, ty) = if wide { (8, "b64") } else { (4, "b32") };
    let one = |r: usize| {
        let at = at * 4 + r * 32 * size;
        if load {
            format!("ld.global.{ty} %{name}{r}, [%rd5+{at}];\n")
        } else {
            format!("st.global.{ty} [%rd5+{at}], %{name}{r};\n")
        }
    };
    let address = format!("mul.wide.u32 %rd5, %r0, {size}; add.u64 %rd5, %rd0, %rd5;\n");
    address + &(0..n).map(one).collect::<String>()
}

fn list(name: &str, n: usize) -> String {
    format!("{{{}}}", (0..n).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(","))
}

fn declare(names: &[(&str, bool)]) -> String {
    names.iter().map(|(n, wide)| format!(".reg .b{} %{n}<16>;\n", if *wide { 64 } else { 32 })).collect()
}

fn mma(p: Product) {
    let [m, n, k] = p.shape;
    let wide = p.a.0 == "f64";
    let text = format!(
        "mma.sync.aligned.m{m}n{n}k{k}.row.col{}.{}.{}.{}.{}",
        if p.end == ".satfinite" { p.end } else { "" },
        p.d.0,
        p.a.0,
        p.b.0,
        p.d.0
    );
    let text = if p.end.ends_with("popc") { text + p.end } else { text };
    let mut r = Random(m as u64 * 1000 + k as u64);
    for round in 0..4 {
        let all = p.matrices(&mut r);
        let (ea, eb, ed) = ((32 / p.a.bits()).max(1), (32 / p.b.bits()).max(1), (32 / p.d.bits()).max(1));
        let a = pack(m * k / 32, p.a.bits(), |l, i| {
            let (row, col) = fragment(l, m, ea, i);
            all.a[row * k + col]
        });
        let b = pack(n * k / 32, p.b.bits(), |l, i| {
            let (col, row) = fragment(l, 8, eb, i);
            all.b[col * k + row]
        });
        // Accumulators: c0 and c1 in row g, c2 and c3 in row g + 8, columns 2t and 2t + 1.
        let place = |l: usize, i: usize| ((l >> 2) + if i < 2 { 0 } else { 8 }) * n + l % 4 * 2 + (i & 1);
        let c = pack(m * n / 32, p.d.bits(), |l, i| all.c[place(l, i)]);
        let d = pack(m * n / 32, p.d.bits(), |l, i| all.d[place(l, i)]);
        let (na, nb, nc) = (m * k / 32 / ea, n * k / 32 / eb, m * n / 32 / ed);
        let mut case = Case::new(&format!(
            "{}{}{}{}{text} {}, {}, {}, {};\n{}",
            declare(&[("a", wide), ("b", wide), ("c", wide), ("d", wide)]),
            move_all(true, "a", wide, na, 0),
            move_all(true, "b", wide, nb, a.len()),
            move_all(true, "c", wide, nc, a.len() + b.len()),
            list("d", nc),
            list("a", na),
            list("b", nb),
            list("c", nc),
            move_all(false, "d", wide, nc, 0),
        ));
        case.words = [a, b, c].concat();
        case.words.resize(case.words.len().max(d.len()), 0);
        let got = if round == 0 { case.all() } else { case.words() };
        assert_eq!(got[..d.len()], d, "{text}");
        for level in crate::alu::levels() {
            case.options.simd = level;
            assert_eq!(case.words()[..d.len()], d, "{text} {level:?}");
        }
    }
}

#[test]
fn every_mma() {
    let one = |d, a, b, shape, end| mma(Product { d: Ty(d), a: Ty(a), b: Ty(b), shape, end });
    for k in [8, 16] {
        one("f32", "f16", "f16", [16, 8, k], "");
        one("f16", "f16", "f16", [16, 8, k], "");
        one("f32", "bf16", "bf16", [16, 8, k], "");
    }
    for k in [4, 8] {
        one("f32", "tf32", "tf32", [16, 8, k], "");
    }
    for k in [16, 32] {
        for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
            one("f32", a, b, [16, 8, k], "");
            one("f16", a, b, [16, 8, k], "");
        }
    }
    for end in ["", ".satfinite"] {
        for (a, b) in [("s", "s"), ("s", "u"), ("u", "s"), ("u", "u")] {
            let narrow = |ty: &str| if ty == "s" { ("s8", "s4") } else { ("u8", "u4") };
            let ((a8, a4), (b8, b4)) = (narrow(a), narrow(b));
            for shape in [[8, 8, 16], [16, 8, 16], [16, 8, 32]] {
                one("s32", a8, b8, shape, end);
            }
            for shape in [[8, 8, 32], [16, 8, 32], [16, 8, 64]] {
                one("s32", a4, b4, shape, end);
            }
        }
    }
    for end in [".xor.popc", ".and.popc"] {
        for shape in [[8, 8, 128], [16, 8, 128], [16, 8, 256]] {
            one("s32", "b1", "b1", shape, end);
        }
    }
    for shape in [[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]] {
        one("f64", "f64", "f64", shape, "");
    }
}

/// A matrix in memory, elements packed, with `pad` more elements in each line.
fn memory(elements: &[u64], line: usize, pad: usize, bits: usize) -> Vec<u32> {
    let padded: Vec<u64> =
        elements.chunks(line).flat_map(|l| l.iter().copied().chain((0..pad).map(|_| 0))).collect();
    if bits == 64 {
        return padded.iter().flat_map(|v| [*v as u32, (v >> 32) as u32]).collect();
    }
    padded
        .chunks(32 / bits)
        .map(|c| c.iter().enumerate().fold(0, |v, (j, x)| v | (*x as u32) << (j * bits)))
        .collect()
}

fn turned(elements: &[u64], line: usize) -> Vec<u64> {
    (0..line).flat_map(|col| elements.iter().skip(col).step_by(line).copied()).collect()
}

/// Registers of a fragment (PTX ISA, Matrix Fragments for WMMA).
fn registers(ty: Ty, factor: bool, elements: usize) -> usize {
    match ty.0 {
        "f16" if factor => 8,
        "f64" => elements / 32,
        _ => elements * ty.bits() / 32 / 32,
    }
}

fn wmma(p: Product, [a_col, b_col, d_col]: [bool; 3]) {
    let [m, n, k] = p.shape;
    let shape = format!("m{m}n{n}k{k}");
    let wide = p.a.0 == "f64";
    let mut r = Random(m as u64);
    let all = p.matrices(&mut r);
    let (pad_a, pad_b, pad_d) = ((32 / p.a.bits()).max(2), (32 / p.b.bits()).max(2), 4);
    // Lines of a matrix as it lies in memory, and elements from one to the next.
    let lay = |v: &[u64], line: usize, turn: bool, pad: usize, ty: Ty| {
        let lines = v.len() / line;
        let (v, line) = if turn { (turned(v, line), lines) } else { (v.to_vec(), line) };
        (memory(&v, line, pad, ty.bits()), line + pad)
    };
    let (a, lda) = lay(&all.a, k, a_col, pad_a, p.a);
    let (b, ldb) = lay(&all.b, k, !b_col, pad_b, p.b);
    let (c, ldc) = lay(&all.c, n, d_col, pad_d, p.d);
    let (d, _) = lay(&all.d, n, d_col, pad_d, p.d);
    let (na, nb, nc) =
        (registers(p.a, true, m * k), registers(p.b, true, n * k), registers(p.d, false, m * n));
    let name = |col: bool| if col { "col" } else { "row" };
    let (la, lb, ld) = (name(a_col), name(b_col), name(d_col));
    let popc = if p.end.ends_with("popc") { p.end } else { "" };
    let sat = if p.end == ".satfinite" { p.end } else { "" };
    let types = if p.a.0 == "f16" {
        format!("{}.{}", p.d.0, p.d.0)
    } else {
        format!("{}.{}.{}.{}", p.d.0, p.a.0, p.b.0, p.d.0)
    };
    let (at_b, at_c) = (a.len() * 4, (a.len() + b.len()) * 4);
    let text = format!("wmma.mma{popc}.sync.aligned.{la}.{lb}.{shape}.{types}{sat}");
    let mut case = Case::new(&format!(
        "{}wmma.load.a.sync.aligned.{la}.{shape}.global.{} {}, [%rd0], {lda};
         wmma.load.b.sync.aligned.{lb}.{shape}.global.{} {}, [%rd0+{at_b}], {ldb};
         wmma.load.c.sync.aligned.{ld}.{shape}.global.{} {}, [%rd0+{at_c}], {ldc};
         {text} {}, {}, {}, {};
         wmma.store.d.sync.aligned.{ld}.{shape}.global.{} [%rd0+{at_c}], {}, {ldc};",
        declare(&[("a", wide), ("b", wide), ("c", wide), ("d", wide)]),
        p.a.0,
        list("a", na),
        p.b.0,
        list("b", nb),
        p.d.0,
        list("c", nc),
        list("d", nc),
        list("a", na),
        list("b", nb),
        list("c", nc),
        p.d.0,
        list("d", nc),
    ));
    case.words = [a, b, c].concat();
    let got = case.words();
    assert_eq!(got[at_c / 4..], d, "{text}");
}

#[test]
fn every_wmma() {
    for shape in [[16, 16, 16], [32, 8, 16], [8, 32, 16]] {
        for way in 0..8u32 {
            let cols = [0, 1, 2].map(|i| way >> i & 1 == 1);
            for (d, a, end) in [
                ("f32", "f16", ""),
                ("f16", "f16", ""),
                ("f32", "bf16", ""),
                ("s32", "s8", ".satfinite"),
                ("s32", "u8", ""),
            ] {
                wmma(Product { d: Ty(d), a: Ty(a), b: Ty(a), shape, end }, cols);
            }
        }
    }
    for way in 0..8u32 {
        let cols = [0, 1, 2].map(|i| way >> i & 1 == 1);
        wmma(Product { d: Ty("f32"), a: Ty("tf32"), b: Ty("tf32"), shape: [16, 16, 8], end: "" }, cols);
        wmma(Product { d: Ty("f64"), a: Ty("f64"), b: Ty("f64"), shape: [8, 8, 4], end: "" }, cols);
        let cols = [false, true, cols[2]];
        wmma(Product { d: Ty("s32"), a: Ty("s4"), b: Ty("s4"), shape: [8, 8, 32], end: "" }, cols);
        wmma(Product { d: Ty("s32"), a: Ty("u4"), b: Ty("u4"), shape: [8, 8, 32], end: ".satfinite" }, cols);
        wmma(Product { d: Ty("s32"), a: Ty("b1"), b: Ty("b1"), shape: [8, 8, 128], end: ".xor.popc" }, cols);
        wmma(Product { d: Ty("s32"), a: Ty("b1"), b: Ty("b1"), shape: [8, 8, 128], end: ".and.popc" }, cols);
    }
}

/// What is not a number, and what leaves the format.
#[test]
fn specials() {
    let text =
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r10,%r11,%r12,%r13}, {%r1,%r1}, {%r2}, {%r3,%r3,%r3,%r3};
         mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r14,%r15}, {%r1,%r1}, {%r2}, {%r4,%r4};";
    let largest = 8.0 * 65504f32 * 65504.0;
    for (a, b, c, wide, half) in [
        // Infinity times zero; infinity; the largest squared eight times; NaN in C.
        ("0x7c007c00", "0", "0", 0x7fff_ffff, 0x7fff_7fff),
        ("0x7c007c00", "0xbc00bc00", "0", 0xff80_0000, 0xfc00_fc00),
        ("0x7bff7bff", "0x7bff7bff", "0", largest.to_bits(), 0x7c00_7c00),
        ("0x3c003c00", "0x3c003c00", "0xffc00001", 0x7fff_ffff, 0x7fff_7fff),
    ] {
        let half_c = if c == "0" { "0" } else { "0xfe01fe01" };
        let body =
            format!("mov.b32 %r1, {a}; mov.b32 %r2, {b}; mov.b32 %r3, {c}; mov.b32 %r4, {half_c}; {text}");
        let of = |r: u32| Case::new(&format!("{body} st.global.b32 [%rd1], %r{r};")).words()[7];
        assert_eq!((of(10), of(13), of(14), of(15)), (wide, wide, half, half), "{a} {b} {c}");
    }
}

#[test]
fn refusals() {
    for (text, says) in [
        (
            "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4}, %r5, 0",
            "sparse",
        ),
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}",
            "shape",
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1}, {%r3}, {%f1,%f2,%f3,%f4}",
            "registers",
        ),
        ("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {%r1,%r2}, {%r3}, {%r4}, {%r5,%r6}", "shape"),
        (
            "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e4m3.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r3,%r4}, {%f1,%f2,%f3,%f4}",
            "sm_100",
        ),
        ("wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r1}, [%rd0], 32", "rows of A"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%rd1}, [%r1]", "32 bits"),
    ] {
        let e = Case::new(&format!("{text};")).error().to_string();
        assert!(e.contains(says), "{text}: {e}");
    }
}

/// Tiles of 8 × 8 elements of 16 bits: element `(row, col)` of a tile as it lies in the buffer, by what the
/// ISA says of a lane's two elements.
#[test]
fn tiles() {
    let words: Vec<u32> = (0..256u32).map(|i| (2 * i) | ((2 * i + 1) << 16)).collect();
    let run = |text: &str| {
        let setup = ".shared .align 16 .b8 buf[1024]; mov.u32 %r9, buf; shl.b32 %r8, %r0, 4; mul.wide.u32 %rd2, %r0, 16;
             add.u64 %rd2, %rd0, %rd2; ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd2]; add.u32 %r7, %r9, %r8;
             st.shared.v4.u32 [%r7], {%r1,%r2,%r3,%r4}; ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd2+512]; bar.warp.sync -1;";
        let mut c = Case::new(&format!(
            "{setup} {text} bar.warp.sync -1; st.global.v4.u32 [%rd2], {{%r1,%r2,%r3,%r4}};"
        ));
        c.words = words.clone();
        c.all()
    };
    // In the buffer tile `t` has its row `r` at 16 bytes number `8t + r`.
    let element = |tile: u32, row: u32, col: u32| (tile * 8 + row) * 8 + col;
    let lane_has = |tile: u32, lane: u32, trans: bool| {
        let (row, col) = (lane / 4, lane % 4 * 2);
        let at = |c: u32| if trans { element(tile, c, row) } else { element(tile, row, c) };
        at(col) | at(col + 1) << 16
    };
    for (suffix, trans) in [("", false), (".trans", true)] {
        for n in [1, 2, 4] {
            let registers = ["{%r1}", "{%r1,%r2}", "{%r1,%r2,%r3,%r4}"][n / 2];
            let w = run(&format!("ldmatrix.sync.aligned.m8n8.x{n}{suffix}.shared.b16 {registers}, [%r7];"));
            for lane in 0..32 {
                for tile in 0..n {
                    assert_eq!(
                        w[4 * lane + tile],
                        lane_has(tile as u32, lane as u32, trans),
                        "x{n}{suffix} {lane} {tile}"
                    );
                }
            }
            // Stored, then read as it lies there.
            let w = run(&format!(
                "stmatrix.sync.aligned.m8n8.x{n}{suffix}.shared.b16 [%r7], {registers}; bar.warp.sync -1; ld.shared.v4.u32 {{%r1,%r2,%r3,%r4}}, [%r7];"
            ));
            for (i, &got) in w.iter().enumerate().take(32 * n) {
                let (tile, row, pair) = (i / 32, i / 4 % 8, i % 4);
                // The lane that has an element, and which of its two.
                let from = |col: usize| {
                    let (r, c) = if trans { (col, row) } else { (row, col) };
                    words[128 + 4 * (r * 4 + c / 2) + tile] >> (16 * (c % 2)) & 0xffff
                };
                assert_eq!(got, from(2 * pair) | from(2 * pair + 1) << 16, "st x{n}{suffix} {i}");
            }
        }
    }
    let w = run(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r7]; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;",
    );
    for lane in 0..32 {
        assert_eq!(w[4 * lane], lane_has(0, lane as u32, true));
    }
}
