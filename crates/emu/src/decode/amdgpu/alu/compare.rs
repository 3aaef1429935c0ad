//! Comparisons, of which the result is a mask of lanes or SCC.

use prlx_isa::amdgpu::inst::{Operand, Reg, Value};
use prlx_lanes::amd::Width;
use prlx_lanes::amd::float::{Binary16, FLUSH_IN};
use prlx_lanes::amd::functions::Class;
use prlx_lanes::compare::{EQ, FTZ, JOIN, LE, LG, LT, NOT, NUM, SWAP, Setp, UniformSetp};
use prlx_lanes::half::F16;
use prlx_lanes::{Args, LaneFn, Simd, entry};

use super::super::decoder::Decoder;
use super::super::float_mode::Precision;
use crate::code::{NO_GUARD, Op};
use crate::decode::binder::PlaneKind;
use crate::error::{EmuError, unsupported};

/// A comparison: its function, widths of its two sources, its flags, and the precision of a floating-point
/// one.
struct Comparison {
    run: LaneFn,
    widths: [Width; 2],
    flags: u64,
    floats: Option<Precision>,
}

/// The relation of a name and flags, for integers and floating-point values.
fn relation(name: &str, floats: bool) -> Option<(u8, u64)> {
    Some(match name {
        "eq" => (EQ, 0),
        "lt" => (LT, 0),
        "le" => (LE, 0),
        "gt" => (LT, SWAP),
        "ge" => (LE, SWAP),
        "ne" => (EQ, NOT),
        "lg" if floats => (LG, 0),
        "lg" => (EQ, NOT),
        "o" => (NUM, 0),
        "u" => (NUM, NOT),
        "neq" => (EQ, NOT),
        "nlt" => (LT, NOT),
        "nle" => (LE, NOT),
        "ngt" => (LT, SWAP | NOT),
        "nge" => (LE, SWAP | NOT),
        "nlg" => (LG, NOT),
        _ => return None,
    })
}

macro_rules! setp {
    ($simd:expr, $scalar:expr, $relation:expr, $t:ty) => {
        match $relation {
            EQ => setp!(@ $simd, $scalar, $t, EQ),
            LT => setp!(@ $simd, $scalar, $t, LT),
            LE => setp!(@ $simd, $scalar, $t, LE),
            LG => setp!(@ $simd, $scalar, $t, LG),
            _ => setp!(@ $simd, $scalar, $t, NUM),
        }
    };
    (@ $simd:expr, $scalar:expr, $t:ty, $relation:expr) => {
        if $scalar { entry::<UniformSetp<$t, $relation>>($simd) } else { entry::<Setp<$t, $relation>>($simd) }
    };
}
macro_rules! setp_int {
    ($simd:expr, $scalar:expr, $relation:expr, $t:ty) => {
        match $relation {
            EQ => setp!(@ $simd, $scalar, $t, EQ),
            LT => setp!(@ $simd, $scalar, $t, LT),
            _ => setp!(@ $simd, $scalar, $t, LE),
        }
    };
}

/// The comparison of a relation and a type by name, of the scalar unit or of vectors.
fn comparison(relation_name: &str, ty: &str, scalar: bool, simd: Simd) -> Option<Comparison> {
    use Precision::{Other, Single};
    use Width::{Double, Half, Word};
    if relation_name == "class" {
        let (run, first, floats) = match ty {
            "f16" => (entry::<Class<Binary16>>(simd), Half, Other),
            "f32" => (entry::<Class<f32>>(simd), Word, Single),
            "f64" => (entry::<Class<f64>>(simd), Double, Other),
            _ => return None,
        };
        let second = if first == Half { Half } else { Word };
        return Some(Comparison { run, widths: [first, second], flags: 0, floats: Some(floats) });
    }
    let floats = ty.starts_with('f');
    let (relation, flags) = relation(relation_name, floats)?;
    let (run, width, floats) = match ty {
        "f16" => (setp!(simd, scalar, relation, F16), Half, Some(Other)),
        "f32" => (setp!(simd, scalar, relation, f32), Word, Some(Single)),
        "f64" => (setp!(simd, scalar, relation, f64), Double, Some(Other)),
        "i16" => (setp_int!(simd, scalar, relation, i16), Half, None),
        "u16" => (setp_int!(simd, scalar, relation, u16), Half, None),
        "i32" => (setp_int!(simd, scalar, relation, i32), Word, None),
        "u32" => (setp_int!(simd, scalar, relation, u32), Word, None),
        "i64" => (setp_int!(simd, scalar, relation, i64), Double, None),
        "u64" => (setp_int!(simd, scalar, relation, u64), Double, None),
        _ => return None,
    };
    Some(Comparison { run, widths: [width; 2], flags, floats })
}

/// Appends a comparison, if the name is one of a comparison: `v_cmp_lt_f32`, `v_cmpx_lt_f32`,
/// `s_cmp_lt_i32`, `s_cmpk_lt_i32`.
pub(super) fn steps(
    d: &mut Decoder<'_, '_>,
    name: &str,
    results: &[Operand],
    sources: &[Operand],
) -> Result<Option<()>, EmuError> {
    let Some((head, ty)) = name.rsplit_once('_') else { return Ok(None) };
    let Some((kind, relation)) = head.rsplit_once('_') else { return Ok(None) };
    let scalar = kind.starts_with("s_");
    if !matches!(kind, "v_cmp" | "v_cmpx" | "s_cmp" | "s_cmpk") {
        return Ok(None);
    }
    if results.iter().any(|o| matches!(o.value, Value::Named(name, _) if name.starts_with("src_"))) {
        return Err(unsupported("its result is no register"));
    }
    let scc = d.scc();
    let exec = d.exec();
    let constant = match relation {
        "f" => Some(false),
        "t" | "tru" => Some(true),
        _ => None,
    };
    let mut args = Args::default();
    let run = if let Some(holds) = constant {
        // Both sources are the condition itself.
        let plane = d.b.const_pred(holds);
        args.src = [plane, plane, 0, 0];
        args.imm = 0;
        entry::<prlx_lanes::bits::Pred>(d.simd)
    } else {
        let Some(c) = comparison(relation, ty, scalar, d.simd) else {
            return Err(unsupported("this comparison is not implemented"));
        };
        let [first, second] = sources else { return Err(unsupported("a comparison needs two sources")) };
        for (n, o) in [first, second].into_iter().enumerate() {
            let source = d.source(o, c.widths[n])?;
            args.src[n] = d.with_signs(source, c.widths[n]);
        }
        args.imm = c.flags;
        if let Some(precision) = c.floats {
            let flushes = d.mode.constant(precision, precision) & FLUSH_IN != 0;
            args.imm |= if flushes { FTZ } else { 0 };
        }
        if scalar {
            args.dst[0] = scc;
        }
        c.run
    };
    if scalar {
        args.dst[0] = scc;
        d.b.emit_main(Op::Alu(run, args));
        return Ok(Some(()));
    }
    // The lanes that run it: those of EXEC, unless DPP leaves out some.
    let guard = d.b.guard;
    let on = if guard == NO_GUARD { exec } else { guard };
    let joins = constant.is_none() && relation != "class";
    let mut lows: Vec<Reg> = results.iter().filter_map(|o| o.value.registers().first().copied()).collect();
    if kind == "v_cmpx" {
        lows.push(Reg::ExecLo);
    }
    let direct = match lows.as_slice() {
        [low] => d.mask(*low),
        _ => None,
    };
    if let (Some(mask), [low], true) = (direct, lows.as_slice(), joins) {
        args.dst[0] = mask;
        args.src[2] = on;
        args.imm |= 1 << JOIN;
        d.b.push(Op::Alu(run, args), NO_GUARD, 1);
        d.set_words(*low, mask);
        return Ok(Some(()));
    }
    let to = d.b.temp(PlaneKind::Pred);
    args.dst[0] = to;
    d.b.push(Op::Alu(run, args), NO_GUARD, 1);
    let value = d.b.temp(PlaneKind::Pred);
    let both = Args { dst: [value, 0, 0, 0], src: [to, on, 0, 0], imm: 0 };
    d.alu_all(entry::<prlx_lanes::bits::Pred>(d.simd), both);
    for low in lows {
        d.set_mask(low, value);
    }
    Ok(Some(()))
}
