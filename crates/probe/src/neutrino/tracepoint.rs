//! Translates a `pos`, which PRLX reads as an opcode, and the helpers (`OUT`, `ADDR` …) at its instructions.
//!
//! Neutrino's `OUT`, `IN1` … are the first operands of the line, addresses without their brackets among them.
//! In the probe language addresses are no inputs, so it depends on the operation which is which.

use prlx_isa::operations;
use prlx_isa::view::OperandOrder;
use prlx_isa::view::OperandOrder::{Address, Lists, ResultAddress, Target, TwoAddresses};

use super::snippet::{Helper, Value};

/// A place of a probe.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct NeutrinoTracepoint {
    /// The opcode; empty for the kernel.
    pub opcode: String,
    /// How its operands are ordered; `None` for the kernel.
    pub order: Option<OperandOrder>,
}

impl NeutrinoTracepoint {
    /// The tracepoint of an alternative of a `pos`. The error says why there is none.
    pub fn of(text: &str) -> Result<NeutrinoTracepoint, String> {
        if text == "kernel" {
            return Ok(NeutrinoTracepoint { opcode: String::new(), order: None });
        }
        if text.is_empty() {
            return Err("an alternative of `pos` is empty".to_owned());
        }
        let words = || text.split('.');
        let plain =
            |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
        if !words().all(plain) {
            return Err(format!(
                "`{text}` is not an opcode: PRLX takes `pos` as words separated by dots, not as any text of a line"
            ));
        }
        let first = words().next().unwrap_or_default();
        let Some(order) = operations::operand_order(first) else {
            return Err(format!(
                "unknown operation `{first}`: PRLX takes `pos` as an opcode, not as any text of a line"
            ));
        };
        Ok(NeutrinoTracepoint { opcode: text.to_owned(), order: Some(order) })
    }

    pub fn kernel(&self) -> bool {
        self.order.is_none()
    }

    /// Whether this tracepoint matches every instruction that `other` matches.
    pub fn covers(&self, other: &NeutrinoTracepoint) -> bool {
        if self.kernel() || other.kernel() {
            return self == other;
        }
        let (mut own, mut others) = (self.opcode.split('.'), other.opcode.split('.'));
        own.next() == others.next() && own.all(|word| others.any(|o| o == word))
    }

    /// The tracepoints of the probe language that match the same instructions.
    pub fn tracepoints(&self, side: &str) -> String {
        match self.order {
            None => format!("kernel:{side}"),
            // As text it was in `wmma.mma.sync` too.
            _ if self.opcode.starts_with("mma.") => {
                format!("inst:{0}:{side}, inst:wmma.{0}:{side}", self.opcode)
            }
            _ => format!("inst:{}:{side}", self.opcode),
        }
    }

    /// A value as an expression of 64 bits or fewer, at the side at which a snippet runs; or why there is
    /// none.
    pub fn value(&self, value: &Value, after: bool) -> Result<String, String> {
        let helper = match value {
            Value::Register(n) => return Ok(format!("nr{n}")),
            Value::Number(n) if *n < 0 => return Ok(format!("u64({n})")),
            Value::Number(n) => return Ok(n.to_string()),
            Value::Special(name) => return Ok((*name).to_owned()),
            Value::Helper(helper) => *helper,
        };
        let name = helper.name();
        let no = |what: &str| Err(format!("`{name}` is not available at `{}`: {what}", self.opcode));
        let Some(order) = self.order else {
            return Err(format!("`{name}` is not available at `kernel`: this tracepoint has no instruction"));
        };
        let input = |n: u8| Ok(format!("bits(in{n})"));
        match (helper, order) {
            (_, Target) => no("the operand is a label"),
            (Helper::Bytes, ResultAddress | Address | TwoAddresses) => Ok("size".to_owned()),
            (Helper::Address, ResultAddress | Address) => Ok("address".to_owned()),
            (Helper::Address, TwoAddresses) => Ok("source".to_owned()),
            (Helper::Bytes | Helper::Address, _) => no("the instruction has no single memory address"),
            (_, Lists) => no("the operands are lists of registers, or there are none"),
            (Helper::Operand(0), Address | TwoAddresses) => Ok("address".to_owned()),
            (Helper::Operand(0), _) if after => Ok("bits(out)".to_owned()),
            (Helper::Operand(0), _) => no("the instruction has not written it yet; use `after`"),
            (Helper::Operand(1), ResultAddress) => Ok("address".to_owned()),
            (Helper::Operand(1), TwoAddresses) => Ok("source".to_owned()),
            (Helper::Operand(n), ResultAddress | TwoAddresses) => input(n - 2),
            (Helper::Operand(n), _) => input(n - 1),
        }
    }

    /// Whether a value is an input that the instruction may overwrite.
    pub fn may_write_over(&self, value: &Value) -> bool {
        let Value::Helper(helper) = value else { return false };
        match self.order {
            Some(OperandOrder::ResultAddress | OperandOrder::Result) => {
                !matches!(helper, Helper::Operand(0) | Helper::Bytes)
            }
            _ => false,
        }
    }

    /// Whether a value is an address.
    pub fn names_address(&self, value: &Value) -> bool {
        match value {
            Value::Helper(Helper::Address) => true,
            Value::Helper(Helper::Operand(0)) => matches!(self.order, Some(Address | TwoAddresses)),
            Value::Helper(Helper::Operand(1)) => matches!(self.order, Some(ResultAddress | TwoAddresses)),
            _ => false,
        }
    }
}
