//! The kernel that hashes what the warps of launches left at their end, as PTX
//! ([`crate::record::program::launch_hashes`] has its interface).
//!
//! The CTAs along x share the warps of a part, a thread takes one warp at a time, and every CTA adds its sums
//! to those of the part. The words are zeroed, since later warps whose lanes end apart merge theirs with what
//! is there.

use crate::cuda::sum_text::{add, clear, of_cta};
use crate::record::program::launch_hashes::{PART, PARTS, THREADS};

// The text has these constants as numbers.
const _: () = assert!(PARTS * PART == 3072 && PART == 32 && THREADS == 256);

/// PTX text of the kernel with which a recorder hashes launches on the device.
pub const LAUNCH_HASHES: &str = concat!(
    r".version 7.0
.target sm_70
.address_size 64

.visible .entry prlx_launch_hashes(
    .param .align 8 .b8 parts[3072]
)

.maxntid 256, 1, 1
{
    .reg .pred %p;
    .reg .b32 %x<3>, %lo, %hi, %thread, %warps, %each, %words, %left;
    .reg .b64 %list, %at, %to, %at1, %n, %warp, %step, %w0, %t, %key, %a, %b;
    .shared .align 8 .b64 sums[2];

    mov.u32 %x0, %ctaid.y;
    mul.wide.u32 %t, %x0, 32;
    mov.b64 %list, parts;
    add.u64 %list, %list, %t;
    ld.param.u64 %at, [%list];
    ld.param.u64 %to, [%list+8];
    ld.param.u32 %warps, [%list+16];
    ld.param.u32 %each, [%list+20];
    ld.param.u32 %words, [%list+24];
    cvt.u64.u32 %n, %warps;
    mov.u32 %thread, %tid.x;
    mov.u32 %x0, %ctaid.x;
    mad.lo.u32 %x0, %x0, 256, %thread;
    cvt.u64.u32 %warp, %x0;
    mov.u32 %x0, %nctaid.x;
    mul.wide.u32 %step, %x0, 256;
",
    clear!(),
    r"WARP:
    setp.ge.u64 %p, %warp, %n;
    @%p bra ADDED;
    cvt.u64.u32 %t, %each;
    mad.lo.u64 %at1, %warp, %t, %at;
    // Word i's key is (i + 1) * 0x9e3779b97f4a7c15.
    cvt.u64.u32 %t, %words;
    mul.lo.u64 %key, %warp, %t;
    mad.lo.u64 %key, %key, 0x9e3779b97f4a7c15, 0x9e3779b97f4a7c15;
    mov.u32 %left, %words;
WORD:
    ld.global.u32 %x0, [%at1];
    st.global.u32 [%at1], 0;
    cvt.u64.u32 %w0, %x0;
",
    add!("w0", "key"),
    r"    add.u64 %key, %key, 0x9e3779b97f4a7c15;
    add.u64 %at1, %at1, 4;
    sub.u32 %left, %left, 1;
    setp.ne.u32 %p, %left, 0;
    @%p bra WORD;
    add.u64 %warp, %warp, %step;
    bra WARP;

ADDED:
",
    of_cta!(),
    r"    red.global.add.u64 [%to], %a;
    red.global.add.u64 [%to+8], %b;
DONE:
    ret;
}

",
);
