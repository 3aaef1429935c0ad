//! Level `operands`: the operands of every lane at the visits in the window.

use prlx_isa::view::{FunctionKind, Operand};
use prlx_trace::SiteId;

use crate::ptx::lane_state::{visit, visit_of};
use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::snippet::Snippet;

impl Lowering<'_> {
    /// Counts a visit and, if it is in the window, writes its record. The caller handles guards.
    pub(in crate::ptx) fn operands(
        &self,
        s: &mut Snippet<'_>,
        site: SiteId,
        counter: u32,
        values: &[Operand],
    ) {
        match self.function.kind {
            _ if self.output == Output::Wave => {
                let name = visit_of(self.index, counter);
                s.ptx(&format!("mov.u32 %~d, %~{name};\nadd.u32 %~{name}, %~{name}, 1;"));
            }
            FunctionKind::Kernel => {
                let name = visit(counter);
                s.ptx(&format!("mov.u32 %~d, %~{name};\nadd.u32 %~{name}, %~{name}, 1;"));
            }
            // Visits are counted over all activations, so the counter is in the record.
            FunctionKind::Device => {
                let at =
                    self.state.visits.get(self.index).copied().unwrap_or_default() + 4 * u64::from(counter);
                s.ptx(&format!(
                    "ld.local.u32 %~d, [%~state+{at}];
                     add.u32 %~a, %~d, 1;
                     st.local.u32 [%~state+{at}], %~a;"
                ));
            }
        }
        s.ptx(
            "sub.u32 %~a, %~d, %~first;
             setp.ge.u32 %~q, %~a, %~span;
             @%~q bra $~outside#;",
        );
        let values = self.scalars(values);
        for (value, to) in values.iter().zip(["%~v0", "%~v1"]) {
            value.read(s, to);
        }
        for to in ["%~v0", "%~v1"].iter().skip(values.len()) {
            s.ptx(&format!("mov.u64 {to}, 0;"));
        }
        s.ptx(&format!("mov.u32 %~c, {};\nmov.b64 %~v, {{%~c, %~d}};", site.0.wrapping_add(1)));
        self.append(s, &["%~v", "%~v0", "%~v1"]);
        s.ptx("$~outside#:");
    }
}
