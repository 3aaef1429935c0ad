//! Reads a launch file into a [`Job`].

use std::path::{Path, PathBuf};

use prlx_isa::amdgpu::object;
use prlx_isa::image;

use crate::error::{Error, ErrorKind};
use crate::files;
use crate::job::Job;
use crate::launch_file;
use crate::launch_file::amd;
use crate::launch_file::arguments::arguments;
use crate::launch_file::before;
use crate::launch_file::compile::{self, CompilerOptions, Language};
use crate::launch_file::files::{Files, load};
use crate::launch_file::kernel;
use crate::launch_file::keys::{COMPILER_KEYS, KEYS};
use crate::launch_file::shape::config;
use crate::launch_file::table::{Source, Table};

impl Job {
    /// Reads a launch file with the module and the files that it names. A `.cu` or `.hip` module is compiled.
    ///
    /// # Errors
    /// If a file cannot be read or a key is wrong. The error names the file, the line, the key, and what to
    /// do.
    pub fn load(path: &Path) -> Result<Job, Error> {
        let name = path.display().to_string();
        let text = files::read_text(path)
            .map_err(|e| Error::new(ErrorKind::File, format!("cannot read the launch file {name}: {e}")))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let files = |file: &str| {
            let file = folder.join(file);
            files::read(&file)
                .map_err(|e| Error::new(ErrorKind::File, format!("cannot read {}: {e}", file.display())))
        };
        let mut job = read(&name, &text, &files, &|module, options| match Language::of(module) {
            Some(Language::Cuda) => compile::ptx(&folder.join(module), options),
            Some(Language::Hip) => compile::code_object(&folder.join(module), options),
            None => files(module),
        })?;
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
        read(name, text, files, &|module, _| files(module))
    }
}

/// A function that returns the content of a module, compiled with the options if it is source text.
type Modules<'a> = dyn Fn(&str, &CompilerOptions) -> Result<Vec<u8>, Error> + 'a;

/// Reads the text of a launch file called `name`.
fn read(name: &str, text: &str, files: &Files<'_>, modules: &Modules<'_>) -> Result<Job, Error> {
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
    let (text, object, view) = if object::is_binary(&bytes) {
        let (object, view) = amd::code_object(&file, named, &module, &bytes)?;
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
    let hidden = if object.is_some() {
        amd::infer_types(&mut signature, &view.0);
        amd::take_hidden(&mut signature)
    } else {
        Vec::new()
    };
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
    amd::insert_hidden(&mut args, &mut signature, hidden, &config);
    if let Some(before) = file.get("before").filter(|_| object.is_some()) {
        return Err(before.error("launches before are not supported for AMD machine code"));
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
