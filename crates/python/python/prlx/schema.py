"""Types of a report's attributes, as :class:`prlx.Report` has them. `docs/report.md` describes the
keys.

Written by `xtask/py/report_types.py` from `docs/report.schema.json`, which follows the types of the library.

The objects of a report have these attributes, but no classes of their own: the types are protocols. A key
that is a word of Python ends with ``_`` here.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

# The class of a cause: what the first difference on the way to an output is.
# - input: An argument, or an element of a buffer before the launch.
# - guard: A mask or predicate: one side accesses memory or selects a value, and the other does not.
# - address: Index arithmetic: the sides access different elements.
# - operation: Another instruction, constant or rounding.
# - order: The same addends in another order.
# - timing: A time that a clock gives: other runs get other ones.
# - race: Two accesses that nothing orders.
# - stale: A read before the write that the other side's read follows.
# - undefined: A value that nothing wrote.
# - nan: An operation that makes a NaN of operands that are none.
# - stuck: Threads that wait for each other, or for something that cannot happen.
CauseClass = Literal["input", "guard", "address", "operation", "order", "timing", "race", "stale",
    "undefined", "nan", "stuck"]

# The kinds of findings.
# - Branch: A decision has another value.
# - ActiveMask: The same decision, but other lanes took part in it.
# - Value: The same path, but another value: loaded, stored, or in an output.
# - Path: Different places where the same one was expected.
# - ExtraEvents: Visits or loop trips that only one side has.
Kind = Literal["Branch", "ActiveMask", "Value", "Path", "ExtraEvents"]

# A part of a launch.
# - geometry: Grid, block or cluster.
# - code: How the kernel is called (other template arguments, or another build's name for it), or how many
#   lanes its warps have.
# - input: An argument's value, or a buffer's content before the launch.
# - output: A buffer's content after the launch.
# - scratch: The content after the launch of a buffer that the launch file does not name as an output, while
#   it names others.
# - check: An error that a check found on one side alone.
LaunchPart = Literal["geometry", "code", "input", "output", "scratch", "check"]

# Whether two recordings agree.
# - same: Everything was seen, and agrees.
# - unknown: What was seen agrees; what was not could differ.
# - differs: Something that was seen differs.
Verdict = Literal["same", "unknown", "differs"]

# Why code of one build is not compared with the other's.
# - alone: Only this side has it.
# - between: Only this side has it, to choose between copies of what both have: what it chose shows in them.
# - stays: It keeps a loop going whose trips are other ones than the other side's: how many of the source's
#   there were is compared.
# - copies: Its copies do not add up to those of the other side, or stand in other loops.
# - opposite: It may be the opposite comparison.
# - doubtful: It may be another decision, or in another trip, than what it seems to be on the other side; and
#   it did not do the same.
WhyUncompared = Literal["alone", "between", "stays", "copies", "opposite", "doubtful"]


class Alone(Protocol):
    """A process that only one side has."""

    cut: str | None
    """Where and how its file was cut off; `None` if it is whole."""

    launches: int
    """How much it launched."""

    name: str
    """The process in words."""

    side: int
    """Which side has it: 0 for A, 1 for B."""


class Cause(Protocol):
    """Why elements of an output differ, or threads make other decisions."""

    advice: str
    """What to do about it; empty if there is nothing to say."""

    class_: CauseClass
    """What the first difference is."""

    element: list[int]
    """The element that was followed back, as an index in the output's shape."""

    elements: int
    """Differing elements of the output that have this cause, of those that were followed back."""

    followed: int
    """Differing elements that were followed back: a few of each output."""

    other: CausePlace | None
    """Of a race or a stale read: where the other access is. Of threads that wait for ever: where they are. Of
    another error that follows from the only line that differs: where it is. Of a decision that follows from
    another line: where it is."""

    output: str
    """The output: the argument's name. Empty if an error or a decision is explained, and no output."""

    places: list[CausePlace | None]
    """By side: where the first difference is."""

    steps: list[CauseStep]
    """The way from the output, or from the decision, to the first difference."""

    uncertain: str | None
    """Whether other causes could explain the difference as well: the recording was cut short, or the code of
    the sides could not be matched."""

    values: list[str]
    """By side: its value in words."""

    what: str
    """What differs, in a sentence without a full stop."""


class CausePlace(Protocol):
    """A place on the way to a cause."""

    cta: list[int]
    """The CTA of the thread."""

    function: str
    """The function, as the module names it."""

    location: Location | None
    """Where in the source."""

    module_line: int
    """Line of the instruction in the module's text, from 1."""

    text: str
    """The instruction, as the module writes it."""

    thread: list[int]
    """The thread in its CTA."""

    trip: int
    """Which execution of the instruction by this thread, from 0."""


class CauseStep(Protocol):
    """A value on the way to a cause."""

    places: list[CausePlace | None]
    """By side: where it comes from."""

    values: list[str]
    """By side: its value in words; empty if the side does not have it."""

    what: str
    """What the value is, as ``element of `a` `` or `operand of fma.rn.f32`."""


class Coverage(Protocol):
    """How much was looked at."""

    elements: list[Elements]
    """By side: what devices wrote."""

    lanes: Lanes
    """Lanes of the warps."""

    percent: float
    """Lanes that were seen to their end on both sides, in percent of the launch's; 100 only if all were."""

    sites: list[Sites]
    """By side: sites of the kernel and what it calls; at level `path`, its decisions."""

    visits: list[Visits]
    """By side: visits of the lanes that were decoded."""

    warps: Warps
    """Warps of the launch."""


class DifferenceMap(Protocol):
    """A picture of where elements differ. The last dimension runs along the columns, all others along the
    rows. Each cell stands for about as many elements as any other."""

    columns: int
    """Number of columns, at most 64."""

    counts: list[int]
    """Number of differing elements in each cell, row by row."""

    rows: int
    """Number of rows, at most 64."""


class Differing(Protocol):
    """How much differs in what lanes did."""

    kinds: list[int]
    """Visits that have a finding, by its [`Kind`], in the order of those."""

    lanes: int
    """Lanes that part."""

    warps: int
    """Warps that they are in."""


class ElementDifference(Protocol):
    """Two elements that differ."""

    absolute: float | None
    """Absolute difference; `None` unless both are finite numbers."""

    index: list[int]
    """The index in the output's shape."""

    relative: float | None
    """Absolute difference divided by the larger magnitude; `None` unless both are finite numbers."""

    ulp: int | None
    """Distance in representable numbers; `None` for integers, NaN and infinity."""

    values: list[str]
    """By side: the value, exactly."""


class Elements(Protocol):
    """What devices wrote."""

    dropped: int
    """Lost for want of room."""

    recorded: int
    """Elements that are in the recording."""


class Fault(Protocol):
    """What stopped a launch before its end."""

    kind: str
    """In which way."""

    text: str
    """What happened, with its place."""


class Finding(Protocol):
    """A difference in what lanes did, and all places that have it."""

    at: list[LaneAt]
    """By lane of the warp shown: where each lane is at this point, for a second recording."""

    count: int
    """All visits that have it."""

    extra_trips: list[int]
    """Loop trips that only one side has, at the representative."""

    extra_visits: list[int]
    """Visits that only one side has, at the representative."""

    follows: list[int]
    """By side: visits that only that side has because of it."""

    hashes: HashInfo | None
    """For level `print`: which hashes differ, and where."""

    kind: Kind
    """What kind of difference it is."""

    lane: int
    """The lane shown: the first of them."""

    lanes: str
    """Its lanes that differ at the same place as the lane shown."""

    lanes_total: int
    """All lanes that have it, over all warps."""

    masks: list[Mask] | None
    """For level `events`: who took part, by side."""

    operands: Operands | None
    """Both sides' operands at the visit shown, where they were recorded."""

    place: Location | None
    """Where it is when no site is: a block or a loop."""

    position: int
    """Visits of the lane shown before it, on side A."""

    roots: int
    """Lanes that first part here. 0: only lanes that had parted before have it."""

    side: int | None
    """Side that has more, for extra events."""

    site: list[SiteInfo | None]
    """By side: where in the code. Equal for one module; either may be missing."""

    slice: list[SliceNode]
    """The slice of its value: how it came about, by side A's code."""

    trips: list[TripInfo]
    """Loops around it, outermost first, with the trip in which it is."""

    values: list[int] | None
    """At the representative: the value on each side."""

    visit: list[int | None]
    """By side: how often the lane shown had visited the site before."""

    warp: WarpPlace
    """The warp shown: of those that part here, the one that parts earliest."""

    warps: list[WarpHit]
    """The warps that have it, ascending; at most [`crate::DiffOptions::warps`]."""

    warps_total: int
    """How many there are."""

    ways: list[int]
    """How often the decision held on one side only: A's, B's."""


class Folded(Protocol):
    """Launches of one side that repeat an earlier launch."""

    autotuner: bool
    """Whether an autotuner made them. Otherwise the digests show that they changed no memory."""

    kernel: str
    """The name of their kernel."""

    launch: int
    """The number of the launch that they repeat."""

    launches: int
    """How many they are."""

    process: int
    """Their process, by index."""

    side: int
    """Which side has them: 0 for A, 1 for B."""


class HashInfo(Protocol):
    """What fingerprints say."""

    checkpoint: int | None
    """The first checkpoint that differs; `None`: it lies after the last, or there are none."""

    checkpoints: list[int]
    """By side: how many checkpoints there are."""

    differ: list[bool]
    """Which differ: control, loaded values, stored values, synchronisation."""


class LaneAt(Protocol):
    """The visit that one lane of the representative warp makes of the finding's site."""

    differs: bool
    """Whether it has the finding."""

    lane: int
    """The lane in its warp."""

    thread: list[int] | None
    """B's warp and lane of the same thread, if warps have another number of lanes there; else they are the
    same."""

    visit: list[int]
    """By side: how often it had visited the site before."""


class Lanes(Protocol):
    """Lanes of recorded warps, by what happened to them."""

    compared: int
    """Decoded to their end on both sides."""

    failed: int
    """Lanes whose recording cannot be decoded."""

    in_equal_warps: int
    """In warps that recorded the same."""

    missing: int
    """In warps that were not recorded."""

    same_words: int
    """With the same words."""

    total: int
    """All lanes of all warps."""

    truncated: int
    """Decoded as far as the recording goes, or until the launch was stopped."""


class LaunchDifference(Protocol):
    """A difference of the launch as a whole."""

    name: str
    """The argument's or part's name."""

    values: list[str]
    """By side: its value in words."""

    what: LaunchPart
    """The part of the launch that differs."""


class LaunchReport(Protocol):
    """Two launches, compared."""

    block: list[int]
    """Threads in a CTA (side A's)."""

    causes: list[Cause]
    """Why outputs differ, one cause for each group of elements that was followed back."""

    coverage: Coverage
    """How much was looked at."""

    culprit: bool
    """All that went in is known and the same, and yet something else came out."""

    device: list[str]
    """By side: where it ran."""

    differences: list[LaunchDifference]
    """What differs before any code ran, or after all of it: geometry, arguments, outputs."""

    differing: Differing
    """What all of them come to, those that were cut from the list too."""

    digests_agree: bool
    """Whether the digests of all memory that the launch can write are known and equal afterwards."""

    digests_differ: bool
    """Whether digests of memory after the launch are known on both sides and differ, or are of memory of
    other sizes."""

    dilation: list[float | None]
    """By side: work with recording over work without; `None` if not measured."""

    faults: list[Fault | None]
    """By side: what stopped it before its end. If that happened to one side alone, the launches differ."""

    fidelity: list[str]
    """By side: how sure it is that what was rewritten is what would have run, as `source`, `exact`."""

    findings: list[Finding]
    """What differs in the code's path, first things first."""

    findings_total: int
    """How many findings there were before the list was cut."""

    gaps: list[str]
    """What keeps that from being certain."""

    grid: list[int]
    """CTAs (side A's)."""

    hashes: HashInfo | None
    """Which hashes of all threads differ, if these were kept in place of what each thread did. They are no
    finding, as they do not tell which threads differ."""

    kernel: str
    """The kernel's name, as in the module."""

    launch: list[int]
    """By side: the launch's number."""

    level: str
    """Which recorder ran."""

    module: list[str]
    """By side: the module's name."""

    notes: list[str]
    """Sentences that a reader should know and that do not change the verdict, as that a tolerance was
    used."""

    order: bool
    """Whether everything that lanes first did differently can follow from the order of threads or from time:
    from what an atomic returned, from a flag that another thread sets, or from a clock."""

    outputs: list[Output]
    """The outputs, compared as numbers, in the order of the arguments; empty if the launch names none."""

    padding: str | None
    """The bytes of structures among the parameters that are all that differs of what went in, as `bytes 4 to
    7 of p`, if the rest is known and they may be padding, which nobody sets."""

    process: int
    """Its process, by index."""

    ranges: list[list[str]]
    """By side: the names of the NVTX ranges around the launch, the innermost last, as `NAME` or
    `NAME@DOMAIN`."""

    reshaped: str | None
    """Why threads of equal index do different work, if they do: another grid or block. Decisions are then not
    compared."""

    skipped: list[str | None]
    """By side: why nothing of it was recorded; `None` when it was."""

    uncompared: list[Uncompared]
    """Of two builds: what is not compared, by side and place in the code."""

    undigested: list[str | None]
    """By side: why not all is digested that its pointers lead to, if digests were asked for."""

    unseen_memory: str | None
    """Why nothing tells whether both sides left the same in memory, in the words of the gap; `None` if
    outputs, digests or hashes of the stored values do."""

    verdict: Verdict
    """Whether they agree."""

    warp_size: int
    """Number of lanes of a warp (side A's)."""


class Location(Protocol):
    """A place in the source."""

    code: str | None
    """The line's text."""

    column: int
    """Column, from 1; 0 if unknown."""

    file: str
    """Path as the debug information spells it."""

    function: str
    """The inlined function that the line belongs to; empty if none."""

    inlined: list[Location]
    """Where that function was inlined, innermost first."""

    line: int
    """Line, from 1."""


class Mask(Protocol):
    """A lane mask that is written in hexadecimal."""

    lanes: str
    """The lanes, one bit each."""


class OperandCell(Protocol):
    """One operand of one lane."""

    bits: list[str | None]
    """By side: its bits; `None` if it was not recorded."""

    differs: bool
    """Whether they differ."""

    shown: list[str | None]
    """By side: in words."""


class OperandColumn(Protocol):
    """One operand of a decision, for all lanes."""

    name: list[str]
    """As written, by side."""

    ty: str
    """The type of its values."""


class OperandRow(Protocol):
    """One lane's operands."""

    cells: list[OperandCell]
    """The values, by column."""

    differs: bool
    """Whether the lane has the finding."""

    lane: int
    """The lane in its warp."""


class Operands(Protocol):
    """Both sides' operands of one visit, for every lane of the warp."""

    columns: list[OperandColumn]
    """What is compared: names and types."""

    rows: list[OperandRow]
    """By lane that was recorded on either side, ascending."""


class Output(Protocol):
    """One output of a launch: a buffer that the launch file names as an output, compared element by
    element."""

    differing: int
    """Number of elements that differ by more than the tolerance."""

    elements: int
    """Number of elements (side A's)."""

    first: ElementDifference | None
    """The first element that differs by more than the tolerance."""

    infinite: list[int]
    """By side: how many elements are infinite."""

    map: DifferenceMap | None
    """Where the elements are that differ by more than the tolerance; `None` if none does."""

    max_absolute: float | None
    """Largest absolute difference of two finite elements, within the tolerance or not."""

    max_relative: float | None
    """Largest relative difference of two finite elements: the difference divided by the larger magnitude."""

    max_ulp: int | None
    """Largest distance of two finite elements in representable numbers; `None` for integers."""

    name: str
    """The argument's name."""

    nan: list[int]
    """By side: how many elements are NaN."""

    shape: list[int]
    """Sizes of the dimensions, slowest first (side A's)."""

    tolerance: str
    """The tolerance in words; empty if elements must have equal bits."""

    type: str
    """Type of the elements, as `f32`; both types if the sides have different ones."""

    uncompared: str | None
    """Why the elements were not compared, if they were not: the sides have different numbers of elements, or
    types, or a recording does not hold them. The output then counts as different, unless it is `unknown`."""

    unknown: bool
    """Whether the elements were not compared because a recording does not hold them, and may be equal within
    the tolerance. The output then makes the verdict `unknown`."""

    within_tolerance: int
    """Number of elements that have other bits and are equal within the tolerance."""

    worst: ElementDifference | None
    """The element that differs most: where only one side is a finite number, else by the largest relative
    difference, else by the largest absolute difference."""


class Printed(Protocol):
    """The text that a kernel printed."""

    dropped_calls: int
    """Calls of `printf` after the limit."""

    text: str
    """The text."""


class ProcessPair(Protocol):
    """Two processes that belong together."""

    cut: list[str | None]
    """By side: where and how its file was cut off; `None` if it is whole."""

    names: list[str]
    """By side: the process in words; empty if there is none, as with launch files."""


class SiteInfo(Protocol):
    """A site, in words."""

    class_: str
    """What it is."""

    function: str
    """The function that it is in."""

    id: int
    """Its number in its module."""

    location: Location | None
    """Where in the source."""

    steers: list[SteeredInfo]
    """What the decision steers."""

    text: str
    """The instruction, as the module writes it."""


class Sites(Protocol):
    """Sites of a kernel and of what it calls."""

    skipped: int
    """Left out, or hidden because what they depend on was."""

    total: int
    """All that the level could record."""

    unmatched: int
    """Without a partner on the other side ([`Uncompared`] says which)."""


class SliceNode(Protocol):
    """A node of a slice."""

    argument: str | None
    """For a parameter: the argument's name."""

    depth: int
    """How deep it hangs below the decision."""

    first: bool
    """The first input that differs: arguments before loads, loads in the order in which the lane made
    them."""

    inputs: list[int]
    """Nodes that it depends on."""

    kind: str
    """What it is."""

    location: Location | None
    """Where in the source."""

    same: bool | None
    """Whether it gave both sides the same; `None` if not recorded."""

    shown: list[str | None]
    """The value in words, by side."""

    text: str
    """The instruction, as the module writes it."""

    values: list[str | None]
    """For a parameter, or a load whose value was recorded: what it gave to the lane shown."""


class SteeredInfo(Protocol):
    """What a decision steers."""

    class_: str
    """Branch, guard or select."""

    location: Location | None
    """Where in the source."""

    text: str
    """The instruction, as the module writes it."""


class TripInfo(Protocol):
    """A loop around a place."""

    location: Location | None
    """Where the loop is."""

    trip: list[int]
    """By side: which trip, from 0."""

    trips: list[int]
    """By side: of how many."""


class Uncompared(Protocol):
    """Code of one build that is not compared with the other's: one place in it."""

    hides: bool
    """Whether a difference could hide in them: it keeps the verdict from being `same`."""

    side: int
    """Which side has the code: 0 for A, 1 for B."""

    site: SiteInfo
    """The site, or the first of several that stand there."""

    sites: int
    """How many there are."""

    visits: int
    """Their visits, of the lanes that were decoded."""

    why: WhyUncompared
    """Why it is not compared."""


class Unpaired(Protocol):
    """A launch that only one side has."""

    kernel: str
    """The name of its kernel."""

    launch: int
    """Its number among that side's launches."""

    process: int
    """Its process, by index."""

    replaced: bool
    """Whether the other side launched other kernels at its place, between the same matched launches."""

    side: int
    """Which side has it: 0 for A, 1 for B."""


class Visits(Protocol):
    """Decoded visits, by where their value came from."""

    computed: int
    """Decisions that were evaluated again."""

    other: int
    """Sites that are not in the recording."""

    recorded: int
    """Decisions that were recorded."""


class WarpHit(Protocol):
    """One warp that has a finding."""

    count: int
    """Visits that have it."""

    cta: int
    """Its CTA's number."""

    in_cta: int
    """Number in its CTA."""

    lanes: str
    """Lanes that have it."""

    roots: str
    """Lanes that first part here."""

    visit: int | None
    """The smallest number of visits of the site before it, over these lanes."""

    warp: int
    """Number in the grid."""


class WarpPlace(Protocol):
    """A warp's place."""

    at: list[int]
    """Its CTA's position."""

    cta: int
    """Its CTA's number."""

    in_cta: int
    """Number in its CTA."""

    warp: int
    """Number in the grid."""


class Warps(Protocol):
    """Warps, by what happened to them."""

    compared: int
    """Compared lane by lane."""

    equal: int
    """Recorded the same; not decoded."""

    failed: int
    """Recorded, but not decodable."""

    missing: int
    """Not recorded on one side or both."""

    total: int
    """All of them: the sum of the others."""


class Report(Protocol):
    """A report (`report.data` with attributes)."""

    alone: list[Alone]
    """Processes that the other side has no partner for."""

    checks: list[Any]
    """By side: what the checks found. Absent if they found nothing on either side."""

    folded: list[Folded]
    """Launches that repeat an earlier launch of their process, and were not compared. They make no
    difference."""

    format: Literal["prlx-report"]

    gaps: list[str]
    """What keeps the verdict from being certain, or would if nothing differed."""

    launches: list[LaunchReport]
    """Launches, compared in pairs, by process and A's number."""

    names: list[str]
    """What the user calls the sides: files or commands. Empty until the caller says."""

    pairs: int
    """Pairs of launches that there are to compare; a part of a report ([`crate::DiffOptions::shard`]) has
    fewer."""

    printed: list[Printed]
    """By side: what the kernels printed. Absent for recordings."""

    processes: list[ProcessPair]
    """Processes, compared in pairs; a comparison of launch files has one."""

    producers: list[str]
    """What made each side."""

    unpaired: list[Unpaired]
    """Launches that the other side has no partner for."""

    verdict: Verdict
    """Whether they agree."""

    version: Literal[1]
    """Goes up when a key changes its meaning or goes."""
