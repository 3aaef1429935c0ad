//! Why an output differs: the way back from an element to the first thing that differs on it.

use super::plain_data::data;
use super::source::Location;

/// The class of a cause: what the first difference on the way to an output is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CauseClass {
    /// An argument, or an element of a buffer before the launch.
    #[default]
    Input,
    /// A mask or predicate: one side accesses memory or selects a value, and the other does not.
    Guard,
    /// Index arithmetic: the sides access different elements.
    Address,
    /// Another instruction, constant or rounding.
    Operation,
    /// The same addends in another order.
    Order,
    /// A time that a clock gives: other runs get other ones.
    Timing,
    /// Two accesses that nothing orders.
    Race,
    /// A read before the write that the other side's read follows.
    Stale,
    /// A value that nothing wrote.
    Undefined,
    /// An operation that makes a NaN of operands that are none.
    Nan,
    /// Threads that wait for each other, or for something that cannot happen.
    Stuck,
}

impl CauseClass {
    /// All classes, in the order of their numbers.
    pub const ALL: [CauseClass; 11] = [
        CauseClass::Input,
        CauseClass::Guard,
        CauseClass::Address,
        CauseClass::Operation,
        CauseClass::Order,
        CauseClass::Timing,
        CauseClass::Race,
        CauseClass::Stale,
        CauseClass::Undefined,
        CauseClass::Nan,
        CauseClass::Stuck,
    ];

    /// The class's name in texts and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            CauseClass::Input => "input",
            CauseClass::Guard => "guard",
            CauseClass::Address => "address",
            CauseClass::Operation => "operation",
            CauseClass::Order => "order",
            CauseClass::Timing => "timing",
            CauseClass::Race => "race",
            CauseClass::Stale => "stale",
            CauseClass::Undefined => "undefined",
            CauseClass::Nan => "nan",
            CauseClass::Stuck => "stuck",
        }
    }

    /// What to do about a cause of this class, without a full stop.
    pub const fn advice(self) -> &'static str {
        match self {
            CauseClass::Input => "compare what made this argument or buffer on both sides",
            CauseClass::Guard => "check the condition on this line, and its operands on both sides",
            CauseClass::Address => {
                "check the index on this line: strides, offsets, and the width of the arithmetic"
            }
            CauseClass::Operation => {
                "compare this line on both sides: operation, constants, and flags that change rounding"
            }
            CauseClass::Order => {
                "accept it with --rtol if sums may be rounded otherwise, or fix the order of the additions"
            }
            CauseClass::Timing => "leave times out of what is compared: they are others in every run",
            CauseClass::Race => "order the two accesses with a barrier or an atomic",
            CauseClass::Stale => "put a barrier or a wait between the write and the read",
            CauseClass::Nan => {
                "check what the operands of this line can be: infinities, zero divisors, negative roots"
            }
            CauseClass::Stuck => {
                "follow whom these threads wait for: a barrier, a phase or a flag that never comes"
            }
            CauseClass::Undefined => {
                "initialize the memory or register, or keep the lanes that read it from doing so"
            }
        }
    }
}

/// What to do where the order of atomics decides, and no sum is only rounded otherwise.
pub const ORDER_ADVICE: &str =
    "make the result independent of the order of the atomics, or compare what does not depend on it";

data! {
    /// Why elements of an output differ, or threads make other decisions.
    struct Cause {
        /// What the first difference is.
        class: CauseClass,
        /// The output: the argument's name. Empty if an error or a decision is explained, and no output.
        output: String,
        /// The element that was followed back, as an index in the output's shape.
        element: Vec<u64>,
        /// By side: its value in words.
        values: [String; 2],
        /// Differing elements of the output that have this cause, of those that were followed back.
        elements: u64,
        /// Differing elements that were followed back: a few of each output.
        followed: u64,
        /// What differs, in a sentence without a full stop.
        what: String,
        /// What to do about it; empty if there is nothing to say.
        advice: String,
        /// By side: where the first difference is.
        places: [Option<CausePlace>; 2],
        /// Of a race or a stale read: where the other access is. Of threads that wait for ever: where they
        /// are. Of another error that follows from the only line that differs: where it is. Of a decision
        /// that follows from another line: where it is.
        other: Option<CausePlace>,
        /// The way from the output, or from the decision, to the first difference.
        steps: Vec<CauseStep>,
        /// Whether other causes could explain the difference as well: the recording was cut short, or the
        /// code of the sides could not be matched.
        uncertain: Option<String>,
    }
    /// A place on the way to a cause.
    struct CausePlace {
        /// The instruction, as the module writes it.
        text: String,
        /// Where in the source.
        location: Option<Location>,
        /// The function, as the module names it.
        function: String,
        /// Line of the instruction in the module's text, from 1.
        module_line: u32,
        /// The CTA of the thread.
        cta: [u32; 3],
        /// The thread in its CTA.
        thread: [u32; 3],
        /// Which execution of the instruction by this thread, from 0.
        trip: u64,
    }
    /// A value on the way to a cause.
    struct CauseStep {
        /// What the value is, as ``element of `a` `` or `operand of fma.rn.f32`.
        what: String,
        /// By side: its value in words; empty if the side does not have it.
        values: [String; 2],
        /// By side: where it comes from.
        places: [Option<CausePlace>; 2],
    }
}
