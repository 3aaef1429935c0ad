//! Draws the state of the viewer into a frame.

use prlx_analyze::report::Verdict;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::app::{App, Focus, Mode};
use super::pane::{Palette, PaneView};
use super::subject::ListRow;
use crate::words;

const HELP: &[(&str, &str)] = &[
    ("up down, j k", "one line"),
    ("PgUp PgDn, space", "one page"),
    ("Home End, g G", "first line, last line"),
    ("left right, h l", "scroll sideways"),
    ("Tab, Enter, Esc", "switch between list and view"),
    ("1 to 7", "choose a view"),
    ("[ ]", "previous finding, next finding"),
    ("n N", "next, previous difference or search match"),
    ("/", "search in the view"),
    ("f", "filter the list by words; Esc clears the filter"),
    ("y Y", "copy the line, copy the view"),
    ("mouse", "click and wheel"),
    ("q", "quit"),
];

/// The keys in the last line: the longest text that fits is shown.
const FOOT: [&str; 3] = [
    " ? help  1-7 views  [ ] findings  n differs  / search  f filter  y copy  q quit",
    " ? help  1-7 views  [ ] findings  n differs  q quit",
    " ? help  q quit",
];

impl App<'_> {
    /// Draws the viewer.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let ink = Palette { color: self.color };
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)])
                .areas(frame.area());
        self.head(frame, head, ink);
        // A third for the list; below each other where there is no width.
        let narrow = body.width < 90;
        let list =
            Constraint::Length(if narrow { (body.height / 3).max(3) } else { (body.width / 3).min(56) });
        let layout = if narrow {
            Layout::vertical([list, Constraint::Min(3)])
        } else {
            Layout::horizontal([list, Constraint::Min(20)])
        };
        let [list, view] = layout.areas(body);
        self.draw_list(frame, list, ink);
        self.draw_view(frame, view, ink);
        self.foot(frame, foot, ink);
        if self.mode == Mode::Help {
            self.help(frame);
        }
    }

    fn head(&self, frame: &mut Frame<'_>, area: Rect, ink: Palette) {
        let style = match self.verdict() {
            Verdict::Same => ink.good(),
            Verdict::Differs => ink.bad(),
            Verdict::Unknown => ink.doubt(),
        };
        let line = Line::from(vec![
            Span::styled(format!(" {} ", self.verdict().name()), style),
            Span::raw(words::headline(self.subject.report)),
        ]);
        frame.render_widget(Paragraph::new(line), area);
    }

    fn block(&self, title: Line<'static>, focused: bool, ink: Palette) -> Block<'static> {
        let style = if focused { Style::new() } else { ink.faint() };
        Block::new().borders(Borders::ALL).border_style(style).title(title)
    }

    fn draw_list(&mut self, frame: &mut Frame<'_>, area: Rect, ink: Palette) {
        let title =
            if self.filter.is_empty() { " Findings ".into() } else { format!(" Findings: {} ", self.filter) };
        let block = self.block(title.into(), self.focus == Focus::List, ink);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        self.areas.0 = inner;
        self.top[0] = first_visible(self.top[0], self.selected, inner.height.into(), self.rows.len(), 0);
        let lines: Vec<Line<'_>> = self
            .rows
            .iter()
            .enumerate()
            .skip(self.top[0])
            .take(inner.height.into())
            .map(|(i, row)| {
                let indent = if matches!(row, ListRow::Finding(..)) { "  " } else { "" };
                let mut style = if let ListRow::Launch(_) = row {
                    Style::new().add_modifier(Modifier::BOLD)
                } else {
                    Style::new()
                };
                if i == self.selected {
                    style = style.add_modifier(Modifier::REVERSED);
                }
                let text = format!("{indent}{}", self.title(*row));
                Line::styled(crate::format::pad(&text, inner.width.into()), style)
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), inner);
    }

    fn draw_view(&mut self, frame: &mut Frame<'_>, area: Rect, ink: Palette) {
        let mut title = vec![Span::raw(" ")];
        let mut tabs = Vec::new();
        let mut x = area.x + 2;
        for (i, view) in PaneView::ALL.into_iter().enumerate() {
            let name = format!("{} {}", i + 1, view.name());
            let wide = name.chars().count() as u16;
            tabs.push((Rect { x, y: area.y, width: wide, height: 1 }, view));
            x += wide + 2;
            let style =
                if view == self.view { Style::new().add_modifier(Modifier::REVERSED) } else { ink.faint() };
            title.extend([Span::styled(name, style), Span::raw("  ")]);
        }
        let block = self.block(Line::from(title), self.focus == Focus::View, ink);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let (height, left, focused) = (usize::from(inner.height), self.left, self.focus == Focus::View);
        let (lines, head) = {
            let pane = self.pane();
            (pane.lines.len(), pane.head.min(height))
        };
        self.line = self.line.clamp(head.min(lines.saturating_sub(1)), lines.saturating_sub(1));
        self.top[1] = first_visible(self.top[1].max(head), self.line, height - head, lines, head);
        let (top, line, search) = (self.top[1], self.line, self.search.to_lowercase());
        let pane = self.pane();
        let shown = (0..head).chain(top..(top + height - head).min(lines));
        let text: Vec<Line<'static>> = shown
            .map(|i| {
                let mut l = pane.lines[i].clone();
                if !search.is_empty() && i >= head && pane.plain(i).to_lowercase().contains(&search) {
                    l = l.patch_style(Style::new().add_modifier(Modifier::UNDERLINED));
                }
                if focused && i == line && i >= head {
                    l = l.patch_style(Style::new().add_modifier(Modifier::REVERSED));
                }
                l
            })
            .collect();
        let left = u16::try_from(left).unwrap_or(u16::MAX);
        frame.render_widget(Paragraph::new(text).scroll((0, left)), inner);
        // What stays in sight is no line to click at.
        let under = Rect { y: inner.y + head as u16, height: inner.height - head as u16, ..inner };
        (self.areas.1, self.areas.2) = (under, tabs);
    }

    fn foot(&mut self, frame: &mut Frame<'_>, area: Rect, ink: Palette) {
        let place = {
            let (line, all) = (self.line + 1, self.pane().lines.len());
            format!(" {line}/{all} ")
        };
        let text = match self.mode {
            Mode::Search => format!(" /{}▏", self.search),
            Mode::Filter => format!(" filter: {}▏", self.filter),
            _ if !self.message.is_empty() => format!(" {}", self.message),
            _ => {
                let free = usize::from(area.width).saturating_sub(place.len());
                let fits = FOOT.iter().find(|text| text.len() <= free);
                fits.copied().unwrap_or_default().into()
            }
        };
        let [left, right] =
            Layout::horizontal([Constraint::Min(0), Constraint::Length(place.len() as u16)]).areas(area);
        frame.render_widget(Paragraph::new(Line::styled(text, ink.faint())), left);
        frame.render_widget(Paragraph::new(Line::styled(place, ink.faint())), right);
    }

    fn help(&self, frame: &mut Frame<'_>) {
        let all = frame.area();
        let (w, h) = (72.min(all.width), (HELP.len() as u16 + 2).min(all.height));
        let area = Rect { x: (all.width - w) / 2, y: (all.height - h) / 2, width: w, height: h };
        let lines: Vec<Line<'_>> =
            HELP.iter().map(|(key, what)| Line::from(format!(" {key:<18} {what}"))).collect();
        frame.render_widget(Clear, area);
        frame.render_widget(
            Paragraph::new(lines).block(Block::new().borders(Borders::ALL).title(" Keys ")),
            area,
        );
    }
}

/// The first line in sight, of `all` of which the first `head` are always: so that `line` is among `height`.
fn first_visible(top: usize, line: usize, height: usize, all: usize, head: usize) -> usize {
    let top = top.min(line).max((line + 1).saturating_sub(height));
    // No room is left empty below.
    top.min(all.saturating_sub(height)).max(head)
}
