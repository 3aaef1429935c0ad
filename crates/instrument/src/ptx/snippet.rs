//! A snippet under construction.

use std::fmt::Write;

use prlx_isa::ptx::OPTIONAL;
use prlx_isa::view::{Function, Guard};
use rustc_hash::FxHashSet;

/// Registers that a snippet may use without declaring them: type, names.
const TEMPORARIES: &[(&str, &[&str])] = &[
    (".pred", &["q", "r", "single", "lead"]),
    (".b16", &["h"]),
    (
        ".b32",
        &[
            "a", "b", "c", "d", "e", "mask", "leader", "site", "clock", "value", "hash", "warp", "lane",
            "sign", "w0", "w1", "w2", "w3",
        ],
    ),
    (
        ".b64",
        &["x", "y", "v", "link", "lanes", "head", "context", "v0", "v1", "v2", "v3", "amount", "magazine"],
    ),
];

/// The type of a temporary, by its name without the prefix.
pub fn temporary_type(name: &str) -> Option<&'static str> {
    TEMPORARIES.iter().find(|(_, names)| names.contains(&name)).map(|(ty, _)| *ty)
}

/// Snippets: the pieces of PTX that the lowering inserts.
///
/// A snippet is written as PTX text in which `~` stands for the prefix of all inserted names and `#` for the
/// number of the snippet, so that labels are unique. The [`TEMPORARIES`] that a snippet mentions are declared
/// at the top of its own scope. A snippet without temporaries needs no scope.
pub(super) struct Snippet<'a> {
    prefix: &'a str,
    number: u32,
    /// Its lines, each after a line break and, unless it is a label, a tab.
    body: String,
    subs: u32,
    /// Registers that it declares: type, name after the prefix.
    declared: Vec<(&'static str, String)>,
}

impl<'a> Snippet<'a> {
    /// An empty snippet with a number of its own.
    pub fn new(prefix: &'a str, number: u32) -> Self {
        Snippet { prefix, number, body: String::new(), subs: 0, declared: Vec::new() }
    }

    /// Appends lines of PTX. `//` comments in the template are not emitted.
    pub fn ptx(&mut self, template: &str) {
        let number = self.number();
        for line in template.lines() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if !line.is_empty() {
                self.body.push_str(if line.ends_with(':') { "\n" } else { "\n\t" });
                expand(&mut self.body, line, self.prefix, &number);
            }
        }
    }

    /// Adds an instruction that only a second attempt of assembling uses.
    pub fn optional(&mut self, template: &str) {
        let number = self.number();
        self.body.push_str("\n\t");
        self.body.push_str(OPTIONAL);
        expand(&mut self.body, template, self.prefix, &number);
    }

    /// Declares a register of the snippet.
    pub fn declare(&mut self, ty: &'static str, name: String) {
        self.declared.push((ty, name));
    }

    /// A label, as a template would spell it.
    pub fn label(&self, name: &str) -> String {
        format!("$~{name}{}", self.number())
    }

    /// Expands a template.
    pub fn expand(&self, template: &str) -> String {
        let mut out = String::new();
        expand(&mut out, template, self.prefix, &self.number());
        out
    }

    fn number(&self) -> String {
        match self.subs {
            0 => self.number.to_string(),
            n => format!("{}_{n}", self.number),
        }
    }

    /// Changes the labels from here on, for a template that occurs twice in one snippet.
    pub fn fresh_labels(&mut self) {
        self.subs += 1;
    }

    /// Whether the snippet is empty.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Its lines, and the registers that it declares: type, name after the prefix.
    pub fn into_parts(self) -> (String, Vec<(&'static str, String)>) {
        (self.body, self.declared)
    }

    /// Text of the snippet, its lines each after a line break and a tab.
    pub fn finish(self) -> String {
        let body = &self.body;
        let mut scope = String::new();
        let used = registers(body, self.prefix);
        let own =
            |ty: &&str| self.declared.iter().filter(|d| d.0 == *ty).map(|d| d.1.as_str()).collect::<Vec<_>>();
        for (ty, names) in TEMPORARIES {
            let own = own(ty);
            let names = names.iter().chain(&own);
            let used: Vec<String> =
                names.filter(|n| used.contains(*n)).map(|n| format!("%{}{n}", self.prefix)).collect();
            if !used.is_empty() {
                let _ = write!(scope, "\n\t.reg {ty} {};", used.join(", "));
            }
        }
        match scope.is_empty() {
            true => self.body,
            false => format!("\n\t{{{scope}{body}\n\t}}"),
        }
    }
}

fn expand(out: &mut String, template: &str, prefix: &str, number: &str) {
    for part in template.split_inclusive(['~', '#']) {
        let (text, sign) = match part.as_bytes().last() {
            Some(b'~') => (&part[..part.len() - 1], prefix),
            Some(b'#') => (&part[..part.len() - 1], number),
            _ => (part, ""),
        };
        out.push_str(text);
        out.push_str(sign);
    }
}

/// Inserted registers in `text`, without `%` and the prefix.
fn registers<'t>(text: &'t str, prefix: &str) -> FxHashSet<&'t str> {
    let mut found = FxHashSet::default();
    for word in text.split('%').skip(1) {
        let end = word.bytes().position(|b| !crate::tokens::word_byte(b)).unwrap_or(word.len());
        found.extend(word[..end].strip_prefix(prefix));
    }
    found
}

/// A guard as text before an instruction; with `negate`, its opposite.
pub(super) fn guard_text(function: &Function, guard: Guard, negate: bool) -> String {
    let bang = if guard.negate != negate { "!" } else { "" };
    format!("@{bang}{}", register(function, guard.reg))
}

/// Name of a register of the source.
pub(super) fn register(function: &Function, reg: prlx_isa::view::Reg) -> &str {
    function.regs.get(reg.index()).map_or("", |r| r.name.as_str())
}
