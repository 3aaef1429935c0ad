//! Parsers of option values.

use std::ops::Range;
use std::time::Duration;

use prlx::device::DeviceChoice;
use prlx_analyze::Shard;
use prlx_driver::session::KernelPattern;
use prlx_isa::amdgpu::object::TargetId;
use prlx_isa::image::Target;
use prlx_plan::RegisterChoice;
use prlx_trace::kernel::SiteClass;
use prlx_trace::{Level, Nanos, WarpSize};

/// Maximum number of schedules of one call.
const MAX_SEEDS: u64 = 1 << 20;

/// A tolerance: a finite number that is not negative.
pub fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().map_err(|_| format!("`{text}` is no number"))?;
    if !number.is_finite() || number < 0.0 {
        return Err("a tolerance is a finite number that is not negative, as 1e-5".into());
    }
    Ok(number)
}

/// A positive number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|s| *s > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds.ok_or_else(|| "it is a number of seconds, as 2.5".to_owned())
}

/// Lanes of a warp.
pub fn warp_size(text: &str) -> Result<WarpSize, String> {
    text.parse().ok().and_then(WarpSize::of).ok_or_else(|| "32 or 64".to_owned())
}

/// A recorder's level.
pub fn level(text: &str) -> Result<Level, String> {
    Level::from_word(text).map_or_else(|| named(Level::RECORDERS, Level::label, text), Ok)
}

/// Which registers inserted code takes.
pub fn registers(text: &str) -> Result<RegisterChoice, String> {
    let found = RegisterChoice::ALL.into_iter().find(|(word, _)| *word == text);
    found.map(|(_, choice)| choice).ok_or_else(|| "expected free, dead, saved or scarce".to_owned())
}

/// A class of sites.
pub fn class(text: &str) -> Result<SiteClass, String> {
    named(SiteClass::ALL, SiteClass::name, text)
}

fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, text: &str) -> Result<T, String> {
    all.iter().copied().find(|&t| name(t) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&t| name(t)).collect();
        format!("one of {}", names.join(", "))
    })
}

/// The architecture of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arch {
    /// A device of NVIDIA, as `sm_90`.
    Cuda(Target),
    /// A device of AMD, with the features that are switched on and off.
    Amd(TargetId),
}

/// An architecture, as `sm_90` or `gfx942:xnack-`.
pub fn arch(text: &str) -> Result<Arch, String> {
    match Target::parse(text) {
        Some(target) => Ok(Arch::Cuda(target)),
        None if text.starts_with("gfx") => TargetId::parse(text).map(Arch::Amd),
        None => Err("an architecture, as sm_90 or gfx942".into()),
    }
}

/// An architecture, as `sm_90`.
pub fn target(text: &str) -> Result<Target, String> {
    Target::parse(text).ok_or_else(|| "an architecture, as sm_90".into())
}

/// A device: `cpu`, `cuda`, `cuda:N` or `auto`.
pub fn device(text: &str) -> Result<DeviceChoice, String> {
    match (text, text.strip_prefix("cuda:").map(str::parse)) {
        ("cpu", _) => Ok(DeviceChoice::Cpu),
        ("auto", _) => Ok(DeviceChoice::Auto),
        ("cuda", _) => Ok(DeviceChoice::Cuda(0)),
        (_, Some(Ok(ordinal))) => Ok(DeviceChoice::Cuda(ordinal)),
        _ => Err("cpu, cuda, cuda:N or auto".into()),
    }
}

/// Lines of a file: `FILE:LINE` or `FILE:FIRST-LAST`, as a half-open range.
pub fn lines(text: &str) -> Result<(String, Range<u32>), String> {
    let (file, lines) = text.rsplit_once(':').ok_or("FILE:LINE or FILE:FIRST-LAST")?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (number::<u32>(first)?, number::<u32>(last)?);
    if first == 0 || last < first {
        return Err(format!("`{lines}` is no range of lines (they count from 1)"));
    }
    Ok((file.to_owned(), first..last.saturating_add(1)))
}

/// A part of a report: `I/N`.
pub fn shard(text: &str) -> Result<Shard, String> {
    let (index, of) = text.split_once('/').ok_or("I/N, as 0/4")?;
    let (index, of) = (number(index)?, number(of)?);
    if index >= of {
        return Err(format!("`{text}`: parts count from 0 to N-1"));
    }
    Ok(Shard { index, of })
}

/// A name pattern of kernels.
pub fn pattern(text: &str) -> Result<KernelPattern, String> {
    KernelPattern::new(text)
}

/// A half-open range of times, `FIRST-LAST`, written in seconds.
pub fn time_range(text: &str) -> Result<(Nanos, Nanos), String> {
    let (first, last) = text.split_once('-').ok_or("FIRST-LAST, as 1.5-2")?;
    let nanos = |s: &str| match s.parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok(Nanos((seconds * 1e9) as u64)),
        _ => Err(format!("`{s}` is no number of seconds")),
    };
    let (first, last) = (nanos(first)?, nanos(last)?);
    if last <= first {
        return Err(format!("`{text}`: the last comes before the first"));
    }
    Ok((first, last))
}

/// Seeds: `FIRST..END`, without the end.
pub fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (first, end) = text.split_once("..").ok_or("FIRST..END, as 0..200")?;
    let (first, end) = (number::<u64>(first)?, number::<u64>(end)?);
    match end.checked_sub(first) {
        None | Some(0) => Err(format!("`{text}` has no seed: the end is not one of them")),
        Some(n) if n > MAX_SEEDS => Err(format!("{n} seeds are more than {MAX_SEEDS}")),
        Some(_) => Ok(first..end),
    }
}

/// Numbers: `N` or `FIRST-LAST` with the last, as a half-open range. A list of them has commas, as `0-3,9`.
pub fn range(text: &str) -> Result<(u64, u64), String> {
    if text.contains("..") {
        return Err("a range is FIRST-LAST with the last number, as 0-3; a list has commas, as 0-3,9".into());
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number::<u64>(first.trim())?, number::<u64>(last.trim())?);
    if last < first {
        return Err(format!("`{text}`: the last comes before the first"));
    }
    if last == u64::MAX {
        return Err(format!("`{text}`: {last} is too large"));
    }
    Ok((first, last + 1))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().map_err(|_| match text {
        "" => "a number is missing".to_owned(),
        _ if digits => format!("`{text}` is too large"),
        _ => format!("`{text}` is no number"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prlx_emu::Checks;
    use prlx_trace::check::Check;

    #[test]
    fn times_are_seconds() {
        assert_eq!(time_range("0.5-2"), Ok((Nanos(500_000_000), Nanos(2_000_000_000))));
        for wrong in ["2", "2-1", "1-1", "-1-2", "a-2", "0-inf", "nan-1"] {
            assert!(time_range(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn tolerances_are_finite_and_not_negative() {
        assert_eq!([tolerance("0"), tolerance("1e-5")], [Ok(0.0), Ok(1e-5)]);
        assert!(["-1e-5", "nan", "inf", "", "1%"].iter().all(|s| tolerance(s).is_err()));
    }

    #[test]
    fn checks_add_up() {
        assert_eq!("all".parse(), Ok(Checks::all()));
        assert_eq!("bounds".parse(), Ok(Checks::NONE.with(Check::Bounds)));
        assert!("bounds,bonds".parse::<Checks>().is_err_and(|e| e.contains("bounds")));
    }

    #[test]
    fn ranges_are_inclusive_and_checked() {
        assert_eq!(range("3-5"), Ok((3, 6)));
        assert_eq!(range("7"), Ok((7, 8)));
        assert!(range("5-3").is_err());
        assert_eq!(seeds("3..5"), Ok(3..5));
        assert_eq!(shard("0/4"), Ok(Shard { index: 0, of: 4 }));
        assert!(["4/4", "0/0", "1", "-1/2"].iter().all(|s| shard(s).is_err()));
        assert!(["3..3", "5..3", "5", "0..2000000", "-1..2"].iter().all(|s| seeds(s).is_err()));
        assert_eq!(lines("a.cu:10-12"), Ok(("a.cu".into(), 10..13)));
        assert!(lines("a.cu:0").is_err());
        assert!(lines("a.cu").is_err());
    }

    #[test]
    fn the_old_name_of_a_level_is_accepted() {
        assert_eq!(level("print"), level("fingerprint"));
        assert!(level("paths").is_err());
    }
}
