//! One cause for each group of differing elements.
//!
//! A few elements of each output are followed back, spread over all that differ. Those that end at the same
//! place with the same class are one group.

use std::collections::BTreeSet;

use prlx_trace::check::{Findings, Space};
use prlx_trace::dataflow::{Action, DataFlow};
use prlx_trace::element;
use prlx_trace::kernel::Scalar;

use super::checks;
use super::code_match::CodeMatch;
use super::flow::{At, Flow, Source, Word};
use super::place::place_of;
use super::source_changes::{SourceChanges, SourceFiles};
use super::value::{Canonical, canonical};
use super::walk::{Context, Found, Pair, Walk};
use crate::outputs::index;
use crate::report::{Cause, CauseClass, CausePlace, CauseStep, ORDER_ADVICE};
use crate::value::format_value;

/// Elements of an output that are followed back.
const FOLLOWED: usize = 8;
/// Causes of a launch that are kept.
const KEPT: usize = 3;
/// Steps of a cause that are kept, at either end of the way.
const STEPS: usize = 8;

/// An output whose content differs.
#[derive(Clone, PartialEq, Debug)]
pub struct DifferingOutput {
    /// The argument's name, which is also the buffer's in both recordings.
    pub name: String,
    /// Type of the elements.
    pub ty: Scalar,
    /// Sizes of the dimensions, slowest first.
    pub shape: Vec<u64>,
    /// The elements that differ, ascending.
    pub elements: Vec<u64>,
    /// By side: the content.
    pub bytes: [Vec<u8>; 2],
}

/// What is known of two launches whose outputs differ.
#[derive(Clone, Copy, Debug)]
pub struct ExplainedLaunch<'a> {
    /// By side: the data flow.
    pub flows: [&'a DataFlow; 2],
    /// By side: what the checks found.
    pub findings: [&'a Findings; 2],
    /// The outputs that differ.
    pub outputs: &'a [DifferingOutput],
    /// By side: the source files that could be read.
    pub files: [&'a SourceFiles; 2],
    /// By side: why the run stopped before its end.
    pub stopped: [Option<&'a str>; 2],
}

impl ExplainedLaunch<'_> {
    /// What differs in the source.
    pub fn changes(&self) -> SourceChanges {
        SourceChanges::new(self.flows, self.files)
    }

    /// Whether the threads of both sides correspond by their position.
    pub(super) fn same_geometry(&self) -> bool {
        let [a, b] = self.flows;
        a.grid == b.grid && a.block == b.block
    }
}

/// What elements with one cause have in common.
#[derive(PartialEq)]
enum Key {
    /// The class and the instructions of both sides.
    Place(CauseClass, [Option<u32>; 2]),
    /// An error that a check found: the lines of both sides and of the other access.
    Check(CauseClass, [Option<(String, u32)>; 3]),
}

impl Key {
    fn of_check(cause: &Cause) -> Key {
        let [a, b] = &cause.places;
        let line = |place: &Option<CausePlace>| {
            let place = place.as_ref()?;
            Some(match &place.location {
                Some(at) => (at.file.clone(), at.line),
                None => (place.function.clone(), place.module_line),
            })
        };
        Key::Check(cause.class, [line(a), line(b), line(&cause.other)])
    }
}

/// Elements of one output that end at the same place.
struct Group {
    key: Key,
    /// Whether it comes before others whatever its rank.
    leads: bool,
    rank: u8,
    order: u64,
    cause: Cause,
}

/// Why outputs differ.
#[derive(Debug, Default)]
pub struct Explanation {
    /// The causes; the first one explains most of the elements that were followed.
    pub causes: Vec<Cause>,
    /// CTAs whose data flow was not recorded, although an element led there.
    pub unrecorded: BTreeSet<u64>,
}

/// The CTAs that stored the elements which [`explain`] follows.
#[derive(Debug, Default)]
pub struct StoringCtas {
    /// By side: the last CTAs that stored them, recorded or not.
    pub ctas: [BTreeSet<u64>; 2],
    /// Whether several CTAs stored one of them, in visits that are not recorded.
    pub several: bool,
}

/// Finds the CTAs that stored the elements which [`explain`] follows.
pub fn storing_ctas(launch: &ExplainedLaunch<'_>) -> StoringCtas {
    let flows = Flow::of_sides(launch.flows);
    let mut out = StoringCtas::default();
    for output in launch.outputs {
        for element in sample(&output.elements) {
            let Some(sources) = start([&flows[0], &flows[1]], output, element) else { continue };
            for (side, source) in sources.iter().enumerate() {
                let Source::Memory(word) = source else { continue };
                let flow = &flows[side];
                let recorded = || Some(flow.cta(flow.writer(word)?.at));
                out.ctas[side].extend(flow.unrecorded_writer(word).or_else(recorded));
                out.several |= flow.data.unrecorded.several(word.address, word.bytes);
            }
        }
    }
    out
}

/// Finds out why outputs differ.
pub fn explain(launch: &ExplainedLaunch<'_>) -> Explanation {
    let flows = Flow::of_sides(launch.flows);
    let flows = [&flows[0], &flows[1]];
    let code = CodeMatch::new(launch.flows, launch.files);
    let same_geometry = launch.same_geometry();
    let mut groups: Vec<Group> = Vec::new();
    let mut unrecorded = BTreeSet::new();
    for output in launch.outputs {
        for element in sample(&output.elements) {
            let Some(sources) = start(flows, output, element) else { continue };
            let mut walk =
                Walk::run(flows, &code, same_geometry, sources, [At { warp: 0, visit: 0, lane: 0 }; 2]);
            let nan = [0, 1].map(|s| element::as_f64(output.ty, element_bits(output, s, element)).is_nan());
            let first = walk.pairs[0].clone();
            walk.nan(0, &first, nan);
            unrecorded.append(&mut walk.unrecorded);
            let Some(mut found) = walk.best().cloned() else { continue };
            let by_check = checks::refine(&walk, launch.findings, &mut found);
            let order = [0, 1].map(|s| found.places[s].map_or(u64::MAX, |at| flows[s].order(at)));
            let mut cause = cause(&walk, &found, output, element);
            let checked = by_check.is_some();
            let leads = checked || walk.leads(&found);
            let key = match by_check {
                Some(check) => {
                    checks::fill_in(&mut cause, check, &walk.code.changes);
                    super::relocate::to_only_change(&walk.code.changes, &mut cause);
                    Key::of_check(&cause)
                }
                None => {
                    super::relocate::to_change(&walk, &found, &mut cause);
                    Key::Place(found.class, [0, 1].map(|s| found.places[s].map(|at| flows[s].number(at))))
                }
            };
            // An error that a check found is one cause, whatever outputs it shows in.
            // So is an argument that differs, whatever instructions use it.
            let argument = |g: &Group| {
                (g.cause.class, cause.class) == (CauseClass::Input, CauseClass::Input)
                    && g.cause.what == cause.what
            };
            let same =
                |g: &&mut Group| (g.key == key || argument(g)) && (checked || g.cause.output == output.name);
            match groups.iter_mut().find(same) {
                Some(group) => group.cause.elements += 1,
                None => {
                    groups.push(Group { key, leads, rank: found.rank, order: order[0].min(order[1]), cause })
                }
            }
        }
    }
    // An error counts elements of all outputs.
    for Group { key, cause, .. } in &mut groups {
        let checked = matches!(key, Key::Check(..));
        let outputs = launch.outputs.iter().filter(|o| checked || o.name == cause.output);
        cause.followed = outputs.map(|o| sample(&o.elements).len() as u64).sum();
    }
    groups.sort_by_key(|g| (!g.leads, g.rank, std::cmp::Reverse(g.cause.elements), g.order));
    let cut = launch.flows.iter().any(|f| !f.complete);
    let mut causes: Vec<Cause> = groups.into_iter().map(|g| g.cause).collect();
    for cause in &mut causes {
        if cut {
            cause.uncertain = Some("the recording of the data flow reached its memory limit".into());
        } else if !code.similar
            && !matches!(cause.class, CauseClass::Race | CauseClass::Nan | CauseClass::Input)
        {
            cause.uncertain =
                Some("large parts of the code of one side have no counterpart on the other".into());
        }
    }
    causes.truncate(KEPT);
    Explanation { causes, unrecorded }
}

/// A few of the elements, spread evenly.
fn sample(elements: &[u64]) -> Vec<u64> {
    let n = elements.len().min(FOLLOWED);
    (0..n).map(|i| elements[i * elements.len() / n.max(1)]).collect()
}

/// The memory of an element after the launch.
fn start(flows: [&Flow<'_>; 2], output: &DifferingOutput, element: u64) -> Option<[Source; 2]> {
    let bytes = output.ty.bits().div_ceil(8);
    let mut words = flows.map(|flow| {
        let buffer = flow.data.buffers.iter().find(|b| b.name == output.name)?;
        let address = buffer.base.checked_add(element.checked_mul(u64::from(bytes))?)?;
        Some(Source::Memory(Word { space: Space::Global, owner: 0, address, bytes, before: u64::MAX }))
    });
    Some([words[0].take()?, words[1].take()?])
}

/// The bits of an element of an output.
fn element_bits(output: &DifferingOutput, side: usize, element: u64) -> u64 {
    element::get(output.ty, &output.bytes[side], element as usize).unwrap_or_default()
}

fn cause(walk: &Walk<'_>, found: &Found, output: &DifferingOutput, element: u64) -> Cause {
    let values = [0, 1].map(|s| format_value(element_bits(output, s, element), output.ty));
    let chain = walk.chain(found.pair);
    let mut what = found.what.clone();
    if let Some(shown) = operands(walk, chain.last().copied(), found) {
        what = format!("{what}: {shown}");
    }
    for side in [0, 1] {
        // Elsewhere, as in hashes, wrapping is what is wanted.
        let mut addresses = chain.iter().filter(|p| p.context == Context::Address);
        if addresses.any(|p| wraps(walk, side, &p.sources[side])) {
            what = format!(
                "{what}; a 32-bit result of the index arithmetic wraps in {}",
                super::walk::name(side)
            );
            break;
        }
    }
    Cause {
        class: found.class,
        output: output.name.clone(),
        element: index(&output.shape, element),
        values,
        elements: 1,
        followed: 0,
        what,
        advice: match (found.class, found.other) {
            (CauseClass::Order, Some(_)) => ORDER_ADVICE.to_owned(),
            (class, _) => class.advice().to_owned(),
        },
        places: found_places(walk, found),
        other: found.other.and_then(|(side, at)| place(walk.flows[side], at)),
        steps: steps(walk, &chain),
        uncertain: None,
    }
}

/// The cause of an error or a decision that a walk explains. `other`: where it is.
pub(super) fn cause_of_walk(
    walk: &Walk<'_>,
    found: &Found,
    what: String,
    other: Option<CausePlace>,
) -> Cause {
    let mut cause = Cause {
        class: found.class,
        what,
        advice: found.class.advice().to_owned(),
        places: found_places(walk, found),
        other,
        ..Cause::default()
    };
    super::relocate::to_change(walk, found, &mut cause);
    cause
}

/// By side: the place of a first difference.
fn found_places(walk: &Walk<'_>, found: &Found) -> [Option<CausePlace>; 2] {
    let chain = walk.chain(found.pair);
    [0, 1].map(|s| found.places[s].and_then(|at| place(walk.flows[s], with_line(walk, &chain, s, at))))
}

/// The visit, or if its instruction has no line of source, the nearest one on the way to it that has.
fn with_line(walk: &Walk<'_>, chain: &[&Pair], side: usize, at: At) -> At {
    let has_line = |at: At| {
        let i = walk.flows[side].instruction(at);
        i.is_some_and(|i| i.place.source.iter().any(|l| l.line > 0))
    };
    let lines = walk.flows[side].data.instructions.iter().any(|i| !i.place.source.is_empty());
    if !lines || has_line(at) {
        return at;
    }
    chain.iter().rev().map(|p| p.users[side]).find(|at| has_line(*at)).unwrap_or(at)
}

/// The values of the last pair, in words.
fn operands(walk: &Walk<'_>, last: Option<&Pair>, found: &Found) -> Option<String> {
    let pair = last?;
    // A half of a wide register says little.
    let half = |s: usize| {
        let bits = found.places[s].and_then(|at| walk.flows[s].instruction(at)).map(|i| i.ty.bits());
        bits == Some(64) && walk.flows[s].type_of(&pair.sources[s]).is_some_and(|ty| ty.bits() == 32)
    };
    if half(0) || half(1) {
        return None;
    }
    let ty = [0, 1].map(|s| walk.flows[s].used_as(&pair.sources[s]));
    let shown = [0, 1].map(|s| {
        if let Some(lanes) = walk.flows[s].lane_mask(&pair.sources[s]) {
            return Some(lanes.to_string());
        }
        let value = walk.flows[s].value(&pair.sources[s], pair.users[s])?;
        if let Some(Canonical::Place(name, offset)) = walk.canonical(s, &pair.sources[s], pair.users[s], 64) {
            return Some(format!("`{name}` + {offset}"));
        }
        let ty = ty[s]
            .or(ty[1 - s])
            .or_else(|| walk.flows[s].type_of(&pair.sources[s]))
            .or_else(|| found.places[s].and_then(|at| Some(walk.flows[s].instruction(at)?.ty)));
        Some(format_value(value, ty.unwrap_or_default()))
    });
    match shown {
        [Some(a), Some(b)] if a != b => Some(format!("A {a}, B {b}")),
        _ => None,
    }
}

/// Whether a 32-bit integer operation gave less than its exact result.
fn wraps(walk: &Walk<'_>, side: usize, source: &Source) -> bool {
    let Source::Result(at, _) = source else { return false };
    let flow = walk.flows[side];
    let Some(i) = flow.instruction(*at) else { return false };
    if i.ty != Scalar::S32 {
        return false;
    }
    let value = |n: usize| {
        let operand = i.operands.get(n)?;
        Some(i64::from(flow.value(&flow.operand(operand, *at), *at)? as u32 as i32))
    };
    let (Some(x), Some(y)) = (value(0), value(1)) else { return false };
    let exact = match i.opcode.split('.').next() {
        Some("mul") if i.opcode.contains(".lo.") => x * y,
        Some("mad") if i.opcode.contains(".lo.") => x * y + value(2).unwrap_or(0),
        Some("add") => x + y,
        _ => return false,
    };
    i32::try_from(exact).is_err()
}

/// The place of a visit.
pub(super) fn place(flow: &Flow<'_>, at: At) -> Option<CausePlace> {
    let (cta, thread) = flow.thread(at);
    Some(CausePlace { cta, thread, trip: flow.trip(at), ..place_of(&flow.instruction(at)?.place) })
}

/// The way from the output to the first difference; of equal instructions in a row, the first.
pub(super) fn steps(walk: &Walk<'_>, chain: &[&Pair]) -> Vec<CauseStep> {
    let mut out: Vec<(Vec<u32>, CauseStep)> = Vec::new();
    for pair in chain.iter().skip(1) {
        let at = [0, 1].map(|s| match &pair.sources[s] {
            Source::Result(at, _) => Some(*at),
            Source::Memory(word) => walk.flows[s].writer(word).map(|w| w.at),
            _ => None,
        });
        let numbers: Vec<u32> =
            [0, 1].iter().filter_map(|&s| at[s].map(|at| walk.flows[s].number(at))).collect();
        let values =
            [0, 1].map(|s| value(walk.flows[s], &pair.sources[s], pair.users[s]).unwrap_or_default());
        let seen = out.iter().any(|(seen, step)| *seen == numbers || step.values == values);
        if seen || values.iter().all(String::is_empty) {
            continue;
        }
        let places = [0, 1].map(|s| at[s].and_then(|at| place(walk.flows[s], at)));
        out.push((numbers, CauseStep { what: describe(walk, pair), values, places }));
    }
    let mut steps: Vec<CauseStep> = out.into_iter().map(|(_, step)| step).collect();
    if steps.len() > 2 * STEPS {
        steps.drain(STEPS..steps.len() - STEPS);
    }
    steps
}

/// A source's value in words: an address as a place in its buffer.
fn value(flow: &Flow<'_>, source: &Source, user: At) -> Option<String> {
    if let Source::Memory(word) = source {
        let writer = flow.writer(word)?;
        return match flow.written(&writer, word)? {
            Source::Memory(_) => None,
            // What loads it may say the type of what is only copied.
            stored => {
                let loads = flow.instruction(user).is_some_and(|i| i.action == Action::Load);
                let loaded = flow.used_as(&Source::Result(user, 0)).filter(|_| loads);
                value_as(flow, &stored, writer.at, loaded)
            }
        };
    }
    value_as(flow, source, user, None)
}

/// A source's value in words. `other`: the type if nothing that makes it or uses it says one.
fn value_as(flow: &Flow<'_>, source: &Source, user: At, other: Option<Scalar>) -> Option<String> {
    if let Some(lanes) = flow.lane_mask(source) {
        return Some(lanes.to_string());
    }
    let ty = flow.used_as(source).or(other).or_else(|| flow.type_of(source))?;
    if let Some(Canonical::Place(name, offset)) = canonical(flow, source, user, ty.bits()) {
        return Some(format!("`{name}` + {offset}"));
    }
    Some(format_value(flow.value(source, user)?, ty))
}

fn describe(walk: &Walk<'_>, pair: &Pair) -> String {
    let role = match pair.context {
        Context::Data => "",
        Context::Address => " of the address",
        Context::Guard => " of the condition",
    };
    match &pair.sources {
        [Source::Memory(word), _] | [_, Source::Memory(word)] => match word.space {
            Space::Global => walk.element(word),
            space => format!("word in {} memory", space.name()),
        },
        [Source::Result(at, _), _] => opcode(walk.flows[0], *at, role),
        [_, Source::Result(at, _)] => opcode(walk.flows[1], *at, role),
        _ => format!("operand{role}"),
    }
}

fn opcode(flow: &Flow<'_>, at: At, role: &str) -> String {
    flow.instruction(at).map_or_else(String::new, |i| format!("`{}`{role}", i.opcode))
}
