//! The static part of a recording as text: kernels, control flow, loops, sites.
//!
//! # Invariants
//! The same module gives the same text.
//!
//! # Limitations
//! Only sites and the ends of blocks are shown, not every instruction.

use std::io::{self, Write};

use prlx_trace::BlockId;
use prlx_trace::kernel::{Block, End, Function, Module, Site, SiteClass, Source};
use prlx_trace::names::display_names;

use super::place::{one_line, place};
use super::recorded::recorded;
use crate::format::clean;

/// The part of a module that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleView {
    /// One line for each function.
    Functions,
    /// Blocks and edges.
    Blocks,
    /// The loop nest.
    Loops,
    /// Sites, and how each is recorded.
    Sites,
    /// What level `path` records.
    Plan,
}

/// Writes the functions of `module` that `wanted` accepts. With [`ModuleView::Functions`], also the `notes`
/// on each.
///
/// # Errors
/// When `out` does.
pub fn inspect(
    out: &mut impl Write,
    module: &Module,
    view: ModuleView,
    wanted: &dyn Fn(&str) -> bool,
    notes: &dyn Fn(&str) -> Vec<String>,
) -> io::Result<()> {
    writeln!(out, "{}  {}", module.name, module.target)?;
    let mut sites_of: Vec<Vec<&Site>> = vec![Vec::new(); module.functions.len()];
    for site in &module.sites {
        if let Some(sites) = sites_of.get_mut(site.function.index()) {
            sites.push(site);
        }
    }
    let names = display_names(module.functions.iter().map(|f| f.name.as_str()));
    let functions = module.functions.iter().zip(names).zip(sites_of);
    for ((function, name), sites) in functions.filter(|((f, _), _)| wanted(&f.name)) {
        header(out, function, &name, &sites)?;
        match view {
            ModuleView::Functions => {
                notes(&function.name).iter().try_for_each(|note| writeln!(out, "    {note}"))?
            }
            ModuleView::Blocks => {
                for (b, block) in function.blocks.iter().enumerate() {
                    writeln!(
                        out,
                        "    {:<4} {:<24} {}",
                        format!("b{b}"),
                        edges(block),
                        place(module, block.loc)
                    )?;
                }
            }
            ModuleView::Plan => recorded(out, module, function, &sites)?,
            ModuleView::Loops => {
                for (l, lp) in function.loops.iter().enumerate() {
                    let depth =
                        std::iter::successors(lp.parent, |p| function.loops.get(p.index())?.parent).count();
                    let odd = if lp.irreducible { "  irreducible" } else { "" };
                    let indent = "  ".repeat(depth + 2);
                    let at = place(module, lp.loc);
                    writeln!(
                        out,
                        "{indent}loop{l}  header b{}  {} blocks{odd}  {at}",
                        lp.header.0,
                        lp.blocks.len()
                    )?;
                }
            }
            ModuleView::Sites => {
                for site in sites {
                    let how = how(site);
                    writeln!(
                        out,
                        "    {:<7} {how:<13} {:<22} {}",
                        site.class.name(),
                        place(module, site.loc),
                        if site.class == SiteClass::Entry { clean(&name) } else { one_line(&site.text) }
                    )?;
                    for s in &site.steers {
                        writeln!(out, "            controls {:<7} {}", s.class.name(), one_line(&s.text))?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn header(out: &mut impl Write, function: &Function, name: &str, sites: &[&Site]) -> io::Result<()> {
    let kind = if function.kernel { "kernel" } else { "device function" };
    let of = |f: fn(&Source) -> bool| sites.iter().filter(|s| s.class.decides() && f(&s.source)).count();
    let (bits, computed, trips, follow) = (
        of(|s| matches!(s, Source::Bits(_))),
        of(|s| matches!(s, Source::Computed)),
        of(|s| matches!(s, Source::Trips { .. })),
        of(|s| matches!(s, Source::Follows)),
    );
    write!(
        out,
        "  {} ({kind})  {} blocks, {} loops, {} decisions: {bits} recorded, {trips} trip counts, {computed} reconstructed",
        clean(name),
        function.blocks.len(),
        function.loops.len(),
        bits + computed + trips + follow,
    )?;
    match follow {
        0 => writeln!(out)?,
        _ => writeln!(out, ", {follow} follow from hashed values")?,
    }
    if let Some(why) = &function.skipped {
        writeln!(out, "    not recorded: {why}")?;
    }
    Ok(())
}

fn how(site: &Site) -> String {
    if site.skipped.is_some() {
        return "skipped".into();
    }
    match site.source {
        Source::None => "-".into(),
        Source::Bits(1) => "bit".into(),
        Source::Bits(n) => format!("{n} bits"),
        Source::Computed => "reconstructed".into(),
        Source::Trips { .. } => "trips".into(),
        Source::Follows => "follows".into(),
    }
}

fn edges(block: &Block) -> String {
    let to = |b: &BlockId| format!("b{}", b.0);
    match &block.end {
        End::Jump(b) => format!("-> {}", to(b)),
        End::Branch { taken, other, .. } => format!("-> {} | {}", to(taken), to(other)),
        End::Switch { targets, .. } => {
            format!("-> [{}]", targets.iter().map(to).collect::<Vec<_>>().join(" "))
        }
        End::Return => "return".into(),
        End::Exit => "exit".into(),
    }
}
