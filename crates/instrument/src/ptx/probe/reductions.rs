//! Reductions over the lanes of a mask, 32 and 64 bits wide.

use prlx_plan::code::Reduce;

use crate::ptx::snippet::Snippet;

/// Reduces `%~v0` over the lanes of `%~mask`; every lane gets the result.
pub(in crate::ptx) fn reduce64(s: &mut Snippet<'_>, how: Reduce, signed: bool) {
    s.ptx("mov.b64 {%~a, %~b}, %~v0;");
    match how {
        // The sum of 32 numbers of 16 bits has 21 bits.
        Reduce::Sum => s.ptx(
            "shr.u32 %~c, %~a, 16;
             and.b32 %~a, %~a, 65535;
             shr.u32 %~d, %~b, 16;
             and.b32 %~b, %~b, 65535;
             redux.sync.add.u32 %~a, %~a, %~mask;
             redux.sync.add.u32 %~b, %~b, %~mask;
             redux.sync.add.u32 %~c, %~c, %~mask;
             redux.sync.add.u32 %~d, %~d, %~mask;
             shl.b32 %~d, %~d, 16;
             add.u32 %~b, %~b, %~d;
             mov.b64 %~v0, {%~a, %~b};
             cvt.u64.u32 %~y, %~c;
             shl.b64 %~y, %~y, 16;
             add.u64 %~v0, %~v0, %~y;",
        ),
        Reduce::Min | Reduce::Max => {
            let what = if how == Reduce::Min { "min" } else { "max" };
            let top = if signed { "s32" } else { "u32" };
            // Among the lanes with the least high half, the least low half.
            let other = if how == Reduce::Min { -1 } else { 0 };
            s.ptx(&format!(
                "redux.sync.{what}.{top} %~c, %~b, %~mask;
                 setp.eq.u32 %~q, %~b, %~c;
                 selp.b32 %~a, %~a, {other}, %~q;
                 redux.sync.{what}.u32 %~a, %~a, %~mask;
                 mov.b64 %~v0, {{%~a, %~c}};"
            ));
        }
        Reduce::And | Reduce::Or | Reduce::Xor => {
            let what = reduce32(how, false);
            s.ptx(&format!(
                "redux.sync.{what} %~a, %~a, %~mask;
                 redux.sync.{what} %~b, %~b, %~mask;
                 mov.b64 %~v0, {{%~a, %~b}};"
            ));
        }
    }
}

pub(in crate::ptx) fn reduce32(how: Reduce, signed: bool) -> &'static str {
    match (how, signed) {
        (Reduce::Sum, false) => "add.u32",
        (Reduce::Sum, true) => "add.s32",
        (Reduce::Min, false) => "min.u32",
        (Reduce::Min, true) => "min.s32",
        (Reduce::Max, false) => "max.u32",
        (Reduce::Max, true) => "max.s32",
        (Reduce::And, _) => "and.b32",
        (Reduce::Or, _) => "or.b32",
        (Reduce::Xor, _) => "xor.b32",
    }
}
