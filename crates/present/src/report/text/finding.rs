//! One finding as text: where, which lanes, when, with which operands, and why.

use std::io::{self, Write};

use prlx_analyze::report::{Finding, LaunchReport, Location, OperandRow, Operands, SliceNode, WarpHit};
use prlx_trace::WarpSize;

use crate::format::{Ink, Style, clean, clip, count, pad, plain_name, wrap};
use crate::words::{self, Fact, noun, place, sentence, short};

/// Warps that are listed beside the one shown.
const WARPS: usize = 8;
/// Rows of operands of lanes that agree, as a contrast to those that do not.
const CONTRAST: usize = 2;
/// Rows of operands of lanes that differ.
const ROWS: usize = 8;
/// Nodes of the slice.
const NODES: usize = 12;
/// Where values begin, behind their names.
const INDENT: usize = 12;

/// Writes a finding on one line.
pub(super) fn brief(out: &mut impl Write, style: Style, number: usize, f: &Finding) -> io::Result<()> {
    let place = f.location().map(place).unwrap_or_default();
    let after = if f.roots == 0 { ", after an earlier difference" } else { "" };
    let head = format!("{number:>2} {}", pad(f.kind.name(), 12));
    let text = format!("{}{after}", sentence(f));
    writeln!(
        out,
        "{} {} {}",
        style.ink(Ink::Strong, &head),
        style.ink(Ink::Location, &pad(&place, 22)),
        clip(&text, style.width.saturating_sub(39))
    )
}

/// Writes a finding in full.
pub(super) fn full(
    out: &mut impl Write,
    style: Style,
    l: &LaunchReport,
    number: usize,
    f: &Finding,
) -> io::Result<()> {
    let head = format!("{number:>2} {}", f.kind.name());
    let after = if f.roots == 0 { format!("  ({})", words::ALREADY_DIVERGED) } else { String::new() };
    writeln!(out, "{}  {}{after}", style.ink(Ink::Bad, &head), sentence(f))?;
    source(out, style, f)?;
    let row = |out: &mut dyn Write, name: &str, text: &str| -> io::Result<()> {
        for (i, part) in wrap(text, style.width.saturating_sub(INDENT)).iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            writeln!(out, "   {} {part}", style.ink(Ink::Faint, &pad(name, INDENT - 4)))?;
        }
        Ok(())
    };
    if let Some(site) = f.shown() {
        row(out, noun(site.class), &clip(&clean(&site.text), style.width.saturating_sub(INDENT)))?;
    }
    row(out, "at", &words::warp_shown(f, l.warp_size))?;
    for line in grid(style, f, l.warp_size) {
        writeln!(out, "{}{line}", " ".repeat(INDENT))?;
    }
    for (name, fact) in words::facts(f) {
        match fact {
            Fact::Text(text) => row(out, name, &text)?,
            Fact::Sides([a, b]) => row(out, name, &format!("A {a}   B {}", style.ink(Ink::Bad, &b)))?,
        }
    }
    if let Some(operands) = &f.operands {
        let decides = f.shown().is_none_or(|s| s.class.decides());
        table(out, style, operands, decides)?;
    }
    if let Some(site) = f.shown() {
        for (i, s) in site.steers.iter().take(4).enumerate() {
            let at = s.location.as_ref().map(short).unwrap_or_default();
            let text = clip(&clean(&s.text), style.width.saturating_sub(INDENT + at.chars().count() + 2));
            row(
                out,
                if i == 0 { words::CONTROLS } else { "" },
                &format!("{text}  {}", style.ink(Ink::Location, &at)),
            )?;
        }
        if site.steers.len() > 4 {
            row(out, "", &format!("and {} more", site.steers.len() - 4))?;
        }
    }
    if let Some(then) = words::consequence(f) {
        row(out, "then", &then)?;
    }
    why(out, style, &f.slice)?;
    let mut rest = f.warps.iter().filter(|h| h.warp != f.warp.warp);
    let shown: Vec<&WarpHit> = rest.by_ref().take(WARPS).collect();
    for (i, h) in shown.iter().enumerate() {
        let text = words::warp_hit(h, l.warp_size);
        row(out, if i == 0 { "also at" } else { "" }, &text)?;
    }
    let more = f.warps_total.saturating_sub(1 + shown.len() as u64);
    if more > 0 {
        row(out, if shown.is_empty() { "also at" } else { "" }, &count(more, "more warp", "more warps"))?;
    }
    Ok(())
}

/// The lanes of the warp in a row: `#` differs here, `+` elsewhere in the loop, `.` agrees.
fn grid(style: Style, f: &Finding, size: WarpSize) -> Vec<String> {
    if f.at.len() < 2 {
        return Vec::new();
    }
    let (mut ruler, mut marks) = (String::new(), String::new());
    for lane in size.full_mask().lanes() {
        if lane.0 % 8 == 0 {
            if lane.0 > 0 {
                ruler.push(' ');
                marks.push(' ');
            }
            ruler.push_str(&pad(&lane.0.to_string(), 8));
        }
        let at = f.at.iter().find(|l| l.lane == lane.0);
        marks.push_str(&match at {
            Some(_) if f.lanes.has(lane) => style.ink(Ink::Bad, "#"),
            Some(l) if l.differs => style.ink(Ink::Warning, "+"),
            Some(_) => ".".into(),
            None => " ".into(),
        });
    }
    let key = if marks.contains('+') {
        "# differs here  + differs elsewhere  . same"
    } else {
        "# differs here  . same"
    };
    let key = style.ink(Ink::Faint, key);
    let mut lines = vec![style.ink(Ink::Faint, ruler.trim_end())];
    if INDENT + usize::from(u8::from(size)) * 9 / 8 + 46 <= style.width {
        lines.push(format!("{}   {key}", marks.trim_end()));
    } else {
        lines.extend([marks.trim_end().to_string(), key]);
    }
    lines
}

/// The source line with a caret, and where it was inlined.
fn source(out: &mut impl Write, style: Style, f: &Finding) -> io::Result<()> {
    let Some(l) = f.location() else { return Ok(()) };
    let (inner, outer): (Vec<_>, Vec<_>) = {
        let own = words::chain(l).position(|at| std::ptr::eq(at, words::own(l))).unwrap_or(0);
        let mut lines = words::chain(l).enumerate();
        let inner = lines.by_ref().take(own).map(|(_, at)| at).collect();
        (inner, lines.map(|(_, at)| at).collect())
    };
    for (n, at) in outer.iter().enumerate() {
        show(out, style, at, if n == 0 { "" } else { "inlined at " })?;
    }
    for at in inner.iter().rev() {
        show(out, style, at, "in library code at ")?;
    }
    // Another build has its own line.
    if let [Some(a), Some(b)] = &f.site
        && let (Some(a), Some(b)) = (&a.location, &b.location)
        && (a.file != b.file || a.line != b.line || a.code != b.code)
        && f.side != Some(1)
    {
        show(out, style, words::own(b), "in B ")?;
    }
    Ok(())
}

fn show(out: &mut impl Write, style: Style, l: &Location, how: &str) -> io::Result<()> {
    let function = if l.function.is_empty() {
        String::new()
    } else {
        format!(" in {}", clean(&plain_name(&l.function)))
    };
    writeln!(out, "   {how}{}{function}", style.ink(Ink::Location, &words::exact_place(l)))?;
    let Some(code) = l.code.as_deref().filter(|c| !c.trim().is_empty()) else { return Ok(()) };
    let bar = style.ink(Ink::Faint, "│");
    let line = l.line.to_string();
    let code_clean = clip(&clean(code), style.width.saturating_sub(10));
    writeln!(out, "{line:>7} {bar} {}", code_clean.trim_end())?;
    if let Some(before) = (l.column as usize).checked_sub(1).filter(|_| how.is_empty()) {
        // Columns count bytes; the caret stands under the character as it is shown.
        let shown = code.get(..before).map_or(before, |head| clean(head).chars().count());
        if shown < code_clean.chars().count() {
            writeln!(out, "        {bar} {}{}", " ".repeat(shown), style.ink(Ink::Bad, "^"))?;
        }
    }
    Ok(())
}

/// Operands of both sides, lane by lane: first the lanes that differ, then some that do not. `decides`:
/// whether they are those of a decision.
fn table(out: &mut impl Write, style: Style, o: &Operands, decides: bool) -> io::Result<()> {
    let differ = o.rows.iter().filter(|r| r.differs);
    let whole =
        |r: &&OperandRow| !r.differs && r.cells.iter().all(|c| c.bits[0].is_some() == c.bits[1].is_some());
    let some = |r: &&OperandRow| !r.differs;
    let full = o.rows.iter().filter(whole).count() >= CONTRAST;
    let agree = o.rows.iter().filter(|r| if full { whole(r) } else { some(r) }).take(CONTRAST);
    let hidden = differ.clone().count().saturating_sub(ROWS);
    let rows: Vec<_> = differ.take(ROWS).chain(agree).collect();
    let shown = |c: &prlx_analyze::report::OperandCell, side: usize| {
        c.shown[side].clone().unwrap_or_else(|| "-".into())
    };
    let mut head = format!("   {}", pad("operands", INDENT - 3));
    // A side that was not recorded has no columns.
    let has = [0, 1].map(|side| o.rows.iter().flat_map(|r| &r.cells).any(|c| c.bits[side].is_some()));
    let columns: Vec<(usize, usize)> =
        (0..o.columns.len()).flat_map(|c| [(c, 0), (c, 1)]).filter(|(_, side)| has[*side]).collect();
    let mut wide = Vec::new();
    for &(i, side) in &columns {
        let name = format!("{} {}", ["A", "B"][side], clean(&o.columns[i].name[side]));
        let cells = rows.iter().filter_map(|r| r.cells.get(i)).map(|c| shown(c, side).chars().count());
        let w = cells.max().unwrap_or(0).max(name.chars().count());
        head += &format!("{}   ", pad(&name, w));
        wide.push(w);
    }
    let types: Vec<_> = o.columns.iter().map(|c| c.ty.name()).collect();
    writeln!(out, "{}", style.ink(Ink::Faint, &format!("{}{}", head, types.join(", "))))?;
    for r in rows {
        let lane = format!("lane {}", r.lane);
        let mut line = format!("   {}", pad(&lane, INDENT - 3));
        for (&(i, side), &w) in columns.iter().zip(&wide) {
            let Some(c) = r.cells.get(i) else { continue };
            let ink = if c.differs && side == 1 { Ink::Bad } else { Ink::Plain };
            line += &format!("{}   ", style.ink(ink, &pad(&shown(c, side), w)));
        }
        if r.differs {
            line += &style.ink(Ink::Bad, &mark(r, o, has, decides));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    if hidden > 0 {
        writeln!(
            out,
            "   {}and {}",
            " ".repeat(INDENT - 3),
            count(hidden as u64, "more lane", "more lanes")
        )?;
    }
    Ok(())
}

/// The mark at the end of a row of operands that differ.
fn mark(r: &OperandRow, o: &Operands, has: [bool; 2], decides: bool) -> String {
    let which = r.cells.iter().zip(&o.columns).filter(|(c, _)| c.differs).map(|(_, c)| {
        let [a, b] = c.name.each_ref().map(|n| clean(n));
        // Registers have other numbers in another build; constants do not.
        if a == b || a.starts_with('%') { format!("{a} differs") } else { format!("{a} is {b} in B") }
    });
    let which: Vec<_> = which.collect();
    match (which.is_empty(), has) {
        (false, _) => format!("<- {}", which.join(", ")),
        (true, [true, true]) if decides => "<- the condition differs".into(),
        // Stores of one line share what level `values` records of them.
        (true, [true, true]) => "<- another value of this line differs".into(),
        (true, _) => "<-".into(),
    }
}

/// The slice as a chain: what the value was made from.
fn why(out: &mut impl Write, style: Style, slice: &[SliceNode]) -> io::Result<()> {
    // A slice of one node says what is said already.
    if slice.len() < 2 {
        return Ok(());
    }
    let lines: Vec<(String, String)> = slice
        .iter()
        .enumerate()
        .take(NODES)
        .map(|(i, n)| {
            let lead = words::lead(slice, i, NODES);
            (format!("{lead}{}", clean(&n.text)), n.location.as_ref().map(short).unwrap_or_default())
        })
        .collect();
    let most = style.width.saturating_sub(INDENT + 26);
    let wide = lines.iter().map(|(x, _)| x.chars().count()).max().unwrap_or(0).min(most);
    let far = lines.iter().map(|(_, p)| p.chars().count()).max().unwrap_or(0);
    for (i, ((text, at), n)) in lines.iter().zip(slice).enumerate() {
        let name = if i == 0 { "why" } else { "" };
        let name_of = n.argument.as_ref().map(|a| format!("{}: ", clean(a))).unwrap_or_default();
        let value = match (n.same, &n.shown) {
            (Some(true), [Some(v), _]) => format!("  {name_of}{} on both sides", clean(v)),
            (Some(false), [Some(a), Some(b)]) => {
                let text = format!("{name_of}A {}, B {}", clean(a), clean(b));
                let first = if n.first { " <- the first input that differs" } else { "" };
                format!("  {}", style.ink(Ink::Bad, &format!("{text}{first}")))
            }
            _ => format!("  {}", name_of.trim_end_matches(": ")),
        };
        let line =
            format!("{}  {}{value}", pad(&clip(text, wide), wide), style.ink(Ink::Location, &pad(at, far)));
        writeln!(out, "   {} {}", style.ink(Ink::Faint, &pad(name, INDENT - 4)), line.trim_end())?;
    }
    if slice.len() > NODES {
        writeln!(out, "   {} and {} more steps", " ".repeat(INDENT - 4), slice.len() - NODES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_that_agree_are_no_condition_of_a_store() {
        let row = OperandRow { differs: true, ..OperandRow::default() };
        let of = |has, decides| mark(&row, &Operands::default(), has, decides);
        assert_eq!(of([true; 2], true), "<- the condition differs");
        assert_eq!(of([true; 2], false), "<- another value of this line differs");
        assert_eq!(of([true, false], false), "<-");
    }
}
