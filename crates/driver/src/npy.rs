//! Reads and writes NumPy's `.npy` files: one array each, format versions 1 to 3 (NumPy NEP 1).
//!
//! # Invariants
//! - Reading never panics and allocates no more than the file's length.
//! - An array that was written reads back equal.
//!
//! # Limitations
//! Big-endian, Fortran-ordered, complex, string and structured arrays are refused, with advice.

use prlx_trace::kernel::Scalar;

use crate::element;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Alignment of the data in the file, in bytes.
const ALIGN: usize = 64;

/// An array: its elements in C order, little-endian.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// Type of an element. NumPy has no bfloat16: `V2`, which ml_dtypes writes for it, is read as bfloat16.
    pub ty: Scalar,
    /// Sizes of the dimensions, slowest first; empty for a single value.
    pub shape: Vec<u64>,
    /// Elements in C order, little-endian.
    pub bytes: Vec<u8>,
}

/// Reads a file.
///
/// # Errors
/// If the bytes are not a NumPy file, are damaged, or hold an unsupported array. The text says which.
pub fn read(file: &[u8]) -> Result<Array, String> {
    let rest = file.strip_prefix(MAGIC).ok_or("not a NumPy file: it does not begin with \\x93NUMPY")?;
    let short = || "the NumPy header is cut off".to_owned();
    let (&[major, _minor], rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (length, rest) = match major {
        1 => rest
            .split_first_chunk()
            .map(|(n, r)| (usize::from(u16::from_le_bytes(*n)), r))
            .ok_or_else(short)?,
        2 | 3 => {
            rest.split_first_chunk().map(|(n, r)| (u32::from_le_bytes(*n) as usize, r)).ok_or_else(short)?
        }
        v => return Err(format!("NumPy format version {v} is not known (1 to 3 are)")),
    };
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    let header = std::str::from_utf8(header).map_err(|_| "the NumPy header is not text")?;
    let mut fields = Fields { rest: header.trim() };
    let (descr, fortran, shape) =
        fields.read().ok_or_else(|| format!("the NumPy header is not understood: {header}"))?;
    let ty = element_type(descr)?;
    if fortran && shape.iter().filter(|&&n| n > 1).count() > 1 {
        return Err("the array is in Fortran order; save numpy.ascontiguousarray(a) instead".into());
    }
    let bytes = shape.iter().try_fold(element::size(ty) as u64, |n, &d| n.checked_mul(d));
    if bytes != Some(data.len() as u64) {
        return Err(format!(
            "the NumPy header tells of {} elements of {} bytes, and {} bytes follow it",
            shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
            element::size(ty),
            data.len()
        ));
    }
    Ok(Array { ty, shape, bytes: data.to_vec() })
}

/// NumPy's type names and ours.
const TYPES: &[(&str, Scalar)] = &[
    ("u1", Scalar::U8),
    ("u2", Scalar::U16),
    ("u4", Scalar::U32),
    ("u8", Scalar::U64),
    ("i1", Scalar::S8),
    ("i2", Scalar::S16),
    ("i4", Scalar::S32),
    ("i8", Scalar::S64),
    ("f2", Scalar::F16),
    ("f4", Scalar::F32),
    ("f8", Scalar::F64),
    ("V2", Scalar::Bf16),
    ("b1", Scalar::U8),
];

fn element_type(descr: &str) -> Result<Scalar, String> {
    let (order, name) = match descr.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), name)) => (order, name),
        _ => ("|", descr),
    };
    let ty = TYPES.iter().find(|(n, _)| *n == name).map(|(_, t)| *t).ok_or_else(|| {
        format!("NumPy type '{descr}' is not supported; convert with a.astype(…) to an integer or floating-point type")
    })?;
    if order == ">" && element::size(ty) > 1 {
        return Err(format!("NumPy type '{descr}' is big-endian; save a.astype('<{name}') instead"));
    }
    Ok(ty)
}

/// Parser of the header: a Python dictionary with three known keys in any order.
struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Fields<'a> {
    fn read(&mut self) -> Option<(&'a str, bool, Vec<u64>)> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.eat("{")?;
        while self.eat("}").is_none() {
            let key = self.string()?;
            self.eat(":")?;
            match key {
                "descr" => descr = Some(self.string()?),
                "fortran_order" => {
                    let yes = self.eat("True").is_some();
                    if !yes {
                        self.eat("False")?;
                    }
                    fortran = Some(yes);
                }
                "shape" => shape = Some(self.tuple()?),
                _ => return None,
            }
            if self.eat(",").is_none() {
                self.eat("}")?;
                break;
            }
        }
        (self.rest.trim().is_empty()).then_some(())?;
        Some((descr?, fortran?, shape?))
    }
    fn eat(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?;
        Some(())
    }
    fn string(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(text)
    }
    fn tuple(&mut self) -> Option<Vec<u64>> {
        self.eat("(")?;
        let (inner, rest) = self.rest.split_once(')')?;
        self.rest = rest;
        let inner = inner.trim();
        let inner = inner.strip_suffix(',').unwrap_or(inner);
        if inner.is_empty() {
            return Some(Vec::new());
        }
        // Python 2 wrote long integers as 3L.
        inner.split(',').map(|n| n.trim().trim_end_matches('L').parse().ok()).collect()
    }
}

/// Writes an array as a file of version 1.
pub fn write(array: &Array) -> Vec<u8> {
    let name = TYPES
        .iter()
        .find(|(_, t)| *t == array.ty)
        .map_or_else(|| format!("u{}", element::size(array.ty)), |(n, _)| (*n).to_owned());
    let order = if element::size(array.ty) == 1 || name.starts_with('V') { '|' } else { '<' };
    let mut shape: String = array.shape.iter().map(|n| format!("{n}, ")).collect();
    shape.truncate(if array.shape.len() == 1 { shape.len() - 1 } else { shape.trim_end_matches(", ").len() });
    let mut header = format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({shape}), }}");
    let start = MAGIC.len() + 4;
    let end = (start + header.len() + 1).next_multiple_of(ALIGN);
    header.extend(std::iter::repeat_n(' ', end - start - header.len() - 1));
    header.push('\n');
    let mut out = Vec::with_capacity(end + array.bytes.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    // Shapes have few dimensions of 64 bits each. Only thousands of dimensions would need a header beyond 64
    // KiB.
    out.extend_from_slice(&u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(&array.bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(major: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&[major, 0]);
        match major {
            1 => out.extend_from_slice(&(header.len() as u16).to_le_bytes()),
            _ => out.extend_from_slice(&(header.len() as u32).to_le_bytes()),
        }
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(data);
        out
    }

    #[test]
    fn what_is_written_is_read() {
        for (ty, shape) in [
            (Scalar::F32, vec![2, 3]),
            (Scalar::U8, vec![]),
            (Scalar::Bf16, vec![5]),
            (Scalar::S64, vec![0, 4]),
        ] {
            let n = shape.iter().product::<u64>() as usize * element::size(ty);
            let array = Array { ty, shape, bytes: (0..n).map(|i| i as u8).collect() };
            let bytes = write(&array);
            assert_eq!(read(&bytes), Ok(array.clone()));
            assert_eq!((bytes.len() - n) % ALIGN, 0);
        }
    }

    #[test]
    fn all_versions_and_spellings() {
        for major in 1..=3 {
            let got = read(&file(
                major,
                "{\"shape\": (2L,), 'descr': '<i2', 'fortran_order': False}  \n",
                &[1, 0, 2, 0],
            ));
            assert_eq!(got, Ok(Array { ty: Scalar::S16, shape: vec![2], bytes: vec![1, 0, 2, 0] }));
        }
        assert!(read(&file(4, "{}", &[])).unwrap_err().contains("version 4"));
        let header = "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }";
        assert!(read(&file(1, header, &[0; 4])).unwrap_err().contains("astype('<f4')"));
        let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }";
        assert!(read(&file(1, header, &[0; 16])).unwrap_err().contains("Fortran"));
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999, 9), }";
        assert!(read(&file(1, header, &[0; 16])).unwrap_err().contains("bytes follow"));
    }

    #[test]
    fn damage_is_an_error() {
        let good = write(&Array { ty: Scalar::F64, shape: vec![2, 2], bytes: vec![7; 32] });
        for n in 0..good.len() {
            assert!(read(&good[..n]).is_err(), "cut at {n}");
        }
        for i in 0..good.len() {
            for b in [0, b'\'', b'(', b'9', 0xff] {
                let mut bad = good.clone();
                bad[i] = b;
                let _ = read(&bad);
            }
        }
    }
}
