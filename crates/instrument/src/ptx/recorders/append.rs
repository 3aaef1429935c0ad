//! Writing an element: the store, and the chunk that it may need first.
//!
//! The common way is a test of the cursor's row part, one store and one addition. Once every 15 rows a lane needs the next
//! chunk. All of that stands inline: a call would end the assembler's overlap of matrix instructions around it.
//!
//! Lanes of a warp come here together or apart, in any order, and a shared chain must still be one chain. A lane reads
//! the link. If it is set, the chunk is there. If not, the lanes that are here with the same link elect the lowest, which
//! takes a chunk, from its multiprocessor's magazine if there is one left, and publishes it with a compare-and-swap; if lanes elsewhere were faster, theirs is taken
//! and the fresh one stays unused. The result reaches the others by shuffle. Every `.sync` names exactly the lanes that
//! `activemask` saw, and nothing between them and it parts them for good, so no lane waits for one that never comes.
//! When the pool is used up the link published is the bucket's, where the host stops reading; lanes that find it write
//! nothing and count (see [`crate::ptx::lane_state`]).
//! Links are read past the first-level cache (`relaxed.gpu`), which would show another SM's zero for ever.
//!
//! Stores of elements are `.cg`: nobody on this SM reads them again, so they should not displace the kernel's lines.

use prlx_trace::device::{Context, MAGAZINE_COUNT, MAGAZINE_STRIDE, MAGAZINES};

use crate::ptx::addressing::unsigned;
use crate::ptx::lane_state::{LOST, OFF};
use crate::ptx::lowering::Lowering;
use crate::ptx::snippet::Snippet;

impl Lowering<'_> {
    /// Appends code that writes elements, a row each. For a shared stream each of `values` is one (a register or constant of the
    /// element's size), and they must divide a chunk's rows, so that one test does for all; for a private one it is a vector, the words that a row
    /// begins with; only lanes with `%~lead` write, and where a chunk has rows left, but too few, they stay empty.
    pub(in crate::ptx) fn element(&self, s: &mut Snippet<'_>, values: &[&str]) {
        let shape = self.state.shape;
        let (row, chunk) = (shape.row(), shape.chunk());
        let rows = values.len() as u64;
        s.ptx("cvt.u32.u64 %~a, %~cursor;");
        match (shape.lanes, rows) {
            (1, 2..) => s.ptx(&format!(
                "sub.u32 %~b, %~a, {row};
                 and.b32 %~b, %~b, {};
                 setp.gt.u32 %~q, %~b, {};",
                chunk - row,
                chunk - row * (rows + 1),
            )),
            (1, _) => s.ptx(&format!("and.b32 %~b, %~a, {};\nsetp.eq.u32 %~q, %~b, 0;", chunk - row)),
            _ => s.ptx(&format!("and.b32 %~b, %~a, {};", chunk - row)),
        }
        match shape.lanes {
            // Without a branch for those who follow: a warp stays together unless its leader needs a chunk.
            1 => s.ptx("and.pred %~q, %~q, %~lead;\n@!%~q bra $~store#;"),
            _ => s.ptx("setp.ne.u32 %~q, %~b, 0;\n@%~q bra $~store#;"),
        }
        s.ptx(&format!(
            "and.b32 %~b, %~a, {};
             setp.ne.u32 %~q, %~b, 0;
             @%~q bra $~lost#;",
            OFF | LOST,
        ));
        // The cursor ran past the last row of its chunk, so that chunk is the one before; if there is none, its head.
        match (shape.lanes, rows) {
            (1, _) => s.ptx(&format!(
                "setp.ne.u64 %~q, %~cursor, 0;
                 mov.b64 {{%~a, %~b}}, %~cursor;
                 sub.u32 %~a, %~a, 1;
                 and.b32 %~a, %~a, -{chunk};
                 mov.b64 %~link, {{%~a, %~b}};"
            )),
            _ => s.ptx(&format!(
                "and.b64 %~link, %~cursor, -{row};
                 setp.ne.u64 %~q, %~link, 0;
                 sub.u64 %~link, %~link, {chunk};"
            )),
        }
        self.context(s);
        s.ptx("@%~q bra $~next#;");
        self.wanted(s, "off", "heads");
        // A chunk that it begins with is known without a look at its head.
        s.ptx(&format!(
            "cvt.u64.u32 %~x, %~a;
             ld.global.u64 %~y, [%~context+{}];
             setp.lt.u64 %~q, %~x, %~y;
             ld.global.u64 %~y, [%~context+{}];
             mad.lo.u64 %~x, %~x, {chunk}, %~y;",
            Context::offset("given"),
            Context::offset("pool"),
        ));
        if shape.lanes == 1 {
            s.ptx("mov.u32 %~b, %laneid;\nsetp.eq.u32 %~single, %~b, 0;\nand.pred %~q, %~q, %~single;");
        }
        s.ptx("@%~q bra $~have#;");
        self.head(s);
        s.ptx("$~next#:");
        match shape.lanes {
            1 => {}
            _ => s.ptx(
                "ld.relaxed.gpu.global.u64 %~x, [%~link];
                 setp.ne.u64 %~q, %~x, 0;
                 @%~q bra $~have#;
                 activemask.b32 %~mask;
                 match.any.sync.b64 %~leader, %~link, %~mask;
                 brev.b32 %~leader, %~leader;
                 clz.b32 %~leader, %~leader;
                 mov.u32 %~a, %laneid;
                 setp.ne.u32 %~q, %~a, %~leader;
                 @%~q bra $~share#;",
            ),
        }
        let count = (1u64 << MAGAZINE_COUNT) - 1;
        let one = (chunk << MAGAZINE_COUNT) - 1;
        s.ptx(&format!(
            "mov.u64 %~amount, {chunk};
             ld.global.u64 %~magazine, [%~context+{}];
             setp.eq.u64 %~single, %~magazine, 0;
             @%~single bra $~pool#;
             mov.u32 %~a, %smid;
             and.b32 %~a, %~a, {};
             mul.wide.u32 %~x, %~a, {MAGAZINE_STRIDE};
             add.u64 %~magazine, %~magazine, %~x;
             atom.global.add.u64 %~x, [%~magazine], {one};
             cvt.u32.u64 %~b, %~x;
             and.b32 %~b, %~b, {count};
             shr.u64 %~x, %~x, {MAGAZINE_COUNT};
             setp.ne.u32 %~single, %~b, 0;
             sub.u32 %~b, %~b, 1;              // none left is now more than any number that may be left
             setp.lt.u32 %~q, %~b, {};
             @%~q bra $~got#;
             @!%~single ld.global.u64 %~amount, [%~context+{}];
             $~pool#:
             ld.global.u64 %~x, [%~context+{}];
             atom.global.add.u64 %~x, [%~x], %~amount;
             @%~single bra $~got#;
             add.u64 %~y, %~x, {chunk};
             shl.b64 %~y, %~y, {MAGAZINE_COUNT};
             shr.u64 %~amount, %~amount, {};
             add.u64 %~y, %~y, %~amount;
             sub.u64 %~y, %~y, 1;              // but for the one that is taken
             st.relaxed.gpu.global.u64 [%~magazine], %~y;
             $~got#:
             ld.global.u64 %~y, [%~context+{}];
             setp.ge.u64 %~q, %~x, %~y;
             ld.global.u64 %~y, [%~context+{}];
             add.u64 %~x, %~x, %~y;
             ld.global.u64 %~y, [%~context+{}];
             selp.b64 %~x, %~y, %~x, %~q;",
            Context::offset("magazines"),
            MAGAZINES - 1,
            count / 2,
            Context::offset("batch"),
            Context::offset("cursor"),
            chunk.trailing_zeros(),
            Context::offset("size"),
            Context::offset("pool"),
            Context::offset("bucket"),
        ));
        match shape.lanes {
            1 => s.ptx("st.global.cg.u64 [%~link], %~x;\n@%~q bra $~full#;\n$~have#:"),
            _ => s.ptx(&format!(
                "atom.global.cas.b64 %~y, [%~link], 0, %~x;
                 setp.ne.u64 %~q, %~y, 0;
                 selp.b64 %~x, %~y, %~x, %~q;
                 $~share#:
                 mov.b64 {{%~a, %~b}}, %~x;
                 shfl.sync.idx.b32 %~a, %~a, %~leader, 31, %~mask;
                 shfl.sync.idx.b32 %~b, %~b, %~leader, 31, %~mask;
                 mov.b64 %~x, {{%~a, %~b}};
                 $~have#:
                 ld.global.u64 %~y, [%~context+{}];
                 setp.eq.u64 %~q, %~x, %~y;
                 @%~q bra $~full#;
                 mov.u32 %~a, %laneid;
                 mad.wide.u32 %~x, %~a, {}, %~x;",
                Context::offset("bucket"),
                shape.element,
            )),
        }
        s.ptx(&format!("add.u64 %~cursor, %~x, {row};"));
        let lost = format!(
            "$~off#:
             mov.u64 %~cursor, {OFF};
             bra $~lost#;
             $~full#:
             mov.u64 %~cursor, {LOST};
             $~lost#:
             add.u64 %~cursor, %~cursor, {};",
            chunk * rows,
        );
        if shape.lanes == 1 {
            s.ptx(&format!(
                "bra $~store#;
                 {lost}
                 setp.ne.u32 %~lead, 0, 0;
                 $~store#:"
            ));
            for (i, words) in values.iter().enumerate() {
                let offset = if i == 0 { String::new() } else { format!("+{}", i as u64 * row) };
                let (ty, words) = match words.split(',').count() {
                    1 => (".u32".to_owned(), words.trim_matches(['{', '}'])),
                    n => (format!(".v{n}.u32"), *words),
                };
                s.ptx(&format!("@%~lead st.global.cg{ty} [%~cursor{offset}], {words};"));
            }
            // In a chunk the high half stays as it is; past its end the low half alone wraps, and back again where the link is looked for.
            s.ptx(&format!(
                "mov.b64 {{%~a, %~b}}, %~cursor;
                 @%~lead add.u32 %~a, %~a, {};
                 mov.b64 %~cursor, {{%~a, %~b}};",
                row * rows,
            ));
            return;
        }
        s.ptx("$~store#:");
        let ty = unsigned(shape.element);
        for (i, value) in values.iter().enumerate() {
            let offset = if i == 0 { String::new() } else { format!("+{}", i as u64 * row) };
            s.ptx(&format!("st.global.cg.{ty} [%~cursor{offset}], {value};"));
        }
        s.ptx(&format!(
            "add.u64 %~cursor, %~cursor, {};
             bra $~done#;
             {lost}
             $~done#:",
            row * rows,
        ));
    }
}
