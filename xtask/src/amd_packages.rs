//! Instruments the kernels of Debian's ROCm packages, and prints how many PRLX accepts:
//! `cargo xtask amd-packages [OPTION…] [PACKAGE…]`, with `--objects N`, `--largest KIB`, `--at-most N`,
//! `--levels path,fingerprint` and `--verbose`.
//!
//! apt downloads the packages of [`PACKAGES`] into `target/amd-packages`, and dpkg-deb unpacks them there.
//! What is there already is kept. `crates/instrument/examples/amd_packages` reads and instruments them, and
//! prints the tables. Without `--objects`, `--largest` and `--at-most`, the options are those of [`DEFAULT`].
//!
//! # Invariants
//! The packages are those of Debian's suite [`SUITE`], whatever release this machine has: apt is run with
//! lists and a cache of its own, and installs nothing.
//!
//! # Limitations
//! - It is no part of CI: it downloads about 1 GB, unpacks 8 GB, and runs for many minutes.
//! - Packages change with the suite. A kept run therefore names their versions.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages with code objects for AMD's GPUs.
const PACKAGES: [&str; 6] =
    ["librocrand1", "libggml0-backend-hip", "libhipblaslt1", "librocblas4", "librocsparse1", "librccl1"];

/// The suite that has them.
const SUITE: &str = "sid";

/// A run of about half an hour on two cores.
const DEFAULT: [&str; 6] = ["--objects", "24", "--largest", "4096", "--at-most", "40"];

/// Debian's key, which the package `debian-archive-keyring` installs.
const KEY: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Runs the task.
pub fn run(args: &[String]) -> Result<()> {
    let (mut options, mut chosen) = (Vec::new(), Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--verbose" => options.push(arg.clone()),
            "--objects" | "--largest" | "--at-most" | "--levels" => {
                let value = rest.next().with_context(|| format!("{arg} needs a value"))?;
                options.extend([arg.clone(), value.clone()]);
            }
            package if PACKAGES.contains(&package) => chosen.push(package),
            other => bail!("`{other}`: the packages are {}", PACKAGES.join(", ")),
        }
    }
    if chosen.is_empty() {
        chosen = PACKAGES.to_vec();
    }
    let limits = ["--objects", "--largest", "--at-most"];
    if !options.iter().any(|option| limits.contains(&option.as_str())) {
        options.extend(DEFAULT.map(str::to_owned));
    }
    let folder = crate::readme::target_dir().join("amd-packages");
    let unpacked = unpack(&folder, &chosen)?;
    let what = ["run", "--release", "--quiet", "-p", "prlx-instrument", "--example", "amd_packages", "--"];
    let mut all: Vec<String> = what.map(str::to_owned).to_vec();
    all.extend(options);
    all.extend(unpacked);
    crate::sh("cargo", &all.iter().map(String::as_str).collect::<Vec<&str>>())
}

/// Downloads and unpacks what is not there yet. Returns `NAME_VERSION=FOLDER` of each package.
fn unpack(folder: &Path, packages: &[&str]) -> Result<Vec<String>> {
    let archives = folder.join("archives");
    fs::create_dir_all(&archives).with_context(|| format!("cannot make {}", archives.display()))?;
    let missing: Vec<&str> =
        packages.iter().copied().filter(|package| archive(&archives, package).is_err()).collect();
    if !missing.is_empty() {
        let apt = Apt::new(&folder.join("apt"))?;
        apt.get(&archives, &["update"])?;
        let names: Vec<String> = missing.iter().map(|package| format!("{package}/{SUITE}")).collect();
        apt.get(
            &archives,
            &[&["download"], &names.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat(),
        )?;
    }
    let mut out = Vec::new();
    for package in packages {
        let archive = archive(&archives, package)?;
        let stem = archive.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = stem.rsplit_once('_').map_or(stem.as_str(), |(name, _)| name).to_owned();
        let to = folder.join("unpacked").join(&name);
        if !to.exists() {
            // A folder that is there is whole.
            let half = to.with_extension("half");
            fs::create_dir_all(&half).with_context(|| format!("cannot make {}", half.display()))?;
            crate::sh("dpkg-deb", &["-x", crate::text(&archive)?, crate::text(&half)?])?;
            fs::rename(&half, &to).with_context(|| format!("cannot name {}", to.display()))?;
        }
        out.push(format!("{name}={}", crate::text(&to)?));
    }
    Ok(out)
}

/// The downloaded archive of a package.
fn archive(archives: &Path, package: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(archives).with_context(|| format!("cannot list {}", archives.display()))?;
    let begins = format!("{package}_");
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    all.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begins)));
    all.sort();
    all.pop().with_context(|| format!("apt has not downloaded {package}"))
}

/// apt with lists and a cache of its own.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// Prepares the folder. The mirror is the one that this machine's apt has for Debian.
    fn new(folder: &Path) -> Result<Apt> {
        for part in ["state/lists/partial", "cache/archives/partial", "parts"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display()))?;
        }
        let mut targets = Command::new("apt-get");
        targets.args(["indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Component: main"]);
        let targets = crate::corpus::quiet(&mut targets)?;
        let mirror = targets.lines().find(|line| !line.contains("security"));
        let mirror = mirror.context("apt has no lists of Debian: run `apt-get update`")?;
        let sources = folder.join("sources.list");
        fs::write(&sources, format!("deb [signed-by={KEY}] {mirror} {SUITE} main\n"))
            .with_context(|| format!("cannot write {}", sources.display()))?;
        let at = |part: &str| crate::text(&folder.join(part)).map(str::to_owned);
        let places = [
            ("Dir::State", at("state")?),
            ("Dir::State::status", "/dev/null".to_owned()),
            ("Dir::Cache", at("cache")?),
            ("Dir::Etc::sourcelist", at("sources.list")?),
            ("Dir::Etc::sourceparts", at("parts")?),
            ("Dir::Etc::preferencesparts", at("parts")?),
        ];
        let options = places.into_iter().map(|(name, place)| format!("-o{name}={place}")).collect();
        Ok(Apt { options })
    }

    /// Runs apt-get in a folder, where downloads arrive.
    fn get(&self, folder: &Path, words: &[&str]) -> Result<()> {
        eprintln!("+ apt-get {}", words.join(" "));
        let mut command = Command::new("apt-get");
        let status = command.args(&self.options).arg("-qq").args(words).current_dir(folder).status();
        if !status.context("cannot run apt-get")?.success() {
            bail!("`apt-get {}` failed", words.join(" "));
        }
        Ok(())
    }
}
