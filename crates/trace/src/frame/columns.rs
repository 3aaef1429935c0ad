//! Columns of a frame: numbers as planes of bytes.

use crate::Error;
use crate::codec::Reader;

/// A column that is being written: planes of the lowest byte of each number, of the next byte of each, and so
/// on.
pub(super) struct Column<'a, const N: usize> {
    planes: [&'a mut [u8]; N],
    filled: usize,
}

impl<const N: usize> Column<'_, N> {
    /// Appends a column of `n` numbers, which are 0 until they are written.
    pub fn of(out: &mut Vec<u8>, n: usize) -> Column<'_, N> {
        let start = out.len();
        out.resize(start + n * N, 0);
        let mut rest = out.get_mut(start..).unwrap_or_default();
        let planes = std::array::from_fn(|_| {
            let (plane, behind) = std::mem::take(&mut rest).split_at_mut(n);
            rest = behind;
            plane
        });
        Column { planes, filled: 0 }
    }
    /// Writes the next number.
    pub fn push(&mut self, value: [u8; N]) {
        for (plane, byte) in self.planes.iter_mut().zip(value) {
            plane.get_mut(self.filled).into_iter().for_each(|at| *at = byte);
        }
        self.filled += 1;
    }
}

/// Appends a column of these numbers.
pub(super) fn put_column<const N: usize>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = [u8; N]>) {
    let mut column = Column::of(out, values.len());
    values.for_each(|value| column.push(value));
}

/// The numbers of a column of `n` elements.
pub(super) fn take_column<const N: usize>(from: &mut Reader<'_>, n: usize) -> Result<Vec<[u8; N]>, Error> {
    let planes = take_planes::<N>(from, n)?;
    Ok((0..n).map(|i| at(&planes, i)).collect())
}

/// The bytes of a column of `n` elements: the first bytes of all, then the second ones, and so on.
pub(super) fn take_planes<'a, const N: usize>(
    from: &mut Reader<'a>,
    n: usize,
) -> Result<[&'a [u8]; N], Error> {
    let bytes = n.checked_mul(N).ok_or_else(|| from.error("the column is too long"))?;
    let planes = from.bytes(bytes)?;
    Ok(std::array::from_fn(|plane| planes.get(plane * n..(plane + 1) * n).unwrap_or_default()))
}

/// Element `i` of a column; zeros beyond its end.
pub(super) fn at<const N: usize>(planes: &[&[u8]; N], i: usize) -> [u8; N] {
    planes.map(|plane| plane.get(i).copied().unwrap_or_default())
}

/// Two numbers XORed.
pub(super) fn xor<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

/// Each value XORed with the one before.
pub(super) fn differences<const N: usize>(values: &[[u8; N]]) -> impl ExactSizeIterator<Item = [u8; N]> {
    let mut before = [0; N];
    values.iter().map(move |value| xor(*value, std::mem::replace(&mut before, *value)))
}

/// The values whose [`differences`] are given.
pub(super) fn sums<const N: usize>(mut values: Vec<[u8; N]>) -> Vec<[u8; N]> {
    let mut before = [0; N];
    for value in &mut values {
        *value = xor(*value, before);
        before = *value;
    }
    values
}
