//! Inserts a probe into one kernel of a binary, step by step, with the result of every step in a file.
//!
//! The steps and files are those of Neutrino's probe engine: objdump, prune, probe, assemble. The
//! instrumentation is the one that every other command uses.
//!
//! # Invariants
//! - `process.log` describes each step, also one that failed.
//! - If a step fails, the files of the steps before it stay, and no later file of an earlier run is left.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use prlx_driver::assemble::{self, AssembleError, Assemblers};
use prlx_isa::image::{self, Image, Kind, Target};
use prlx_isa::ptx::prune;
use prlx_isa::view::{FunctionKind, Module};
use prlx_plan::ProbeProgram as _;
use prlx_plan::{Filter, Plan};
use prlx_probe::ProbeMatch;
use prlx_probe::lang::Script;
use prlx_trace::names::display_names;

use super::count::count;
use super::matches;
use super::plan::recording_request;
use super::script::{from_neutrino, named};
use crate::Monitor;

/// Environment variable in which Neutrino's command line passes the probe to its engine.
const VARIABLE: &str = "NEUTRINO_PROBES";
/// The files that the steps write.
const MADE: [&str; 7] =
    ["process.log", "original.asm", "pruned.asm", "probed.asm", "pruned.bin", "probed.bin", "kernel.info"];
/// Maximum number of kernels that an error names.
const LISTED: usize = 12;

/// What to insert, and where.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Folder with `original.bin`; the other files go there.
    pub workdir: PathBuf,
    /// Name pattern of the kernel.
    pub kernel: String,
    /// The probe: a file, a tool's name or a text. `None` looks for a file in the folder, then at
    /// `NEUTRINO_PROBES`.
    pub probe: Option<OsString>,
    /// Architecture to assemble for; `None` means the code's own.
    pub arch: Option<Target>,
}

/// Does all steps.
///
/// # Errors
/// If a step fails; the error names the step and its file.
pub fn run_engine(options: &EngineOptions, monitor: &Monitor<'_>) -> Result<()> {
    let mut folder = Workdir::new(&options.workdir)?;
    let script = folder.step("read the probe", "", |_| script(options, monitor))?;
    let original = folder.step("objdump", "original.bin", |f| f.objdump(options))?;
    let kernel = folder.step("prune", "original.asm", |f| f.prune(&options.kernel))?;
    let plan = folder.step("probe", "pruned.asm", |f| f.probe(&script, &kernel, monitor))?;
    for name in ["pruned", "probed"] {
        folder.step("assemble", &format!("{name}.asm"), |f| f.assemble(name, &original, options.arch))?;
    }
    folder.step("describe", "kernel.info", |f| f.describe(&kernel, &plan))
}

/// What the PTX text itself does not say about the code.
struct Original {
    /// The assembler options that change the machine code.
    options: Vec<String>,
}

/// Reads the probe, and returns it with where it was.
fn script(args: &EngineOptions, monitor: &Monitor<'_>) -> Result<(Arc<Script>, String)> {
    if let Some(word) = &args.probe {
        let found = named(word, monitor)?;
        return Ok((found.script, found.name));
    }
    let inside = ["probe.toml", "probe.prlx"].map(|name| args.workdir.join(name));
    if let Some(path) = inside.iter().find(|p| p.is_file()) {
        return Ok((named(path.as_os_str(), monitor)?.script, path.display().to_string()));
    }
    match std::env::var(VARIABLE) {
        Ok(text) => Ok((from_neutrino(&text, VARIABLE, monitor)?, VARIABLE.to_owned())),
        Err(_) => {
            bail!(
                "no probe program: name one with --probe, or put probe.toml or probe.prlx into the directory"
            )
        }
    }
}

/// The folder, and the log in it.
struct Workdir {
    path: PathBuf,
    log: fs::File,
}

impl Workdir {
    /// Removes what an earlier run left: files of later steps would not belong to this run.
    fn new(path: &Path) -> Result<Workdir> {
        for name in MADE {
            let file = path.join(name);
            if file.exists() {
                fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
            }
        }
        let log = path.join(MADE[0]);
        let file = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        Ok(Workdir { path: path.to_owned(), log: file })
    }

    /// Does one step on a file, and logs what it did and how long that took.
    fn step<T>(
        &mut self,
        name: &str,
        file: &str,
        work: impl FnOnce(&Workdir) -> Result<(T, String)>,
    ) -> Result<T> {
        let began = Instant::now();
        let done = work(self);
        let took = format!("{:9.3} ms", began.elapsed().as_secs_f64() * 1e3);
        let of = if file.is_empty() { name.to_owned() } else { format!("{name} {file}") };
        let (line, done) = match done {
            Ok((done, what)) => (what, Ok(done)),
            Err(e) => (format!("error: {e:#}"), Err(e.context(format!("{}: {of}", self.path.display())))),
        };
        writeln!(self.log, "{took}  {of}: {}", prlx_present::safe_lines(&line))
            .context("cannot write process.log")?;
        done
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        fs::read(self.path.join(name)).with_context(|| format!("cannot read {name}"))
    }
    fn text(&self, name: &str) -> Result<String> {
        String::from_utf8(self.read(name)?).with_context(|| format!("{name} is not a text file"))
    }
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::write(self.path.join(name), bytes).with_context(|| format!("cannot write {name}"))
    }

    /// Writes `original.asm`: the PTX of the best image. An image with the kernel is better than one without,
    /// then one that assembles for the architecture, then a PTX image, then one for a higher target.
    fn objdump(&self, args: &EngineOptions) -> Result<(Original, String)> {
        let bytes = self.read("original.bin")?;
        let images = image::read(&bytes)?;
        let mut all: Vec<(usize, &Image<'_>, String)> = Vec::new();
        for (n, image) in images.iter().enumerate() {
            // Unreadable machine code does not hide the PTX of other images.
            let ptx = if image.kind == Kind::Ptx { image.ptx()? } else { image.ptx().unwrap_or_default() };
            all.extend(ptx.map(|text| (n, image, text)));
        }
        let rank = |(_, image, text): &(usize, &Image<'_>, String)| {
            let (module, _) = prlx_isa::ptx::read(text);
            let fits = args.arch.is_none_or(|arch| image.target.assembles_for(arch));
            let found = find(&kernels(&module), &args.kernel).is_ok();
            (found, fits, image.kind == Kind::Ptx, image.target.number)
        };
        // `max_by_key` returns the last of equal images, so the reverse order returns the first.
        let Some((n, image, text)) = all.iter().rev().max_by_key(|i| rank(i)) else {
            bail!(
                "{} without PTX; nvcc keeps it with -gencode arch=compute_90,code=compute_90 or with -lineinfo",
                count(images.len(), "image", "images")
            );
        };
        self.write("original.asm", text.as_bytes())?;
        let from = if image.kind == Kind::Ptx { "its PTX" } else { "the PTX that its machine code keeps" };
        let what = format!("image {n} of {}, for {}: {from} is original.asm", images.len(), image.target);
        Ok((Original { options: assemble::code_options(&image.options) }, what))
    }

    /// Writes `pruned.asm`. Returns the kernel's name.
    fn prune(&self, wanted: &str) -> Result<(String, String)> {
        let text = self.text("original.asm")?;
        let (module, _) = prlx_isa::ptx::read(&text);
        let kernel = find(&kernels(&module), wanted)?;
        let pruned = prune(&text, &kernel).ok_or_else(|| anyhow!("the code has no kernel `{kernel}`"))?;
        self.write("pruned.asm", pruned.text.as_bytes())?;
        let cut = if pruned.cut.is_empty() { "nothing".to_owned() } else { pruned.cut.join(", ") };
        let what = format!("kept {}; cut {cut}: pruned.asm", pruned.kept.join(", "));
        Ok((kernel, what))
    }

    /// Writes `probed.asm`. Returns the plan.
    fn probe(&self, script: &Arc<Script>, kernel: &str, monitor: &Monitor<'_>) -> Result<(Plan, String)> {
        let text = self.text("pruned.asm")?;
        let (module, _) = prlx_isa::ptx::read(&text);
        let program = recording_request(script, &[kernel.to_owned()]);
        let found = ProbeMatch::all(script, &module, &program.filter);
        let unmatched = matches::unmatched(script, &module, &program.filter, &found);
        if unmatched.all {
            bail!("the probe program matches no instruction in {kernel}\n  {}", unmatched.lines.join("\n  "));
        }
        let rewrite = prlx_instrument::rewrite(&text, "pruned.asm", &program, &|_| None)?;
        if let Some(why) = matches::idle(script, &rewrite, kernel, &found) {
            bail!("the probe program does nothing in {kernel}\n  {}", why.join("\n  "));
        }
        let of_kernel =
            rewrite.plan.functions.iter().zip(&rewrite.module.functions).find(|f| f.1.name == kernel);
        if let Some(why) = of_kernel.and_then(|f| f.0.skipped.as_ref()) {
            bail!("{kernel} cannot be instrumented: {why}");
        }
        self.write("probed.asm", rewrite.text.as_bytes())?;
        let insertions: usize = rewrite.plan.functions.iter().map(|f| f.insertions.len()).sum();
        let mut what = vec![format!("{}: probed.asm", count(insertions, "insertion", "insertions"))];
        what.extend(
            unmatched.clauses.iter().map(|c| format!("{} matches no instruction", script.clause(*c))),
        );
        what.extend(
            matches::unavailable(script, &module, &rewrite.plan.probe_state.unavailable)
                .into_iter()
                .map(|m| m.what),
        );
        what[1..].iter().for_each(|what| monitor.warn(&prlx_present::safe(what)));
        Ok((rewrite.plan, what.join("; ")))
    }

    /// Assembles `NAME.asm` into `NAME.bin`.
    fn assemble(&self, name: &str, original: &Original, arch: Option<Target>) -> Result<((), String)> {
        let text = self.text(&format!("{name}.asm"))?;
        let (module, _) = prlx_isa::ptx::read(&text);
        let own = Target::parse(&module.target);
        let target = match arch {
            Some(arch) => assemble::target(&text, arch)?.unwrap_or(arch),
            None => own.ok_or_else(|| anyhow!("its .target `{}` is not known", module.target))?,
        };
        let assemblers = Assemblers::find();
        let mut unfit = Vec::new();
        for tool in &assemblers.tools {
            match assemblers.assemble(tool, &text, target, &original.options) {
                Ok(code) => {
                    self.write(&format!("{name}.bin"), &code)?;
                    let options: String = original.options.iter().map(|o| format!(" {o}")).collect();
                    return Ok(((), format!("{} for {target}{options}: {name}.bin", tool.version())));
                }
                Err(AssembleError::InvalidCode(e)) => return Err(e.into()),
                Err(AssembleError::Unsuitable(why)) => unfit.push(why),
            }
        }
        match unfit.is_empty() {
            true => bail!("no assembler found: `prlx doctor` lists where PRLX looks for one"),
            false => bail!("no assembler accepts the code: {}", unfit.join("; ")),
        }
    }

    /// Writes `kernel.info`: the kernel, its number of parameters and Neutrino's lines of maps; then PRLX's
    /// own lines, each a word and its value.
    fn describe(&self, kernel: &str, plan: &Plan) -> Result<((), String)> {
        let view = |text: &str| prlx_isa::ptx::read(text).0;
        let (pruned, probed) = (view(&self.text("pruned.asm")?), view(&self.text("probed.asm")?));
        let params = |module: &Module| -> Vec<String> {
            let params = module.function(kernel).map(|f| f.params.clone()).unwrap_or_default();
            params.iter().filter_map(|p| Some(module.symbols.get(p.index())?.name.clone())).collect()
        };
        let (own, all) = (params(&pruned), params(&probed));
        let records = &plan.probe_state.records;
        let mut text = format!("{kernel}\n{}\n{}\n", own.len(), records.parts.len());
        for part in &records.parts {
            let holders = if part.of_lane { 32 } else { 1 };
            text += &format!("{},{}\n", u8::from(!part.of_lane), part.bytes().div_ceil(holders));
        }
        for name in all.iter().skip(own.len()) {
            text += &format!("context {name}\n");
        }
        text += &format!("tables {}\nrecords {}\n", plan.probe_state.table_bytes(), records.warp);
        self.write("kernel.info", text.as_bytes())?;
        Ok(((), format!("{} of records", count(records.parts.len(), "map", "maps"))))
    }
}

/// Names of a module's kernels.
fn kernels(module: &Module) -> Vec<String> {
    let kernels = module.functions.iter().filter(|f| f.kind == FunctionKind::Kernel);
    kernels.map(|f| f.name.clone()).collect()
}

/// The kernel of that name, or the one that a pattern matches.
fn find(kernels: &[String], wanted: &str) -> Result<String> {
    if kernels.iter().any(|k| k == wanted) {
        return Ok(wanted.to_owned());
    }
    let pattern = Filter { functions: vec![wanted.to_owned()], ..Filter::default() };
    let all: Vec<&String> = kernels.iter().filter(|k| pattern.takes_function(k)).collect();
    let (what, names) = match all.as_slice() {
        [one] => return Ok((*one).clone()),
        [] if kernels.is_empty() => bail!("the code has no kernel"),
        [] => (format!("the code has no kernel `{wanted}`; its kernels are"), kernels.iter().collect()),
        _ => (format!("`{wanted}` matches more than one kernel:"), all),
    };
    let more = names.len().saturating_sub(LISTED);
    let names = display_names(names.into_iter().take(LISTED).map(|n| n.as_str()));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    bail!("{what} {}{more}", names.join(", "))
}
