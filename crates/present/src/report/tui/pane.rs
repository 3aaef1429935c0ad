//! The lines of each view.

use prlx_analyze::report::{Finding, LaunchReport, Operands, SiteInfo};
use prlx_analyze::view::{AlignedStep, PathView, Scope, StepMatch};
use prlx_trace::names::is_library_file;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::text::text;
use super::subject::{ListRow, Subject};
use crate::format::Style as Layout;
use crate::format::{clean, number, pad};
use crate::words;
use crate::words::lead;

/// Columns that texts are laid out for.
const WIDE: usize = 140;

/// The views, in the order of their keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PaneView {
    Summary,
    Source,
    Steps,
    Lanes,
    Loops,
    Operands,
    Why,
}

impl PaneView {
    pub const ALL: [PaneView; 7] = [
        PaneView::Summary,
        PaneView::Source,
        PaneView::Steps,
        PaneView::Lanes,
        PaneView::Loops,
        PaneView::Operands,
        PaneView::Why,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            PaneView::Summary => "Summary",
            PaneView::Source => "Source",
            PaneView::Steps => "Steps",
            PaneView::Lanes => "Lanes",
            PaneView::Loops => "Loops",
            PaneView::Operands => "Operands",
            PaneView::Why => "Why",
        }
    }
}

/// Lines to look at.
pub(super) struct Pane {
    pub lines: Vec<Line<'static>>,
    /// By line: whether something differs there.
    marks: Vec<bool>,
    /// The line to begin at.
    pub start: usize,
    /// Lines at the top that stay in sight.
    pub head: usize,
}

impl Pane {
    fn new() -> Pane {
        Pane { lines: Vec::new(), marks: Vec::new(), start: 0, head: 0 }
    }

    /// A pane with one line of text.
    pub fn message(text: &str) -> Pane {
        let mut pane = Pane::new();
        pane.put(vec![text.to_owned().into()], false);
        pane
    }

    fn put(&mut self, spans: Vec<Span<'static>>, differs: bool) {
        self.lines.push(Line::from(spans));
        self.marks.push(differs);
    }

    /// Whether something differs in a line.
    pub fn differs(&self, line: usize) -> bool {
        self.marks.get(line).copied().unwrap_or(false)
    }

    /// A line's text.
    pub fn plain(&self, line: usize) -> String {
        self.lines.get(line).map_or(String::new(), |l| l.spans.iter().map(|s| &*s.content).collect())
    }

    /// All of its text.
    pub fn text(&self) -> String {
        (0..self.lines.len()).map(|i| self.plain(i).trim_end().to_owned() + "\n").collect()
    }

    /// Columns of its longest line.
    pub fn width(&self) -> usize {
        self.lines.iter().map(Line::width).max().unwrap_or(0)
    }

    /// What `view` shows of a row.
    pub fn of(subject: &mut Subject<'_>, row: ListRow, view: PaneView, color: bool) -> Pane {
        let ink = Palette { color };
        let report = subject.report;
        let (i, j) = match row {
            ListRow::Launch(i) if view == PaneView::Summary => return summary(report, i, None, color),
            // Of a launch, its first finding.
            ListRow::Launch(i) => (i, 0),
            ListRow::Finding(i, j) => (i, j),
        };
        let launch = &report.launches[i];
        let Some(finding) = launch.findings.get(j) else {
            return Pane::message("this launch has no finding");
        };
        match view {
            PaneView::Summary => summary(report, i, Some(j), color),
            PaneView::Source => source(subject, finding, ink),
            PaneView::Operands => {
                finding.operands.as_ref().map_or_else(|| Pane::message(NO_OPERANDS), |o| operands(o, ink))
            }
            PaneView::Why => why(finding, ink),
            PaneView::Steps | PaneView::Lanes | PaneView::Loops => match (subject.look)(i, j) {
                Ok(Some(look)) => match view {
                    PaneView::Steps => steps(&look, ink),
                    PaneView::Lanes => lanes(&look, launch, ink),
                    _ => loops(&look, ink),
                },
                Ok(None) => Pane::message("this recording level has no paths"),
                Err(e) => Pane::message(&clean(&e)),
            },
        }
    }
}

const NO_OPERANDS: &str = "operands were not recorded; `prlx compare` of launch files records them";

/// How things look.
#[derive(Clone, Copy)]
pub(super) struct Palette {
    pub color: bool,
}

impl Palette {
    fn of(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }
    pub fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }
    pub fn good(self) -> Style {
        self.of(Color::Green).add_modifier(Modifier::BOLD)
    }
    pub fn doubt(self) -> Style {
        self.of(Color::Yellow).add_modifier(Modifier::BOLD)
    }
    pub fn faint(self) -> Style {
        self.of(Color::DarkGray)
    }
    fn a(self) -> Style {
        self.of(Color::Blue)
    }
    fn b(self) -> Style {
        self.of(Color::Magenta)
    }
    fn place(self) -> Style {
        self.of(Color::Cyan)
    }
}

/// What the report says of one finding, or of a launch and all of its findings, as `prlx diff` prints it.
fn summary(report: &prlx_analyze::Report, i: usize, j: Option<usize>, color: bool) -> Pane {
    let mut one = report.clone();
    let mut launch = one.launches.swap_remove(i);
    if let Some(j) = j {
        launch.findings = vec![launch.findings.swap_remove(j)];
        launch.findings_total = 1;
    }
    one.launches = vec![launch];
    one.unpaired.clear();
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = text(&mut out, &one, &Layout { color: false, width: WIDE, cut: true });
    let ink = Palette { color };
    let mut pane = Pane::new();
    for line in String::from_utf8_lossy(&out).lines().skip_while(|l| !l.is_empty()).skip(1) {
        let bad = line.contains("<- ") || line.contains('#');
        let style = if bad { ink.bad() } else { Style::new() };
        pane.put(vec![Span::styled(line.to_owned(), style)], bad);
    }
    pane
}

fn source(subject: &Subject<'_>, f: &Finding, ink: Palette) -> Pane {
    let mut pane = Pane::new();
    let side = usize::from(f.site[0].is_none() && f.site[1].is_some());
    let Some(place) = f.location() else { return Pane::message("the source location is not known") };
    let mut shown = false;
    // B's line, where the other side is at another one of the same text.
    let other = f.site[1].as_ref().filter(|_| side == 0).and_then(|s| s.location.as_ref()).map(words::own);
    let own = words::own(place);
    let files: Vec<&str> = {
        let places = words::chain(place).chain(other);
        let mut all: Vec<&str> = Vec::new();
        for l in places {
            if !all.contains(&l.file.as_str()) {
                all.push(&l.file);
            }
        }
        // The user's own files come before those of libraries.
        all.sort_by_key(|file| is_library_file(file));
        all
    };
    for file in files {
        let Some(text) = subject.scene.sources[side].get(file) else { continue };
        shown = true;
        pane.put(vec![Span::styled(clean(file), Style::new().add_modifier(Modifier::BOLD))], false);
        for (n, line) in text.lines().enumerate() {
            let n = n as u32 + 1;
            let here = own.file == file && own.line == n;
            let inlined = words::chain(place).any(|l| l.file == file && l.line == n);
            let of_b = !here
                && other.is_some_and(|l| l.file == file && l.line == n)
                && subject.scene.sources[1].get(file) == Some(text);
            let input = f.slice.iter().find(|s| {
                let at = s.location.as_ref().map(words::own);
                s.same == Some(false) && at.is_some_and(|l| l.file == file && l.line == n)
            });
            let style = if here {
                ink.bad()
            } else if inlined {
                ink.doubt()
            } else {
                Style::new()
            };
            let mark = if here {
                ">"
            } else if of_b {
                "B"
            } else if inlined {
                "^"
            } else {
                " "
            };
            let mut spans = vec![
                Span::styled(format!("{n:>5} {mark} "), if here { ink.bad() } else { ink.faint() }),
                Span::styled(clean(line), style),
            ];
            if here {
                pane.start = pane.lines.len();
                spans.push(Span::styled(format!("   <- {}", words::sentence(f)), ink.bad()));
            }
            if let Some(s) = input
                && let [Some(a), Some(b)] = &s.shown
            {
                let name = s.argument.as_deref().unwrap_or(&s.text);
                spans.push(Span::styled(clean(&format!("   <- {name}: A {a}, B {b}")), ink.doubt()));
            }
            pane.put(spans, here || input.is_some());
        }
        pane.put(Vec::new(), false);
    }
    if !shown {
        return Pane::message(&format!("{}: the source text is not available", words::place(place)));
    }
    pane
}

/// How a step stands on each side.
fn steps(look: &PathView, ink: Palette) -> Pane {
    let told = |s: &AlignedStep, side: usize| -> (String, String) {
        let site = s.site[side].and_then(|i| look.sites[side].get(i as usize));
        let Some((site, value)) = site.zip(s.value[side]) else { return Default::default() };
        let place = site.location.as_ref().map(words::short).unwrap_or_default();
        (words::step_value(site.class, value), format!("{place} {}", instruction(site)))
    };
    let rows: Vec<_> = look
        .steps
        .iter()
        .map(|s| (words::iterations(look, s).join("·"), [told(s, 0), told(s, 1)], s.mark))
        .collect();
    let wide = |all: &mut dyn Iterator<Item = &String>, least: usize| {
        all.map(|t| t.chars().count()).max().unwrap_or(0).max(least)
    };
    let w = wide(&mut rows.iter().map(|r| &r.0), 5);
    let v = wide(&mut rows.iter().flat_map(|r| r.1.iter().map(|side| &side.0)), 5);
    let t = wide(&mut rows.iter().map(|r| &r.1[0].1), 8);
    let mut pane = Pane::new();
    pane.head = 1;
    let head = format!("{:>8}   {} {} {}   {} B", "step", pad("iter.", w), pad("A", v), pad("", t), " ");
    pane.put(vec![Span::styled(head, ink.faint())], false);
    if look.before > 0 {
        pane.put(
            vec![Span::styled(format!("{:>8}   {} earlier steps", "", number(look.before)), ink.faint())],
            false,
        );
    }
    for (i, (trips, [a, b], mark)) in rows.into_iter().enumerate() {
        let here = look.at == Some(i as u64);
        if here {
            pane.start = pane.lines.len();
        }
        let style = match mark {
            StepMatch::Same => Style::new(),
            StepMatch::Differs => ink.bad(),
            StepMatch::A => ink.a(),
            StepMatch::B => ink.b(),
        };
        let sign = match mark {
            StepMatch::Same => "=",
            StepMatch::Differs => "#",
            StepMatch::A => "<",
            StepMatch::B => ">",
        };
        let number = Span::styled(
            format!("{:>8} {} ", look.before + i as u64, if here { "▶" } else { " " }),
            if here { ink.bad() } else { ink.faint() },
        );
        let text =
            format!("{} {} {} {sign} {} {}", pad(&trips, w), pad(&a.0, v), pad(&a.1, t), pad(&b.0, v), b.1);
        pane.put(vec![number, Span::styled(text.trim_end().to_owned(), style)], mark != StepMatch::Same);
    }
    if look.after > 0 {
        pane.put(
            vec![Span::styled(format!("{:>8}   {} later steps", "", number(look.after)), ink.faint())],
            false,
        );
    }
    pane
}

fn instruction(site: &SiteInfo) -> String {
    clean(&site.text)
}

fn lanes(look: &PathView, launch: &LaunchReport, ink: Palette) -> Pane {
    let mut pane = Pane::new();
    pane.head = 1;
    let key = format!(
        "lane   diverges = same  # differs  < only in A  > only in B; {} lanes, {} per column",
        launch.warp_size,
        crate::format::count(look.per_cell, "step", "steps")
    );
    pane.put(vec![Span::styled(key, ink.faint())], false);
    for row in &look.lanes {
        if row.lane == look.lane {
            pane.start = pane.lines.len();
        }
        let parts = row.parts.map_or(String::new(), number);
        let mut spans = vec![
            Span::styled(format!("{:>4} ", row.lane), ink.faint()),
            Span::styled(format!("{parts:>9} "), ink.bad()),
        ];
        let mut chars = row.cells.chars().peekable();
        while let Some(c) = chars.next() {
            let (sign, style) = match c {
                '#' => ('#', ink.bad()),
                'a' => ('<', ink.a()),
                'b' => ('>', ink.b()),
                _ => ('=', ink.faint()),
            };
            let mut run = String::from(sign);
            while chars.next_if_eq(&c).is_some() {
                run.push(sign);
            }
            spans.push(Span::styled(run, style));
        }
        pane.put(spans, row.parts.is_some());
    }
    pane
}

fn loops(look: &PathView, ink: Palette) -> Pane {
    let name = |n: &Scope| format!("{}{}", "  ".repeat(n.depth as usize), words::nest(n));
    let mut pane = Pane::new();
    if look.nest.is_empty() {
        return Pane::message("this lane runs no loop and calls no function");
    }
    pane.head = 1;
    let wide = look.nest.iter().map(|n| name(n).chars().count()).max().unwrap_or(0);
    let head = format!(
        "{} {:>21} {:>21} {:>21} {:>9}",
        pad("", wide),
        "entered A, B",
        "iterations A, B",
        "visits A, B",
        "differ"
    );
    pane.put(vec![Span::styled(head, ink.faint())], false);
    for n in &look.nest {
        let both = |v: [u64; 2]| format!("{:>10} {:>10}", number(v[0]), number(v[1]));
        let trips = if n.looping { both(n.trips) } else { " ".repeat(21) };
        let text = format!(
            "{} {} {trips} {} {:>9}",
            pad(&name(n), wide),
            both(n.entered),
            both(n.visits),
            number(n.differ)
        );
        let differs = n.differ > 0;
        pane.put(vec![Span::styled(text, if differs { ink.bad() } else { Style::new() })], differs);
    }
    pane
}

fn operands(o: &Operands, ink: Palette) -> Pane {
    let mut pane = Pane::new();
    pane.head = 1;
    let cell =
        |c: &prlx_analyze::report::OperandCell, side: usize| clean(c.shown[side].as_deref().unwrap_or("-"));
    let columns: Vec<(usize, usize)> = (0..o.columns.len()).flat_map(|c| [(c, 0), (c, 1)]).collect();
    let name =
        |&(c, side): &(usize, usize)| format!("{} {}", ["A", "B"][side], clean(&o.columns[c].name[side]));
    let wide: Vec<usize> = columns
        .iter()
        .map(|at| {
            let cells =
                o.rows.iter().filter_map(|r| r.cells.get(at.0)).map(|c| cell(c, at.1).chars().count());
            cells.max().unwrap_or(0).max(name(at).chars().count())
        })
        .collect();
    let head: Vec<String> = columns.iter().zip(&wide).map(|(at, w)| pad(&name(at), *w)).collect();
    let types: Vec<_> = o.columns.iter().map(|c| c.ty.name()).collect();
    pane.put(
        vec![Span::styled(format!("lane      {}   {}", head.join("   "), types.join(", ")), ink.faint())],
        false,
    );
    for r in &o.rows {
        let cells: Vec<String> = columns
            .iter()
            .zip(&wide)
            .map(|(at, w)| pad(&r.cells.get(at.0).map_or(String::new(), |c| cell(c, at.1)), *w))
            .collect();
        let text = format!(
            "{:>4}      {}{}",
            r.lane,
            cells.join("   "),
            if r.differs { "   <- differs" } else { "" }
        );
        if r.differs && !pane.marks.contains(&true) {
            pane.start = pane.lines.len();
        }
        pane.put(vec![Span::styled(text, if r.differs { ink.bad() } else { Style::new() })], r.differs);
    }
    pane
}

fn why(f: &Finding, ink: Palette) -> Pane {
    if f.slice.is_empty() {
        return Pane::message("the origin of the value is not known");
    }
    let mut pane = Pane::new();
    let lines: Vec<String> = f
        .slice
        .iter()
        .enumerate()
        .map(|(i, n)| format!("{}{}", lead(&f.slice, i, f.slice.len()), clean(&n.text)))
        .collect();
    let wide = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    for (n, line) in f.slice.iter().zip(lines) {
        let name = n.argument.as_ref().map(|a| format!("{}: ", clean(a))).unwrap_or_default();
        let place = n.location.as_ref().map(words::short).unwrap_or_default();
        let (text, style) = match (n.same, &n.shown) {
            (Some(true), [Some(v), _]) => (format!("{name}{} on both sides", clean(v)), Style::new()),
            (Some(false), [Some(a), Some(b)]) => {
                let first = if n.first { "  <- the first input that differs" } else { "" };
                (format!("{name}A {}, B {}{first}", clean(a), clean(b)), ink.bad())
            }
            _ => (name.trim_end_matches(": ").to_owned(), Style::new()),
        };
        let spans = vec![
            Span::raw(pad(&line, wide) + "  "),
            Span::styled(pad(&place, 24), ink.place()),
            Span::styled(text, style),
        ];
        pane.put(spans, n.same == Some(false));
    }
    pane
}
