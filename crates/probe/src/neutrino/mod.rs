//! Probes of Neutrino (OSDI'25), in its TOML dialect, become programs of the probe language.
//!
//! A file has maps, and probes of snippets of PTX at places that are told by text. [`read`] gives the program that
//! means the same with Neutrino's faults mended, and a warning where a probe relied on one; docs/probe-tools.md has the
//! list.
//!
//! File by file: `file` reads the TOML, `place` says what a `pos` means and what helpers are there, `snippet` translates
//! the PTX.
//!
//! Holds: what is not understood is refused with its place; nothing panics. Misses: snippets with predicates, branches,
//! memory accesses or registers of their own; Neutrino's Python front end (its compiler writes these files), and its
//! callbacks.

mod file;
mod map;
mod snippet;
mod tracepoint;

use std::collections::BTreeSet;

use crate::lang::{self, MAX_ERRORS, ProbeError, Script, Span};
use file::{File, Probe, Snippet};
use map::Map;
use snippet::{Step, Value};
use tracepoint::{Family, NeutrinoTracepoint};

/// Records that are kept of a map whose capacity is `dynamic`: Neutrino runs the kernel twice to count them.
const DYNAMIC: u32 = 64;

/// Reads a file of probes: the program, whose text is in the probe language, and what in it is not as Neutrino had it.
/// Complaints point into `text`.
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
                message: format!("as a program: {}", c.message),
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
    /// Registers that a thread has set when it goes on from its begin.
    set: BTreeSet<u32>,
    /// Registers that were warned of.
    unset: BTreeSet<u32>,
    /// Variables that keep what an instruction may write over.
    kept: usize,
    clauses: String,
}

impl Writer {
    fn program(&mut self, text: &str, file: &File) -> String {
        self.warnings.extend(file.warnings.iter().cloned());
        // What runs at the begin sets registers for all others, wherever it stands in the file.
        let (begins, others): (Vec<_>, Vec<_>) =
            file.snippets().partition(|(probe, snippet)| probe.at_kernel() && !snippet.after);
        for (probe, snippet) in begins.into_iter().chain(others) {
            self.snippet(text, file, probe, snippet);
        }
        let mut out = String::new();
        for register in &self.used {
            out += &format!("thread nr{register}: u64;\n");
        }
        for number in 0..self.kept {
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
            if let Err(complaint) = self.clause(file, probe, place, snippet, &steps) {
                self.errors.push(ProbeError { span: snippet.place(text, complaint.span), ..complaint });
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
                            format!("`%NR{register}` is read before the kernel's begin has set it"),
                        )
                        .help("it begins with 0 here; in Neutrino, with what the register held"),
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
                            format!("there is no `%NR{register}`: `regs = {n}` declares %NR0 to %NR{n}")
                        }
                        None => format!("there is no `%NR{register}`: the file has no `regs`"),
                    };
                    self.report(snippet.place(text, span.clone()), message);
                }
            }
        }
        if begins {
            self.set = set;
        }
    }

    /// Where the probe relied on something that is different here.
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
                    "Neutrino ran this probe in lane 0 alone, and not where that lane is not",
                )
                .help("here every lane keeps its registers, and the lowest lane that is there saves"),
            );
        }
        let mut warn = |span: Span, message: String, help: &str| {
            self.warnings.push(ProbeError::new(snippet.place(text, span), message).help(help));
        };
        for (step, span) in steps {
            if place.family == Family::Jump && snippet.after {
                let message = "behind a branch, Neutrino's probe ran only where it was not taken";
                warn(
                    span.clone(),
                    message.to_owned(),
                    "here it runs before the branch, in the lanes that jump",
                );
            }
            let addresses = step.values().any(|v| place.names_address(v));
            if addresses {
                let message = "Neutrino left out the offset of an address, as 16 in `[%rd1+16]`";
                warn(span.clone(), message.to_owned(), "here it is part of the address");
            }
            if snippet.after && step.values().any(|v| place.may_write_over(v)) {
                let message =
                    "behind an instruction, Neutrino read what it had read: perhaps written over by then";
                warn(span.clone(), message.to_owned(), "here it is kept from before the instruction");
            }
            let Step::Save(map, _) = step else { continue };
            let Some(map) = file.maps.get(*map) else { continue };
            match map.keep {
                None => {
                    let message = format!(
                        "`{}` is `dynamic`: Neutrino ran the kernel twice, the first time to count",
                        map.name
                    );
                    let help = format!(
                        "here the first {DYNAMIC} records of each are kept, and the others counted as lost"
                    );
                    warn(span.clone(), message, &help);
                }
                Some(keep) if !place.kernel() => {
                    let message = format!(
                        "Neutrino wrote on behind `cap = {keep}` records of `{}`, over the next one's",
                        map.name
                    );
                    warn(
                        span.clone(),
                        message,
                        "here the first ones are kept, and the others counted as lost",
                    );
                }
                Some(_) => {}
            }
            if map.of_warp && !probe.of_warp {
                let message = format!("all lanes wrote one record of `{}`, which warps have", map.name);
                warn(span.clone(), message, "here the lowest lane that is there saves");
            }
        }
    }

    /// The clause at one place, and one before it that keeps what the instruction reads.
    fn clause(
        &mut self,
        file: &File,
        probe: &Probe,
        place: &NeutrinoTracepoint,
        snippet: &Snippet,
        steps: &[(Step, Span)],
    ) -> Result<(), ProbeError> {
        // A branch has nothing behind it.
        let after = snippet.after && place.family != Family::Jump;
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
                        keeps += &format!("    before{} = {is};\n", self.kept);
                        known.push((*value, self.kept));
                        self.kept += 1;
                        self.kept - 1
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
                    // A warp's probe saves once, whosever the record is.
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
