//! Inputs and results of the kernels of `tests/kernels/amd/operations.hip`, computed in another way than the
//! CPU device does it.
//!
//! # Invariants
//! - Results are exact. No result is a NaN.

/// What `out` holds after a launch, 128 words.
pub type Reference = Vec<u32>;

/// What `out` holds before.
pub const FILL: u32 = 7;

/// Lanes of a launch.
const LANES: usize = 64;

/// A kernel, the targets that have it, and its results for an input and a target.
type Kernel = (&'static str, &'static [&'static str], fn(&[u32], &str) -> Reference);

/// The kernels of `operations.hip`.
pub const KERNELS: &[Kernel] = &[
    ("rows", &["gfx942", "gfx1100"], rows),
    ("lanes", &["gfx942"], lanes),
    ("scalars", &["gfx942", "gfx1100"], scalars),
    ("halves", &["gfx942", "gfx1100"], halves),
    ("branches", &["gfx942", "gfx1100"], branches),
    ("counted", &["gfx942", "gfx1100"], counted),
    ("carries", &["gfx942", "gfx1100"], carries),
    ("tiles", &["gfx942", "gfx1100"], tiles),
    ("modes", &["gfx942", "gfx1100"], modes),
    ("parts", &["gfx942", "gfx1100"], parts),
    ("shared", &["gfx942"], shared),
    ("divided", &["gfx942", "gfx1100"], divided),
    ("converted", &["gfx942", "gfx1100"], converted),
    ("matrix", &["gfx942", "gfx1100"], matrix),
    ("pairs", &["gfx942"], pairs),
    ("crossed", &["gfx1100"], crossed),
];

/// The results of a kernel.
pub fn reference(kernel: &str, target: &str, input: &[u32]) -> Result<Reference, String> {
    let found = KERNELS.iter().find(|(name, targets, _)| *name == kernel && targets.contains(&target));
    Ok(found.ok_or_else(|| format!("there is no kernel {kernel} for {target}"))?.2(input, target))
}

/// The content of `in`, 128 words.
pub fn input(kernel: &str) -> Vec<u32> {
    let mut state = 0x2545_f491u32;
    let mut next = || {
        // xorshift
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut words: Vec<u32> = (0..2 * LANES).map(|_| next()).collect();
    match kernel {
        // Integers from -15 to 15, as binary16.
        "halves" => {
            words.iter_mut().for_each(|w| {
                let half = |byte: u32| u32::from(binary16((byte % 31) as f32 - 15.0));
                *w = half(*w & 255) | half(*w >> 8 & 255) << 16;
            });
        }
        "divided" => {
            // No NaN and no infinity, and quotients that are defined.
            words.iter_mut().for_each(|w| *w = if *w >> 23 & 255 == 255 { *w & !(1 << 23) } else { *w });
            let special = [
                (0, 0x3f80_0000),
                (0x7f80_0000, 0xc000_0000),
                (0x3f80_0000, 0),
                (0x0000_0003, 0x3f80_0000),
                (0x7f7f_ffff, 0x0080_0000),
                (0x0080_0000, 0x7f7f_ffff),
                (0x4040_0000, 0x7f00_0000),
                (0x3f80_0000, 0x0000_0001),
                (0x7f00_0000, 0x7f7f_ffff),
                (0x0000_0005, 0x0080_0001),
            ];
            for (at, (a, b)) in special.into_iter().enumerate() {
                words[at] = a;
                words[at + LANES] = b;
            }
        }
        // A sum of scalars that has a carry, a difference that has a borrow.
        "scalars" => words[..7].copy_from_slice(&[
            0x9000_0003,
            0xc123_4567,
            0xa000_0001,
            0x8abc_def0,
            5,
            0xf000_0009,
            7,
        ]),
        _ => {}
    }
    words
}

/// The results of two functions of a lane.
fn both(f: impl Fn(usize) -> u32, g: impl Fn(usize) -> u32) -> Reference {
    (0..LANES).map(f).chain((0..LANES).map(g)).collect()
}

/// The results of a function of a lane. The rest of `out` stays.
fn one(f: impl Fn(usize) -> u32) -> Reference {
    both(f, |_| FILL)
}

fn rows(x: &[u32], _: &str) -> Reference {
    one(|l| {
        let below = if l % 16 == 0 { u32::MAX } else { x[l - 1] };
        let first = if l / 4 % 2 == 0 { x[l / 4 * 4] } else { 7 };
        below ^ x[l / 16 * 16 + 15 - l % 16] << 8 ^ first << 16
    })
}

fn lanes(x: &[u32], _: &str) -> Reference {
    let named = x[(x[64] & 31) as usize];
    one(|l| {
        let sent = x[(l + LANES - 7) % LANES];
        sent.wrapping_add(named.wrapping_mul(3)).wrapping_add(x[l ^ 1].wrapping_mul(5))
    })
}

fn scalars(x: &[u32], _: &str) -> Reference {
    let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let (a, b) = (wide(x[0], x[1]), wide(x[2], x[3]));
    let halves = |v: u64, n: u32, m: u32| (v as u32).wrapping_mul(n) ^ ((v >> 32) as u32).wrapping_mul(m);
    let high = ((u64::from(x[0]) * u64::from(x[1])) >> 32) as u32;
    let chosen = if x[4] < x[5] { x[0] } else { x[3] };
    let part = ((x[1] << 7) as i32 >> 20) as u32;
    let far = a << (x[6] & 63) ^ b >> (x[5] & 63);
    let all = halves(a.wrapping_add(b), 1, 1)
        ^ halves(a.wrapping_sub(b), 1, 3)
        ^ high.wrapping_mul(5)
        ^ chosen.wrapping_mul(7)
        ^ part.wrapping_mul(9)
        ^ halves(far, 11, 13);
    one(|l| all.wrapping_add(a.count_ones()).wrapping_add(l as u32))
}

/// A value as binary16, rounded to nearest even. It is zero, or normal in that format.
fn binary16(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    if x == 0.0 {
        return sign;
    }
    let magnitude = bits & 0x7fff_ffff;
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | ((rounded >> 13) - ((127 - 15) << 10)) as u16
}

/// A value of binary16 that is zero or normal.
fn from_binary16(x: u32) -> f32 {
    if x & 0x7fff == 0 {
        0.0
    } else {
        f32::from_bits((x & 0x8000) << 16 | ((x & 0x7fff) + ((127 - 15) << 10)) << 13)
    }
}

fn halves(x: &[u32], _: &str) -> Reference {
    let part = |w: u32, high: bool| from_binary16(if high { w >> 16 } else { w & 0xffff });
    let pack = |low: f32, high: f32| u32::from(binary16(low)) | u32::from(binary16(high)) << 16;
    both(
        |l| {
            let (a, b) = (x[l], x[l + LANES]);
            let low = part(b, false);
            pack(part(a, false) * part(b, true) + low, part(a, true) * low + low)
        },
        |l| {
            let (a, b) = (x[l], x[l + LANES]);
            pack(part(a, false) - part(b, false), part(a, true) - part(b, true))
        },
    )
}

fn branches(x: &[u32], _: &str) -> Reference {
    one(|l| {
        if x[l] & 1 == 1 {
            let steps =
                std::iter::successors(Some(x[l]), |x| (*x > 1000).then(|| x - x / 4)).collect::<Vec<_>>();
            return steps[steps.len() - 1] + steps.len() as u32 - 1;
        }
        let last = (1..=x[l + LANES] & 31).rev().fold(x[l], |x, m| x.wrapping_mul(5).wrapping_add(m));
        last.wrapping_add(7)
    })
}

fn counted(x: &[u32], _: &str) -> Reference {
    let mut out = vec![FILL; 2 * LANES];
    for at in 0..8 {
        let before = u64::from(FILL) << 32 | u64::from(FILL);
        let sum =
            (0..LANES).filter(|l| l % 8 == at).map(|l| u64::from(x[l]) << 9).fold(before, u64::wrapping_add);
        (out[2 * at], out[2 * at + 1]) = (sum as u32, (sum >> 32) as u32);
    }
    out
}

fn carries(x: &[u32], _: &str) -> Reference {
    let words = |w: [u32; 3]| w.into_iter().fold(0u128, |n, w| n << 32 | u128::from(w));
    let a = |l: usize| words([x[l], !x[l + LANES], !x[l]]);
    let b = |l: usize| words([x[l + LANES], x[l + LANES], x[l]]);
    let high = |n: u128| ((n >> 64) as u32).wrapping_mul(3).wrapping_add((n >> 96) as u32);
    both(|l| high(a(l) + b(l) + 1), |l| high(a(l).wrapping_sub(b(l))))
}

fn tiles(x: &[u32], _: &str) -> Reference {
    one(|l| x[63 - l].wrapping_mul(3).wrapping_add(x[127 - l]))
}

fn modes(x: &[u32], _: &str) -> Reference {
    // Floats from 2^24 to 2^25 are even.
    let low = |l: usize| x[l] & 63;
    both(|l| (1 << 24) + low(l) + low(l) % 2, |l| ((1 << 24) as f32 + low(l) as f32) as u32)
}

fn parts(x: &[u32], _: &str) -> Reference {
    let bytes: Vec<u8> = x.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut out = one(|l| {
        let byte = i32::from(bytes[l] as i8);
        let half = i32::from(i16::from_le_bytes([bytes[2 * (l + 64)], bytes[2 * (l + 64) + 1]]));
        let third = i32::from(bytes[4 * l + 2]);
        let field = (x[l] << 5) as i32 >> 21;
        (byte * 3 + half * 5 + third * 7 + field * 11) as u32
    });
    for (word, four) in out[LANES..].iter_mut().zip(x.chunks(4)).take(LANES / 4) {
        *word = u32::from_le_bytes([0, 1, 2, 3].map(|i| (four[i] >> 8) as u8));
    }
    out
}

fn shared(x: &[u32], _: &str) -> Reference {
    let most = |column: usize| {
        let all = (0..LANES).filter(|l| l % 16 == column).map(|l| (x[l] & 0xffff) as i32 - 0x4000);
        all.max().unwrap_or(0).max(0) as u32
    };
    // Lane 0 finds 5. Each lane finds the bits of lower lanes of its column.
    let first = |l| if l == 0 { 32 } else { 0 };
    both(|l| most(l % 16) * 64 + (l / 16) as u32 + first(l), |_| 9 + 15)
}

fn divided(x: &[u32], _: &str) -> Reference {
    let value = |l: usize| f32::from_bits(x[l]);
    both(
        |l| (value(l) / value(l + LANES)).to_bits(),
        |l| {
            let mut three = [value(l), value(l + LANES), 1.0];
            three.sort_by(f32::total_cmp);
            three[1].to_bits()
        },
    )
}

fn converted(x: &[u32], _: &str) -> Reference {
    let float = |l: usize| x[l] as i32 as f32;
    both(
        |l| float(l).to_bits() ^ u32::from(binary16(float(l) / (1 << 20) as f32)) << 16,
        |l| (x[l] / 2).wrapping_add((float(l) / (1 << 28) as f32).round_ties_even() as i32 as u32),
    )
}

fn matrix(x: &[u32], target: &str) -> Reference {
    // Element (row, column) of A times B, and where element `r` of lane `l` of the sum is.
    let cdna = |row: usize, column: usize| {
        (0..4).map(|k| (x[row + 16 * k] & 15) * (x[LANES + column + 16 * k] & 15)).sum::<u32>()
    };
    let element = |base: usize, at: usize, k: usize| x[base + 4 * at + k / 4] >> (k % 4 * 8) & 7;
    let rdna = |row: usize, column: usize| {
        (0..16).map(|k| element(0, row, k) * element(LANES, column, k)).sum::<u32>()
    };
    let sum = |l: usize, r: usize| {
        r as u32
            + 1
            + if target == "gfx942" {
                cdna(4 * (l / 16) + r, l % 16)
            } else {
                rdna(2 * r + l % 32 / 16, l % 16)
            }
    };
    let (third, fourth) = if target == "gfx942" { (2, 3) } else { (6, 7) };
    both(|l| sum(l, 0) | sum(l, 1) << 16, |l| sum(l, third) | sum(l, fourth) << 16)
}

fn pairs(x: &[u32], _: &str) -> Reference {
    let byte = |l: usize, at: u32| x[l] >> (8 * at) & 255;
    both(
        |l| byte(l, 0) * byte(l + LANES, 0) + byte(l + LANES, 1),
        |l| byte(l, 1) * byte(l + LANES, 1) + byte(l, 0),
    )
}

fn crossed(x: &[u32], _: &str) -> Reference {
    one(|l| x[l ^ 16] ^ x[l ^ 1] << 8 ^ x[l ^ 3] << 16)
}
