//! The work of `bench_emulate`'s loops as a programmer writes it in Rust, one thread of the kernel after the
//! other: what the processor itself takes for it. Compiled as `cargo build --release` does, for every
//! processor of the architecture; where the kernel has `fma`, this has a product and a sum, since that target
//! has no other.

use std::hint::black_box;

/// Threads of the kernel, and of a warp.
const THREADS: usize = 128;
const WARP: usize = 32;
/// Trips of its loop.
const TRIPS: u32 = 200_000;

/// What a loop works on: the kernel's buffer.
pub type Buffer = Vec<f32>;

/// Integer and float mix.
pub fn mix(_: &mut Buffer) {
    for t in 0..THREADS {
        let (mut f, mut x, mut hash, mut sum) = (black_box(1f32), black_box(t as u32), 0u32, 0u32);
        for _ in 0..TRIPS {
            f = f * 0.5 + 1.0;
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            hash ^= x;
            sum = sum.wrapping_add(hash >> 3);
        }
        black_box((f, sum));
    }
}

/// A chain of products and sums.
pub fn chain(_: &mut Buffer) {
    for _ in 0..THREADS {
        let mut f = [black_box(1f32); 5];
        for _ in 0..TRIPS {
            for i in [0, 1, 2, 3, 4, 0] {
                f[i] = f[i] * 0.5 + 1.0;
            }
        }
        black_box(f);
    }
}

/// Loads and stores in rows.
pub fn rows(buffer: &mut Buffer) {
    for t in 0..THREADS {
        for i in 0..TRIPS as usize {
            let at = t + (i & 1023) * 32;
            buffer[at] = buffer[at] * 0.5 + 1.0;
        }
    }
}

/// Loads from anywhere.
pub fn gathers(buffer: &mut Buffer) {
    for t in 0..THREADS as u32 {
        let (mut x, mut f) = (1u32, 0f32);
        for _ in 0..TRIPS {
            x = x.wrapping_mul(1_664_525).wrapping_add(t);
            f = buffer[(x & 8191) as usize] * 0.5 + 1.0;
        }
        black_box(f);
    }
}

/// A branch that threads take differently.
pub fn divergent(_: &mut Buffer) {
    for t in 0..THREADS as u32 {
        let (mut x, mut hash, mut sum) = (1u32, 0u32, 0u32);
        for _ in 0..TRIPS {
            x = x.wrapping_mul(1_664_525).wrapping_add(t);
            let bit = x & 65_536;
            if bit != 0 {
                sum = sum.wrapping_add(bit);
            } else {
                hash ^= x;
            }
        }
        black_box((hash, sum));
    }
}

/// Loads and stores of shared memory.
pub fn shared(_: &mut Buffer) {
    let mut shared = [0f32; 256];
    for t in 0..THREADS {
        for i in 0..TRIPS as usize {
            shared[t] = black_box(&shared)[i & 127] * 0.5 + 1.0;
        }
    }
}

/// A product of 16 × 16 and 16 × 8 elements for each warp.
pub fn product(_: &mut Buffer) {
    let (a, b) = (black_box([[0.5f32; 16]; 16]), black_box([[0.25f32; 8]; 16]));
    for _ in 0..THREADS / WARP {
        let mut c = [[0f32; 8]; 16];
        for _ in 0..TRIPS {
            multiply(black_box(&a), &b, &mut c);
        }
        black_box(c);
    }
}

fn multiply(a: &[[f32; 16]; 16], b: &[[f32; 8]; 16], c: &mut [[f32; 8]; 16]) {
    for (a, c) in a.iter().zip(c) {
        for (a, b) in a.iter().zip(b) {
            for (c, b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    }
}

/// Exchanges between the lanes of a warp.
pub fn shuffles(_: &mut Buffer) {
    for _ in 0..THREADS / WARP {
        let (mut x, mut hash) = (black_box([1u32; WARP]), [0u32; WARP]);
        for _ in 0..TRIPS {
            let old = x;
            for l in 0..WARP {
                x[l] = old[l].wrapping_add(old[l ^ 1]);
            }
            for l in 0..WARP {
                hash[l] ^= x[if l + 4 < WARP { l + 4 } else { l }];
            }
        }
        black_box(hash);
    }
}

/// C = A·B of `n` × `n` elements.
pub fn matmul(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let mut c = vec![0f32; n * n];
    for (a, c) in a.chunks(n).zip(c.chunks_mut(n)) {
        for (a, b) in a.iter().zip(b.chunks(n)) {
            for (c, b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    }
    c
}
