//! Calls of recorded functions, and their additional argument.
//!
//! A recorded device function gets one more parameter, the address of the record (see [`super::lane_state`]):
//! in its definition, in every forward declaration, and at every direct call. A caller that is not recorded
//! passes a record that says so. Nothing else of the ABI changes, so recursion and separate stacks work.

use prlx_isa::view::Inst;

use crate::edit::Edit;
use crate::error::Error;
use crate::ptx::call_sites::{ListPlace, before_last};
use crate::ptx::lowering::Lowering;
use crate::ptx::snippet::Snippet;
use crate::ptx::state_passing::unrecorded;
use crate::tokens::{closing, span, tokens};

impl Lowering<'_> {
    /// At a call of a recorded function: stores the state to the record, and passes its address as one more
    /// argument.
    ///
    /// The stores are not guarded, even if the call is: an unchanged state is loaded back as it was. No
    /// branch may separate the call from its arguments, so there is none here.
    pub(super) fn call(
        &self,
        s: &mut Snippet<'_>,
        inst: &Inst,
        recorded: bool,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Error> {
        let callee = self.module.callee(inst).map_or(0, |f| f.index());
        match recorded {
            true => self.hand_over(s, false),
            false => unrecorded(self, s),
        }
        if self.has_record() {
            s.ptx("mov.u64 %~state, ~record;");
        }
        let argument = match self.calls.registers[callee] {
            true => "%~state".to_owned(),
            false => {
                s.ptx(".param .b64 ~state#;\nst.param.b64 [~state#], %~state;");
                "~state#".to_owned()
            }
        };
        let name = &self.module.functions[callee].name;
        let list = tokens(self.source, inst.span.start as usize, inst.span.end as usize);
        let at = list
            .iter()
            .position(|t| t.text == name)
            .ok_or_else(|| self.wrong(inst, "the callee's name is not there"))?;
        let argument = s.expand(&argument);
        let edit = match list.get(at + 1..at + 3) {
            Some([comma, open]) if comma.text == "," && open.text == "(" => {
                let close = closing(&list, at + 2)
                    .ok_or_else(|| self.wrong(inst, "an argument list does not end"))?;
                let arguments = &list[at + 2..=close];
                let count = arguments.iter().filter(|t| t.text == ",").count() + 1;
                let variadic =
                    self.calls.variadic[callee] && count == self.module.functions[callee].params.len();
                let (offset, place) = match close == at + 3 {
                    true => (list[close].at, ListPlace::Only),
                    false if variadic => before_last(arguments),
                    false => (list[close].at, ListPlace::Last),
                };
                Edit { at: span(offset, offset).start, text: place.text(&argument, ", ") }
            }
            _ => Edit { at: list[at].span().end, text: format!(", ({argument})") },
        };
        edits.push(edit);
        Ok(())
    }
}
