//! The module of the view: its kernels, functions, symbols and parameters.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::addresses::{ABSOLUTE, Addresses, RELATIVE, Tables, addresses};
use super::code::{Code, functions, small};
use super::forms::Forms;
use super::function::{AtEntry, Outside, begins, function, jumps};
use super::groups::Groups;
use super::lines::Lines;
use super::markers::{self, SourceMarker, Word};
use crate::amdgpu::Native;
use crate::amdgpu::inst::Reg;
use crate::amdgpu::object::{
    Argument, CodeObject, Descriptor, Field, Initial, Kernel, KernelMetadata, WorkgroupIds,
};
use crate::image::Error;
use crate::view::{Class, FuncId, Module, Space, Symbol, SymbolId, Type};

/// Reads a code object.
///
/// # Errors
/// If its kernels have waves of different sizes, or no function has code.
pub fn read(object: &CodeObject<'_>) -> Result<Module, Error> {
    let lanes = lanes(object)?;
    let code = functions(object, if lanes == 32 { 32 } else { 64 });
    let markers = markers::read(object, &code)?;
    let found = follow(object, &code);
    let groups = Groups::of(&code, &found);
    let mut module = Module {
        digest: crate::digest(object.bytes),
        target: object.target.target.name().to_owned(),
        warp_lanes: lanes,
        ..Module::default()
    };
    let by_entry = function_symbols(&code, &mut module);
    let external = variables(object, &mut module);
    let mut members: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    groups.of.iter().enumerate().for_each(|(i, group)| members.entry(*group).or_default().push(i));
    let forms: FxHashMap<usize, Forms> = members
        .iter()
        .map(|(group, members)| {
            let all = members.iter().filter_map(|i| code.get(*i));
            let marked = all.clone().flat_map(|code| of_function(&markers, code)).flat_map(|m| &m.words);
            let marked =
                marked.filter_map(|word| if let Word::Register(reg) = word { Some(*reg) } else { None });
            (*group, Forms::of(all, marked, if lanes == 32 { 32 } else { 64 }))
        })
        .collect();
    let written = |entry| groups.written(entry).to_vec();
    let mut outside = Outside {
        functions: &by_entry,
        external: &external,
        written: &written,
        at_entry: None,
        parameters: Vec::new(),
        markers: &[],
    };
    let mut lines = Lines::read(object);
    module.files = lines.files();
    let mut text = String::new();
    let none = (Forms::default(), Addresses::default());
    for (i, one) in code.iter().enumerate() {
        let forms = groups.of.get(i).and_then(|group| forms.get(group)).unwrap_or(&none.0);
        let kernel = one.kernel.and_then(|kernel| object.kernels.get(kernel));
        let described = kernel.map(|kernel| describe(object, kernel, FuncId(small(i)), &mut module));
        outside.at_entry = kernel.map(|kernel| at_entry(&kernel.descriptor));
        outside.parameters = described.as_ref().map_or(Vec::new(), |d| {
            let size = |id: &SymbolId| module.symbols.get(id.index()).map_or(0, |symbol| symbol.size);
            let all = d.params.iter().zip(&d.param_offsets).map(|(id, offset)| (*id, *offset, size(id)));
            let mut all: Vec<(SymbolId, u32, u64)> = all.collect();
            all.sort_by_key(|(_, offset, _)| *offset);
            all
        });
        outside.markers = of_function(&markers, one);
        let mut out = function(one, i, forms, found.get(i).unwrap_or(&none.1), &outside, &mut text);
        // The vote before a branch has the branch's line.
        let mut behind = None;
        for inst in out.insts.iter_mut().rev() {
            inst.loc = match inst.semantics.native.get::<Native>() {
                Some(native) => lines.loc(native.address, &mut module),
                None if inst.class == Class::Warp => behind,
                None => None,
            };
            behind = inst.loc;
        }
        for marker in &mut out.markers {
            marker.loc = out.insts.get(marker.at.index()).and_then(|inst| inst.loc);
        }
        if let Some(Described { params, param_offsets, limits }) = described {
            (out.params, out.param_offsets, out.limits) = (params, param_offsets, limits);
        }
        module.functions.push(out);
    }
    module.text = Arc::from(text);
    Ok(module)
}

/// The markers of a function, of those in address order.
fn of_function<'m, 'a>(markers: &'m [SourceMarker<'a>], code: &Code<'_>) -> &'m [SourceMarker<'a>] {
    let last = code.insts.last().map_or(0, |(address, _)| *address);
    let from = markers.partition_point(|marker| marker.address < code.entry());
    let to = markers.partition_point(|marker| marker.address <= last);
    markers.get(from..to).unwrap_or_default()
}

/// How often it is looked whether the jumps that were found lead to more jumps.
const ROUNDS: usize = 4;

/// Follows addresses through all functions.
fn follow(object: &CodeObject<'_>, code: &[Code<'_>]) -> Vec<Addresses> {
    let tables = Tables::of(object);
    let pass = |targets: &[Vec<usize>], written: &dyn Fn(Option<u64>) -> Option<Vec<Reg>>| {
        let one = |(code, jumps): (&Code<'_>, &Vec<usize>)| {
            addresses((object, &tables), code, &begins(code, jumps), jumps, written)
        };
        code.iter().zip(targets).map(one).collect::<Vec<Addresses>>()
    };
    let mut targets = vec![Vec::new(); code.len()];
    let mut found = pass(&targets, &|_| None);
    for _ in 0..ROUNDS {
        let before = targets.clone();
        for ((targets, code), found) in targets.iter_mut().zip(code).zip(&found) {
            targets.extend(jumps(code, found));
            targets.sort_unstable();
            targets.dedup();
        }
        // What a call writes is known once it is known what it calls; then more addresses survive calls.
        let groups = Groups::of(code, &found);
        found = pass(&targets, &|entry| Some(groups.written(entry).to_vec()));
        if targets == before {
            break;
        }
    }
    for ((targets, code), found) in targets.iter().zip(code).zip(&mut found) {
        found.forget_jumps(|address| code.at(address).is_some_and(|at| at > 0 && !targets.contains(&at)));
    }
    found
}

/// Lanes of the waves of all kernels; of an object without kernels, the target's least.
fn lanes(object: &CodeObject<'_>) -> Result<u32, Error> {
    let mut kernels = object.kernels.iter();
    let Some(first) = kernels.next() else {
        return Ok(if object.target.target.has_wave(32) { 32 } else { 64 });
    };
    let lanes = first.descriptor.wave_size();
    match kernels.find(|kernel| kernel.descriptor.wave_size() != lanes) {
        None => Ok(lanes),
        Some(other) => Err(Error {
            at: other.at,
            what: format!(
                "kernel `{}` has waves of {lanes} lanes, and kernel `{}` of {}: one module has warps of one size",
                first.name,
                other.name,
                other.descriptor.wave_size()
            ),
        }),
    }
}

/// Declares the functions. Returns their symbols by entry.
fn function_symbols(code: &[Code<'_>], module: &mut Module) -> FxHashMap<u64, SymbolId> {
    let mut out = FxHashMap::default();
    for (i, one) in code.iter().enumerate() {
        out.insert(one.entry(), SymbolId(small(module.symbols.len())));
        module.symbols.push(Symbol {
            name: one.name.to_owned(),
            function: Some(FuncId(small(i))),
            is_function: true,
            ..Symbol::default()
        });
    }
    out
}

/// Declares the variables, and symbols of other objects. Returns the latter by place among the relocations.
fn variables(object: &CodeObject<'_>, module: &mut Module) -> FxHashMap<usize, SymbolId> {
    // Symbols may overlap; together they get no more bytes than the object has.
    let mut budget = object.bytes.len();
    let variable_count = object.variables().count();
    for variable in object.variables() {
        let bytes = object.at_address(variable.value).unwrap_or_default();
        let size = usize::try_from(variable.size).unwrap_or(usize::MAX).min(bytes.len()).min(budget);
        budget -= size;
        module.symbols.push(Symbol {
            name: variable.name.to_owned(),
            space: Space::Global,
            ty: Type::B8,
            size: variable.size,
            align: 1 << variable.value.trailing_zeros().min(8),
            init: bytes.get(..size).unwrap_or_default().to_vec(),
            ..Symbol::default()
        });
    }
    let first = module.symbols.len() - variable_count;
    let mut named: FxHashMap<&str, SymbolId> = FxHashMap::default();
    let mut out = FxHashMap::default();
    let defined: rustc_hash::FxHashSet<&str> = object.symbols.iter().map(|symbol| symbol.name).collect();
    for (i, relocation) in object.relocations.iter().enumerate() {
        if relocation.symbol.is_empty() || defined.contains(relocation.symbol) {
            continue;
        }
        let id = *named.entry(relocation.symbol).or_insert_with(|| {
            module.symbols.push(Symbol {
                name: relocation.symbol.to_owned(),
                space: Space::Global,
                external: true,
                ..Symbol::default()
            });
            SymbolId(small(module.symbols.len() - 1))
        });
        out.insert(i, id);
    }
    relocate(object, first..first + variable_count, &out, module);
    out
}

/// Fills in the addresses that variables hold.
fn relocate(
    object: &CodeObject<'_>,
    variables: std::ops::Range<usize>,
    external: &FxHashMap<usize, SymbolId>,
    module: &mut Module,
) {
    let mut places: Vec<(u64, u64, SymbolId)> = object
        .variables()
        .zip(variables)
        .map(|(variable, place)| (variable.value, variable.size, SymbolId(small(place))))
        .collect();
    places.sort_unstable();
    let names: FxHashMap<String, SymbolId> =
        module.symbols.iter().map(|symbol| symbol.name.clone()).zip((0..).map(SymbolId)).collect();
    let functions: FxHashMap<u64, SymbolId> =
        object.functions().filter_map(|f| Some((f.value, *names.get(f.name)?))).collect();
    let holder = |address: u64| {
        let before = places.partition_point(|(from, ..)| *from <= address).checked_sub(1)?;
        let (from, size, id) = *places.get(before)?;
        (address - from < size).then_some((id, address - from))
    };
    for (i, relocation) in object.relocations.iter().enumerate() {
        let Some((variable, at)) = holder(relocation.address) else { continue };
        let to = match relocation.kind {
            RELATIVE => {
                let address = relocation.addend.cast_unsigned();
                let function = functions.get(&address).map(|id| (*id, 0));
                function.or_else(|| holder(address).map(|(id, plus)| (id, plus.cast_signed())))
            }
            ABSOLUTE => {
                let id = external.get(&i).or_else(|| names.get(relocation.symbol));
                id.map(|id| (*id, relocation.addend))
            }
            _ => None,
        };
        if let Some((to, plus)) = to
            && let Some(symbol) = module.symbols.get_mut(variable.index())
        {
            symbol.relocs.push((at, to, plus, false));
        }
    }
}

/// What descriptor and metadata say of a kernel.
#[derive(Default)]
struct Described {
    params: Vec<SymbolId>,
    param_offsets: Vec<u32>,
    limits: Vec<(String, Vec<u32>)>,
}

/// What registers hold when a kernel begins (LLVM, User Guide for AMDGPU Backend, "Initial Kernel Execution
/// State").
fn at_entry(descriptor: &Descriptor) -> Vec<AtEntry> {
    let mut out = Vec::new();
    let mut hold = |reg, parts: &[(&'static str, u32)]| out.push(AtEntry { reg, parts: parts.to_vec() });
    match descriptor.workgroup_ids() {
        WorkgroupIds::TrapTemporaries => {
            hold(Reg::Ttmp(9), &[("%ctaid.x", 0)]);
            hold(Reg::Ttmp(7), &[("%ctaid.y", 0), ("%ctaid.z", 16)]);
        }
        WorkgroupIds::Sgprs => {
            for sgprs in descriptor.initial_sgprs() {
                let name = match sgprs.content {
                    Initial::WorkgroupIdX => "%ctaid.x",
                    Initial::WorkgroupIdY => "%ctaid.y",
                    Initial::WorkgroupIdZ => "%ctaid.z",
                    _ => continue,
                };
                if let Ok(n) = u8::try_from(sgprs.first) {
                    hold(Reg::S(n), &[(name, 0)]);
                }
            }
        }
    }
    const IDS: [(&str, u32); 3] = [("%tid.x", 0), ("%tid.y", 10), ("%tid.z", 20)];
    let count = descriptor.workitem_dimensions().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let ids = IDS.get(..count).unwrap_or_default();
    if descriptor.packs_workitem_ids() {
        if !ids.is_empty() {
            hold(Reg::V(0), ids);
        }
    } else {
        ids.iter().zip(0..).for_each(|((name, _), n)| hold(Reg::V(n), &[(name, 0)]));
    }
    out
}

/// Adds what descriptor and metadata say of a kernel.
fn describe(object: &CodeObject<'_>, kernel: &Kernel, id: FuncId, module: &mut Module) -> Described {
    let mut out = Described::default();
    let mut declare = |symbol: Symbol| {
        module.symbols.push(Symbol { owner: Some(id), ..symbol });
        SymbolId(small(module.symbols.len() - 1))
    };
    let bytes = |space, name: &str, size: u32, align| Symbol {
        name: name.to_owned(),
        space,
        ty: Type::B8,
        size: size.into(),
        align,
        ..Symbol::default()
    };
    let size = |field| kernel.descriptor.get(field).unwrap_or_default();
    let metadata = kernel.metadata.and_then(|place| object.metadata.kernels.get(place));
    for (i, argument) in metadata.map_or(&[][..], |m| &m.args).iter().enumerate() {
        let Ok(offset) = u32::try_from(argument.offset) else { continue };
        out.params.push(declare(parameter(i, argument)));
        out.param_offsets.push(offset);
    }
    declare(bytes(Space::Shared, "lds", size(Field::GroupSegment), 16));
    declare(bytes(Space::Local, "scratch", size(Field::PrivateSegment), 16));
    out.limits = metadata.map(limits).unwrap_or_default();
    out
}

fn parameter(place: usize, argument: &Argument) -> Symbol {
    let name = match &argument.name {
        Some(name) if !name.is_empty() => name.clone(),
        _ if argument.kind.is_hidden() => argument.kind.name().to_owned(),
        _ => format!("arg{place}"),
    };
    let ty = match argument.size {
        1 => Type::B8,
        2 => Type::B16,
        4 => Type::B32,
        8 => Type::B64,
        _ => Type::B8,
    };
    let align = 1 << argument.offset.trailing_zeros().min(4);
    Symbol { name, space: Space::Param, ty, size: argument.size, align, ..Symbol::default() }
}

fn limits(metadata: &KernelMetadata) -> Vec<(String, Vec<u32>)> {
    let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let mut out = Vec::new();
    if let Some(size) = &metadata.reqd_workgroup_size {
        out.push(("reqntid".to_owned(), size.iter().copied().map(small).collect()));
    }
    out.push(("maxntid".to_owned(), vec![small(metadata.max_flat_workgroup_size)]));
    out
}
