//! Options for the tolerance of outputs.

use anyhow::{Result, bail};
use clap::Args;
use prlx_analyze::outputs::Tolerance;

use super::parse;

/// How far elements of outputs may be apart.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output options")]
pub struct ToleranceArgs {
    /// Outputs may differ by X times the larger magnitude, plus --atol. With no tolerance
    /// option, the tolerances of `expect` in the launch files hold; other outputs must have equal bits.
    #[arg(long, value_name = "X", value_parser = parse::tolerance, allow_negative_numbers = true)]
    pub rtol: Option<f64>,
    /// Outputs may differ by X, plus --rtol
    #[arg(long, value_name = "X", value_parser = parse::tolerance, allow_negative_numbers = true)]
    pub atol: Option<f64>,
    /// Floating-point outputs may differ by N representable numbers
    #[arg(long, value_name = "N")]
    pub ulp: Option<u64>,
    /// Every NaN equals every other NaN. By default, two NaNs are equal if their bits are.
    #[arg(long)]
    pub equal_nan: bool,
}

impl ToleranceArgs {
    /// The tolerance; `None` if no option sets one.
    pub fn options(&self) -> Option<Tolerance> {
        let ToleranceArgs { rtol, atol, ulp, equal_nan } = *self;
        let set = rtol.is_some() || atol.is_some() || ulp.is_some() || equal_nan;
        set.then(|| Tolerance {
            rtol: rtol.unwrap_or(0.0),
            atol: atol.unwrap_or(0.0),
            ulp: ulp.unwrap_or(0),
            equal_nan,
        })
    }

    /// Refuses the options where outputs are compared by digest, which knows no tolerance.
    ///
    /// # Errors
    /// If an option is set.
    pub fn refuse_for_digests(&self) -> Result<()> {
        if self.options().is_some() {
            bail!(
                "--rtol, --atol, --ulp and --equal-nan need the numbers of outputs. --digest, --no-outputs and \
                 `prlx repeat --level … -- PROGRAM` know only their digests or nothing of them: remove these \
                 options"
            );
        }
        Ok(())
    }
}
