//! Finds instructions that the assembler moved out of the regions that markers time, or into them.
//!
//! The rewritten module is assembled, and the order in the listing is compared with the order in the source.

use prlx_driver::Job;
use prlx_driver::assemble::listing;
use prlx_instrument::Rewrite;
use prlx_instrument::reordering::{Direction, LineMapped, Moved, RegionReordering};
use prlx_isa::image::Target;
use prlx_isa::sass;
use prlx_timeline::Note;

/// Maximum number of moved instructions that a note lists for a region.
const LISTED: usize = 6;

/// Notes about a launch file's kernel, assembled for the architecture `device`, or for the module's own.
pub(super) fn check(job: &Job, rewrite: &Rewrite, device: Option<Target>) -> Vec<Note> {
    let kernel = prlx_present::safe(&job.kernel);
    let line_mapped = LineMapped::new(&job.text, rewrite).map_err(|e| e.to_string());
    let listed =
        line_mapped.and_then(|line_mapped| Ok((listing::listing(&line_mapped.text, device)?, line_mapped)));
    let (listing, line_mapped) = match listed {
        Ok(both) => both,
        Err(why) => {
            let text = format!("kernel was not compared with its machine code, {kernel}: {why}");
            return vec![Note { kind: "machine-code", count: 1, text }];
        }
    };
    let regions = line_mapped.reorderings(&job.text, rewrite, &sass::blocks(&listing));
    let mut notes: Vec<Note> =
        regions.iter().filter(|l| !l.moved.is_empty()).map(|l| region_note(l, rewrite, &kernel)).collect();
    let sum = |of: fn(&RegionReordering) -> u64| regions.iter().map(of).sum::<u64>();
    let (all, located, moved) = (sum(|l| l.instructions), sum(|l| l.located), sum(|l| l.moved.len() as u64));
    if all > 0 {
        let text = format!(
            "memory accesses, matrix products and waits in regions of {kernel}: {located} found in the machine code, \
             {moved} outside their region"
        );
        notes.insert(0, Note { kind: "machine-code", count: all, text });
    }
    notes
}

fn region_note(region: &RegionReordering, rewrite: &Rewrite, kernel: &str) -> Note {
    let module = &rewrite.plan.module;
    let named = |m: &Moved| {
        let loc = m.loc.and_then(|l| module.locs.get(l.index()));
        let file = loc
            .and_then(|l| module.files.get(l.file.index()))
            .map(|f| f.path.rsplit('/').next().unwrap_or(&f.path));
        let at = loc.zip(file).map(|(l, file)| format!(" ({file}:{})", l.line)).unwrap_or_default();
        let direction = match m.direction {
            Direction::Before => "before its begin",
            Direction::After => "after its end",
            Direction::Inside => "from outside into it",
        };
        format!("{}{at} {direction}", m.opcode)
    };
    let mut all: Vec<String> = region.moved.iter().take(LISTED).map(named).collect();
    if region.moved.len() > LISTED {
        all.push(format!("{} more", region.moved.len() - LISTED));
    }
    let text = format!(
        "moved across the bounds of region {} of {kernel} by the assembler: {}",
        region.region,
        all.join(", ")
    );
    Note { kind: "moved", count: region.moved.len() as u64, text: prlx_present::safe(&text) }
}
