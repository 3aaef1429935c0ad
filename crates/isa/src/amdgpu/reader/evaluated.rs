//! What a decoder can evaluate again, from the table in `evaluated.txt`.
//!
//! # Invariants
//! - Modifiers, other lanes and rounding are in no row: an instruction with one of them has no result here.
//! - A mask takes only 0 and -1 as constants, since any other differs from lane to lane.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::amdgpu::inst::{Encoding, Field, Inst};
use crate::view::{Derived, Eval, Expr, Operand, Reg, Role, Type};

/// A value in the table.
#[derive(Clone, PartialEq, Debug)]
enum Term {
    /// Source by number, and word of it.
    Source(usize, usize),
    Scc,
    Exec,
    Int(i64),
    Of(Eval, Type, Vec<Term>),
}

/// A result in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// The result by number, and word of it.
    Result(usize, usize),
    Scc,
    Exec,
}

type Rows = FxHashMap<&'static str, Vec<(Target, Term)>>;

/// An instruction's operands, and the registers that no operand of the text names.
#[derive(Clone, Copy)]
pub(super) struct Operands<'o> {
    /// Operands with their roles.
    pub(super) all: &'o [(Operand, Role)],
    /// The register of the view that SCC is.
    pub(super) scc: Reg,
    /// EXEC as a mask.
    pub(super) exec: Reg,
}

impl Operands<'_> {
    fn is(&self, at: usize, reg: Reg) -> bool {
        self.all.get(at).is_some_and(|(operand, _)| *operand == Operand::Reg(reg))
    }

    fn places(&self, roles: [Role; 2]) -> impl Iterator<Item = usize> {
        self.all.iter().enumerate().filter(move |(_, (_, role))| roles.contains(role)).map(|(at, _)| at)
    }

    fn place(&self, reg: Reg, roles: [Role; 2]) -> Option<usize> {
        self.places(roles).find(|at| self.is(*at, reg))
    }
}

/// Results of an instruction that a decoder can evaluate again. `mask`: whether it is an operation on masks
/// of lanes.
pub(super) fn results(inst: &Inst, mask: bool, operands: Operands<'_>) -> Vec<Derived> {
    if mask {
        let suffix = if inst.lanes() == 64 { "_b64" } else { "_b32" };
        let stem = inst.name().strip_prefix("s_").and_then(|name| name.strip_suffix(suffix));
        let constants =
            operands.all.iter().all(|(o, _)| !matches!(o, Operand::Int(n) if !matches!(n, 0 | -1)));
        let row = stem.filter(|_| constants).and_then(|stem| masks().get(stem));
        let mut out = row.and_then(|row| derived(row, operands, 0..operands.all.len())).unwrap_or_default();
        // Words of a mask are no bit of a lane.
        out.retain(|result| matches!(operands.all.get(result.operand), Some((Operand::Reg(_), _))));
        return out;
    }
    if !is_plain(inst) {
        return Vec::new();
    }
    if let Some((first, second)) = inst.name().split_once("::") {
        return pair(first, second, operands).unwrap_or_default();
    }
    let row = rows().get(inst.name());
    row.and_then(|row| derived(row, operands, 0..operands.all.len())).unwrap_or_default()
}

/// The two operations of a pair, each with its own result and sources.
fn pair(first: &str, second: &str, operands: Operands<'_>) -> Option<Vec<Derived>> {
    let middle = operands.places([Role::Def, Role::UseDef]).nth(1)?;
    let mut out = Vec::new();
    for (name, range) in [(first, 0..middle), (second, middle..operands.all.len())] {
        let row = name.strip_prefix("v_dual_").and_then(|name| rows().get(format!("v_{name}").as_str()));
        out.extend(row.and_then(|row| derived(row, operands, range)).unwrap_or_default());
    }
    Some(out)
}

/// Whether nothing but the operands decides the result.
fn is_plain(inst: &Inst) -> bool {
    // A second result stands where other operations have absolute values and halves.
    let second = inst.operands().iter().any(|operand| operand.slot.field == Field::Sdst);
    let modified = [Field::Clamp, Field::Omod, Field::Neg, Field::Abs, Field::OpSel];
    let modified = if second && inst.encoding() == Some(Encoding::Vop3) { &modified[..3] } else { &modified };
    let encodings = [
        Encoding::Sop1,
        Encoding::Sop2,
        Encoding::Sopc,
        Encoding::Sopk,
        Encoding::Vop1,
        Encoding::Vop2,
        Encoding::Vopc,
        Encoding::Vop3,
        Encoding::Vopd,
    ];
    inst.encoding().is_some_and(|encoding| encodings.contains(&encoding))
        && modified.iter().all(|field| inst.get(*field) == 0)
}

/// The relation of a comparison as results: of all predicates that it writes.
pub(super) fn comparison(relation: Eval, ty: Type, inst: &Inst, operands: Operands<'_>) -> Vec<Derived> {
    let sources: Vec<usize> = operands.places([Role::Use, Role::UseDef]).collect();
    let [a, b] = sources[..] else { return Vec::new() };
    if !is_plain(inst) || !matches!(ty, Type::U32 | Type::S32) {
        return Vec::new();
    }
    let value = Expr::Of(relation, ty, vec![Expr::Operand(a, 0), Expr::Operand(b, 0)]);
    let written = operands.places([Role::Def, Role::Def]);
    let single = written.filter(|at| matches!(operands.all.get(*at), Some((Operand::Reg(_), _))));
    single.map(|operand| Derived { operand, element: 0, value: value.clone() }).collect()
}

/// The first result as one operation on the sources in their order, if it is that.
pub(super) fn simple(results: &[Derived], operands: &[(Operand, Role)]) -> Option<(Eval, Type)> {
    let Derived { operand: 0, element: 0, value: Expr::Of(eval, ty, args) } = results.first()? else {
        return None;
    };
    let same = args.iter().zip(1..).all(|(arg, place)| match (arg, operands.get(place)) {
        (Expr::Operand(at, 0), Some((Operand::Reg(_), Role::Use))) => *at == place,
        (Expr::Int(n), Some((Operand::Int(m), Role::Use))) => n == m,
        _ => false,
    });
    let is_register = matches!(operands.first(), Some((Operand::Reg(_), Role::Def)));
    (same && is_register).then_some((*eval, *ty))
}

/// A row for these operands. Only sources in `range` have letters.
fn derived(
    row: &[(Target, Term)],
    operands: Operands<'_>,
    range: std::ops::Range<usize>,
) -> Option<Vec<Derived>> {
    let implicit = |at: &usize| operands.is(*at, operands.scc) || operands.is(*at, operands.exec);
    let first = operands.places([Role::Def, Role::UseDef]).find(|at| range.contains(at))?;
    let own = |at: &usize| range.contains(at) && (*at == first || !implicit(at));
    let sources: Vec<usize> = operands
        .places([Role::Use, Role::UseDef])
        .filter(|at| range.contains(at) && !operands.is(*at, operands.scc))
        .collect();
    let written: Vec<usize> = operands.places([Role::Def, Role::UseDef]).filter(own).collect();
    let mut out = Vec::new();
    for (target, term) in row {
        let place = match target {
            Target::Result(number, word) => written.get(*number).map(|at| (*at, *word)),
            Target::Scc => operands.place(operands.scc, [Role::Def, Role::UseDef]).map(|at| (at, 0)),
            Target::Exec => operands.place(operands.exec, [Role::Def, Role::UseDef]).map(|at| (at, 0)),
        };
        let Some((operand, element)) = place else { continue };
        // The second word of one register is none.
        if element > 0 && !matches!(operands.all.get(operand), Some((Operand::Vector(_), _))) {
            continue;
        }
        if let Some(value) = expression(term, operands, &sources) {
            out.push(Derived { operand, element, value });
        }
    }
    Some(out)
}

fn expression(term: &Term, operands: Operands<'_>, sources: &[usize]) -> Option<Expr> {
    Some(match term {
        Term::Int(n) => Expr::Int(*n),
        Term::Scc => Expr::Operand(operands.place(operands.scc, [Role::Use, Role::UseDef])?, 0),
        Term::Exec => Expr::Operand(operands.place(operands.exec, [Role::Use, Role::UseDef])?, 0),
        Term::Source(number, word) => {
            let at = *sources.get(*number)?;
            match (&operands.all.get(at)?.0, word) {
                (Operand::Int(n), 0) => Expr::Int(*n),
                (Operand::Int(n), _) => Expr::Int(n >> 32),
                (Operand::F32(bits), 0) => Expr::Int((*bits).into()),
                (Operand::Vector(list), word) if *word < list.len() => Expr::Operand(at, *word),
                (Operand::Reg(_), 0) => Expr::Operand(at, 0),
                _ => return None,
            }
        }
        Term::Of(eval, ty, args) => {
            let args: Option<Vec<Expr>> = args.iter().map(|arg| expression(arg, operands, sources)).collect();
            match (eval, args?.as_slice()) {
                (Eval::And, [Expr::Int(a), Expr::Int(b)]) => Expr::Int(a & b),
                (Eval::Shr, [Expr::Int(a), Expr::Int(b @ 0..32)]) if *a >= 0 => Expr::Int(a >> b),
                (_, args) => Expr::Of(*eval, *ty, args.to_vec()),
            }
        }
    })
}

fn rows() -> &'static Rows {
    static ROWS: OnceLock<Rows> = OnceLock::new();
    ROWS.get_or_init(|| read(|name| (!name.starts_with('~')).then_some(name)))
}

fn masks() -> &'static Rows {
    static ROWS: OnceLock<Rows> = OnceLock::new();
    ROWS.get_or_init(|| read(|name| name.strip_prefix('~')))
}

fn read(wanted: impl Fn(&'static str) -> Option<&'static str>) -> Rows {
    let lines =
        include_str!("evaluated.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut rows = Rows::default();
    for (names, results) in lines.filter_map(|line| line.split_once(" | ")) {
        let all: Option<Vec<(Target, Term)>> = results.split(" ; ").map(result).collect();
        let names = names.split(' ').filter_map(&wanted);
        rows.extend(all.into_iter().flat_map(|all| names.clone().map(move |name| (name, all.clone()))));
    }
    rows
}

fn result(text: &'static str) -> Option<(Target, Term)> {
    let (target, value) = text.split_once(" = ")?;
    let target = match target {
        "d" => Target::Result(0, 0),
        "d1" => Target::Result(0, 1),
        "m" => Target::Result(1, 0),
        "scc" => Target::Scc,
        "exec" => Target::Exec,
        _ => return None,
    };
    let mut words = value.split(' ');
    let term = term(&mut words)?;
    words.next().is_none().then_some((target, term))
}

fn term(words: &mut std::str::Split<'static, char>) -> Option<Term> {
    let word = words.next()?;
    Some(match word {
        "a" => Term::Source(0, 0),
        "b" => Term::Source(1, 0),
        "c" => Term::Source(2, 0),
        "a1" => Term::Source(0, 1),
        "b1" => Term::Source(1, 1),
        "c1" => Term::Source(2, 1),
        "scc" => Term::Scc,
        "exec" => Term::Exec,
        _ => match word.split_once('.') {
            Some((name, ty)) => {
                let (eval, count) = operation(name)?;
                let args: Option<Vec<Term>> = (0..count).map(|_| term(words)).collect();
                Term::Of(eval, Type::from_name(ty)?, args?)
            }
            None => Term::Int(match word.strip_prefix("0x") {
                Some(hex) => i64::from_str_radix(hex, 16).ok()?,
                None => word.parse().ok()?,
            }),
        },
    })
}

/// An operation by name, and how many values it takes.
fn operation(name: &str) -> Option<(Eval, usize)> {
    Some(match name {
        "mov" => (Eval::Mov, 1),
        "not" => (Eval::Not, 1),
        "abs" => (Eval::Abs, 1),
        "popc" => (Eval::Popc, 1),
        "sext8" => (Eval::Convert(Type::S8), 1),
        "sext16" => (Eval::Convert(Type::S16), 1),
        "add" => (Eval::Add, 2),
        "sub" => (Eval::Sub, 2),
        "mul" => (Eval::Mul, 2),
        "mulhi" => (Eval::MulHi, 2),
        "min" => (Eval::Min, 2),
        "max" => (Eval::Max, 2),
        "and" => (Eval::And, 2),
        "or" => (Eval::Or, 2),
        "xor" => (Eval::Xor, 2),
        "shl" => (Eval::Shl, 2),
        "shr" => (Eval::Shr, 2),
        "eq" => (Eval::Eq, 2),
        "ne" => (Eval::Ne, 2),
        "lt" => (Eval::Lt, 2),
        "select" => (Eval::Select, 3),
        "bfe" => (Eval::Bfe, 3),
        "lop3" => (Eval::Lop3, 4),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{masks, rows};

    #[test]
    fn every_row_is_read() {
        let lines = include_str!("evaluated.txt").lines();
        let names = lines.filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(" | "));
        let names: usize = names.map(|(names, _)| names.split(' ').count()).sum();
        assert_eq!(rows().len() + masks().len(), names);
    }
}
