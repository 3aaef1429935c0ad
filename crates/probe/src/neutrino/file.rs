//! Reads the TOML of a Neutrino file: maps, probes and their snippets.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::map::Map;
use super::tracepoint::NeutrinoTracepoint;
use crate::lang::{FIELDS, KEEP, ProbeError, Span, nearest};

/// The valid parts of a file.
#[derive(Default, Debug)]
pub(super) struct File {
    /// `regs`: the number of the last register.
    pub registers: Option<u32>,
    pub maps: Vec<Map>,
    /// The probes, in the order of the file.
    pub probes: Vec<Probe>,
    pub warnings: Vec<ProbeError>,
}

/// `[probe.NAME]`
#[derive(Debug)]
pub(super) struct Probe {
    pub of_warp: bool,
    /// The place of its `level`.
    pub level: Span,
    pub places: Vec<NeutrinoTracepoint>,
    pub snippets: Vec<Snippet>,
}

/// `before = "…"` or `after = "…"`.
#[derive(Debug)]
pub(super) struct Snippet {
    pub code: String,
    pub after: bool,
    /// The value in the file, quotes included.
    pub span: Span,
}

impl File {
    /// All snippets, with their probes.
    pub fn snippets(&self) -> impl Iterator<Item = (&Probe, &Snippet)> {
        self.probes.iter().flat_map(|p| p.snippets.iter().map(move |s| (p, s)))
    }
}

impl Probe {
    /// Whether all its tracepoints are the begin or the end of the kernel.
    pub fn at_kernel(&self) -> bool {
        self.places.iter().all(NeutrinoTracepoint::kernel)
    }
}

impl Snippet {
    /// The place of a part of the code in the file; the whole value if it contains escapes.
    pub fn place(&self, text: &str, span: Span) -> Span {
        let raw = text.get(self.span.clone()).unwrap_or_default();
        match raw.find(&self.code) {
            Some(at) => self.span.start + at + span.start..self.span.start + at + span.end,
            None => self.span.clone(),
        }
    }
}

type Value<'a> = Spanned<DeValue<'a>>;

/// Reads a file. Returns its valid parts and its errors.
pub(super) fn read(text: &str) -> (File, Vec<ProbeError>) {
    let mut reader = Reader { file: File::default(), errors: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => reader.file(table.get_ref()),
        Err(e) => {
            let message = e.message().trim().replace('\n', ", ");
            reader.errors.push(ProbeError::new(
                e.span().unwrap_or(0..0),
                format!("this is not valid TOML: {message}"),
            ));
        }
    }
    (reader.file, reader.errors)
}

struct Reader {
    file: File,
    errors: Vec<ProbeError>,
}

/// A table's entries in the order of the text.
fn entries<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t str, Span, &'t Value<'a>)> {
    let mut all: Vec<_> = table.iter().map(|(k, v)| (k.get_ref().as_ref(), k.span(), v)).collect();
    all.sort_by_key(|e| e.1.start);
    all
}

impl Reader {
    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.errors.push(ProbeError::new(span, message));
    }

    /// Reports an unknown key.
    fn unknown(&mut self, key: &str, span: Span, of: &str, known: &[&str]) {
        let error = ProbeError::new(span, format!("unknown key `{key}` in {of}"));
        self.errors.push(match nearest(key, known.iter().copied()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("the keys are {}", known.join(", "))),
        });
    }

    fn file(&mut self, table: &DeTable<'_>) {
        let (mut maps, mut probes) = (Vec::new(), Vec::new());
        for (key, span, value) in entries(table) {
            let inner = value.get_ref().as_table();
            let old = inner.is_some_and(|t| {
                t.iter().any(|(k, _)| ["position", "datamodel"].contains(&k.get_ref().as_ref()))
            });
            match key {
                "regs" => {
                    let number = integer(value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n < 1 << 16);
                    match number {
                        Some(n) => self.file.registers = Some(n),
                        None => self
                            .report(value.span(), "`regs` is the number of the last register, below 65536"),
                    }
                }
                "CALLBACK" => self.file.warnings.push(
                    ProbeError::new(span, "PRLX does not run the callback")
                        .help("PRLX has its own reports; compute other results from its tables"),
                ),
                // A map says so itself.
                "dynamic" => {}
                "map" | "probe" => match inner {
                    Some(inner) if key == "map" => maps.extend(entries(inner)),
                    Some(inner) => probes.extend(entries(inner)),
                    None => self.report(span, format!("write `{key}` as tables: `[{key}.NAME]`")),
                },
                _ if old => self.errors.push(
                    ProbeError::new(span, "this is an older Neutrino dialect, which PRLX does not read")
                        .help(
                            "write `[probe.NAME]` with `level`, `pos`, `before`, `after`, and `[map.NAME]`",
                        ),
                ),
                _ => self.unknown(key, span, "the file", &["regs", "probe", "map", "CALLBACK", "dynamic"]),
            }
        }
        for (name, span, value) in maps {
            self.map(name, span, value);
        }
        if probes.is_empty() && self.errors.is_empty() {
            self.report(0..0, "the file has no probe");
        }
        for (name, span, value) in probes {
            self.probe(name, span, value);
        }
    }

    /// `"thread"` or `"warp"`: whether it is the warp.
    fn level(&mut self, table: &DeTable<'_>, of: &str, span: &Span) -> Option<(bool, Span)> {
        let Some(value) = table.get("level") else {
            self.report(span.clone(), format!("{of} has no `level`"));
            return None;
        };
        match value.get_ref().as_str() {
            Some("thread") => Some((false, value.span())),
            Some("warp") => Some((true, value.span())),
            _ => {
                self.report(value.span(), "a level must be \"thread\" or \"warp\"");
                None
            }
        }
    }

    fn map(&mut self, name: &str, span: Span, value: &Value<'_>) {
        const KEYS: &[&str] = &["level", "type", "size", "cap", "regs"];
        let before = self.errors.len();
        let of = format!("map `{name}`");
        let Some(table) = value.get_ref().as_table() else {
            return self.report(span, format!("{of} must be a table: `[map.{name}]`"));
        };
        if !is_name(name) {
            self.report(span.clone(), format!("`{name}` is not a name: use letters, digits and `_`"));
        }
        let level = self.level(table, &of, &span);
        let (mut keep, mut size, mut fields) = (Some(1), None, Vec::new());
        let mut there = [false; 2];
        for (key, at, value) in entries(table) {
            match key {
                "level" => {}
                "type" if value.get_ref().as_str() == Some("array") => {}
                "type" => self.report(value.span(), "the type of a map must be \"array\""),
                "size" => size = Some((integer(value), value.span())),
                "cap" => {
                    there[0] = true;
                    let cap =
                        integer(value).and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=KEEP).contains(n));
                    keep = match value.get_ref().as_str() {
                        Some("dynamic") => None,
                        _ if cap.is_some() => cap,
                        _ => {
                            self.report(value.span(), format!("`cap` must be 1 to {KEEP}, or \"dynamic\""));
                            None
                        }
                    };
                }
                "regs" => {
                    there[1] = true;
                    fields = self.fields(&of, value);
                }
                _ => self.unknown(key, at, &of, KEYS),
            }
        }
        for (key, there) in ["cap", "regs"].iter().zip(there) {
            if !there {
                self.report(span.clone(), format!("{of} has no `{key}`"));
            }
        }
        let bytes: i64 = fields.iter().map(|f: &(String, bool)| if f.1 { 8 } else { 4 }).sum();
        if let Some((size, at)) = size.filter(|s| s.0 != Some(bytes) && self.errors.len() == before) {
            let size = size.map_or("not a number".to_owned(), |n| n.to_string());
            self.report(at, format!("`size` is {size}, but the registers of {of} take {bytes} bytes"));
        }
        if let (Some((of_warp, _)), true) = (level, self.errors.len() == before) {
            self.file.maps.push(Map { name: name.to_owned(), of_warp, fields, keep });
        }
    }

    /// `start = ["u64", "None"]` …
    fn fields(&mut self, of: &str, value: &Value<'_>) -> Vec<(String, bool)> {
        let Some(table) = value.get_ref().as_table() else {
            self.report(
                value.span(),
                format!("write the registers of {of} as a table: `start = [\"u64\", \"None\"]`"),
            );
            return Vec::new();
        };
        let mut fields = Vec::new();
        for (name, span, value) in entries(table) {
            let ty =
                value.get_ref().as_array().and_then(|a| a.iter().next()).and_then(|v| v.get_ref().as_str());
            let wide = match ty {
                Some("u64") => true,
                Some("u32") => false,
                _ => {
                    self.report(value.span(), "a register must be [\"u64\", …] or [\"u32\", …]");
                    continue;
                }
            };
            if !is_name(name) {
                self.report(span.clone(), format!("`{name}` is not a name: use letters, digits and `_`"));
            }
            if wide && fields.last().is_some_and(|(_, wide)| !wide) {
                let message = format!(
                    "`{name}` has 64 bits and follows a 32-bit register, so the order of the values of `SAVE` is not clear"
                );
                self.errors.push(
                    ProbeError::new(span, message)
                        .help("put the 64-bit registers first, as Neutrino writes them"),
                );
            }
            fields.push((name.to_owned(), wide));
        }
        if fields.is_empty() || fields.len() > FIELDS {
            self.report(value.span(), format!("{of} must have 1 to {FIELDS} registers"));
        }
        fields
    }

    fn probe(&mut self, name: &str, span: Span, value: &Value<'_>) {
        let of = format!("probe `{name}`");
        let Some(table) = value.get_ref().as_table() else {
            return self.report(span, format!("{of} must be a table: `[probe.{name}]`"));
        };
        let level = self.level(table, &of, &span);
        let (mut places, mut snippets) = (Vec::new(), Vec::new());
        if table.get("pos").is_none() {
            self.report(span.clone(), format!("{of} has no `pos`"));
        }
        for (key, at, value) in entries(table) {
            match (key, value.get_ref().as_str()) {
                ("level", _) => {}
                ("pos", Some(pos)) => places = self.places(pos, value.span()),
                ("before" | "after", Some(code)) => {
                    snippets.push(Snippet {
                        code: code.to_owned(),
                        after: key == "after",
                        span: value.span(),
                    });
                }
                ("pos" | "before" | "after", None) => {
                    self.report(value.span(), format!("`{key}` must be a text"))
                }
                _ => self.unknown(key, at, &of, &["level", "pos", "before", "after"]),
            }
        }
        if snippets.iter().all(|s| s.code.trim().is_empty()) {
            self.report(span, format!("{of} does nothing: it has no `before` and no `after`"));
        }
        snippets.retain(|s| !s.code.trim().is_empty());
        if let Some((of_warp, level)) = level {
            self.file.probes.push(Probe { of_warp, level, places, snippets });
        }
    }

    /// The alternatives of a `pos`, without those that another alternative includes.
    fn places(&mut self, pos: &str, span: Span) -> Vec<NeutrinoTracepoint> {
        if pos.contains("::") {
            self.file.warnings.push(
                ProbeError::new(
                    span.clone(),
                    "Neutrino splits `pos` at `::`, and the empty text between matched every line",
                )
                .help("PRLX takes `::` as part of the opcode"),
            );
        }
        let mut places: Vec<NeutrinoTracepoint> = Vec::new();
        for text in pos.replace("::", "\0").split(':').map(|t| t.trim().replace('\0', "::")) {
            match NeutrinoTracepoint::of(&text) {
                Ok(place) => places.push(place),
                Err(why) => self.report(span.clone(), why),
            }
            if !text.contains('.') && text != "kernel" && self.errors.is_empty() {
                self.file.warnings.push(
                    ProbeError::new(
                        span.clone(),
                        format!("Neutrino also matches `{text}` in labels, names and comments"),
                    )
                    .help("PRLX matches only the operation of that name"),
                );
            }
        }
        let all = places.clone();
        let mut n = 0;
        places.retain(|place| {
            n += 1;
            let better = |(i, other): (usize, &NeutrinoTracepoint)| {
                i != n - 1 && other.covers(place) && (i < n - 1 || !place.covers(other))
            };
            !all.iter().enumerate().any(better)
        });
        places
    }
}

fn integer(value: &Value<'_>) -> Option<i64> {
    let n = value.get_ref().as_integer()?;
    i64::from_str_radix(n.as_str(), n.radix()).ok()
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
