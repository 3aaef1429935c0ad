//! What the device does with each operation of PTX. Decoding and the table of `docs/ops.md` use this.

use prlx_isa::ptx::Op;

/// What the device does with an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// The operation runs. The text says what is missing, if anything.
    Runs(&'static str),
    /// The operation is accepted and has no effect, which PTX allows.
    Hint,
    /// A kernel with it is refused.
    Refused,
}

/// What the device does with `op`. The match is exhaustive: a new operation must be added here.
pub const fn coverage(op: Op) -> Coverage {
    use Coverage::{Hint, Refused, Runs};
    use Op::*;
    match op {
        Add | Addc | Sub | Subc | Mul | Mad | Madc | Mul24 | Mad24 | Sad | Div | Rem | Abs | Neg | Min
        | Max | Popc | Clz | Bfind | Fns | Brev | Bfe | Bfi | Szext | Bmsk | Dp4a | Dp2a | Testp
        | Copysign | Fma | Set | Setp | Selp | Slct | And | Or | Xor | Not | Cnot | Lop3 | Shf | Shl
        | Shr | Mov | Prmt | Cvt => Runs(""),
        Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh => Runs("`.approx`: within the documented error"),
        Ld | Ldu | St | Bra | Brx | Call | Ret | Exit | Trap | Brkpt | Vote | Match | Activemask | Redux
        | Elect | Nanosleep | Isspacep | Cvta | Movmatrix | Bar | Barrier | Mapa | Getctarank => Runs(""),
        Shfl => Runs("`.sync` only"),
        Atom | Red => Runs("an access of 16 bytes is atomic to others of 16 bytes only"),
        Stacksave | Stackrestore | Alloca => Runs("64-bit addresses only"),
        Membar | Fence => Runs("memory is sequentially consistent"),
        Cp => Runs("tensors tiled, not interleaved, not im2col"),
        Tensormap => Runs("maps of this device"),
        Mbarrier => Runs(""),
        Ldmatrix | Stmatrix => Runs("8x8 tiles of 16-bit elements"),
        Mma => Runs(
            "no sparse or block-scaled forms, nor `m8n8k4` of binary16; sums of 16- and 8-bit floating point within a tolerance",
        ),
        Wmma => Runs("as `mma`"),
        Wgmma => Runs("no `.sp`; sums of floating point within a tolerance"),
        Createpolicy => Runs("the policy has no effect"),
        Prefetch | Prefetchu | Applypriority | Discard | Griddepcontrol | Pmevent | Setmaxnreg => Hint,
        Tcgen05 => Runs(
            "no `.sp`, `.ashift`, `.shift`, decompression, reducing loads, nor A in tensor memory of fewer than 8 bits; sums of floating point within a tolerance",
        ),
        Multimem | Tex | Tld4 | Txq | Istypep | Suld | Sust | Sured | Suq | Clusterlaunchcontrol => Refused,
        Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vset | Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2
        | Vmin2 | Vmax2 | Vset2 | Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 => Runs(""),
        Vmad => Runs("no negated operands"),
    }
}

/// The tests of an operation alone, as `file::test` of `crates/emu/tests`. Kernels with the operation run
/// under test as well.
pub const fn tests(op: Op) -> &'static [&'static str] {
    use Op::*;
    match op {
        Add | Sub => &[
            "alu_int::arithmetic",
            "alu_int::carries",
            "alu_float::binary32",
            "alu_float::binary64",
            "alu_half::modifiers",
        ],
        Mul => {
            &["alu_int::high_and_wide", "alu_float::binary32", "alu_float::binary64", "alu_half::modifiers"]
        }
        Mad => &["alu_int::high_and_wide", "alu_int::carries"],
        Addc | Subc | Madc => &["alu_int::carries"],
        Mul24 | Mad24 => &["alu_int::high_and_wide"],
        Rem | Sad => &["alu_int::arithmetic"],
        Div => &["alu_int::arithmetic", "alu_float::binary32", "alu_float::binary64"],
        Abs | Neg => &["alu_int::unary", "alu_half::signs"],
        Min | Max => &["alu_int::arithmetic", "alu_int::bytes", "alu_float::min_max"],
        Popc | Clz | Bfind | Brev | Cnot | Not => &["alu_int::unary"],
        Fns | Bfe | Bfi | Szext | Bmsk => &["alu_int::fields"],
        Dp4a | Dp2a | Lop3 | Prmt => &["alu_int::bytes"],
        And | Or | Xor | Shf | Shl | Shr => &["alu_int::logic_and_shifts"],
        Testp => &["alu_compare::predicates"],
        Copysign => &["alu_half::signs"],
        Fma => &["alu_float::binary32", "alu_float::binary64", "alu_half::modifiers"],
        Rcp => &[
            "alu_float::binary32",
            "alu_float::binary64",
            "alu_float::approximations",
            "alu_half::reciprocals_of_doubles",
        ],
        Sqrt => &["alu_float::square_roots", "alu_float::approximations"],
        Rsqrt => &["alu_float::approximations", "alu_half::reciprocals_of_doubles"],
        Sin | Cos => &["alu_float::angles"],
        Lg2 => &["alu_float::approximations"],
        Ex2 | Tanh => &["alu_float::approximations", "alu_half::approximations"],
        Set => &["alu_compare::joined"],
        Setp => &["alu_compare::integers_compare", "alu_compare::floats_compare", "alu_compare::joined"],
        Selp | Slct => &["alu_compare::choices"],
        Mov => &["alu_compare::moves"],
        Cvt => &[
            "alu_int::between_integers",
            "alu_int::bytes",
            "alu_float::between_formats",
            "alu_float::floats_to_integers",
            "alu_float::integers_to_floats",
            "alu_float::integral_values",
            "alu_float::packed",
            "alu_float::tf32",
        ],
        Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vset => &["alu_video::scalar"],
        Vmad => &["alu_video::multiply"],
        Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2 | Vmax2 | Vset2 | Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4
        | Vmin4 | Vmax4 | Vset4 => &["alu_video::packed"],
        Ld | St => &[
            "memory::widths_and_signs",
            "memory::spaces_and_generic_addresses",
            "memory::every_kind_of_load_and_store",
        ],
        Ldu | Prefetch | Prefetchu | Applypriority | Discard | Createpolicy => {
            &["memory::every_kind_of_load_and_store"]
        }
        Cvta => &["memory::spaces_and_generic_addresses"],
        Atom | Red => &[
            "memory::atomics",
            "atomics::sixteen_bytes",
            "atomics::vectors_of_halves",
            "atomics::vectors_of_floats",
        ],
        Stacksave | Stackrestore | Alloca => &["control::memory_of_the_stack"],
        Bra => &["control::nested_ifs_meet_again", "control::loops_of_different_trips"],
        Brx => &["control::tables_of_targets"],
        Call => &["control::calls_by_address_and_predicate", "control::recursion_keeps_each_frame"],
        Ret | Exit => &["control::early_returns_and_exits"],
        Trap | Brkpt => &["control::what_stops_the_kernel"],
        Shfl => &["exchanges::shuffles"],
        Vote | Match => &["exchanges::votes_and_matches"],
        Redux | Elect | Activemask => &["exchanges::reductions_and_elections"],
        Bar => &["exchanges::barriers_with_numbers_counts_and_reductions"],
        Barrier => &["cluster::the_barrier_waits_for_all_that_are_left_and_knows_its_phases"],
        Mapa | Getctarank => &["cluster::addresses_say_whose_they_are"],
        Mma => &["mma::every_mma", "mma::specials"],
        Wmma => &["mma::every_wmma"],
        Ldmatrix | Stmatrix | Movmatrix => &["mma::tiles"],
        Tcgen05 => &[
            "tcgen05::types",
            "tcgen05::shapes",
            "tcgen05::a_in_tensor_memory",
            "tcgen05::swizzles_and_directions",
            "tcgen05::scales",
            "tcgen05::fragments",
            "tcgen05::copies",
            "tcgen05::missing_waits",
        ],
        Wgmma => &["wgmma::types_and_where_a_is", "wgmma::every_width", "wgmma::swizzles_and_directions"],
        _ => &[],
    }
}
