//! Launches of two programs, captured as launch files: both run again, and their launches' memory is copied
//! before and after.
//!
//! # Invariants
//! Memory that neither launch changed is equal on both sides: it is not their work.
//!
//! # Limitations
//! - The second runs must make the launches again, with the same numbers, kernels and dimensions.
//! - Launches of graphs, and kernels without PTX, are not captured.
//! - Memory that only pointers in memory lead to, and variables of modules, are not captured. Tensor maps
//!   are, if the program encodes them tiled, and passes each as a parameter of its own.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use prlx_analyze::Report;
use prlx_analyze::outputs::add_outputs;
use prlx_analyze::report::{LaunchPart, LaunchReport, Verdict};
use prlx_driver::job::ArgValue;
use prlx_driver::session::{Options, Session, capture_folder, captured_launch};
use prlx_driver::{Job, LAUNCH_FILE, Output, after_file, is_partial, npy, short_name, source_names};
use prlx_isa::ptx;

use super::explain::explain_launch;
use super::launch_files::CompareOptions;
use super::outputs::{compare_outputs, ignore_unchanged, with_common_outputs, with_types_of_a};
use super::program_runs::Recorded;
use super::side_runs::Origin;
use crate::Monitor;

/// Bytes of memory that are captured of a launch at most.
const LAUNCH_BYTES: u64 = 256 << 20;

/// Bytes of memory that are captured of all launches of a side together.
const TOTAL_BYTES: u64 = 1 << 30;

/// What a report says of a launch with more memory than was copied.
const PARTIAL: &str = "what the kernel stored was compared in part: not all memory behind its pointers was copied \
     (--digest compares all)";

/// A launch of both programs.
pub(super) struct CapturedPair {
    pub(super) jobs: [Job; 2],
    outputs: [Vec<Output>; 2],
    partial: bool,
}

/// Sessions in which launches of both programs were captured.
pub(super) struct Captures<'a> {
    recorded: &'a Recorded<'a>,
    made: [Session; 2],
    /// By side: the launches that were made again as before, by process and number.
    again: [BTreeSet<(u64, u64)>; 2],
}

impl<'a> Captures<'a> {
    /// Runs both programs again and captures these launches.
    ///
    /// # Errors
    /// If a program cannot be run again, or the user interrupts.
    pub(super) fn make(recorded: &'a Recorded<'a>, launches: &[[u64; 2]]) -> Result<Captures<'a>> {
        let options = Options { only_capture: true, digest: None, ..recorded.session.clone() };
        Captures::run(recorded, "-captured", launches, TOTAL_BYTES, &options)
    }

    /// The same, and records the launches as well; copies `total` bytes of memory of a side at most.
    ///
    /// # Errors
    /// If a program cannot be run again, or the user interrupts.
    pub(super) fn with_streams(
        recorded: &'a Recorded<'a>,
        launches: &[[u64; 2]],
        total: u64,
    ) -> Result<Captures<'a>> {
        Captures::run(recorded, "-path", launches, total, recorded.session)
    }

    fn run(
        recorded: &'a Recorded<'a>,
        suffix: &str,
        launches: &[[u64; 2]],
        total: u64,
        options: &Options,
    ) -> Result<Captures<'a>> {
        let bytes = (total / launches.len().max(1) as u64).min(LAUNCH_BYTES);
        let options = Options { capture: Some(bytes), ..options.clone() };
        let make = |side: usize| {
            recorded.record_launches(side, suffix, launches.iter().map(|pair| pair[side]), options.clone())
        };
        let made = [make(0)?, make(1)?];
        let again = [recorded.made_again(0, &made[0])?, recorded.made_again(1, &made[1])?];
        Ok(Captures { recorded, made, again })
    }

    /// The recordings of the runs.
    pub(super) fn sessions(&self) -> &[Session; 2] {
        &self.made
    }

    /// Whether all memory of a launch was captured on both sides.
    pub(super) fn has_whole(&self, launch: &LaunchReport) -> bool {
        (0..2).all(|side| {
            let file = self.folder(launch, side).map(|folder| folder.join(LAUNCH_FILE));
            file.is_some_and(|file| is_partial(&file).is_ok_and(|partial| !partial))
        })
    }

    fn folder(&self, launch: &LaunchReport, side: usize) -> Option<PathBuf> {
        let made = &self.made[side];
        self.again[side].get(&(launch.process, launch.launch[side]))?;
        let file = made.files.get(self.recorded.file_again(side, launch.process, made)?)?;
        Some(capture_folder(&file.path, launch.launch[side]))
    }

    /// Reads a launch of both sides. Returns `None` if a program did not make it again, or if it could not be
    /// captured; a damaged file gives a warning as well.
    pub(super) fn read(&self, launch: &LaunchReport) -> Option<CapturedPair> {
        let read = |side: usize| {
            let side_read = CapturedSide::read(&self.folder(launch, side)?);
            side_read.unwrap_or_else(|e| {
                let (name, number) = (["A", "B"][side], launch.launch[side]);
                self.recorded
                    .monitor
                    .warn(&format!("the captured launch {number} of {name} is damaged: {e:#}"));
                None
            })
        };
        Some(CapturedPair::new(read(0)?, read(1)?))
    }
}

/// Compares two captured launches, in these folders: what they left in memory on the GPU. If that differs,
/// runs both on the CPU device to find the cause. Decisions are not compared.
///
/// # Errors
/// If a folder holds no captured launch, a file is damaged, or the user interrupts.
pub fn compare_captured_launches(
    folders: [&Path; 2],
    names: [String; 2],
    options: &CompareOptions,
    monitor: &Monitor<'_>,
) -> Result<Report> {
    let read = |folder: &Path| {
        let side = CapturedSide::read(folder).with_context(|| format!("{} is damaged", folder.display()))?;
        side.with_context(|| format!("{} holds no captured launch", folder.display()))
    };
    let [a, b] = folders;
    let pair = CapturedPair::new(read(a)?, read(b)?);
    let left = &pair.jobs[0];
    let mut launch = LaunchReport {
        kernel: left.kernel.clone(),
        launch: folders.map(|folder| captured_launch(folder).unwrap_or_default()),
        grid: left.config.grid,
        block: left.config.block,
        ..LaunchReport::default()
    };
    pair.add_to(&mut launch, options);
    if options.explain && launch.verdict == Verdict::Differs {
        let how = (options.tolerance, options.diff.strict);
        explain_launch(&mut launch, (&pair.jobs, Origin::Program), &options.device, how, monitor)?;
    }
    let mut report = Report { names, pairs: 1, launches: vec![launch], ..Report::default() };
    report.conclude();
    Ok(report)
}

impl CapturedPair {
    fn new(a: CapturedSide, b: CapturedSide) -> CapturedPair {
        let mut jobs = [a.job, b.job];
        let mut outputs = [a.outputs, b.outputs];
        if let Cow::Owned(common) = with_common_outputs(&jobs) {
            for (side, outputs) in outputs.iter_mut().enumerate() {
                rename(outputs, &jobs[side], &common[side]);
            }
            jobs = common;
        }
        with_types_of_a(&mut jobs, &mut outputs);
        let [left, right] = &mut outputs;
        ignore_unchanged(&jobs, [left, right]);
        CapturedPair { jobs, outputs, partial: a.partial || b.partial }
    }

    /// Adds the outputs to the report of the launch, and computes its verdict again.
    pub(super) fn add_to(&self, launch: &mut LaunchReport, options: &CompareOptions) {
        name_differences(launch, &self.jobs);
        launch.order = launch.order && same_memory(&self.jobs);
        let [a, b] = &self.outputs;
        let compared = compare_outputs(&self.jobs, [a, b], options.tolerance);
        add_outputs(launch, compared.into_iter().map(|(output, _)| output).collect());
        if !options.diff.strict {
            launch.accept_tests_without_effect();
            launch.accept_decisions_of_other_threads();
        }
        if self.partial {
            launch.gaps.push(PARTIAL.to_owned());
            launch.conclude();
        }
    }
}

/// Gives outputs of a job the names that their arguments have in another copy of it.
fn rename(outputs: &mut [Output], job: &Job, renamed: &Job) {
    for output in outputs {
        let at = job.args.iter().position(|arg| arg.name == output.name);
        if let Some(arg) = at.and_then(|i| renamed.args.get(i)) {
            output.name.clone_from(&arg.name);
        }
    }
}

/// Gives the differences of a launch the names of the launch files. An address is no difference if the same
/// memory lies behind it.
fn name_differences(launch: &mut LaunchReport, jobs: &[Job; 2]) {
    let behind =
        |side: usize, name: &str| memory(&jobs[side].args.iter().find(|arg| arg.name == name)?.value);
    for difference in &mut launch.differences {
        let at = jobs[0].params.iter().position(|p| p.name == difference.name);
        difference.name = match at.and_then(|i| jobs[0].args.get(i)) {
            Some(arg) => arg.name.clone(),
            None => short_name(&launch.kernel, &difference.name).to_owned(),
        };
    }
    launch.differences.retain(|d| {
        let memory = || behind(0, &d.name).zip(behind(1, &d.name));
        d.what != LaunchPart::Input || memory().is_none_or(|(a, b)| a != b)
    });
}

/// Whether both sides began with the same memory behind their pointers. Otherwise the order of threads is not
/// all that decides.
fn same_memory([a, b]: &[Job; 2]) -> bool {
    a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(x, y)| memory(&x.value) == memory(&y.value))
}

/// The bytes of the memory that an argument points to, before the launch.
fn memory(value: &ArgValue) -> Option<Cow<'_, [u8]>> {
    if let ArgValue::Buffer(buffer) = value { Some(buffer.bytes()) } else { None }
}

/// A captured launch, and what it left on the GPU.
struct CapturedSide {
    job: Job,
    outputs: Vec<Output>,
    /// Whether it had more memory than was copied.
    partial: bool,
}

impl CapturedSide {
    /// Reads a captured launch. Returns `None` if the folder holds none: the program did not make the launch.
    ///
    /// # Errors
    /// If a file of the launch is damaged.
    fn read(folder: &Path) -> Result<Option<CapturedSide>> {
        let file = folder.join(LAUNCH_FILE);
        if !file.exists() {
            return Ok(None);
        }
        let job = Job::load(&file)?;
        let mut outputs = Vec::new();
        for arg in &job.args {
            let ArgValue::Buffer(buffer) = &arg.value else { continue };
            let file = folder.join(after_file(&arg.name));
            let bytes = match std::fs::read(&file) {
                Ok(file) => npy::read(&file).map_err(anyhow::Error::msg)?.bytes,
                // Nothing changed there.
                Err(_) => buffer.bytes().into_owned(),
            };
            outputs.push(Output {
                name: arg.name.clone(),
                ty: buffer.ty,
                shape: buffer.shape.clone(),
                bytes,
                expect: None,
                save: None,
            });
        }
        let mut side = CapturedSide { job, outputs, partial: is_partial(&file)? };
        side.name_from_source();
        Ok(Some(side))
    }

    /// Gives the arguments and outputs the names that the kernel's source has, if it can be read.
    fn name_from_source(&mut self) {
        let job = &mut self.job;
        let (module, _) = ptx::read(&job.text);
        let text = |path: &str| job.source_text(path);
        let Some(names) = source_names(&module, &job.kernel, job.params.len(), &text) else { return };
        let short = job.params.iter().map(|p| short_name(&job.kernel, &p.name));
        let pairs: Vec<(String, String)> = short.map(str::to_owned).zip(names).collect();
        let arguments = job.args.iter_mut().map(|arg| &mut arg.name);
        for name in arguments.chain(self.outputs.iter_mut().map(|output| &mut output.name)) {
            // What a member of a structure points to: the parameter, and the offset.
            let rest = |old: &str| name.strip_prefix(old).filter(|r| r.is_empty() || r.starts_with('_'));
            let renamed = pairs.iter().find_map(|(old, new)| Some(format!("{new}{}", rest(old)?)));
            if let Some(renamed) = renamed {
                *name = renamed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_launch_is_an_error_and_a_missing_one_is_not() {
        let folder = std::env::temp_dir().join(format!("prlx-captured-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(CapturedSide::read(&folder).unwrap().is_none());
        std::fs::write(folder.join(LAUNCH_FILE), "module = 7\n").unwrap();
        let damaged = CapturedSide::read(&folder).err().map(|e| format!("{e:#}"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(damaged.is_some_and(|e| e.contains("module")));
    }

    #[test]
    fn arguments_have_the_names_of_the_source() {
        let folder = std::env::temp_dir().join(format!("prlx-named-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0, \
             .param .align 8 .b8 k_param_1[16], .param .u32 k_param_2)\n{\n.loc 1 2 3\nret;\n}\n.file 1 \"k.cu\"\n";
        let launch = "module = \"k.ptx\"\nkernel = \"k\"\ngrid = 1\nblock = 32\n\
             [[arg]]\nname = \"param_0\"\ntype = \"f32\"\nlen = 4\nfill = 0\n[[arg]]\nname = \"param_1\"\n\
             bytes = \"0x00000000000000000000000000000000\"\npointers = [{ offset = 8, to = \"param_1_8\" }]\n\
             [[arg]]\nname = \"param_2\"\nvalue = 4\n[[buffer]]\nname = \"param_1_8\"\ntype = \"u32\"\nlen = 4\nfill = 0\n";
        std::fs::write(folder.join("k.ptx"), ptx).unwrap();
        std::fs::write(folder.join(LAUNCH_FILE), launch).unwrap();
        let names = |source: &str| {
            std::fs::write(folder.join("k.cu"), source).unwrap();
            let side = CapturedSide::read(&folder).unwrap().unwrap();
            let outputs: Vec<_> = side.outputs.iter().map(|o| o.name.clone()).collect();
            (side.job.args.iter().map(|a| a.name.clone()).collect::<Vec<_>>().join(" "), outputs.join(" "))
        };
        let named = names("__global__ void k(float *row, Table table, int n) {}");
        let other = names("__global__ void k(float *row, int n) {}");
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(named, ("row table n table_8".into(), "row table_8".into()));
        assert_eq!(other, ("param_0 param_1 param_2 param_1_8".into(), "param_0 param_1_8".into()));
    }
}
