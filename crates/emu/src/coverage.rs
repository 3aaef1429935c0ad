//! What the device does with each operation of PTX: the table of `docs/ops.md`, and what decoding goes by.

use prlx_isa::ptx::Op;

/// What the device does with an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// It runs; with what is missing of it, or nothing.
    Runs(&'static str),
    /// It is accepted and does nothing, which it may.
    Hint,
    /// A kernel with it is refused.
    Refused,
}

/// What the device does with `op`. An operation that is added to the table does not compile until it has its place here.
pub const fn coverage(op: Op) -> Coverage {
    use Coverage::{Hint, Refused, Runs};
    use Op::*;
    match op {
        Add | Addc | Sub | Subc | Mul | Mad | Madc | Mul24 | Mad24 | Sad | Div | Rem | Abs | Neg | Min | Max | Popc
        | Clz | Bfind | Fns | Brev | Bfe | Bfi | Szext | Bmsk | Dp4a | Dp2a | Testp | Copysign | Fma | Set | Setp
        | Selp | Slct | And | Or | Xor | Not | Cnot | Lop3 | Shf | Shl | Shr | Mov | Prmt | Cvt => Runs(""),
        Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh => Runs("`.approx`: within the documented error"),
        Ld | Ldu | St | Bra | Brx | Call | Ret | Exit | Trap | Brkpt | Vote | Match | Activemask | Redux | Elect
        | Nanosleep | Isspacep | Cvta | Movmatrix | Bar | Barrier | Mapa | Getctarank => Runs(""),
        Shfl => Runs("`.sync` only"),
        Atom | Red => Runs("an access of 16 bytes is atomic to others of 16 bytes only"),
        Stacksave | Stackrestore | Alloca => Runs("64-bit addresses only"),
        Membar | Fence => Runs("memory is sequentially consistent"),
        Cp => Runs("no tensors, no multicast; `.bulk` copies at once"),
        Mbarrier => Runs(""),
        Ldmatrix | Stmatrix => Runs("8x8 tiles of 16-bit elements"),
        Mma => Runs(
            "no sparse or block-scaled forms, nor `m8n8k4` of binary16; sums of 16- and 8-bit floating point within a tolerance",
        ),
        Wmma => Runs("as `mma`"),
        Wgmma => Runs("no `.sp`; sums of floating point within a tolerance"),
        Createpolicy => Runs("the policy has no effect"),
        Prefetch | Prefetchu | Applypriority | Discard | Griddepcontrol | Pmevent | Setmaxnreg => Hint,
        Multimem | Tensormap | Tex | Tld4 | Txq | Istypep | Suld | Sust | Sured | Suq | Clusterlaunchcontrol
        | Tcgen05 => Refused,
        Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vset | Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2
        | Vmax2 | Vset2 | Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 => Runs(""),
        Vmad => Runs("no negated operands"),
    }
}
