//! Values of one lane as Rust types, and the macro that declares operations on them.

use crate::planes::{LANES, Planes, V32, V64};

/// A value of one lane, and how a plane holds it.
pub trait LaneValue: Copy + Default {
    /// Reads a plane.
    fn load(p: &Planes, i: u16) -> [Self; LANES];
    /// Reads the first lane of a plane.
    #[inline(always)]
    fn first(p: &Planes, i: u16) -> Self {
        Self::load(p, i)[0]
    }
    /// Writes the lanes of `mask`.
    fn store(p: &mut Planes, i: u16, mask: u32, v: &[Self; LANES]);
}

macro_rules! vals {
    ($($t:ty: $get:ident $put:ident $v:ident, $from:expr, $to:expr;)*) => { $(
        impl LaneValue for $t {
            #[inline(always)]
            fn load(p: &Planes, i: u16) -> [Self; LANES] {
                let from = $from;
                let v = p.$get(i);
                let mut out = [Self::default(); LANES];
                for l in 0..LANES { out[l] = from(v.0[l]); }
                out
            }
            #[inline(always)]
            fn store(p: &mut Planes, i: u16, mask: u32, v: &[Self; LANES]) {
                let to = $to;
                let mut out = $v([0; LANES]);
                for l in 0..LANES { out.0[l] = to(v[l]); }
                p.$put(i, mask, out);
            }
        }
    )* };
}
#[rustfmt::skip]
vals! {
    u8: get32 put32 V32, |b: u32| b as u8, |v: u8| u32::from(v);
    i8: get32 put32 V32, |b: u32| b as i8, |v: i8| u32::from(v as u8);
    u16: get32 put32 V32, |b: u32| b as u16, |v: u16| u32::from(v);
    i16: get32 put32 V32, |b: u32| b as i16, |v: i16| u32::from(v as u16);
    u32: get32 put32 V32, |b: u32| b, |v: u32| v;
    i32: get32 put32 V32, |b: u32| b as i32, |v: i32| v as u32;
    f32: get32 put32 V32, f32::from_bits, f32::to_bits;
    u64: get64 put64 V64, |b: u64| b, |v: u64| v;
    i64: get64 put64 V64, |b: u64| b as i64, |v: i64| v as u64;
    f64: get64 put64 V64, f64::from_bits, f64::to_bits;
}

impl LaneValue for bool {
    #[inline(always)]
    fn load(p: &Planes, i: u16) -> [Self; LANES] {
        let m = p.get_pred(i);
        let mut out = [false; LANES];
        for (l, o) in out.iter_mut().enumerate() {
            *o = m >> l & 1 == 1;
        }
        out
    }
    #[inline(always)]
    fn first(p: &Planes, i: u16) -> bool {
        p.get_pred(i) & 1 == 1
    }
    #[inline(always)]
    fn store(p: &mut Planes, i: u16, mask: u32, v: &[Self; LANES]) {
        let mut m = 0;
        for (l, &b) in v.iter().enumerate() {
            m |= u32::from(b) << l;
        }
        p.put_pred(i, mask, m);
    }
}

/// Declares operations: `name<T>(a: T, b: u32) -> T { … }`, one lane at a time; with `<…>` generic over lane
/// types.
macro_rules! ops {
    ($($(#[$m:meta])* $name:ident $(<$g:ident: $b:path>)? ($($a:ident: $t:ty),*) -> $r:ty $body:block)*) =>
        { $(
        $(#[$m])*
        #[allow(non_camel_case_types, reason = "the name is the operation's")]
        pub struct $name $(<$g>(std::marker::PhantomData<$g>))?;
        impl $(<$g: $b>)? $crate::op::LaneOp for $name $(<$g>)? {
            #[inline(always)]
            fn run(p: &mut $crate::planes::Planes, args: &$crate::op::Args, mask: u32) {
                use $crate::value::LaneValue;
                let mut n = 0;
                $(let $a = <$t as LaneValue>::load(p, args.src[n]); n += 1;)*
                let _ = n;
                let mut out = [<$r>::default(); $crate::planes::LANES];
                for l in 0..$crate::planes::LANES {
                    $(let $a = $a[l];)*
                    out[l] = $body;
                }
                <$r as LaneValue>::store(p, args.dst[0], mask, &out);
            }
        }
    )* };
}
pub(crate) use ops;
