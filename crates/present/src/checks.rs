//! The findings of checks as text, in the form of a compiler's errors, and as JSON.
//!
//! Each side of a finding has its source line, instruction, threads and memory. The first side is the faulty
//! one.

use std::io::{self, Write};

use prlx_trace::check::{Finding, Findings, Grade, Memory, Place, Side, SourceLine, Threads};
use serde_json::{Value, json};

use crate::format::{Ink, Style, clean, clip, count, number, plain_name};

/// Writes all findings and a line that sums them up.
///
/// # Errors
/// Those of `out`.
pub fn checks(out: &mut impl Write, found: &Findings, style: &Style) -> io::Result<()> {
    checks_with(out, found, &|_| Vec::new(), style)
}

/// Writes all findings, each with more rows by its number, and a line that sums them up.
///
/// # Errors
/// Those of `out`.
pub(crate) fn checks_with(
    out: &mut impl Write,
    found: &Findings,
    rows: &dyn Fn(usize) -> Vec<String>,
    style: &Style,
) -> io::Result<()> {
    for (i, f) in found.list.iter().enumerate() {
        finding(out, f, &rows(i), *style)?;
        writeln!(out)?;
    }
    let notes = found.list.len() - found.errors();
    let mut parts = Vec::new();
    if found.errors() > 0 {
        parts.push(style.ink(Ink::Bad, &count(found.errors() as u64, "error", "errors")));
    }
    if notes > 0 {
        parts.push(style.ink(Ink::Warning, &count(notes as u64, "note", "notes")));
    }
    if found.dropped > 0 {
        parts.push(format!("{} more not shown", number(found.dropped)));
    }
    if parts.is_empty() {
        parts.push(style.ink(Ink::Good, "no problem found"));
    }
    writeln!(out, "checks: {}", parts.join(", "))?;
    for what in &found.unchecked {
        writeln!(out, "  {} {}", style.ink(Ink::Warning, "not checked:"), clean(what))?;
    }
    Ok(())
}

fn finding(out: &mut impl Write, f: &Finding, rows: &[String], style: Style) -> io::Result<()> {
    let grade = f.kind.grade();
    let ink = if grade == Grade::Error { Ink::Bad } else { Ink::Warning };
    let head = style.ink(ink, &format!("{}[{}]", grade.name(), f.kind.name()));
    writeln!(out, "{head}: {}", style.ink(Ink::Strong, &clean(&f.what)))?;
    let lines = f
        .sides
        .iter()
        .filter_map(|s| s.place.as_ref())
        .map(|p| p.source.get(p.own()).map_or(p.module_line, |l| l.line));
    let gutter = lines.max().unwrap_or(0).to_string().len();
    for s in &f.sides {
        side(out, s, gutter, ink, style)?;
    }
    let row = |out: &mut dyn Write, name: &str, text: &str| {
        writeln!(out, "{} {} {name}{text}", " ".repeat(gutter), style.ink(Ink::Faint, "="))
    };
    let visits = count(f.visits, "visit", "visits");
    row(out, "", &format!("{} and {visits} of this instruction", count(f.lanes, "lane", "lanes")))?;
    rows.iter().try_for_each(|text| row(out, "", text))?;
    match &f.help {
        Some(help) => row(out, "help: ", &clean(help)),
        None => Ok(()),
    }
}

fn side(out: &mut impl Write, s: &Side, gutter: usize, ink: Ink, style: Style) -> io::Result<()> {
    let blank = " ".repeat(gutter);
    let bar = style.ink(Ink::Faint, "|");
    let role = style.ink(ink, &clean(&s.role));
    let Some(p) = &s.place else {
        writeln!(out, "{blank} {} {role}", style.ink(Ink::Faint, "="))?;
        return facts(out, s, &blank, style);
    };
    writeln!(out, "{blank}{} {}", style.ink(Ink::Faint, "-->"), style.ink(Ink::Location, &place(p)))?;
    if let Some(line) = p.source.get(p.own())
        && let Some(text) = &line.text
    {
        let text = clean(text);
        writeln!(
            out,
            "{:>gutter$} {bar} {}",
            line.line,
            clip(&text, style.width.saturating_sub(gutter + 3))
        )?;
        // Columns count bytes before tabs became spaces.
        let before = line.text.as_deref().and_then(|t| t.get(..(line.column as usize).saturating_sub(1)));
        let indent = " ".repeat(clean(before.unwrap_or_default()).chars().count());
        let caret = if line.column > 0 { style.ink(ink, "^ ") } else { String::new() };
        writeln!(out, "{blank} {bar} {indent}{caret}{role}")?;
    } else {
        writeln!(out, "{blank} {bar} {role}")?;
    }
    let code = clip(&clean(&p.instruction), style.width.saturating_sub(gutter + 20));
    writeln!(out, "{blank} {bar} {}", style.ink(Ink::Faint, &format!("{}: {code}", module_line(p))))?;
    for inner in p.source.iter().take(p.own()).rev().take(4) {
        let text = match inner.function.as_str() {
            "" => format!("in {}", line(inner)),
            name => format!("in {}, `{}`", line(inner), clean(&plain_name(name))),
        };
        let text = clip(&text, style.width.saturating_sub(gutter + 3)).to_string();
        writeln!(out, "{blank} {} {text}", style.ink(Ink::Faint, "="))?;
    }
    for outer in p.source.iter().skip(p.own() + 1).take(4) {
        let text = outer.text.as_deref().map_or_else(String::new, |t| format!(": `{}`", clean(t.trim())));
        let text = format!("inlined at {}{text}", line(outer));
        writeln!(
            out,
            "{blank} {} {}",
            style.ink(Ink::Faint, "="),
            clip(&text, style.width.saturating_sub(gutter + 3))
        )?;
    }
    facts(out, s, &blank, style)
}

fn facts(out: &mut impl Write, s: &Side, blank: &str, style: Style) -> io::Result<()> {
    let sign = style.ink(Ink::Faint, "=");
    if let Some(t) = &s.threads {
        writeln!(out, "{blank} {sign} by {}", who(t))?;
    }
    if let Some(m) = &s.memory {
        writeln!(out, "{blank} {sign} {}", at(m))?;
    }
    Ok(())
}

fn who(t: &Threads) -> String {
    let of = format!("warp {} of CTA {}", t.warp, t.cta);
    match t.lanes.count() {
        1 => format!(
            "thread {} of CTA {} (lane {} of warp {})",
            t.first,
            t.cta,
            t.lanes.0.trailing_zeros(),
            t.warp
        ),
        _ => format!("{} of {of}, first thread {}", t.lanes, t.first),
    }
}

fn at(m: &Memory) -> String {
    let inside = m.allocation.as_ref().map_or_else(String::new, |a| {
        let name = clean(&a.name);
        let name = if name.contains(' ') { name } else { format!("`{name}`") };
        let sign = if m.address >= a.base { '+' } else { '-' };
        format!(
            ": {name} {sign} {}, {} at {:#x}",
            m.address.abs_diff(a.base),
            count(a.bytes, "byte", "bytes"),
            a.base
        )
    });
    let of =
        if m.bytes > 0 { format!("{} of ", count(m.bytes.into(), "byte", "bytes")) } else { String::new() };
    format!("{of}{} memory at {:#x}{inside}", m.space.name(), m.address)
}

fn place(p: &Place) -> String {
    let function = clean(&plain_name(&p.function));
    match p.source.get(p.own()) {
        Some(l) if !l.function.is_empty() => {
            format!("{} in `{}`, part of `{function}`", line(l), clean(&plain_name(&l.function)))
        }
        Some(l) => format!("{} in `{function}`", line(l)),
        None => format!("{} in `{function}`", module_line(p)),
    }
}

/// The line of the module's text.
fn module_line(p: &Place) -> String {
    let text = if p.disassembly { "disassembly" } else { "PTX" };
    format!("{text} line {}", p.module_line)
}

fn line(l: &SourceLine) -> String {
    let file = clean(prlx_trace::names::file_name(&l.file));
    if l.column > 0 { format!("{file}:{}:{}", l.line, l.column) } else { format!("{file}:{}", l.line) }
}

/// The same as JSON; `docs/checks.md` says what the keys mean.
pub fn checks_json(found: &Findings) -> Value {
    json!({
        "errors": found.errors(),
        "findings": found.list.iter().map(finding_json).collect::<Vec<_>>(),
        "dropped": found.dropped,
        "unchecked": found.unchecked,
    })
}

fn finding_json(f: &Finding) -> Value {
    json!({
        "check": f.kind.check().name(), "kind": f.kind.name(), "grade": f.kind.grade().name(), "what": f.what,
        "help": f.help, "visits": f.visits, "lanes": f.lanes,
        "sides": f.sides.iter().map(side_json).collect::<Vec<_>>(),
    })
}

fn side_json(s: &Side) -> Value {
    let dims = |d: prlx_trace::Dim3| [d.x, d.y, d.z];
    let source = |l: &SourceLine| json!({ "file": l.file, "line": l.line, "column": l.column, "function": l.function, "text": l.text });
    json!({
        "role": s.role,
        "place": s.place.as_ref().map(|p| json!({
            "function": p.function, "instruction": p.instruction, "module_line": p.module_line,
            "source": p.source.iter().map(source).collect::<Vec<_>>(), "own": p.own(),
        })),
        "threads": s.threads.map(|t| json!({
            "cta": dims(t.cta), "warp": t.warp, "lanes": t.lanes.0, "first": dims(t.first),
        })),
        "memory": s.memory.as_ref().map(|m| json!({
            "space": m.space.name(), "address": m.address, "bytes": m.bytes,
            "allocation": m.allocation.as_ref().map(|a| json!({ "name": a.name, "base": a.base, "bytes": a.bytes })),
        })),
    })
}
