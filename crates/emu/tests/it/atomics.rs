//! Atomics of 16 bytes and on vectors, against arithmetic of another author (`rustc_apfloat`).

use crate::alu::Random;
use crate::case::Case;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Half, Single};

/// Every lane at the same 16 bytes: all that they saw is a chain from the first value to the last.
#[test]
fn sixteen_bytes() {
    for space in ["global", "shared"] {
        let at = if space == "shared" { "%r9" } else { "%rd0" };
        let mut c = Case::new(&format!(
            ".shared .align 16 .b8 place[16]; .reg .b128 %q<4>;
             mov.u32 %r9, place; ld.global.v4.u32 {{%r1,%r2,%r3,%r4}}, [%rd0];
             setp.ne.u32 %p1, %r0, 0; @%p1 bra WAIT; st.shared.v4.u32 [place], {{%r1,%r2,%r3,%r4}}; \
             WAIT: bar.sync 0;
             mul.wide.u32 %rd4, %r0, 32; add.u64 %rd4, %rd0, %rd4;
             // Adds 1 to the upper half, and the lane to the lower, until nobody comes between.
             ld.{space}.v2.u64 {{%rd6, %rd7}}, [{at}]; mov.b128 %q0, {{%rd6, %rd7}};
             AGAIN: mov.b128 {{%rd6, %rd7}}, %q0; add.u64 %rd8, %rd7, 1; cvt.u64.u32 %rd9, %r0; \
             add.u64 %rd9, %rd9, %rd6;
             mov.b128 %q1, {{%rd9, %rd8}};
             atom.{space}.relaxed.gpu.cas.b128 %q2, [{at}], %q0, %q1;
             mov.b128 {{%rd10, %rd11}}, %q2;
             setp.ne.u64 %p2, %rd10, %rd6; setp.ne.u64 %p3, %rd11, %rd7; or.pred %p2, %p2, %p3; \
             mov.b128 %q0, %q2; @%p2 bra AGAIN;
             st.global.v2.u64 [%rd4+32], {{%rd10, %rd11}};
             bar.sync 0; setp.ne.u32 %p4, %r0, 5; @%p4 ret;
             mov.b128 %q1, {{7, 8}}; atom.{space}.exch.b128 %q2, [{at}], %q1; mov.b128 {{%rd10, %rd11}}, %q2;
             ld.{space}.v2.u64 {{%rd6, %rd7}}, [{at}];
             st.global.v2.u64 [%rd4+48], {{%rd6, %rd7}}; st.global.v2.u64 [%rd0+2048], {{%rd10, %rd11}};"
        ));
        c.words = vec![0; 1024];
        c.words[0..4].copy_from_slice(&[100, 0, 40, 1]);
        for seed in 0..20 {
            let (w, ..) = c.seed(seed).unwrap_or_else(|e| panic!("{e}"));
            let pair = |i: usize| (w[i], u64::from(w[i + 2]) | u64::from(w[i + 3]) << 32);
            // The counts that lanes saw are all different, and the last has them all.
            let mut seen: Vec<u64> = (0..32).map(|l| pair(8 * l + 8).1).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..32).map(|n| (1 << 32) + 40 + n).collect::<Vec<u64>>(), "{space} {seed}");
            assert_eq!(pair(512), (100 + 31 * 16, (1 << 32) + 72), "{space} {seed}");
            assert_eq!((w[8 * 5 + 12], w[8 * 5 + 14]), (7, 8), "{space} {seed}");
        }
    }
}

/// A 16-bit number, often a corner.
fn half(r: &mut Random) -> u32 {
    const CORNERS: [u32; 10] = [0, 0x8000, 1, 0x8001, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7fff, 0xffc1];
    let x = r.next();
    if x >> 62 == 0 { CORNERS[(x % 10) as usize] } else { (x & 0xffff) as u32 }
}

fn halves<F: Float>(op: &str, a: u32, b: u32) -> u32 {
    let (x, y) = (F::from_bits(a.into()), F::from_bits(b.into()));
    let r = match op {
        "add" => (x + y).value,
        _ if x.is_nan() && y.is_nan() => F::NAN,
        _ if x.is_nan() => y,
        _ if y.is_nan() => x,
        // -0 is less than +0.
        _ if x.is_zero() && y.is_zero() => {
            if (op == "min") == x.is_negative() {
                x
            } else {
                y
            }
        }
        "min" => {
            if x < y {
                x
            } else {
                y
            }
        }
        _ => {
            if x > y {
                x
            } else {
                y
            }
        }
    };
    if r.is_nan() { 0x7fff } else { r.to_bits() as u32 }
}

/// A place for each lane: what is written, and what was there.
#[test]
fn vectors_of_halves() {
    let mut r = Random(5);
    for (ty, bits, f) in [
        ("f16", 16, halves::<Half> as fn(&str, u32, u32) -> u32),
        ("bf16", 16, halves::<BFloat>),
        ("f16x2", 32, halves::<Half>),
        ("bf16x2", 32, halves::<BFloat>),
    ] {
        for n in [2, 4, 8] {
            let bytes = n * bits / 8;
            if bytes > 16 {
                continue;
            }
            for op in ["add", "min", "max"] {
                let list = |name: &str| (0..n).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(",");
                let load = |name: &str, at: usize| -> String {
                    (0..n)
                        .map(|i| format!("ld.global.b{bits} %{name}{i}, [%rd5+{}];", at + i * bits / 8))
                        .collect()
                };
                let mut c = Case::new(&format!(
                    ".reg .b{bits} %a<8>; .reg .b{bits} %o<8>;
                     mul.wide.u32 %rd5, %r0, 48; add.u64 %rd5, %rd0, %rd5; {}
                     atom.global.{op}.noftz.v{n}.{ty} {{{}}}, [%rd5], {{{}}};
                     red.global.{op}.noftz.v{n}.{ty} [%rd5+16], {{{}}}; {}",
                    load("a", 32),
                    list("o"),
                    list("a"),
                    list("a"),
                    (0..n)
                        .map(|i| format!("st.global.b{bits} [%rd5+{}], %o{i};", 32 + i * bits / 8))
                        .collect::<String>(),
                ));
                let before: Vec<u32> = (0..32 * 12).map(|_| half(&mut r) | half(&mut r) << 16).collect();
                c.words = before.clone();
                let after = c.words();
                for lane in 0..32 {
                    for word in 0..bytes / 4 {
                        let at = |offset: usize| lane * 12 + offset / 4 + word;
                        let want = |old: u32| {
                            let v = before[at(32)];
                            f(op, old & 0xffff, v & 0xffff) | f(op, old >> 16, v >> 16) << 16
                        };
                        let text = format!("{op}.v{n}.{ty} lane {lane}");
                        assert_eq!(
                            after[at(0)],
                            want(before[at(0)]),
                            "{text}: {:x} {:x}",
                            before[at(0)],
                            before[at(32)]
                        );
                        assert_eq!(after[at(16)], want(before[at(16)]), "{text}");
                        assert_eq!(after[at(32)], before[at(0)], "{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn vectors_of_floats() {
    for n in [2, 4] {
        let list = |name: &str| (0..n).map(|i| format!("%{name}{i}")).collect::<Vec<_>>().join(",");
        // All lanes at one place: the sums are exact, so the order does not matter.
        let mut c = Case::new(&format!(
            ".reg .f32 %a<4>; .reg .f32 %o<4>; cvt.rn.f32.u32 %a0, %r0; add.f32 %a1, %a0, %a0; add.f32 %a2, %a1, %a0; add.f32 %a3, %a1, %a1;
             atom.global.gpu.add.v{n}.f32 {{{}}}, [%rd0], {{{}}}; red.global.add.v{n}.f32 [%rd0+16], {{{}}};",
            list("o"),
            list("a"),
            list("a")
        ));
        c.words = vec![0.5f32.to_bits(); 8];
        for (i, got) in c.all().into_iter().enumerate() {
            let want: f32 = if i % 4 < n { 0.5 + 496.0 * (i % 4 + 1) as f32 } else { 0.5 };
            assert_eq!(got, Single::from_bits(want.to_bits().into()).to_bits() as u32, "v{n} {i}");
        }
    }
}

#[test]
fn refusals() {
    for (text, says) in [
        (".reg .b128 %q<3>; atom.global.add.b128 %q0, [%rd0], %q1;", "not implemented for this type"),
        ("atom.global.min.f32 %f1, [%rd0], %f2;", "not implemented for this type"),
    ] {
        let e = Case::new(text).error().to_string();
        assert!(e.contains(says), "{text}: {e}");
    }
}
