//! A profile as text: the bottlenecks first, then the tables that they follow from.

use std::io::{self, Write};

use prlx_timeline::{Analysis, Axis, Calibration, Timeline, WaitKind};
use prlx_trace::Picos;

use super::host;
use crate::format::Style;
use crate::format::time;
use crate::format::{Grid, percent};
use crate::format::{Ink, clean, clip, count, number, wrap};

/// Maximum width of a name in a column.
const NAME: usize = 40;

/// Writes the whole profile, with at most `top` rows of each table.
///
/// # Errors
/// Those of `out`.
pub fn profile(
    out: &mut impl Write,
    timeline: &Timeline,
    a: &Analysis,
    top: usize,
    style: &Style,
) -> io::Result<()> {
    let page = ProfileText { timeline, a, top, style: *style };
    page.head(out)?;
    page.stops(out)?;
    page.causes(out)?;
    page.regions(out)?;
    page.waits(out)?;
    page.path(out)?;
    page.overlaps(out)?;
    page.loops(out)?;
    page.tails(out)?;
    page.host(out)
}

/// Writes the heading and the host's part, which belong to all kernels.
///
/// # Errors
/// Those of `out`.
pub fn profile_head(
    out: &mut impl Write,
    timeline: &Timeline,
    a: &Analysis,
    top: usize,
    style: &Style,
) -> io::Result<()> {
    let page = ProfileText { timeline, a, top, style: *style };
    page.head(out)?;
    page.host(out)
}

/// The cost of recording, one line for each kernel that it changes, at most `top` of them.
pub(super) fn calibrations(t: &Timeline, top: usize) -> Vec<String> {
    let several = t.calibrations.len() > 1;
    let mut all = t.calibrations.iter().filter(|c| !several || changed(c));
    let said = |c: &Calibration| {
        let said = calibration(c)?;
        Some(if several && !c.kernel.is_empty() { format!("{}: {said}", name(&c.kernel)) } else { said })
    };
    let mut lines: Vec<String> = all.by_ref().filter_map(said).take(top).collect();
    let left = all.count();
    if left > 0 {
        let more = count(left as u64, "more kernel uses", "more kernels use");
        lines.push(format!("{more} more time or resources with markers recorded"));
    }
    lines
}

/// Whether recording the markers changes a kernel's time or resources.
fn changed(c: &Calibration) -> bool {
    let other = |of: Option<[u32; 2]>| of.is_some_and(|[bare, marked]| bare != marked);
    c.empty.is_some()
        || c.dilation.is_some()
        || [c.registers, c.local, c.resident, c.room].into_iter().any(other)
}

fn calibration(c: &Calibration) -> Option<String> {
    let pair =
        |name: &str, of: Option<[u32; 2]>, unit: &str| of.map(|[a, b]| format!("{name} {a} -> {b}{unit}"));
    let said: Vec<String> = [
        c.empty.map(|cycles| format!("an empty region measures {}", count(cycles.0, "cycle", "cycles"))),
        c.dilation.map(|d| format!("markers slow the kernel to {d:.2}x")),
        pair("registers", c.registers, ""),
        pair("local memory", c.local, " bytes"),
        pair("resident threads per SM", c.resident, ""),
        pair("threads per SM that the registers allow", c.room, ""),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What a profile of the CPU device says of its times.
pub(crate) const SIMULATED: &str = "the CPU device counts instructions, and a GPU takes other times";

struct ProfileText<'a> {
    timeline: &'a Timeline,
    a: &'a Analysis,
    top: usize,
    style: Style,
}

/// A column: its heading, and whether it is aligned to the right.
type Column = (&'static str, bool);

fn name(text: &str) -> String {
    clip(&clean(text), NAME)
}

impl ProfileText<'_> {
    fn head(&self, out: &mut impl Write) -> io::Result<()> {
        let (t, a) = (self.timeline, self.a);
        let kernels: std::collections::BTreeSet<&str> =
            t.launches.iter().map(|l| l.kernel.as_str()).filter(|k| !k.is_empty()).collect();
        let kernels: Vec<String> = kernels.into_iter().map(name).collect();
        let what = if kernels.is_empty() { "timeline".to_owned() } else { kernels.join(", ") };
        let said = [
            count(t.launches.len() as u64, "launch", "launches"),
            count(a.tails.iter().map(|t| t.ctas).sum(), "CTA", "CTAs"),
            count(a.tracks, "track", "tracks"),
            count(a.spans, "span", "spans"),
            count(a.moments, "moment", "moments"),
        ];
        let said: Vec<String> = said.into_iter().filter(|s| !s.starts_with("0 ")).collect();
        writeln!(out, "{}  {}, {}", self.style.ink(Ink::Strong, &what), time(a.time), said.join(", "))?;
        let Axis { simulated, mhz, single, residual, between, tick } = t.axis;
        let axis = match (mhz > 0.0, tick) {
            (true, _) if simulated => format!("simulated clock of {mhz:.0} MHz: {SIMULATED}"),
            (true, _) => {
                let [single, residual, between] = [single, residual, between].map(time);
                let mut said = format!("SM clocks at {mhz:.0} MHz; times are accurate within {single}");
                if residual != single {
                    said += &format!(", between two SMs within {residual}");
                }
                if between != residual {
                    said += &format!(", far from anchors within {between}");
                }
                said
            }
            (false, Picos(0)) => "times come from the global timer".to_owned(),
            (false, tick) => format!("times come from the global timer, which ticks every {}", time(tick)),
        };
        writeln!(out, "{}", self.style.ink(Ink::Faint, &axis))?;
        for said in calibrations(t, self.top) {
            writeln!(out, "{}", self.style.ink(Ink::Faint, &said))?;
        }
        for n in &t.notes {
            writeln!(
                out,
                "{}",
                self.style.ink(Ink::Warning, &clean(&format!("{} {}", number(n.count), n.text)))
            )?;
        }
        Ok(())
    }

    fn host(&self, out: &mut impl Write) -> io::Result<()> {
        let Some(found) = &self.a.host else { return Ok(()) };
        self.title(out, "Host", "launch calls and device activity")?;
        host::summary(out, found, &self.style)?;
        let columns = [
            ("before launch", true),
            ("kernel", false),
            ("device", true),
            ("idle", true),
            ("host waited", true),
            ("host busy", true),
            ("recording", true),
            ("launch delay", true),
            ("others", true),
        ];
        let part = |lasts: Picos| if lasts == Picos(0) { String::new() } else { time(lasts) };
        let rows = found.gaps.iter().map(|g| {
            let beside = if g.beside == 0 { String::new() } else { number(g.beside) };
            let parts = [g.why.waited, g.why.host, g.why.recording, g.why.launched].map(part);
            let head = vec![g.launch.to_string(), name(&g.kernel), g.device.to_string(), time(g.time)];
            [head, parts.to_vec(), vec![beside]].concat()
        });
        let more = "others: launches that were not recorded and may have run in the gap";
        self.table(out, ["Gaps", more], &columns, rows.collect())
    }

    fn stops(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = [
            ("tracks", true),
            ("role", false),
            ("in", false),
            ("words", false),
            ("last marker", false),
            ("where", false),
            ("ago", true),
            ("first", false),
        ];
        let several = self.timeline.launches.len() > 1;
        let rows = self.a.stops.iter().map(|s| {
            let inside = if s.inside.is_empty() { "no region".to_owned() } else { s.inside.join(" > ") };
            let more = if s.same_words { "" } else { ", …" };
            let words = match s.words {
                [0, 0] if s.same_words => String::new(),
                [a, 0] => format!("{a:#x}{more}"),
                [a, b] => format!("{a:#x}, {b:#x}{more}"),
            };
            let (cta, warp) = s.first;
            let launch = if several { format!("launch {} ", s.launch) } else { String::new() };
            let warp = warp.map(|w| format!(" warp {w}")).unwrap_or_default();
            let ago = if s.ago[0] == s.ago[1] { time(s.ago[0]) } else { s.ago.map(time).join(" to ") };
            vec![
                number(s.tracks),
                s.role.clone(),
                name(&inside),
                words,
                name(s.last.as_deref().unwrap_or("none")),
                s.place
                    .as_ref()
                    .map(|(file, line)| clip(&clean(&format!("{file}:{line}")), NAME))
                    .unwrap_or_default(),
                ago,
                format!("{launch}CTA {cta}{warp}"),
            ]
        });
        self.table(
            out,
            [
                "Where it stopped",
                "tracks that did not finish; ago: from their last record to the last record of all tracks",
            ],
            &columns,
            rows.collect(),
        )
    }

    fn causes(&self, out: &mut impl Write) -> io::Result<()> {
        if self.a.causes.is_empty() {
            return Ok(());
        }
        self.title(out, "Bottlenecks", "")?;
        for cause in &self.a.causes {
            let head = format!("  {:>6}  {:<13}  ", percent(cause.share), cause.kind);
            let lines = wrap(&clean(&cause.text), self.style.width.saturating_sub(head.len()).max(40));
            for (i, line) in lines.iter().enumerate() {
                let head = if i == 0 { head.clone() } else { " ".repeat(head.chars().count()) };
                writeln!(out, "{head}{line}")?;
            }
        }
        Ok(())
    }

    fn title(&self, out: &mut impl Write, title: &str, more: &str) -> io::Result<()> {
        let more =
            if more.is_empty() { String::new() } else { format!("  {}", self.style.ink(Ink::Faint, more)) };
        writeln!(out, "\n{}{more}", self.style.ink(Ink::Strong, title))
    }

    /// A table under its title; nothing if it has no rows.
    fn table(
        &self,
        out: &mut impl Write,
        title: [&str; 2],
        columns: &[Column],
        rows: Vec<Vec<String>>,
    ) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.title(out, title[0], title[1])?;
        let more = rows.len().saturating_sub(self.top);
        let mut grid = Grid { right: columns.iter().map(|c| c.1).collect(), rows: Vec::new() };
        grid.rows.push((Ink::Faint, columns.iter().map(|c| c.0.to_owned()).collect()));
        grid.rows.extend(rows.into_iter().take(self.top).map(|row| (Ink::Plain, row)));
        grid.print_whole(out, self.style)?;
        if more > 0 {
            writeln!(
                out,
                "  {}",
                self.style.ink(Ink::Faint, &format!("and {} (-n)", count(more as u64, "row", "rows")))
            )?;
        }
        Ok(())
    }

    fn regions(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = [
            ("region", false),
            ("role", false),
            ("visits", true),
            ("total", true),
            ("own", true),
            ("median", true),
            ("p95", true),
            ("max", true),
            ("worst CTA", true),
            ("worst SM", true),
        ];
        let rows = self.a.regions.iter().map(|r| {
            let visits = r.visits.map(|v| [v[1], v[2], v[3]].map(time)).unwrap_or_default();
            let worst = |i: usize| match &r.over[i] {
                o if o.count < 2 => String::new(),
                o => format!("{}: {:.2}x", o.worst, o.max.as_f64() / o.median.max(Picos(1)).as_f64()),
            };
            let mut row = vec![name(&r.name), r.role.clone(), number(r.count), time(r.total), time(r.own)];
            row.extend(visits);
            row.extend([worst(1), worst(2)]);
            row
        });
        self.table(
            out,
            ["Regions", "worst CTA, worst SM: its total time over the median total"],
            &columns,
            rows.collect(),
        )
    }

    fn waits(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = [
            ("wait", false),
            ("role", false),
            ("side", false),
            ("waits", true),
            ("total", true),
            ("share", true),
            ("late", true),
            ("after", true),
            ("waited for", false),
        ];
        let rows = self.a.waits.iter().map(|w| {
            let side = match w.side {
                WaitKind::Starved => "starved",
                WaitKind::Blocked => "blocked",
                WaitKind::Barrier => "barrier",
                WaitKind::Other => "",
            };
            let by = w.by.first().map(|b| {
                let doing =
                    if b.region.is_empty() { String::new() } else { format!(" in {}", name(&b.region)) };
                let part = b.late.as_f64() / w.late.max(Picos(1)).as_f64();
                format!(
                    "{}{}{doing} {} (worst {}, CTA {}, iteration {})",
                    b.role,
                    if b.peer { " of another CTA" } else { "" },
                    percent(part),
                    time(b.worst.0),
                    b.worst.1,
                    b.worst.2
                )
            });
            vec![
                name(&w.name),
                w.role.clone(),
                side.into(),
                number(w.count),
                time(w.total),
                percent(w.share),
                time(w.late),
                time(w.after),
                by.unwrap_or_default(),
            ]
        });
        self.table(
            out,
            ["Waits", "late: until the last arrival; after: from then until the wait ends"],
            &columns,
            rows.collect(),
        )
    }

    fn path(&self, out: &mut impl Write) -> io::Result<()> {
        let columns =
            [("region", false), ("role", false), ("exposed", true), ("share", true), ("10 % faster", true)];
        let rows = self.a.path.iter().map(|p| {
            let gain = p.what_if.map(|w| format!("{:+.1} %", 0.0 - w)).unwrap_or_default();
            vec![name(&p.name), p.role.clone(), time(p.time), percent(p.share), gain]
        });
        self.table(
            out,
            ["Critical path", "10 % faster: change of the kernel time if the region took 10 % less time"],
            &columns,
            rows.collect(),
        )
    }

    fn overlaps(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = [("region", false), ("time", true), ("alone", true), ("overlapped", true)];
        let rows = self.a.overlaps.iter().filter(|o| o.time > Picos(0)).map(|o| {
            let beside = if o.name == "nothing" {
                String::new()
            } else {
                percent((o.time - o.alone).as_f64() / o.time.as_f64())
            };
            vec![name(&o.name), time(o.time), time(o.alone), beside]
        });
        self.table(out, ["Overlap", "within a CTA, summed over all CTAs"], &columns, rows.collect())
    }

    fn loops(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = [
            ("loop over", false),
            ("role", false),
            ("iterations", true),
            ("interval", true),
            ("p95", true),
            ("fill", true),
            ("drain", true),
        ];
        let rows = self.a.loops.iter().map(|l| {
            let times = [l.interval[0], l.interval[1], l.fill, l.drain].map(time);
            [vec![name(&l.name), l.role.clone(), number(l.trips)], times.to_vec()].concat()
        });
        self.table(out, ["Pipelines", ""], &columns, rows.collect())?;
        let columns = [
            ("stage", false),
            ("role", false),
            ("side", false),
            ("word", true),
            ("waits", true),
            ("total", true),
            ("median", true),
        ];
        // One stage is the wait itself.
        let several = |name: &str, role: &str| {
            self.a.stages.iter().filter(|s| s.name == name && s.role == role).count() > 1
        };
        let rows = self.a.stages.iter().filter(|s| several(&s.name, &s.role)).map(|s| {
            let side = if s.side == WaitKind::Starved {
                "starved"
            } else if s.side == WaitKind::Blocked {
                "blocked"
            } else {
                ""
            };
            vec![
                name(&s.name),
                s.role.clone(),
                side.into(),
                format!("{:#x}", s.word),
                number(s.count),
                time(s.total),
                time(s.median),
            ]
        });
        self.table(out, ["Stages", ""], &columns, rows.collect())
    }

    fn tails(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = [
            ("launch", true),
            ("time", true),
            ("CTAs", true),
            ("SMs", true),
            ("waves", true),
            ("CTA median", true),
            ("longest", true),
            ("idle SM-time", true),
            ("tail", true),
            ("busiest SM", true),
        ];
        let rows = self.a.tails.iter().map(|t| {
            let known = |text: String| if t.sms > 0 { text } else { String::new() };
            vec![
                t.launch.to_string(),
                time(t.time),
                number(t.ctas),
                known(number(t.sms)),
                known(format!("{:.2}", t.waves)),
                time(t.cta[0]),
                time(t.cta[1]),
                known(percent(t.idle.as_f64() / (t.time.0 * t.sms).max(1) as f64)),
                known(time(t.tail)),
                known(format!("{:.2}x", t.imbalance)),
            ]
        });
        self.table(out, ["Launches", ""], &columns, rows.collect())?;
        for t in &self.a.tails {
            for (cta, sm, time_) in t.slow_ctas.iter().take(self.top) {
                let on = sm.map(|sm| format!(" on SM {sm}")).unwrap_or_default();
                let ratio = time_.as_f64() / t.cta[0].max(Picos(1)).as_f64();
                writeln!(
                    out,
                    "  {}",
                    self.style.ink(
                        Ink::Warning,
                        &format!("CTA {cta}{on} takes {}, {ratio:.2}x the median", time(*time_))
                    )
                )?;
            }
            for (sm, ratio) in t.slow_sms.iter().take(self.top) {
                writeln!(
                    out,
                    "  {}",
                    self.style.ink(Ink::Warning, &format!("CTAs of SM {sm} take {ratio:.2}x the median"))
                )?;
            }
        }
        Ok(())
    }
}
