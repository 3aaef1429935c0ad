//! Compiles the kernels of `tests/kernels`, `examples` and `bench/markers`, and runs their references.
//!
//! A kernel is a source file; `tests/kernels/README.md` describes its folder. From each source this task
//! makes PTX for every target of [`TARGETS`], from each `reference.py` the `.npy` files, and from all of them
//! the index and the record of how they were made. Tracked products are beside their source, all others below
//! `target/corpus`.
//!
//! `--check` writes nothing tracked: it compares the products and lists those that differ. It is skipped if
//! it passed on the same sources, products, flags and tools (`stamps`), unless `--all` follows. `cargo xtask
//! corpus WORD…` handles only folders whose path contains a word.

mod clean;
mod compile;
mod index;
mod launch;
mod reference;

use crate::setup::Tools;
use crate::stamps::{self, Inputs};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The architectures that every kernel is compiled for, unless its source says otherwise.
const TARGETS: &[&str] = &["sm_80", "sm_90a"];

/// The folder of kernels with one fault each.
const PLANTED: &str = "tests/cases/check";

/// The folder of kernels with markers whose overhead is measured.
const MARKERS: &str = "bench/markers";
/// The forms of each, with the macro that selects it: no markers, PRLX's markers, TVM's profiler.
const MARKED: [(&str, Option<&str>); 3] = [("bare", None), ("marked", Some("PRLX")), ("seed", Some("SEED"))];

/// Number of compilers that run at a time.
pub const JOBS: usize = 2;

/// The language of a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cuda,
    Triton,
}

impl Kind {
    /// The name of the language in the index.
    fn name(self) -> &'static str {
        match self {
            Kind::Cuda => "cuda",
            Kind::Triton => "triton",
        }
    }
}

/// One kernel source with its products.
#[derive(Clone)]
struct Source {
    /// Its folder, relative to the repository.
    dir: PathBuf,
    /// The name of the source file.
    file: String,
    kind: Kind,
    /// Flags from its `corpus: flags` line, in place of `-O3`.
    flags: Option<Vec<String>>,
    /// Whether it has launch files. Without them, it is only read and instrumented.
    launched: bool,
    products: Vec<Product>,
}

/// One PTX file to make.
#[derive(Clone)]
struct Product {
    arch: &'static str,
    /// A macro to define for this product.
    define: Option<&'static str>,
    /// Its path, relative to the repository.
    path: PathBuf,
    /// Whether the repository keeps it.
    kept: bool,
}

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let (check, words) = match args {
        [first, rest @ ..] if first == "--check" => (true, rest),
        _ => (false, args),
    };
    if check && words.is_empty() {
        let mut inputs = Inputs::new("corpus");
        INPUTS.iter().try_for_each(|path| inputs.path(Path::new(path)))?;
        // The findings beside planted faults are no inputs.
        for folder in list(Path::new(PLANTED))? {
            let mut files = list(&folder)?;
            files.retain(|f| f.extension().is_none_or(|e| e != "txt"));
            files.iter().try_for_each(|file| inputs.path(file))?;
        }
        return stamps::unless_passed("corpus", &inputs, || make(true, words));
    }
    make(check, if words.first().is_some_and(|w| w == "--all") { &words[1..] } else { words })
}

/// Inputs and tracked products of the corpus, but for those of [`PLANTED`].
const INPUTS: &[&str] = &[
    "tests/kernels",
    "examples",
    MARKERS,
    "include",
    "xtask/src/corpus",
    "xtask/src/corpus.rs",
    "xtask/py/check_launch.py",
    "xtask/py/reference.py",
    "xtask/py/triton_ptx.py",
];

/// Makes every product of the sources that `words` choose, or with `check` compares those that the repository
/// keeps.
fn make(check: bool, words: &[String]) -> Result<()> {
    crate::setup::run(&[])?;
    let tools = Tools::find()?;
    let all = discover()?;
    let meant = |s: &Source| {
        words.is_empty() || words.iter().any(|w| s.path().to_string_lossy().contains(w.as_str()))
    };
    let sources: Vec<Source> = all.iter().filter(|s| meant(s)).cloned().collect();
    let mut stale = compile::all(&tools, &sources, check)?;
    stale.extend(reference::all(&tools, &sources, check)?);
    stale.extend(index::write(&all, check)?);
    launch::check(&tools, &sources, check)?;
    if !stale.is_empty() {
        bail!("{} differ from what their sources produce:\n  {}", stale.len(), stale.join("\n  "));
    }
    Ok(())
}

impl Source {
    /// The source file, relative to the repository.
    fn path(&self) -> PathBuf {
        self.dir.join(&self.file)
    }

    /// Whether it is one of `examples`, where a PTX file has its source's name.
    fn is_example(&self) -> bool {
        self.dir.starts_with("examples")
    }

    /// Whether it has a planted fault, and is compiled with it (`NAME.bad.ptx`) and without
    /// (`NAME.good.ptx`).
    fn is_planted(&self) -> bool {
        self.dir.starts_with(PLANTED)
    }

    /// Whether it is one of `bench/markers`, of which there are several forms (`NAME.FORM.ptx`).
    fn has_forms(&self) -> bool {
        self.dir.starts_with(MARKERS)
    }

    /// Whether it is of the corpus, whose modules are listed.
    fn is_listed(&self) -> bool {
        !self.is_example() && !self.is_planted() && !self.has_forms()
    }

    /// Reads the `corpus:` lines of a source.
    fn read(dir: &Path, file: &str) -> Result<Option<Source>> {
        let path = dir.join(file);
        let text = fs::read_to_string(crate::root().join(&path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        let kind = if file.ends_with(".cu") { Kind::Cuda } else { Kind::Triton };
        if kind == Kind::Triton && !text.lines().any(|l| l.starts_with("BUILD = ")) {
            return Ok(None);
        }
        let mut source = Source {
            dir: dir.into(),
            file: file.into(),
            kind,
            flags: None,
            launched: true,
            products: Vec::new(),
        };
        let mut only = None;
        let mut keep = vec!["sm_80".to_owned()];
        for line in
            text.lines().filter_map(|l| l.trim_start_matches(['/', '#', ' ']).strip_prefix("corpus: "))
        {
            let mut words = line.split_whitespace().map(str::to_owned);
            match words.next().as_deref() {
                Some("flags") => source.flags = Some(words.collect()),
                Some("only") => only = words.next(),
                Some("no-launch") => source.launched = false,
                Some("keep") => keep.extend(words),
                other => bail!("{}: `corpus: {}` is unknown", path.display(), other.unwrap_or_default()),
            }
        }
        keep.extend(only.clone());
        if source.is_planted() || source.has_forms() {
            let arch = TARGETS.iter().find(|a| only.as_deref() == Some(a)).unwrap_or(&TARGETS[0]);
            let forms: &[_] =
                if source.has_forms() { &MARKED } else { &[("bad", None), ("good", Some("FIXED"))] };
            for &(name, define) in forms {
                let path = path.with_extension(format!("{name}.ptx"));
                source.products.push(Product { arch, define, path, kept: true });
            }
            return Ok(Some(source));
        }
        for &arch in TARGETS.iter().filter(|a| only.as_deref().is_none_or(|o| o == **a)) {
            let kept =
                keep.iter().any(|k| k == arch) && !(source.is_example() && arch != "sm_80" && only.is_none());
            let path = source.product_path(arch, kept);
            source.products.push(Product { arch, define: None, path, kept });
        }
        Ok(Some(source))
    }

    fn product_path(&self, arch: &str, kept: bool) -> PathBuf {
        let stem = self.file.rsplit_once('.').map_or(self.file.as_str(), |(stem, _)| stem);
        match (kept, self.is_example()) {
            (true, true) => self.dir.join(format!("{stem}.ptx")),
            (true, false) => self.dir.join(format!("{arch}.ptx")),
            (false, true) => Path::new("target/corpus").join(&self.dir).join(format!("{stem}.{arch}.ptx")),
            (false, false) => Path::new("target/corpus").join(&self.dir).join(format!("{arch}.ptx")),
        }
    }
}

/// All sources, in the order of their paths.
fn discover() -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut dirs = Vec::new();
    for parent in ["tests/kernels/cuda", "tests/kernels/triton", "examples", PLANTED] {
        dirs.extend(list(Path::new(parent))?);
    }
    dirs.push(MARKERS.into());
    for dir in dirs {
        for file in list(&dir)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(".cu") || (name.ends_with(".py") && name != "reference.py") {
                sources.extend(Source::read(&dir, &name)?);
            }
        }
    }
    Ok(sources)
}

/// Lists the entries of a folder, sorted; empty if it is no folder.
fn list(dir: &Path) -> Result<Vec<PathBuf>> {
    let full = crate::root().join(dir);
    if !full.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&full).with_context(|| format!("cannot list {}", full.display()))? {
        names.push(dir.join(entry?.file_name()));
    }
    names.sort();
    Ok(names)
}

/// Writes a product; with `check`, only returns whether the tracked one differs.
fn put(path: &Path, text: &str, check: bool) -> Result<bool> {
    let full = crate::root().join(path);
    let same = fs::read(&full).is_ok_and(|old| old == text.as_bytes());
    if !same && !check {
        fs::create_dir_all(full.parent().context("a product has a folder")?)?;
        fs::write(&full, text).with_context(|| format!("cannot write {}", full.display()))?;
    }
    Ok(!same && check)
}

/// Runs `job` over `items`, [`JOBS`] at a time. Results have the order of the items; the error lists all
/// failures.
pub fn parallel<T: Sync, R: Send>(items: &[T], job: impl Fn(&T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some((i, item)) = {
                    let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    items.get(i).map(|item| (i, item))
                } {
                    let result = job(item);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(i, _)| *i);
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    for (_, result) in done {
        match result {
            Ok(value) => results.push(value),
            Err(error) => errors.push(format!("{error:#}")),
        }
    }
    if !errors.is_empty() {
        bail!("{} of {} failed:\n{}", errors.len(), items.len(), errors.join("\n"));
    }
    Ok(results)
}

/// Runs a command and returns its standard output. If it fails, the error contains its output.
pub fn quiet(command: &mut std::process::Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{}{}", text, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(text)
}
