//! Looks at pages and at the terminal viewer as people do, in a browser and in a terminal, and makes pictures
//! for the docs.
//!
//! It checks the pages of a comparison, of a timeline and of every probe tool: each page's script runs under
//! its own content security policy. It checks the viewer: it starts, keeps its state when the terminal is
//! resized, and quits. Pictures have the size of the tracked ones. `--keep` replaces the tracked pictures. It
//! needs Chromium's headless shell and tmux, which it installs with apt.

mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::{root, setup};

const BROWSER: &str = "chromium-headless-shell";
/// The name of a separate tmux server.
const SERVER: &str = "prlx-pictures";
/// Columns and rows of the terminal.
const SIZE: (u32, u32) = (132, 34);
/// A kernel with a producer and consumers, for the timeline.
const PIPELINE: &str = "tests/kernels/cuda/gemm_tma/launch.toml";
const EXAMPLE: [&str; 2] = ["examples/threshold/good.toml", "examples/threshold/bad.toml"];

/// Makes all pictures; `--keep` puts them into `docs/pictures`.
pub fn run(args: &[String]) -> Result<()> {
    setup::programs(&[(BROWSER, "--version", BROWSER), ("tmux", "-V", "tmux")], &["fonts-dejavu-core"])?;
    crate::built()?;
    let out = root().join("target/pictures");
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut pictures = vec![page(&out)?, timeline(&out)?, viewer(&out)?];
    pictures.extend(tools::pictures(&out.join("tools"))?);
    let kept = root().join("docs/pictures");
    for picture in pictures {
        let kept = kept.join(picture.strip_prefix(&out)?);
        if args.iter().any(|a| a == "--keep") {
            fs::create_dir_all(kept.parent().context("a picture lies in a folder")?)?;
            fs::copy(&picture, &kept)?;
        }
        let (new, old) = (size(&picture)?, size(&kept)?);
        ensure!(new == old, "{} has {new:?} pixels, the tracked one {old:?}: use --keep", picture.display());
    }
    Ok(())
}

/// Makes the picture of a comparison's page.
fn page(out: &Path) -> Result<PathBuf> {
    let html = out.join("report.html");
    let ended = prlx()?.arg("compare").args(EXAMPLE).arg("--html").arg(&html).current_dir(root()).output()?;
    ensure!(
        ended.status.code() == Some(1),
        "the example did not differ: {}",
        String::from_utf8_lossy(&ended.stderr)
    );
    ready(&html)?;
    shoot(&html, &out.join("report.png"), 1300, 1330, 20_000)
}

/// Makes the picture of a kernel's timeline.
fn timeline(out: &Path) -> Result<PathBuf> {
    let html = out.join("timeline.html");
    let ended =
        prlx()?.args(["profile", "--auto", PIPELINE, "--html"]).arg(&html).current_dir(root()).output()?;
    ensure!(ended.status.success(), "no timeline: {}", String::from_utf8_lossy(&ended.stderr));
    let dom = ready(&html)?;
    let drawn = dom
        .split("<canvas")
        .skip(1)
        .any(|c| c.split('>').next().is_some_and(|c| c.contains("style=\"height: ")));
    ensure!(drawn, "the page drew nothing");
    shoot(&html, &out.join("timeline.png"), 1300, 900, 20_000)
}

/// Returns a page's document after its script has finished.
fn ready(page: &Path) -> Result<String> {
    let dom = browser(page, &["--dump-dom"])?;
    let dom = String::from_utf8_lossy(&dom.stdout).into_owned();
    ensure!(dom.contains("data-ready=\"yes\""), "{}: the script did not finish", page.display());
    Ok(dom)
}

/// Makes the picture of the terminal viewer, in tmux.
fn viewer(out: &Path) -> Result<PathBuf> {
    let _ = tmux(&["kill-server"]);
    let binary = prlx()?.get_program().to_string_lossy().into_owned();
    let command = format!("{binary} compare {} --tui", EXAMPLE.join(" "));
    let (w, h) = (SIZE.0.to_string(), SIZE.1.to_string());
    let folder = root().to_string_lossy().into_owned();
    tmux(&[
        "new-session",
        "-d",
        "-x",
        &w,
        "-y",
        &h,
        "-c",
        &folder,
        "env",
        "-u",
        "NO_COLOR",
        "sh",
        "-c",
        &command,
    ])?;
    let shown = || -> Result<PathBuf> {
        wait("Findings")?;
        tmux(&["send-keys", "3"])?;
        wait("▶")?;
        // Smaller, and back: what is selected stays.
        tmux(&["resize-window", "-x", "70", "-y", "20"])?;
        wait("▶")?;
        tmux(&["resize-window", "-x", &w, "-y", &h])?;
        wait("┐┌ 1 Summary")?;
        wait("▶")?;
        let screen = tmux(&["capture-pane", "-e", "-p"])?;
        let html = out.join("viewer.html");
        fs::write(&html, terminal(&screen))?;
        let picture = shoot(&html, &out.join("viewer.png"), 1080, 600, 20_000)?;
        tmux(&["send-keys", "q"])?;
        let begun = Instant::now();
        while tmux(&["list-sessions"]).is_ok() {
            ensure!(begun.elapsed() < Duration::from_secs(20), "the viewer does not quit");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(picture)
    };
    let shown = shown();
    let _ = tmux(&["kill-server"]);
    shown
}

fn prlx() -> Result<Command> {
    let binary = crate::readme::target_dir().join("debug/prlx");
    ensure!(binary.is_file(), "{} is not there", binary.display());
    Ok(Command::new(binary))
}

/// Runs a tmux command and returns its output.
fn tmux(args: &[&str]) -> Result<String> {
    let done = Command::new("tmux").args(["-L", SERVER]).args(args).output().context("cannot run tmux")?;
    if !done.status.success() {
        bail!("tmux {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Waits until the terminal shows something.
fn wait(what: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        let screen = tmux(&["capture-pane", "-p"])?;
        if screen.contains(what) {
            return Ok(());
        }
        ensure!(begun.elapsed() < Duration::from_secs(60), "the terminal does not show `{what}`:\n{screen}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn browser(page: &Path, args: &[&str]) -> Result<Output> {
    // Root has no sandbox; the page is our own.
    let fixed = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"];
    let url = format!("file://{}", page.display());
    let done =
        Command::new(BROWSER).args(fixed).args(args).arg(url).output().context("cannot run the browser")?;
    ensure!(done.status.success(), "the browser failed: {}", String::from_utf8_lossy(&done.stderr));
    Ok(done)
}

/// Makes a picture of a page. A picture of at most `least` bytes is empty, and an error.
fn shoot(page: &Path, picture: &Path, width: u32, height: u32, least: u64) -> Result<PathBuf> {
    let _ = fs::remove_file(picture);
    let (size, to) =
        (format!("--window-size={width},{height}"), format!("--screenshot={}", picture.display()));
    browser(page, &[&size, &to])?;
    let bytes = fs::metadata(picture).with_context(|| format!("no {}", picture.display()))?.len();
    ensure!(bytes > least, "{} has {bytes} bytes: it is empty", picture.display());
    Ok(picture.to_owned())
}

/// Reads width and height of a PNG (PNG specification, 11.2.2).
fn size(picture: &Path) -> Result<[u32; 2]> {
    let bytes = fs::read(picture).with_context(|| format!("cannot read {}", picture.display()))?;
    let at = |i: usize| Some(u32::from_be_bytes(bytes.get(i..i + 4)?.try_into().ok()?));
    let size = bytes.starts_with(b"\x89PNG").then(|| Some([at(16)?, at(20)?])).flatten();
    size.with_context(|| format!("{} is no PNG", picture.display()))
}

/// Converts a tmux screen with colours (ECMA-48, SGR) to a page.
fn terminal(screen: &str) -> String {
    let mut out = String::from(
        "<!doctype html><meta charset=utf-8><style>body{margin:12px;background:#15181d}\
         pre{font:13px/17px 'DejaVu Sans Mono',monospace;color:#dfe3e8;margin:0}</style><pre><span>",
    );
    let mut ink = Ink::default();
    for (i, part) in screen.split('\x1b').enumerate() {
        let mut text = part;
        if i > 0
            && let Some((codes, rest)) = part.strip_prefix('[').and_then(|p| p.split_once('m'))
        {
            ink.change(codes);
            out += &format!("</span><span style=\"{}\">", ink.css());
            text = rest;
        }
        out += &text.replace('&', "&amp;").replace('<', "&lt;");
    }
    out + "</span></pre>"
}

/// The current text attributes of a terminal.
#[derive(Default)]
struct Ink {
    bold: bool,
    underlined: bool,
    reversed: bool,
    color: Option<usize>,
}

impl Ink {
    fn change(&mut self, codes: &str) {
        let mut codes = codes.split(';').map(|c| c.parse::<usize>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Ink::default(),
                1 => self.bold = true,
                4 => self.underlined = true,
                7 => self.reversed = true,
                22 => self.bold = false,
                24 => self.underlined = false,
                27 => self.reversed = false,
                30..=37 => self.color = Some(code - 30),
                90..=97 => self.color = Some(code - 82),
                // A colour by its number: `38;5;N`.
                38 => self.color = codes.nth(1),
                39 => self.color = None,
                _ => {}
            }
        }
    }

    fn css(&self) -> String {
        const COLORS: [&str; 8] =
            ["#15181d", "#ff6b70", "#4ac26b", "#d9a400", "#6cb0ff", "#d58cff", "#4cc9d0", "#dfe3e8"];
        let color = match self.color {
            Some(8) => "#8a94a0",
            Some(n) => COLORS[n % 8],
            None => "#dfe3e8",
        };
        let mut out = if self.reversed {
            format!("background:{color};color:#15181d;")
        } else {
            format!("color:{color};")
        };
        if self.bold {
            out += "font-weight:700;";
        }
        if self.underlined {
            out += "text-decoration:underline;";
        }
        out
    }
}
