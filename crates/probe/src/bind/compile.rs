//! Compiles the statements and expressions of a clause to a [`Code`] for one site.
//!
//! Facts about the site are constants. A predicate that is false at the site gives no code.

use prlx_isa::view::Operand;
use prlx_trace::table::{Aggregate, NO_LINE, Shown};

use super::site_facts::SiteFacts;
use super::tables::Tables;
use super::value::{Reason, Value};
use crate::lang::constant::{self, Constant};
use crate::lang::{self, Builtin, Expr, ExprKind, Script};
use prlx_plan::VariableScope;
use prlx_plan::code::{Binary, Code, Op, Reduce, Row, Stmt, Temp, Ty, Unary};
use prlx_plan::eval;
use prlx_plan::pattern;

/// Maximum number of statements of a clause at one site, with its loops unrolled.
const STATEMENTS: usize = 4096;

/// Compiles a clause for one site.
pub(super) struct ClauseCompiler<'a> {
    pub script: &'a Script,
    pub facts: &'a SiteFacts<'a>,
    pub tables: &'a mut Tables,
    pub code: Code,
    /// Blocks that are not closed yet, innermost last. New statements go into the last one.
    blocks: Vec<Vec<Stmt>>,
    locals: Vec<Option<Value>>,
    statements: usize,
}

impl<'a> ClauseCompiler<'a> {
    pub fn new(
        script: &'a Script,
        facts: &'a SiteFacts<'a>,
        tables: &'a mut Tables,
        locals: usize,
    ) -> ClauseCompiler<'a> {
        let code = Code::default();
        ClauseCompiler {
            script,
            facts,
            tables,
            code,
            blocks: vec![Vec::new()],
            locals: vec![None; locals],
            statements: 0,
        }
    }

    /// The clause's code; `None` if the clause does nothing at this site.
    pub fn clause(mut self, clause: &lang::Clause) -> Result<Option<Code>, Reason> {
        let mut conditions = Vec::new();
        if let Some(space) = self.facts.place.only {
            let address = self.builtin(Builtin::Address)?;
            let address = self.temp(address, Ty::U64)?;
            conditions.push(Value::Temp(self.emit(Ty::Bool, Op::Within(space, address))));
        }
        if let Some(predicate) = &clause.predicate {
            conditions.push(self.expr(predicate)?);
        }
        let mut open = 0;
        for condition in conditions {
            match condition {
                Value::Bool(true) => {}
                Value::Bool(false) => return Ok(None),
                other => {
                    let condition = self.temp(other, Ty::Bool)?;
                    self.push(Stmt::If(condition, Vec::new(), Vec::new()));
                    self.blocks.push(Vec::new());
                    open += 1;
                }
            }
        }
        self.block(&clause.body)?;
        for _ in 0..open {
            let inner = self.blocks.pop().unwrap_or_default();
            if let Some(Stmt::If(_, then, _)) = self.blocks.last_mut().and_then(|b| b.last_mut()) {
                *then = inner;
            }
        }
        self.code.body = self.blocks.pop().unwrap_or_default();
        Ok((!self.code.body.is_empty()).then_some(self.code))
    }

    fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }
    fn fresh(&mut self, ty: Ty) -> Temp {
        self.code.temps.push(ty);
        Temp(self.code.temps.len() as u32 - 1)
    }
    pub(super) fn emit(&mut self, ty: Ty, op: Op) -> Temp {
        let to = self.fresh(ty);
        self.push(Stmt::Set(to, op));
        to
    }
    fn ty(&self, temp: Temp) -> Ty {
        self.code.temps.get(temp.index()).copied().unwrap_or(Ty::U64)
    }
    /// An operand of the place, as the code numbers it.
    pub(super) fn operand(&mut self, operand: &Operand) -> u32 {
        let known = self.code.operands.iter().position(|o| o == operand);
        known.unwrap_or_else(|| {
            self.code.operands.push(operand.clone());
            self.code.operands.len() - 1
        }) as u32
    }

    fn block(&mut self, body: &[lang::Stmt]) -> Result<(), Reason> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn inner(&mut self, body: &[lang::Stmt]) -> Result<Vec<Stmt>, Reason> {
        self.blocks.push(Vec::new());
        let done = self.block(body);
        let inner = self.blocks.pop().unwrap_or_default();
        done.map(|()| inner)
    }

    fn stmt(&mut self, stmt: &lang::Stmt) -> Result<(), Reason> {
        self.statements += 1;
        if self.statements > STATEMENTS {
            return Err(format!("the clause has more than {STATEMENTS} statements when loops are unrolled"));
        }
        match stmt {
            lang::Stmt::Local(local, e) => {
                let value = self.expr(e)?;
                self.set_local(*local, value)?;
            }
            lang::Stmt::Assign(var, e) => {
                let (own, number, ty) = self.variable(*var);
                let value = self.expr(e)?;
                let temp = self.temp(value, ty)?;
                self.push(if own { Stmt::Store(number, temp) } else { Stmt::Put(number, temp) });
            }
            lang::Stmt::Merge { var, how, value, old, .. } => self.merge(*var, *how, value, *old)?,
            lang::Stmt::Update(update) => self.update(update)?,
            lang::Stmt::Save { record, fields, .. } => {
                let types: Vec<Ty> = self
                    .script
                    .records
                    .get(*record)
                    .map(|r| r.fields.iter().map(|f| f.1).collect())
                    .unwrap_or_default();
                let mut out = Vec::new();
                for (field, ty) in fields.iter().zip(types) {
                    let value = self.expr(field)?;
                    out.push(self.temp(value, ty)?);
                }
                self.push(Stmt::Save { record: *record as u32, fields: out });
            }
            lang::Stmt::If(condition, then, other) => match self.expr(condition)? {
                Value::Bool(true) => self.block(then)?,
                Value::Bool(false) => self.block(other)?,
                condition => {
                    let condition = self.temp(condition, Ty::Bool)?;
                    // What is first set in one branch alone is not known behind it.
                    let before = self.locals.clone();
                    let then = self.inner(then)?;
                    self.locals.clone_from(&before);
                    let other = self.inner(other)?;
                    self.locals = before;
                    self.push(Stmt::If(condition, then, other));
                }
            },
            lang::Stmt::For(local, range, body, _) => {
                for i in range.clone() {
                    if let Some(slot) = self.locals.get_mut(*local) {
                        *slot = Some(Value::Int(i.into()));
                    }
                    self.block(body)?;
                }
            }
        }
        Ok(())
    }

    fn set_local(&mut self, local: usize, value: Value) -> Result<(), Reason> {
        // A local is a temporary of its own: it may be set again, under a condition.
        let known = match self.locals.get(local).cloned().flatten() {
            Some(Value::Temp(temp)) => Some(temp),
            _ => None,
        };
        let ty = known.map_or_else(|| self.own_type(&value), |temp| Ok(self.ty(temp)))?;
        let value = self.temp(value, ty)?;
        match known {
            Some(temp) => self.push(Stmt::Set(temp, Op::Copy(value))),
            None => {
                let temp = self.emit(ty, Op::Copy(value));
                if let Some(slot) = self.locals.get_mut(local) {
                    *slot = Some(Value::Temp(temp));
                }
            }
        }
        Ok(())
    }

    /// A declared variable: whether it is a thread variable, its index among variables of that kind, and its
    /// type.
    fn variable(&self, var: usize) -> (bool, u32, Ty) {
        let Some(declared) = self.script.vars.get(var) else { return (true, 0, Ty::U64) };
        let own = declared.of == VariableScope::Thread;
        let before = self.script.vars.iter().take(var).filter(|v| (v.of == VariableScope::Thread) == own);
        (own, before.count() as u32, declared.ty)
    }

    fn merge(&mut self, var: usize, how: Binary, value: &Expr, old: Option<usize>) -> Result<(), Reason> {
        let (_, number, ty) = self.variable(var);
        let value = self.expr(value)?;
        let mut value = self.temp(value, ty)?;
        let how = match how {
            Binary::Add => Reduce::Sum,
            Binary::Sub => {
                value = self.emit(ty, Op::Unary(Unary::Neg, value));
                Reduce::Sum
            }
            Binary::Min => Reduce::Min,
            Binary::Max => Reduce::Max,
            Binary::And => Reduce::And,
            Binary::Or => Reduce::Or,
            Binary::Xor => Reduce::Xor,
            _ => {
                return Err("the result of this update would depend on the order of the lanes".to_owned());
            }
        };
        let before = old.map(|_| self.fresh(ty));
        self.push(Stmt::Merge { var: number, how, value, old: before });
        match (old, before) {
            (Some(local), Some(before)) => self.set_local(local, Value::Temp(before)),
            _ => Ok(()),
        }
    }

    fn update(&mut self, update: &lang::Update) -> Result<(), Reason> {
        let aggregate = self.script.tables.get(update.table).map_or(Aggregate::Count, |t| t.aggregate);
        let value = match &update.value {
            None => None,
            Some(e) => {
                let value = self.expr(e)?;
                let ty = self.own_type(&value)?;
                let wide = self.tables.value(update.table, ty);
                if matches!(aggregate, Aggregate::Hist | Aggregate::Lhist { .. }) && wide == Ty::F64 {
                    return Err(
                        "a histogram takes integers: convert the value, for example with `s64(…)`".to_owned()
                    );
                }
                Some((value, wide))
            }
        };
        let mut keys = Vec::with_capacity(update.key.len());
        for key in &update.key {
            keys.push(self.key(key)?);
        }
        let shown: Vec<(Shown, Ty)> = keys.iter().map(|k| (k.0, self.key_type(&k.1))).collect();
        self.tables.keys(update.table, &shown)?;
        let known: Option<Vec<u64>> = keys.iter().map(|k| number(&k.1)).collect();
        let row = match known.filter(|k| self.tables.knows(update.table, k)) {
            Some(key) => Row::At(self.tables.row(update.table, &key)),
            None => {
                self.tables.open(update.table);
                let mut temps = Vec::with_capacity(keys.len());
                for (_, key) in keys {
                    let ty = self.key_type(&key);
                    temps.push(self.temp(key, ty)?);
                }
                Row::Keyed(temps)
            }
        };
        let value = match value {
            Some((value, ty)) => Some(self.temp(value, ty)?),
            None => None,
        };
        self.push(Stmt::Update { table: update.table as u32, row, value });
        Ok(())
    }

    /// A key's value, and what it is shown as.
    fn key(&mut self, e: &Expr) -> Result<(Shown, Value), Reason> {
        match &e.kind {
            ExprKind::Builtin(Builtin::Line) => {
                let line = self.facts.line().map_or(NO_LINE, u64::from);
                Ok((Shown::Line, Value::Int(line.into())))
            }
            ExprKind::Builtin(Builtin::Site) => {
                let text = self.facts.site();
                Ok((Shown::Site, Value::Int(self.tables.word(&text).into())))
            }
            ExprKind::Builtin(Builtin::Address | Builtin::Source | Builtin::Mbarrier) => {
                Ok((Shown::Address, self.expr(e)?))
            }
            _ if e.is_hexadecimal() => Ok((Shown::Hex, self.expr(e)?)),
            _ => match self.expr(e)? {
                Value::Text(text) => Ok((Shown::Word, Value::Int(self.tables.word(&text).into()))),
                value => Ok((Shown::Number, value)),
            },
        }
    }
    fn key_type(&self, value: &Value) -> Ty {
        match value {
            Value::Temp(t) => self.ty(*t),
            Value::Int(n) if *n < 0 => Ty::S64,
            Value::Float(_) => Ty::F64,
            Value::Bool(_) => Ty::Bool,
            _ => Ty::U64,
        }
    }

    /// The type that a value has by itself.
    fn own_type(&self, value: &Value) -> Result<Ty, Reason> {
        Ok(match value {
            Value::Temp(t) => self.ty(*t),
            Value::Bool(_) => Ty::Bool,
            Value::Float(_) => Ty::F64,
            Value::Int(n) if i32::try_from(*n).is_ok() => Ty::S32,
            Value::Int(n) if i64::try_from(*n).is_ok() => Ty::S64,
            Value::Int(_) => Ty::U64,
            Value::Text(_) => return Err("a text is not a number: compare it, or use it as a key".to_owned()),
        })
    }

    /// A value as a temporary of a type.
    pub fn temp(&mut self, value: Value, ty: Ty) -> Result<Temp, Reason> {
        let constant = match value {
            Value::Temp(t) if self.ty(t) == ty => return Ok(t),
            Value::Temp(t) => return Ok(self.emit(ty, Op::Convert(t))),
            Value::Bool(b) => eval::convert(Ty::Bool, ty, b.into()),
            Value::Int(n) if ty.float() && ty == Ty::F32 => (n as f32).to_bits().into(),
            Value::Int(n) if ty.float() => (n as f64).to_bits(),
            Value::Int(n) if ty == Ty::Bool => u64::from(n != 0),
            Value::Int(n) => n as u64 & eval::low(ty),
            Value::Float(x) => eval::convert(Ty::F64, ty, x.to_bits()),
            Value::Text(_) => return Err("a text is not a number: compare it, or use it as a key".to_owned()),
        };
        Ok(self.emit(ty, Op::Const(constant)))
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each kind of expression")]
    fn expr(&mut self, e: &Expr) -> Result<Value, Reason> {
        Ok(match &e.kind {
            ExprKind::Int(n) => Value::Int(*n),
            ExprKind::Float(x) => Value::Float(*x),
            ExprKind::Bool(b) => Value::Bool(*b),
            ExprKind::Text(text) => Value::Text(text.clone()),
            ExprKind::Builtin(builtin) => self.builtin(*builtin)?,
            ExprKind::In(n) => {
                let input = self.facts.input(*n)?;
                self.read(&input.0, input.1)?
            }
            ExprKind::Out(n) => {
                let output = self.facts.output(*n)?;
                self.read(&output.0, output.1)?
            }
            ExprKind::Arg(name) => {
                let (offset, ty) = self.facts.param(name)?;
                Value::Temp(self.emit(ty, Op::Param(offset)))
            }
            ExprKind::Local(local) => match self.locals.get(*local).cloned().flatten() {
                Some(value) => value,
                None => return Err("a local variable has no value yet".to_owned()),
            },
            ExprKind::Var(var) => {
                let (own, number, ty) = self.variable(*var);
                Value::Temp(self.emit(ty, if own { Op::Load(number) } else { Op::Get(number) }))
            }
            ExprKind::Not(a) => match self.expr(a)? {
                Value::Bool(b) => Value::Bool(!b),
                value => {
                    let temp = self.temp(value, Ty::Bool)?;
                    Value::Temp(self.emit(Ty::Bool, Op::Unary(Unary::Not, temp)))
                }
            },
            ExprKind::Unary(op, a) => {
                let a = self.expr(a)?;
                self.unary(*op, a)?
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b)?,
            ExprKind::Logic(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                match (op, a, b) {
                    (Binary::And, Value::Bool(false), _) | (Binary::And, _, Value::Bool(false)) => {
                        Value::Bool(false)
                    }
                    (Binary::Or, Value::Bool(true), _) | (Binary::Or, _, Value::Bool(true)) => {
                        Value::Bool(true)
                    }
                    (_, Value::Bool(_), other) | (_, other, Value::Bool(_)) => other,
                    (op, a, b) => {
                        let (a, b) = (self.temp(a, Ty::Bool)?, self.temp(b, Ty::Bool)?);
                        Value::Temp(self.emit(Ty::Bool, Op::Binary(*op, a, b)))
                    }
                }
            }
            ExprKind::Select(c, a, b) => match self.expr(c)? {
                Value::Bool(true) => self.expr(a)?,
                Value::Bool(false) => self.expr(b)?,
                c => {
                    let c = self.temp(c, Ty::Bool)?;
                    let (a, b) = (self.expr(a)?, self.expr(b)?);
                    let (a, b, ty) = self.alike(a, b)?;
                    Value::Temp(self.emit(ty, Op::Select(c, a, b)))
                }
            },
            ExprKind::Cast(ty, a) => match self.expr(a)? {
                // As a temporary, so that it has this type wherever it goes.
                value @ (Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Temp(_)) => {
                    Value::Temp(self.temp(value, *ty)?)
                }
                Value::Text(_) => return Err("a text cannot be converted to a number".to_owned()),
            },
            ExprKind::Bits(a) => {
                let value = self.expr(a)?;
                let ty = self.own_type(&value)?;
                let temp = self.temp(value, ty)?;
                match ty {
                    Ty::F32 => Value::Temp(self.emit(Ty::U32, Op::Bits(temp))),
                    Ty::F64 => Value::Temp(self.emit(Ty::U64, Op::Bits(temp))),
                    _ => Value::Temp(temp),
                }
            }
            ExprKind::High(a) => self.high(&a.kind)?,
            ExprKind::Ballot(a) => {
                let value = self.expr(a)?;
                let temp = self.temp(value, Ty::Bool)?;
                Value::Temp(self.emit(self.mask_type(), Op::Ballot(temp)))
            }
            ExprKind::Same(a) => {
                let value = self.expr(a)?;
                let ty = promoted(self.own_type(&value)?);
                if ty.float() {
                    return Err("`lanes_same` takes an integer: use the `bits(…)` of a float".into());
                }
                let temp = self.temp(value, ty)?;
                Value::Temp(self.emit(self.mask_type(), Op::Same(temp)))
            }
            ExprKind::Reduce(how, a) => {
                let value = self.expr(a)?;
                let ty = promoted(self.own_type(&value)?);
                if ty.float() {
                    return Err(
                        "functions over lanes take integers: the order of the lanes would change a sum of floats"
                            .into(),
                    );
                }
                let temp = self.temp(value, ty)?;
                Value::Temp(self.emit(ty, Op::Reduce(*how, temp)))
            }
        })
    }

    fn unary(&mut self, op: Unary, a: Value) -> Result<Value, Reason> {
        match (op, &a) {
            (Unary::Not, Value::Bool(b)) => return Ok(Value::Bool(!b)),
            (Unary::Neg, Value::Float(x)) => return Ok(Value::Float(-x)),
            (Unary::Finite, Value::Int(_)) => return Ok(Value::Bool(true)),
            (_, Value::Int(n)) => {
                if let Some(n) = constant::unary(op, *n) {
                    return Ok(Value::Int(n));
                }
            }
            _ => {}
        }
        let own = self.own_type(&a)?;
        let ty = if op == Unary::Not && own == Ty::Bool { own } else { promoted(own) };
        let gives = match op {
            Unary::Popc | Unary::Clz => Ty::U32,
            Unary::Finite if !ty.float() => return Ok(Value::Bool(true)),
            Unary::Finite => Ty::Bool,
            _ => ty,
        };
        if ty.float() && matches!(op, Unary::Not | Unary::Popc | Unary::Clz) {
            return Err("this operation takes an integer: use the `bits(…)` of a float".to_owned());
        }
        let temp = self.temp(a, ty)?;
        Ok(Value::Temp(self.emit(gives, Op::Unary(op, temp))))
    }

    fn binary(&mut self, op: Binary, a: &Expr, b: &Expr) -> Result<Value, Reason> {
        // Either side of a comparison of texts may be the pattern: what is written in the program.
        let written = |e: &Expr| matches!(e.kind, ExprKind::Text(_));
        let (left, right) = (written(a), written(b));
        let (a, b) = (self.expr(a)?, self.expr(b)?);
        if let (Value::Text(x), Value::Text(y)) = (&a, &b) {
            let (pattern, text) = if left && !right { (x, y) } else { (y, x) };
            let same = pattern::symbol(pattern, text);
            return match op {
                Binary::Eq => Ok(Value::Bool(same)),
                Binary::Ne => Ok(Value::Bool(!same)),
                _ => Err("texts can be compared only with `==` and `!=`".to_owned()),
            };
        }
        if let (Value::Int(x), Value::Int(y)) = (&a, &b) {
            return Ok(match constant::binary(op, *x, *y) {
                Constant::Whole(n) => Value::Int(n),
                Constant::Truth(b) => Value::Bool(b),
            });
        }
        if let (Value::Bool(x), Value::Bool(y)) = (&a, &b) {
            match op {
                Binary::Eq => return Ok(Value::Bool(x == y)),
                Binary::Ne | Binary::Xor => return Ok(Value::Bool(x != y)),
                Binary::And => return Ok(Value::Bool(*x && *y)),
                Binary::Or => return Ok(Value::Bool(*x || *y)),
                _ => {}
            }
        }
        if matches!(op, Binary::Shl | Binary::Shr) {
            let ty = promoted(self.own_type(&a)?);
            if ty.float() {
                return Err("a float cannot be shifted".to_owned());
            }
            let (a, b) = (self.temp(a, ty)?, self.temp(b, Ty::U32)?);
            return Ok(Value::Temp(self.emit(ty, Op::Binary(op, a, b))));
        }
        let logical = matches!(op, Binary::And | Binary::Or | Binary::Xor | Binary::Eq | Binary::Ne);
        let both = self.own_type(&a)? == Ty::Bool && self.own_type(&b)? == Ty::Bool;
        let (a, b, ty) = match logical && both {
            true => (self.temp(a, Ty::Bool)?, self.temp(b, Ty::Bool)?, Ty::Bool),
            false => self.alike(a, b)?,
        };
        if ty.float() && matches!(op, Binary::Rem | Binary::And | Binary::Or | Binary::Xor) {
            return Err("this operator does not take floats".to_owned());
        }
        Ok(Value::Temp(self.emit(if op.compares() { Ty::Bool } else { ty }, Op::Binary(op, a, b))))
    }

    /// Converts two values to their common type, as C does: a float type if one is a float, else the wider
    /// type, and of two equally wide types the unsigned one.
    fn alike(&mut self, a: Value, b: Value) -> Result<(Temp, Temp, Ty), Reason> {
        let ty = match (&a, &b) {
            (Value::Int(n), Value::Temp(t)) | (Value::Temp(t), Value::Int(n)) => {
                let ty = promoted(self.ty(*t));
                let least = if ty.signed() { -(1i128 << (ty.bits() - 1)) } else { 0 };
                let most = (1i128 << (ty.bits() - u32::from(ty.signed()))) - 1;
                match ty.float() || (least..=most).contains(n) {
                    true => ty,
                    false => joined(ty, self.own_type(&Value::Int(*n))?),
                }
            }
            (Value::Float(_), Value::Temp(t)) | (Value::Temp(t), Value::Float(_)) if self.ty(*t).float() => {
                self.ty(*t)
            }
            (a, b) => joined(self.own_type(a)?, self.own_type(b)?),
        };
        Ok((self.temp(a, ty)?, self.temp(b, ty)?, ty))
    }
}

/// The type of arithmetic on a type.
fn promoted(ty: Ty) -> Ty {
    match ty {
        Ty::Bool | Ty::U8 | Ty::U16 => Ty::U32,
        Ty::S8 | Ty::S16 => Ty::S32,
        other => other,
    }
}

/// The common type of two types.
pub(super) fn joined(a: Ty, b: Ty) -> Ty {
    let (a, b) = (promoted(a), promoted(b));
    let wide = a.bits().max(b.bits()) == 64;
    match (a.float() || b.float(), wide) {
        (true, true) => Ty::F64,
        (true, false) => Ty::F32,
        (false, true) if [a, b].contains(&Ty::U64) => Ty::U64,
        (false, true) => Ty::S64,
        (false, false) if [a, b].contains(&Ty::U32) => Ty::U32,
        (false, false) => Ty::S32,
    }
}

/// The value of a key, if it is a constant.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(n) => Some(*n as u64),
        Value::Bool(b) => Some((*b).into()),
        _ => None,
    }
}
