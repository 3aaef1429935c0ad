//! Markers of the source. A compiler writes them to the section [`SECTION`] from the inline assembly of
//! `include/prlx.cuh`.
//!
//! An entry of the section is the address of the marker's `s_nop` (64 bits), and a text that ends with a zero
//! byte: kind and name of the marker, and its words, as in `begin_load v5 7`. A word is a number, or a
//! register as the marker finds it.
//!
//! The `s_nop` says which lanes pass the marker. A label alone would not: a marker at the end of an `if` has
//! the address of what follows, where lanes also come that skip the `if`.
//!
//! # Invariants
//! Any bytes are accepted. What cannot be read is an error with its place in the file.
//!
//! # Limitations
//! A word is read from a vector, accumulation or scalar register of 32 bits.

use super::code::Code;
use crate::amdgpu::inst::Reg;
use crate::amdgpu::object::CodeObject;
use crate::image::Error;
use crate::view::MarkerKind;

/// The section that markers are written to.
const SECTION: &str = ".prlx.markers";
/// Bytes of an address.
const ADDRESS: usize = 8;
/// The most words that a marker has.
const MOST_WORDS: usize = 2;

/// A word of a marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    Number(i64),
    Register(Reg),
}

/// A marker of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SourceMarker<'a> {
    /// Address of its `s_nop`.
    pub(super) address: u64,
    pub(super) kind: MarkerKind,
    pub(super) name: &'a str,
    pub(super) words: Vec<Word>,
}

/// Reads the markers of an object, in address order.
///
/// # Errors
/// If an entry cannot be read, or has the address of something else than an `s_nop` of a function.
pub(super) fn read<'a>(object: &CodeObject<'a>, code: &[Code<'_>]) -> Result<Vec<SourceMarker<'a>>, Error> {
    let mut all = Vec::new();
    for section in object.sections.iter().filter(|section| section.name == SECTION) {
        let mut rest = section.data;
        while !rest.is_empty() {
            let at = section.at + (section.data.len() - rest.len()) as u64;
            let wrong = |what: String| Error { at, what: format!("section {SECTION}: {what}") };
            let (marker, after) = entry(rest).map_err(wrong)?;
            rest = after;
            // The linker has dropped the function.
            if marker.address == 0 {
                continue;
            }
            let is_nop = |code: &Code<'_>| {
                let inst = code.at(marker.address).and_then(|at| code.insts.get(at));
                inst.is_some_and(|(_, inst)| inst.name() == "s_nop")
            };
            if !code.iter().any(is_nop) {
                let (kind, name) = (marker.kind.name(), marker.name);
                return Err(wrong(format!(
                    "marker `{kind}_{name}` is at {:#x}, where no function has an s_nop",
                    marker.address
                )));
            }
            all.push(marker);
        }
    }
    all.sort_by_key(|marker| marker.address);
    Ok(all)
}

/// Reads an entry. Returns it with the bytes behind it.
fn entry(bytes: &[u8]) -> Result<(SourceMarker<'_>, &[u8]), String> {
    let (address, rest) = bytes.split_first_chunk::<ADDRESS>().ok_or("an entry is cut off")?;
    let end = rest.iter().position(|byte| *byte == 0).ok_or("an entry is cut off")?;
    let (text, after) = rest.split_at_checked(end).unwrap_or_default();
    let text = str::from_utf8(text).map_err(|_| "a marker's text is not UTF-8".to_owned())?;
    let mut words = text.split_ascii_whitespace();
    let label = words.next().unwrap_or_default();
    let (kind, name) = MarkerKind::of_text(label)
        .ok_or_else(|| format!("`{text}` is no marker: a kind and a name come first, as in `begin_load`"))?;
    let words: Vec<Word> = words
        .map(|word| {
            word_of(word).ok_or_else(|| {
                format!(
                    "marker `{label}` has the word `{word}`, which is neither a number nor a register of 32 bits"
                )
            })
        })
        .collect::<Result<_, _>>()?;
    if words.len() > MOST_WORDS {
        return Err(format!("marker `{label}` has {} words, more than {MOST_WORDS}", words.len()));
    }
    let marker = SourceMarker { address: u64::from_le_bytes(*address), kind, name, words };
    Ok((marker, after.get(1..).unwrap_or_default()))
}

fn word_of(text: &str) -> Option<Word> {
    let register = |prefix: &str| text.strip_prefix(prefix)?.parse::<u8>().ok();
    let scalar = |n: &u8| *n < SGPRS;
    let register = (register("v").map(Reg::V))
        .or(register("a").map(Reg::A))
        .or(register("s").filter(scalar).map(Reg::S));
    register.map(Word::Register).or_else(|| text.parse().ok().map(Word::Number))
}

/// Scalar registers that code can name.
const SGPRS: u8 = 106;

#[cfg(test)]
mod tests {
    use super::{SourceMarker, Word, entry};
    use crate::amdgpu::inst::Reg;
    use crate::view::MarkerKind;

    #[test]
    fn an_entry_has_an_address_a_label_and_words() {
        let bytes = [&0x1808u64.to_le_bytes()[..], b"begin_load v5 -7\0rest"].concat();
        let (marker, rest) = entry(&bytes).unwrap();
        let words = vec![Word::Register(Reg::V(5)), Word::Number(-7)];
        assert_eq!(marker, SourceMarker { address: 0x1808, kind: MarkerKind::Begin, name: "load", words });
        assert_eq!(rest, b"rest");
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        let refused = |text: &[u8]| entry(&[&[8; 8], text].concat()).unwrap_err();
        assert_eq!(entry(&[1, 2, 3]).unwrap_err(), "an entry is cut off");
        assert_eq!(refused(b"end_load"), "an entry is cut off");
        assert_eq!(refused(b"\xff\0"), "a marker's text is not UTF-8");
        let no_marker = "is no marker: a kind and a name come first, as in `begin_load`";
        for text in ["load", "later_load", "end_", ""] {
            assert_eq!(refused(format!("{text}\0").as_bytes()), format!("`{text}` {no_marker}"));
        }
        for word in ["v256", "s106", "exec_lo", "v[0:1]", "1.5"] {
            let what = format!(
                "marker `end_a` has the word `{word}`, which is neither a number nor a register of 32 bits"
            );
            assert_eq!(refused(format!("end_a {word}\0").as_bytes()), what);
        }
        assert_eq!(refused(b"end_a 1 2 3\0"), "marker `end_a` has 3 words, more than 2");
    }
}
