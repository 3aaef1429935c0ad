//! Appends elements to a stream: the store, and the chunk that it may need first.
//!
//! The common path is a test of the cursor's row part, one store and one addition. Once every 15 rows a lane
//! needs the next chunk. Most functions have a copy of that code at each place, because a call would end the
//! assembler's overlap of matrix instructions around it. A function with more places than
//! [`RecordingRequest::inline_chunks`](prlx_plan::RecordingRequest::inline_chunks) calls one copy for all of
//! them, the module's [`NEXT_CHUNK`]: with hundreds of copies the assembler takes minutes.
//!
//! Lanes of a warp may arrive together or separately, in any order, and a shared chain must stay one chain. A
//! lane reads the link to the next chunk. If it is set, the chunk exists. If not, the active lanes with the
//! same link elect the lowest. It takes a chunk, from its SM's magazine if that has one, and publishes it
//! with a compare-and-swap. If other lanes were faster, their chunk is used and the fresh one stays unused. A
//! shuffle passes the result to the other lanes.
//!
//! In warps of 64 lanes no instruction of PTX elects a leader, and AMD code has none at all. There each lane
//! takes a chunk. All but one of them stay unused, and the pool must be larger.
//!
//! Once the pool is used up, the published link is the bucket's, where the host stops reading. Lanes that
//! find it write nothing and count (see [`crate::ptx::lane_state`]).
//!
//! # Invariants
//! - Every `.sync` names exactly the lanes that `activemask` returned. They do not diverge in between, so no
//!   lane waits for one that never arrives.
//! - Links are read past the first-level cache (`relaxed.gpu`), which might otherwise show another SM's zero
//!   for ever.
//! - Elements are stored with `.cg`: no thread on this SM reads them again, so they should not displace the
//!   kernel's cache lines.

use prlx_trace::device::{Context, MAGAZINE_COUNT, MAGAZINE_STRIDE, MAGAZINES};

use crate::ptx::addressing::unsigned;
use crate::ptx::lane_state::{LOST, NOT_RECORDED};
use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::snippet::Snippet;

/// Name of the function that takes the next chunk, after the prefix.
pub(in crate::ptx) const NEXT_CHUNK: &str = "next_chunk";

impl Lowering<'_> {
    /// Appends code that writes elements, one row each.
    ///
    /// - Shared stream: each of `values` is one element (a register or constant of the element's size). Their
    ///   number divides the rows of a chunk, so one test is enough for all.
    /// - Private stream: each of `values` is a vector, the words that a row begins with. Only lanes with
    ///   `%~lead` write. Rows at the end of a chunk stay empty if they are too few.
    pub(in crate::ptx) fn append(&self, s: &mut Snippet<'_>, values: &[&str]) {
        let shape = self.state.shape;
        let (row, chunk) = (shape.row(), shape.chunk());
        let rows = values.len() as u64;
        self.test_for_room(s, rows);
        let count_lost = format!("add.u64 %~cursor, %~cursor, {};", chunk * rows);
        if self.calls_next_chunk {
            self.context(s);
            s.ptx(&format!(
                "call (%~cursor), ~{NEXT_CHUNK}, (%~cursor, %~context);
                 cvt.u32.u64 %~a, %~cursor;
                 and.b32 %~a, %~a, {};
                 setp.eq.u32 %~q, %~a, 0;
                 @%~q bra $~store#;",
                NOT_RECORDED | LOST,
            ));
            return match shape.lanes {
                1 => self.store_private(s, values, &count_lost),
                _ => {
                    s.ptx(&format!("{count_lost}\nbra $~done#;"));
                    self.store_shared_rows(s, values);
                    s.ptx("$~done#:");
                }
            };
        }
        self.test_for_end(s);
        self.find_link(s);
        self.context(s);
        self.follow_link(s);
        s.ptx(&format!("add.u64 %~cursor, %~x, {row};"));
        let lost = format!(
            "$~off#:
             mov.u64 %~cursor, {NOT_RECORDED};
             bra $~lost#;
             $~full#:
             mov.u64 %~cursor, {LOST};
             $~lost#:
             {count_lost}"
        );
        match shape.lanes {
            1 => {
                s.ptx("bra $~store#;");
                self.store_private(s, values, &lost);
            }
            _ => {
                self.store_shared_rows(s, values);
                s.ptx(&format!("bra $~done#;\n{lost}\n$~done#:"));
            }
        }
    }

    /// The function [`NEXT_CHUNK`]. It takes the lane's cursor, which is behind the last row of its chunk,
    /// and the address of the context. It returns the cursor at the first row of the next chunk. If the lane
    /// writes no more, it returns a cursor that says so, without the rows that are lost at the call.
    pub(in crate::ptx) fn next_chunk(&self, mut s: Snippet<'_>) -> String {
        let name = s.expand(&format!(
            ".func (.reg .b64 %~next) ~{NEXT_CHUNK}(.reg .b64 %~cursor, .reg .b64 %~recorder)"
        ));
        s.ptx("cvt.u32.u64 %~a, %~cursor;");
        self.test_for_end(&mut s);
        self.find_link(&mut s);
        s.ptx("mov.u64 %~context, %~recorder;");
        self.follow_link(&mut s);
        s.ptx(&format!(
            "add.u64 %~cursor, %~x, {};
             bra $~lost#;
             $~off#:
             mov.u64 %~cursor, {NOT_RECORDED};
             bra $~lost#;
             $~full#:
             mov.u64 %~cursor, {LOST};
             $~lost#:
             mov.u64 %~next, %~cursor;",
            self.state.shape.row(),
        ));
        format!("{name}\n{{{}\n\tret;\n}}\n", s.finish())
    }

    /// `%~x`: the next chunk, after [`Lowering::find_link`] and with the context in `%~context`. Of a shared
    /// stream, the address of the lane's element in its first row. Goes to `$~off#` if the warp is not
    /// recorded, and to `$~full#` if the pool is used up.
    fn follow_link(&self, s: &mut Snippet<'_>) {
        self.find_first(s);
        self.elect_leader(s);
        self.take_chunk(s);
        self.publish_chunk(s);
    }

    /// Goes to `$~store#` if the chunk has `rows` rows left. `%~a`: the low half of the cursor.
    fn test_for_room(&self, s: &mut Snippet<'_>, rows: u64) {
        let shape = self.state.shape;
        let (row, chunk) = (shape.row(), shape.chunk());
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
            // No branch for lanes that do not lead: the warp stays converged unless its leader needs a chunk.
            1 => s.ptx("and.pred %~q, %~q, %~lead;\n@!%~q bra $~store#;"),
            _ => s.ptx("setp.ne.u32 %~q, %~b, 0;\n@%~q bra $~store#;"),
        }
    }

    /// Goes to `$~lost#` if this lane no longer writes. `%~a` is the low half of the cursor.
    fn test_for_end(&self, s: &mut Snippet<'_>) {
        s.ptx(&format!(
            "and.b32 %~b, %~a, {};
             setp.ne.u32 %~q, %~b, 0;
             @%~q bra $~lost#;",
            NOT_RECORDED | LOST,
        ));
    }

    /// `%~q`: whether there is a current chunk. `%~link`: the link in it to the next chunk.
    fn find_link(&self, s: &mut Snippet<'_>) {
        let shape = self.state.shape;
        let (row, chunk) = (shape.row(), shape.chunk());
        // The cursor is past the last row of its chunk, so the current chunk is the one before; without a
        // chunk it is the stream head.
        match shape.lanes {
            1 => s.ptx(&format!(
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
    }

    /// `%~link`: the link to the next chunk, in the current chunk or in the stream head. Goes to `$~next#` if
    /// there is a current chunk, and to `$~have#` if the warp's first chunk was assigned before the launch.
    fn find_first(&self, s: &mut Snippet<'_>) {
        let shape = self.state.shape;
        let chunk = shape.chunk();
        s.ptx("@%~q bra $~next#;");
        self.check_filter(s, "off", "heads");
        // The warp's first chunk may be assigned before the launch; its address needs no load of the head.
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
    }

    /// Shared streams: goes to `$~have#` if the link is set, else elects a leader among the lanes with the
    /// same link, where PTX can. The others go to `$~share#`.
    fn elect_leader(&self, s: &mut Snippet<'_>) {
        let shape = self.state.shape;
        s.ptx("$~next#:");
        match shape.lanes {
            1 => {}
            _ if !self.exchanges() => s.ptx(
                "ld.relaxed.gpu.global.u64 %~x, [%~link];
                 setp.ne.u64 %~q, %~x, 0;
                 @%~q bra $~have#;",
            ),
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
    }

    /// `%~x`: a fresh chunk, from the magazine of this SM or from the pool; the bucket if the pool is used
    /// up.
    fn take_chunk(&self, s: &mut Snippet<'_>) {
        let chunk = self.state.shape.chunk();
        let count = (1u64 << MAGAZINE_COUNT) - 1;
        let one = (chunk << MAGAZINE_COUNT) - 1;
        // AMD code has one magazine for all: which part of the device runs the wave is not asked.
        let sm = if self.output == Output::Ptx { "%smid" } else { "0" };
        s.ptx(&format!(
            "mov.u64 %~amount, {chunk};
             ld.global.u64 %~magazine, [%~context+{}];
             setp.eq.u64 %~single, %~magazine, 0;
             @%~single bra $~pool#;
             mov.u32 %~a, {sm};
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
    }

    /// Publishes the chunk in the link. Goes to `$~full#` if it is the bucket.
    fn publish_chunk(&self, s: &mut Snippet<'_>) {
        let shape = self.state.shape;
        match shape.lanes {
            1 => s.ptx("st.global.cg.u64 [%~link], %~x;\n@%~q bra $~full#;\n$~have#:"),
            _ => {
                s.ptx(
                    "atom.global.cas.b64 %~y, [%~link], 0, %~x;
                     setp.ne.u64 %~q, %~y, 0;
                     selp.b64 %~x, %~y, %~x, %~q;",
                );
                if self.exchanges() {
                    s.ptx(
                        "$~share#:
                         mov.b64 {%~a, %~b}, %~x;
                         shfl.sync.idx.b32 %~a, %~a, %~leader, 31, %~mask;
                         shfl.sync.idx.b32 %~b, %~b, %~leader, 31, %~mask;
                         mov.b64 %~x, {%~a, %~b};",
                    );
                }
                s.ptx(&format!(
                    "$~have#:
                     ld.global.u64 %~y, [%~context+{}];
                     setp.eq.u64 %~q, %~x, %~y;
                     @%~q bra $~full#;
                     mov.u32 %~a, %laneid;
                     mad.wide.u32 %~x, %~a, {}, %~x;",
                    Context::offset("bucket"),
                    shape.element,
                ));
            }
        }
    }

    /// Stores the rows of a private stream, where the lane leads, and moves the cursor. `lost` is the code of
    /// leaders that no longer write; all others go to `$~store#`.
    fn store_private(&self, s: &mut Snippet<'_>, values: &[&str], lost: &str) {
        let row = self.state.shape.row();
        let rows = values.len() as u64;
        s.ptx(&format!(
            "{lost}
             setp.ne.u32 %~lead, 0, 0;
             $~store#:"
        ));
        // Words of an event have as many bits as a mask of lanes.
        let ty = if self.wide_masks() { "u64" } else { "u32" };
        for (i, words) in values.iter().enumerate() {
            let offset = if i == 0 { String::new() } else { format!("+{}", i as u64 * row) };
            let (ty, words) = match words.split(',').count() {
                1 => (format!(".{ty}"), words.trim_matches(['{', '}'])),
                n => (format!(".v{n}.{ty}"), *words),
            };
            s.ptx(&format!("@%~lead st.global.cg{ty} [%~cursor{offset}], {words};"));
        }
        // Inside a chunk the high half is constant. Past its end only the low half wraps; the search for the
        // link undoes that.
        s.ptx(&format!(
            "mov.b64 {{%~a, %~b}}, %~cursor;
             @%~lead add.u32 %~a, %~a, {};
             mov.b64 %~cursor, {{%~a, %~b}};",
            row * rows,
        ));
    }

    /// Stores the elements of a shared stream and moves the cursor.
    fn store_shared_rows(&self, s: &mut Snippet<'_>, values: &[&str]) {
        let shape = self.state.shape;
        let row = shape.row();
        let rows = values.len() as u64;
        s.ptx("$~store#:");
        let ty = unsigned(shape.element);
        for (i, value) in values.iter().enumerate() {
            let offset = if i == 0 { String::new() } else { format!("+{}", i as u64 * row) };
            s.ptx(&format!("st.global.cg.{ty} [%~cursor{offset}], {value};"));
        }
        s.ptx(&format!("add.u64 %~cursor, %~cursor, {};", row * rows));
    }
}
