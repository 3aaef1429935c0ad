//! Reads the keys of a TOML table. Errors name the file, the line and the key, and say what to do.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::element::Number;
use crate::error::{Error, ErrorKind};

/// A file with its name in messages.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Name of the file in messages.
    pub name: &'a str,
    /// Content of the file.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// Parses the text as TOML.
    pub fn parse(self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|e| {
            let error = self.error(e.span().map_or(0, |s| s.start), e.message());
            match self.name.ends_with(".toml") {
                true => error,
                false => error.help("a launch file is wanted here, in TOML (docs/launch-file.md)"),
            }
        })
    }
    /// Makes an error about the line at byte `at`.
    pub fn error(self, at: usize, message: impl std::fmt::Display) -> Error {
        let line = 1 + self.text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count();
        Error::new(ErrorKind::File, format!("{}:{line}: {message}", self.name))
    }
}

/// A table that allows only known keys.
pub struct Table<'a> {
    /// The file that contains the table.
    pub source: Source<'a>,
    /// Name of the table in messages, for example "argument 2 (`n`)"; empty for the file itself.
    pub what: String,
    table: &'a DeTable<'a>,
    at: usize,
}

/// A value with its position and key.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    source: Source<'a>,
    key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    /// Makes a table. Reports unknown keys.
    pub fn new(
        source: Source<'a>,
        what: impl Into<String>,
        table: &'a DeTable<'a>,
        at: usize,
        known: &[&str],
    ) -> Result<Table<'a>, Error> {
        let unknown =
            table.keys().filter(|k| !known.contains(&k.get_ref().as_ref())).min_by_key(|k| k.span().start);
        let this = Table { source, what: what.into(), table, at };
        let Some(key) = unknown else { return Ok(this) };
        let error = source.error(key.span().start, this.say(format_args!("unknown key `{}`", key.get_ref())));
        let nearest = known.iter().map(|k| (distance(k, key.get_ref()), k)).min();
        Err(match nearest {
            Some((d, k)) if d <= 2.max(k.len() / 3) => error.help(format!("did you mean `{k}`?")),
            _ => error.help(format!("the keys here are {}", known.join(", "))),
        })
    }
    fn say(&self, message: impl std::fmt::Display) -> String {
        if self.what.is_empty() { message.to_string() } else { format!("{}: {message}", self.what) }
    }
    /// Makes an error about the table as a whole.
    pub fn error(&self, message: impl std::fmt::Display) -> Error {
        self.source.error(self.at, self.say(message))
    }
    /// Returns the value of a key.
    pub fn get(&self, key: &'a str) -> Option<Value<'a>> {
        self.table.get(key).map(|value| Value { source: self.source, key, value })
    }
    /// Returns the value of a required key.
    pub fn need(&self, key: &'a str) -> Result<Value<'a>, Error> {
        self.get(key).ok_or_else(|| self.error(format_args!("`{key}` is missing")))
    }
    /// Returns those of `keys` that the table has.
    pub fn present(&self, keys: &[&'static str]) -> Vec<&'static str> {
        keys.iter().copied().filter(|k| self.table.contains_key(*k)).collect()
    }
}

impl<'a> Value<'a> {
    /// Position of the value in the file, in bytes.
    pub fn at(self) -> usize {
        self.value.span().start
    }
    /// Makes an error about the value.
    pub fn error(self, message: impl std::fmt::Display) -> Error {
        self.source.error(self.at(), format_args!("`{}`: {message}", self.key))
    }
    fn wrong(self, want: &str) -> Error {
        self.error(format_args!("{want} is expected here, not {}", article(self.value.get_ref().type_str())))
    }
    /// The value as text.
    pub fn text(self) -> Result<&'a str, Error> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong("a text in quotes"))
    }
    /// A number as the file writes it.
    pub fn literal(self) -> Result<String, Error> {
        match self.value.get_ref() {
            DeValue::Integer(i) if i.radix() == 10 => Ok(i.as_str().to_owned()),
            DeValue::Float(f) => Ok(f.as_str().to_owned()),
            _ => match self.number()? {
                Number::Int(n) => Ok(n.to_string()),
                _ => Err(self.wrong("a number, a text or a boolean")),
            },
        }
    }
    /// The value as a boolean; `None` if it is something else.
    pub fn bool(self) -> Option<bool> {
        self.value.get_ref().as_bool()
    }
    /// The value as an integer from 0 to `most`.
    pub fn count(self, most: u64) -> Result<u64, Error> {
        match self.number()? {
            Number::Int(n) if (0..=i128::from(most)).contains(&n) => Ok(n as u64),
            Number::Int(n) => Err(self.error(format_args!("{n} is not between 0 and {most}"))),
            _ => Err(self.wrong("an integer")),
        }
    }
    /// The value as a number, in any of the spellings of `value`.
    pub fn number(self) -> Result<Number, Error> {
        let wrong = || self.wrong("a number (or \"nan\", \"inf\", \"-inf\", or bits as \"0x3f800000\")");
        Ok(match self.value.get_ref() {
            DeValue::Boolean(b) => Number::Int((*b).into()),
            DeValue::Integer(i) => Number::Int(
                i128::from_str_radix(i.as_str(), i.radix())
                    .map_err(|_| self.error("the integer is too large"))?,
            ),
            DeValue::Float(f) => Number::Float(f.as_str().parse().map_err(|_| wrong())?),
            DeValue::String(s) => match &**s {
                "nan" => Number::Float(f64::NAN),
                "inf" | "+inf" => Number::Float(f64::INFINITY),
                "-inf" => Number::Float(f64::NEG_INFINITY),
                s => {
                    let digits = s.strip_prefix("0x").ok_or_else(wrong)?.replace('_', "");
                    // `from_str_radix` accepts a sign, which bits must not have.
                    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
                    Number::Bits(
                        Some(&digits)
                            .filter(|_| plain)
                            .and_then(|d| u64::from_str_radix(d, 16).ok())
                            .ok_or_else(wrong)?,
                    )
                }
            },
            _ => return Err(wrong()),
        })
    }
    /// The elements of a list.
    pub fn list(self) -> Result<impl ExactSizeIterator<Item = Value<'a>>, Error> {
        let list = self.value.get_ref().as_array().ok_or_else(|| self.wrong("a list in brackets"))?;
        Ok(list.iter().map(move |value| Value { value, ..self }))
    }
    /// Whether the value is a list.
    pub fn is_list(self) -> bool {
        self.value.get_ref().is_array()
    }
    /// The entries of a table with any keys, in the order of the file.
    pub fn entries(self) -> Result<Vec<(&'a str, Value<'a>)>, Error> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong("a table"))?;
        let mut all: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                (key.span().start, (&**key.get_ref(), Value { key: key.get_ref(), value, ..self }))
            })
            .collect();
        all.sort_unstable_by_key(|(at, _)| *at);
        Ok(all.into_iter().map(|(_, entry)| entry).collect())
    }
    /// The value as a table that allows only `known` keys.
    pub fn table(self, what: impl Into<String>, known: &[&str]) -> Result<Table<'a>, Error> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.wrong("a table"))?;
        Table::new(self.source, what, table, self.at(), known)
    }
}

fn article(noun: &str) -> String {
    format!("{} {noun}", if noun.starts_with(['a', 'i']) { "an" } else { "a" })
}

/// Edit distance: the number of letters to insert, remove or replace to turn `b` into `a`.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances() {
        assert_eq!(distance("block", "blocks"), 1);
        assert_eq!(distance("grid", "gird"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kernel", "kernel"), 0);
    }
}
