//! `prlx profile`: where the cycles go, from markers that are recorded.

mod app;
mod calibrate;
mod diff;
mod files;
mod machine;

use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx_plan::markers::Marking;
use prlx_plan::{Filter, RecordingRequest};
use prlx_trace::device::tracks::Form;

use crate::args::{Auto, Kept, ProfileArgs, ProfileCommand};
use crate::ui::Ui;

/// Runs it.
pub fn run(args: &ProfileArgs, ui: &Ui) -> Result<ExitCode> {
    match &args.also {
        Some(ProfileCommand::Diff(args)) => diff::run(args, ui),
        None if args.sums && (args.view.of_spans().is_some() || args.view.html.is_some()) => {
            let option = args.view.of_spans().unwrap_or("--html");
            bail!("{option} shows visits one by one, and --sums only adds them up")
        }
        None if args.sums && args.format == Kept::Cudaprofiler => {
            bail!("--format cudaprofiler has visits one by one, and --sums only adds them up")
        }
        None if args.sums && args.machine_code => {
            bail!("--machine-code looks at the records of markers, and --sums leaves none")
        }
        None if args.machine_code && !args.command.is_empty() => {
            bail!("--machine-code is for launch files")
        }
        None if args.command.is_empty() => files::run(args, ui),
        None => app::run(args, ui),
    }
}

/// Where there are no markers: what else can be marked.
fn others(args: &ProfileArgs) -> &'static str {
    if args.auto.is_empty() && args.line.is_empty() {
        "\n  --auto marks waits, arrivals and asynchronous work; docs/markers.md has the others"
    } else if !args.auto.iter().any(|kind| matches!(kind, Auto::Trip | Auto::Function)) {
        "\n  --auto=trip,function marks trips of loops and functions"
    } else {
        ""
    }
}

/// What to weave into a launch file's module.
fn program(args: &ProfileArgs, filter: Filter) -> RecordingRequest {
    RecordingRequest { filter, ..RecordingRequest::of_markers(marking(args)) }
}

/// Which markers leave records.
fn marking(args: &ProfileArgs) -> Marking {
    Marking {
        source: true,
        outside: args.auto.iter().map(|a| a.via()).collect(),
        lines: args.line.clone(),
        lanes: args.lanes,
        form: match (args.sums, args.flight_recorder) {
            (true, _) => Form::Sums,
            (false, Some(entries)) => Form::Ring { entries },
            (false, None) if args.spans => Form::Spans,
            (false, None) => Form::Records,
        },
        spare: true,
    }
}
