//! Comparisons, as AMD code names them.

/// Whether a relation holds between two values of a type: `u32`, `i32`, `f32` and the like with 64
/// bits. `None` for an unknown one.
pub(super) fn compare(relation: &str, ty: &str, a: u64, b: u64) -> Option<bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let wide = ty.ends_with("64");
    let order = match ty.as_bytes().first()? {
        b'u' | b'b' => Some(if wide { a.cmp(&b) } else { (a as u32).cmp(&(b as u32)) }),
        b'i' if wide => Some(a.cast_signed().cmp(&b.cast_signed())),
        b'i' => Some((a as u32).cast_signed().cmp(&(b as u32).cast_signed())),
        b'f' if wide => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        b'f' => f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        _ => return None,
    };
    Some(match relation {
        "eq" => order == Some(Equal),
        "ne" | "neq" => order != Some(Equal),
        "lg" => order.is_some_and(|o| o != Equal),
        "lt" => order == Some(Less),
        "le" => matches!(order, Some(Less | Equal)),
        "gt" => order == Some(Greater),
        "ge" => matches!(order, Some(Greater | Equal)),
        _ => return None,
    })
}
