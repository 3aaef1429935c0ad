//! Levels `path` and `values`: decisions and hashes of stored values as bits of a word, iterations as counts.

use prlx_isa::view::{Guard, Reg, Type};
use prlx_plan::{RollingHash, WordBits};
use prlx_trace::device::{COUNT_BITS, COUNT_MORE, COUNT_WORD, TURN, VALUE_BITS, WORD_BITS};

use crate::ptx::lane_state::{LOST, NOT_RECORDED, trip};
use crate::ptx::lowering::Lowering;
use crate::ptx::snippet::{Snippet, guard_text, register};
use crate::ptx::values::{OperandValue, Width, width};

impl Lowering<'_> {
    /// Reserves `bits` bits in the word. Its leading 1 marks the fill level, so one comparison is enough.
    pub(in crate::ptx) fn reserve(&self, s: &mut Snippet<'_>, bits: u32) {
        let limit = 1u32 << (WORD_BITS + 1).saturating_sub(bits);
        s.ptx(&format!("setp.lt.u32 %~q, %~word, {limit};\n@%~q bra $~room#;"));
        self.append(s, &["%~word"]);
        s.ptx("mov.u32 %~word, 1;\n$~room#:");
    }

    /// Puts `bits` bits of a register from bit `from` on into the word, without a branch even if guarded.
    ///
    /// The assembler evaluates a long chain of bits at its end, and then runs out of predicates ("Register
    /// allocation failed with register count of '7'"), as in the radix sort of CUB. `ends_chain` adds
    /// optional lines that make it evaluate the word here, by a test for 0 that never holds. They cost time,
    /// so only a second attempt of assembling uses them.
    pub(in crate::ptx) fn bits(
        &self,
        s: &mut Snippet<'_>,
        reg: Reg,
        (from, bits, into): (u8, u8, WordBits),
        guard: Option<Guard>,
        ends_chain: bool,
    ) {
        let name = register(self.function, reg);
        let ty = self.function.regs.get(reg.index()).map_or(Type::B32, |r| r.ty);
        let at = guard.map(|g| format!("{} ", guard_text(self.function, g, false))).unwrap_or_default();
        let shift = match into.shift {
            0 => String::new(),
            by => format!("{at}shl.b32 %~word, %~word, {by};\n"),
        };
        if width(ty) == Width::Bit {
            if ends_chain {
                s.optional("setp.eq.u32 %~r, %~word, 0;");
            }
            let bit = 1u32 << into.to;
            match guard {
                None => s.ptx(&format!("{shift}@{name} or.b32 %~word, %~word, {bit};")),
                Some(g) => {
                    let held = register(self.function, g.reg);
                    match g.negate {
                        true => s.ptx(&format!("not.pred %~q, {held};\nand.pred %~q, %~q, {name};")),
                        false => s.ptx(&format!("and.pred %~q, {held}, {name};")),
                    }
                    s.ptx(&format!("{shift}@%~q or.b32 %~word, %~word, {bit};"));
                }
            }
            if ends_chain {
                s.optional("@%~r mov.u32 %~word, 1;");
            }
            return;
        }
        let value = OperandValue::Named(name.to_owned(), ty);
        if u32::from(from) + u32::from(bits) > 32 {
            value.read(s, "%~v");
            s.ptx(&format!("shr.u64 %~v, %~v, {from};\ncvt.u32.u64 %~a, %~v;"));
        } else {
            value.read_low(s, "%~a");
            if from > 0 {
                s.ptx(&format!("shr.u32 %~a, %~a, {from};"));
            }
        }
        let mask = (1u64 << u32::from(bits).min(WORD_BITS)) - 1;
        s.ptx(&format!("and.b32 %~a, %~a, {mask};"));
        if into.to > 0 {
            s.ptx(&format!("shl.b32 %~a, %~a, {};", into.to));
        }
        s.ptx(&format!("{shift}{at}or.b32 %~word, %~word, %~a;"));
    }

    /// Appends the [`value_hash`](prlx_plan::value_hash) of values to the word, without a branch even if
    /// guarded.
    pub(in crate::ptx) fn value_hash(
        &self,
        s: &mut Snippet<'_>,
        values: &[OperandValue],
        guard: Option<Guard>,
    ) {
        let (rotate, k) = (RollingHash::ROTATE, RollingHash::K.cast_signed());
        for (i, value) in values.iter().enumerate() {
            let wide = value.width() == Width::Wide;
            if wide {
                value.read(s, "%~v");
                s.ptx("mov.b64 {%~a, %~b}, %~v;");
            } else {
                value.read_low(s, "%~a");
            }
            // The hash begins as 0, so much of the first step is constant.
            match (i, wide) {
                (0, false) => s.ptx("mov.b32 %~c, %~a;"),
                (0, true) => s.ptx(&format!(
                    "shf.l.wrap.b32 %~b, %~b, %~b, {};
                     mad.lo.s32 %~c, %~b, {k}, %~a;",
                    TURN + rotate,
                )),
                _ => {
                    if wide {
                        s.ptx(&format!("shf.l.wrap.b32 %~b, %~b, %~b, {TURN};\nxor.b32 %~c, %~c, %~b;"));
                    }
                    s.ptx(&format!(
                        "shf.l.wrap.b32 %~c, %~c, %~c, {rotate};
                         mad.lo.s32 %~c, %~c, {k}, %~a;"
                    ));
                }
            }
        }
        s.ptx(&format!("mul.lo.s32 %~c, %~c, {k};"));
        let at = guard.map(|g| format!("{} ", guard_text(self.function, g, false))).unwrap_or_default();
        s.ptx(&format!("{at}shf.l.wrap.b32 %~word, %~c, %~word, {VALUE_BITS};"));
    }

    /// Writes the word that is not full, at the lane's end. It has a place of its own, so a lane that writes
    /// no other word needs no chunk.
    pub(in crate::ptx) fn write_last_word(&self, s: &mut Snippet<'_>) {
        let (last_word, lanes) = (self.plan.finals.last_word.bytes(), self.plan.warp_size.lanes());
        s.ptx(&format!(
            "setp.eq.u32 %~q, %~word, 1;
             @%~q bra $~last#;
             cvt.u32.u64 %~a, %~cursor;
             and.b32 %~a, %~a, {};
             setp.ne.u32 %~q, %~a, 0;
             @%~q bra $~lost#;",
            NOT_RECORDED | LOST,
        ));
        self.context(s);
        s.ptx("setp.eq.u64 %~q, %~context, 0;\n@%~q bra $~last#;");
        self.record_base(s, "%~link", "finals", "$~told#");
        self.warp_of_finals(s, "last");
        s.ptx(&format!(
            "mad.wide.u32 %~link, %~warp, {}, %~link;
             mov.u32 %~a, %laneid;
             mad.wide.u32 %~link, %~a, {}, %~link;
             st.global.cg.u{} [%~link], %~word;
             bra $~last#;
             $~lost#:
             add.u64 %~cursor, %~cursor, {};
             $~last#:",
            lanes * last_word,
            last_word,
            8 * last_word,
            self.state.shape.chunk(),
        ));
    }

    /// Starts the counter of a loop at its entry.
    pub(in crate::ptx) fn trip_begin(&self, s: &mut Snippet<'_>, counter: u32, guard: Option<Guard>) {
        let at = guard.map(|g| format!("{} ", guard_text(self.function, g, false))).unwrap_or_default();
        s.ptx(&format!("{at}mov.u32 %~{}, 1;", trip(counter)));
    }

    /// Counts one more iteration.
    pub(in crate::ptx) fn trip_add(&self, s: &mut Snippet<'_>, counter: u32, guard: Option<Guard>) {
        let at = guard.map(|g| format!("{} ", guard_text(self.function, g, false))).unwrap_or_default();
        let name = trip(counter);
        s.ptx(&format!("{at}add.u32 %~{name}, %~{name}, 1;"));
    }

    /// Reads the loop's own counter, if the loop was entered.
    pub(in crate::ptx) fn trip_read(&self, s: &mut Snippet<'_>, counter: u32, reg: Reg, less: u32) {
        let (name, own) = (trip(counter), register(self.function, reg));
        s.ptx(&format!(
            "setp.ne.u32 %~q, %~{name}, 0;
             @%~q sub.u32 %~{name}, {own}, {less};"
        ));
    }

    /// Appends an iteration count, if there is one. A large count takes a further word of 30 bits, and a
    /// second one if it does not fit.
    pub(in crate::ptx) fn trip_end(&self, s: &mut Snippet<'_>, counter: u32) {
        let name = trip(counter);
        let (word, more, mask) = (COUNT_WORD.cast_signed(), COUNT_MORE, COUNT_MORE - 1);
        let large = (1u32 << COUNT_BITS) - 1;
        s.ptx(&format!(
            "setp.eq.u32 %~q, %~{name}, 0;
             @%~q bra $~small#;
             sub.u32 %~{name}, %~{name}, 1;
             setp.lt.u32 %~q, %~{name}, {large};
             shl.b32 %~word, %~word, {COUNT_BITS};
             @%~q or.b32 %~word, %~word, %~{name};
             @%~q bra $~small#;
             or.b32 %~word, %~word, {large};
             and.b32 %~value, %~{name}, {mask};
             or.b32 %~value, %~value, {word};
             shr.u32 %~{name}, %~{name}, 30;
             setp.ne.u32 %~r, %~{name}, 0;
             @%~r or.b32 %~value, %~value, {more};"
        ));
        self.append(s, &["%~value"]);
        s.ptx(&format!(
            "@!%~r bra $~small#;
             or.b32 %~value, %~{name}, {word};"
        ));
        let small = s.label("small");
        s.fresh_labels();
        self.append(s, &["%~value"]);
        s.ptx(&format!("{small}:\nmov.u32 %~{name}, 0;"));
    }
}
