//! Sums of floating-point numbers: their addends, whatever the order and the threads in which they were
//! added.
//!
//! A sum is followed through additions, fused multiply-adds, atomic additions, and through the moves,
//! shuffles, stores and loads between them. Two sums with the same addends differ by the order of the
//! additions alone.
//!
//! # Limitations
//! At most [`MAX_TERMS`] addends. Sums inside matrix products are one addend each.

use prlx_trace::dataflow::{Action, Instruction, Operand, Operation};
use prlx_trace::element;
use prlx_trace::kernel::Scalar;

use super::code_match::alike;
use super::duplicates::{collapse, loaded_element};
use super::flow::{At, Flow, Source, Word, lanes};
use super::value::Canonical;
use super::walk::{Pair, Walk};
use crate::report::CauseClass;

/// The most addends of a sum; longer sums are not taken apart.
const MAX_TERMS: usize = 1 << 16;
/// The most pairs of addends that are followed further.
const MAX_FOLLOWED: usize = 16;

/// One addend of a sum.
#[derive(Clone, Debug)]
struct Term {
    /// The instruction that adds it.
    at: At,
    /// Where it comes from; of the product of a fused multiply-add, the instruction's own result.
    source: Source,
    /// Whether it is the product of a fused multiply-add.
    product: bool,
    /// The value that it adds.
    value: f64,
}

impl Term {
    /// What it comes from: the addend, or both factors of a product.
    fn sources(&self, flow: &Flow<'_>) -> Vec<Source> {
        match flow.instruction(self.at) {
            Some(i) if self.product => i.operands.iter().take(2).map(|o| flow.operand(o, self.at)).collect(),
            _ => vec![self.source.clone()],
        }
    }
    /// What the address comes from that it is added to.
    fn addresses(&self, flow: &Flow<'_>) -> Vec<Source> {
        let addresses = flow.instruction(self.at).map_or(&[][..], |i| &i.addresses);
        addresses.iter().map(|a| flow.operand(&a.base, self.at)).collect()
    }
}

/// The addends of a value, and the last instruction that adds.
struct Sum {
    terms: Vec<Term>,
    last: At,
    ty: Scalar,
    /// Whether additions of integers are part of it.
    whole: bool,
    /// Whether an atomic made it.
    atomic: bool,
}

/// Whether an instruction adds numbers: an atomic, or one of floating-point numbers. Additions of integers
/// count only in the `whole` of a sum that atomics make: elsewhere they are index arithmetic.
fn adds(i: &Instruction, whole: bool) -> bool {
    use Operation::{Add, MultiplyAdd, Subtract};
    match i.action {
        Action::Atomic => i.operation == Add,
        Action::Compute if element::is_float(i.ty) => matches!(i.operation, Add | Subtract | MultiplyAdd),
        Action::Compute => whole && matches!(i.operation, Add | Subtract),
        Action::Exchange => whole && i.opcode.starts_with("redux.sync.add"),
        _ => false,
    }
}

/// Whether two addends are equal. What memory held before the launch is not known, and taken to be equal.
fn same(x: &Term, y: &Term) -> bool {
    let initial = |t: &Term| t.value.is_nan() && matches!(t.source, Source::Memory(_));
    x.value == y.value || initial(x) && initial(y)
}

/// The value of a source as a number; of memory, the value that was stored there.
fn number(flow: &Flow<'_>, source: &Source, at: At, ty: Scalar) -> Option<f64> {
    if let Source::Memory(word) = source {
        let writer = flow.writer(word)?;
        return Some(element::as_f64(ty, flow.value(&flow.written(&writer, word)?, writer.at)?));
    }
    Some(element::as_f64(ty, flow.value(source, at)?))
}

impl Sum {
    /// The addends of a source; `None` if it is no sum, or has more addends than are left.
    fn of(flow: &Flow<'_>, source: &Source, terms_left: &mut usize) -> Option<Sum> {
        let (first, at) = adder(flow, source.clone(), false)?;
        let instruction = flow.instruction(at)?;
        let atomic = instruction.action == Action::Atomic;
        let whole = atomic && !element::is_float(instruction.ty);
        let mut sum = Sum { terms: Vec::new(), last: at, ty: instruction.ty, whole, atomic };
        let mut work = vec![Item { source: first, user: at, sign: 1.0, product: false }];
        while let Some(item) = work.pop() {
            *terms_left = terms_left.checked_sub(1)?;
            if sum.terms.len() + work.len() > MAX_TERMS {
                return None;
            }
            sum.expand(flow, item, &mut work)?;
        }
        sum.terms.reverse();
        Some(sum)
    }
    fn expand(&mut self, flow: &Flow<'_>, item: Item, work: &mut Vec<Item>) -> Option<()> {
        let Item { source, user, sign, product } = item;
        if product {
            let i = flow.instruction(user)?;
            let factor = |n: usize| number(flow, &flow.operand(i.operands.get(n)?, user), user, i.ty);
            let value = factor(0).zip(factor(1)).map_or(f64::NAN, |(x, y)| x * y * sign);
            self.terms.push(Term { at: user, source, product, value });
            return Some(());
        }
        let Some((source, at)) = adder(flow, source.clone(), self.whole) else {
            let value = number(flow, &source, user, self.ty).unwrap_or(f64::NAN) * sign;
            // Sums begin at zero; an added zero changes nothing.
            if value != 0.0 || !matches!(source, Source::Constant(_) | Source::Nothing | Source::Memory(_)) {
                self.terms.push(Term { at: user, source, product: false, value });
            }
            return Some(());
        };
        let instruction = flow.instruction(at)?;
        let operand = |i: usize| instruction.operands.get(i).map(|o| flow.operand(o, at));
        let mut items = Vec::new();
        let mut add = |source: Source, user: At, sign: f64| {
            items.push(Item { source, user, sign, product: false });
        };
        let operation = instruction.operation;
        if instruction.action == Action::Atomic {
            let Source::Memory(word) = source else { return None };
            add(Source::Memory(Word { before: flow.moment(at), ..word }), at, sign);
            let n =
                flow.writer(&word).map_or(0, |w| (word.address - w.address) / u64::from(word.bytes.max(1)));
            add(operand(n as usize)?, at, sign);
        } else if let Some((ballot, predicate)) = counted(flow, instruction, at) {
            each_lane(flow, ballot, predicate, |source, user| add(source, user, sign));
        } else if instruction.action == Action::Exchange {
            each_lane(flow, at, instruction.operands.first()?, |source, user| add(source, user, sign));
        } else if matches!(operation, Operation::Add | Operation::Subtract) {
            add(operand(0)?, at, sign);
            add(operand(1)?, at, if operation == Operation::Subtract { -sign } else { sign });
        } else {
            add(operand(2)?, at, sign);
            items.push(Item { source: Source::Result(at, 0), user: at, sign, product: true });
        }
        // The order of two operands means nothing. The sum so far comes first, then the greater addend.
        if let [x, y] = &items[..] {
            let sums = [x, y].map(|i| !i.product && adder(flow, i.source.clone(), self.whole).is_some());
            let value = |i: &Item| {
                let factor = |n: usize| number(flow, &operand(n)?, at, self.ty);
                match i.product {
                    true => Some(factor(0)? * factor(1)?),
                    false => number(flow, &i.source, i.user, self.ty),
                }
            };
            let greater = || value(y).unwrap_or(0.0).total_cmp(&value(x).unwrap_or(0.0)).is_gt();
            if !sums[0] && (sums[1] || greater()) {
                items.swap(0, 1);
            }
        }
        work.append(&mut items);
        Some(())
    }
}

/// A part of a sum that is to be taken apart.
struct Item {
    source: Source,
    /// The visit that adds it.
    user: At,
    sign: f64,
    /// Whether it is the product of the fused multiply-add `user`.
    product: bool,
}

/// An operand in each lane of a visit.
fn each_lane(flow: &Flow<'_>, at: At, operand: &Operand, mut f: impl FnMut(Source, At)) {
    for lane in lanes(flow.visit(at).map_or(0, |v| v.lanes)) {
        let user = At { lane, ..at };
        f(flow.operand(operand, user), user);
    }
}

/// The ballot whose bits an instruction counts, and the ballot's predicate.
fn counted<'a>(flow: &Flow<'a>, i: &'a Instruction, at: At) -> Option<(At, &'a Operand)> {
    if !i.opcode.starts_with("popc") {
        return None;
    }
    let Source::Result(ballot, _) = flow.operand(i.operands.first()?, at) else { return None };
    let vote = flow.instruction(ballot)?;
    vote.opcode.starts_with("vote.sync.ballot").then_some((ballot, vote.operands.first()?))
}

/// The addition that gives a value, through moves, shuffles, stores and loads. Of an atomic, the source is
/// the memory that it updated.
fn adder(flow: &Flow<'_>, mut source: Source, whole: bool) -> Option<(Source, At)> {
    for _ in 0..64 {
        match &source {
            Source::Result(at, n) => {
                let (at, instruction) = (*at, flow.instruction(*at)?);
                let next = match instruction.action {
                    _ if instruction.action != Action::Atomic
                        && (adds(instruction, whole)
                            || whole && counted(flow, instruction, at).is_some()) =>
                    {
                        return Some((source, at));
                    }
                    Action::Move => flow.operand(instruction.copied(*n)?, at),
                    Action::Load => Source::Memory(flow.read_word(at, *n)?),
                    Action::Exchange => {
                        let lane = super::lanes::source_lane(flow, at)?;
                        flow.operand(instruction.operands.first()?, At { lane, ..at })
                    }
                    _ => return None,
                };
                source = next;
            }
            Source::Memory(word) => {
                let writer = flow.writer(word)?;
                let instruction = flow.instruction(writer.at)?;
                if instruction.action == Action::Atomic {
                    return adds(instruction, whole).then_some((source, writer.at));
                }
                source = flow.written(&writer, word)?;
            }
            _ => return None,
        }
    }
    None
}

impl Walk<'_> {
    /// Follows two sums by their addends. Returns whether the pair is one of sums.
    pub fn sum(&mut self, pair: usize, p: &Pair) -> bool {
        let sums = [0, 1].map(|s| Sum::of(self.flows[s], &p.sources[s], &mut self.terms_left));
        let [Some(a), Some(b)] = sums else { return false };
        if a.terms.len().max(b.terms.len()) < 2 {
            return false;
        }
        // In code that corresponds step by step, operands are followed one by one, unless the order is all
        // that differs.
        let atomic = [&a, &b].iter().any(|s| s.atomic);
        if self.same_geometry && self.code.similar && !atomic {
            let permuted = a.terms.len() == b.terms.len() && self.permuted(&a, &b);
            let in_order =
                || a.terms.iter().zip(&b.terms).all(|(x, y)| x.value.to_bits() == y.value.to_bits());
            if permuted && !in_order() {
                self.order(pair, [&a, &b]);
                return true;
            }
            return false;
        }
        if self.same_geometry
            && self.code.similar
            && let Some(pairs) = self.by_thread([&a, &b])
        {
            let apart: Vec<[&Term; 2]> = pairs.into_iter().filter(|[x, y]| !same(x, y)).collect();
            match apart.is_empty() {
                true => self.order(pair, [&a, &b]),
                false => self.terms(pair, apart),
            }
            return true;
        }
        if self.partial([&a, &b]) {
            return true;
        }
        let close = tolerance([&a, &b]);
        let equal = |x: &Term, y: &Term| {
            let apart = (x.value - y.value).abs();
            same(x, y) || x.product != y.product && apart <= close * x.value.abs().max(y.value.abs())
        };
        if atomic {
            let only = unmatched(&a, &b, equal);
            if [1, 0].into_iter().any(|side| self.added_twice(pair, side, &only[side], [&a, &b])) {
                return true;
            }
        }
        let [only_a, only_b] = unmatched(&a, &b, equal);
        if a.terms.len() == b.terms.len() {
            let apart: Vec<usize> =
                (0..a.terms.len()).filter(|&i| !equal(&a.terms[i], &b.terms[i])).collect();
            if apart.is_empty() {
                self.same_addends(pair, [&a, &b]);
                return true;
            }
            // Two addends that both have counterparts at another place are no difference. Which of several
            // equal ones is the counterpart is not known, so it is enough that one of the two has none.
            let alone = |i: &&usize| [&only_a, &only_b].iter().any(|only| only.binary_search(i).is_ok());
            let pairs: Vec<[&Term; 2]> =
                apart.iter().rev().filter(alone).map(|&i| [&a.terms[i], &b.terms[i]]).collect();
            if apart.len() * 2 <= a.terms.len() && !pairs.is_empty() {
                self.terms(pair, pairs);
                return true;
            }
        }
        if only_a.is_empty() && only_b.is_empty() {
            if !self.fused(pair, [&a, &b]) {
                self.order(pair, [&a, &b]);
            }
            return true;
        }
        self.leftover(pair, p, [&a, &b], [only_a, only_b]);
        true
    }
    /// Pairs the addends that the same thread adds at the same place; `None` if some have no partner.
    fn by_thread<'t>(&self, sums: [&'t Sum; 2]) -> Option<Vec<[&'t Term; 2]>> {
        let keyed = [0, 1].map(|side| {
            let flow = self.flows[side];
            let mut list = Vec::new();
            for (n, term) in sums[side].terms.iter().enumerate() {
                let number = flow.number(term.at);
                let number = if side == 0 { Some(number) } else { self.code.of(1, number) };
                let thread = flow.thread(term.at);
                list.push(((number?, thread, flow.trip(term.at), term.product), n));
            }
            list.sort_unstable();
            Some(list)
        });
        let [Some(a), Some(b)] = keyed else { return None };
        let same = a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| x.0 == y.0);
        same.then(|| a.iter().zip(&b).map(|(x, y)| [&sums[0].terms[x.1], &sums[1].terms[y.1]]).collect())
    }
    /// Whether the addends of both sums are the same numbers.
    fn permuted(&self, a: &Sum, b: &Sum) -> bool {
        let sorted = |s: &Sum| {
            let mut bits: Vec<u64> = s.terms.iter().map(|t| t.value.to_bits()).collect();
            bits.sort_unstable();
            bits
        };
        // A value that is not known is equal to none.
        let known =
            |s: &Sum| s.terms.iter().all(|t| !t.value.is_nan() || matches!(t.source, Source::Memory(_)));
        known(a) && known(b) && sorted(a) == sorted(b)
    }
    /// All addends agree in their order: the additions differ, by association or rounding.
    fn same_addends(&mut self, pair: usize, [a, b]: [&Sum; 2]) {
        let unlike = a.terms.iter().zip(&b.terms).find(|(x, y)| {
            let code = [self.flows[0].instruction(x.at), self.flows[1].instruction(y.at)];
            matches!(code, [Some(i), Some(j)] if !alike(i, j))
        });
        match unlike {
            Some((x, y)) => {
                let what = match (x.product, y.product) {
                    (true, false) => fused_in(0),
                    (false, true) => fused_in(1),
                    _ => {
                        let text = |s: usize, at: At| {
                            self.flows[s].instruction(at).map_or("?", |i| &i.place.instruction).to_owned()
                        };
                        format!("A computes `{}`, B `{}`", text(0, x.at), text(1, y.at))
                    }
                };
                self.find(pair, CauseClass::Operation, 1, [Some(x.at), Some(y.at)], what);
            }
            None => self.order(pair, [a, b]),
        }
    }
    /// Explains sums with the same addends of which one side fuses more products. Returns whether it does.
    fn fused(&mut self, pair: usize, sums: [&Sum; 2]) -> bool {
        let products = sums.map(|s| s.terms.iter().filter(|t| t.product).collect::<Vec<_>>());
        let side = usize::from(products[1].len() > products[0].len());
        let Some(product) = products[side].last().filter(|_| products[0].len() != products[1].len()) else {
            return false;
        };
        let mut places = sums.map(|s| Some(s.last));
        places[side] = Some(product.at);
        self.find(pair, CauseClass::Operation, 1, places, fused_in(side));
        true
    }
    /// Whether other CTAs added to these sums, whose data flow was not recorded.
    fn partial(&mut self, sums: [&Sum; 2]) -> bool {
        let mut partial = false;
        for (side, sum) in sums.into_iter().enumerate() {
            for term in &sum.terms {
                if let Source::Memory(word) = &term.source {
                    partial |= self.ends_unrecorded(side, word);
                }
            }
        }
        partial
    }
    /// The same addends in another order: says how far such sums may be apart.
    fn order(&mut self, pair: usize, sums: [&Sum; 2]) {
        if self.partial(sums) {
            return;
        }
        // What memory held before the launch is not known.
        let known: Vec<f64> =
            sums[0].terms.iter().map(|t| t.value.abs()).filter(|value| !value.is_nan()).collect();
        let (n, size) = (known.len(), known.iter().sum::<f64>());
        let unit = match sums[0].ty {
            Scalar::F64 => 2f64.powi(-53),
            Scalar::F16 => 2f64.powi(-11),
            Scalar::Bf16 => 2f64.powi(-8),
            _ => 2f64.powi(-24),
        };
        // Each of n - 1 additions rounds a partial sum of at most `size` (Higham, Accuracy and Stability of
        // Numerical Algorithms, section 4.2); the two sums may err in opposite directions.
        let bound = 2.0 * sums[0].terms.len().saturating_sub(1) as f64 * unit * size;
        if !element::is_float(sums[0].ty) {
            // Sums of integers do not depend on the order: something that is added is not known.
            let what = "the addends that are known agree, and the sums do not".to_owned();
            return self.find(pair, CauseClass::Operation, 5, sums.map(|s| Some(s.last)), what);
        }
        let what = format!(
            "the same {n} addends are added in another order; rounding can make such sums differ by up to {bound:.3e}"
        );
        self.find(pair, CauseClass::Order, 4, sums.map(|s| Some(s.last)), what);
    }
    /// Follows pairs of addends, the earliest first.
    fn terms(&mut self, pair: usize, mut pairs: Vec<[&Term; 2]>) {
        pairs.sort_by_key(|[x, _]| self.flows[0].order(x.at));
        for [x, y] in pairs.into_iter().take(MAX_FOLLOWED) {
            let users = [x.at, y.at];
            let code = [self.flows[0].instruction(x.at), self.flows[1].instruction(y.at)];
            match (x.product && y.product, code) {
                (true, [Some(i), Some(j)]) if alike(i, j) => self.operands(pair, users, [i, j], 0..2),
                (true, [Some(i), Some(j)]) => {
                    let what = format!("A computes `{}`, B `{}`", i.place.instruction, j.place.instruction);
                    self.find(pair, CauseClass::Operation, 0, users.map(Some), what);
                }
                (_, [Some(i), Some(j)]) if x.product != y.product => {
                    let what = format!("A computes `{}`, B `{}`", i.place.instruction, j.place.instruction);
                    self.find(pair, CauseClass::Operation, 1, users.map(Some), what);
                }
                _ => self.push(pair, [x.source.clone(), y.source.clone()], users, None),
            }
        }
    }
    /// Addends that only one side has: those of the same origin belong together.
    fn leftover(&mut self, pair: usize, p: &Pair, sums: [&Sum; 2], only: [Vec<usize>; 2]) {
        let terms = |s: usize| -> Vec<&Term> { only[s].iter().map(|&i| &sums[s].terms[i]).collect() };
        let [mut a, mut b] = [terms(0), terms(1)];
        let mut pairs = Vec::new();
        a.retain(|x| {
            let from = self.origin(0, x);
            let found =
                from.and_then(|from| b.iter().position(|y| self.origin(1, y).as_ref() == Some(&from)));
            if let Some(i) = found {
                pairs.push([*x, b.remove(i)]);
            }
            found.is_none()
        });
        let rest = a.len().min(b.len());
        pairs.extend(a.iter().zip(&b).map(|(x, y)| [*x, *y]));
        self.terms(pair, pairs);
        let extra = [(0, &a[rest..]), (1, &b[rest..])];
        for (side, list) in extra {
            let Some(term) = list.iter().min_by_key(|t| self.flows[side].order(t.at)) else { continue };
            // The other side's thread may add it too, but after the sum was read.
            let word = match &p.sources[1 - side] {
                Source::Memory(word) if sums[side].atomic => Some(word),
                _ => None,
            };
            let mut candidates = vec![term.at];
            if word.is_some() {
                // Equal addends are interchangeable, so any of them can be the one that is too many.
                candidates.extend(sums[side].terms.iter().map(|t| t.at));
                candidates[1..].sort_by_key(|at| self.flows[side].order(*at));
            }
            let is_missing = self.same_geometry
                && self.code.similar
                && candidates.into_iter().any(|at| self.missing(pair, side, at, word));
            if !is_missing {
                let mut places = [None, None];
                places[side] = Some(term.at);
                places[1 - side] = Some(sums[1 - side].last);
                let what = format!(
                    "{} of {} addends are in {} alone",
                    list.len(),
                    sums[side].terms.len(),
                    super::walk::name(side)
                );
                self.find(pair, CauseClass::Operation, self.rank_of_origin(), places, what);
            }
        }
    }
    /// Explains addends that only `side` has, if they come from an element that it adds more often than the
    /// other side. Returns whether it found something.
    fn added_twice(&mut self, pair: usize, side: usize, extra: &[usize], sums: [&Sum; 2]) -> bool {
        if extra.is_empty() {
            return false;
        }
        let element = |side: usize, term: &Term| {
            let flow = self.flows[side];
            let found = loaded_element(flow, term.sources(flow), term.at);
            found.or_else(|| loaded_element(flow, term.addresses(flow), term.at))
        };
        let elements = |side: usize| -> Vec<(At, Canonical)> {
            sums[side].terms.iter().filter_map(|term| element(side, term)).collect()
        };
        let (here, there) = (elements(side), elements(1 - side));
        let mut extra: Vec<&Term> = extra.iter().map(|&i| &sums[side].terms[i]).collect();
        extra.sort_by_key(|term| self.flows[side].order(term.at));
        for term in extra.into_iter().take(MAX_FOLLOWED) {
            let Some((load, which)) = element(side, term) else { continue };
            let other = here.iter().find(|(at, w)| *w == which && *at != load);
            let times = |list: &[(At, Canonical)]| list.iter().filter(|(_, w)| *w == which).count();
            let (Some((first, _)), Canonical::Place(name, offset)) = (other, &which) else { continue };
            let (n, m) = (times(&here), times(&there));
            let Some(found) = collapse(self.flows[side], [*first, load]).filter(|_| m > 0 && n > m) else {
                continue;
            };
            let size = self.flows[side].read_word(load, 0).map_or(1, |word| u64::from(word.bytes));
            let what = format!(
                "{} adds `{}` {}, {} {}: {}",
                super::walk::name(side),
                self.flows[side].element(name, *offset, size),
                in_words(n),
                super::walk::name(1 - side),
                in_words(m),
                found.what
            );
            let mut places = [None, None];
            places[side] = Some(found.at[1]);
            self.find(pair, CauseClass::Address, 1, places, what);
            return true;
        }
        false
    }
    /// The element in global memory that an addend is loaded from.
    fn origin(&self, side: usize, term: &Term) -> Option<Canonical> {
        let flow = self.flows[side];
        loaded_element(flow, term.sources(flow), term.at).map(|(_, element)| element)
    }
}

/// What differs if only one side fuses a product with an addition.
fn fused_in(side: usize) -> String {
    let (fused, twice) = (super::walk::name(side), super::walk::name(1 - side));
    format!("{fused} rounds once, in a fused multiply-add; {twice} rounds the product and the sum")
}

/// A number of times in words.
fn in_words(times: usize) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

/// How far a rounded product may be from the exact one, relative to it.
fn tolerance(sums: [&Sum; 2]) -> f64 {
    match sums[0].ty {
        Scalar::F64 => 2f64.powi(-52),
        Scalar::F16 => 2f64.powi(-10),
        Scalar::Bf16 => 2f64.powi(-7),
        _ => 2f64.powi(-23),
    }
}

/// The addends of each side that the other has none for, by number.
fn unmatched(a: &Sum, b: &Sum, equal: impl Fn(&Term, &Term) -> bool) -> [Vec<usize>; 2] {
    let sorted = |s: &Sum| {
        let mut order: Vec<usize> = (0..s.terms.len()).collect();
        order.sort_by(|&i, &j| s.terms[i].value.total_cmp(&s.terms[j].value).then(i.cmp(&j)));
        order
    };
    let (oa, ob) = (sorted(a), sorted(b));
    let (mut i, mut j, mut only) = (0, 0, [Vec::new(), Vec::new()]);
    while i < oa.len() && j < ob.len() {
        let (x, y) = (&a.terms[oa[i]], &b.terms[ob[j]]);
        if equal(x, y) {
            (i, j) = (i + 1, j + 1);
        } else if x.value.total_cmp(&y.value).is_lt() {
            only[0].push(oa[i]);
            i += 1;
        } else {
            only[1].push(ob[j]);
            j += 1;
        }
    }
    only[0].extend(&oa[i..]);
    only[1].extend(&ob[j..]);
    only.iter_mut().for_each(|list| list.sort_unstable());
    only
}
