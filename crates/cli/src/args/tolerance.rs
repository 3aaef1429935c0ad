//! Options for the tolerance of outputs.

use anyhow::{Result, bail};
use clap::Args;
use prlx_analyze::outputs::Tolerance;

use super::parse;

/// How far elements of outputs may be apart.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output options")]
pub struct ToleranceArgs {
    /// Launch files: outputs may differ by X times the larger magnitude, plus --atol. With no tolerance
    /// option, the tolerances of `expect` in the launch files hold; other outputs must have equal bits.
    #[arg(long, value_name = "X", value_parser = parse::tolerance, allow_negative_numbers = true)]
    pub rtol: Option<f64>,
    /// Launch files: outputs may differ by X, plus --rtol
    #[arg(long, value_name = "X", value_parser = parse::tolerance, allow_negative_numbers = true)]
    pub atol: Option<f64>,
    /// Launch files: floating-point outputs may differ by N representable numbers
    #[arg(long, value_name = "N")]
    pub ulp: Option<u64>,
    /// Launch files: every NaN equals every other NaN. By default, two NaNs are equal if their bits are.
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

    /// Refuses the options for programs.
    ///
    /// # Errors
    /// If an option is set: outputs of programs are compared by digest, which knows no tolerance.
    pub fn refuse_for_programs(&self) -> Result<()> {
        if self.options().is_some() {
            bail!(
                "--rtol, --atol, --ulp and --equal-nan compare the outputs of launch files. PRLX compares the \
                 memory of programs by digest (--digest): remove these options, or write launch files"
            );
        }
        Ok(())
    }
}
