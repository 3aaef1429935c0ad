//! The table of PTX operations. Everything that exists once per operation derives from it.
//!
//! A new operation is one new row. The emulator's decoder then does not compile until it implements or
//! refuses the operation, and `docs/ops.md` is stale until it is generated again.

use crate::view::{Class, OperandOrder, Role};

/// The rows: `mnemonic = Variant Class (roles of the operands in order)`. A role list's last entry repeats
/// for further operands. `Arith` classes become `Integer` or `Float` by the instruction's type.
#[macro_export]
macro_rules! for_each_ptx_op {
    ($m:ident) => {
        $m! {
            /// Sum (PTX ISA, Integer Arithmetic and Floating-Point Instructions: add).
            add = Add Arith (Def, Use, Use);
            /// Sum with carry in (PTX ISA, Extended-Precision Integer Arithmetic Instructions: addc).
            addc = Addc Integer (Def, Use, Use);
            /// Difference (PTX ISA, Integer Arithmetic and Floating-Point Instructions: sub).
            sub = Sub Arith (Def, Use, Use);
            /// Difference with borrow in (PTX ISA, Extended-Precision Integer Arithmetic Instructions: subc).
            subc = Subc Integer (Def, Use, Use);
            /// Product: low half, high half or wide (PTX ISA, Integer Arithmetic and Floating-Point
            /// Instructions: mul).
            mul = Mul Arith (Def, Use, Use);
            /// Product plus a third: low half, high half or wide (PTX ISA, Integer Arithmetic and
            /// Floating-Point Instructions: mad).
            mad = Mad Arith (Def, Use, Use, Use);
            /// Product plus a third, with carry in (PTX ISA, Extended-Precision Integer Arithmetic
            /// Instructions: madc).
            madc = Madc Integer (Def, Use, Use, Use);
            /// Product of 24-bit values (PTX ISA, Integer Arithmetic Instructions: mul24).
            mul24 = Mul24 Integer (Def, Use, Use);
            /// Product of 24-bit values plus a third (PTX ISA, Integer Arithmetic Instructions: mad24).
            mad24 = Mad24 Integer (Def, Use, Use, Use);
            /// Absolute difference plus a third (PTX ISA, Integer Arithmetic Instructions: sad).
            sad = Sad Integer (Def, Use, Use, Use);
            /// Quotient (PTX ISA, Integer Arithmetic and Floating-Point Instructions: div).
            div = Div Arith (Def, Use, Use);
            /// Remainder (PTX ISA, Integer Arithmetic Instructions: rem).
            rem = Rem Integer (Def, Use, Use);
            /// Absolute value (PTX ISA, Integer Arithmetic and Floating-Point Instructions: abs).
            abs = Abs Arith (Def, Use);
            /// Negation (PTX ISA, Integer Arithmetic and Floating-Point Instructions: neg).
            neg = Neg Arith (Def, Use);
            /// Minimum of two (or three) (PTX ISA, Integer Arithmetic and Floating-Point Instructions: min).
            min = Min Arith (Def, Use, Use);
            /// Maximum of two (or three) (PTX ISA, Integer Arithmetic and Floating-Point Instructions: max).
            max = Max Arith (Def, Use, Use);
            /// Number of one bits (PTX ISA, Integer Arithmetic Instructions: popc).
            popc = Popc Integer (Def, Use);
            /// Number of leading zero bits (PTX ISA, Integer Arithmetic Instructions: clz).
            clz = Clz Integer (Def, Use);
            /// Position of the most significant non-sign bit (PTX ISA, Integer Arithmetic Instructions:
            /// bfind).
            bfind = Bfind Integer (Def, Use);
            /// Position of the n-th set bit (PTX ISA, Integer Arithmetic Instructions: fns).
            fns = Fns Integer (Def, Use, Use, Use);
            /// Bits in reverse order (PTX ISA, Integer Arithmetic Instructions: brev).
            brev = Brev Integer (Def, Use);
            /// Bit field extracted (PTX ISA, Integer Arithmetic Instructions: bfe).
            bfe = Bfe Integer (Def, Use, Use, Use);
            /// Bit field inserted (PTX ISA, Integer Arithmetic Instructions: bfi).
            bfi = Bfi Integer (Def, Use, Use, Use, Use);
            /// Sign or zero extension from a bit position (PTX ISA, Integer Arithmetic Instructions: szext).
            szext = Szext Integer (Def, Use, Use);
            /// Bit mask from position and width (PTX ISA, Integer Arithmetic Instructions: bmsk).
            bmsk = Bmsk Integer (Def, Use, Use);
            /// Four-way byte dot product accumulated (PTX ISA, Integer Arithmetic Instructions: dp4a).
            dp4a = Dp4a Integer (Def, Use, Use, Use);
            /// Two-way dot product accumulated (PTX ISA, Integer Arithmetic Instructions: dp2a).
            dp2a = Dp2a Integer (Def, Use, Use, Use);
            /// Tests a floating-point property (PTX ISA, Floating-Point Instructions: testp).
            testp = Testp Compare (Def, Use);
            /// Sign of one, magnitude of the other (PTX ISA, Floating-Point Instructions: copysign).
            copysign = Copysign Float (Def, Use, Use);
            /// Fused multiply and add (PTX ISA, Floating-Point Instructions: fma).
            fma = Fma Float (Def, Use, Use, Use);
            /// Reciprocal (PTX ISA, Floating-Point Instructions: rcp).
            rcp = Rcp Float (Def, Use);
            /// Square root (PTX ISA, Floating-Point Instructions: sqrt).
            sqrt = Sqrt Float (Def, Use);
            /// Reciprocal square root (PTX ISA, Floating-Point Instructions: rsqrt).
            rsqrt = Rsqrt Float (Def, Use);
            /// Sine, approximate (PTX ISA, Floating-Point Instructions: sin).
            sin = Sin Float (Def, Use);
            /// Cosine, approximate (PTX ISA, Floating-Point Instructions: cos).
            cos = Cos Float (Def, Use);
            /// Binary logarithm, approximate (PTX ISA, Floating-Point Instructions: lg2).
            lg2 = Lg2 Float (Def, Use);
            /// Power of two, approximate (PTX ISA, Floating-Point Instructions: ex2).
            ex2 = Ex2 Float (Def, Use);
            /// Hyperbolic tangent, approximate (PTX ISA, Floating-Point Instructions: tanh).
            tanh = Tanh Float (Def, Use);
            /// Compares; returns a value (PTX ISA, Comparison and Selection Instructions: set).
            set = Set Compare (Def, Use, Use, Use);
            /// Compares; returns predicates (PTX ISA, Comparison and Selection Instructions: setp).
            setp = Setp Compare (Def, Use, Use, Use);
            /// Selects a value by a predicate (PTX ISA, Comparison and Selection Instructions: selp).
            selp = Selp Select (Def, Use, Use, Use);
            /// Selects a value by a sign (PTX ISA, Comparison and Selection Instructions: slct).
            slct = Slct Select (Def, Use, Use, Use);
            /// Bitwise and (PTX ISA, Logic and Shift Instructions: and).
            and = And Integer (Def, Use, Use);
            /// Bitwise or (PTX ISA, Logic and Shift Instructions: or).
            or = Or Integer (Def, Use, Use);
            /// Bitwise exclusive or (PTX ISA, Logic and Shift Instructions: xor).
            xor = Xor Integer (Def, Use, Use);
            /// Bitwise complement (PTX ISA, Logic and Shift Instructions: not).
            not = Not Integer (Def, Use);
            /// Logical negation: 1 if zero (PTX ISA, Logic and Shift Instructions: cnot).
            cnot = Cnot Integer (Def, Use);
            /// Any logical operation of three inputs (PTX ISA, Logic and Shift Instructions: lop3).
            lop3 = Lop3 Integer (Def, Use, Use, Use, Use, Use);
            /// Funnel shift (PTX ISA, Logic and Shift Instructions: shf).
            shf = Shf Integer (Def, Use, Use, Use);
            /// Shift left (PTX ISA, Logic and Shift Instructions: shl).
            shl = Shl Integer (Def, Use, Use);
            /// Shift right (PTX ISA, Logic and Shift Instructions: shr).
            shr = Shr Integer (Def, Use, Use);
            /// Copies; packs and unpacks; takes addresses (PTX ISA, Data Movement and Conversion
            /// Instructions: mov).
            mov = Mov Move (Def, Use);
            /// Permutes bytes (PTX ISA, Data Movement and Conversion Instructions: prmt).
            prmt = Prmt Integer (Def, Use, Use, Use);
            /// Exchange between lanes (PTX ISA, Data Movement and Conversion Instructions: shfl).
            shfl = Shfl Warp (Def, Use, Use, Use, Use);
            /// Load (PTX ISA, Data Movement and Conversion Instructions: ld).
            ld = Ld Load (Def, Addr, Use);
            /// Load that is uniform in the warp (PTX ISA, Data Movement and Conversion Instructions: ldu).
            ldu = Ldu Load (Def, Addr);
            /// Store (PTX ISA, Data Movement and Conversion Instructions: st).
            st = St Store (Addr, Use);
            /// Prefetches a cache line (PTX ISA, Data Movement and Conversion Instructions: prefetch).
            prefetch = Prefetch Hint (Addr);
            /// Prefetches a line into the uniform cache (PTX ISA, Data Movement and Conversion Instructions:
            /// prefetchu).
            prefetchu = Prefetchu Hint (Addr);
            /// Tests whether an address lies in a state space (PTX ISA, Data Movement and Conversion
            /// Instructions: isspacep).
            isspacep = Isspacep Compare (Def, Use);
            /// Converts between generic and specific addresses (PTX ISA, Data Movement and Conversion
            /// Instructions: cvta).
            cvta = Cvta Convert (Def, Use);
            /// Converts; packs conversions (`cvt.pack`) (PTX ISA, Data Movement and Conversion Instructions:
            /// cvt).
            cvt = Cvt Convert (Def, Use, Use, Use);
            /// Shared address of another CTA of the cluster (PTX ISA, Data Movement and Conversion
            /// Instructions: mapa).
            mapa = Mapa Convert (Def, Use, Use);
            /// Rank of the CTA that a shared address belongs to (PTX ISA, Data Movement and Conversion
            /// Instructions: getctarank).
            getctarank = Getctarank Integer (Def, Use);
            /// Asynchronous copy or reduction, its commit or wait (PTX ISA, Data Movement and Conversion
            /// Instructions: cp).
            cp = Cp AsyncCopy (Addr, Addr, Use);
            /// Access through a multicast address (PTX ISA, Data Movement and Conversion Instructions:
            /// multimem).
            multimem = Multimem Load (Def, Addr);
            /// Changes or publishes a tensor map (PTX ISA, Data Movement and Conversion Instructions:
            /// tensormap).
            tensormap = Tensormap Store (Addr, Use);
            /// Applies a cache eviction priority (PTX ISA, Data Movement and Conversion Instructions:
            /// applypriority).
            applypriority = Applypriority Hint (Addr, Use);
            /// Drops cached data without writing it back (PTX ISA, Data Movement and Conversion Instructions:
            /// discard).
            discard = Discard Hint (Addr, Use);
            /// Creates a cache eviction policy (PTX ISA, Data Movement and Conversion Instructions:
            /// createpolicy).
            createpolicy = Createpolicy Move (Def, Use, Use, Use);
            /// Texture fetch (PTX ISA, Texture Instructions: tex).
            tex = Tex Texture (Def, Addr);
            /// Texture fetch of the four texels of a footprint (PTX ISA, Texture Instructions: tld4).
            tld4 = Tld4 Texture (Def, Addr);
            /// Texture attribute query (PTX ISA, Texture Instructions: txq).
            txq = Txq Texture (Def, Addr);
            /// Tests whether a handle is of an opaque type (PTX ISA, Texture Instructions: istypep).
            istypep = Istypep Compare (Def, Use);
            /// Surface load (PTX ISA, Surface Instructions: suld).
            suld = Suld Texture (Def, Addr);
            /// Surface store (PTX ISA, Surface Instructions: sust).
            sust = Sust Texture (Addr, Use);
            /// Surface reduction (PTX ISA, Surface Instructions: sured).
            sured = Sured Texture (Addr, Use);
            /// Surface attribute query (PTX ISA, Surface Instructions: suq).
            suq = Suq Texture (Def, Addr);
            /// Branch to a label (PTX ISA, Control DefUse Instructions: bra).
            bra = Bra Branch (Target);
            /// Branch to a label of a table, by index (PTX ISA, Control DefUse Instructions: brx).
            brx = Brx Switch (Use, Target);
            /// Call: optional results, function, optional arguments, optional prototype (PTX ISA, Control
            /// DefUse Instructions: call).
            call = Call Call (Target, Use, Other);
            /// Returns to the caller; in a kernel it ends the thread (PTX ISA, Control DefUse Instructions:
            /// ret).
            ret = Ret Return ();
            /// Ends the thread (PTX ISA, Control DefUse Instructions: exit).
            exit = Exit Exit ();
            /// Barrier of a CTA or of a warp's lanes (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: bar).
            bar = Bar Sync (Use, Use);
            /// Barrier of a CTA or cluster (PTX ISA, Parallel Synchronization and Communication Instructions:
            /// barrier).
            barrier = Barrier Sync (Use, Use);
            /// Memory fence, old form (PTX ISA, Parallel Synchronization and Communication Instructions:
            /// membar).
            membar = Membar Sync ();
            /// Memory or proxy fence (PTX ISA, Parallel Synchronization and Communication Instructions:
            /// fence).
            fence = Fence Sync (Addr, Use);
            /// Atomic read-modify-write with a result (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: atom).
            atom = Atom Atomic (Def, Addr, Use, Use, Use);
            /// Atomic read-modify-write without a result (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: red).
            red = Red Atomic (Addr, Use, Use);
            /// Vote over the lanes of a mask (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: vote).
            vote = Vote Warp (Def, Use, Use);
            /// Finds the lanes that hold the same value (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: match).
            match = Match Warp (Def, Use, Use);
            /// Mask of the active lanes (PTX ISA, Parallel Synchronization and Communication Instructions:
            /// activemask).
            activemask = Activemask Warp (Def);
            /// Reduction over the lanes of a mask (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: redux).
            redux = Redux Warp (Def, Use, Use);
            /// Elects one lane of a mask (PTX ISA, Parallel Synchronization and Communication Instructions:
            /// elect).
            elect = Elect Warp (Def, Use);
            /// Waits for, or releases, dependent grids (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: griddepcontrol).
            griddepcontrol = Griddepcontrol Hint ();
            /// Operation on an mbarrier object (PTX ISA, Parallel Synchronization and Communication
            /// Instructions: mbarrier).
            mbarrier = Mbarrier Sync (Addr, Use);
            /// Cancels a cluster not yet launched, to take over its work (PTX ISA, Parallel Synchronization
            /// and Communication Instructions: clusterlaunchcontrol).
            clusterlaunchcontrol = Clusterlaunchcontrol Sync (Addr, Addr);
            /// Warp-level matrix load, store or multiply and accumulate (PTX ISA, Warp-Level Matrix
            /// Instructions: wmma).
            wmma = Wmma Matrix (Def, Use, Use, Use);
            /// Warp-level multiply and accumulate (PTX ISA, Warp-Level Matrix Instructions: mma).
            mma = Mma Matrix (Def, Use, Use, Use);
            /// Loads matrices from shared memory (PTX ISA, Warp-Level Matrix Instructions: ldmatrix).
            ldmatrix = Ldmatrix Load (Def, Addr);
            /// Stores matrices to shared memory (PTX ISA, Warp-Level Matrix Instructions: stmatrix).
            stmatrix = Stmatrix Store (Addr, Use);
            /// Transposes a matrix across the warp (PTX ISA, Warp-Level Matrix Instructions: movmatrix).
            movmatrix = Movmatrix Matrix (Def, Use);
            /// Warpgroup multiply and accumulate, its fence, commit or wait (PTX ISA, Asynchronous
            /// Warpgroup-Level Matrix Instructions: wgmma).
            wgmma = Wgmma Matrix (UseDef, Use);
            /// Tensor memory: allocation, copies, multiply and accumulate (PTX ISA, TensorCore 5th Generation
            /// Family Instructions: tcgen05).
            tcgen05 = Tcgen05 Matrix (Addr, Use);
            /// Reads the stack pointer (PTX ISA, Stack Manipulation Instructions: stacksave).
            stacksave = Stacksave Move (Def);
            /// Sets the stack pointer (PTX ISA, Stack Manipulation Instructions: stackrestore).
            stackrestore = Stackrestore Hint (Use);
            /// Allocates stack memory (PTX ISA, Stack Manipulation Instructions: alloca).
            alloca = Alloca Move (Def, Use);
            /// Sum of a part of each operand, merged or accumulated (PTX ISA, Video Instructions, Scalar:
            /// vadd).
            vadd = Vadd Integer (Def, Use, Use, Use);
            /// Difference of a part of each operand, merged or accumulated (PTX ISA, Video Instructions,
            /// Scalar: vsub).
            vsub = Vsub Integer (Def, Use, Use, Use);
            /// Absolute difference of a part of each operand, merged or accumulated (PTX ISA, Video
            /// Instructions, Scalar: vabsdiff).
            vabsdiff = Vabsdiff Integer (Def, Use, Use, Use);
            /// Minimum of a part of each operand, merged or accumulated (PTX ISA, Video Instructions, Scalar:
            /// vmin).
            vmin = Vmin Integer (Def, Use, Use, Use);
            /// Maximum of a part of each operand, merged or accumulated (PTX ISA, Video Instructions,
            /// Scalar: vmax).
            vmax = Vmax Integer (Def, Use, Use, Use);
            /// Shift left of a part of each operand, merged or accumulated (PTX ISA, Video Instructions,
            /// Scalar: vshl).
            vshl = Vshl Integer (Def, Use, Use, Use);
            /// Shift right of a part of each operand, merged or accumulated (PTX ISA, Video Instructions,
            /// Scalar: vshr).
            vshr = Vshr Integer (Def, Use, Use, Use);
            /// Product plus a third of a part of each operand, merged or accumulated (PTX ISA, Video
            /// Instructions, Scalar: vmad).
            vmad = Vmad Integer (Def, Use, Use, Use);
            /// Comparison of a part of each operand, merged or accumulated (PTX ISA, Video Instructions,
            /// Scalar: vset).
            vset = Vset Integer (Def, Use, Use, Use);
            /// Sum of packed halves (PTX ISA, Video Instructions, SIMD: vadd2).
            vadd2 = Vadd2 Integer (Def, Use, Use, Use);
            /// Difference of packed halves (PTX ISA, Video Instructions, SIMD: vsub2).
            vsub2 = Vsub2 Integer (Def, Use, Use, Use);
            /// Average of packed halves (PTX ISA, Video Instructions, SIMD: vavrg2).
            vavrg2 = Vavrg2 Integer (Def, Use, Use, Use);
            /// Absolute difference of packed halves (PTX ISA, Video Instructions, SIMD: vabsdiff2).
            vabsdiff2 = Vabsdiff2 Integer (Def, Use, Use, Use);
            /// Minimum of packed halves (PTX ISA, Video Instructions, SIMD: vmin2).
            vmin2 = Vmin2 Integer (Def, Use, Use, Use);
            /// Maximum of packed halves (PTX ISA, Video Instructions, SIMD: vmax2).
            vmax2 = Vmax2 Integer (Def, Use, Use, Use);
            /// Comparison of packed halves (PTX ISA, Video Instructions, SIMD: vset2).
            vset2 = Vset2 Integer (Def, Use, Use, Use);
            /// Sum of packed bytes (PTX ISA, Video Instructions, SIMD: vadd4).
            vadd4 = Vadd4 Integer (Def, Use, Use, Use);
            /// Difference of packed bytes (PTX ISA, Video Instructions, SIMD: vsub4).
            vsub4 = Vsub4 Integer (Def, Use, Use, Use);
            /// Average of packed bytes (PTX ISA, Video Instructions, SIMD: vavrg4).
            vavrg4 = Vavrg4 Integer (Def, Use, Use, Use);
            /// Absolute difference of packed bytes (PTX ISA, Video Instructions, SIMD: vabsdiff4).
            vabsdiff4 = Vabsdiff4 Integer (Def, Use, Use, Use);
            /// Minimum of packed bytes (PTX ISA, Video Instructions, SIMD: vmin4).
            vmin4 = Vmin4 Integer (Def, Use, Use, Use);
            /// Maximum of packed bytes (PTX ISA, Video Instructions, SIMD: vmax4).
            vmax4 = Vmax4 Integer (Def, Use, Use, Use);
            /// Comparison of packed bytes (PTX ISA, Video Instructions, SIMD: vset4).
            vset4 = Vset4 Integer (Def, Use, Use, Use);
            /// Suspends the thread for a debugger (PTX ISA, Miscellaneous Instructions: brkpt).
            brkpt = Brkpt Hint ();
            /// Suspends the thread for a time (PTX ISA, Miscellaneous Instructions: nanosleep).
            nanosleep = Nanosleep Hint (Use);
            /// Triggers performance monitor events (PTX ISA, Miscellaneous Instructions: pmevent).
            pmevent = Pmevent Hint (Use);
            /// Aborts the grid (PTX ISA, Miscellaneous Instructions: trap).
            trap = Trap Exit ();
            /// Changes the maximum number of registers per thread (PTX ISA, Miscellaneous Instructions:
            /// setmaxnreg).
            setmaxnreg = Setmaxnreg Hint (Use);
        }
    };
}

/// The class of an operation, or the rule that decides it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableClass {
    /// Every instruction of the operation has this class.
    Is(Class),
    /// `Integer` or `Float`, by the type of the instruction.
    Arith,
}

macro_rules! class {
    (Arith) => {
        TableClass::Arith
    };
    ($c:ident) => {
        TableClass::Is(Class::$c)
    };
}

macro_rules! define { (
    $($(#[doc = $d:literal])* $mnemonic:ident = $name:ident $class:ident ($($role:ident),*);)*
) => {
    /// A PTX operation.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Op { $($(#[doc = $d])* $name,)* }
    impl Op {
        /// Every operation, in the table's order.
        pub const ALL: &[Op] = &[$(Op::$name,)*];
        /// The operation with this mnemonic: the text before the first dot.
        pub fn from_mnemonic(s: &str) -> Option<Op> {
            match s { $(stringify!($mnemonic) => Some(Op::$name),)* _ => None }
        }
        /// The mnemonic: the text before the first dot.
        pub const fn mnemonic(self) -> &'static str { match self { $(Op::$name => stringify!($mnemonic),)* } }
        /// Class of the operation.
        pub const fn class(self) -> TableClass { match self { $(Op::$name => class!($class),)* } }
        /// Roles of the operands, in order; the last role repeats.
        pub const fn roles(self) -> &'static [Role] { match self { $(Op::$name => &[$(Role::$role),*],)* } }
        /// One line of documentation, with its source.
        pub const fn doc(self) -> &'static str {
            match self { $(Op::$name => concat!($($d),*).trim_ascii_start(),)* }
        }
    }
} }
for_each_ptx_op!(define);

impl Op {
    /// How the operands of the operation are ordered.
    pub fn operand_order(self) -> OperandOrder {
        match (self, self.class()) {
            (Op::Ldmatrix | Op::Stmatrix | Op::Multimem, _) => OperandOrder::Lists,
            (_, TableClass::Is(class)) => match class {
                Class::AsyncCopy => OperandOrder::TwoAddresses,
                Class::Branch | Class::Switch | Class::Return | Class::Exit => OperandOrder::Target,
                Class::Call | Class::Matrix | Class::Sync | Class::Texture => OperandOrder::Lists,
                Class::Load | Class::Store | Class::Atomic => match self.roles().first() {
                    Some(Role::Addr) => OperandOrder::Address,
                    _ => OperandOrder::ResultAddress,
                },
                _ => OperandOrder::Result,
            },
            (_, TableClass::Arith) => OperandOrder::Result,
        }
    }
}
