//! `prlx query`.

use std::path::PathBuf;

use clap::Args;

/// `prlx query`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct QueryArgs {
    /// Query in SQL, of the tables in docs/tables.md
    pub sql: String,
    /// One or two recordings: files, or programs' directories
    #[arg(required = true, num_args = 1..=2, value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// Print the rows as CSV
    #[arg(long)]
    pub csv: bool,
}

const EXAMPLES: &str = "\
Examples:
  prlx query 'select kernel, count(*) from launches group by kernel' app.prlx
  prlx query 'select * from findings' a.prlx b.prlx --csv";
