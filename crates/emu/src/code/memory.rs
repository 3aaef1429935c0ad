//! Loads, stores and atomics.

/// The state space that an address belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddrSpace {
    /// A generic address: its window says which space it means (`window`).
    Generic,
    /// Global and constant memory.
    Global,
    /// The CTA's shared memory (`.shared::cta`).
    Shared,
    /// The shared memory of any CTA of the cluster (`.shared::cluster`).
    Cluster,
    /// The lane's stack, with the parameters of calls.
    Local,
    /// The kernel's parameters.
    Params,
}

/// The register of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddrBase {
    /// A 64-bit plane.
    W64(u16),
    /// A 32-bit plane.
    W32(u16),
    /// No register: the offset is the address.
    None,
}

/// The register of one element of a load, store or atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plane {
    /// A plane of up to 32 bits.
    W32(u16),
    /// A 64-bit plane.
    W64(u16),
    /// A 128-bit register: this 64-bit plane and the next.
    W128(u16),
    /// The element is loaded and dropped.
    None,
}

/// A load or store.
#[derive(Clone, Debug)]
pub struct MemAccess {
    /// The state space of the address.
    pub space: AddrSpace,
    /// The register of the address.
    pub base: AddrBase,
    /// Bytes added to the register.
    pub offset: i64,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    pub size: u8,
    /// Whether other threads may change the memory meanwhile: volatile, relaxed, acquire and release
    /// accesses.
    pub strong: bool,
    /// The registers of the elements, in memory order.
    pub planes: Vec<Plane>,
}

/// The operation of an atomic (PTX ISA, `atom`, `red`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of PTX")]
pub enum Rmw {
    Add,
    AddF32 {
        flush: bool,
    },
    AddF64,
    AddF16x2,
    AddBf16x2,
    AddF16,
    AddBf16,
    /// Minimum or maximum of 16-bit floating-point numbers, one or a packed pair.
    Extreme16 {
        max: bool,
        bf16: bool,
        pair: bool,
    },
    MinU,
    MaxU,
    MinS,
    MaxS,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

/// An atomic read-modify-write (PTX ISA, `atom`, `red`).
#[derive(Clone, Debug)]
pub struct Atomic {
    /// Address, element size, and the registers of the old values (none for `red`).
    pub mem: MemAccess,
    /// The operation on each element.
    pub rmw: Rmw,
    /// The operand of each element. For `cas`, `values[0]` is the value to compare with.
    pub values: Vec<Plane>,
    /// For `cas`: the value to store.
    pub swap: Option<Plane>,
}
