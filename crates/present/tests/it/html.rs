//! The page: it says what the report says, is well-formed, and neither text from a trace nor the page itself
//! reaches out.

use crate::toy::{compare, explained, flipped, flipped_in_library, operands, run, toy};
use prlx_analyze::view::{PathViewOptions, ViewModel};
use prlx_analyze::{Report, attach_operands, operand_window};
use prlx_present::{html, read_json};
use prlx_trace::Trace;

fn page(a: &Trace, b: &Trace, r: &Report) -> String {
    let mut scene = ViewModel::default();
    scene.add([a, b], r, 0, 100, &PathViewOptions::default()).unwrap();
    let (mut out, mut again) = (Vec::new(), Vec::new());
    html(&mut out, r, &scene).unwrap();
    html(&mut again, r, &scene).unwrap();
    assert_eq!(out, again);
    String::from_utf8(out).unwrap()
}

/// The text between tags; every element is closed in its order.
fn text_of(page: &str) -> String {
    let (mut open, mut out, mut rest) = (Vec::new(), String::new(), page);
    while let Some(at) = rest.find('<') {
        out += &rest[..at];
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with(['!', '?']) || tag.ends_with('/') || ["meta", "input"].contains(&name) {
            continue;
        }
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "<{tag}> is no tag of ours");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed out of order");
            continue;
        }
        if ["script", "style"].contains(&name) {
            // Nothing in it is a tag.
            rest = &rest[rest.find(&format!("</{name}")).expect("closed")..];
        }
        open.push(name);
        out.push(' ');
    }
    assert!(open.is_empty(), "{open:?} stay open");
    out
}

/// The report that lies in the page.
fn report_of(page: &str) -> Report {
    let (_, json) = page.split_once("id=\"report\">").unwrap();
    read_json(json.split_once("</script>").unwrap().0.as_bytes()).unwrap()
}

#[test]
fn a_page_says_what_the_report_says() {
    let (a, b, mut r) = flipped();
    let [wa, wb] = [0, 1].map(|side| operand_window(&r.launches[0].findings[0], side).unwrap());
    attach_operands(&mut r, &operands(&a, wa, 0.75), &operands(&b, wb, 0.7)).unwrap();
    let page = page(&a, &b, &r);
    let text = text_of(&page);
    for want in [
        "differs",
        "find_beats: 5 of 512 threads take a different branch, first at beats.cu:2",
        "good.toml",
        "5 lanes in 2 warps: the condition differs",
        // Source: the marked line and what is said of it.
        "fabsf(sample) &gt; threshold) {",
        "branch: setp.gt.f32 %p1, %f5, %f2;",
        "inlined here",
        // Lanes, steps, loops, operands, why, warps, coverage.
        "lane 26, steps",
        "Both sides, step by step: lane 26",
        "loop at beats.cu:9",
        "0.75",
        "the first input that differs",
        "2 of 16 warps have this finding",
        "448 in identical warps",
    ] {
        assert!(text.contains(want), "`{want}` is missing in {text}");
    }
    let parts: Vec<_> = page.matches("<tr class=\"differs here\">").collect();
    assert_eq!(parts.len(), 1, "the step that differs is marked");
    assert_eq!(prlx_json(&report_of(&page)), prlx_json(&r));
}

#[test]
fn the_users_own_line_comes_before_that_of_a_library() {
    let (a, b, r) = flipped_in_library();
    let page = page(&a, &b, &r);
    let [own, library] = ["<h4>src/beats.cu", "<h4>include/cuda_fp16.hpp"].map(|h| page.find(h).unwrap());
    assert!(own < library);
    let note = |line: u32, text: &str, from: usize| {
        let row = page[from..].split_once(&format!("<th>{line}</th>")).unwrap().1;
        assert!(row.split_once("</tr>").unwrap().0.contains(text), "line {line}: {row}");
    };
    note(9, "branch: setp.gt.f32", own);
    note(2, "in library code", library);
    assert!(!page.contains("inlined here"));
}

fn prlx_json(r: &Report) -> String {
    let mut out = Vec::new();
    prlx_present::json(&mut out, r, prlx_present::Sides::default()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn texts_of_traces_stay_texts() {
    let evil = "</script><img src=x onerror=alert(1)>\u{1b}[31m'\"&<!--\u{202e}";
    let (mut a, mut b, _) = flipped();
    for t in [&mut a, &mut b] {
        let m = &mut t.modules[0];
        m.name = evil.into();
        m.functions[0].name = evil.into();
        m.files[0].path = format!("{evil}.cu");
        m.files[0].text =
            m.files[0].text.as_ref().map(|text| text.lines().map(|l| format!("{l}{evil}\n")).collect());
        m.sites.iter_mut().for_each(|s| s.text = evil.into());
        m.sites[1].slice.iter_mut().for_each(|n| n.text = evil.into());
        t.producer = evil.into();
    }
    let mut r = compare(&a, &b);
    r.names = [evil.into(), evil.into()];
    r.gaps = vec![evil.into()];
    let page = page(&a, &b, &r);
    assert!(!text_of(&page).contains("<"));
    let shown = page.split_once("<script").unwrap().0;
    assert!(!page.contains("<img") && !page.contains("<!--"));
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(report_of(&page).names, r.names);
}

#[test]
fn a_page_shows_outputs_and_causes() {
    let r = explained();
    let (toy, m) = toy();
    let a = run(&m, &toy, 2, |_, _, _| {});
    let page = page(&a, &a, &r);
    let text = text_of(&page);
    for says in [
        "f32[2,4]",
        "2 of 8 elements differ",
        "Cause: guard",
        "c[1,3]",
        "if (k &lt; K) &lt;tile&gt;",
        "more steps",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert_eq!(page.matches("1 element differs").count(), 2, "a cell for each differing element");
}

#[test]
fn a_page_needs_nothing_else() {
    let (a, b, r) = flipped();
    let page = page(&a, &b, &r);
    for out in ["http:", "https:", "src=", "url(", "@import", "<link"] {
        assert!(!page.contains(out), "`{out}` reaches out");
    }
    assert!(page.contains("default-src 'none'"));
}

/// Width and text of each frame, the widest first.
fn frames(picture: &str) -> Vec<(f64, String)> {
    let frame = |g: &str| {
        let width: f64 = g.split_once("width=\"").unwrap().1.split('"').next().unwrap().parse().unwrap();
        (width, g.split_once("<title>").unwrap().1.split('\n').next().unwrap().to_owned())
    };
    let mut all: Vec<_> = picture.split("<g>").skip(1).map(frame).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

#[test]
fn a_flame_graph_adds_up() {
    let (_, _, mut r) = flipped();
    let mut other = r.launches[0].findings[0].clone();
    other.count = 15;
    other.site[0].as_mut().unwrap().text = "</svg><script>".into();
    r.launches[0].findings.push(other);
    let mut out = Vec::new();
    prlx_present::flame(&mut out, &r).unwrap();
    let picture = String::from_utf8(out).unwrap();
    text_of(&picture);
    let frames = frames(&picture);
    let names: Vec<&str> = frames.iter().map(|f| f.1.as_str()).collect();
    assert_eq!(names[0], "all differences: 20 visits");
    assert!(names.contains(&"find_beats") && names.contains(&"take_beat beats.cu:2"), "{names:?}");
    // Five visits and fifteen, of twenty.
    let of = |name: &str| frames.iter().find(|f| f.1 == name).map(|f| f.0);
    assert_eq!(of("setp.gt.f32 %p1, %f5, %f2;"), Some(300.0));
    assert_eq!(of("&lt;/svg&gt;&lt;script&gt;"), Some(900.0));
    let mut none = Vec::new();
    prlx_present::flame(&mut none, &Report::new(Default::default())).unwrap();
    text_of(&String::from_utf8(none).unwrap());
}

#[test]
fn equal_runs_and_many_launches() {
    let (a, _, _) = flipped();
    let same = page(&a, &a, &compare(&a, &a));
    assert!(text_of(&same).contains("no difference, and everything was compared"));
    let (mut a, mut b, _) = flipped();
    for t in [&mut a, &mut b] {
        let one = t.launches[0].clone();
        t.launches = vec![one; 40];
    }
    let r = compare(&a, &b);
    let many = page(&a, &b, &r);
    let text = text_of(&many);
    assert!(text.contains("24 more launches that differ are listed in the table only"), "{text}");
    assert_eq!(many.matches("href=\"#launch-").count(), 16);
    assert_eq!(many.matches("<section id=\"launch-").count(), 16);
}
