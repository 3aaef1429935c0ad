//! Reads MessagePack, the encoding of metadata (msgpack.org, "MessagePack specification").
//!
//! # Invariants
//! Any bytes are accepted. A value takes memory in proportion to its bytes, up to a limit. Strings are not
//! copied.

use std::fmt;

use crate::image::Error;

/// Maximum nesting of values. Metadata needs five levels.
const DEEPEST: u32 = 32;

/// Maximum number of values, which bounds their memory: about 300 MiB. A kernel has some hundred.
const MOST: u32 = 1 << 23;

/// A value, and where it begins.
#[derive(Clone, PartialEq, Debug)]
pub struct Value<'a> {
    /// Offset in the file, bytes.
    pub at: u64,
    /// Its kind, with what it holds.
    pub data: Data<'a>,
}

/// What a value is.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum Data<'a> {
    Nil,
    Bool(bool),
    /// An integer that is not negative.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    Float(f64),
    String(&'a str),
    Binary(&'a [u8]),
    Array(Vec<Value<'a>>),
    /// Keys with their values, in file order.
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// The type of an extension, and its bytes.
    Extension(i8, &'a [u8]),
}

/// Reads the value at the beginning of `bytes`. `at` is the offset of `bytes` in the file.
///
/// # Errors
/// If the bytes end within the value, or it is nested too deeply, or a string is not UTF-8.
pub fn read(bytes: &[u8], at: u64) -> Result<Value<'_>, Error> {
    Reader { bytes, from: 0, at, left: MOST }.value(0)
}

struct Reader<'a> {
    bytes: &'a [u8],
    from: usize,
    at: u64,
    /// Values that may still be read.
    left: u32,
}

impl<'a> Reader<'a> {
    fn here(&self) -> u64 {
        self.at + self.from as u64
    }

    fn wrong<T>(&self, what: &str) -> Result<T, Error> {
        Err(Error { at: self.here(), what: format!("the metadata is damaged: {what}") })
    }

    fn take(&mut self, size: u64) -> Result<&'a [u8], Error> {
        let end = usize::try_from(size).ok().and_then(|size| self.from.checked_add(size));
        match end.and_then(|end| self.bytes.get(self.from..end)) {
            Some(taken) => {
                self.from += taken.len();
                Ok(taken)
            }
            None => self.wrong("it ends within a value"),
        }
    }

    /// An unsigned number of `size` bytes, most significant byte first.
    fn number(&mut self, size: u64) -> Result<u64, Error> {
        Ok(self.take(size)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A signed number of `size` bytes.
    fn signed(&mut self, size: u64) -> Result<Data<'a>, Error> {
        let unused = 64 - 8 * size;
        let number = (self.number(size)? << unused).cast_signed() >> unused;
        Ok(u64::try_from(number).map_or(Data::Signed(number), Data::Unsigned))
    }

    fn string(&mut self, size: u64) -> Result<Data<'a>, Error> {
        match std::str::from_utf8(self.take(size)?) {
            Ok(text) => Ok(Data::String(text)),
            Err(_) => self.wrong("a string is not UTF-8"),
        }
    }

    fn extension(&mut self, size: u64) -> Result<Data<'a>, Error> {
        let kind = self.take(1)?.first().copied().unwrap_or_default();
        Ok(Data::Extension(kind.cast_signed(), self.take(size)?))
    }

    fn array(&mut self, count: u64, depth: u32) -> Result<Data<'a>, Error> {
        // An element has a byte at least, so that the list grows no further than the bytes reach.
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.value(depth + 1)?);
        }
        Ok(Data::Array(all))
    }

    fn map(&mut self, count: u64, depth: u32) -> Result<Data<'a>, Error> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push((self.value(depth + 1)?, self.value(depth + 1)?));
        }
        Ok(Data::Map(all))
    }

    fn value(&mut self, depth: u32) -> Result<Value<'a>, Error> {
        if depth > DEEPEST {
            return self.wrong("its values are nested too deeply");
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return self.wrong("it has too many values");
        }
        let at = self.here();
        let tag = self.take(1)?.first().copied().unwrap_or_default();
        let low = u64::from(tag);
        let data = match tag {
            0x00..=0x7f => Data::Unsigned(low),
            0x80..=0x8f => self.map(low & 0xf, depth)?,
            0x90..=0x9f => self.array(low & 0xf, depth)?,
            0xa0..=0xbf => self.string(low & 0x1f)?,
            0xc0 => Data::Nil,
            0xc1 => return self.wrong("the byte before has no meaning"),
            0xc2 | 0xc3 => Data::Bool(tag == 0xc3),
            0xc4..=0xc6 => {
                let size = self.number(1 << (tag - 0xc4))?;
                Data::Binary(self.take(size)?)
            }
            0xc7..=0xc9 => {
                let size = self.number(1 << (tag - 0xc7))?;
                self.extension(size)?
            }
            0xca => Data::Float(f32::from_bits(u32::try_from(self.number(4)?).unwrap_or_default()).into()),
            0xcb => Data::Float(f64::from_bits(self.number(8)?)),
            0xcc..=0xcf => Data::Unsigned(self.number(1 << (tag - 0xcc))?),
            0xd0..=0xd3 => self.signed(1 << (tag - 0xd0))?,
            0xd4..=0xd8 => self.extension(1 << (tag - 0xd4))?,
            0xd9..=0xdb => {
                let size = self.number(1 << (tag - 0xd9))?;
                self.string(size)?
            }
            0xdc | 0xdd => {
                let count = self.number(2 << (tag - 0xdc))?;
                self.array(count, depth)?
            }
            0xde | 0xdf => {
                let count = self.number(2 << (tag - 0xde))?;
                self.map(count, depth)?
            }
            0xe0..=0xff => Data::Signed(i64::from(tag.cast_signed())),
        };
        Ok(Value { at, data })
    }
}

/// Prints a value as JSON does, so that unknown ones can be shown.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.data {
            Data::Nil => f.write_str("null"),
            Data::Bool(value) => write!(f, "{value}"),
            Data::Unsigned(value) => write!(f, "{value}"),
            Data::Signed(value) => write!(f, "{value}"),
            Data::Float(value) => write!(f, "{value}"),
            Data::String(value) => write!(f, "{value:?}"),
            Data::Binary(bytes) | Data::Extension(_, bytes) => write!(f, "{} bytes", bytes.len()),
            Data::Array(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Data::Map(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key}: {value}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Data, read};

    fn shown(bytes: &[u8]) -> String {
        read(bytes, 0).map_or_else(|e| e.to_string(), |v| v.to_string())
    }

    #[test]
    fn values_of_every_kind() {
        for (bytes, text) in [
            (&[0x07][..], "7"),
            (&[0xff], "-1"),
            (&[0xe0], "-32"),
            (&[0xc0], "null"),
            (&[0xc2], "false"),
            (&[0xc3], "true"),
            (&[0xcc, 200], "200"),
            (&[0xcd, 1, 2], "258"),
            (&[0xce, 0, 1, 0, 0], "65536"),
            (&[0xcf, 0, 0, 0, 1, 0, 0, 0, 0], "4294967296"),
            (&[0xd0, 0x80], "-128"),
            (&[0xd1, 0x7f, 0xff], "32767"),
            (&[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0], "-9223372036854775808"),
            (&[0xca, 0x3f, 0xc0, 0, 0], "1.5"),
            (&[0xcb, 0xc0, 4, 0, 0, 0, 0, 0, 0], "-2.5"),
            (&[0xa2, b'h', b'i'], "\"hi\""),
            (&[0xd9, 1, b'x'], "\"x\""),
            (&[0xda, 0, 1, b'x'], "\"x\""),
            (&[0xc4, 2, 9, 9], "2 bytes"),
            (&[0xd5, 5, 1, 2], "2 bytes"),
            (&[0xc7, 1, 5, 2], "1 bytes"),
            (&[0x93, 1, 0x91, 2, 0x90], "[1, [2], []]"),
            (&[0xdc, 0, 2, 1, 2], "[1, 2]"),
            (&[0x82, 0xa1, b'a', 1, 2, 3], "{\"a\": 1, 2: 3}"),
            (&[0xde, 0, 1, 0xa1, b'a', 0xc0], "{\"a\": null}"),
        ] {
            assert_eq!(shown(bytes), text, "{bytes:x?}");
            for cut in 0..bytes.len() {
                assert!(shown(&bytes[..cut]).starts_with("the metadata is damaged"), "{bytes:x?}");
            }
        }
        assert_eq!(read(&[0xd4, 0xfe, 9], 0).unwrap().data, Data::Extension(-2, &[9]));
    }

    #[test]
    fn lies_are_refused_without_their_memory() {
        for bytes in [
            &[0xdd, 0xff, 0xff, 0xff, 0xff][..],
            &[0xdf, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xdb, 0x7f, 0, 0, 0, 1],
        ] {
            assert!(shown(bytes).contains("it ends within a value"), "{bytes:x?}");
        }
        assert!(shown(&[0x91; 100]).contains("nested too deeply"));
        assert!(shown(&[0xc1]).contains("no meaning"));
        assert!(shown(&[0xa1, 0xff]).contains("UTF-8"));
        assert_eq!(read(&[0x92, 1], 40).unwrap_err().at, 42);
    }
}
