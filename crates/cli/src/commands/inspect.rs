//! `prlx inspect`: shows what is in a PTX file, a file with images, a launch file or a recording.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx::device::DeviceOptions;
use prlx::diff::read_file;
use prlx::input::{FileKind, identify, open_session};
use prlx::record::load;
use prlx_driver::buffer_content::Content;
use prlx_driver::job::{ArgValue, Buffer};
use prlx_driver::session::Session;
use prlx_driver::{Job, element};
use prlx_isa::MachineCode;
use prlx_plan::Filter;
use prlx_present::recording::module::{ModuleView, inspect};
use prlx_trace::kernel::Module;
use prlx_trace::names::{display_name, display_names};

use crate::args::{InspectArgs, Show};
use crate::commands::{amd_images, images, inspect_old as old};
use crate::ui::Ui;

/// Prints what the options ask for.
pub fn run(args: &InspectArgs, ui: &Ui) -> Result<ExitCode> {
    let mut out = ui.list(false);
    if let Some(code) = old::run(args, &mut out)? {
        return Ok(code);
    }
    let kind = identify(&args.input)?;
    let by_default = if kind == FileKind::Directory { Show::Launches } else { Show::Kernels };
    let show = args.shown().unwrap_or(by_default);
    let mut filter = Filter { functions: args.kernel.clone(), ..Filter::default() };
    let job = match kind {
        FileKind::LaunchFile => Some(load(&args.input, &DeviceOptions::default())?),
        _ => None,
    };
    if let Some(job) = job.as_ref().filter(|_| show == Show::Kernels && !args.json) {
        launch(job, &mut out)?;
        out.flush()?;
    }
    if let Some(job) = job.as_ref().filter(|_| show == Show::Kernels && filter.functions.is_empty()) {
        filter.functions.push(job.kernel.clone());
    }
    if let Some(code) = amd_code(args, kind, job.as_ref())?
        && amd(args, &code, show, &filter, ui)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        bail!("{} holds no AMD code, and --json shows nothing else", args.input.display());
    }
    let Some(view) = module_view(show) else {
        recorded(args, show, &filter, ui)?;
        return Ok(ExitCode::SUCCESS);
    };
    let list = show == Show::Kernels && args.image.is_none() && args.kernel.is_empty();
    if list && images::list(&args.input, args.cuda(), &mut out)? {
        return Ok(ExitCode::SUCCESS);
    }
    let (modules, notes) = match &job {
        Some(job) if show == Show::Kernels => prlx::inspect::of_code(&job.text, &job.module),
        _ => prlx::inspect::modules(&args.input, args.image)?,
    };
    if modules.is_empty() {
        bail!(
            "{}: the recording was cut before it says what was recorded; `--show streams` shows what is left",
            args.input.display()
        );
    }
    let wanted = |name: &str| filter.takes_function(name);
    if !modules.iter().flat_map(|m| &m.functions).any(|f| wanted(&f.name)) {
        bail!("{}: {}", args.input.display(), no_match(args, &modules));
    }
    for module in &modules {
        inspect(&mut out, module, view, &wanted, &|name| notes.get(name).cloned().unwrap_or_default())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// What to show of a module; `None` for what only recordings have.
fn module_view(show: Show) -> Option<ModuleView> {
    Some(match show {
        Show::Kernels => ModuleView::Functions,
        Show::Cfg => ModuleView::Blocks,
        Show::Loops => ModuleView::Loops,
        Show::Sites => ModuleView::Sites,
        Show::Plan => ModuleView::Plan,
        Show::Launches | Show::Streams => return None,
    })
}

/// A file that can hold AMD code objects.
struct AmdCode {
    bytes: Vec<u8>,
    path: PathBuf,
    /// Whether it is a program, which can have no AMD code.
    program: bool,
    /// Whether it has images for NVIDIA too.
    mixed: bool,
}

/// The file that can hold AMD code objects: the input, or the module that a launch file names.
fn amd_code(args: &InspectArgs, kind: FileKind, job: Option<&Job>) -> Result<Option<AmdCode>> {
    if let Some(job) = job {
        let code = |object: &MachineCode| AmdCode {
            bytes: object.bytes.clone(),
            path: PathBuf::from(&job.module),
            program: false,
            mixed: false,
        };
        return Ok(job.object.as_ref().map(code));
    }
    if !matches!(kind, FileKind::AmdCode | FileKind::Program) {
        return Ok(None);
    }
    let bytes = prlx::code::read(&args.input)?;
    let program = kind == FileKind::Program;
    let mixed = program && prlx_isa::image::read(&bytes).is_ok_and(|images| !images.is_empty());
    Ok(Some(AmdCode { bytes, path: args.input.clone(), program, mixed }))
}

/// Prints the AMD code objects of a file; `false` if it has none, or if it has images for NVIDIA too and the
/// options mean these.
fn amd(args: &InspectArgs, code: &AmdCode, show: Show, filter: &Filter, ui: &Ui) -> Result<bool> {
    let AmdCode { bytes, path, program, mixed } = code;
    let mut all = prlx::amd::images(bytes, path, args.amd(), &|name| filter.takes_function(name))?;
    if *program && all.is_empty() {
        return Ok(false);
    }
    if *mixed && (args.image.is_some() || show != Show::Kernels) {
        return Ok(false);
    }
    if let Some(view) = module_view(show).filter(|_| show != Show::Kernels) {
        let modules = prlx::amd::planned(bytes, path, args.image)?;
        let wanted = |name: &str| filter.takes_function(name);
        if !modules.iter().flat_map(|m| &m.functions).any(|f| wanted(&f.name)) {
            bail!("{}: {}", args.input.display(), no_match(args, &modules));
        }
        let mut out = ui.list(false);
        modules.iter().try_for_each(|m| inspect(&mut out, m, view, &wanted, &|_| Vec::new()))?;
        out.flush()?;
        return Ok(true);
    }
    if show != Show::Kernels {
        let what = if show == Show::Streams { "streams" } else { "launches" };
        bail!("{}: only a recording has {what}", args.input.display());
    }
    if let Some(n) = args.image {
        let count = all.len();
        let one = all.into_iter().nth(n);
        all = vec![one.with_context(|| {
            format!("{}: there is no image {n}: the file has {count} AMD code objects", args.input.display())
        })?];
    }
    let shown = all
        .iter()
        .filter_map(|i| i.object.as_ref())
        .any(|o| !o.kernels.is_empty() || !o.functions.is_empty());
    if !args.kernel.is_empty() && !shown {
        let unread = match all.iter().filter(|i| i.error.is_some()).count() {
            0 => String::new(),
            n => format!("; {n} code objects are not read: without --kernel, prlx inspect says why"),
        };
        let wanted = args.kernel.join(" or ");
        bail!("{}: no kernel or function matches {wanted}{unread}", args.input.display());
    }
    let mut out = ui.list(args.json);
    if args.json {
        serde_json::to_writer_pretty(&mut out, &all)?;
        writeln!(out)?;
    } else {
        amd_images::print(&mut out, path, &all)?;
        if *mixed {
            images::list(&args.input, args.cuda(), &mut out)?;
        }
    }
    out.flush()?;
    Ok(true)
}

/// Why no function is shown.
fn no_match(args: &InspectArgs, modules: &[Module]) -> String {
    let names = display_names(modules.iter().flat_map(|m| &m.functions).map(|f| f.name.as_str()));
    match (names.is_empty(), args.kernel.is_empty()) {
        (true, _) => "it has no kernel and no function".to_owned(),
        (false, _) => {
            format!("no kernel or function matches {}; it has {}", args.kernel.join(" or "), names.join(", "))
        }
    }
}

/// Prints the launches or the streams of a recording.
fn recorded(args: &InspectArgs, show: Show, filter: &Filter, ui: &Ui) -> Result<()> {
    let mut out = ui.list(false);
    let what = if show == Show::Streams { "streams" } else { "launches" };
    let session = open_session(&args.input).with_context(|| format!("only a recording has {what}"))?;
    print_session(&session, ui, &mut out)?;
    for i in 0..session.files.len() {
        let trace = read_file(&session, i).with_context(|| format!("only a recording has {what}"))?;
        match show {
            Show::Streams => {
                trace.dump(&mut out)?;
            }
            _ => prlx_present::launches(&mut out, &trace, &|name| filter.takes_function(name), &ui.style())?,
        }
    }
    out.flush()?;
    Ok(())
}

/// Prints the launch that a launch file describes.
fn launch(job: &Job, out: &mut impl Write) -> io::Result<()> {
    let c = &job.config;
    writeln!(out, "{}  kernel {} of {}", job.name, display_name(&job.kernel), job.module)?;
    write!(out, "  grid {}, block {}", c.grid, c.block)?;
    if c.cluster.volume() > 1 {
        write!(out, ", clusters of {}", c.cluster)?;
    }
    writeln!(out, ", {} bytes of dynamic shared memory, seed {}", c.shared, c.seed)?;
    let width = job.args.iter().map(|a| a.name.chars().count()).max().unwrap_or(0);
    for arg in &job.args {
        let value = match &arg.value {
            ArgValue::Scalar(ty, bits) => format!("{} {}", ty.name(), element::show(*ty, *bits)),
            ArgValue::Struct { bytes, .. } => format!("{} bytes", bytes.len()),
            ArgValue::Buffer(b) => buffer(b),
            ArgValue::TensorMap { over, .. } => {
                format!("tensor map over {}", job.args.get(*over).map_or("", |a| &a.name))
            }
        };
        writeln!(out, "  {:<width$}  {value}", arg.name)?;
    }
    writeln!(out)
}

/// The type, shape and content of a buffer.
fn buffer(b: &Buffer) -> String {
    let sizes: Vec<String> = b.shape.iter().map(u64::to_string).collect();
    let content = match &b.content {
        Content::Bytes(_) => "given elements".to_owned(),
        Content::Fill(bits) => format!("filled with {}", element::show(b.ty, *bits)),
        Content::Iota(_) => "increasing numbers".to_owned(),
        Content::Random { .. } => "random numbers".to_owned(),
        Content::Uninit => "uninitialised".to_owned(),
    };
    let roles = [
        (b.out, "output"),
        (b.expect.is_some(), "with expected content"),
        (b.map.is_some(), "behind a tensor map"),
    ];
    let roles: String = roles.iter().filter(|(is, _)| *is).map(|(_, role)| format!(", {role}")).collect();
    format!("{}[{}]  {content}{roles}", b.ty.name(), sizes.join(" x "))
}

/// Prints how the recorded program ended.
fn print_session(session: &Session, ui: &Ui, out: &mut impl Write) -> io::Result<()> {
    let Some(index) = &session.index else {
        if session.is_folder() {
            ui.warn("the directory has no index: the program has not ended, or prlx was killed");
        }
        return Ok(());
    };
    let how = match (index.code, index.signal) {
        (Some(0), _) => "ended well".to_owned(),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    };
    writeln!(out, "{}: {how}", prlx_present::safe(&index.command.join(" ")))
}
