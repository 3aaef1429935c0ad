//! One line on the terminal that shows what is being done.
//!
//! A thread of its own draws the line, so that it moves during a long call. Work of under 150 ms draws
//! nothing.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// Time between two drawings.
const INTERVAL: Duration = Duration::from_millis(150);
/// Maximum length of the line, in characters.
const WIDTH: usize = 78;

/// The activities in progress, and the line that shows them.
pub struct Progress {
    line: Option<Arc<Mutex<Line>>>,
}

struct Line {
    /// Outer activities first.
    running: Vec<Running>,
    /// The line is on the terminal.
    drawn: bool,
    frame: usize,
}

struct Running {
    activity: u64,
    what: String,
    done: u64,
    steps: Option<u64>,
    since: Instant,
}

impl Progress {
    /// Draws nothing unless `enabled`.
    pub fn new(enabled: bool) -> Progress {
        let line = enabled.then(|| {
            let line = Arc::new(Mutex::new(Line { running: Vec::new(), drawn: false, frame: 0 }));
            let weak = Arc::downgrade(&line);
            std::thread::spawn(move || draw_until_dropped(&weak));
            line
        });
        Progress { line }
    }

    /// Whether there is a terminal to draw on.
    pub fn enabled(&self) -> bool {
        self.line.is_some()
    }

    /// An activity begins.
    pub fn begin(&self, activity: u64, what: &str, steps: Option<u64>) {
        if let Some(mut line) = self.lock() {
            let what = what.to_owned();
            line.running.push(Running { activity, what, done: 0, steps, since: Instant::now() });
        }
    }

    /// An activity has made a step.
    pub fn step(&self, activity: u64) {
        if let Some(mut line) = self.lock()
            && let Some(running) = line.running.iter_mut().find(|r| r.activity == activity)
        {
            running.done += 1;
        }
    }

    /// An activity has ended.
    pub fn end(&self, activity: u64) {
        if let Some(mut line) = self.lock() {
            line.running.retain(|r| r.activity != activity);
            if line.running.is_empty() {
                line.clear();
            }
        }
    }

    /// Prints something else with the line out of the way.
    pub fn hide(&self, print: impl FnOnce()) {
        let mut line = self.lock();
        if let Some(line) = &mut line {
            line.clear();
        }
        print();
    }

    fn lock(&self) -> Option<MutexGuard<'_, Line>> {
        self.line.as_ref().and_then(|line| line.lock().ok())
    }
}

fn draw_until_dropped(line: &Weak<Mutex<Line>>) {
    loop {
        std::thread::sleep(INTERVAL);
        let Some(line) = line.upgrade() else { return };
        if let Ok(mut line) = line.lock() {
            line.draw();
        }
    }
}

impl Line {
    fn draw(&mut self) {
        let Some(outer) = self.running.first().filter(|r| r.since.elapsed() >= INTERVAL) else { return };
        let mut text = outer.text();
        if let Some(inner) = self.running.last().filter(|r| r.activity != outer.activity) {
            text += &format!(": {}", inner.text());
        }
        let seconds = outer.since.elapsed().as_secs();
        let spinner = ['|', '/', '-', '\\'][self.frame % 4];
        self.frame += 1;
        let text = format!("{spinner} {seconds} s  {text}");
        let text: String = prlx_present::safe(&text).chars().take(WIDTH).collect();
        let _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
        self.drawn = true;
    }

    fn clear(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
            self.drawn = false;
        }
    }
}

impl Running {
    fn text(&self) -> String {
        match self.steps {
            Some(steps) => format!("{} {} of {steps}", self.what, self.done),
            None => self.what.clone(),
        }
    }
}
