//! PTX text that kernels share which digest words ([`crate::digest`]): what they do with each word, and how
//! the threads of a CTA add up. Registers `%a` and `%b` are a thread's sums.
//!
//! # Invariants
//! The text uses the registers `%lo`, `%hi`, `%x0` to `%x2`, `%t`, `%p`, `%a`, `%b` and `%thread`, and the
//! shared variable `sums`.

use crate::random::GOLDEN;

// The text has this constant as a number.
const _: () = assert!(GOLDEN == 0x9e37_79b9_7f4a_7c15);

/// Adds a word, XORed with its key, to the sums.
macro_rules! add {
    ($word:literal, $key:literal) => {
        concat!(
            "    xor.b64 %",
            $word,
            ", %",
            $word,
            ", %",
            $key,
            ";\n",
            "    mov.b64 {%lo, %hi}, %",
            $word,
            ";\n",
            "    mad.wide.u32 %a, %lo, %hi, %a;\n",
            "    add.u64 %b, %b, %",
            $word,
            ";\n",
        )
    };
}

/// Zeroes the sums of the thread and of its CTA.
macro_rules! clear {
    () => {
        r"    setp.eq.u32 %p, %thread, 0;
    @!%p bra CLEARED;
    mov.u64 %t, 0;
    st.shared.u64 [sums], %t;
    st.shared.u64 [sums+8], %t;
CLEARED:
    bar.sync 0;
    mov.u64 %a, 0;
    mov.u64 %b, 0;
"
    };
}

/// Gives the CTA's sums to its first thread. The others go to `DONE`.
macro_rules! of_cta {
    () => {
        r"    mov.u32 %x2, 16;
FOLD:
    mov.b64 {%lo, %hi}, %a;
    shfl.sync.bfly.b32 %x0, %lo, %x2, 31, 0xffffffff;
    shfl.sync.bfly.b32 %x1, %hi, %x2, 31, 0xffffffff;
    mov.b64 %t, {%x0, %x1};
    add.u64 %a, %a, %t;
    mov.b64 {%lo, %hi}, %b;
    shfl.sync.bfly.b32 %x0, %lo, %x2, 31, 0xffffffff;
    shfl.sync.bfly.b32 %x1, %hi, %x2, 31, 0xffffffff;
    mov.b64 %t, {%x0, %x1};
    add.u64 %b, %b, %t;
    shr.u32 %x2, %x2, 1;
    setp.ne.u32 %p, %x2, 0;
    @%p bra FOLD;
    and.b32 %x0, %thread, 31;
    setp.ne.u32 %p, %x0, 0;
    @%p bra WARPS;
    red.shared.add.u64 [sums], %a;
    red.shared.add.u64 [sums+8], %b;
WARPS:
    bar.sync 0;
    setp.ne.u32 %p, %thread, 0;
    @%p bra DONE;
    ld.shared.u64 %a, [sums];
    ld.shared.u64 %b, [sums+8];
"
    };
}

pub(super) use {add, clear, of_cta};
