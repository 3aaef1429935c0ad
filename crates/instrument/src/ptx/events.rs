//! Level `events`: one record a visit of a warp, written by its lowest active lane.
//!
//! Each lane has a stream of its own and writes there what it led, so nothing is shared and no index is fetched. All
//! active lanes read the clock before they vote and go on after it: whatever a lane does next, as a leader or not, has a
//! later clock than this, even if the leader's store is still to come. Events for the same lanes at one place share all
//! that but their own words.

use prlx_isa::view::{Guard, Type};
use prlx_probe::{Action, Insertion, Plan};
use prlx_trace::SiteId;
use prlx_trace::device::{DIGEST_BY, DIGEST_HIGH, PAIR, TURN};
use prlx_trace::kernel::SiteClass;

use super::Lowering;
use super::begin::LEAD;
use super::snippet::{Snippet, guard_text};
use super::state::trip;
use super::value::{Value, Width};

impl Lowering<'_> {
    /// Writes events, one for each action, under one head. The caller sees to guards: whoever is here is active.
    pub(super) fn events(&self, s: &mut Snippet<'_>, events: &[&Insertion]) {
        s.ptx("activemask.b32 %~mask;\nmov.u32 %~clock, %clock;");
        let own = |s: &mut Snippet<'_>, name: &str, i: usize| match events.len() {
            1 => format!("%~{name}"),
            _ => {
                s.declare(".b32", format!("{name}{i}"));
                format!("%~{name}{i}")
            }
        };
        let mut parts: Vec<Part> = Vec::new();
        let mut told: Vec<[String; 2]> = Vec::new();
        let mut waits = false;
        for (i, event) in events.iter().enumerate() {
            let Action::Event { site, of, value, bits } = &event.action else { continue };
            let known = parts.iter().position(|part| part.of == *of);
            let part = known.unwrap_or_else(|| {
                parts.push(self.part(s, *of, parts.len()));
                parts.len() - 1
            });
            let to = own(s, "value", i);
            let values = self.moved(value.as_slice(), *bits);
            waits |= self.value(s, *site, &values, &mut parts[part], &to) || of.is_some();
            told.push([parts[part].mask.clone(), to]);
        }
        if !waits {
            s.ptx("bar.warp.sync %~mask;");
        }
        s.ptx(LEAD);
        let mut words = Vec::new();
        for row in Plan::rows(events) {
            let i = words.len() / 4;
            let Some(Action::Event { site, .. }) = row.first().map(|event| &event.action) else { continue };
            let [[mask, value], more @ ..] = &told[..row.len()] else { continue };
            let (pair, last) = more.first().map_or((0, "%~clock"), |[_, value]| (PAIR, value.as_str()));
            let number = own(s, "site", i);
            s.ptx(&format!("mov.u32 {number}, {};", (site.0.wrapping_add(1) | pair).cast_signed()));
            words.extend([number, mask.clone(), value.clone(), last.to_owned()]);
            told.drain(..row.len());
        }
        self.element(s, &words.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Those of the lanes here that events are of.
    fn part(&self, s: &mut Snippet<'_>, of: Option<Guard>, number: usize) -> Part {
        let Some(guard) = of else { return Part { of, mask: "%~mask".to_owned(), by: None } };
        let name = format!("mask{number}");
        let mask = format!("%~{name}");
        s.declare(".b32", name);
        let holds = guard_text(self.function, guard, false);
        s.ptx(&format!("vote.sync.ballot.b32 {mask}, {}, %~mask;", holds.trim_start_matches('@')));
        Part { of, mask, by: None }
    }

    /// Puts what an event says into the register `to`. Whether lanes have waited for each other then.
    fn value(&self, s: &mut Snippet<'_>, site: SiteId, values: &[Value], part: &mut Part, to: &str) -> bool {
        let switch = self.plan.module.sites.get(site.index()).is_some_and(|s| s.class == SiteClass::Switch);
        let ballot = |s: &mut Snippet<'_>, of: String| {
            s.ptx(&format!("vote.sync.ballot.b32 {to}, {of}, %~mask;"));
            if part.of.is_some() {
                s.ptx(&format!("and.b32 {to}, {to}, {};", part.mask));
            }
        };
        match values {
            [Value::Named(p, Type::Pred)] => ballot(s, (*p).to_owned()),
            [Value::Not(p)] => ballot(s, format!("!{p}")),
            // One event for each way that lanes go, led by the lowest of those that go it: every lane's index is told.
            [index] if switch => {
                index.read_low(s, to);
                s.ptx(&format!("match.any.sync.b32 %~a, {to}, %~mask;\nmov.b32 %~mask, %~a;"));
            }
            [_, ..] if self.arch >= 80 => {
                let by = part.by.get_or_insert_with(|| self.multiplier(s, part.of, &part.mask)).clone();
                digest(s, values, &by);
                s.ptx(&format!("redux.sync.xor.b32 {to}, %~hash, %~mask;"));
            }
            _ => {
                s.ptx(&format!("mov.u32 {to}, 0;"));
                return false;
            }
        }
        true
    }

    /// The register that has what this lane's digest multiplies by, for those with `mask`. Who is not one of them has 0, and so is its digest.
    fn multiplier(&self, s: &mut Snippet<'_>, of: Option<Guard>, mask: &str) -> String {
        let name = mask.replace("%~mask", "by");
        let by = format!("%~{name}");
        s.declare(".b32", name);
        let [lane, one] = [DIGEST_BY << 1, DIGEST_BY].map(u32::cast_signed);
        s.ptx(&format!("mov.u32 %~a, %laneid;\nmad.lo.s32 {by}, %~a, {lane}, {one};"));
        if let Some(guard) = of {
            s.ptx(&format!("{} mov.b32 {by}, 0;", guard_text(self.function, guard, true)));
        }
        by
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
}

/// Those of the lanes here that events are of.
struct Part {
    /// What holds of them; `None`: all.
    of: Option<Guard>,
    /// The register that has them.
    mask: String,
    /// The one that has what their digests multiply by, once it is needed.
    by: Option<String>,
}

/// `%~hash`: [`prlx_trace::device::digest`] of this lane's values, of which there are some; `by` has the lane's multiplier.
fn digest(s: &mut Snippet<'_>, values: &[Value], by: &str) {
    let high = DIGEST_HIGH.cast_signed();
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
        s.ptx(&format!("mul.wide.u32 %~x, %~a, {by};\nmov.b64 {{%~a, %~b}}, %~x;\nxor.b32 %~hash, %~a, %~b;"));
    }
}
