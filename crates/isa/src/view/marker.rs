//! Markers say what begins, ends or happens at their position. In PTX, a marker is a label of the form
//! `$prlx_KIND_NAME` that no instruction branches to. Machine code has its own form.

use super::ids::{InstId, LocId};
use super::inst::Guard;
use super::operand::Operand;

/// A marker of the source.
#[derive(Clone, PartialEq, Debug)]
pub struct Marker {
    /// What the marker says.
    pub kind: MarkerKind,
    /// Name of the region, moment or group.
    pub name: String,
    /// The instruction that follows; the number of instructions if the marker follows the last one.
    pub at: InstId,
    /// Which threads that reach the next instruction pass the marker.
    pub passed_by: PassedBy,
    /// The predicate that these threads must have; `None`: all of them pass it.
    pub guard: Option<Guard>,
    /// Payload: at most two operands of 32 bits, as they are at the marker. PTX moves them to the registers
    /// `$prlx_p0` and `$prlx_p1`, which are declared in the marker's scope and are not used after it.
    pub payload: Vec<Operand>,
    /// Source location of the marker.
    pub loc: Option<LocId>,
}

/// What a marker says. Its text spells it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarkerKind {
    /// A region begins here.
    Begin,
    /// A region ends here.
    End,
    /// A single point in time.
    Instant,
    /// The open region ends and this region begins.
    Switch,
    /// Asynchronous work begins. The first payload word identifies it.
    Issue,
    /// Asynchronous work has completed.
    Complete,
    /// A thread arrives at something that others wait for. The first payload word identifies it.
    Arrive,
    /// The thread belongs to a group. The first payload word is the group's number. The second, if present,
    /// is 1 if this thread leads the group.
    Group,
}

impl MarkerKind {
    /// All kinds, with the words for them.
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
    /// Splits a label into kind and name; `None` if the label is no marker.
    pub fn of_label(label: &str) -> Option<(MarkerKind, &str)> {
        Self::of_text(label.strip_prefix("$prlx_")?)
    }
    /// Splits `KIND_NAME`; `None` if it is no marker.
    pub fn of_text(text: &str) -> Option<(MarkerKind, &str)> {
        let (word, name) = text.split_once('_')?;
        let kind = Self::ALL.iter().find(|k| k.0 == word)?.1;
        (!name.is_empty()).then_some((kind, name))
    }
    /// The word for it.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

/// Which threads that reach an instruction pass a marker before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PassedBy {
    /// All threads that reach the instruction.
    All,
    /// Threads that fall through from the previous instruction. A label that others branch to stands between
    /// the marker and the next instruction.
    FallThrough,
    /// Threads that fall through, and threads that take these branches: the marker stands between two such
    /// labels. `None`: unknown, because a switch or very many branches go there.
    Some(Option<Vec<InstId>>),
}
