//! Whether the assembler kept what stands in a region in it: the rewritten module is assembled, and its listing held against the source's order.

use prlx_driver::Job;
use prlx_driver::assemble::listing;
use prlx_instrument::Rewrite;
use prlx_instrument::reordering::{Direction, LineMapped, Moved, RegionReordering};
use prlx_isa::image::Target;
use prlx_isa::sass;
use prlx_timeline::Note;

/// Most instructions of a region that are named.
const NAMED: usize = 6;

/// What is to be said of a launch file's kernel; `device`: the GPU's architecture, else the module's own is assembled for.
pub fn check(job: &Job, rewrite: &Rewrite, device: Option<Target>) -> Vec<Note> {
    let kernel = prlx_present::safe(&job.kernel);
    let line_mapped = LineMapped::new(&job.text, rewrite).map_err(|e| e.to_string());
    let listed =
        line_mapped.and_then(|line_mapped| Ok((listing::listing(&line_mapped.text, device)?, line_mapped)));
    let (listing, line_mapped) = match listed {
        Ok(both) => both,
        Err(why) => {
            let text = format!("kernel was not held against its machine code, {kernel}: {why}");
            return vec![Note { kind: "machine-code", count: 1, text }];
        }
    };
    let regions = line_mapped.reorderings(&job.text, rewrite, &sass::blocks(&listing));
    let mut notes: Vec<Note> =
        regions.iter().filter(|l| !l.moved.is_empty()).map(|l| of_region(l, rewrite, &kernel)).collect();
    let sum = |of: fn(&RegionReordering) -> u64| regions.iter().map(of).sum::<u64>();
    let (all, told, moved) = (sum(|l| l.instructions), sum(|l| l.located), sum(|l| l.moved.len() as u64));
    if all > 0 {
        let elsewhere = if moved == 0 { "none is".to_owned() } else { format!("{moved} are") };
        let text = format!(
            "memory accesses, products and waits stand in regions of {kernel}: machine code tells of {told}, {elsewhere} elsewhere"
        );
        notes.insert(0, Note { kind: "machine-code", count: all, text });
    }
    notes
}

fn of_region(region: &RegionReordering, rewrite: &Rewrite, kernel: &str) -> Note {
    let module = &rewrite.plan.module;
    let named = |m: &Moved| {
        let loc = m.loc.and_then(|l| module.locs.get(l.index()));
        let file = loc
            .and_then(|l| module.files.get(l.file.index()))
            .map(|f| f.path.rsplit('/').next().unwrap_or(&f.path));
        let at = loc.zip(file).map(|(l, file)| format!(" ({file}:{})", l.line)).unwrap_or_default();
        let direction = match m.direction {
            Direction::Before => "before its begin",
            Direction::After => "behind its end",
            Direction::Inside => "from outside, in it",
        };
        format!("{}{at} {direction}", m.opcode)
    };
    let mut all: Vec<String> = region.moved.iter().take(NAMED).map(named).collect();
    if region.moved.len() > NAMED {
        all.push(format!("{} more", region.moved.len() - NAMED));
    }
    let text =
        format!("of region {} of {kernel} elsewhere in machine code: {}", region.region, all.join(", "));
    Note { kind: "moved", count: region.moved.len() as u64, text: prlx_present::safe(&text) }
}
