//! One finding as a card of the page.

use prlx_analyze::report::{Finding, LaunchReport, Operands};
use prlx_analyze::view::{AlignedStep, PathView, StepMatch, ViewModel};

use super::{map, source};
use crate::format::html::{el, esc, pairs};
use crate::format::{number, plain_name};
use crate::words::lead;
use crate::words::{self, Fact};

pub(super) fn card(scene: &ViewModel, at: (usize, usize), l: &LaunchReport, f: &Finding) -> String {
    let mut out = facts(l, f);
    out += &source::panels(scene, f);
    if let Some(look) = scene.path_views.get(&at) {
        out += &part("Lanes over time", &map::lanes(look), true);
        let title = format!("Both sides, step by step: lane {}", look.lane);
        out += &part(&title, &steps(look), true);
        if !look.nest.is_empty() {
            out += &part("Loops and calls", &nest(look), true);
        }
    }
    if let Some(o) = &f.operands {
        out += &part("Operands of every lane", &operands(o), true);
    }
    if f.slice.len() > 1 {
        out += &part("Why: where the value comes from", &slice(f), true);
    }
    let warps = map::warps(l, f);
    if !warps.is_empty() {
        out += &part("Warps of the grid", &warps, true);
    }
    let place = f.location().map(words::place).unwrap_or_default();
    let first = el("b", "bad", format!("{} {}", at.1 + 1, f.kind.name()));
    let head = format!("{first} {} {}", esc(&words::sentence(f)), el("span", "place", esc(&place)));
    // What comes first is open.
    let open = if at.1 < 3 { " open" } else { "" };
    format!("<details class=\"card\"{open}><summary>{head}</summary>{out}</details>\n")
}

fn part(title: &str, inside: &str, open: bool) -> String {
    let open = if open { " open" } else { "" };
    format!("<details class=\"part\"{open}><summary>{}</summary>{inside}</details>", esc(title))
}

fn facts(l: &LaunchReport, f: &Finding) -> String {
    let mut rows = Vec::new();
    let mut put = |name: &str, text: String| rows.push((name.to_string(), text));
    if let Some(site) = f.shown() {
        put(words::noun(site.class), el("code", "", esc(&site.text)));
        if !site.function.is_empty() {
            put("in", esc(&plain_name(&site.function)));
        }
    }
    put("at", esc(&words::warp_shown(f, l.warp_size)));
    for (name, fact) in words::facts(f) {
        put(
            name,
            match fact {
                Fact::Text(text) => esc(&text),
                Fact::Sides([a, b]) => format!("{} {}", el("span", "a", esc(&a)), el("span", "b", esc(&b))),
            },
        );
    }
    if let Some(then) = words::consequence(f) {
        put("then", esc(&then));
    }
    if f.roots == 0 {
        put("", words::ALREADY_DIVERGED.into());
    }
    pairs(rows)
}

fn operands(o: &Operands) -> String {
    let head: String = o
        .columns
        .iter()
        .map(|c| {
            let names = [("a", &c.name[0]), ("b", &c.name[1])];
            names
                .map(|(side, name)| el("th", side, format!("{} {}", side.to_uppercase(), esc(name))))
                .concat()
        })
        .collect();
    let types: Vec<_> = o.columns.iter().map(|c| c.ty.name()).collect();
    let rows: String = o
        .rows
        .iter()
        .map(|r| {
            let cells: String = r
                .cells
                .iter()
                .map(|c| {
                    let class = if c.differs { "bad" } else { "" };
                    [0, 1].map(|side| el("td", class, esc(c.shown[side].as_deref().unwrap_or("–")))).concat()
                })
                .collect();
            el("tr", if r.differs { "differs" } else { "" }, format!("<th>lane {}</th>{cells}", r.lane))
        })
        .collect();
    let table =
        el("table", "list", format!("<thead><tr><th>{}</th>{head}</tr></thead>{rows}", types.join(", ")));
    el("div", "scroll", table)
}

fn slice(f: &Finding) -> String {
    let rows: String = f
        .slice
        .iter()
        .enumerate()
        .map(|(i, n)| {
            let name = n.argument.as_ref().map(|a| format!("{a}: ")).unwrap_or_default();
            let value = match (n.same, &n.shown) {
                (Some(true), [Some(v), _]) => esc(&format!("{name}{v} on both sides")),
                (Some(false), [Some(a), Some(b)]) => {
                    let first = if n.first { " ← the first input that differs" } else { "" };
                    el("span", "bad", esc(&format!("{name}A {a}, B {b}{first}")))
                }
                _ => esc(name.trim_end_matches(": ")),
            };
            let code = el("td", "tree", esc(&format!("{}{}", lead(&f.slice, i, f.slice.len()), n.text)));
            let place = n.location.as_ref().map(words::short).unwrap_or_default();
            el("tr", "", code + &el("td", "place", esc(&place)) + &el("td", "", value))
        })
        .collect();
    el("div", "scroll", el("table", "list", rows))
}

/// Both sides' steps, one line each.
fn steps(look: &PathView) -> String {
    let row = |(i, s): (usize, &AlignedStep)| {
        let class = match s.mark {
            StepMatch::Same => "same",
            StepMatch::Differs => "differs",
            StepMatch::A => "only-a",
            StepMatch::B => "only-b",
        };
        let here = if look.at == Some(i as u64) { " here" } else { "" };
        let cell = |side: usize| -> String {
            let site = s.site[side].and_then(|i| look.sites[side].get(i as usize));
            let Some((site, value)) = site.zip(s.value[side]) else { return "<td></td><td></td>".into() };
            let place = site.location.as_ref().map(words::short).unwrap_or_default();
            let name = format!("{} {}", el("span", "place", esc(&place)), el("code", "", esc(&site.text)));
            el("td", "", words::step_value(site.class, value)) + &el("td", "", name)
        };
        format!(
            "<tr class=\"{class}{here}\"><th>{}</th><td>{}</td>{}{}</tr>",
            look.before + i as u64,
            words::iterations(look, s).join(" · "),
            cell(0),
            cell(1)
        )
    };
    let rows: String = look.steps.iter().enumerate().map(row).collect();
    let gap = |n: u64, what: &str| {
        if n > 0 {
            format!("<tr class=\"gap\"><td colspan=\"6\">{} {what}</td></tr>", number(n))
        } else {
            String::new()
        }
    };
    let head = "<thead><tr><th>step</th><th>iterations</th><th class=\"a\" colspan=\"2\">A</th><th class=\"b\" colspan=\"2\">B</th></tr></thead>";
    let table =
        format!("{head}{}{rows}{}", gap(look.before, "earlier steps"), gap(look.after, "later steps"));
    el("div", "scroll tall", el("table", "list steps", table))
}

/// The loops that the lane went through, as a tree.
fn nest(look: &PathView) -> String {
    let rows: String = look
        .nest
        .iter()
        .map(|n| {
            let sides = |v: [u64; 2]| {
                let class = if v[0] == v[1] { "" } else { "bad" };
                [el("td", "num", number(v[0])), el("td", &format!("num {class}"), number(v[1]))].concat()
            };
            let trips = if n.looping { sides(n.trips) } else { "<td></td><td></td>".into() };
            let name = format!(
                "<td class=\"tree\" style=\"padding-left:{}em\">{}</td>",
                0.4 + 1.4 * n.depth as f64,
                esc(&words::nest(n))
            );
            let class = if n.differ > 0 { "differs" } else { "" };
            el(
                "tr",
                class,
                name + &sides(n.entered) + &trips + &sides(n.visits) + &el("td", "num", number(n.differ)),
            )
        })
        .collect();
    let head = "<thead><tr><th></th><th colspan=\"2\">entered A, B</th><th colspan=\"2\">iterations A, B</th>\
                <th colspan=\"2\">visits A, B</th><th>differ</th></tr></thead>";
    el("div", "scroll", el("table", "list", format!("{head}{rows}")))
}
