//! The encoding of values in files: one trait, and the table macros that give every structure its type,
//! encoder, decoder and rows in `docs/format.md`.
//!
//! Numbers are little-endian base-128: seven bits per byte, the top bit set if more follow. Exceptions are
//! `u8`, `bool` and `u128`, which take 1, 1 and 16 bytes. `String` and `Vec` are a count and that many items.
//! `Option` is 0, or 1 and the value. An enumeration is its number, then its fields.
//!
//! # Invariants
//! Decoding never panics. Memory is proportional to the input ([`Codec::MIN`] bounds how many items the input
//! can hold), and lists take no more of it than [`Reader::bounded`] allows. No type contains itself, so the
//! types bound the depth.

use crate::Error;
use crate::narrow::low8;

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 22;

/// A value that has a form in files.
pub trait Codec: Sized {
    /// The fewest bytes that a value takes: at least 1, so that a count can be checked against what follows
    /// it.
    const MIN: usize;
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads a value.
    fn take(from: &mut Reader<'_>) -> Result<Self, Error>;
}

/// Bytes that are read from the front.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The version of the file that the bytes are of.
    pub version: u32,
    /// How many bytes of memory the items of lists may still take.
    room: u64,
}

impl<'a> Reader<'a> {
    /// Over `bytes`, of a file of `version`.
    pub fn new(bytes: &'a [u8], version: u32) -> Reader<'a> {
        Reader::bounded(bytes, version, u64::MAX)
    }
    /// As [`Reader::new`], for values whose lists take at most `room` bytes of memory. A byte of the input
    /// can become an item of many bytes, such as an empty text.
    pub fn bounded(bytes: &'a [u8], version: u32, room: u64) -> Reader<'a> {
        Reader { bytes, at: 0, version, room }
    }
    /// How many bytes of memory the items of lists may still take.
    pub fn room(&self) -> u64 {
        self.room
    }
    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }
    /// An error here; the field is put in by those who asked.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error { offset: self.at as u64, field: String::new(), what: what.into() }
    }
    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Error> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.get(..n));
        let found = found.ok_or_else(|| self.too_few(n))?;
        self.at += n;
        Ok(found)
    }
    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk());
        let found = found.ok_or_else(|| self.too_few(N))?;
        self.at += N;
        Ok(*found)
    }
    fn too_few(&self, n: usize) -> Error {
        self.error(format!("{n} bytes are wanted, {} are left", self.left()))
    }
    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }
    /// A base-128 number.
    pub fn number(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                return Err(self.error("the number is larger than 64 bits"));
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error("the number does not end"))
    }
    /// A count of things that take at least `min` bytes each.
    pub fn count(&mut self, min: usize) -> Result<usize, Error> {
        let n = self.number()?;
        let most = self.left() / min.max(1);
        match usize::try_from(n) {
            Ok(n) if n <= most => Ok(n),
            _ => Err(self.error(format!("{n} items are announced, the bytes left hold at most {most}"))),
        }
    }
    /// A value; errors in it get the name of the field.
    pub fn field<T: Codec>(&mut self, name: &str) -> Result<T, Error> {
        T::take(self).map_err(|e| e.within(name))
    }
    /// An empty list with room for `n` items.
    pub fn list<T>(&mut self, n: usize) -> Result<Vec<T>, Error> {
        let bytes = (n as u64).saturating_mul(size_of::<T>() as u64);
        match self.room.checked_sub(bytes) {
            Some(room) => self.room = room,
            None => return Err(self.error(format!("{n} items take far more memory than a recording would"))),
        }
        Ok(Vec::with_capacity(n))
    }
    /// A value that takes all the bytes.
    pub fn whole<T: Codec>(&mut self, name: &str) -> Result<T, Error> {
        let value = self.field(name)?;
        match self.left() {
            0 => Ok(value),
            n => Err(self.error(format!("{n} bytes too many")).within(name)),
        }
    }
}

impl Error {
    /// With the name of what contains the field put before it: `sites`, `[3]`.
    pub(crate) fn within(mut self, name: &str) -> Error {
        let separate = !self.field.is_empty() && !self.field.starts_with('[');
        self.field = format!("{name}{}{}", if separate { "." } else { "" }, self.field);
        self
    }
}

/// Appends an unsigned number in LEB128: seven bits a byte, lowest first, the top bit set on all but the
/// last.
pub fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(low8(value) | 0x80);
        value >>= 7;
    }
    out.push(low8(value));
}

macro_rules! numbers {
    ($($t:ty),*) => { $(
        impl Codec for $t {
            const MIN: usize = 1;
            fn put(&self, out: &mut Vec<u8>) {
                put_number(out, u64::from(*self));
            }
            fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
                let n = from.number()?;
                n.try_into().map_err(|_| from.error(format!("{n} does not fit {}", stringify!($t))))
            }
        }
    )* };
}
numbers!(u32, u64);

/// As `u64`, folded so that numbers near 0 are small.
impl Codec for i64 {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().put(out);
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        let folded = u64::take(from)?;
        Ok((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
    }
}

impl Codec for u8 {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        from.byte()
    }
}

impl Codec for bool {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            n => Err(from.error(format!("{n} is neither 0 nor 1"))),
        }
    }
}

impl Codec for u128 {
    const MIN: usize = 16;
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        let bytes = from.bytes(16)?;
        Ok(bytes.iter().rev().fold(0, |n, b| n << 8 | u128::from(*b)))
    }
}

impl Codec for String {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        out.extend_from_slice(self.as_bytes());
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        let n = from.count(1)?;
        let bytes = from.bytes(n)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| from.error("the text is not UTF-8"))
    }
}

impl<T: Codec> Codec for Option<T> {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        if bool::take(from)? { T::take(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Codec> Codec for Vec<T> {
    const MIN: usize = 1;
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        self.iter().for_each(|x| x.put(out));
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        let n = from.count(T::MIN)?;
        let mut all = from.list(n)?;
        for i in 0..n {
            all.push(T::take(from).map_err(|e| e.within(&format!("[{i}]")))?);
        }
        Ok(all)
    }
}

impl<A: Codec, B: Codec> Codec for (A, B) {
    const MIN: usize = A::MIN + B::MIN;
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(from: &mut Reader<'_>) -> Result<Self, Error> {
        Ok((from.field("0")?, from.field("1")?))
    }
}

/// Describes a structure or an enumeration for the tables of `docs/format.md`.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Name of the type.
    pub name: &'static str,
    /// Doc comment of the type.
    pub doc: &'static str,
    /// Number in files, name, type and meaning: of a structure's fields (without number), or an enumeration's
    /// values.
    pub rows: &'static [(Option<u8>, &'static str, &'static str, &'static str)],
}

/// Declares structures once: the type, and how it lies in files, field after field. A field added later says
/// in which version, `#[since(2)]`; in older files it is the default.
macro_rules! structures {
    ($(
        $(#[doc = $doc:literal])* $(#[derive($($derive:ident),*)])?
        pub struct $name:ident { $(
            $(#[doc = $fdoc:literal])* $(#[since($since:literal)])? pub $f:ident: $t:ty,
        )* }
    )*) => { $(
        $(#[doc = $doc])* $(#[derive($($derive),*)])?
        pub struct $name { $($(#[doc = $fdoc])* pub $f: $t,)* }
        impl $crate::codec::Codec for $name {
            const MIN: usize = {
                let mut n = 0;
                $(n += 1 $(- 1 + 0 * $since)?; let _ = stringify!($f);)*
                if n == 0 { 1 } else { n }
            };
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::codec::Codec::put(&self.$f, out);)*
            }
            fn take(from: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::Error> {
                Ok($name { $($f: $(if from.version < $since { Default::default() } else)? {
                    from.field(stringify!($f))?
                },)* })
            }
        }
        impl $name {
            /// Its rows in `docs/format.md`.
            pub(crate) const LAYOUT: $crate::codec::Layout = $crate::codec::Layout {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                rows: &[$((
                    None,
                    stringify!($f),
                    stringify!($t),
                    concat!($($fdoc, "\n",)* $("(Since version ", $since, ".)")?),
                ),)*],
            };
        }
    )* };
}

/// Declares enumerations once, likewise; a value's number in files is never used again for another meaning.
macro_rules! choices {
    ($(
        $(#[doc = $doc:literal])* $(#[derive($($derive:ident),*)])?
        pub enum $name:ident { $(
            $(#[doc = $vdoc:literal])*
            $v:ident $(($one:ident: $onet:ty))?
            $({ $($(#[doc = $fdoc:literal])* $(#[since($since:literal)])? $f:ident: $t:ty,)* })? = $n:literal,
        )* }
    )*) => { $(
        $(#[doc = $doc])* $(#[derive($($derive),*)])?
        pub enum $name { $($(#[doc = $vdoc])* $v $(($onet))? $({ $($(#[doc = $fdoc])* $f: $t,)* })?,)* }
        impl $crate::codec::Codec for $name {
            const MIN: usize = 1;
            fn put(&self, out: &mut Vec<u8>) {
                match self { $(
                    $name::$v { $(0: $one)? $($($f,)*)? } => {
                        out.push($n);
                        $($crate::codec::Codec::put($one, out);)?
                        $($($crate::codec::Codec::put($f, out);)*)?
                    }
                )* }
            }
            fn take(from: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::Error> {
                match from.byte()? {
                    $($n => Ok($name::$v {
                        $(0: from.field(stringify!($one))?)?
                        $($($f: $(if from.version < $since { Default::default() } else)? {
                            from.field(stringify!($f))?
                        },)*)?
                    }),)*
                    n => Err(from.error(format!("{n} is no {}", stringify!($name)))),
                }
            }
        }
        impl $name {
            /// Its rows in `docs/format.md`.
            pub(crate) const LAYOUT: $crate::codec::Layout = $crate::codec::Layout {
                name: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                rows: &[$((
                    Some($n),
                    stringify!($v),
                    concat!($(stringify!($one), ": ", stringify!($onet))? $($(stringify!($f), ": ", stringify!($t), ", ",)*)?),
                    concat!($($vdoc, "\n"),*),
                ),)*],
            };
        }
    )* };
}

#[cfg(test)]
mod tests {
    use super::*;

    structures! {
        /// One that grew.
        #[derive(PartialEq, Debug)]
        pub struct Grown {
            /// From the beginning.
            pub first: u32,
            /// Added in version 7.
            #[since(7)] pub second: Vec<u32>,
        }
    }

    #[test]
    fn a_field_of_a_later_version() {
        let new = Grown { first: 300, second: vec![1] };
        let mut bytes = Vec::new();
        new.put(&mut bytes);
        assert_eq!(Reader::new(&bytes, 7).whole("Grown"), Ok(new));
        assert_eq!(Reader::new(&bytes[..2], 6).whole("Grown"), Ok(Grown { first: 300, second: vec![] }));
        assert_eq!((Grown::MIN, Grown::LAYOUT.rows[1].3), (1, " Added in version 7.\n(Since version 7.)"));
    }

    choices! {
        /// One that grew, too.
        #[derive(PartialEq, Debug)]
        pub enum Choice {
            /// A value with fields.
            Fields {
                /// From the beginning.
                first: u8,
                /// Added in version 7.
                #[since(7)] second: u8,
            } = 3,
        }
    }

    #[test]
    fn a_choice_with_a_field_of_a_later_version() {
        let mut bytes = Vec::new();
        Choice::Fields { first: 1, second: 2 }.put(&mut bytes);
        assert_eq!(bytes, [3, 1, 2]);
        assert_eq!(Reader::new(&bytes[..2], 6).whole("c"), Ok(Choice::Fields { first: 1, second: 0 }));
        assert_eq!(Reader::new(&[4], 7).whole::<Choice>("c").unwrap_err().what, "4 is no Choice");
        assert_eq!((Choice::LAYOUT.rows[0].0, Choice::MIN), (Some(3), 1));
    }

    #[test]
    fn numbers() {
        for n in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            n.put(&mut bytes);
            assert_eq!(Reader::new(&bytes, 1).whole("n"), Ok(n));
            assert!(Reader::new(&bytes[1..], 1).whole::<u64>("n") != Ok(n) || n == 0);
        }
        let long = [0xff; 10];
        assert_eq!(Reader::new(&long, 1).number().unwrap_err().what, "the number is larger than 64 bits");
        assert_eq!(
            Reader::new(&[0x80, 0x80, 0x80, 0x80, 0x10], 1).whole::<u32>("n").unwrap_err().what,
            "4294967296 does not fit u32"
        );
    }

    #[test]
    fn errors_name_the_field() {
        let mut bytes = Vec::new();
        vec![vec![true], vec![false, true]].put(&mut bytes);
        bytes[4] = 9;
        let e = Reader::new(&bytes, 1).whole::<Vec<Vec<bool>>>("flags").unwrap_err();
        assert_eq!((e.field.as_str(), e.offset, e.what.as_str()), ("flags[1][0]", 5, "9 is neither 0 nor 1"));
        let e = Reader::new(&[200, 1], 1).whole::<Vec<u8>>("list").unwrap_err();
        assert_eq!(e.what, "200 items are announced, the bytes left hold at most 0");
        // Four empty texts take a byte each in the file, and 24 in memory.
        let texts = [4, 0, 0, 0, 0];
        assert!(Reader::bounded(&texts, 1, 96).whole::<Vec<String>>("texts").is_ok());
        let e = Reader::bounded(&texts, 1, 95).whole::<Vec<String>>("texts").unwrap_err();
        assert_eq!(e.what, "4 items take far more memory than a recording would");
    }
}
