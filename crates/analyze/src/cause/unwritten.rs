//! Words that no thread wrote before both sides read them.

use prlx_trace::check::Space;
use prlx_trace::dataflow::Action;

use super::flow::{Source, Word};
use super::walk::{Pair, Walk};
use crate::report::CauseClass;

impl Walk<'_> {
    /// Both sides read what the memory held before the launch.
    pub(super) fn initial(&mut self, pair: usize, p: &Pair, words: [Word; 2]) {
        if !self.same_place(&words) {
            return self.find(pair, CauseClass::Address, 2, p.users.map(Some), "the addresses differ".into());
        }
        if let Some(what) = self.loaded_otherwise(p, &words) {
            return self.find(pair, CauseClass::Operation, 0, p.users.map(Some), what);
        }
        match words[0].space {
            Space::Global => {
                let what = format!("{} differs before the launch", self.element(&words[0]));
                self.find(pair, CauseClass::Input, 0, p.users.map(Some), what);
            }
            _ => {
                let what = "both sides read memory that nothing has written".into();
                self.find(pair, CauseClass::Undefined, 1, p.users.map(Some), what);
            }
        }
    }

    /// Says how two loads read the same bytes in another way; `None` if they do not, or if the bytes differ.
    fn loaded_otherwise(&self, p: &Pair, words: &[Word; 2]) -> Option<String> {
        let [x, y] = words.each_ref().map(|word| word.bytes);
        let sources = &self.pairs[p.parent?].sources;
        // A load extends what it reads.
        let low = [0, 1].map(|side| {
            let loaded = matches!(&sources[side], Source::Result(at, _) if *at == p.users[side]);
            let value = self.flows[side].value(&sources[side], p.users[side]).filter(|_| loaded)?;
            Some(value & (u64::MAX >> 64u32.saturating_sub(8 * x.min(y))))
        });
        let same = match low {
            [Some(a), Some(b)] => a == b,
            _ => x != y,
        };
        let [a, b] = self.instructions(p.users)?;
        let loads = [a, b].iter().all(|i| i.action == Action::Load) && a.opcode != b.opcode;
        let what = match loads {
            true => format!("A loads by `{}`, B by `{}`", a.place.instruction, b.place.instruction),
            false => format!("A reads {x} bytes there, B {y}"),
        };
        (same && (loads || x != y)).then_some(what)
    }
}
