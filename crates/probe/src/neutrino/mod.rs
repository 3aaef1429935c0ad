//! Translates probes of Neutrino (OSDI '25), written in its TOML dialect, into the probe language.
//!
//! A file has maps, and probes with snippets of PTX and the text of a tracepoint. [`read`] returns the
//! equivalent program, with Neutrino's faults mended, and a warning where a probe relied on one.
//! docs/probe-tools.md lists them.
//!
//! `file` reads the TOML, `tracepoint` translates a `pos` and the helpers that it offers, and `snippet`
//! translates the PTX.
//!
//! # Invariants
//!
//! - Text that is not understood is refused with its place. Nothing panics.
//!
//! # Limitations
//!
//! - Snippets with predicates, branches, memory accesses or registers of their own are refused.
//! - Neutrino's Python front end (its compiler writes these files) and its callbacks are not supported.

mod file;
mod map;
mod snippet;
mod tracepoint;

use std::collections::BTreeSet;

use crate::lang::{self, MAX_ERRORS, ProbeError, Script, Span};
use file::{File, Probe, Snippet};
use map::Map;
use prlx_isa::view::OperandOrder;
use snippet::{Step, Value};
use tracepoint::NeutrinoTracepoint;

/// Records that PRLX keeps of a map with `dynamic` capacity. Neutrino runs the kernel twice to count them.
const DYNAMIC: u32 = 64;

/// Translates a file into a program of the probe language. Also returns warnings where the program behaves
/// differently from Neutrino. Errors and warnings point into `text`.
pub fn read(text: &str) -> Result<(Script, Vec<ProbeError>), Vec<ProbeError>> {
    let mut writer = Writer::default();
    let (file, errors) = file::read(text);
    writer.errors = errors;
    let program = writer.program(text, &file);
    let sorted = |mut errors: Vec<ProbeError>| {
        errors.sort_by(|a, b| {
            (a.span.start, a.span.end, &a.message).cmp(&(b.span.start, b.span.end, &b.message))
        });
        errors.dedup();
        errors.truncate(MAX_ERRORS);
        errors
    };
    if !writer.errors.is_empty() {
        return Err(sorted(writer.errors));
    }
    match lang::parse(&program) {
        Ok(script) => Ok((script, sorted(writer.warnings))),
        // Its limits on variables, records, statements.
        Err(errors) => {
            let of = |c: ProbeError| ProbeError {
                span: 0..0,
                help: None,
                message: format!("the translated program is not valid: {}", c.message),
            };
            Err(sorted(errors.into_iter().map(of).collect()))
        }
    }
}

/// Writes the program.
#[derive(Default)]
struct Writer {
    errors: Vec<ProbeError>,
    warnings: Vec<ProbeError>,
    /// Registers that the program uses.
    used: BTreeSet<u32>,
    /// Registers that the probes at `kernel:begin` set.
    set: BTreeSet<u32>,
    /// Registers with a warning that nothing sets them.
    unset: BTreeSet<u32>,
    /// Number of variables that save the inputs of an instruction which may overwrite them.
    saved_inputs: usize,
    clauses: String,
}

impl Writer {
    fn program(&mut self, text: &str, file: &File) -> String {
        self.warnings.extend(file.warnings.iter().cloned());
        // Probes at the begin set registers for all others, wherever they are in the file.
        let (begins, others): (Vec<_>, Vec<_>) =
            file.snippets().partition(|(probe, snippet)| probe.at_kernel() && !snippet.after);
        for (probe, snippet) in begins.into_iter().chain(others) {
            self.snippet(text, file, probe, snippet);
        }
        let mut out = String::new();
        for register in &self.used {
            out += &format!("thread nr{register}: u64;\n");
        }
        for number in 0..self.saved_inputs {
            out += &format!("thread before{number}: u64;\n");
        }
        for map in &file.maps {
            let fields: Vec<String> = map
                .fields
                .iter()
                .map(|(name, wide)| format!("{name}: {}", if *wide { "u64" } else { "u32" }))
                .collect();
            let of = if map.of_warp { "warp" } else { "thread" };
            let keep = map.keep.unwrap_or(DYNAMIC);
            out += &format!("record @{}({}) per {of} keep {keep};\n", map.name, fields.join(", "));
        }
        out + &self.clauses
    }

    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.errors.push(ProbeError::new(span, message));
    }

    /// One snippet at all its places.
    fn snippet(&mut self, text: &str, file: &File, probe: &Probe, snippet: &Snippet) {
        let steps = match snippet::read(&snippet.code, &file.maps) {
            Ok(steps) => steps,
            Err(wrong) => {
                let of = |c: ProbeError| ProbeError { span: snippet.place(text, c.span), ..c };
                self.errors.extend(wrong.into_iter().map(of));
                return;
            }
        };
        self.registers(text, file, probe, snippet, &steps);
        for place in &probe.places {
            self.warn_of_place(text, file, probe, place, snippet, &steps);
            if let Err(error) = self.clause(file, probe, place, snippet, &steps) {
                self.errors.push(ProbeError { span: snippet.place(text, error.span), ..error });
            }
        }
    }

    /// Notes which registers are used, and those that nothing has set.
    fn registers(
        &mut self,
        text: &str,
        file: &File,
        probe: &Probe,
        snippet: &Snippet,
        steps: &[(Step, Span)],
    ) {
        let begins = probe.at_kernel() && !snippet.after;
        let mut set = self.set.clone();
        for (step, span) in steps {
            for register in step.reads() {
                self.used.insert(register);
                if !set.contains(&register) && self.unset.insert(register) {
                    self.warnings.push(
                        ProbeError::new(
                            snippet.place(text, span.clone()),
                            format!("`%NR{register}` is read, but no probe at `kernel` sets it before"),
                        )
                        .help("it starts at 0 in PRLX; in Neutrino its value is undefined"),
                    );
                }
            }
            if let Step::Set(register, _) = step {
                self.used.insert(*register);
                set.insert(*register);
            }
            for register in step.registers() {
                if file.registers.is_none_or(|n| register > n) {
                    let message = match file.registers {
                        Some(n) => {
                            format!("`%NR{register}` is not declared: `regs = {n}` declares %NR0 to %NR{n}")
                        }
                        None => format!("`%NR{register}` is not declared: the file has no `regs`"),
                    };
                    self.report(snippet.place(text, span.clone()), message);
                }
            }
        }
        if begins {
            self.set = set;
        }
    }

    /// Warns where the probe relies on behaviour that PRLX changes.
    fn warn_of_place(
        &mut self,
        text: &str,
        file: &File,
        probe: &Probe,
        place: &NeutrinoTracepoint,
        snippet: &Snippet,
        steps: &[(Step, Span)],
    ) {
        if probe.of_warp && !place.kernel() {
            self.warnings.push(
                ProbeError::new(
                    probe.level.clone(),
                    "Neutrino runs this probe only in lane 0, and not at all where lane 0 is inactive",
                )
                .help("in PRLX every lane has its own registers, and the lowest active lane saves"),
            );
        }
        let mut warn = |span: Span, message: String, help: &str| {
            self.warnings.push(ProbeError::new(snippet.place(text, span), message).help(help));
        };
        for (step, span) in steps {
            if place.order == Some(OperandOrder::Target) && snippet.after {
                let message = "after a branch, Neutrino's probe runs only where the branch is not taken";
                warn(
                    span.clone(),
                    message.to_owned(),
                    "in PRLX it runs before the branch, in the lanes that take it",
                );
            }
            let addresses = step.values().any(|v| place.names_address(v));
            if addresses {
                let message = "Neutrino ignores the offset of an address, for example 16 in `[%rd1+16]`";
                warn(span.clone(), message.to_owned(), "in PRLX the offset is part of the address");
            }
            if snippet.after && step.values().any(|v| place.may_write_over(v)) {
                let message =
                    "after an instruction, Neutrino reads inputs that the instruction may have overwritten";
                warn(span.clone(), message.to_owned(), "PRLX reads them before the instruction");
            }
            let Step::Save(map, _) = step else { continue };
            let Some(map) = file.maps.get(*map) else { continue };
            match map.keep {
                None => {
                    let message = format!(
                        "`{}` is `dynamic`: Neutrino runs the kernel twice, the first time to count records",
                        map.name
                    );
                    let help = format!(
                        "PRLX keeps the first {DYNAMIC} records of each warp or thread, and counts the others as lost"
                    );
                    warn(span.clone(), message, &help);
                }
                Some(keep) if !place.kernel() => {
                    let message = format!(
                        "beyond `cap = {keep}` records of `{}`, Neutrino overwrites the records of the next warp or thread",
                        map.name
                    );
                    warn(
                        span.clone(),
                        message,
                        "PRLX keeps the first records, and counts the others as lost",
                    );
                }
                Some(_) => {}
            }
            if map.of_warp && !probe.of_warp {
                let message = format!(
                    "in Neutrino all lanes write the same record of `{}`, a map with level \"warp\"",
                    map.name
                );
                warn(span.clone(), message, "in PRLX the lowest active lane saves");
            }
        }
    }

    /// Writes the clause of one tracepoint, and if needed a clause before it that saves the inputs.
    fn clause(
        &mut self,
        file: &File,
        probe: &Probe,
        place: &NeutrinoTracepoint,
        snippet: &Snippet,
        steps: &[(Step, Span)],
    ) -> Result<(), ProbeError> {
        // A probe cannot run after a branch.
        let after = snippet.after && place.order != Some(OperandOrder::Target);
        let (mut keeps, mut body) = (String::new(), String::new());
        let mut known: Vec<(Value, usize)> = Vec::new();
        for (step, span) in steps {
            let mut value = |value: &Value| -> Result<String, ProbeError> {
                let is = place.value(value, after).map_err(|why| ProbeError::new(span.clone(), why))?;
                if !after || !place.may_write_over(value) {
                    return Ok(is);
                }
                let number = match known.iter().find(|k| k.0 == *value) {
                    Some((_, number)) => *number,
                    None => {
                        keeps += &format!("    before{} = {is};\n", self.saved_inputs);
                        known.push((*value, self.saved_inputs));
                        self.saved_inputs += 1;
                        self.saved_inputs - 1
                    }
                };
                Ok(format!("before{number}"))
            };
            match step {
                Step::Set(register, compute) => {
                    let values = compute.values.iter().map(&mut value).collect::<Result<Vec<_>, _>>()?;
                    body += &format!("    nr{register} = {};\n", compute.text(&values));
                }
                Step::Save(map, values) => {
                    let values = values.iter().map(&mut value).collect::<Result<Vec<_>, _>>()?;
                    let Some(map) = file.maps.get(*map) else { continue };
                    let save = save(map, &values);
                    // A probe of a warp saves once, even to a map of threads.
                    let alone = probe.of_warp && !map.of_warp;
                    body += &if alone {
                        format!("    if leader {{ {save} }}\n")
                    } else {
                        format!("    {save}\n")
                    };
                }
            }
        }
        let side = if after { "end" } else { "begin" };
        if !keeps.is_empty() {
            self.clauses += &format!("\n{} {{\n{keeps}}}\n", place.tracepoints("begin"));
        }
        self.clauses += &format!("\n{} {{\n{body}}}\n", place.tracepoints(side));
        Ok(())
    }
}

fn save(map: &Map, values: &[String]) -> String {
    let fields = map.fields.iter().zip(values);
    let fields: Vec<String> =
        fields.map(|((_, wide), v)| if *wide { v.clone() } else { format!("u32({v})") }).collect();
    format!("save @{}({});", map.name, fields.join(", "))
}
