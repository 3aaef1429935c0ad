//! Corrections of approximate operations: for which inputs a GPU gives another result than the CPU device,
//! and which.
//!
//! A file describes one operation. Its first line is `calibration 1 OP`, with OP as PTX writes it
//! (`ex2.approx.ftz.f32`). The other lines are `FIRST LAST CHANGE`, in ascending order, for the inputs from
//! FIRST to LAST, which are binary32 bits in hexadecimal. A change `+N` or `-N` moves the result to the N-th
//! binary32 above or below it; `=BITS` replaces it. `#` starts a comment.
//!
//! # Invariants
//! Inputs that no line names keep the CPU device's result.
//!
//! # Limitations
//! Only operations with one binary32 operand can be calibrated.

use prlx_driver::{Error, ErrorKind};

/// Operations that may be calibrated: one binary32 to another.
const OPS: [&str; 16] = [
    "ex2.approx.f32",
    "ex2.approx.ftz.f32",
    "lg2.approx.f32",
    "lg2.approx.ftz.f32",
    "sin.approx.f32",
    "sin.approx.ftz.f32",
    "cos.approx.f32",
    "cos.approx.ftz.f32",
    "rcp.approx.f32",
    "rcp.approx.ftz.f32",
    "sqrt.approx.f32",
    "sqrt.approx.ftz.f32",
    "rsqrt.approx.f32",
    "rsqrt.approx.ftz.f32",
    "tanh.approx.f32",
    "tanh.approx.ftz.f32",
];

/// What becomes of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    /// So many binary32 values up.
    By(i32),
    /// Replace the result by these binary32 bits.
    To(u32),
}

/// Some inputs, by their bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Inputs {
    first: u32,
    last: u32,
    change: Change,
}

/// The corrections of one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Calibration {
    /// As PTX writes it.
    pub op: String,
    inputs: Vec<Inputs>,
}

impl Calibration {
    /// From the text of the file `name`.
    ///
    /// # Errors
    /// What is wrong with it: file, line and field.
    pub fn read(name: &str, text: &str) -> Result<Calibration, Error> {
        let mut lines = (1..).zip(text.lines()).map(|(n, l)| (n, l.split('#').next().unwrap_or_default()));
        let mut lines = lines.by_ref().filter(|(_, l)| !l.trim().is_empty());
        let wrong = |line: usize, what: String| Error::new(ErrorKind::File, format!("{name}:{line}: {what}"));
        let Some((n, head)) = lines.next() else {
            return Err(wrong(1, "`calibration 1 OP` is missing".into()));
        };
        let op = match head.split_whitespace().collect::<Vec<_>>()[..] {
            ["calibration", "1", op] => op,
            ["calibration", version, _] => {
                return Err(wrong(n, format!("version: `{version}` is not 1, the only one there is")));
            }
            _ => return Err(wrong(n, "the first line must be `calibration 1 OP`".into())),
        };
        if !OPS.contains(&op) {
            return Err(wrong(n, format!("operation: `{op}` is none of {}", OPS.join(", "))));
        }
        let mut inputs: Vec<Inputs> = Vec::new();
        for (n, line) in lines {
            let [first, last, change] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                return Err(wrong(n, "a line has three fields: FIRST LAST CHANGE".into()));
            };
            let bits = |field: &str, word: &str| match u32::from_str_radix(word, 16) {
                Ok(bits) if !word.starts_with('+') => Ok(bits),
                _ => Err(wrong(n, format!("{field}: `{word}` is not the bits of a binary32 in hexadecimal"))),
            };
            let (first, last) = (bits("FIRST", first)?, bits("LAST", last)?);
            if last < first {
                return Err(wrong(n, format!("LAST: {last:08x} is below FIRST")));
            }
            if let Some(before) = inputs.last().filter(|b| b.last >= first) {
                return Err(wrong(
                    n,
                    format!("FIRST: {first:08x} is not above the last input before, {:08x}", before.last),
                ));
            }
            let change = match change.strip_prefix('=') {
                Some(word) => Change::To(bits("CHANGE", word)?),
                None => match change.parse() {
                    Ok(by) if change.starts_with(['+', '-']) => Change::By(by),
                    _ => return Err(wrong(n, format!("CHANGE: `{change}` is not +N, -N or =BITS"))),
                },
            };
            inputs.push(Inputs { first, last, change });
        }
        Ok(Calibration { op: op.into(), inputs })
    }
    /// The result for an input whose result was `bits`.
    pub fn correct(&self, input: u32, bits: u32) -> u32 {
        let at = self.inputs.partition_point(|i| i.last < input);
        match self.inputs.get(at).filter(|i| i.first <= input).map(|i| i.change) {
            None => bits,
            Some(Change::To(bits)) => bits,
            Some(Change::By(n)) => {
                // By value: the numbers below 0 go the other way.
                let turned = |b: u32| if b >> 31 == 1 { !(b & !(1 << 31)) as i32 } else { b as i32 };
                let v = turned(bits).wrapping_add(n);
                if v < 0 { !(v as u32) | 1 << 31 } else { v as u32 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrects_what_it_names() {
        let text = "# of an imaginary device\ncalibration 1 ex2.approx.f32\n\n00000000 0000000f +1 # up\n\
                    3f800000 3f800000 =40000001\n80000000 bf800000 -2\n";
        let c = Calibration::read("x", text).unwrap();
        assert_eq!(c.op, "ex2.approx.f32");
        for (input, from, to) in [
            (0, 5, 6),
            (15, 0x8000_0005, 0x8000_0004),
            (3, 0x8000_0000, 0),
            (16, 5, 5),
            (0x3f80_0000, 0x4000_0000, 0x4000_0001),
            (0xbf80_0000, 0x3f00_0000, 0x3eff_fffe),
            (0x8000_0000, 1, 0x8000_0000),
            (0xbf80_0001, 7, 7),
        ] {
            assert_eq!(c.correct(input, from), to, "{input:x} {from:x}");
        }
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let head = "calibration 1 sin.approx.f32\n";
        for (text, what) in [
            ("", "x.cal:1: `calibration 1 OP` is missing".into()),
            ("\n# no\nex2\n", "x.cal:3: the first line must be `calibration 1 OP`".into()),
            (
                "calibration 2 sin.approx.f32",
                "x.cal:1: version: `2` is not 1, the only one there is".to_string(),
            ),
            ("calibration 1 sin.f32", "x.cal:1: operation: `sin.f32` is none of ex2.approx.f32, ".into()),
            (&format!("{head}0 1"), "x.cal:2: a line has three fields: FIRST LAST CHANGE".into()),
            (
                &format!("{head}0 1g +1"),
                "x.cal:2: LAST: `1g` is not the bits of a binary32 in hexadecimal".into(),
            ),
            (&format!("{head}+0 1 +1"), "x.cal:2: FIRST: `+0` is not the bits".into()),
            (&format!("{head}123456789 1 +1"), "x.cal:2: FIRST: `123456789` is not".into()),
            (&format!("{head}5 4 +1"), "x.cal:2: LAST: 00000004 is below FIRST".into()),
            (
                &format!("{head}0 4 +1\n4 5 +1"),
                "x.cal:3: FIRST: 00000004 is not above the last input before, 00000004".into(),
            ),
            (&format!("{head}0 4 1"), "x.cal:2: CHANGE: `1` is not +N, -N or =BITS".into()),
            (&format!("{head}0 4 =zz"), "x.cal:2: CHANGE: `zz` is not the bits".into()),
            (&format!("{head}0 4 +99999999999"), "x.cal:2: CHANGE: `+99999999999` is not".into()),
        ] {
            let e = Calibration::read("x.cal", text).unwrap_err();
            assert!(e.message.starts_with(&what), "{text:?}: {}", e.message);
        }
    }
}
