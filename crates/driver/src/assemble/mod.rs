//! From PTX to machine code before the driver sees it: `ptxas` where there is one, else nvJitLink; where both are missing the
//! driver's own compiler does it.
//!
//! Options are pinned: the architecture, `-lineinfo`, which changes no code and keeps lines (by `ptxas`, the PTX too) in the
//! cubin, and those that the code was made with, where they are known ([`kept`]).
//! Results are kept in the user's cache folder ([`cache`]).
//!
//! Holds: PTX for `sm_90a` is assembled for `sm_90a`, and so on; other PTX for the device's own architecture. An assembler
//! that does not know the architecture or the PTX's version is passed over; what one finds wrong with the code is an error.
//! Misses: the options of a build that stored none.

pub mod cache;
mod jitlink;
pub mod listing;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use prlx_isa::image::{Target, cubin};
use prlx_isa::view::{Function, FunctionKind};
use prlx_plan::Plan;
use prlx_trace::Level;
use prlx_trace::kernel::ThreadResources;
use xxhash_rust::xxh3::Xxh3;

use self::cache::Cache;
use crate::occupancy::{registers_per_thread, threads_per_sm};
use crate::{Error, ErrorKind};

/// Names the only assembler to use: `ptxas`, `nvjitlink` or `driver`.
pub const VARIABLE: &str = "PRLX_ASSEMBLER";
/// Names the `ptxas` to use: a path.
pub const PTXAS: &str = "PRLX_PTXAS";
/// Names the nvJitLink to use: a path.
pub const NVJITLINK: &str = "PRLX_NVJITLINK";
/// What every assembler is told beside the architecture.
const OPTIONS: &[&str] = &["-lineinfo"];
/// With so many registers a thread a multiprocessor has as many warps as it can hold, on all GPUs but the smallest (65,536 over 2,048).
const FULL: u32 = 32;
/// So many more are given up for that.
const CLOSE: u32 = 8;
/// What an assembler says when it is the assembler that does not fit, not the code.
const UNFIT: &[&str] = &[
    "is not defined for option 'gpu-name'",
    "Unsupported .version",
    "does not support .target",
    "Unsupported architecture",
    "unsupported toolchain",
];

/// What did not come of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    /// This assembler can't do it: why. Another one may.
    Unfit(String),
    /// The code is wrong.
    Wrong(Error),
}

/// One assembler.
pub struct Assembler {
    tool: Tool,
    /// As it says itself.
    version: String,
}

enum Tool {
    Ptxas(PathBuf),
    JitLink(jitlink::Library),
}

impl std::fmt::Debug for Assembler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.version)
    }
}

impl Assembler {
    /// A `ptxas`; `None` if it does not start.
    pub fn ptxas(path: &Path) -> Option<Assembler> {
        let out = Command::new(path)
            .arg("--version")
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        // "Build cuda_13.0.r13.0/compiler.36424714_0", or whatever comes last.
        let version = said.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
        let version = format!("ptxas {version}");
        out.status.success().then(|| Assembler { tool: Tool::Ptxas(path.to_owned()), version })
    }

    /// The nvJitLink library of that name or path; `None` if it is none.
    pub fn jit_link(path: &Path) -> Option<Assembler> {
        let (library, (major, minor)) = jitlink::Library::open(path)?;
        Some(Assembler { tool: Tool::JitLink(library), version: format!("nvJitLink {major}.{minor}") })
    }

    /// What it is, with its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The machine code of `ptx`, with more options.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn assemble(&self, ptx: &str, target: Target, more: &[String]) -> Result<Vec<u8>, Failed> {
        let mut options = vec![format!("-arch={target}")];
        options.extend(OPTIONS.iter().map(|o| (*o).to_owned()));
        options.extend_from_slice(more);
        let done = match &self.tool {
            Tool::Ptxas(path) => run(path, ptx, &options),
            Tool::JitLink(library) => library.assemble(ptx, &options),
        }
        .map_err(Failed::Unfit)?;
        done.map_err(|said| match UNFIT.iter().any(|text| said.contains(text)) {
            true => Failed::Unfit(format!("{}: {said}", self.version)),
            false => Failed::Wrong(Error::new(
                ErrorKind::Module,
                format!("{} refuses the PTX:\n{said}", self.version),
            )),
        })
    }
}

/// Within how many registers rewritten code is to do, where that takes no more local memory.
#[derive(Clone, Copy, Debug)]
pub enum Within<'a> {
    /// As many as the assembler takes.
    Any,
    /// 32 of those that take a few more. What level `events` inserts waits, and more warps hide that best. (Measured:
    /// bench/runs/2026-11-24-h200-events.md. At other levels some kernels lose by it.)
    Full,
    /// So many that a multiprocessor has registers for as many threads as of this machine code: cycles of a kernel of which fewer run at once are another
    /// kernel's.
    Room(&'a [u8]),
}

impl<'a> Within<'a> {
    /// What is right for a plan, of a module whose own machine code this is.
    pub fn of(plan: &Plan, own: Option<&'a [u8]>) -> Within<'a> {
        match own {
            _ if plan.request.level == Level::Events => Within::Full,
            Some(own) if plan.kept.tracks.is_some() => Within::Room(own),
            _ => Within::Any,
        }
    }

    /// The registers that kernels are to have, of those whose machine code has others.
    fn limits(self, code: &[u8]) -> BTreeMap<&str, u32> {
        let all = |code| needs(code).into_iter();
        match self {
            Within::Any => BTreeMap::new(),
            Within::Full => {
                let close = |n: &ThreadResources| FULL < n.registers && n.registers <= FULL + CLOSE;
                all(code).filter(|(_, n)| close(n)).map(|(name, _)| (name, FULL)).collect()
            }
            Within::Room(own) => {
                let own = needs(own);
                let limit = |(name, now): (_, ThreadResources)| {
                    let before = threads_per_sm(own.get(name)?.registers);
                    (threads_per_sm(now.registers) < before).then(|| (name, registers_per_thread(before)))
                };
                all(code).filter_map(limit).collect()
            }
        }
    }
}

/// What functions take, by name; none of what is no machine code.
pub fn needs(code: &[u8]) -> BTreeMap<&str, ThreadResources> {
    let local: BTreeMap<&str, u32> = cubin::frames(code).unwrap_or_default().into_iter().collect();
    let all = cubin::registers(code).unwrap_or_default().into_iter();
    all.map(|(name, registers)| {
        (name, ThreadResources { registers, local: local.get(name).copied().unwrap_or(0) })
    })
    .collect()
}

/// For how many threads fewer than of its own functions a multiprocessor has registers for rewritten ones, all together.
pub fn lost(own: &[u8], code: &[u8]) -> u32 {
    let own = needs(own);
    let lost = |(name, now): (&str, ThreadResources)| {
        own.get(name).map(|n| threads_per_sm(n.registers).saturating_sub(threads_per_sm(now.registers)))
    };
    needs(code).into_iter().filter_map(lost).fold(0, u32::saturating_add)
}

/// Whether warps give registers to each other (PTX ISA, `setmaxnreg`).
pub fn shares_registers(ptx: &str) -> bool {
    ptx.contains("setmaxnreg")
}

/// `ptx`, in which these kernels take no more than so many registers; `None`: there is none that says nothing of them itself.
fn limited(ptx: &str, limits: &BTreeMap<&str, u32>) -> Option<String> {
    // A limit at the kernel's begin makes `setmaxnreg` count, which assemblers pass over without one, and its warps may then wait for registers for ever.
    if limits.is_empty() || shares_registers(ptx) {
        return None;
    }
    let view = prlx_isa::ptx::view(&prlx_isa::ptx::parse(ptx).0).0;
    let said = |name: &str| matches!(name, "maxnreg" | "minnctapersm");
    let limit = |f: &Function| {
        let free = f.kind == FunctionKind::Kernel && !f.limits.iter().any(|(name, _)| said(name));
        limits.get(f.name.as_str()).filter(|_| free).map(|most| (f.body.start as usize, *most))
    };
    let mut places: Vec<(usize, u32)> = view.functions.iter().filter_map(limit).collect();
    places.sort_unstable();
    let mut text = ptx.to_owned();
    places.iter().rev().for_each(|(at, most)| text.insert_str(*at, &format!(".maxnreg {most}\n")));
    (!places.is_empty()).then_some(text)
}

/// Runs `ptxas` in a folder of its own. The outer error: it could not be run; the inner one: what it says of the PTX.
fn run(ptxas: &Path, ptx: &str, options: &[String]) -> Result<Result<Vec<u8>, String>, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("prlx-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = env::temp_dir().join(name);
    let inside = || -> Result<Result<Vec<u8>, String>, std::io::Error> {
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join("PTX"), ptx)?;
        let mut command = Command::new(ptxas);
        let command =
            command.current_dir(&folder).args(options).args(["-o", "cubin", "PTX"]).stdin(Stdio::null());
        // What a program has preloaded is not for its assembler.
        let command = command.env_remove("LD_PRELOAD");
        let out = command.output()?;
        if !out.status.success() {
            let said = [out.stdout, out.stderr].concat();
            return Ok(Err(format!("{}\n{}", out.status, String::from_utf8_lossy(&said))
                .trim_end()
                .to_owned()));
        }
        Ok(Ok(std::fs::read(folder.join("cubin"))?))
    };
    let done = inside().map_err(|e| format!("{} in {}: {e}", ptxas.display(), folder.display()));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// The assemblers that are here, best first, and what they have made before.
#[derive(Debug, Default)]
pub struct Assemblers {
    /// In the order in which they are tried.
    pub tools: Vec<Assembler>,
    /// Where their results are kept.
    pub cache: Option<Cache>,
}

impl Assemblers {
    /// What there is here, as the environment chooses ([`VARIABLE`], [`PTXAS`], [`NVJITLINK`]).
    pub fn find() -> Assemblers {
        let wanted = env::var(VARIABLE).unwrap_or_default();
        let mut tools = Vec::new();
        if matches!(wanted.as_str(), "" | "ptxas") {
            tools.extend(named(PTXAS).or_else(|| in_path("ptxas")).and_then(|p| Assembler::ptxas(&p)));
        }
        if matches!(wanted.as_str(), "nvjitlink") || wanted.is_empty() && tools.is_empty() {
            let places = named(NVJITLINK).map_or_else(
                || {
                    ["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"]
                        .map(PathBuf::from)
                        .to_vec()
                },
                |one| vec![one],
            );
            tools.extend(places.iter().find_map(|p| Assembler::jit_link(p)));
        }
        Assemblers { tools, cache: Cache::of_user() }
    }

    /// The machine code of rewritten `ptx`. Kernels that would spill registers to stay within those that they are to have keep theirs.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn rewritten(
        &self,
        tool: &Assembler,
        ptx: &str,
        within: Within<'_>,
        target: Target,
        more: &[String],
    ) -> Result<Vec<u8>, Failed> {
        let code = self.assemble(tool, ptx, target, more)?;
        let (before, mut limits) = (needs(&code), within.limits(&code));
        // A second time without those that spill.
        for _ in 0..2 {
            let lean = limited(ptx, &limits).and_then(|lean| self.assemble(tool, &lean, target, more).ok());
            let Some(lean) = lean else { break };
            let now = needs(&lean);
            let local =
                |all: &BTreeMap<&str, ThreadResources>, name: &str| all.get(name).map_or(0, |n| n.local);
            let spilt: Vec<&str> =
                now.keys().copied().filter(|f| local(&now, f) > local(&before, f)).collect();
            if spilt.is_empty() {
                return Ok(lean);
            }
            limits.retain(|name, _| !spilt.contains(name));
        }
        Ok(code)
    }

    /// The machine code of `ptx` by one of [`Self::tools`], with more options, from the cache if it is there.
    ///
    /// # Errors
    /// See [`Failed`].
    pub fn assemble(
        &self,
        tool: &Assembler,
        ptx: &str,
        target: Target,
        more: &[String],
    ) -> Result<Vec<u8>, Failed> {
        let mut hash = Xxh3::new();
        // The level of a rewritten module is in its text.
        for part in [tool.version.as_str(), &target.to_string(), &OPTIONS.join(" "), &more.join(" "), ptx] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let key = hash.digest128();
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.get(key)) {
            return Ok(kept);
        }
        let made = tool.assemble(ptx, target, more)?;
        if let Some(cache) = &self.cache {
            cache.put(key, &made);
        }
        Ok(made)
    }
}

/// Of the options that are stored with an image, as ` -lineinfo -arch sm_90a -O1`, those that make a difference to its code.
pub fn kept(stored: &str) -> Vec<String> {
    let mut words = stored.split_whitespace().peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let value = words.next_if(|w| !word.contains('=') && !w.starts_with('-'));
        let name = word.split('=').next().unwrap_or_default();
        let idle = [
            "-lineinfo",
            "--generate-line-info",
            "-v",
            "--verbose",
            "-arch",
            "--gpu-name",
            "-o",
            "--output-file",
        ];
        if word.starts_with('-') && !idle.contains(&name) {
            all.push(word.to_owned());
            all.extend(value.map(str::to_owned));
        }
    }
    all
}

/// What PTX must be assembled for to run on a device; `None` if its `.target` says nothing that is known.
///
/// # Errors
/// When it can't be run there.
pub fn target(ptx: &str, device: Target) -> Result<Option<Target>, Error> {
    let Some(own) = own(ptx) else { return Ok(None) };
    if !own.assembles_for(device) {
        let why = match own.suffix {
            Some('a') => "code for an architecture with `a` runs on that one alone",
            Some(_) => "code for an architecture with `f` runs on its family alone",
            None => "it is older",
        };
        let what = format!("the module is for {own} and can't run on this device, {device}: {why}");
        return Err(Error::new(ErrorKind::Module, what)
            .help("compile it for this device, or for an older architecture"));
    }
    Ok(Some(match own.suffix {
        None => device,
        Some('f') => Target { suffix: Some('f'), ..device },
        Some(_) => own,
    }))
}

/// What a module's `.target` says.
fn own(ptx: &str) -> Option<Target> {
    let line = ptx.lines().find_map(|l| l.trim_start().strip_prefix(".target"))?;
    Target::parse(line.split([',', ' ', '\t', '/', '\r']).find(|w| !w.is_empty())?)
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// A program on `PATH`, or in the CUDA folder that the environment names, or in the usual one.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let homes =
        ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(|h| PathBuf::from(h).join("bin"));
    let folders = env::split_paths(&path).chain(homes).chain([PathBuf::from("/usr/local/cuda/bin")]);
    folders.map(|f| f.join(name)).find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn options_that_change_code_are_kept() {
        let all = |stored| kept(stored).join(" ");
        assert_eq!(all(" -lineinfo -arch sm_90a "), "");
        assert_eq!(all("-maxrregcount=32 -O2 --generate-line-info"), "-maxrregcount=32 -O2");
        assert_eq!(all("-v -g --gpu-name=sm_90 --maxrregcount 40 -O 1 in.ptx"), "-g --maxrregcount 40 -O 1");
    }
}
