//! State spaces, and the types of registers, variables and operands.

/// A state space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Space {
    /// No state space is named: the address decides at run time.
    #[default]
    Generic,
    /// Global memory: the device memory that all threads see.
    Global,
    /// Shared memory of the CTA.
    Shared,
    /// Local memory: the thread's stack.
    Local,
    /// Constant memory of the module.
    Const,
    /// Parameters of a kernel, or of a call.
    Param,
    /// The register file.
    Reg,
    /// Shared memory of any CTA of the cluster.
    SharedCluster,
}

/// A type, with the names of PTX (PTX ISA, 5.2 Types). Types of other instruction sets map onto these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[allow(missing_docs, reason = "the names are PTX's own (PTX ISA, Fundamental Types; Alternate Floating-Point Types)")]
#[rustfmt::skip]
pub enum Type {
    #[default] B32, Pred, B8, B16, B64, B128,
    U8, U16, U32, U64, S8, S16, S32, S64, U4, S4, B1,
    F16, F16x2, Bf16, Bf16x2, F32, F32x2, F64, Tf32,
    E4m3, E5m2, E4m3x2, E5m2x2, U16x2, S16x2,
    E2m1, E2m1x2, E2m3, E2m3x2, E3m2, E3m2x2, Ue8m0, Ue8m0x2,
}

/// Declares the name and width of each type once. Both directions of the conversion are derived.
macro_rules! types { ($($name:literal = $ty:ident $bits:literal;)*) => {
    impl Type {
        /// The type of that name, written without its dot.
        pub fn from_name(s: &str) -> Option<Type> { match s { $($name => Some(Type::$ty),)* _ => None } }
        /// The name of the type, without its dot.
        pub const fn name(self) -> &'static str { match self { $(Type::$ty => $name,)* } }
        /// Width of a value in bits. A predicate has one bit.
        pub const fn bits(self) -> u32 { match self { $(Type::$ty => $bits,)* } }
    }
} }

types! {
    "pred" = Pred 1; "b1" = B1 1; "b8" = B8 8; "b16" = B16 16; "b32" = B32 32; "b64" = B64 64; "b128" = B128 128;
    "u4" = U4 4; "u8" = U8 8; "u16" = U16 16; "u32" = U32 32; "u64" = U64 64;
    "s4" = S4 4; "s8" = S8 8; "s16" = S16 16; "s32" = S32 32; "s64" = S64 64;
    "f16" = F16 16; "f16x2" = F16x2 32; "bf16" = Bf16 16; "bf16x2" = Bf16x2 32;
    "f32" = F32 32; "f32x2" = F32x2 64; "f64" = F64 64; "tf32" = Tf32 32;
    "e4m3" = E4m3 8; "e5m2" = E5m2 8; "e4m3x2" = E4m3x2 16; "e5m2x2" = E5m2x2 16;
    "u16x2" = U16x2 32; "s16x2" = S16x2 32;
    "e2m1" = E2m1 4; "e2m1x2" = E2m1x2 8; "e2m3" = E2m3 8; "e2m3x2" = E2m3x2 16;
    "e3m2" = E3m2 8; "e3m2x2" = E3m2x2 16; "ue8m0" = Ue8m0 8; "ue8m0x2" = Ue8m0x2 16;
}

impl Type {
    /// Size in memory, bytes.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }
    /// Whether it is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S4 | Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2)
    }
    /// Whether a value is two, of half the width each.
    pub const fn is_pair(self) -> bool {
        use Type::*;
        matches!(self, F16x2 | Bf16x2 | F32x2 | U16x2 | S16x2 | E4m3x2 | E5m2x2)
            || matches!(self, E2m1x2 | E2m3x2 | E3m2x2 | Ue8m0x2)
    }
    /// Whether it is one integer, or untyped bits, of 8 to 64 bits.
    pub const fn is_integer(self) -> bool {
        use Type::*;
        matches!(self, B8 | B16 | B32 | B64 | U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
    }
    /// Whether it is a floating-point type, packed ones included.
    pub const fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F32x2 | F64 | Tf32 | E4m3 | E5m2 | E4m3x2 | E5m2x2)
            || matches!(self, E2m1 | E2m1x2 | E2m3 | E2m3x2 | E3m2 | E3m2x2 | Ue8m0 | Ue8m0x2)
    }
}
