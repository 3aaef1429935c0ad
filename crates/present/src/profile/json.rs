//! A profile as JSON. `docs/profile.md` describes the keys.

use std::io::{self, Write};

use prlx_timeline::{Analysis, Calibration, Timeline};
use prlx_trace::Printed;
use serde_json::{Value, json};

/// Changes when a key changes its meaning or is removed; a new key does not change it.
const VERSION: u32 = 1;

fn calibration(c: &Calibration) -> Value {
    json!({
        "kernel": c.kernel, "empty_cycles": c.empty, "dilation": c.dilation, "registers": c.registers, "local": c.local,
        "resident": c.resident, "room": c.room,
    })
}

/// Writes it as one object and a line end; `kernels` are those of several by themselves. `printed` is what
/// the kernel of each launch file printed; `None` for recordings and programs.
///
/// # Errors
/// Those of `out`.
pub fn profile_json(
    out: &mut impl Write,
    timeline: &Timeline,
    analysis: &Analysis,
    kernels: &[(Timeline, Analysis)],
    printed: Option<&[Printed]>,
) -> io::Result<()> {
    let notes: Vec<Value> =
        timeline.notes.iter().map(|n| json!({ "kind": n.kind, "count": n.count, "text": n.text })).collect();
    let launches: Vec<Value> = timeline
        .launches
        .iter()
        .map(|l| {
            json!({
                "launch": l.number, "kernel": l.kernel, "ctas": l.ctas, "warps_per_cta": l.warps_per_cta,
                "took_ns": l.took[0], "bare_ns": l.took[1],
            })
        })
        .collect();
    let each = kernels.iter().map(|(of, analysis)| {
        let launches: Vec<u64> = of.launches.iter().map(|l| l.number).collect();
        let kernel = of.launches.first().map_or("", |l| &l.kernel);
        let mut analysis = serde_json::to_value(analysis)?;
        analysis.as_object_mut().and_then(|a| a.remove("host"));
        Ok(json!({ "kernel": kernel, "launches": launches, "analysis": analysis }))
    });
    let kernels: Vec<Value> = each.collect::<io::Result<_>>()?;
    let mut analysis = serde_json::to_value(analysis)?;
    // It is of all kernels, and has a place of its own.
    let host = analysis.as_object_mut().and_then(|a| a.remove("host"));
    let axis = &timeline.axis;
    let mut document = json!({
        "format": "prlx-profile",
        "version": VERSION,
        "axis": { "simulated": axis.simulated, "mhz": axis.mhz, "single": axis.single, "residual": axis.residual, "between": axis.between, "tick": axis.tick },
        "notes": notes,
        "launches": launches,
        "analysis": analysis,
        "host": host,
        "calls": serde_json::to_value(&timeline.host.calls)?,
        "kernels": kernels,
        "calibrations": timeline.calibrations.iter().map(calibration).collect::<Vec<_>>(),
    });
    if let Some(printed) = printed {
        document["printed"] = json!(printed);
    }
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
