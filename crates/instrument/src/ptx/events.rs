//! Level `events`: one record a visit of a warp, written by its lowest active lane.
//!
//! Each lane has a stream of its own and writes there what it led, so nothing is shared and no index is fetched. All
//! active lanes read the clock before they vote and go on after it: whatever a lane does next, as a leader or not, has a
//! later clock than this, even if the leader's store is still to come. Events for the same lanes at one place share all
//! that but their own words.

use prlx_isa::view::Type;
use prlx_probe::{Action, Insertion};
use prlx_trace::SiteId;
use prlx_trace::device::{DIGEST_BY, DIGEST_HIGH, TURN};
use prlx_trace::kernel::SiteClass;

use super::Lowering;
use super::begin::LEAD;
use super::snippet::Snippet;
use super::state::trip;
use super::value::{Value, Width};

impl Lowering<'_> {
    /// Writes events, one for each action, under one head. The caller sees to guards: whoever is here is active.
    pub(super) fn events(&self, s: &mut Snippet<'_>, events: &[&Insertion]) {
        s.ptx("activemask.b32 %~mask;\nmov.u32 %~clock, %clock;");
        let mut elements = Vec::new();
        let mut waits = false;
        for (i, event) in events.iter().enumerate() {
            let Action::Event { site, value, bits } = &event.action else { continue };
            let mut own = |name: &str| match events.len() {
                1 => format!("%~{name}"),
                _ => {
                    s.declare(".b32", format!("{name}{i}"));
                    format!("%~{name}{i}")
                }
            };
            let (number, to) = (own("site"), own("value"));
            let values = self.moved(value.as_slice(), *bits);
            waits |= self.value(s, *site, &values, &to);
            elements.push((site.0.wrapping_add(1), number, to));
        }
        if !waits {
            s.ptx("bar.warp.sync %~mask;");
        }
        s.ptx(LEAD);
        let mut words = Vec::new();
        for (site, number, value) in &elements {
            s.ptx(&format!("mov.u32 {number}, {site};"));
            words.extend([number.as_str(), "%~mask", value.as_str(), "%~clock"]);
        }
        self.element(s, &words);
    }

    /// Puts what an event says into the register `to`. Whether lanes have waited for each other then.
    fn value(&self, s: &mut Snippet<'_>, site: SiteId, values: &[Value], to: &str) -> bool {
        let switch = self.plan.module.sites.get(site.index()).is_some_and(|s| s.class == SiteClass::Switch);
        match values {
            [Value::Named(p, Type::Pred)] => s.ptx(&format!("vote.sync.ballot.b32 {to}, {p}, %~mask;")),
            [Value::Not(p)] => s.ptx(&format!("not.pred %~q, {p};\nvote.sync.ballot.b32 {to}, %~q, %~mask;")),
            // One event for each way that lanes go, led by the lowest of those that go it: every lane's index is told.
            [index] if switch => {
                index.read_low(s, to);
                s.ptx(&format!("match.any.sync.b32 %~a, {to}, %~mask;\nmov.b32 %~mask, %~a;"));
            }
            [_, ..] if self.arch >= 80 => {
                self.digest(s, values);
                s.ptx(&format!("redux.sync.xor.b32 {to}, %~hash, %~mask;"));
            }
            _ => {
                s.ptx(&format!("mov.u32 {to}, 0;"));
                return false;
            }
        }
        true
    }

    /// Writes how often lanes went on in a counted loop, if they were in it: one event for each count.
    pub(super) fn trip_event(&self, s: &mut Snippet<'_>, counter: u32, site: SiteId) {
        let name = trip(counter);
        s.ptx(&format!(
            "setp.eq.u32 %~q, %~{name}, 0;
             @%~q bra $~none#;
             activemask.b32 %~mask;
             mov.u32 %~clock, %clock;
             sub.u32 %~value, %~{name}, 1;
             match.any.sync.b32 %~a, %~value, %~mask;
             mov.b32 %~mask, %~a;"
        ));
        s.ptx(LEAD);
        s.ptx(&format!("mov.u32 %~site, {};", site.0.wrapping_add(1)));
        self.element(s, &["%~site", "%~mask", "%~value", "%~clock"]);
        s.ptx(&format!("mov.u32 %~{name}, 0;\n$~none#:"));
    }

    /// `%~hash`: [`prlx_trace::device::digest`] of this lane's values, of which there are some.
    fn digest(&self, s: &mut Snippet<'_>, values: &[Value]) {
        let [lane, by, high] = [DIGEST_BY << 1, DIGEST_BY, DIGEST_HIGH].map(u32::cast_signed);
        s.ptx(&format!("mov.u32 %~a, %laneid;\nmad.lo.s32 %~d, %~a, {lane}, {by};"));
        for (i, value) in values.iter().enumerate() {
            if value.width() == Width::Wide {
                value.read(s, "%~v");
                s.ptx(&format!(
                    "mov.b64 {{%~a, %~b}}, %~v;
                     shl.b32 %~c, %~b, {TURN};
                     shr.u32 %~b, %~b, {};
                     or.b32 %~b, %~b, %~c;
                     mul.lo.s32 %~b, %~b, {high};
                     xor.b32 %~a, %~a, %~b;",
                    32 - TURN
                ));
            } else {
                value.read_low(s, "%~a");
            }
            if i > 0 {
                s.ptx("xor.b32 %~a, %~a, %~hash;");
            }
            s.ptx("mul.wide.u32 %~x, %~a, %~d;\nmov.b64 {%~a, %~b}, %~x;\nxor.b32 %~hash, %~a, %~b;");
        }
    }
}
