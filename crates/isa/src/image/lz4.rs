//! LZ4 blocks: the compression of fatbins in CUDA up to version 12.
//!
//! # Invariants
//! Any bytes are accepted. The output never exceeds the size that the caller allows.

/// Decompresses a block to exactly `size` bytes; `None` if the block is broken.
pub fn decompress(block: &[u8], size: usize) -> Option<Vec<u8>> {
    // One byte of the block produces at most 255 bytes. A larger size is rejected without allocating it.
    if size / 255 > block.len() {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(size);
    let mut rest = block;
    loop {
        let [token] = take_array(&mut rest)?;
        let literals = length(token >> 4, &mut rest)?;
        if literals > size - out.len() {
            return None;
        }
        out.extend_from_slice(take(&mut rest, literals)?);
        if rest.is_empty() {
            break;
        }
        let back = usize::from(u16::from_le_bytes(take_array(&mut rest)?));
        let matched = length(token & 15, &mut rest)?.checked_add(4)?;
        if back == 0 || back > out.len() || matched > size - out.len() {
            return None;
        }
        // The match may overlap its own output.
        for _ in 0..matched {
            out.push(*out.get(out.len() - back)?);
        }
    }
    (out.len() == size).then_some(out)
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(n)?;
    *rest = left;
    Some(taken)
}

fn take_array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(*taken)
}

/// A length: four bits, then further bytes while they are 255.
fn length(bits: u8, rest: &mut &[u8]) -> Option<usize> {
    let mut length = usize::from(bits);
    if bits == 15 {
        loop {
            let [more] = take_array(rest)?;
            length = length.checked_add(usize::from(more))?;
            if more != 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::decompress;

    #[test]
    fn literals_matches_and_overlaps() {
        // "ab", then 10 bytes from 2 back, then "!" alone.
        let block = [0x26, b'a', b'b', 2, 0, 0x10, b'!'];
        assert_eq!(decompress(&block, 13).as_deref(), Some(&b"abababababab!"[..]));
        assert_eq!(decompress(&block, 12), None);
        assert_eq!(decompress(&block, 14), None);
        for cut in 0..block.len() {
            assert_eq!(decompress(&block[..cut], 13), None, "{cut}");
        }
        // 15 + 255 + 1 literals.
        let long = [&[0xf0, 255, 1][..], &[7; 271]].concat();
        assert_eq!(decompress(&long, 271).as_deref(), Some(&[7; 271][..]));
        assert_eq!(decompress(&[0x10, b'a', 9, 0], 100), None, "a match before the beginning");
        assert_eq!(decompress(&[], 1 << 40), None, "no memory for a lie");
    }
}
