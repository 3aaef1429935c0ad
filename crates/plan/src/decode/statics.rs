//! The static half of a recording: tables of the view that the trace keeps, and the descriptions of sites.

use prlx_isa::dataflow::SteerKind;
use prlx_isa::view::{self, FunctionKind};
use prlx_trace::kernel::{Loc, Loop, Operand, Param, Site, SiteClass, Source, SourceFile, Steered};
use prlx_trace::{BlockId, FileId, FuncId, LocId, LoopId};
use rustc_hash::FxHashMap;

use crate::decode::slice;
use crate::function::body::{Body, scalar};
use crate::function::points::{self, Point};

/// Source files, with their text where `sources` has it.
pub(crate) fn files(module: &view::Module, sources: &dyn Fn(&str) -> Option<String>) -> Vec<SourceFile> {
    module.files.iter().map(|f| SourceFile { path: f.path.clone(), text: sources(&f.path) }).collect()
}

/// Locations; their numbers are the view's.
pub(crate) fn locs(module: &view::Module) -> Vec<Loc> {
    let loc = |l: &view::Loc| Loc {
        file: FileId(l.file),
        line: l.line,
        column: l.column,
        function: l.function.clone(),
        inlined_at: l.inlined_at.map(|i| LocId(i.0)),
    };
    module.locs.iter().map(loc).collect()
}

/// The parameters of a kernel, with offset and size in bytes in the parameter buffer. Empty for a device
/// function, whose parameters lie in no buffer.
pub fn kernel_params(module: &view::Module, function: &view::Function) -> Vec<Param> {
    if function.kind != FunctionKind::Kernel {
        return Vec::new();
    }
    let symbols = function.params.iter().zip(&function.param_offsets);
    let param = |(s, offset): (&view::SymbolId, &u32)| {
        let symbol = module.symbols.get(s.index())?;
        let size = u32::try_from(symbol.size).unwrap_or(u32::MAX);
        Some(Param { name: symbol.name.clone(), ty: scalar(symbol.ty), offset: *offset, size })
    };
    symbols.filter_map(param).collect()
}

/// The loops, with the view's numbers of blocks.
pub(crate) fn loops(body: &Body<'_>) -> Vec<Loop> {
    let id = |b: &view::BlockId| BlockId(b.0);
    let one = |l: &prlx_isa::cfg::Loop| Loop {
        header: id(&l.header),
        parent: l.parent.map(|p| LoopId(p as u32)),
        blocks: l.blocks.iter().map(id).collect(),
        irreducible: l.irreducible,
        loc: body.parts[l.header.index()]
            .insts
            .clone()
            .find_map(|i| body.loc(view::InstId(i)))
            .map(|l| LocId(l.0)),
    };
    body.graph.loops.iter().map(one).collect()
}

/// The locations of calls through pointers.
pub(crate) fn pointer_calls(body: &Body<'_>) -> Vec<Option<LocId>> {
    let insts = (0..).map(view::InstId).zip(&body.function.insts);
    let calls = insts.filter(|(_, inst)| inst.calls_pointer());
    calls.map(|(at, _)| body.loc(at).map(|l| LocId(l.0))).collect()
}

/// The sites of `points`, in their order; with `why`, of decisions also what they are computed from.
pub(crate) fn sites(body: &Body<'_>, points: &[Point], why: bool) -> Vec<Site> {
    let mut by_place: FxHashMap<(&view::Loc, SiteClass), u32> = FxHashMap::default();
    let mut by_class: FxHashMap<SiteClass, u32> = FxHashMap::default();
    let mut out = Vec::with_capacity(points.len());
    for p in points {
        let loc = p.at.and_then(|at| body.loc(at)).or_else(|| ends(body, p));
        let place = loc.and_then(|l| body.module.locs.get(l.index()));
        let ordinal = next(by_class.entry(p.class).or_default());
        let nth = place.map_or(ordinal, |l| next(by_place.entry((l, p.class)).or_default()));
        let (values, _) = p.operands();
        let operand =
            |o: &view::Operand| Operand { name: points::name(body, o), ty: points::type_of(body, p, o) };
        out.push(Site {
            function: FuncId(body.id.0),
            block: BlockId(p.part.0),
            loc: loc.map(|l| LocId(l.0)),
            class: p.class,
            nth,
            text: p.at.map(|at| body.text(at)).unwrap_or_else(|| body.function.name.clone()),
            source: Source::None,
            operands: values.iter().map(operand).collect(),
            steers: steers(body, p),
            slice: if why { decision_slice(body, p) } else { Vec::new() },
            skipped: None,
        });
    }
    out
}

/// The count so far; one more from now on.
fn next(count: &mut u32) -> u32 {
    *count += 1;
    *count - 1
}

/// The location of an entry or an exit without an instruction of its own: the nearest in the text.
fn ends(body: &Body<'_>, p: &Point) -> Option<view::LocId> {
    match (p.class, p.at) {
        (SiteClass::Entry, _) => body.function.insts.iter().find_map(|i| i.loc),
        (SiteClass::Exit, None) => body.function.insts.iter().rev().find_map(|i| i.loc),
        _ => None,
    }
}

fn steers(body: &Body<'_>, p: &Point) -> Vec<Steered> {
    let Some(d) = p.decision else { return Vec::new() };
    let one = |&(at, kind): &(view::InstId, SteerKind)| Steered {
        class: match kind {
            SteerKind::Branch => SiteClass::Branch,
            SteerKind::Guard => SiteClass::Guard,
            SteerKind::Select => SiteClass::Select,
            SteerKind::Switch => SiteClass::Switch,
        },
        text: body.text(at),
        loc: body.loc(at).map(|l| LocId(l.0)),
    };
    body.decisions[d].steers.iter().map(one).collect()
}

fn decision_slice(body: &Body<'_>, p: &Point) -> Vec<prlx_trace::kernel::Node> {
    let Some(d) = p.decision else { return Vec::new() };
    let decision = &body.decisions[d];
    slice::slice(body, decision.at, body.is_switch(d).then_some(decision.reg))
}
