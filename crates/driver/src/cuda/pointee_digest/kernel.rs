//! The kernel that digests memory, as PTX. [`crate::digest::memory`] defines the digest.
//!
//! One launch digests several ranges: the grid's y counts ranges, and the CTAs along x share one. A slot has
//! 32 bytes for each range: two sums and the number of CTAs that have added to them. The last CTA of a range
//! stores the result, in memory that the host can read, and resets the sums for the next launch.
//!
//! A result is the two sums and a tag. Results have places for each range and side. The tag is stored last,
//! so the host sees without a call of the driver that the sums are there.
//!
//! # Invariants
//! The kernel reads only the words that a range touches. In ranges aligned to 16 bytes it reads words in
//! pairs, four pairs at a time. In other ranges it combines each word from two aligned ones. One thread reads
//! the rest byte by byte.

use crate::cuda::sum_text::{add, clear, of_cta};

/// Maximum number of ranges in one launch.
pub const RANGES: usize = 32;

/// Number of threads in a CTA.
pub const THREADS: u32 = 256;

/// Least number of bytes of a range that get a CTA of their own, as a power of two.
pub const LEAST_SHARE: u32 = 14;

/// Size of a slot in bytes.
pub const SLOT: u64 = 32 * RANGES as u64;

/// Size of the memory for a result in bytes: two sums, the tag, and eight bytes that are not used.
pub const RESULT: u64 = 32;

/// Offset of the tag in a result.
pub const TAG: usize = 16;

/// Name of the kernel.
pub const NAME: &str = "prlx_digest";

// The text has these constants as numbers.
const _: () = assert!(RANGES * 16 == 512 && THREADS == 256 && SLOT / RANGES as u64 == RESULT);

/// Adds two adjacent words.
macro_rules! pair {
    ($word:literal, $next:literal) => {
        concat!(
            add!($word, "key"),
            "    add.u64 %next, %key, 0x9e3779b97f4a7c15;\n",
            add!($next, "next"),
            "    add.u64 %key, %key, %turn;\n",
        )
    };
}

/// PTX text of the module.
pub const PTX: &str = concat!(
    r".version 7.0
.target sm_70
.address_size 64

.visible .entry prlx_digest(
    .param .u64 slot,
    .param .u64 results,
    .param .u64 tag,
    .param .u32 side,
    .param .u32 share,
    .param .align 8 .b8 ranges[512]
)

.maxntid 256, 1, 1
{
    .reg .pred %p;
    .reg .b32 %x<8>, %lo, %hi, %ctas, %cta, %thread, %range, %bits, %up;
    .reg .b64 %slot, %list, %at, %len, %n, %i, %each, %three, %step, %at1, %at2, %at3, %w<8>, %t, %u;
    .reg .b64 %key, %next, %turn, %a, %b;
    .shared .align 8 .b64 sums[2];

    mov.u32 %range, %ctaid.y;
    mov.u32 %cta, %ctaid.x;
    mov.u32 %thread, %tid.x;
    ld.param.u64 %slot, [slot];
    mov.b64 %list, ranges;
    mul.wide.u32 %t, %range, 16;
    add.u64 %list, %list, %t;
    ld.param.u64 %at, [%list];
    ld.param.u64 %len, [%list+8];

    // A CTA for each share of 2^share bytes, and at least one.
    ld.param.u32 %x0, [share];
    max.u64 %t, %len, 1;
    sub.u64 %t, %t, 1;
    shr.u64 %t, %t, %x0;
    cvt.u32.u64 %ctas, %t;
    add.u32 %ctas, %ctas, 1;
    setp.ge.u32 %p, %cta, %ctas;
    @%p bra DONE;

",
    clear!(),
    r"    mad.lo.u32 %x0, %cta, 256, %thread;
    cvt.u64.u32 %i, %x0;
    mul.lo.u32 %x0, %ctas, 256;
    cvt.u64.u32 %each, %x0;

    and.b64 %t, %at, 15;
    setp.ne.u64 %p, %t, 0;
    @%p bra WORDS;

    // Pairs of words, four pairs at a time: word i's key is (i + 1) * 0x9e3779b97f4a7c15.
    shr.u64 %n, %len, 4;
    mul.lo.u64 %three, %each, 3;
    shl.b64 %step, %each, 4;
    shl.b64 %t, %i, 4;
    add.u64 %at1, %at, %t;
    shl.b64 %key, %i, 1;
    mad.lo.u64 %key, %key, 0x9e3779b97f4a7c15, 0x9e3779b97f4a7c15;
    shl.b64 %turn, %each, 1;
    mul.lo.u64 %turn, %turn, 0x9e3779b97f4a7c15;
FOUR:
    add.u64 %t, %i, %three;
    setp.ge.u64 %p, %t, %n;
    @%p bra ONE;
    add.u64 %at2, %at1, %step;
    ld.global.v2.u64 {%w0, %w1}, [%at1];
    add.u64 %at3, %at2, %step;
    ld.global.v2.u64 {%w2, %w3}, [%at2];
    add.u64 %at1, %at3, %step;
    ld.global.v2.u64 {%w4, %w5}, [%at3];
    ld.global.v2.u64 {%w6, %w7}, [%at1];
    add.u64 %at1, %at1, %step;
",
    pair!("w0", "w1"),
    r"",
    pair!("w2", "w3"),
    r"",
    pair!("w4", "w5"),
    r"",
    pair!("w6", "w7"),
    r"    add.u64 %i, %t, %each;
    bra FOUR;
ONE:
    setp.ge.u64 %p, %i, %n;
    @%p bra PAIRED;
    ld.global.v2.u64 {%w0, %w1}, [%at1];
    add.u64 %at1, %at1, %step;
",
    pair!("w0", "w1"),
    r"    add.u64 %i, %i, %each;
    bra ONE;
PAIRED:
    shl.b64 %n, %n, 1;
    bra TAIL;

    // Where words do not lie at multiples of 16: each from the two that it lies in.
WORDS:
    and.b64 %t, %at, 7;
    sub.u64 %at1, %at, %t;
    add.u64 %u, %len, %t;
    cvt.u32.u64 %bits, %t;
    shl.b32 %bits, %bits, 3;
    sub.u32 %up, 64, %bits;
    mov.u64 %n, 0;
    setp.lt.u64 %p, %u, 16;
    @%p bra TAIL;
    shr.u64 %n, %u, 3;
    sub.u64 %n, %n, 1;
    shl.b64 %t, %i, 3;
    add.u64 %at1, %at1, %t;
    shl.b64 %step, %each, 3;
    mad.lo.u64 %key, %i, 0x9e3779b97f4a7c15, 0x9e3779b97f4a7c15;
    mul.lo.u64 %turn, %each, 0x9e3779b97f4a7c15;
WORD:
    setp.ge.u64 %p, %i, %n;
    @%p bra TAIL;
    ld.global.u64 %w0, [%at1];
    ld.global.u64 %w1, [%at1+8];
    add.u64 %at1, %at1, %step;
    shr.u64 %w0, %w0, %bits;
    shl.b64 %w1, %w1, %up;
    or.b64 %w0, %w0, %w1;
",
    add!("w0", "key"),
    r"    add.u64 %key, %key, %turn;
    add.u64 %i, %i, %each;
    bra WORD;

    // What is left behind word n, by one thread: fewer than 24 bytes, zeros behind them.
TAIL:
    or.b32 %x0, %cta, %thread;
    setp.ne.u32 %p, %x0, 0;
    @%p bra ADDED;
    mad.lo.u64 %key, %n, 0x9e3779b97f4a7c15, 0x9e3779b97f4a7c15;
    shl.b64 %i, %n, 3;
    mov.u64 %w0, 0;
    mov.u32 %bits, 0;
BYTE:
    setp.ge.u64 %p, %i, %len;
    @%p bra LAST;
    add.u64 %t, %at, %i;
    ld.global.u8 %w1, [%t];
    shl.b64 %w1, %w1, %bits;
    or.b64 %w0, %w0, %w1;
    add.u64 %i, %i, 1;
    add.u32 %bits, %bits, 8;
    setp.lt.u32 %p, %bits, 64;
    @%p bra BYTE;
",
    add!("w0", "key"),
    r"    add.u64 %key, %key, 0x9e3779b97f4a7c15;
    mov.u64 %w0, 0;
    mov.u32 %bits, 0;
    bra BYTE;
LAST:
    setp.eq.u32 %p, %bits, 0;
    @%p bra ADDED;
",
    add!("w0", "key"),
    r"
ADDED:
    // The warp's lanes, then the CTA's warps, then the CTAs.
",
    of_cta!(),
    r"    mul.wide.u32 %t, %range, 32;
    add.u64 %at1, %slot, %t;
    red.global.add.u64 [%at1], %a;
    red.global.add.u64 [%at1+8], %b;
    membar.gl;
    sub.u32 %x0, %ctas, 1;
    // It begins at 0 again behind the last.
    atom.global.inc.u32 %x1, [%at1+16], %x0;
    setp.ne.u32 %p, %x1, %x0;
    @%p bra DONE;
    membar.gl;
    atom.global.exch.b64 %a, [%at1], 0;
    atom.global.exch.b64 %b, [%at1+8], 0;
    ld.param.u32 %x2, [side];
    mad.lo.u32 %x2, %range, 2, %x2;
    mul.wide.u32 %t, %x2, 32;
    ld.param.u64 %at1, [results];
    add.u64 %at1, %at1, %t;
    st.global.v2.u64 [%at1], {%a, %b};
    membar.sys;
    ld.param.u64 %t, [tag];
    st.volatile.global.u64 [%at1+16], %t;
DONE:
    ret;
}

",
);
