//! Recorder routines as text, for targets that compile them ([`crate::routines`]).

use prlx_isa::view::Module;
use prlx_plan::{At, FunctionPlan, Insertion, Plan};

use crate::ptx::addressing::GRID_WARP;
use crate::ptx::call_sites::Calls;
use crate::ptx::lane_state::{StateLayout, visit_of};
use crate::ptx::lowering::{Lowering, Output, visit_counters};
use crate::ptx::markers::registers::{LoopConstants, open_span_registers};
use crate::ptx::snippet::Snippet;

/// The routines of a plan.
pub struct Routines<'a> {
    module: &'a Module,
    plan: &'a Plan,
    state: StateLayout,
    calls: Calls,
    empty: FunctionPlan,
}

/// Special registers that hardware hands over when a kernel begins, and names for what keeps them.
pub const KEPT_SPECIALS: [(&str, &str); 6] = [
    ("%tid.x", "tid_x"),
    ("%tid.y", "tid_y"),
    ("%tid.z", "tid_z"),
    ("%ctaid.x", "ctaid_x"),
    ("%ctaid.y", "ctaid_y"),
    ("%ctaid.z", "ctaid_z"),
];

/// The text of a routine, before it is compiled.
#[derive(Clone, Debug)]
pub struct Text {
    /// Labels and instructions, one a line.
    pub lines: String,
    /// Registers that it declares: type, name after the prefix.
    pub declared: Vec<(&'static str, String)>,
}

impl Text {
    fn of(snippet: Snippet<'_>) -> Text {
        let (lines, declared) = snippet.into_parts();
        Text { lines, declared }
    }
}

/// Prefix of the names of inserted registers, after the `%`.
pub const PREFIX: &str = "prlx_";

impl<'a> Routines<'a> {
    /// The routines of a plan for a module of machine code.
    pub fn new(module: &'a Module, plan: &'a Plan) -> Routines<'a> {
        let state = StateLayout::new(plan, &vec![0; module.functions.len()]);
        Routines { module, plan, state, calls: Calls::none(module), empty: FunctionPlan::default() }
    }

    /// Names and sizes in bytes of the registers that are live through all functions.
    pub fn state(&self) -> impl Iterator<Item = (String, u64)> + use<'_> {
        self.state.shared.iter().map(|kept| (kept.name.clone(), kept.size))
    }

    /// Names and sizes of those of one activation of a function.
    pub fn counters(&self, function: usize) -> impl Iterator<Item = (String, u64)> + use<> {
        let of_plan = self.plan.functions.get(function).unwrap_or(&self.empty);
        let kept = self.state.state_registers(of_plan.trip_counters, 0);
        let spans = open_span_registers(of_plan).into_iter().map(|name| (name, 4));
        kept.into_iter().skip(self.state.shared.len()).map(|kept| (kept.name, kept.size)).chain(spans)
    }

    /// The texts of what is inserted at one place of a function. Events for the same lanes have one.
    pub fn texts(&self, function: usize, insertions: &[&Insertion]) -> Vec<Text> {
        let lowering = self.lowering(function);
        let pieces = self.plan.event_groups(insertions);
        let text = |piece: &[&Insertion]| {
            let mut snippet = Snippet::new(PREFIX, 0);
            lowering.piece(&mut snippet, piece);
            Text::of(snippet)
        };
        pieces.map(text).collect()
    }

    /// Names and sizes of the visit counters of a function. They count through a whole thread.
    pub fn visits(&self, function: usize) -> impl Iterator<Item = (String, u64)> + use<> {
        let of_plan = self.plan.functions.get(function).unwrap_or(&self.empty);
        (0..visit_counters(of_plan)).map(move |counter| (visit_of(function, counter), 4))
    }

    /// The text that sets the visit counters of functions.
    pub fn begin_visits(&self, functions: &[usize]) -> Text {
        let mut snippet = Snippet::new(PREFIX, 0);
        for (name, _) in functions.iter().flat_map(|f| self.visits(*f)) {
            snippet.ptx(&format!("mov.u32 %~{name}, 0;"));
        }
        Text::of(snippet)
    }

    /// Registers that hold special registers for routines that read them when they are gone: the special
    /// register, and the name.
    pub fn kept_specials(&self, functions: &[usize]) -> Vec<(&'static str, &'static str)> {
        let read = |name: &str| {
            let mut texts = functions.iter().flat_map(|f| self.all_texts(*f));
            texts.any(|text| {
                text.lines.contains(&format!("{name};")) || text.lines.contains(&format!("{name},"))
            })
        };
        KEPT_SPECIALS.into_iter().filter(|(name, _)| read(name)).collect()
    }

    /// The text that copies these registers.
    pub fn keep_specials(kept: &[(&'static str, &'static str)]) -> Text {
        let mut snippet = Snippet::new(PREFIX, 0);
        for (special, name) in kept {
            snippet.ptx(&format!("mov.u32 %~{name}, {special};"));
        }
        Text::of(snippet)
    }

    fn all_texts(&self, function: usize) -> Vec<Text> {
        let insertions = self.plan.functions.get(function).map_or(&[][..], |f| &f.insertions);
        let mut all: Vec<&Insertion> = insertions.iter().collect();
        all.sort_by_key(|i| match i.at {
            At::Before(inst) => (1, inst.index()),
            At::After(inst) => (2, inst.index()),
            _ => (0, 0),
        });
        let places = all.chunk_by(|a, b| a.at == b.at);
        places.flat_map(|here| self.texts(function, here)).collect()
    }

    /// The text that computes the number of the warp in the grid, into [`GRID_WARP`].
    pub fn warp_index(&self, function: usize) -> Text {
        let mut snippet = Snippet::new(PREFIX, 0);
        self.lowering(function).compute_warp_index(&mut snippet);
        snippet.ptx(&format!("mov.uniform.u32 {GRID_WARP}, %~warp;"));
        Text::of(snippet)
    }

    fn lowering(&self, function: usize) -> Lowering<'_> {
        Lowering {
            source: "",
            module: self.module,
            plan: self.plan,
            function: &self.module.functions[function],
            of_plan: self.plan.functions.get(function).unwrap_or(&self.empty),
            index: function,
            state: &self.state,
            visits: &[],
            own_visits: 0,
            calls: &self.calls,
            constants: LoopConstants::default(),
            chain_ends: std::collections::HashSet::new(),
            arch: 0,
            output: Output::Wave,
            calls_next_chunk: false,
        }
    }
}
