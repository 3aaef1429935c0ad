//! Markers: labels of the form `$prlx_KIND_NAME` that say what begins, ends or happens at their position.
//!
//! No instruction branches to a marker, so an assembler generates nothing for it.

use super::ids::{InstId, LocId};
use super::operand::Operand;

/// A marker: a label `$prlx_KIND_NAME` that nothing branches to. No assembler makes anything of it; it says what begins,
/// ends or happens at its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Marker {
    /// What it says.
    pub kind: MarkerKind,
    /// Of what.
    pub name: String,
    /// The instruction before which it stands; the number of instructions, if it stands behind the last.
    pub at: InstId,
    /// Who of those that come there passes it.
    pub passed_by: PassedBy,
    /// What it carries: operands as they are there, of 32 bits, at most two. They are moved to registers `$prlx_p0` and
    /// `$prlx_p1`, declared in the marker's scope, which die there.
    pub payload: Vec<Operand>,
    /// Source location in force.
    pub loc: Option<LocId>,
}

/// What a marker says, as its label spells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarkerKind {
    /// A region begins.
    Begin,
    /// A region ends.
    End,
    /// A moment.
    Instant,
    /// The open region ends and this one begins.
    Switch,
    /// Asynchronous work begins, told from other work by the first word.
    Issue,
    /// It has ended.
    Complete,
    /// Somebody arrives at what others wait for: the first word says at what.
    Arrive,
    /// The lane belongs to a group: the first word is its number, the second, if there, whether this lane leads it.
    Group,
}

impl MarkerKind {
    /// All, with their words.
    pub const ALL: [(&str, MarkerKind); 8] = [
        ("begin", MarkerKind::Begin),
        ("end", MarkerKind::End),
        ("instant", MarkerKind::Instant),
        ("switch", MarkerKind::Switch),
        ("issue", MarkerKind::Issue),
        ("complete", MarkerKind::Complete),
        ("arrive", MarkerKind::Arrive),
        ("group", MarkerKind::Group),
    ];
    /// A label taken apart: kind and name.
    pub fn of_label(label: &str) -> Option<(MarkerKind, &str)> {
        let (word, name) = label.strip_prefix("$prlx_")?.split_once('_')?;
        let kind = Self::ALL.iter().find(|k| k.0 == word)?.1;
        (!name.is_empty()).then_some((kind, name))
    }
    /// Its word.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// Who of those that come to an instruction passes a marker before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PassedBy {
    /// All.
    All,
    /// Those that come from the instruction before; between marker and instruction is a label to which others branch.
    FallThrough,
    /// Those, and those that take these branches: it stands between two such labels. `None` where that is not known: a
    /// switch goes there, or very many branches do.
    Some(Option<Vec<InstId>>),
}
