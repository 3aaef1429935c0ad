//! Formats raw bits as text, by their type.
//!
//! # Invariants
//! Two floating-point values have equal texts exactly if their bits are equal: numbers print as the shortest
//! text that reads back to the same value, and a NaN prints its payload.

use prlx_trace::element;
use prlx_trace::kernel::Scalar;

/// Formats `bits` as a value of type `ty`.
pub fn format_value(bits: u64, ty: Scalar) -> String {
    use Scalar::*;
    let n = ty.bits();
    let cut = if n >= 64 { bits } else { bits & ((1 << n) - 1) };
    match ty {
        Pred => (if cut == 1 { "true" } else { "false" }).into(),
        U8 | U16 | U32 | U64 => cut.to_string(),
        S8 => (cut as u8 as i8).to_string(),
        S16 => (cut as u16 as i16).to_string(),
        S32 => (cut as u32 as i32).to_string(),
        S64 => (cut as i64).to_string(),
        // Untyped bits: small numbers are counts more often than bit patterns.
        B8 | B16 | B32 | B64 | B128 => {
            if cut < 1 << 16 {
                cut.to_string()
            } else {
                format!("{cut:#x}")
            }
        }
        F16x2 => format!("({}, {})", format_float(cut & 0xffff, F16), format_float(cut >> 16, F16)),
        Bf16x2 => format!("({}, {})", format_float(cut & 0xffff, Bf16), format_float(cut >> 16, Bf16)),
        F16 | Bf16 | F32 | F64 => format_float(cut, ty),
    }
}

/// Formats the bits of one floating-point number, with the digits of [`element::show`]. A NaN shows its
/// payload.
fn format_float(bits: u64, ty: Scalar) -> String {
    if element::float_value(ty, bits).is_nan() {
        // The prefix counts as two digits.
        let digits = 2 * element::size(ty) + 2;
        return format!("NaN({bits:#0digits$x})");
    }
    element::show(ty, bits)
}

/// Formats a parameter's bytes: as a scalar if one of `types` has that size, else in hexadecimal.
pub(crate) fn format_bytes(raw: &[u8], types: [Scalar; 2]) -> String {
    let mut wide = [0; 8];
    if raw.len() <= 8 {
        wide[..raw.len()].copy_from_slice(raw);
        let size = |t: &Scalar| t.bits().div_ceil(8) as usize;
        if let Some(ty) = types.iter().find(|t| size(t) == raw.len()) {
            return format_value(u64::from_le_bytes(wide), *ty);
        }
    }
    let hex: String = raw.iter().take(32).map(|b| format!("{b:02x}")).collect();
    format!("{hex}{}", if raw.len() > 32 { "…" } else { "" })
}

/// Formats two parameters that differ. A long parameter is shown from the first 8-byte word that differs.
pub(crate) fn format_difference(raw: [&[u8]; 2], types: [[Scalar; 2]; 2]) -> [String; 2] {
    let [a, b] = raw;
    let first = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len())) / 8 * 8;
    [0, 1].map(|side| match first {
        0 => format_bytes(raw[side], types[side]),
        _ => format!("at {first}: {}", format_bytes(raw[side].get(first..).unwrap_or_default(), types[side])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_words() {
        use Scalar::*;
        for (bits, ty, want) in [
            (1, Pred, "true"),
            (0xff, S8, "-1"),
            (0xff, U8, "255"),
            (0xffff_ffff, S32, "-1"),
            (0x3f40_0000, F32, "0.75"),
            (0x3f33_3333, F32, "0.7"),
            (0x7fc0_0000, F32, "NaN(0x7fc00000)"),
            (0x8000_0000, F32, "-0.0"),
            (0xff80_0000, F32, "-inf"),
            (0x3c00, F16, "1.0"),
            (0x0001, F16, "6e-8"),
            (0xfc00, F16, "-inf"),
            (0x7e00, F16, "NaN(0x7e00)"),
            (0x3555, F16, "0.3333"),
            (0xffc1, Bf16, "NaN(0xffc1)"),
            (0x3f80, Bf16, "1.0"),
            (0x4000_3c00, F16x2, "(1.0, 2.0)"),
            (0x4000_3f80, Bf16x2, "(1.0, 2.0)"),
            (0x3fe8_0000_0000_0000, F64, "0.75"),
            (0xdead_beef, B32, "0xdeadbeef"),
            (7, B64, "7"),
        ] {
            assert_eq!(format_value(bits, ty), want, "{bits:#x} {}", ty.name());
        }
    }

    #[test]
    fn equal_texts_mean_equal_bits() {
        for ty in [Scalar::F16, Scalar::Bf16] {
            let texts: std::collections::BTreeSet<_> =
                (0..=u16::MAX).map(|bits| format_value(bits.into(), ty)).collect();
            assert_eq!(texts.len(), 1 << 16, "{}", ty.name());
        }
    }
}
