//! Where recorded functions are called and declared: each of these places gets one more parameter or
//! argument.

use std::collections::HashMap;

use prlx_isa::view::{Function, FunctionKind, Inst, Module};
use prlx_trace::device::HiddenParameter;

use crate::edit::Edit;
use crate::error::{Error, ErrorKind};
use crate::tokens::{Token, closing, opening, span, tokens};

/// Maximum size of a kernel's parameters, bytes: before PTX 8.1 and since (PTX ISA, 5.1.6.1 Kernel Function
/// Parameters).
const PARAMETER_BYTES: (u64, u64) = (4096, 32764);

/// The direct calls of recorded functions, and every position that declares one.
pub(super) struct Calls {
    recorded: Vec<bool>,
    by_name: HashMap<String, usize>,
    /// Whether each function calls a recorded one.
    from: Vec<bool>,
    /// Where parameters are inserted: offset, kind of place, and the function.
    lists: Vec<(usize, ListPlace, usize)>,
    /// Whether the parameters of each function are registers.
    pub(super) registers: Vec<bool>,
    /// Whether each function is variadic: its last parameter is an array without a size.
    pub(super) variadic: Vec<bool>,
}

/// Where an entry is inserted into a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListPlace {
    /// After the last entry.
    Last,
    /// Before the last entry, which is the array of variadic arguments.
    BeforeLast,
    /// Into an empty list.
    Only,
    /// Where there is no list.
    NoList,
}

impl ListPlace {
    /// The text that inserts an entry here.
    pub fn text(self, entry: &str, separator: &str) -> String {
        match self {
            ListPlace::Last => format!("{separator}{entry}"),
            ListPlace::BeforeLast => format!("{entry}{separator}"),
            ListPlace::Only => entry.to_owned(),
            ListPlace::NoList => format!("({entry})"),
        }
    }
}

impl Calls {
    /// Finds the calls and declarations. Refuses recorded functions that are mentioned in any other way.
    pub fn find(source: &str, module: &Module, recorded: &[bool]) -> Result<Calls, Error> {
        let by_name = module.functions.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect();
        let registers = module.functions.iter().map(|f| register_list(source, f)).collect();
        let list = |f: &Function| tokens(source, f.params_span.start as usize, f.params_span.end as usize);
        let variadic = module.functions.iter().map(|f| is_variadic(&list(f))).collect();
        let mut calls = Calls {
            recorded: recorded.to_vec(),
            by_name,
            from: Vec::new(),
            lists: Vec::new(),
            registers,
            variadic,
        };
        calls.from =
            module.functions.iter().map(|f| f.insts.iter().any(|i| calls.recorded(module, i))).collect();
        for (i, f) in module.functions.iter().enumerate().filter(|(i, _)| recorded[*i]) {
            if f.kind == FunctionKind::Kernel {
                parameters_fit(module, f)?;
            }
            let (at, place) = end_of_list(&list(f), f.params_span.start as usize);
            calls.lists.push((at, place, i));
        }
        calls.mentions(source, module)?;
        Ok(calls)
    }

    /// No calls that pass anything on.
    pub fn none(module: &Module) -> Calls {
        let no = vec![false; module.functions.len()];
        Calls {
            recorded: no.clone(),
            by_name: HashMap::new(),
            from: no.clone(),
            lists: Vec::new(),
            registers: no.clone(),
            variadic: no,
        }
    }

    /// Searches the text for names of recorded functions outside their definitions and calls.
    fn mentions(&mut self, source: &str, module: &Module) -> Result<(), Error> {
        let all = tokens(source, 0, source.len());
        let mut i = 0;
        while i < all.len() {
            let t = all[i];
            if t.text == "section" && i > 0 && all[i - 1].text == "." {
                // Debug information may mention any name.
                let open = (i..all.len()).find(|&j| all[j].text == "{");
                i = open.and_then(|j| closing(&all, j)).unwrap_or(i) + 1;
                continue;
            }
            let word = i > 0 && all[i - 1].text == ".";
            i += 1;
            let Some(&callee) = self.by_name.get(t.text).filter(|&&f| self.recorded[f]) else { continue };
            // A word after a dot, or at the beginning of an instruction, is a keyword of PTX. Kernels may be
            // named `add` or `wide`.
            let begins =
                |x: &Inst| source.get(t.at..).is_some_and(|s| s.starts_with(x.semantics.opcode.as_str()));
            if word {
                continue;
            }
            // Functions are in the order of the text.
            let next = module.functions.partition_point(|f| f.span.end as usize <= t.at);
            let inside = module.functions.get(next).filter(|f| f.span.start as usize <= t.at).map(|_| next);
            let fine = match inside {
                Some(f) if t.at < module.functions[f].body.start as usize => true,
                Some(f) => {
                    let insts = &module.functions[f].insts;
                    let at = insts.partition_point(|x| (x.span.end as usize) <= t.at);
                    insts
                        .get(at)
                        .filter(|x| x.span.range().contains(&t.at))
                        .is_some_and(|x| begins(x) || module.callee(x).is_some_and(|f| f.index() == callee))
                }
                None => {
                    declares(&all, i - 1) && {
                        let list = match all.get(i).map(|t| t.text) {
                            Some("(") => closing(&all, i).map_or(&[][..], |end| &all[i..=end]),
                            _ => &[],
                        };
                        let (at, place) = end_of_list(list, t.end());
                        self.lists.push((at, place, callee));
                        true
                    }
                }
            };
            if !fine {
                let message =
                    format!("the address of {} is taken, so it can't get another parameter", t.text);
                return Err(Error::new(ErrorKind::Unsupported, t.span(), message));
            }
        }
        Ok(())
    }

    /// Whether an instruction calls a recorded function.
    pub fn recorded(&self, module: &Module, inst: &Inst) -> bool {
        module.callee(inst).is_some_and(|f| self.recorded[f.index()])
    }

    /// Whether function `index` calls recorded functions.
    pub fn from(&self, index: usize) -> bool {
        self.from.get(index).copied().unwrap_or_default()
    }

    /// Edits that extend the parameter lists.
    pub fn declarations(&self, prefix: &str, module: &Module) -> Vec<Edit> {
        let edit = |&(at, place, index): &(usize, ListPlace, usize)| {
            let parameter = match (module.functions[index].kind, self.registers[index]) {
                (FunctionKind::Kernel, _) => {
                    format!(".param .align 8 .b8 {prefix}context[{}]", HiddenParameter::SIZE)
                }
                (FunctionKind::Device, false) => format!(".param .b64 {prefix}state"),
                (FunctionKind::Device, true) => format!(".reg .b64 {prefix}state"),
            };
            Edit { at: span(at, at).start, text: place.text(&parameter, ",\n\t") }
        };
        self.lists.iter().map(edit).collect()
    }
}

/// Checks that a kernel's parameters leave room for one more.
fn parameters_fit(module: &Module, f: &Function) -> Result<(), Error> {
    let ends = f
        .params
        .iter()
        .zip(&f.param_offsets)
        .map(|(p, &at)| u64::from(at) + module.symbols.get(p.index()).map_or(0, |s| s.size));
    let bytes = ends.max().unwrap_or(0).next_multiple_of(8) + HiddenParameter::SIZE as u64;
    let limit = if module.version >= (8, 1) { PARAMETER_BYTES.1 } else { PARAMETER_BYTES.0 };
    match bytes <= limit {
        true => Ok(()),
        false => {
            let message = format!("{}: its parameters leave no room for one more", f.name);
            Err(Error::new(ErrorKind::Unsupported, f.params_span, message))
        }
    }
}

/// Whether a function's parameters are declared `.reg`.
pub(super) fn register_list(source: &str, f: &Function) -> bool {
    let list = tokens(source, f.params_span.start as usize, f.params_span.end as usize);
    list.windows(2).any(|w| w[0].text == "." && w[1].text == "reg")
}

/// Whether a list of parameters ends with an array without a size: `.param .align 8 .b8 %VAParam[]`.
fn is_variadic(list: &[Token<'_>]) -> bool {
    matches!(list, [.., open, close, _] if open.text == "[" && close.text == "]")
}

/// Where a further entry of a parenthesised list of parameters is inserted; at `otherwise` if there is no
/// list.
fn end_of_list(list: &[Token<'_>], otherwise: usize) -> (usize, ListPlace) {
    match list {
        _ if is_variadic(list) => before_last(list),
        [open, .., last, _] if open.text == "(" && last.at != open.at => (last.end(), ListPlace::Last),
        [open, _] if open.text == "(" => (open.end(), ListPlace::Only),
        _ => (otherwise, ListPlace::NoList),
    }
}

/// The begin of the last entry of a parenthesised list that is not empty.
pub(super) fn before_last(list: &[Token<'_>]) -> (usize, ListPlace) {
    let comma = list.iter().rposition(|t| t.text == ",").unwrap_or(0);
    (list.get(comma + 1).or(list.first()).map_or(0, |t| t.at), ListPlace::BeforeLast)
}

/// Whether a `.func` or `.entry` declares the name at token `i`.
fn declares(all: &[Token<'_>], i: usize) -> bool {
    let mut at = i;
    while at >= 2 {
        match all[at - 1].text {
            ")" => match opening(all, at - 1) {
                Some(open) => at = open,
                None => return false,
            },
            "func" | "entry" => return all[at - 2].text == ".",
            // Directives such as `.attribute(…)` may stand between them.
            _ if all[at - 2].text == "." => at -= 2,
            _ => return false,
        }
    }
    false
}
