//! Reads PTX from standard input and prints it with its markers recorded.
//!
//! The first argument names kinds of automatic markers. The second selects the form: `spans` (one record per
//! region), `sums` (regions are added up) or `ring` (the last records are kept).

use std::io::Read;

use prlx_plan::RecordingRequest;
use prlx_plan::markers::MarkerOptions;
use prlx_trace::device::tracks::Form;
use prlx_trace::mark::Via;

const OUTSIDE: [Via; 5] = [Via::Barrier, Via::Mbarrier, Via::Tma, Via::CpAsync, Via::Wgmma];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let kinds = std::env::args().nth(1).unwrap_or_default();
    let outside = OUTSIDE.into_iter().filter(|via| kinds.split(',').any(|k| k == via.name())).collect();
    let form = match std::env::args().nth(2).as_deref() {
        Some("spans") => Form::Spans,
        Some("sums") => Form::Sums,
        Some("ring") => Form::Ring { entries: 60 },
        _ => Form::Records,
    };
    let marking = MarkerOptions { source: true, outside, form, ..MarkerOptions::default() };
    let program = RecordingRequest::of_markers(marking);
    print!("{}", prlx_instrument::rewrite(&text, "standard input", &program, &|_| None)?.text);
    Ok(())
}
