//! Names by scope: registers, parameterised registers, variables and labels.
//!
//! # Invariants
//! - Leaving a scope undoes its declarations.
//! - The cost of a lookup does not depend on the depth or number of scopes.
//! - `%r<10>` creates a register when the name is first used, so that a large declaration costs nothing.
//!
//! # Limitations
//! - Of two declarations of one name in a scope, the later one counts. [`Names::duplicates`] has the name.
//! - `%r5` before `%r<10>` is not found to be declared twice.

use rustc_hash::FxHashMap;

use crate::view::{Reg, RegInfo, Span, SymbolId, Type};

/// What a name refers to inside a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The name refers to a register.
    Reg(Reg),
    /// A vector register: its first element, and the number of elements. Each element is a register.
    Vector(Reg, u8),
    /// A variable, parameter or function.
    Symbol(SymbolId),
}

/// A parameterised declaration, as `%r<10>`.
struct Family {
    depth: u32,
    count: u64,
    ty: Type,
    /// Elements of a member; 1 for a scalar.
    lanes: u32,
    scope: Span,
    members: FxHashMap<u64, Meaning>,
    /// An outer declaration of the same prefix with a larger count: its further members stay visible.
    outer: Option<usize>,
}

enum Undo<'a> {
    Name(&'a str, Option<(u32, Meaning)>),
    Family(&'a str, Option<usize>),
    Label(&'a str, Option<u32>),
}

/// The names in scope.
#[derive(Default)]
pub struct Names<'a> {
    /// Variables and functions at module level.
    pub globals: FxHashMap<&'a str, SymbolId>,
    /// Names that a scope declares a second time, since the list was last emptied.
    pub duplicates: Vec<&'a str>,
    /// Registers of the function so far.
    pub regs: Vec<RegInfo>,
    names: FxHashMap<&'a str, (u32, Meaning)>,
    heads: FxHashMap<&'a str, usize>,
    families: Vec<Family>,
    labels: FxHashMap<&'a str, u32>,
    undo: Vec<Undo<'a>>,
    scopes: Vec<usize>,
    /// Lengths of the prefixes in this function: bit `n` for `n` bytes, the last bit for longer ones.
    head_lengths: u64,
    /// By a cheap hash: a recent name, the state of the tables then, and what it referred to.
    recent: Vec<(&'a str, u64, Option<Meaning>)>,
    /// Counts declarations and ends of scopes.
    state: u64,
}

/// Entries of the cache of names; a power of two.
const RECENT: usize = 1024;

impl<'a> Names<'a> {
    /// Forgets the declarations of a function.
    pub fn reset(&mut self) {
        self.names.clear();
        self.heads.clear();
        self.families.clear();
        self.labels.clear();
        self.undo.clear();
        self.scopes.clear();
        self.head_lengths = 0;
        self.recent.resize(RECENT, ("", 0, None));
        self.state += 1;
        self.regs = vec![];
    }

    /// Enters a scope.
    pub fn open(&mut self) {
        self.scopes.push(self.undo.len());
    }

    /// Leaves a scope.
    pub fn close(&mut self) {
        let Some(mark) = self.scopes.pop() else { return };
        self.state += u64::from(self.undo.len() > mark);
        while self.undo.len() > mark {
            match self.undo.pop() {
                Some(Undo::Name(n, old)) => restore(&mut self.names, n, old),
                Some(Undo::Family(n, old)) => restore(&mut self.heads, n, old),
                Some(Undo::Label(n, old)) => restore(&mut self.labels, n, old),
                None => return,
            }
        }
    }

    fn depth(&self) -> u32 {
        u32::try_from(self.scopes.len()).unwrap_or(u32::MAX)
    }

    /// Declares a variable or parameter of the function.
    pub fn symbol(&mut self, name: &'a str, id: SymbolId) {
        self.bind(name, Meaning::Symbol(id));
    }

    /// Declares one register.
    pub fn register(&mut self, name: &'a str, ty: Type, scope: Span) -> Reg {
        let reg = self.new_reg(name, ty, scope);
        self.bind(name, Meaning::Reg(reg));
        reg
    }

    /// Declares one register of `lanes` elements.
    pub fn vector(&mut self, name: &'a str, ty: Type, lanes: u32, scope: Span) {
        let meaning = self.new_registers(name, ty, lanes, scope);
        self.bind(name, meaning);
    }

    /// A new scalar register, or the elements of a vector register: `%v.x`, `%v.y` and so on.
    fn new_registers(&mut self, name: &str, ty: Type, lanes: u32, scope: Span) -> Meaning {
        if lanes <= 1 {
            return Meaning::Reg(self.new_reg(name, ty, scope));
        }
        let elements = ["x", "y", "z", "w"].iter().take(lanes as usize);
        let all: Vec<Reg> = elements.map(|e| self.new_reg(&format!("{name}.{e}"), ty, scope)).collect();
        Meaning::Vector(all[0], all.len() as u8)
    }

    /// Declares a parameterised name: `head<count>`, whose members have `lanes` elements.
    pub fn family(&mut self, head: &'a str, count: u64, ty: Type, lanes: u32, scope: Span) {
        self.state += 1;
        self.head_lengths |= length_bit(head.len());
        let depth = self.depth();
        let mut outer = self.heads.get(head).copied();
        if outer.is_some_and(|outer| self.families[outer].depth == depth) {
            self.duplicates.push(head);
        }
        while let Some(o) = outer.filter(|o| self.families[*o].count <= count) {
            outer = self.families[o].outer;
        }
        self.families.push(Family { depth, count, ty, lanes, scope, members: FxHashMap::default(), outer });
        let old = self.heads.insert(head, self.families.len() - 1);
        self.undo.push(Undo::Family(head, old));
    }

    /// Declares a label of the current scope.
    pub fn declare_label(&mut self, name: &'a str, label: u32) {
        let old = self.labels.insert(name, label);
        self.undo.push(Undo::Label(name, old));
    }

    /// The label with this name.
    pub fn label(&self, name: &str) -> Option<u32> {
        self.labels.get(name).copied()
    }

    fn bind(&mut self, name: &'a str, meaning: Meaning) {
        self.state += 1;
        let depth = self.depth();
        if self.is_declared_here(name) {
            self.duplicates.push(name);
        }
        let old = self.names.insert(name, (depth, meaning));
        self.undo.push(Undo::Name(name, old));
    }

    fn new_reg(&mut self, name: &str, ty: Type, scope: Span) -> Reg {
        let reg = Reg(u32::try_from(self.regs.len()).unwrap_or(u32::MAX));
        self.regs.push(RegInfo { name: name.to_owned(), ty, scope });
        reg
    }

    /// Whether the innermost scope declares a register, variable or parameter with this name.
    pub fn is_declared_here(&self, name: &str) -> bool {
        let depth = self.depth();
        self.names.get(name).is_some_and(|(at, _)| *at == depth)
            || self.member(name).is_some_and(|(at, ..)| at == depth)
    }

    /// What a name refers to here.
    pub fn lookup(&mut self, name: &'a str) -> Option<Meaning> {
        let slot = slot(name);
        if let Some((n, state, meaning)) = self.recent.get(slot)
            && *state == self.state
            && *n == name
        {
            return *meaning;
        }
        let meaning = self.search(name);
        if let Some(entry) = self.recent.get_mut(slot) {
            *entry = (name, self.state, meaning);
        }
        meaning
    }

    /// The variable or function that a name refers to here.
    pub fn variable(&self, name: &str) -> Option<SymbolId> {
        match self.names.get(name) {
            Some((_, Meaning::Symbol(id))) => Some(*id),
            _ => self.globals.get(name).copied(),
        }
    }

    fn search(&mut self, name: &str) -> Option<Meaning> {
        let exact = self.names.get(name).copied();
        let best = self.member(name);
        match (exact, best) {
            (Some((depth, m)), Some(b)) if depth >= b.0 => Some(m),
            (Some((_, m)), None) => Some(m),
            (_, Some((_, family, n))) => {
                if let Some(meaning) = self.families[family].members.get(&n) {
                    return Some(*meaning);
                }
                let Family { ty, lanes, scope, .. } = self.families[family];
                let meaning = self.new_registers(name, ty, lanes, scope);
                self.families[family].members.insert(n, meaning);
                Some(meaning)
            }
            (None, None) => self.globals.get(name).map(|id| Meaning::Symbol(*id)),
        }
    }

    /// The innermost parameterised declaration that has a member of this name: its depth, its index, and the
    /// number of the member.
    fn member(&self, name: &str) -> Option<(u32, usize, u64)> {
        // `%r12` can be member 12 of `%r<…>` or member 2 of `%r1<…>`. The innermost declaration counts.
        let mut best: Option<(u32, usize, u64)> = None;
        let bytes = name.as_bytes();
        let mut cut = bytes.len();
        while cut > 1 && bytes[cut - 1].is_ascii_digit() && bytes.len() - cut < 9 {
            cut -= 1;
            if bytes[cut] == b'0' && cut + 1 < bytes.len() {
                continue;
            }
            if self.head_lengths & length_bit(cut) == 0 {
                continue;
            }
            let (Some(head), Some(number)) = (name.get(..cut), name.get(cut..)) else { break };
            let Ok(n) = number.parse::<u64>() else { break };
            let mut family = self.heads.get(head).copied();
            while let Some(f) = family.filter(|f| n >= self.families[*f].count) {
                family = self.families[f].outer;
            }
            if let Some(f) = family
                && best.is_none_or(|b| self.families[f].depth > b.0)
            {
                best = Some((self.families[f].depth, f, n));
            }
        }
        best
    }
}

fn length_bit(n: usize) -> u64 {
    1 << n.min(63)
}

/// Slot of a name in the cache: by its last bytes, in which register names differ.
fn slot(name: &str) -> usize {
    let word = match name.as_bytes().last_chunk::<8>() {
        Some(tail) => u64::from_le_bytes(*tail),
        None => name.bytes().fold(name.len() as u64, |h, c| h << 8 | u64::from(c)),
    };
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize & (RECENT - 1)
}

fn restore<'a, T>(map: &mut FxHashMap<&'a str, T>, name: &'a str, old: Option<T>) {
    match old {
        Some(v) => map.insert(name, v),
        None => map.remove(name),
    };
}
