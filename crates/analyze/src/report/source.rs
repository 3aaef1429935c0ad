//! Where something is in the code: sites and source locations.

use prlx_trace::SiteId;
use prlx_trace::kernel::SiteClass;

use super::plain_data::data;

data! {
    /// A site, in words.
    struct SiteInfo {
        /// Its number in its module.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::site_id"))]
        #[cfg_attr(feature = "schema", schemars(with = "u32"))]
        id: SiteId,
        /// What it is.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::class"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        class: SiteClass,
        /// The function that it is in.
        function: String,
        /// The instruction, as the module writes it.
        text: String,
        /// Where in the source.
        location: Option<Location>,
        /// What the decision steers.
        steers: Vec<SteeredInfo>,
    }
    /// What a decision steers.
    struct SteeredInfo {
        /// Branch, guard or select.
        #[cfg_attr(feature = "serde", serde(with = "crate::report::json::class"))]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        class: SiteClass,
        /// The instruction, as the module writes it.
        text: String,
        /// Where in the source.
        location: Option<Location>,
    }
    /// A place in the source.
    struct Location {
        /// Path as the debug information spells it.
        file: String,
        /// Line, from 1.
        line: u32,
        /// Column, from 1; 0 if unknown.
        column: u32,
        /// The inlined function that the line belongs to; empty if none.
        function: String,
        /// The line's text.
        code: Option<String>,
        /// Where that function was inlined, innermost first.
        inlined: Vec<Location>,
    }
}
