//! Level `events`: one record per visit of a warp, written by its lowest active lane.
//!
//! Each lane has a stream of its own and writes the visits that it leads, so nothing is shared and no index
//! is fetched. All active lanes read the clock before they vote, and continue after the vote. Anything that a
//! lane does next therefore has a later clock, even if the leader's store is still pending. Events of the
//! same lanes at one position share the header.

use prlx_isa::view::{Guard, Type};
use prlx_plan::{Action, EventRow, Insertion, Plan};
use prlx_trace::SiteId;
use prlx_trace::device::{DIGEST_BY, DIGEST_HIGH, Followers, TURN};
use prlx_trace::kernel::SiteClass;

use crate::ptx::lane_state::trip;
use crate::ptx::lowering::{Lowering, Output};
use crate::ptx::snippet::{Snippet, guard_text};
use crate::ptx::values::{OperandValue, Width};

impl Lowering<'_> {
    /// Writes events, one per action, under one header. The caller handles guards: every lane that arrives
    /// here is active.
    pub(in crate::ptx) fn events(&self, s: &mut Snippet<'_>, events: &[&Insertion]) {
        self.active_lanes(s);
        s.ptx("mov.u32 %~clock, %clock;");
        let own = |s: &mut Snippet<'_>, ty: &'static str, name: &str, i: usize| match events.len() {
            1 => format!("%~{name}"),
            _ => {
                let name = format!("{}{i}", name.trim_end_matches(char::is_numeric));
                s.declare(ty, name.clone());
                format!("%~{name}")
            }
        };
        let (value_type, value_name) = self.event_value();
        let written = Plan::event_rows(events);
        let mut groups: Vec<LaneGroup> = Vec::new();
        let mut recorded: Vec<[String; 2]> = Vec::new();
        let mut waits = false;
        for (i, event) in events.iter().enumerate() {
            let Action::Event { site, of, value, bits } = &event.action else { continue };
            let group = groups.iter().position(|group| group.of == *of).unwrap_or_else(|| {
                groups.push(LaneGroup {
                    of: *of,
                    mask: of.is_none().then(|| self.lanes().to_owned()),
                    by: None,
                });
                groups.len() - 1
            });
            let to = own(s, value_type, value_name, i);
            let values = self.moved(value.as_slice(), *bits);
            // The lanes of an event that follows another one are known.
            let ballot = matches!(values[..], [OperandValue::Named(_, Type::Pred) | OperandValue::Not(_)]);
            if ballot || written.iter().any(|w| std::ptr::eq(w.first, *event)) {
                waits |= self.mask(s, &mut groups[group], i);
            }
            waits |= self.value(s, *site, &values, &mut groups[group], &to);
            recorded.push([groups[group].mask.clone().unwrap_or_default(), to]);
        }
        if !waits && self.output == Output::Ptx {
            s.ptx("bar.warp.sync %~mask;");
        }
        self.lead(s);
        let mut rows: Vec<String> = Vec::new();
        let mut recorded = recorded.into_iter();
        for (i, EventRow { first, more }) in written.iter().enumerate() {
            let (Action::Event { site, .. }, Some([mask, value])) = (&first.action, recorded.next()) else {
                continue;
            };
            let number = own(s, ".b32", "site", i);
            let word = site.0.wrapping_add(1) | more.map_or(0, Followers::tag);
            s.ptx(&format!("mov.u32 {number}, {};", word.cast_signed()));
            rows.push(match self.wide_masks() {
                false => format!("{{{number}, {mask}, {value}, %~clock}}"),
                true => {
                    let head = own(s, ".b64", "head", i);
                    s.ptx(&format!("mov.b64 {head}, {{{number}, %~clock}};"));
                    format!("{{{head}, {mask}, {value}}}")
                }
            });
            if let Some(more) = more {
                let values: Vec<String> =
                    recorded.by_ref().take(more.count as usize).map(|[_, value]| value).collect();
                rows.push(format!("{{{}}}", values.join(", ")));
            }
        }
        self.append(s, &rows.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Type and name of the register with an event's value.
    fn event_value(&self) -> (&'static str, &'static str) {
        if self.wide_masks() { (".b64", "v0") } else { (".b32", "value") }
    }

    /// Puts the lanes of a group into a register. Returns whether the lanes have synchronised.
    fn mask(&self, s: &mut Snippet<'_>, group: &mut LaneGroup, number: usize) -> bool {
        let (Some(guard), None) = (group.of, &group.mask) else { return false };
        let name = format!("mask{number}");
        let mask = format!("%~{name}");
        s.declare(if self.wide_masks() { ".b64" } else { ".b32" }, name);
        let holds = guard_text(self.function, guard, false);
        self.ballot(s, &mask, holds.trim_start_matches('@'));
        group.mask = Some(mask);
        true
    }

    /// Puts the value of an event into the register `to`. Returns whether the lanes have synchronised.
    fn value(
        &self,
        s: &mut Snippet<'_>,
        site: SiteId,
        values: &[OperandValue],
        group: &mut LaneGroup,
        to: &str,
    ) -> bool {
        let switch = self.plan.module.sites.get(site.index()).is_some_and(|s| s.class == SiteClass::Switch);
        let ballot = |s: &mut Snippet<'_>, of: String| {
            self.ballot(s, to, &of);
            if let (Some(_), Some(mask)) = (group.of, &group.mask) {
                s.ptx(&format!("and.{} {to}, {to}, {mask};", self.mask_type()));
            }
        };
        match values {
            [OperandValue::Named(p, Type::Pred)] => ballot(s, (*p).to_owned()),
            [OperandValue::Not(p)] => ballot(s, format!("!{p}")),
            // One event per target, led by the lowest lane that takes it: the index of every lane is
            // recorded.
            [index] if switch => {
                self.narrow(s, to, |s, to| {
                    index.read_low(s, to);
                    self.lanes_alike(s, to);
                });
            }
            [_, ..] if self.reduces() => {
                let by = group.by.get_or_insert_with(|| self.multiplier(s, group.of, to));
                digest(s, values, by);
                self.narrow(s, to, |s, to| {
                    s.ptx(&format!("redux.sync.xor.b32 {to}, %~hash, {};", self.lanes()));
                });
            }
            _ => {
                self.narrow(s, to, |s, to| s.ptx(&format!("mov.u32 {to}, 0;")));
                return false;
            }
        }
        true
    }

    /// Code that puts a 32-bit value into the register of an event's value.
    fn narrow(&self, s: &mut Snippet<'_>, to: &str, code: impl FnOnce(&mut Snippet<'_>, &str)) {
        match self.wide_masks() {
            false => code(s, to),
            true => {
                code(s, "%~value");
                s.ptx(&format!("cvt.u64.u32 {to}, %~value;"));
            }
        }
    }

    /// Register of this lane's digest multiplier, named after the first value of its group. It is 0 in lanes
    /// outside the group, and so is their digest.
    fn multiplier(&self, s: &mut Snippet<'_>, of: Option<Guard>, value: &str) -> String {
        let name = value.replace("%~value", "by").replace("%~v", "by");
        let by = format!("%~{name}");
        s.declare(".b32", name);
        let [lane, one] = [DIGEST_BY << 1, DIGEST_BY].map(u32::cast_signed);
        s.ptx(&format!("mov.u32 %~a, %laneid;\nmad.lo.s32 {by}, %~a, {lane}, {one};"));
        if let Some(guard) = of {
            s.ptx(&format!("{} mov.b32 {by}, 0;", guard_text(self.function, guard, true)));
        }
        by
    }

    /// Writes the iteration counts of a counted loop: one event per distinct count.
    pub(in crate::ptx) fn trip_event(&self, s: &mut Snippet<'_>, counter: u32, site: SiteId) {
        let name = trip(counter);
        s.ptx(&format!(
            "setp.eq.u32 %~q, %~{name}, 0;
             @%~q bra $~none#;
             activemask.{} {};
             mov.u32 %~clock, %clock;
             sub.u32 %~value, %~{name}, 1;",
            self.mask_type(),
            self.lanes(),
        ));
        self.lanes_alike(s, "%~value");
        self.lead(s);
        s.ptx(&format!("mov.u32 %~site, {};", site.0.wrapping_add(1)));
        match self.wide_masks() {
            false => self.append(s, &["{%~site, %~mask, %~value, %~clock}"]),
            true => {
                s.ptx("mov.b64 %~head, {%~site, %~clock};\ncvt.u64.u32 %~v0, %~value;");
                self.append(s, &["{%~head, %~lanes, %~v0}"]);
            }
        }
        s.ptx(&format!("mov.u32 %~{name}, 0;\n$~none#:"));
    }
}

/// The active lanes that an event is about.
struct LaneGroup {
    /// The guard that they satisfy; `None`: all active lanes.
    of: Option<Guard>,
    /// Register with their mask, once it is needed.
    mask: Option<String>,
    /// Register with their digest multiplier, once it is needed.
    by: Option<String>,
}

/// `%~hash`: [`prlx_trace::device::digest`] of this lane's values, of which there is at least one. `by` is
/// the register of the lane's multiplier.
fn digest(s: &mut Snippet<'_>, values: &[OperandValue], by: &str) {
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
        s.ptx(&format!(
            "mul.wide.u32 %~x, %~a, {by};\nmov.b64 {{%~a, %~b}}, %~x;\nxor.b32 %~hash, %~a, %~b;"
        ));
    }
}
