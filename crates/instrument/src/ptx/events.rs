//! Level `events`: one record a visit of a warp, written by its lowest active lane.
//!
//! Each lane has a stream of its own and writes there what it led, so nothing is shared and no index is fetched. All
//! active lanes read the clock before they vote and go on after it: whatever a lane does next, as a leader or not, has a
//! later clock than this, even if the leader's store is still to come.

use prlx_isa::view::{Operand, Type};
use prlx_trace::SiteId;
use prlx_trace::kernel::SiteClass;

use super::Lowering;
use super::begin::LEAD;
use super::snippet::Snippet;
use super::value::{Value, Width};

impl Lowering<'_> {
    /// Writes an event. The caller sees to guards: whoever is here is active.
    pub(super) fn event(&self, s: &mut Snippet<'_>, site: SiteId, value: Option<&Operand>) {
        s.ptx("activemask.b32 %~mask;\nmov.u32 %~clock, %clock;");
        let values = value.map(|v| self.scalars(std::slice::from_ref(v))).unwrap_or_default();
        let switch = self.plan.module.sites.get(site.index()).is_some_and(|s| s.class == SiteClass::Switch);
        match values.as_slice() {
            [] => s.ptx("mov.u32 %~value, 0;\nbar.warp.sync %~mask;"),
            [Value::Named(p, Type::Pred)] => s.ptx(&format!("vote.sync.ballot.b32 %~value, {p}, %~mask;")),
            [Value::Not(p)] => s.ptx(&format!("not.pred %~q, {p};\nvote.sync.ballot.b32 %~value, %~q, %~mask;")),
            // One event for each way that lanes go, led by the lowest of those that go it: every lane's index is told.
            [index] if switch => {
                index.read_low(s, "%~value");
                s.ptx("match.any.sync.b32 %~a, %~value, %~mask;\nmov.b32 %~mask, %~a;");
            }
            values if self.arch >= 80 => {
                self.digest(s, values);
                s.ptx("redux.sync.xor.b32 %~value, %~hash, %~mask;");
            }
            _ => s.ptx("mov.u32 %~value, 0;\nbar.warp.sync %~mask;"),
        }
        s.ptx(LEAD);
        s.ptx(&format!("mov.u32 %~site, {};", site.0.wrapping_add(1)));
        self.element(s, &["%~site", "%~mask", "%~value", "%~clock"]);
    }

    /// `%~hash`: [`prlx_trace::device::digest`] of this lane's values.
    fn digest(&self, s: &mut Snippet<'_>, values: &[Value]) {
        let [lane, low, high] = [0x9E37_79B1u32, 0x85EB_CA77, 0xC2B2_AE3D].map(u32::cast_signed);
        s.ptx(&format!("mov.u32 %~a, %laneid;\nmad.lo.s32 %~hash, %~a, {lane}, 1;"));
        for value in values {
            if value.width() == Width::Wide {
                value.read(s, "%~v");
                s.ptx(&format!(
                    "mov.b64 {{%~a, %~b}}, %~v;
                     xor.b32 %~hash, %~hash, %~a;
                     mul.lo.s32 %~hash, %~hash, {low};
                     mad.lo.s32 %~hash, %~b, {high}, %~hash;"
                ));
            } else {
                value.read_low(s, "%~a");
                s.ptx(&format!("xor.b32 %~hash, %~hash, %~a;\nmul.lo.s32 %~hash, %~hash, {low};"));
            }
        }
        s.ptx("shr.u32 %~a, %~hash, 15;\nxor.b32 %~hash, %~hash, %~a;");
    }
}
