//! Calls and returns. Each lane has a call stack of its own.

use crate::check::Checking;
use prlx_isa::view::FuncId;

use crate::code::{Builtin, Callee, Code, Op, Plane, SavedRegisters, Slot, window};
use crate::error::{EmuError, invalid};
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{DEPTH, Frame, Key, Warp, key};
use crate::mem::access::{self, each};
use crate::printf;

impl Warp {
    /// Lanes call a function. Each continues at the callee, or after the call if the device provides the
    /// function.
    pub(crate) fn call(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        check: &mut Checking,
        index: u32,
        m: u32,
        at: Key,
    ) -> Result<(), Box<Fault>> {
        let code = launch.code;
        let call = &code.calls[index as usize];
        let step = Warp::step_of(at);
        let mut fault = None;
        each(m, |l| {
            let func = match &call.callee {
                Callee::Direct(f) => *f,
                Callee::Builtin(b) => {
                    if let Err(e) = self.builtin(launch, cta, check, *b, &call.args, &call.rets, l) {
                        fault = fault.take().or(Some((l, e)));
                    }
                    self.key[l] = at + 1;
                    return;
                }
                Callee::Indirect(p) => match self.function_at(launch, *p, l) {
                    Some(f) => f,
                    None => {
                        let to = self.planes.w64[usize::from(*p)].0[l];
                        fault = fault
                            .take()
                            .or(Some((l, invalid(format!("calls {to:#x}, which is no function")))));
                        return;
                    }
                },
            };
            if let Err(e) = self.enter_function(launch, index, func, l, at) {
                fault = fault.take().or(Some((l, e)));
            }
        });
        match fault {
            Some((l, text)) => Err(Fault::new(step, l as u32, text)),
            None => Ok(()),
        }
    }
    /// Where the values lie that a call or a return passes in lane `l`, and where they go. Results of
    /// functions that the device provides lie nowhere.
    pub(crate) fn passed<'c>(&self, launch: &Launch<'c>, op: &Op, l: usize) -> (&'c [Slot], &'c [Slot]) {
        let code = launch.code;
        let entry = |f: FuncId| code.entries.get(&f);
        match *op {
            Op::Call(i) => {
                let call = &code.calls[i as usize];
                let callee = match call.callee {
                    Callee::Direct(f) => Some(f),
                    Callee::Indirect(p) => self.function_at(launch, p, l),
                    Callee::Builtin(_) => return (&[], &call.rets),
                };
                callee.and_then(entry).map_or((&[], &[]), |entry| (&call.args, &entry.params))
            }
            Op::Ret => {
                let frame = self.frames[l].last();
                let found = frame.and_then(|f| Some((entry(FuncId(f.func))?, &code.calls[f.call as usize])));
                found.map_or((&[], &[]), |(entry, call)| (&entry.returns, &call.rets))
            }
            _ => (&[], &[]),
        }
    }
    /// The function at the address that a lane has in a 64-bit plane.
    pub(crate) fn function_at(&self, launch: &Launch<'_>, plane: u16, l: usize) -> Option<FuncId> {
        let to = self.planes.w64[usize::from(plane)].0[l];
        let off = to.checked_sub(window::CODE).filter(|o| o % window::CODE_STRIDE == 0)?;
        launch.module.symbols.get((off / window::CODE_STRIDE).checked_sub(1)? as usize)?.function
    }
    fn enter_function(
        &mut self,
        launch: &Launch<'_>,
        index: u32,
        func: FuncId,
        l: usize,
        at: Key,
    ) -> Result<(), EmuError> {
        let code = launch.code;
        let call = &code.calls[index as usize];
        let name = || launch.module.functions[func.index()].name.clone();
        let Some(entry) = code.entries.get(&func) else {
            return Err(invalid(format!("calls `{}`, which was not seen to be called", name())));
        };
        if entry.params.len() != call.args.len() {
            return Err(invalid(format!(
                "gives `{}` {} arguments; it has {}",
                name(),
                call.args.len(),
                entry.params.len()
            )));
        }
        let depth = Warp::depth_of(at) + 1;
        let sp = self.stack_pointer[l] + call.frame;
        if depth >= DEPTH
            || u64::from(sp) + u64::from(entry.frame) + u64::from(self.alloca_bytes[l]) > launch.stride
        {
            return Err(invalid(format!(
                "calls `{}` too deeply: the stack of {} bytes is used up at depth {depth}",
                name(),
                launch.stride
            )));
        }
        let stride = launch.stride;
        let saved = entry.saved.as_ref().map(|s| self.save_registers(s, l, stride));
        for (&from, &to) in call.args.iter().zip(&entry.params) {
            self.pass_value(from, to, l, stride);
        }
        self.frames[l].push(Frame {
            ret: at + 1,
            call: index,
            func: func.0,
            alloca_bytes: self.alloca_bytes[l],
            saved,
        });
        self.stack_pointer[l] = sp;
        self.key[l] = key(depth, entry.start);
        Ok(())
    }
    /// A lane returns from a function; false if it has no caller.
    pub(crate) fn return_lane(&mut self, code: &Code, l: usize) -> bool {
        let Some(frame) = self.frames[l].pop() else { return false };
        let call = &code.calls[frame.call as usize];
        let entry = &code.entries[&FuncId(frame.func)];
        let stride = self.local.len() / prlx_lanes::LANES as u64;
        self.stack_pointer[l] -= call.frame;
        self.alloca_bytes[l] = frame.alloca_bytes;
        match (&frame.saved, &entry.saved) {
            (Some(words), Some(s)) => {
                let results: Vec<Vec<u8>> =
                    entry.returns.iter().map(|&r| self.read_slot(r, l, stride)).collect();
                self.restore_registers(s, words, l, stride);
                for (bytes, &to) in results.iter().zip(&call.rets) {
                    self.write_slot(bytes, to, l, stride);
                }
            }
            _ => {
                for (&from, &to) in entry.returns.iter().zip(&call.rets) {
                    self.pass_value(from, to, l, stride);
                }
            }
        }
        self.key[l] = frame.ret;
        true
    }
    /// `alloca`: allocates bytes from the end of the stack. Call frames grow from its beginning.
    pub(crate) fn alloca(
        &mut self,
        launch: &Launch<'_>,
        (dst, size, align): (u16, u16, u32),
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let func = launch.code.origin.get(step as usize).map_or(FuncId(0), |o| o.0);
        let frame = launch.code.entries.get(&func).map_or(0, |e| e.frame);
        let mut fault = None;
        each(m, |l| {
            let bytes = self.planes.w64[usize::from(size)].0[l];
            let free = launch.stride - u64::from(self.alloca_bytes[l]);
            let start = free.checked_sub(bytes).map_or(0, |at| at & !u64::from(align - 1));
            let first = u64::from(self.stack_pointer[l]) + u64::from(frame);
            if bytes > free || start < first {
                let text =
                    format!("takes {bytes} bytes of the stack, which has {}", free.saturating_sub(first));
                fault = fault.take().or(Some((l, text)));
                return;
            }
            self.alloca_bytes[l] = (launch.stride - start) as u32;
            self.planes.w64[usize::from(dst)].0[l] = start;
        });
        match fault {
            Some((l, text)) => Err(Fault::new(step, l as u32, text)),
            None => Ok(()),
        }
    }
    /// `stackrestore`: releases what was allocated since the stack was saved.
    pub(crate) fn stack_restore(
        &mut self,
        launch: &Launch<'_>,
        src: u16,
        m: u32,
        step: u32,
    ) -> Result<(), Box<Fault>> {
        let mut fault = None;
        each(m, |l| {
            let at = self.planes.w64[usize::from(src)].0[l];
            match launch.stride.checked_sub(at).filter(|n| *n <= u64::from(self.alloca_bytes[l])) {
                Some(n) => self.alloca_bytes[l] = n as u32,
                None => {
                    fault = fault
                        .take()
                        .or(Some((l, format!("restores the stack to {at:#x}, which was not saved"))))
                }
            }
        });
        match fault {
            Some((l, text)) => Err(Fault::new(step, l as u32, text)),
            None => Ok(()),
        }
    }
    fn pass_value(&mut self, from: Slot, to: Slot, l: usize, stride: u64) {
        if let (Slot::Bytes(a, n), Slot::Bytes(b, k)) = (from, to) {
            let base = l as u64 * stride;
            for i in 0..u64::from(n.min(k)) {
                let v = self.local.load8(base + u64::from(a) + i);
                self.local.store8(base + u64::from(b) + i, v);
            }
            return;
        }
        let bytes = self.read_slot(from, l, stride);
        self.write_slot(&bytes, to, l, stride);
    }
    fn read_slot(&self, from: Slot, l: usize, stride: u64) -> Vec<u8> {
        match from {
            Slot::Bytes(at, n) => {
                let mut out = vec![0; n as usize];
                self.local.read(l as u64 * stride + u64::from(at), &mut out);
                out
            }
            Slot::Plane(Plane::W128(i)) => {
                let (lo, hi) =
                    (self.planes.w64[usize::from(i)].0[l], self.planes.w64[usize::from(i) + 1].0[l]);
                [lo.to_le_bytes(), hi.to_le_bytes()].concat()
            }
            Slot::Plane(p) => access::value(&self.planes, p, l).to_le_bytes().to_vec(),
            Slot::Pred(p) => vec![(self.planes.get_pred(p) >> l & 1) as u8],
        }
    }
    fn write_slot(&mut self, bytes: &[u8], to: Slot, l: usize, stride: u64) {
        let word = |from: usize| {
            let mut w = [0; 8];
            for (w, b) in w.iter_mut().zip(bytes.iter().skip(from)) {
                *w = *b;
            }
            u64::from_le_bytes(w)
        };
        match to {
            Slot::Bytes(at, n) => {
                let n = bytes.len().min(n as usize);
                self.local.write(l as u64 * stride + u64::from(at), &bytes[..n]);
            }
            Slot::Plane(Plane::W128(i)) => {
                self.planes.w64[usize::from(i)].0[l] = word(0);
                self.planes.w64[usize::from(i) + 1].0[l] = word(8);
            }
            Slot::Plane(p) => access::set(&mut self.planes, p, l, word(0)),
            Slot::Pred(p) => self.planes.put_pred(p, 1 << l, if word(0) & 1 == 1 { 1 << l } else { 0 }),
        }
    }
    fn save_registers(&self, s: &SavedRegisters, l: usize, stride: u64) -> Box<[u64]> {
        let mut out = Vec::new();
        out.extend((s.w32.0..s.w32.1).map(|i| u64::from(self.planes.w32[usize::from(i)].0[l])));
        out.extend((s.w64.0..s.w64.1).map(|i| self.planes.w64[usize::from(i)].0[l]));
        out.extend((s.pred.0..s.pred.1).map(|i| u64::from(self.planes.pred[usize::from(i)] >> l & 1)));
        out.extend(
            (s.bytes.0..s.bytes.1).map(|i| u64::from(self.local.load8(l as u64 * stride + u64::from(i)))),
        );
        out.into()
    }
    fn restore_registers(&mut self, s: &SavedRegisters, words: &[u64], l: usize, stride: u64) {
        let mut words = words.iter().copied();
        let mut next = || words.next().unwrap_or(0);
        for i in s.w32.0..s.w32.1 {
            self.planes.w32[usize::from(i)].0[l] = next() as u32;
        }
        for i in s.w64.0..s.w64.1 {
            self.planes.w64[usize::from(i)].0[l] = next();
        }
        for i in s.pred.0..s.pred.1 {
            self.planes.put_pred(i, 1 << l, (next() as u32 & 1) << l);
        }
        for i in s.bytes.0..s.bytes.1 {
            self.local.store8(l as u64 * stride + u64::from(i), next() as u8);
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the state of the launch, and the parts of a call")]
    fn builtin(
        &mut self,
        launch: &Launch<'_>,
        cta: &mut CtaState,
        check: &mut Checking,
        b: Builtin,
        args: &[Slot],
        rets: &[Slot],
        l: usize,
    ) -> Result<(), EmuError> {
        let stride = launch.stride;
        let word = |w: &Warp, i: usize| {
            let bytes = args.get(i).map(|&a| w.read_slot(a, l, stride)).unwrap_or_default();
            bytes.iter().take(8).enumerate().fold(0u64, |v, (i, &b)| v | u64::from(b) << (8 * i))
        };
        let (first, second) = (word(self, 0), word(self, 1));
        let byte = |w: &Warp, at: u64| w.generic_byte(launch, cta, l, at);
        match b {
            Builtin::Vprintf => {
                let mut text = Vec::new();
                let n = printf::format(&mut text, &|at| byte(self, at), first, second)?;
                if let Ok(mut printed) = launch.printed.lock() {
                    printf::keep(&mut printed, &text, launch.max_printed);
                }
                if let Some(&to) = rets.first() {
                    self.write_slot(&u64::from(n).to_le_bytes(), to, l, stride);
                }
                Ok(())
            }
            Builtin::Malloc => {
                let at = match check {
                    Some(c) => c.malloc(launch, first, l),
                    None => launch.heap.malloc(first),
                };
                if let Some(&to) = rets.first() {
                    self.write_slot(&at.to_le_bytes(), to, l, stride);
                }
                Ok(())
            }
            Builtin::Free => match check {
                Some(c) => c.free(launch, first, l),
                None => launch.heap.free(first),
            },
            Builtin::AssertFail => {
                let text = |at| printf::text(&|at| byte(self, at), at);
                let (message, file, function) = (text(first)?, text(second)?, text(word(self, 3))?);
                Err(invalid(format!(
                    "reports a failed assertion: {file}:{}: {function}: `{message}`",
                    word(self, 2) as u32
                )))
            }
        }
    }
    /// A byte at a generic address, as lane `l` sees it.
    fn generic_byte(&self, launch: &Launch<'_>, cta: &CtaState, l: usize, at: u64) -> Option<u8> {
        let inside =
            |r: &crate::mem::Region, base: u64, off: u64, n: u64| (off < n).then(|| r.load8(base + off));
        match at {
            window::SHARED..window::LOCAL => {
                let at = at - window::SHARED;
                let (region, base) = cta.peers.find(cta.rank, at).ok()?;
                inside(region, 0, at - base, region.len())
            }
            window::LOCAL..window::PARAMS => {
                inside(&self.local, l as u64 * launch.stride, at - window::LOCAL, launch.stride)
            }
            window::PARAMS..window::CODE => {
                inside(launch.params, 0, at - window::PARAMS, launch.params.len())
            }
            _ => launch.memory.range(at, 1).map(|(r, off)| r.load8(off)),
        }
    }
}
