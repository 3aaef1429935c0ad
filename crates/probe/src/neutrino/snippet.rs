//! Translates snippets: PTX instructions on registers `%NR0`, `%NR1` …, and `SAVE`.
//!
//! Registers have 64 bits. Every statement sets one of them, or saves a record.

use crate::lang::{ProbeError, Span, nearest};

use super::map::Map;

/// A translated statement of a snippet.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    /// A register becomes a value.
    Set(u32, Compute),
    /// `SAVE [ map ] { … };`: the index of the map, and the values of its fields.
    Save(usize, Vec<Value>),
}

/// What an instruction computes: an expression in which `0`, `1`, `2` between braces stand for its values.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Compute {
    form: String,
    pub values: Vec<Value>,
}

/// An operand of a snippet's statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// `%NR3`.
    Register(u32),
    /// A number, of 64 bits with or without a sign.
    Number(i128),
    /// A special register, as the probe language calls it.
    Special(&'static str),
    /// A placeholder for an operand of the instruction.
    Helper(Helper),
}

/// A placeholder that Neutrino fills in at each instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Helper {
    /// `OUT`, `IN1`, `IN2`, `IN3`: operands, from 0.
    Operand(u8),
    /// `ADDR`.
    Address,
    /// `BYTES`.
    Bytes,
}

/// All helpers with their names.
const HELPERS: &[(&str, Helper)] = &[
    ("OUT", Helper::Operand(0)),
    ("IN1", Helper::Operand(1)),
    ("IN2", Helper::Operand(2)),
    ("IN3", Helper::Operand(3)),
    ("ADDR", Helper::Address),
    ("BYTES", Helper::Bytes),
];

/// Special registers, and what they are here.
#[rustfmt::skip]
const SPECIAL: &[(&str, &str)] = &[
    ("%clock64", "clock"), ("%clock", "clock32"), ("%globaltimer", "time"), ("%smid", "sm"), ("%laneid", "lane"),
    ("%tid.x", "tid.x"), ("%tid.y", "tid.y"), ("%tid.z", "tid.z"),
    ("%ntid.x", "ntid.x"), ("%ntid.y", "ntid.y"), ("%ntid.z", "ntid.z"),
    ("%ctaid.x", "ctaid.x"), ("%ctaid.y", "ctaid.y"), ("%ctaid.z", "ctaid.z"),
    ("%nctaid.x", "nctaid.x"), ("%nctaid.y", "nctaid.y"), ("%nctaid.z", "nctaid.z"),
    ("%clusterid.x", "cluster.x"), ("%clusterid.y", "cluster.y"), ("%clusterid.z", "cluster.z"),
];

/// Instructions: opcode without its type, types that it may have (`b`, `u`, `s`), and what it computes, `T`
/// being the type. `mul.u64` and `shl.u64` are no PTX, but what Neutrino's compiler writes.
#[rustfmt::skip]
const OPS: &[(&str, &str, &str)] = &[
    ("mov", "bus", "{0}"),
    ("add", "us", "T({0}) + T({1})"),
    ("sub", "us", "T({0}) - T({1})"),
    ("mul.lo", "us", "T({0}) * T({1})"),
    ("mul", "us", "T({0}) * T({1})"),
    ("mad.lo", "us", "T({0}) * T({1}) + T({2})"),
    ("div", "us", "T({0}) / T({1})"),
    ("rem", "us", "T({0}) % T({1})"),
    ("and", "b", "T({0}) & T({1})"),
    ("or", "b", "T({0}) | T({1})"),
    ("xor", "b", "T({0}) ^ T({1})"),
    ("not", "b", "~T({0})"),
    ("neg", "s", "-T({0})"),
    ("shl", "bus", "T({0}) << u32({1})"),
    ("shr", "bus", "T({0}) >> u32({1})"),
    ("min", "us", "min(T({0}), T({1}))"),
    ("max", "us", "max(T({0}), T({1}))"),
];

impl Helper {
    pub fn name(self) -> &'static str {
        HELPERS.iter().find(|h| h.1 == self).map_or("", |h| h.0)
    }
}

impl Compute {
    /// The expression, its values as these.
    pub fn text(&self, values: &[String]) -> String {
        let mut text = self.form.clone();
        for (i, value) in values.iter().enumerate() {
            let cast = format!("u64({{{i}}})");
            // What has 64 bits needs no cast, nor does a number alone.
            let number = value.bytes().all(|b| b.is_ascii_digit());
            let wide = ["clock", "time", "address", "source"].contains(&value.as_str())
                || ["nr", "before", "u64("].iter().any(|start| value.starts_with(start));
            if wide || number && text == cast {
                text = text.replace(&cast, value);
            }
            text = text.replace(&format!("{{{i}}}"), value);
        }
        text
    }
}

impl Step {
    /// What it reads.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        match self {
            Step::Set(_, compute) => compute.values.iter(),
            Step::Save(_, values) => values.iter(),
        }
    }
    /// Registers that it reads.
    pub fn reads(&self) -> impl Iterator<Item = u32> {
        self.values().filter_map(|v| if let Value::Register(n) = v { Some(*n) } else { None })
    }
    /// All registers that it names.
    pub fn registers(&self) -> impl Iterator<Item = u32> {
        let set = if let Step::Set(n, _) = self { Some(*n) } else { None };
        set.into_iter().chain(self.reads())
    }
}

/// Reads a snippet: statements and where they are in it.
pub(super) fn read(code: &str, maps: &[Map]) -> Result<Vec<(Step, Span)>, Vec<ProbeError>> {
    let (mut steps, mut errors) = (Vec::new(), Vec::new());
    for span in statements(code) {
        match statement(&code[span.clone()], maps) {
            Ok(step) => steps.push((step, span)),
            Err(error) => errors.push(ProbeError { span, ..error }),
        }
    }
    if errors.is_empty() { Ok(steps) } else { Err(errors) }
}

/// Where statements are: what lies between semicolons, comments left out.
fn statements(code: &str) -> Vec<Span> {
    let (mut found, mut start, mut at) = (Vec::new(), None, 0);
    let mut end = 0;
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        if rest.starts_with("//") {
            // A comment in a statement ends it, if it is whole: the next token would be taken for its own.
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        at += c.len_utf8();
        if c == ';' {
            found.extend(start.take().map(|s| s..end));
        } else if !c.is_whitespace() {
            start.get_or_insert(at - c.len_utf8());
            end = at;
        }
    }
    found.extend(start.map(|s| s..end));
    found
}

/// An error about the whole statement.
fn wrong(message: impl Into<String>) -> ProbeError {
    ProbeError::new(0..0, message)
}

fn statement(text: &str, maps: &[Map]) -> Result<Step, ProbeError> {
    if text.contains("//") {
        return Err(wrong("a comment cannot stand inside of a statement"));
    }
    if let Some(rest) = text.strip_prefix("SAVE") {
        return save(rest, maps);
    }
    if text.starts_with('@') {
        return Err(wrong("a snippet cannot have predicated instructions"));
    }
    let (opcode, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let operands: Vec<&str> = rest.split(',').map(str::trim).collect();
    let form = form(opcode)?;
    let count = (0..3).filter(|i| form.contains(&format!("{{{i}}}"))).count();
    if operands.len() != count + 1 {
        return Err(wrong(format!(
            "`{opcode}` has {} operands, but {} are given",
            count + 1,
            operands.iter().filter(|o| !o.is_empty()).count()
        )));
    }
    let Some(Value::Register(register)) = register(operands[0])? else {
        return Err(wrong(format!("a snippet cannot write `{}`, only %NR registers", operands[0])));
    };
    let values = operands[1..].iter().map(|o| value(o)).collect::<Result<Vec<_>, _>>()?;
    Ok(Step::Set(register, Compute { form, values }))
}

/// What an opcode computes, in 64 bits.
fn form(opcode: &str) -> Result<String, ProbeError> {
    let refused = || {
        let names: Vec<&str> = OPS.iter().map(|o| o.0).chain(["cvt", "mul.wide", "popc", "clz"]).collect();
        let error = wrong(format!("a snippet cannot have the instruction `{opcode}`"));
        error.help(format!("it can have {}, on integers of 32 and 64 bits", names.join(", ")))
    };
    let mut parts = opcode.rsplitn(2, '.');
    let (Some(ty), Some(name)) = (parts.next(), parts.next()) else { return Err(refused()) };
    let kinds = |kinds: &str| kind(ty).is_some_and(|k| kinds.contains(k));
    let wide = || as_number(ty).filter(|_| ty.ends_with("64") || ty.ends_with("32"));
    if let Some((_, _, form)) = OPS.iter().find(|o| o.0 == name && kinds(o.1)) {
        let number = wide().ok_or_else(refused)?;
        // A move takes what is there.
        let form = if name == "mov" { "T({0})" } else { form };
        return Ok(widened(&form.replace('T', &number), &number));
    }
    match name.split_once('.') {
        // PTX ISA, cvt: the source's type comes last.
        Some(("cvt", to)) => {
            let (Some(to), Some(from)) = (as_number(to), as_number(ty)) else { return Err(refused()) };
            Ok(widened(&format!("{to}({from}({{0}}))"), &to))
        }
        Some(("mul", "wide")) if ty == "u32" => Ok("u64(u32({0})) * u64(u32({1}))".to_owned()),
        Some(("mul", "wide")) if ty == "s32" => Ok("u64(s64(s32({0})) * s64(s32({1})))".to_owned()),
        None if ["popc", "clz"].contains(&name) && kinds("b") => {
            let number = wide().ok_or_else(refused)?;
            Ok(format!("{name}({number}({{0}}))"))
        }
        _ => Err(refused()),
    }
}

/// A result of this type in a register of 64 bits: zeros above it.
fn widened(form: &str, number: &str) -> String {
    match number {
        "u64" => form.to_owned(),
        "s64" => format!("u64({form})"),
        number => format!("u64(u{}({form}))", &number[1..]),
    }
}

/// `b`, `u` or `s`, of an integer type.
fn kind(ty: &str) -> Option<char> {
    let kind = ty.chars().next()?;
    (["8", "16", "32", "64"].contains(&&ty[kind.len_utf8()..]) && "bus".contains(kind)).then_some(kind)
}

/// An integer type as the probe language has it.
fn as_number(ty: &str) -> Option<String> {
    Some(if kind(ty)? == 's' { ty.to_owned() } else { format!("u{}", &ty[1..]) })
}

/// ` [ map ] { a, b }`
fn save(rest: &str, maps: &[Map]) -> Result<Step, ProbeError> {
    let parts = || {
        let (name, fields) = rest.trim().strip_prefix('[')?.split_once(']')?;
        let fields = fields.trim().strip_prefix('{')?.strip_suffix('}')?;
        Some((name.trim(), fields))
    };
    let Some((name, fields)) = parts() else {
        return Err(wrong("malformed `SAVE`: write `SAVE [ map ] { %NR0, %NR1 };`"));
    };
    let Some(number) = maps.iter().position(|m| m.name == name) else {
        let error = wrong(format!("unknown map `{name}`"));
        return Err(match nearest(name, maps.iter().map(|m| m.name.as_str())) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("declare it: `[map.{name}]`")),
        });
    };
    let values = fields.split(',').map(|f| value(f.trim())).collect::<Result<Vec<_>, _>>()?;
    let of = maps[number].fields.len();
    if values.len() != of {
        return Err(wrong(format!(
            "a record of `{name}` has {of} registers, but {} are given",
            values.len()
        )));
    }
    Ok(Step::Save(number, values))
}

/// `%NR3`.
fn register(text: &str) -> Result<Option<Value>, ProbeError> {
    let Some(digits) = text.strip_prefix("%NR") else { return Ok(None) };
    match digits.parse() {
        Ok(n) if digits.bytes().all(|b| b.is_ascii_digit()) => Ok(Some(Value::Register(n))),
        _ => Err(wrong(format!("`{text}` is not a register"))),
    }
}

fn value(text: &str) -> Result<Value, ProbeError> {
    if let Some(register) = register(text)? {
        return Ok(register);
    }
    if let Some((_, helper)) = HELPERS.iter().find(|h| h.0 == text) {
        return Ok(Value::Helper(*helper));
    }
    if let Some((_, name)) = SPECIAL.iter().find(|s| s.0 == text) {
        return Ok(Value::Special(name));
    }
    if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return number(text).ok_or_else(|| wrong(format!("`{text}` is not a 64-bit integer")));
    }
    let error = wrong(format!("a snippet cannot read `{text}`"));
    let names = HELPERS.iter().map(|h| h.0).chain(SPECIAL.iter().map(|s| s.0));
    Err(match nearest(text, names) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(
            "it can read %NR registers, numbers, ADDR, BYTES, OUT, IN1, IN2, IN3 and special registers",
        ),
    })
}

/// PTX ISA, Integer Constants: decimal, `0x`, `0b`, octal from `0` on, with `U` behind.
fn number(text: &str) -> Option<Value> {
    let (minus, digits) = text.strip_prefix('-').map_or((false, text), |d| (true, d));
    let digits = digits.strip_suffix('U').unwrap_or(digits);
    let (radix, digits) = match (digits.get(..2), digits) {
        (Some("0x" | "0X"), d) => (16, &d[2..]),
        (Some("0b" | "0B"), d) => (2, &d[2..]),
        (Some(_), d) if d.starts_with('0') => (8, &d[1..]),
        (_, d) => (10, d),
    };
    let n = u64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))?;
    let n = if minus { -i128::from(n) } else { n.into() };
    (n >= i64::MIN.into()).then_some(Value::Number(n))
}
