//! Copies functions, with the routines of a plan inserted.
//!
//! In the neutral view, a lane that a branch on EXEC sends around a region waits behind it for its wave, and
//! insertions in the region are not for it. The copy therefore keeps the lanes that are where the wave is
//! ([`Registers::present`]): before each such branch the lanes that leave are taken out, with the number of
//! the place where they wait, and there they come back.

use std::rc::Rc;

use prlx_isa::amdgpu::inst::table::Class as MachineClass;
use prlx_isa::amdgpu::inst::{Bank, Encoding, Inst, Reg, Value};
use prlx_isa::amdgpu::object::{CodeObject, Descriptor, Kernel};
use prlx_isa::amdgpu::{Family, Native, Register, RegisterMap};
use prlx_isa::view::{self, Function, FunctionKind, InstId, Module};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan, RegisterChoice};
use rustc_hash::FxHashMap;

use super::allocation::{Names, Special, outer_registers};
use super::assembler::{Assembler, Destination, EXEC, Label, Placed, sgprs, vgpr};
use super::compile::compile;
use super::function::{CopiedFunction, by_place, names, scc_is_live, waits_at, with_counters};
use super::kernels;
use super::liveness::Places;
use super::misfit::{self, Misfit};
use super::numbers::{Set, Used};
use super::piece::{Homes, Piece};
use super::registers::Registers;
use super::spill::{Home, Store, Swap};
use crate::ptx::{Routines, Text};
use crate::routines;
use crate::verify::inserted_code::Work;

/// A group of functions under construction.
pub(super) struct Group<'a> {
    /// The object with the functions.
    pub(super) object: &'a CodeObject<'a>,
    /// View of the object.
    pub(super) module: &'a Module,
    /// What is inserted.
    pub(super) plan: &'a Plan,
    /// The code so far.
    pub(super) asm: Assembler,
    /// The text of insertions.
    pub(super) routines: &'a Routines<'a>,
    /// Registers of inserted code.
    pub(super) registers: Registers,
    /// The first instruction of each copy.
    pub(super) entries: FxHashMap<usize, Label>,
    /// If branches are by address and scalar registers are borrowed: where jumps to each copy arrive.
    pub(super) far_entries: FxHashMap<usize, Label>,
    /// The highest registers so far, one past each.
    pub(super) peak: Used,
    /// Number of places so far at which lanes wait for their wave.
    pub(super) places: u32,
    /// Whether branches of the original are by address, as some are too long.
    pub(super) far: bool,
    /// Special registers that registers of inserted code keep: each with the name of that.
    pub(super) kept: Vec<(&'static str, &'static str)>,
    /// Whether insertions need to know which lanes are where the wave is.
    pub(super) tracks: bool,
    /// If inserted code uses registers of functions: those that each function of the group and all that it
    /// calls name; `None` if that is not known.
    pub(super) named: Option<FxHashMap<usize, Option<Set>>>,
    /// Registers that hold something at every place, if inserted code uses no others of the functions.
    pub(super) used: Set,
    /// What was inserted so far.
    pub(super) pieces: Vec<Piece>,
}

impl Group<'_> {
    /// Copies a function. A kernel's descriptor comes back.
    pub(super) fn function(&mut self, f: usize) -> Result<Option<Descriptor>, Misfit> {
        let (object, module) = (self.object, self.module);
        let function = &module.functions[f];
        let empty = FunctionPlan::default();
        let of_plan = self.plan.functions.get(f).unwrap_or(&empty);
        let kernel = kernel(self.object, self.module, f);
        let lanes = u32::from(self.asm.lanes);
        let map = RegisterMap::of(function, lanes);
        let registers = with_counters(&self.registers, f);
        let mut copy = CopiedFunction {
            function,
            names: names(&map, lanes),
            homes: Rc::new(Homes::of(&registers)),
            registers,
            insertions: by_place(&of_plan.insertions),
            labels: function.insts.iter().map(|_| self.asm.label()).collect(),
            landings: FxHashMap::default(),
            waits: FxHashMap::default(),
            scc_is_live: scc_is_live(function),
            places: None,
            exec: map.get(Register::Mask(Reg::ExecLo)),
            f,
        };
        if self.tracks {
            copy.waits = self.waits(function, copy.exec);
        }
        let mut now = None;
        if let Some(kernel) = kernel {
            let scratch = self.registers.spill.as_ref().is_some_and(|s| matches!(s.store, Store::Scratch(_)));
            now = Some((kernel, kernels::descriptor(object, kernel, scratch)?));
        }
        copy.places = self.places(&copy, now.as_ref().map(|(_, now)| now))?;
        let lands = self.far && self.registers.borrowed.is_some();
        if lands && self.registers.borrowed.as_ref().is_some_and(|borrowed| borrowed.passed.is_some()) {
            // Registers that keep others differ between the begin of a jump and its end.
            return Err(Misfit::Registers(misfit::Bank::Vector));
        }
        if lands {
            let targets = (0..function.insts.len()).filter_map(|at| copy.target(at));
            let targets: Vec<usize> = targets.collect();
            copy.landings = targets.into_iter().map(|at| (at, self.asm.label())).collect();
        }
        let clauses = copy.broken_clauses();
        let entry = self.entries[&f];
        if lands && kernel.is_none() {
            self.asm.place(self.far_entries[&f]);
            self.registers.leave(&mut self.asm, true);
        }
        let mut descriptor = None;
        let sizes = kernels::sizes();
        let mut specials = sizes.clone();
        self.asm.place(entry);
        if let Some((kernel, mut now)) = now {
            specials = kernels::specials(&now);
            kernels::begin(&mut self.asm, &copy.registers, &now, kernels::hidden_offset(object, kernel));
            self.note(&copy, None, Set::default(), 0)?;
            copy.registers.hold(&copy.place(None), Set::default())?;
            copy.registers.keep(&mut self.asm);
            self.routine(&copy, None, &self.routines.warp_index(f), false, &specials)?;
            self.routine(&copy, None, &Routines::keep_specials(&self.kept), false, &specials)?;
            let mut copied: Vec<usize> = self.entries.keys().copied().collect();
            copied.sort_unstable();
            self.routine(&copy, None, &self.routines.begin_visits(&copied), false, &specials)?;
            kernels::restore(&mut self.asm, &kernel.descriptor, &now);
            now.set_entry_offset(0);
            descriptor = Some(now);
        }
        if kernel.is_none() && copy.places.is_some() {
            // What the caller's loads may still write is not known.
            self.asm.wait_for_all();
        }
        self.insert(&copy, At::Entry, false, &specials)?;
        for at in 0..function.insts.len() {
            let id = InstId(at as u32);
            if let Some(landing) = copy.landings.get(&at).copied() {
                self.landing(landing, copy.labels[at]);
            }
            self.asm.place(copy.labels[at]);
            let live = copy.scc_is_live[at];
            self.registers.waits = self.registers.borrows_late(&copy.place(Some(at)));
            if let Some(number) = copy.waits.get(&at).copied() {
                self.rejoin(&copy, at, number, live)?;
            }
            self.insert(&copy, At::Before(id), live, &sizes)?;
            let inst = &function.insts[at];
            let native = inst.semantics.native.get::<Native>();
            if native.is_none() && inst.class == view::Class::Exit {
                // The call before it does not return. If it does, the wave ends.
                self.asm.emit(Encoding::Sopp, "s_endpgm", &[Value::Immediate(0)]);
            }
            if let Some(native) = native {
                if let Some(number) = copy.leaves(at).and_then(|to| copy.waits.get(&to).copied()) {
                    self.depart(&copy, at, number, live)?;
                }
                let broken = clauses.contains(&at);
                self.machine(&copy, inst, native, broken, live)?;
            }
            self.insert(&copy, At::After(id), copy.scc_is_live[at + 1], &sizes)?;
        }
        Ok(descriptor)
    }

    /// Places where lanes wait for their wave, with a number for each.
    fn waits(&mut self, function: &Function, exec: Option<view::Reg>) -> FxHashMap<usize, u32> {
        let mut out = FxHashMap::default();
        for at in 0..function.insts.len() {
            if let Some(to) = waits_at(function, exec, at) {
                out.entry(to).or_insert_with(|| {
                    self.places += 1;
                    self.places
                });
            }
        }
        out
    }

    /// Appends the insertions at a place.
    fn insert(
        &mut self,
        copy: &CopiedFunction<'_>,
        at: At,
        live: bool,
        specials: &FxHashMap<&'static str, Special>,
    ) -> Result<(), Misfit> {
        let place = place_of(at);
        for text in self.texts(copy, at) {
            self.routine(copy, place, &text, live, specials)?;
        }
        Ok(())
    }

    /// The routines at a place.
    fn texts(&self, copy: &CopiedFunction<'_>, at: At) -> Vec<Text> {
        let insertions: Vec<&Insertion> = copy.insertions.get(&at).into_iter().flatten().collect();
        self.routines.texts(copy.f, &insertions)
    }

    /// What registers hold at the places of a function, if inserted code uses some of them.
    fn places(&self, copy: &CopiedFunction<'_>, now: Option<&Descriptor>) -> Result<Option<Places>, Misfit> {
        let Some(named) = &self.named else { return Ok(None) };
        let mut read = vec![Set::default(); copy.function.insts.len() + 1];
        // Only the routine at a kernel's entry reads special registers, and these are in `begun`.
        let names = Names { function: &copy.names, specials: &FxHashMap::default(), declared: &[] };
        for at in copy.insertions.keys() {
            for text in self.texts(copy, *at) {
                let lines = routines::lines(&text.lines).map_err(|e| e.message)?;
                if let Some(read) = read.get_mut(place_of(*at).unwrap_or(0)) {
                    *read = read.or(outer_registers(&lines, &names));
                }
            }
        }
        let begun = now.map_or(Set::ALL, |now| Set::below(kernels::at_begin(now)));
        let callee = |inst: &view::Inst| named.get(&self.module.callee(inst)?.index()).copied()?;
        let lanes = u32::from(self.asm.lanes);
        let places = Places::of(copy.function, lanes, &read, begun, &callee);
        Ok(Some(match self.plan.request.registers {
            RegisterChoice::Saved => places.all_busy(),
            _ => places,
        }))
    }

    fn routine(
        &mut self,
        copy: &CopiedFunction<'_>,
        place: Option<usize>,
        text: &Text,
        live: bool,
        specials: &FxHashMap<&'static str, Special>,
    ) -> Result<(), Misfit> {
        let lines = routines::lines(&text.lines).map_err(|e| e.message)?;
        if lines.is_empty() {
            return Ok(());
        }
        let names = Names { function: &copy.names, specials, declared: &text.declared };
        let read = outer_registers(&lines, &names);
        let here = copy.registers.at(&copy.place(place), &lines, read)?;
        let registers = here.as_ref().unwrap_or(&copy.registers);
        self.begin_piece(copy, place, live, Work::Routine(text.clone()));
        if let Some(piece) = self.pieces.last_mut() {
            piece.specials.clone_from(specials);
        }
        let compiled = compile(&mut self.asm, registers, &names, &lines, live);
        self.asm.piece = None;
        let peak = compiled.map_err(|why| copy.located(place, why))?;
        self.peak = self.peak.max(peak);
        Ok(())
    }

    /// Notes where pieces lie in the code of a function.
    pub(super) fn locate_pieces(&mut self, placed: &[Placed]) {
        for one in placed {
            let Some(piece) = one.piece.and_then(|number| self.pieces.get_mut(number)) else { continue };
            if piece.words.is_empty() {
                piece.words.start = one.at;
            }
            piece.words.end = one.at + one.inst.words().len();
        }
    }

    /// What is inserted from here on does this work.
    fn begin_piece(&mut self, copy: &CopiedFunction<'_>, place: Option<usize>, live: bool, work: Work) {
        let here = copy.place(place);
        let mut kept = match &self.registers.spill {
            None => self.used,
            Some(spill) => here.busy.or(here.late).or(spill.fixed).vectors().or(self.used.scalars()),
        };
        if let Some(borrowed) = &self.registers.borrowed {
            kept = kept.or(Set::ALL.scalars());
            if borrowed.passed.is_none() {
                kept = kept.without(Set::of(&[Reg::V(borrowed.kept)]));
            }
        }
        self.asm.piece = Some(self.pieces.len());
        let homes = Rc::clone(&copy.homes);
        let specials = FxHashMap::default();
        self.pieces.push(Piece {
            function: copy.f,
            work,
            specials,
            homes,
            kept,
            keeps_scc: live,
            words: 0..0,
        });
    }

    /// Code that uses the fixed registers and may change SCC.
    fn inserted(&mut self, live: bool, code: impl FnOnce(&mut Assembler)) {
        self.registers.enter(&mut self.asm, live);
        code(&mut self.asm);
        self.registers.leave(&mut self.asm, live);
    }

    /// Computes an address into a pair of the function's registers that is about to be written.
    fn address(&mut self, pair: u8, to: Destination, live: bool) {
        if !live {
            return self.asm.address(pair, to);
        }
        if self.registers.borrowed.is_none() {
            return self.inserted(live, |asm| asm.address(pair, to));
        }
        // SCC is a constant on each of two ways.
        let [one, behind] = [self.asm.label(), self.asm.label()];
        let zero = Value::Integer(0);
        self.asm.jump("s_cbranch_scc1", one);
        self.asm.address(pair, to);
        self.asm.emit(Encoding::Sopc, "s_cmp_lg_u32", &[zero, zero]);
        self.asm.jump("s_branch", behind);
        self.asm.place(one);
        self.asm.address(pair, to);
        self.asm.emit(Encoding::Sopc, "s_cmp_eq_u32", &[zero, zero]);
        self.asm.place(behind);
    }

    /// Where jumps to `label` over long distances arrive, with borrowed registers to give back.
    fn landing(&mut self, landing: Label, label: Label) {
        self.asm.jump("s_branch", label);
        self.asm.place(landing);
        self.registers.leave(&mut self.asm, true);
    }

    /// Notes for the lanes of EXEC where they wait for their wave. It does not use `held`.
    fn note(
        &mut self,
        copy: &CopiedFunction<'_>,
        place: Option<usize>,
        held: Set,
        number: u32,
    ) -> Result<(), Misfit> {
        let from = |number| if number == 0 { Value::Integer(0) } else { Value::Literal(number) };
        let set = |asm: &mut Assembler, to| asm.emit(Encoding::Vop1, "v_mov_b32", &[to, from(number)]);
        let slot = match copy.registers.away {
            Home::Register(away) => {
                set(&mut self.asm, away.whole());
                return Ok(());
            }
            Home::Slot(slot, _) => slot,
        };
        let Some(spill) = &copy.registers.spill else { return Ok(()) };
        let mut taker = spill.taker(&copy.place(place), held);
        let away = taker.take(1)?;
        let mut swap = Swap::new(spill);
        swap.stores.push((away, slot));
        let slots = swap.saves(&taker)?;
        self.peak = self.peak.max(Used { vector: taker.end(), slots, ..Used::default() });
        swap.begin(&mut self.asm);
        set(&mut self.asm, vgpr(away));
        swap.end(&mut self.asm);
        Ok(())
    }

    /// Before a branch on EXEC: lanes that it skips leave the wave.
    fn depart(
        &mut self,
        copy: &CopiedFunction<'_>,
        at: usize,
        number: u32,
        live: bool,
    ) -> Result<(), Misfit> {
        let Registers { present, masks: [leave, here, _], .. } = copy.registers;
        let held = self.registers.hold(&copy.place(Some(at)), Set::default())?;
        self.begin_piece(copy, Some(at), live, Work::Depart(number));
        self.registers.enter(&mut self.asm, live);
        self.asm.mask2("s_andn2", leave, present, EXEC);
        self.asm.mask1("s_mov", here, EXEC);
        self.asm.mask1("s_mov", EXEC, leave);
        self.note(copy, Some(at), held, number)?;
        self.asm.mask1("s_mov", EXEC, here);
        self.asm.mask2("s_andn2", present, present, leave);
        self.registers.leave(&mut self.asm, live);
        self.asm.piece = None;
        Ok(())
    }

    /// Lanes that wait here are with the wave again.
    fn rejoin(
        &mut self,
        copy: &CopiedFunction<'_>,
        at: usize,
        number: u32,
        live: bool,
    ) -> Result<(), Misfit> {
        let Registers { launched, present, masks: [back, here, _], .. } = copy.registers;
        let (mut scratch, mut away) = (copy.registers.scratch, 0);
        let mut swap = None;
        if let Home::Register(home) = copy.registers.away {
            away = home.first;
        }
        if let Some(spill) = &copy.registers.spill {
            let held = self.registers.hold(&copy.place(Some(at)), Set::default())?;
            let mut taker = spill.taker(&copy.place(Some(at)), held);
            scratch = taker.take(1)?;
            let swap = swap.insert(Swap::new(spill));
            if let Home::Slot(slot, _) = copy.registers.away {
                away = taker.take(1)?;
                swap.loads.push((away, slot));
            }
            let slots = swap.saves(&taker)?;
            self.peak = self.peak.max(Used { vector: taker.end(), slots, ..Used::default() });
        }
        self.begin_piece(copy, Some(at), live, Work::Rejoin(number));
        self.inserted(live, |asm| {
            asm.mask1("s_mov", here, EXEC);
            asm.mask1("s_mov", EXEC, launched);
            swap.iter().for_each(|swap| swap.begin(asm));
            asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(scratch), Value::Literal(number)]);
            asm.emit(Encoding::Vop3, "v_cmp_eq_u32", &[back, vgpr(away), vgpr(scratch)]);
            asm.mask2("s_or", present, present, back);
            swap.iter().for_each(|swap| swap.end(asm));
            asm.mask1("s_mov", EXEC, here);
        });
        self.asm.piece = None;
        Ok(())
    }

    /// Copies an instruction.
    fn machine(
        &mut self,
        copy: &CopiedFunction<'_>,
        inst: &view::Inst,
        native: &Native,
        broken: bool,
        live: bool,
    ) -> Result<(), Misfit> {
        let machine = &native.inst;
        let place = native.address + 4 * machine.words().len() as u64;
        let name = machine.name();
        let at = || format!("`{}` at {:#x}", machine.print(), native.address);
        if broken || releases_registers(machine) {
            self.asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(0)]);
            return Ok(());
        }
        let callee = self.module.callee(inst).and_then(|f| self.entries.get(&f.index()).copied());
        if let ("s_swappc_b64" | "s_setpc_b64", Some(entry)) = (name, callee) {
            return self.call(machine, inst, entry, live);
        }
        match (name, machine.branch_offset()) {
            ("s_getpc_b64", _) => {
                let into = machine.operands().first().and_then(|o| match o.value {
                    Value::Registers { bank: Bank::Scalar, first, .. } => Some(first),
                    _ => None,
                });
                let into = into.ok_or_else(|| format!("{} writes another register than a pair", at()))?;
                self.address(into, Destination::Address(place), live);
            }
            ("s_setpc_b64", _) => match copy.label_of(inst) {
                Some(to) => self.jump(to, copy.landing_of(inst), live)?,
                None => self.asm.raw(machine),
            },
            ("s_call_b64", Some(_)) => match callee {
                Some(entry) => self.asm.branch(machine, entry),
                None => return Err(format!("{} calls code that is not copied", at()).into()),
            },
            (_, Some(_)) => {
                let to = copy.label_of(inst).ok_or_else(|| format!("{} leaves the function", at()))?;
                match self.far {
                    false => self.asm.branch(machine, to),
                    true => self.far_branch(name, to, copy.landing_of(inst), live)?,
                }
            }
            (_, None) if name.ends_with("_pc_rel") => {
                // A hint, which would name other code.
                if machine.class() != Some(MachineClass::ScalarMemory) || !name.contains("prefetch") {
                    return Err(format!("{} depends on its place", at()).into());
                }
            }
            _ => self.asm.raw(machine),
        }
        Ok(())
    }

    /// A branch to any distance.
    fn far_branch(
        &mut self,
        name: &str,
        to: Label,
        landing: Option<Label>,
        live: bool,
    ) -> Result<(), Misfit> {
        let behind = self.asm.label();
        if name != "s_branch" {
            let conditions = ["scc0", "scc1", "vccz", "vccnz", "execz", "execnz"];
            let condition = conditions.iter().position(|c| name.strip_prefix("s_cbranch_") == Some(c));
            let condition = condition.ok_or_else(|| format!("`{name}` is too far from its target"))?;
            self.asm.jump(&format!("s_cbranch_{}", conditions[condition ^ 1]), behind);
        }
        self.jump(to, landing, live)?;
        self.asm.place(behind);
        Ok(())
    }

    /// A jump inside of the copies. Without registers of its own, a far one goes to its landing, which gives
    /// the borrowed ones back.
    fn jump(&mut self, to: Label, landing: Option<Label>, live: bool) -> Result<(), Misfit> {
        let pair = self.registers.jump;
        match (self.far, self.registers.borrowed.is_some(), landing) {
            (false, true, _) => {
                self.asm.jump("s_branch", to);
                return Ok(());
            }
            (_, false, _) => {
                self.inserted(live, |asm| asm.address(pair, Destination::Label(to)));
                self.asm.jump_by(pair, to);
            }
            (true, true, Some(landing)) => {
                self.registers.enter(&mut self.asm, true);
                self.asm.address(pair, Destination::Label(landing));
                self.asm.jump_by(pair, landing);
            }
            (true, true, None) => return Err(Misfit::Registers(misfit::Bank::Scalar)),
        }
        Ok(())
    }

    /// A call of a copy, or a jump to one after which the function has returned.
    fn call(&mut self, machine: &Inst, inst: &view::Inst, entry: Label, live: bool) -> Result<(), Misfit> {
        if machine.name() == "s_setpc_b64" {
            let pair = machine.operands().first().map(|o| o.value);
            if let (false, Some(_), Some(Value::Registers { bank: Bank::Scalar, first, .. })) =
                (self.far, &self.registers.borrowed, pair)
            {
                // A callee does not know which registers had its address. Without a pair of its own, a branch
                // would do, but readers take one to another function for none.
                self.address(first, Destination::Label(entry), live);
                self.asm.jump_by(first, entry);
                return Ok(());
            }
            let callee = self.module.callee(inst).map(view::FuncId::index);
            let landing = callee.and_then(|f| self.far_entries.get(&f)).copied();
            return self.jump(entry, landing, live);
        }
        let to = Destination::Label(entry);
        let returns = machine.operands().first().map(|o| o.value);
        let Some(returns @ Value::Registers { bank: Bank::Scalar, first, .. }) = returns else {
            return Err(format!("`{}` keeps its return address in another register", machine.print()).into());
        };
        let pair = match self.registers.borrowed {
            None => self.registers.jump,
            // The register of the return address is written by the call, after it was read.
            Some(_) => first,
        };
        match self.registers.borrowed {
            None => self.inserted(live, |asm| asm.address(pair, to)),
            Some(_) => self.address(pair, to, live),
        }
        self.asm.emit(Encoding::Sop1, machine.name(), &[returns, sgprs(pair, 2)]);
        Ok(())
    }
}

/// Whether the wave says that it needs no vector registers any more: inserted code at its end does (message 3
/// of gfx11 and later, `MSG_DEALLOC_VGPRS`).
fn releases_registers(machine: &Inst) -> bool {
    machine.name() == "s_sendmsg"
        && machine.operands().iter().any(|operand| operand.value == Value::Immediate(3))
        && machine.target().family() >= Family::Gfx11
}

/// The instruction before which an insertion is; `None` at a function's begin.
fn place_of(at: At) -> Option<usize> {
    match at {
        At::Before(inst) => Some(inst.index()),
        At::After(inst) => Some(inst.index() + 1),
        _ => None,
    }
}

/// What the object says of a function of its view, if it is a kernel.
pub(super) fn kernel<'a>(object: &'a CodeObject<'a>, module: &Module, f: usize) -> Option<&'a Kernel> {
    let function = module.functions.get(f).filter(|f| f.kind == FunctionKind::Kernel)?;
    object.kernels.iter().find(|kernel| kernel.name == function.name)
}

/// Whether insertions need to know which lanes are where the wave is: if there are any but at begins and
/// ends.
pub(super) fn tracks(plan: &Plan) -> bool {
    plan.functions.iter().flat_map(|f| &f.insertions).any(|i| {
        !matches!(
            i.action,
            Action::Begin
                | Action::End { .. }
                | Action::Save
                | Action::Restore
                | Action::StartCursor
                | Action::Reserve { bits: 0 }
        )
    })
}
