//! The viewer, key by key, on a terminal that is a file: `tests/cases/tui/NAME.txt`. `BLESS=1` writes them.

use crate::golden::check;
use crate::toy::{compare, flipped, flipped_in_library, operands};
use prlx_analyze::view::{PathViewOptions, ViewModel, path_view};
use prlx_analyze::{Report, attach_operands, operand_window};
use prlx_present::tui::{Action, App, Subject};
use prlx_trace::Trace;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// Recordings, what comparing them gives, and its sources.
struct Case {
    traces: [Trace; 2],
    report: Report,
    scene: ViewModel,
}

fn case() -> Case {
    let (a, b, mut report) = flipped();
    let [wa, wb] = [0, 1].map(|side| operand_window(&report.launches[0].findings[0], side).unwrap());
    attach_operands(&mut report, &operands(&a, wa, 0.75), &operands(&b, wb, 0.7)).unwrap();
    with_scene(a, b, report)
}

fn with_scene(a: Trace, b: Trace, report: Report) -> Case {
    let mut scene = ViewModel::default();
    scene.add([&a, &b], &report, 0, 100, &PathViewOptions::default()).unwrap();
    scene.path_views.clear();
    Case { traces: [a, b], report, scene }
}

impl Case {
    fn app(&self) -> App<'_> {
        let [a, b] = &self.traces;
        let looker = move |i: usize, j: usize| {
            let launch = &self.report.launches[i];
            path_view([a, b], launch, &launch.findings[j], &PathViewOptions::default())
                .map_err(|e| e.to_string())
        };
        App::new(Subject { report: &self.report, scene: &self.scene, look: Box::new(looker) }, true)
    }
}

fn press(app: &mut App<'_>, keys: &str) -> Action {
    keys.chars().fold(Action::Continue, |_, c| {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{1b}' => KeyCode::Esc,
            '↓' => KeyCode::Down,
            c => KeyCode::Char(c),
        };
        app.key(KeyEvent::new(code, KeyModifiers::NONE))
    })
}

fn screen(app: &mut App<'_>, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    (0..height)
        .map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn every_view() {
    let case = case();
    let mut app = case.app();
    check("tui", "first.txt", &screen(&mut app, 130, 32));
    for (key, name) in
        [("2", "source"), ("3", "steps"), ("4", "lanes"), ("5", "loops"), ("6", "operands"), ("7", "why")]
    {
        press(&mut app, key);
        check("tui", &format!("{name}.txt"), &screen(&mut app, 130, 32));
    }
    press(&mut app, "?");
    check("tui", "help.txt", &screen(&mut app, 130, 32));
}

/// The line that the cursor is on, by copying it.
fn line(app: &mut App<'_>) -> String {
    match press(app, "y") {
        Action::Copy(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_source_begins_at_the_users_own_line() {
    let (a, b, report) = flipped_in_library();
    let case = with_scene(a, b, report);
    let mut app = case.app();
    press(&mut app, "2");
    let shown = screen(&mut app, 130, 40);
    let own = shown.find("9 > } while").expect("the own line is marked");
    assert!(own < shown.find("2 ^ ").expect("the library's line is marked"), "{shown}");
}

#[test]
fn the_steps_begin_where_it_parts() {
    let case = case();
    let mut app = case.app();
    press(&mut app, "3");
    screen(&mut app, 100, 20);
    assert!(line(&mut app).contains("▶") && line(&mut app).contains("# false"), "{}", line(&mut app));
    // What only one side has comes next, and round again.
    press(&mut app, "n");
    assert!(line(&mut app).ends_with("<"), "{}", line(&mut app));
    press(&mut app, "n");
    assert!(line(&mut app).contains("> true"), "{}", line(&mut app));
    press(&mut app, "n");
    assert!(line(&mut app).contains("▶"));
    press(&mut app, "NN");
    assert!(line(&mut app).ends_with("<"));
}

#[test]
fn searching_and_filtering() {
    let case = case();
    let mut app = case.app();
    press(&mut app, "3");
    screen(&mut app, 100, 20);
    press(&mut app, "/ST.GLOBAL\n");
    let first = line(&mut app);
    assert!(first.contains("st.global"));
    press(&mut app, "n");
    assert!(line(&mut app).contains("st.global") && line(&mut app) != first);
    press(&mut app, "/nowhere\n");
    assert!(screen(&mut app, 100, 20).contains("no line contains `nowhere`"));
    press(&mut app, "\u{1b}\u{1b}f");
    press(&mut app, "branch beats\n");
    assert!(screen(&mut app, 100, 20).contains("1 Branch"));
    press(&mut app, "f x\n");
    let none = screen(&mut app, 100, 20);
    assert!(none.contains("nothing matches the filter") && !none.contains("1 Branch"), "{none}");
    press(&mut app, "f\u{1b}");
    assert!(screen(&mut app, 100, 20).contains("1 Branch"));
}

#[test]
fn state_survives_sizes() {
    let case = case();
    let mut app = case.app();
    press(&mut app, "3");
    screen(&mut app, 130, 40);
    press(&mut app, "↓↓");
    let here = line(&mut app);
    for (w, h) in [(130, 40), (60, 12), (3, 3), (1, 1), (300, 90), (89, 24)] {
        let shown = screen(&mut app, w, h);
        assert_eq!(line(&mut app), here, "{w} x {h}");
        if w >= 300 {
            assert!(shown.contains(here.trim_end()), "{w} x {h}: {shown}");
        }
    }
}

#[test]
fn the_mouse() {
    let case = case();
    let mut app = case.app();
    let shown = screen(&mut app, 130, 32);
    let at = |what: &str| {
        let (y, line) = shown.lines().enumerate().find(|(_, l)| l.contains(what)).unwrap();
        let x = line[..line.find(what).unwrap()].chars().count();
        (x as u16, y as u16)
    };
    let event = |kind, (column, row)| MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
    app.mouse(event(MouseEventKind::Down(MouseButton::Left), at("4 Lanes")));
    assert!(screen(&mut app, 130, 32).contains("  26        27 =="));
    let before = line(&mut app);
    app.mouse(event(MouseEventKind::ScrollDown, (100, 10)));
    screen(&mut app, 130, 32);
    assert_ne!(line(&mut app), before);
    app.mouse(event(MouseEventKind::Down(MouseButton::Left), at("differs find_beats launch")));
    assert!(line(&mut app).starts_with("differs find_beats"));
}

#[test]
fn leaving_and_copying() {
    let case = case();
    let mut app = case.app();
    screen(&mut app, 100, 20);
    assert_eq!(press(&mut app, "q"), Action::Quit);
    assert_eq!(app.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Action::Quit);
    press(&mut app, "4");
    let Action::Copy(all) = press(&mut app, "Y") else { panic!("nothing was copied") };
    assert_eq!(all.lines().count(), 33);
    assert!(all.contains("#<>"));
}

#[test]
fn equal_runs_and_nothing_at_all() {
    let (a, _, _) = flipped();
    let case = with_scene(a.clone(), a.clone(), compare(&a, &a));
    let mut app = case.app();
    assert!(screen(&mut app, 100, 24).contains("no difference, and everything was compared"));
    press(&mut app, "3");
    assert!(screen(&mut app, 100, 24).contains("this launch has no finding"));
    let empty = Case {
        traces: Default::default(),
        report: Report::new(Default::default()),
        scene: ViewModel::default(),
    };
    let mut app = empty.app();
    for keys in ["", "3", "n", "y", "Y", "]", "/x\n"] {
        press(&mut app, keys);
        screen(&mut app, 80, 20);
    }
}

#[test]
fn texts_of_traces_do_not_reach_the_terminal() {
    let (mut a, mut b, _) = flipped();
    for t in [&mut a, &mut b] {
        let m = &mut t.modules[0];
        m.functions[0].name = "kern\u{1b}[2Jel".into();
        m.files[0].path = "a\u{7}b.cu".into();
        m.files[0].text = Some("\u{1b}[31mone\ntwo\u{202e}\n".repeat(9));
        m.sites.iter_mut().for_each(|s| s.text = "setp\u{1b}[0m".into());
    }
    let report = compare(&a, &b);
    let case = with_scene(a, b, report);
    let mut app = case.app();
    for key in ["1", "2", "3", "4", "5", "6", "7"] {
        press(&mut app, key);
        let shown = screen(&mut app, 160, 60);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "view {key}");
        let Action::Copy(text) = press(&mut app, "Y") else { panic!() };
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "view {key}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// No key, click or size breaks it.
    #[test]
    fn anything_may_be_pressed(
        events in prop::collection::vec((0u8..12, any::<char>(), 0u16..140, 0u16..60), 1..60)
    ) {
        let case = case();
        let mut app = case.app();
        for (what, c, x, y) in events {
            let keys = "jkhlgGnNyY[]1234567/f?\t\n \u{1b}";
            match what {
                0..=5 => {
                    let key = keys.chars().nth(usize::from(x) % keys.chars().count()).unwrap();
                    press(&mut app, &key.to_string());
                }
                6 => { press(&mut app, &c.to_string()); }
                7 => { app.key(KeyEvent::new(KeyCode::PageDown, KeyModifiers::NONE)); }
                8 => { app.key(KeyEvent::new(KeyCode::End, KeyModifiers::NONE)); }
                9 | 10 => {
                    let kind = match what {
                        9 => MouseEventKind::Down(MouseButton::Left),
                        _ => MouseEventKind::ScrollDown,
                    };
                    app.mouse(MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE });
                }
                _ => { screen(&mut app, x.max(1), y.max(1)); }
            }
        }
        screen(&mut app, 100, 30);
    }
}
