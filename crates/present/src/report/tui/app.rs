//! The state of the viewer, and how keys and clicks change it.

use prlx_analyze::report::Verdict;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use super::pane::{Pane, PaneView};
use super::subject::{ListRow, Subject};
use crate::words;

/// What the event loop does after an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Draw, and wait for the next event.
    Continue,
    /// Copy this text to the clipboard.
    Copy(String),
    /// Leave the viewer and restore the terminal.
    Quit,
}

/// The part of the screen that receives keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Focus {
    List,
    View,
}

/// What keys mean at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Navigate,
    Search,
    Filter,
    Help,
}

/// The viewer's state.
pub struct App<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) color: bool,
    /// Rows that the filter leaves.
    pub(super) rows: Vec<ListRow>,
    pub(super) selected: usize,
    pub(super) view: PaneView,
    pub(super) focus: Focus,
    pub(super) mode: Mode,
    pub(super) filter: String,
    pub(super) search: String,
    /// What there is to say on the last line, until the next key.
    pub(super) message: String,
    /// The current line of the view, and how far it is moved to the left.
    pub(super) line: usize,
    pub(super) left: usize,
    /// The first lines that are in sight: of the list, of the view.
    pub(super) top: [usize; 2],
    pane: Option<(ListRow, PaneView, Pane)>,
    /// Where things were drawn last, for the mouse: list, view, and the views' names.
    pub(super) areas: (Rect, Rect, Vec<(Rect, PaneView)>),
}

impl<'a> App<'a> {
    /// Creates the viewer with the first finding selected.
    pub fn new(subject: Subject<'a>, color: bool) -> App<'a> {
        let mut app = App {
            subject,
            color,
            rows: Vec::new(),
            selected: 0,
            view: PaneView::Summary,
            focus: Focus::List,
            mode: Mode::Navigate,
            filter: String::new(),
            search: String::new(),
            message: String::new(),
            line: 0,
            left: 0,
            top: [0; 2],
            pane: None,
            areas: Default::default(),
        };
        app.list();
        app.selected = app.rows.iter().position(|r| matches!(r, ListRow::Finding(..))).unwrap_or(0);
        app
    }

    /// The line of the list for a row.
    pub(super) fn title(&self, row: ListRow) -> String {
        let r = self.subject.report;
        match row {
            ListRow::Launch(i) => {
                let l = &r.launches[i];
                format!("{} {} {}", l.verdict.name(), words::kernel(l), words::launch(&r.processes, l))
            }
            ListRow::Finding(i, j) => {
                let f = &r.launches[i].findings[j];
                let place = f.location().map(words::short).unwrap_or_default();
                format!("{} {} {place} {}", j + 1, f.kind.name(), words::sentence(f))
            }
        }
    }

    /// Lists the rows that contain all words of the filter. A launch stays if any of its findings does.
    fn list(&mut self) {
        let before = self.rows.get(self.selected).copied();
        let wanted: Vec<String> = self.filter.to_lowercase().split_whitespace().map(String::from).collect();
        let fits = |title: &str| wanted.iter().all(|w| title.contains(w.as_str()));
        let mut rows = Vec::new();
        for (i, l) in self.subject.report.launches.iter().enumerate() {
            let launch = self.title(ListRow::Launch(i)).to_lowercase();
            let of =
                |j: &usize| fits(&format!("{launch} {}", self.title(ListRow::Finding(i, *j)).to_lowercase()));
            let findings: Vec<usize> = (0..l.findings.len()).filter(of).collect();
            if fits(&launch) || !findings.is_empty() {
                rows.push(ListRow::Launch(i));
                rows.extend(findings.into_iter().map(|j| ListRow::Finding(i, j)));
            }
        }
        self.selected = before.and_then(|b| rows.iter().position(|r| *r == b)).unwrap_or(0);
        self.rows = rows;
    }

    /// What the view shows of what is selected.
    pub(super) fn pane(&mut self) -> &Pane {
        let row = self.rows.get(self.selected).copied();
        let key = (row.unwrap_or(ListRow::Launch(usize::MAX)), self.view);
        if self.pane.as_ref().is_none_or(|(r, v, _)| (*r, *v) != key) {
            let pane = match row {
                Some(row) => Pane::of(&mut self.subject, row, self.view, self.color),
                None => Pane::message("nothing matches the filter"),
            };
            self.line = pane.start;
            self.left = 0;
            self.top[1] = pane.start.saturating_sub(8);
            self.pane = Some((key.0, key.1, pane));
        }
        match &self.pane {
            Some((.., pane)) => pane,
            None => unreachable!("it was just made"),
        }
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent) -> Action {
        self.message.clear();
        if key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Action::Quit;
        }
        match self.mode {
            Mode::Help => self.mode = Mode::Navigate,
            Mode::Search | Mode::Filter => self.edit(key.code),
            Mode::Navigate => return self.navigate(key.code),
        }
        Action::Continue
    }

    fn edit(&mut self, code: KeyCode) {
        let filters = self.mode == Mode::Filter;
        let text = if filters { &mut self.filter } else { &mut self.search };
        match code {
            KeyCode::Char(c) => text.push(c),
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Esc => {
                text.clear();
                self.mode = Mode::Navigate;
            }
            KeyCode::Enter => self.mode = Mode::Navigate,
            _ => {}
        }
        if filters {
            self.list();
        } else if code == KeyCode::Enter {
            self.focus = Focus::View;
            self.jump(true);
        }
    }

    fn navigate(&mut self, code: KeyCode) -> Action {
        match code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Esc if self.focus == Focus::View => self.focus = Focus::List,
            KeyCode::Esc => self.search.clear(),
            KeyCode::Char('?') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Char('/') => {
                self.search.clear();
                self.mode = Mode::Search;
            }
            KeyCode::Char('f') => self.mode = Mode::Filter,
            KeyCode::Tab | KeyCode::BackTab => {
                self.focus = if self.focus == Focus::List { Focus::View } else { Focus::List };
            }
            KeyCode::Enter => self.focus = Focus::View,
            KeyCode::Char(c @ '1'..='7') => self.show(PaneView::ALL[c as usize - '1' as usize]),
            KeyCode::Char(']') => self.select(1),
            KeyCode::Char('[') => self.select(-1),
            KeyCode::Char('n') => self.jump(true),
            KeyCode::Char('N') => self.jump(false),
            KeyCode::Char('y') => {
                let text = self.line_text();
                self.message = "copied the line".into();
                return Action::Copy(text);
            }
            KeyCode::Char('Y') => {
                let text = self.pane().text();
                self.message = "copied the view".into();
                return Action::Copy(text);
            }
            KeyCode::Char('h') | KeyCode::Left => self.left = self.left.saturating_sub(8),
            KeyCode::Char('l') | KeyCode::Right => self.left = (self.left + 8).min(self.pane().width()),
            KeyCode::Char('j') | KeyCode::Down => self.step(1),
            KeyCode::Char('k') | KeyCode::Up => self.step(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.step(self.page()),
            KeyCode::PageUp => self.step(-self.page()),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX),
            _ => {}
        }
        Action::Continue
    }

    /// Handles a click or the mouse wheel.
    pub fn mouse(&mut self, mouse: MouseEvent) -> Action {
        let at = |area: &Rect| area.contains((mouse.column, mouse.row).into());
        let (list, view) = (self.areas.0, self.areas.1);
        let wheel = match mouse.kind {
            MouseEventKind::ScrollDown => 3,
            MouseEventKind::ScrollUp => -3,
            MouseEventKind::Down(MouseButton::Left) => 0,
            _ => return Action::Continue,
        };
        self.message.clear();
        if self.mode == Mode::Help {
            self.mode = Mode::Navigate;
            return Action::Continue;
        }
        let tab = self.areas.2.iter().find(|(area, _)| at(area)).map(|(_, view)| *view);
        if let Some(tab) = tab.filter(|_| wheel == 0) {
            self.show(tab);
        }
        for (area, focus, top) in [(list, Focus::List, self.top[0]), (view, Focus::View, self.top[1])] {
            if !at(&area) {
                continue;
            }
            self.focus = focus;
            if wheel != 0 {
                self.step(wheel);
            } else {
                let line = top + usize::from(mouse.row - area.y);
                match focus {
                    Focus::List if line < self.rows.len() => self.selected = line,
                    Focus::View if line < self.pane().lines.len() => self.line = line,
                    _ => {}
                }
            }
        }
        Action::Continue
    }

    /// Another view of what is selected.
    fn show(&mut self, view: PaneView) {
        self.view = view;
        self.focus = Focus::View;
    }

    fn page(&self) -> isize {
        let area = if self.focus == Focus::List { self.areas.0 } else { self.areas.1 };
        isize::from(i16::try_from(area.height).unwrap_or(i16::MAX)).saturating_sub(1).max(1)
    }

    /// Moves what has the focus.
    fn step(&mut self, by: isize) {
        match self.focus {
            Focus::List => self.selected = moved(self.selected, by, self.rows.len()),
            Focus::View => {
                let lines = self.pane().lines.len();
                self.line = moved(self.line, by, lines);
            }
        }
    }

    /// The next finding, or the one before.
    fn select(&mut self, by: isize) {
        let mut at = self.selected;
        loop {
            let next = moved(at, by, self.rows.len());
            if next == at {
                self.message = if by > 0 { "no finding after this" } else { "no finding before this" }.into();
                return;
            }
            at = next;
            if matches!(self.rows[at], ListRow::Finding(..)) {
                self.selected = at;
                return;
            }
        }
    }

    /// The next line that has what was searched for; without that, the next that differs.
    fn jump(&mut self, on: bool) {
        let search = self.search.to_lowercase();
        let line = self.line;
        let pane = self.pane();
        let hit = |i: &usize| {
            if search.is_empty() { pane.differs(*i) } else { pane.plain(*i).to_lowercase().contains(&search) }
        };
        let all = pane.lines.len();
        // Once round, the line itself last.
        let mut order = (1..=all).map(|d| if on { (line + d) % all } else { (line + all - d % all) % all });
        match order.find(|i| hit(i)) {
            Some(i) => {
                if i == line || on != (i > line) {
                    self.message = "search wrapped around".into();
                }
                self.line = i;
            }
            None if search.is_empty() => self.message = "no difference in this view".into(),
            None => self.message = format!("no line contains `{}`", self.search),
        }
    }

    fn line_text(&mut self) -> String {
        match self.focus {
            Focus::List => self.rows.get(self.selected).map_or(String::new(), |r| self.title(*r)),
            Focus::View => {
                let line = self.line;
                self.pane().plain(line)
            }
        }
    }

    /// The verdict, for the first line.
    pub(super) fn verdict(&self) -> Verdict {
        self.subject.report.verdict
    }
}

/// `at` moved by `by` among `of`.
fn moved(at: usize, by: isize, of: usize) -> usize {
    at.saturating_add_signed(by).min(of.saturating_sub(1))
}
