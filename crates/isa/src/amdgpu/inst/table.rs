//! The tables of operations, forms and targets, read from text once.
//!
//! `operations.txt` has every mnemonic with its class. `forms.txt` has what an operation's encoding holds:
//! operands in the order of the text, then flags. The file of a target has its encodings (words, fixed bits,
//! opcode, fields), and the operation and form of each opcode.
//!
//! A form is `ENCODING OPERAND… FLAG…`. An operand is `FIELD:KIND` after `=` (result), `&` (result and
//! source) or `?` (result of an atomic that returns one); `vcc` and `exec` stand for themselves. Kinds:
//!
//! | kind | meaning |
//! |---|---|
//! | `v2`, `a2`, `w2` | two vector registers, accumulation registers, or either as a bit says |
//! | `v8,4` | 8 in waves of 32 lanes, else 4 |
//! | `h`, `hv` | half a vector register: bit 7 of the number, or a bit of `op_sel`, says which |
//! | `s2`, `m` | two scalar registers; a mask of lanes |
//! | `f32`, `b64/1`, `f16!` | a source of that type: register or constant; `/`: registers; `!`: no literal |
//! | `l1`; `.L` after it | vector registers among the first 128 |
//! | `.h`, `$`, `%` after it | half a register; scalar registers only; vector registers only |
//! | `~`, `#` after it | it may be negated and absolute; sign-extended |
//! | `imm`, `label`, … | see [`Immediate`] |
//!
//! | flag | meaning |
//! |---|---|
//! | `+e32` | end of the mnemonic |
//! | `opsel3:b` | three bits of `op_sel` in the text, if one of the mask is set |
//! | `hi3`, `neg3` | bits of `op_sel_hi`, `neg_lo` and `neg_hi` in the text |
//! | `bytesel0`, `bytesel2`, `indexkey` | other meanings of bits of `op_sel` |
//! | `two`, `gds` | two offsets; `gds` always in the text |
//! | `newbcast` | the only control of DPP |
//! | `mem:l`, `mem:s`, `mem:a` | loads, stores, both |
//! | `<a,b`, `>a,b` | implicit reads and writes |
//! | `0a,b.1`, `1a` | fields or bits that must be 0 or 1 |
//! | `-a` | fields that do not matter |
//!
//! # Invariants
//! The tables are ours and tests read them whole. A row that cannot be read is left out, never guessed.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::names::{Encoding, Field};
use crate::amdgpu::Target;

/// A range of bits: the first, and how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Number of the lowest bit.
    pub low: u8,
    /// Number of bits, at most 32.
    pub width: u8,
}

impl Bits {
    /// Reads the bits of an instruction.
    pub fn of(self, raw: u128) -> u32 {
        let mask = (1u64 << self.width) - 1;
        u32::try_from((raw >> self.low) & u128::from(mask)).unwrap_or(0)
    }

    /// The mask of these bits.
    pub fn mask(self) -> u128 {
        ((1u128 << self.width) - 1) << self.low
    }
}

/// What an operation does, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each is a word of the manuals")]
pub enum Class {
    Salu,
    Valu,
    Transcendental,
    Matrix,
    ScalarMemory,
    VectorMemory,
    Lds,
    Image,
    Export,
    Message,
    Wait,
    Branch,
    Call,
    Barrier,
    End,
    Control,
}

/// Whether an operand is read, written, or both. `Returned`: the result of an atomic operation, if asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Role {
    Source,
    Result,
    Both,
    Returned,
}

/// The type of a source, which decides how constants look and how many registers it has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are LLVM's and the manuals'")]
pub enum Type {
    B16,
    B32,
    B64,
    F16,
    F32,
    F64,
    Bf16,
    V2B16,
    V2F16,
    V2Bf16,
    V2F32,
    V2B32,
    Barrier,
}

/// An immediate operand and how it is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the instructions' operands")]
pub enum Immediate {
    Plain,
    Hex,
    Label,
    Waitcnt,
    Depctr,
    Message,
    MessageReturn,
    Delay,
    Optional,
    Hwreg,
    GprIndex,
    Version,
    Literal,
    Constant,
}

/// What an operand is. Counts of registers are for waves of 32 and of 64 lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Vector registers of each lane.
    Vector(u8, u8),
    /// Vector or accumulation registers, as bits of the encoding say.
    VectorOrAcc(u8, u8),
    /// Accumulation registers of CDNA.
    Accumulation(u8),
    /// Vector registers among the first 128.
    LowVector(u8),
    /// Half a vector register; bit 7 of the number is the half.
    Half,
    /// Half a vector register; a bit of `op_sel` is the half.
    HalfByOpSel,
    /// Scalar registers, by number of registers.
    Scalar(u8),
    /// A mask of lanes in scalar registers.
    Mask,
    /// A register or constant.
    Source {
        /// Type of the constants.
        ty: Type,
        /// Registers in waves of 32 lanes.
        regs: u8,
        /// Registers in waves of 64 lanes.
        regs64: u8,
        /// Whether a literal may follow.
        literal: bool,
        /// Whether vector registers are halves.
        half: bool,
        /// Which registers it may be.
        allows: Allows,
    },
    /// An immediate, by how it is printed.
    Immediate(Immediate),
    /// VCC, which no field names.
    Vcc,
    /// EXEC, which no field names.
    Exec,
}

/// Registers that a source may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allows {
    /// Scalar and vector registers.
    All,
    /// Scalar registers only.
    Scalar,
    /// Vector registers only.
    Vector,
    /// Scalar ones, and the first 128 vector registers.
    LowVector,
}

/// One operand of a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Where it stands.
    pub field: Field,
    /// Read or written.
    pub role: Role,
    /// What it is.
    pub kind: Kind,
    /// Whether it may be negated and absolute.
    pub float_modifiers: bool,
    /// Whether it may be sign-extended.
    pub sign_extends: bool,
}

/// How an operation reaches memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Access {
    Load,
    Store,
    Atomic,
}

/// What an encoding holds for one or more operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    /// Operands in the order of the text.
    pub slots: Vec<Slot>,
    /// End of the mnemonic, as `_e32`.
    pub suffix: &'static str,
    /// Bits of `op_sel` in the text; 0: none.
    pub op_sel: u8,
    /// Bits of `op_sel` that are not ignored.
    pub op_sel_mask: u8,
    /// Bits of `op_sel_hi` in the text.
    pub op_sel_hi: u8,
    /// Bits of `neg_lo` and `neg_hi` in the text.
    pub neg: u8,
    /// Whether the offset is two of eight bits.
    pub two_offsets: bool,
    /// Whether the text always has `gds`.
    pub gds: bool,
    /// Which bits of `op_sel` number a byte, if they do.
    pub byte_sel: Option<ByteBits>,
    /// Whether bits of `op_sel` choose an index of a sparse matrix.
    pub index_key: bool,
    /// Whether DPP broadcasts a lane of a row and does nothing else.
    pub broadcasts: bool,
    /// The access to memory.
    pub access: Option<Access>,
    /// Registers that are read and not among the operands.
    pub reads: Vec<Implicit>,
    /// Registers that are written and not among the operands.
    pub writes: Vec<Implicit>,
    /// Fields that are not looked at.
    pub ignored: Vec<Field>,
    /// Fields, or bits of them, that must be 0, and that must be 1.
    fixed: [Vec<(&'static str, Option<u8>)>; 2],
}

/// Bits of `op_sel` that number a byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteBits {
    /// The first two, the lower one second.
    Reversed,
    /// The last two.
    Last,
}

/// A register that an operation uses without an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the registers'")]
pub enum Implicit {
    Vcc,
    Exec,
    Scc,
    M0,
    Mode,
    FlatScratch,
}

/// An operation of a target's encoding.
#[derive(Clone, Debug)]
pub struct Row {
    /// Opcode in this encoding.
    pub opcode: u16,
    /// The mnemonic without the suffix of the form.
    pub name: &'static str,
    /// Class of effect.
    pub class: Class,
    /// Operands and flags.
    pub form: &'static Form,
    /// Bits that are fixed, and their values.
    pub fixed: (u128, u128),
}

/// An encoding of a target.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The encoding's name.
    pub encoding: Encoding,
    /// Words without literals.
    pub words: u8,
    /// Bits that the encoding fixes, and their values.
    pub fixed: (u128, u128),
    /// Pieces of the opcode, lowest first.
    pub opcode: Vec<Bits>,
    fields: HashMap<Field, Bits>,
    /// Operations, ordered by opcode.
    pub rows: Vec<Row>,
}

impl Layout {
    /// The bits of a field, if the encoding has it.
    pub fn field(&self, field: Field) -> Option<Bits> {
        self.fields.get(&field).copied()
    }

    /// All fields with their bits.
    pub fn fields(&self) -> Vec<(Field, Bits)> {
        let mut all: Vec<_> = self.fields.iter().map(|(field, bits)| (*field, *bits)).collect();
        all.sort_unstable_by_key(|(field, _)| *field);
        all
    }

    /// The opcode of an instruction.
    pub fn opcode_of(&self, raw: u128) -> u32 {
        let mut at = 0;
        let mut opcode = 0;
        for bits in &self.opcode {
            opcode |= bits.of(raw) << at;
            at += u32::from(bits.width);
        }
        opcode
    }

    /// The fixed bits with an opcode put in.
    pub fn with_opcode(&self, opcode: u16) -> u128 {
        let mut raw = self.fixed.1;
        let mut rest = u128::from(opcode);
        for bits in &self.opcode {
            raw |= (rest << bits.low) & bits.mask();
            rest >>= bits.width;
        }
        raw
    }

    /// The operation of an opcode.
    pub fn row(&self, opcode: u32) -> Option<&Row> {
        let at = self.rows.binary_search_by_key(&opcode, |row| u32::from(row.opcode)).ok()?;
        self.rows.get(at)
    }
}

/// All encodings of a target, those with more fixed bits first.
#[derive(Debug)]
pub struct Table {
    /// Encodings, those with more fixed bits first.
    pub layouts: Vec<Layout>,
    /// Which of them may have these top six bits of the first word.
    by_top: Vec<Vec<usize>>,
}

impl Table {
    /// Encodings that an instruction may have, by its first word.
    pub fn candidates(&self, first: u32) -> impl Iterator<Item = &Layout> {
        let top = usize::try_from(first >> 26).unwrap_or(0);
        self.by_top.get(top).into_iter().flatten().filter_map(|at| self.layouts.get(*at))
    }

    /// The encoding of that name.
    pub fn layout(&self, encoding: Encoding) -> Option<&Layout> {
        self.layouts.iter().find(|layout| layout.encoding == encoding)
    }
}

/// The table of a target. The first use reads its text.
pub fn of(target: Target) -> &'static Table {
    static TABLES: [OnceLock<Table>; 6] = [const { OnceLock::new() }; 6];
    let text = match target {
        Target::Gfx90a => include_str!("tables/gfx90a.txt"),
        Target::Gfx942 => include_str!("tables/gfx942.txt"),
        Target::Gfx950 => include_str!("tables/gfx950.txt"),
        Target::Gfx1030 => include_str!("tables/gfx1030.txt"),
        Target::Gfx1100 => include_str!("tables/gfx1100.txt"),
        Target::Gfx1201 => include_str!("tables/gfx1201.txt"),
    };
    let place = Target::all().position(|one| one == target).unwrap_or(0);
    match TABLES.get(place) {
        Some(cell) => cell.get_or_init(|| read(text)),
        None => {
            static NONE: Table = Table { layouts: Vec::new(), by_top: Vec::new() };
            &NONE
        }
    }
}

/// Mnemonics and their classes.
fn operations() -> &'static HashMap<&'static str, Class> {
    static ALL: OnceLock<HashMap<&'static str, Class>> = OnceLock::new();
    ALL.get_or_init(|| {
        lines(include_str!("tables/operations.txt"))
            .filter_map(|line| {
                let (name, class) = line.split_once(' ')?;
                Some((name, class_of(class)?))
            })
            .collect()
    })
}

/// The mnemonics of all targets, without the suffixes of encodings, as `_e32`.
pub fn mnemonics() -> impl Iterator<Item = &'static str> {
    operations().keys().copied()
}

/// The forms, by number.
fn forms() -> &'static [Option<Form>] {
    static ALL: OnceLock<Vec<Option<Form>>> = OnceLock::new();
    ALL.get_or_init(|| lines(include_str!("tables/forms.txt")).map(form).collect())
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

fn read(text: &'static str) -> Table {
    let mut layouts: Vec<Layout> = Vec::new();
    for line in lines(text) {
        if let Some(head) = line.strip_prefix('@') {
            layouts.extend(layout(head));
        } else if let (Some(layout), Some((opcode, name, number))) = (layouts.last_mut(), row(line)) {
            let form = forms().get(number).and_then(Option::as_ref);
            if let (Some(form), Some(class)) = (form, operations().get(name)) {
                let [zero, one] = &form.fixed;
                let one = mask_of(layout, one);
                let fixed = (mask_of(layout, zero) | one, one);
                layout.rows.push(Row { opcode, name, class: *class, form, fixed });
            }
        }
    }
    layouts.sort_by_key(|layout| std::cmp::Reverse(layout.fixed.0.count_ones()));
    let mut by_top = vec![Vec::new(); 64];
    for (at, layout) in layouts.iter().enumerate() {
        for (top, list) in (0u128..).zip(&mut by_top) {
            let (mask, value) = (layout.fixed.0 & 0xfc00_0000, layout.fixed.1 & 0xfc00_0000);
            if (top << 26) & mask == value {
                list.push(at);
            }
        }
    }
    Table { layouts, by_top }
}

fn row(line: &'static str) -> Option<(u16, &'static str, usize)> {
    let mut parts = line.split(' ');
    let opcode = u16::from_str_radix(parts.next()?, 16).ok()?;
    Some((opcode, parts.next()?, parts.next()?.parse().ok()?))
}

/// `NAME WORDS MASK VALUE OPCODE… | FIELD=BITS…`
fn layout(head: &str) -> Option<Layout> {
    let (front, back) = head.split_once('|')?;
    let mut front = front.split_whitespace();
    let encoding = Encoding::parse(front.next()?)?;
    let words = front.next()?.parse().ok()?;
    let mask = u128::from_str_radix(front.next()?, 16).ok()?;
    let value = u128::from_str_radix(front.next()?, 16).ok()?;
    let opcode = front.map(bits).collect::<Option<Vec<Bits>>>()?;
    let mut fields = HashMap::new();
    for item in back.split_whitespace() {
        let (name, range) = item.split_once('=')?;
        fields.insert(Field::parse(name)?, bits(range)?);
    }
    Some(Layout { encoding, words, fixed: (mask, value), opcode, fields, rows: Vec::new() })
}

/// `3-7` or `3`.
fn bits(range: &str) -> Option<Bits> {
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let (low, high): (u8, u8) = (low.parse().ok()?, high.parse().ok()?);
    Some(Bits { low, width: high.checked_sub(low)?.checked_add(1)? })
}

fn mask_of(layout: &Layout, items: &[(&'static str, Option<u8>)]) -> u128 {
    let mut mask = 0;
    for (name, bit) in items {
        if let Some(bit) = name.strip_prefix("bit") {
            mask |= bit.parse().map_or(0, |bit: u8| 1u128 << bit.min(127));
        } else if let Some(bits) = Field::parse(name).and_then(|field| layout.field(field)) {
            mask |= match bit {
                Some(bit) => (1u128 << bit.min(&31)) << bits.low,
                None => bits.mask(),
            };
        }
    }
    mask
}

fn form(line: &'static str) -> Option<Form> {
    let mut form = Form {
        slots: Vec::new(),
        suffix: "",
        op_sel: 0,
        op_sel_mask: 15,
        op_sel_hi: 0,
        neg: 0,
        two_offsets: false,
        gds: false,
        byte_sel: None,
        index_key: false,
        broadcasts: false,
        access: None,
        reads: Vec::new(),
        writes: Vec::new(),
        ignored: Vec::new(),
        fixed: [Vec::new(), Vec::new()],
    };
    for item in line.split(' ').skip(1) {
        if let Some(list) = item.strip_prefix('0') {
            form.fixed[0] = bit_list(list);
        } else if let Some(list) = item.strip_prefix('1') {
            form.fixed[1] = bit_list(list);
        } else if let Some(list) = item.strip_prefix('-') {
            form.ignored = list.split(',').map(Field::parse).collect::<Option<_>>()?;
        } else if let Some(reads) = item.strip_prefix('<') {
            form.reads = reads.split(',').map(implicit).collect::<Option<_>>()?;
        } else if let Some(writes) = item.strip_prefix('>') {
            form.writes = writes.split(',').map(implicit).collect::<Option<_>>()?;
        } else if let Some(access) = item.strip_prefix("mem:") {
            form.access = Some(match access {
                "l" => Access::Load,
                "s" => Access::Store,
                _ => Access::Atomic,
            });
        } else if let Some(suffix) = item.strip_prefix('+') {
            form.suffix = suffix;
        } else if let Some(count) = item.strip_prefix("opsel") {
            let (count, mask) = count.split_once(':').unwrap_or((count, "f"));
            form.op_sel = count.parse().ok()?;
            form.op_sel_mask = u8::from_str_radix(mask, 16).ok()?;
        } else if let Some(count) = item.strip_prefix("hi") {
            form.op_sel_hi = count.parse().ok()?;
        } else if let Some(count) = item.strip_prefix("neg") {
            form.neg = count.parse().ok()?;
        } else if item == "two" {
            form.two_offsets = true;
        } else if item == "gds" {
            form.gds = true;
        } else if item == "bytesel0" {
            form.byte_sel = Some(ByteBits::Reversed);
        } else if item == "bytesel2" {
            form.byte_sel = Some(ByteBits::Last);
        } else if item == "indexkey" {
            form.index_key = true;
        } else if item == "newbcast" {
            form.broadcasts = true;
        } else {
            form.slots.push(slot(item)?);
        }
    }
    Some(form)
}

fn bit_list(list: &'static str) -> Vec<(&'static str, Option<u8>)> {
    list.split(',')
        .map(|one| match one.split_once('.') {
            Some((name, bit)) => (name, bit.parse().ok()),
            None => (one, None),
        })
        .collect()
}

fn slot(item: &str) -> Option<Slot> {
    let plain =
        |field, kind| Slot { field, role: Role::Source, kind, float_modifiers: false, sign_extends: false };
    match item {
        "vcc" => return Some(plain(Field::Lit, Kind::Vcc)),
        "exec" => return Some(plain(Field::Lit, Kind::Exec)),
        _ => {}
    }
    let (field, kind) = item.split_once(':')?;
    if let Some(field) = field.strip_prefix('?') {
        return Some(Slot { role: Role::Returned, ..plain(Field::parse(field)?, kind_of(kind)?) });
    }
    let (role, field) = match (field.strip_prefix('='), field.strip_prefix('&')) {
        (Some(field), _) => (Role::Result, field),
        (_, Some(field)) => (Role::Both, field),
        _ => (Role::Source, field),
    };
    let (kind, float_modifiers) = kind.strip_suffix('~').map_or((kind, false), |kind| (kind, true));
    let (kind, sign_extends) = kind.strip_suffix('#').map_or((kind, false), |kind| (kind, true));
    let field = Field::parse(field)?;
    Some(Slot { field, role, kind: kind_of(kind)?, float_modifiers, sign_extends })
}

fn counts(text: &str) -> Option<(u8, u8)> {
    let (a, b) = text.split_once(',').unwrap_or((text, text));
    Some((a.parse().ok()?, b.parse().ok()?))
}

fn kind_of(text: &str) -> Option<Kind> {
    use Immediate as I;
    Some(match text {
        "h" => Kind::Half,
        "hv" => Kind::HalfByOpSel,
        "m" => Kind::Mask,
        "imm" => Kind::Immediate(I::Plain),
        "hex" => Kind::Immediate(I::Hex),
        "label" => Kind::Immediate(I::Label),
        "waitcnt" => Kind::Immediate(I::Waitcnt),
        "depctr" => Kind::Immediate(I::Depctr),
        "msg" => Kind::Immediate(I::Message),
        "msgrtn" => Kind::Immediate(I::MessageReturn),
        "delay" => Kind::Immediate(I::Delay),
        "opt" => Kind::Immediate(I::Optional),
        "hwreg" => Kind::Immediate(I::Hwreg),
        "gpridx" => Kind::Immediate(I::GprIndex),
        "version" => Kind::Immediate(I::Version),
        "const" => Kind::Immediate(I::Constant),
        "k32" | "k16" => Kind::Immediate(I::Literal),
        _ => return registers_or_source(text),
    })
}

fn registers_or_source(text: &str) -> Option<Kind> {
    if let Some((a, b)) = text.strip_prefix('w').and_then(counts) {
        return Some(Kind::VectorOrAcc(a, b));
    }
    if let Some((a, _)) = text.strip_prefix('a').and_then(counts) {
        return Some(Kind::Accumulation(a));
    }
    if let Some((a, _)) = text.strip_prefix('l').and_then(counts) {
        return Some(Kind::LowVector(a));
    }
    if let Some((a, b)) = text.strip_prefix('v').and_then(counts) {
        return Some(Kind::Vector(a, b));
    }
    if let Some((a, _)) = text.strip_prefix('s').and_then(counts) {
        return Some(Kind::Scalar(a));
    }
    let (text, allows) = if let Some(text) = text.strip_suffix(".L") {
        (text, Allows::LowVector)
    } else if let Some(text) = text.strip_suffix('$') {
        (text, Allows::Scalar)
    } else {
        text.strip_suffix('%').map_or((text, Allows::All), |text| (text, Allows::Vector))
    };
    let (text, regs) = match text.split_once('/') {
        Some((text, regs)) => (text, Some(counts(regs)?)),
        None => (text, None),
    };
    let (text, half) = text.strip_suffix(".h").map_or((text, false), |text| (text, true));
    let (text, literal) = text.strip_suffix('!').map_or((text, true), |text| (text, false));
    let (ty, own) = match text {
        "b16" => (Type::B16, 1),
        "b32" => (Type::B32, 1),
        "b64" => (Type::B64, 2),
        "f16" => (Type::F16, 1),
        "f32" => (Type::F32, 1),
        "f64" => (Type::F64, 2),
        "bf16" => (Type::Bf16, 1),
        "v2b16" => (Type::V2B16, 1),
        "v2f16" => (Type::V2F16, 1),
        "v2bf16" => (Type::V2Bf16, 1),
        "v2f32" => (Type::V2F32, 2),
        "v2b32" => (Type::V2B32, 2),
        "bar" => (Type::Barrier, 1),
        _ => return None,
    };
    let (regs, regs64) = regs.unwrap_or((own, own));
    Some(Kind::Source { ty, regs, regs64, literal, half, allows })
}

fn implicit(name: &str) -> Option<Implicit> {
    Some(match name {
        "vcc" => Implicit::Vcc,
        "exec" => Implicit::Exec,
        "scc" => Implicit::Scc,
        "m0" => Implicit::M0,
        "mode" => Implicit::Mode,
        "flat_scratch" => Implicit::FlatScratch,
        _ => return None,
    })
}

fn class_of(name: &str) -> Option<Class> {
    Some(match name {
        "salu" => Class::Salu,
        "valu" => Class::Valu,
        "trans" => Class::Transcendental,
        "matrix" => Class::Matrix,
        "smem" => Class::ScalarMemory,
        "vmem" => Class::VectorMemory,
        "lds" => Class::Lds,
        "image" => Class::Image,
        "export" => Class::Export,
        "message" => Class::Message,
        "wait" => Class::Wait,
        "branch" => Class::Branch,
        "call" => Class::Call,
        "barrier" => Class::Barrier,
        "end" => Class::End,
        "control" => Class::Control,
        _ => return None,
    })
}
