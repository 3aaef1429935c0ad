//! Reads a launch file into a [`Job`].

use std::path::{Path, PathBuf};

use prlx_isa::image;

use crate::error::{Error, ErrorKind};
use crate::files;
use crate::job::Job;
use crate::launch_file;
use crate::launch_file::amd::AmdModules;
use crate::launch_file::arguments::arguments;
use crate::launch_file::before;
use crate::launch_file::compile::{self, CompilerOptions, Language};
use crate::launch_file::files::{Files, load};
use crate::launch_file::kernel;
use crate::launch_file::keys::{COMPILER_KEYS, KEYS};
use crate::launch_file::module_format::{self, ModuleFormat};
use crate::launch_file::shape::config;
use crate::launch_file::table::{Source, Table};

/// The formats of modules of machine code that PRLX ships.
pub const MODULE_FORMATS: &[&dyn ModuleFormat] = &[&AmdModules];

impl Job {
    /// Reads a launch file with the module and the files that it names. A `.cu` or `.hip` module is compiled.
    ///
    /// # Errors
    /// If a file cannot be read or a key is wrong. The error names the file, the line, the key, and what to
    /// do.
    pub fn load(path: &Path) -> Result<Job, Error> {
        Job::load_with(path, MODULE_FORMATS)
    }

    /// [`Job::load`] with modules of machine code in these formats.
    ///
    /// # Errors
    /// As [`Job::load`].
    pub fn load_with(path: &Path, formats: &[&dyn ModuleFormat]) -> Result<Job, Error> {
        let name = path.display().to_string();
        let text = files::read_text(path)
            .map_err(|e| Error::new(ErrorKind::File, format!("cannot read the launch file {name}: {e}")))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let files = |file: &str| {
            let file = folder.join(file);
            files::read(&file)
                .map_err(|e| Error::new(ErrorKind::File, format!("cannot read {}: {e}", file.display())))
        };
        let modules = |module: &str, options: &CompilerOptions| match Language::of(module) {
            Some(Language::Cuda) => compile::ptx(&folder.join(module), options),
            Some(Language::Hip) => compile::code_object(&folder.join(module), options),
            None => files(module),
        };
        let mut job = read(&name, &text, &files, &modules, formats)?;
        job.folder = folder.to_owned();
        job.source = folder.join(&job.source);
        Ok(job)
    }

    /// Reads the text of a launch file. `files` returns the content of a named file; for a `.cu` or
    /// `.hip` file, what it is compiled to. [`Job::folder`] stays empty and [`Job::source`] as written.
    ///
    /// # Errors
    /// If a key is wrong or `files` fails.
    pub fn parse(name: &str, text: &str, files: &launch_file::Files<'_>) -> Result<Job, Error> {
        Job::parse_with(name, text, files, MODULE_FORMATS)
    }

    /// [`Job::parse`] with modules of machine code in these formats.
    ///
    /// # Errors
    /// As [`Job::parse`].
    pub fn parse_with(
        name: &str,
        text: &str,
        files: &launch_file::Files<'_>,
        formats: &[&dyn ModuleFormat],
    ) -> Result<Job, Error> {
        read(name, text, files, &|module, _| files(module), formats)
    }
}

/// A function that returns the content of a module, compiled with the options if it is source text.
type Modules<'a> = dyn Fn(&str, &CompilerOptions) -> Result<Vec<u8>, Error> + 'a;

/// Reads the text of a launch file called `name`.
fn read(
    name: &str,
    text: &str,
    files: &Files<'_>,
    modules: &Modules<'_>,
    formats: &[&dyn ModuleFormat],
) -> Result<Job, Error> {
    let source = Source { name, text };
    let root = source.parse()?;
    let file = Table::new(source, "", root.get_ref(), 0, KEYS)?;
    let named = file.need("module")?;
    let module = named.text()?.to_owned();
    let language = Language::of(&module);
    let options =
        language.map_or_else(|| Ok(CompilerOptions::default()), |l| CompilerOptions::read(&file, l))?;
    if let Some(key) = file.present(COMPILER_KEYS).first().filter(|_| language.is_none()) {
        let what = format_args!("{module} is not compiled; only .cu and .hip files are");
        return Err(file.need(key)?.error(what));
    }
    let bytes = load(&|module| modules(module, &options), named, &module)?;
    let format = formats.iter().copied().find(|format| format.recognizes(&bytes));
    let (text, object, view) = if let Some(format) = format {
        let (object, view) = module_format::object(format, &file, named, &module, &bytes)?;
        (view.text.to_string(), Some(object), (view, Vec::new()))
    } else {
        let ptx = if image::is_binary(&bytes) {
            image::source(&bytes, None).map_err(|e| named.error(format_args!("{module}: {e}")))?
        } else {
            String::from_utf8(bytes).map_err(|_| named.error(format_args!("{module} is not text")))?
        };
        let view = kernel::module(named, &module, &ptx)?;
        (ptx, None, view)
    };
    let mut signature = kernel::kernel(&file, named, &module, &view)?;
    let hidden = format.map_or_else(Vec::new, |format| {
        module_format::infer_types(format, &mut signature, &view.0);
        module_format::take_hidden(format, &mut signature)
    });
    let size = signature.params.iter().map(|p| u64::from(p.offset) + u64::from(p.size)).max().unwrap_or(0);
    if size > PARAMS {
        let say =
            format!("kernel `{}` takes {size} bytes of parameters; {PARAMS} is the most", signature.name);
        return Err(named.error(say));
    }
    let seed = file.get("seed").map_or(Ok(0), |v| v.count(u64::MAX))?;
    let config = config(&file, &signature, seed)?;
    let folder = PathBuf::from(&module).parent().map_or_else(PathBuf::new, PathBuf::from);
    let sources = file.get("source").map_or(Ok(folder), |v| v.text().map(PathBuf::from))?;
    let mut args = arguments(&file, &signature, &view.0, seed, files)?;
    if let Some(format) = format {
        module_format::insert_hidden(format, &mut args, &mut signature, hidden, &config);
        if let Some(before) = file.get("before") {
            let code = format.instruction_set().code_name();
            return Err(before.error(format_args!("launches before are not supported for {code}")));
        }
    }
    let kernel_of = |table: &Table<'_>| kernel::kernel(table, named, &module, &view);
    let before = before::launches(&file, &args, seed, &kernel_of)?;
    Ok(Job {
        name: name.to_owned(),
        module,
        text,
        object,
        folder: PathBuf::new(),
        source: sources,
        kernel: signature.name,
        config,
        params: signature.params,
        args,
        before,
    })
}

/// Maximum size of the parameters in bytes, for sm_70 and later with PTX 8.1.
const PARAMS: u64 = 32_764;
