//! Places in the code as reports show them.

use prlx_trace::check::{Place, SourceLine};
use prlx_trace::names::is_library_file;

use crate::report::{CausePlace, Location};

/// A place in the code, without a thread.
pub(super) fn place_of(place: &Place) -> CausePlace {
    // Lines of libraries say little: the user's own line is the innermost whose text could be read.
    let own = |l: &&SourceLine| !is_library_file(&l.file);
    let known = place.source.iter().position(|l| own(&l) && l.text.is_some());
    let own = known.or_else(|| place.source.iter().position(|l| own(&l))).unwrap_or(0);
    let mut lines = place.source.iter().skip(own).map(|l| Location {
        file: l.file.clone(),
        line: l.line,
        column: l.column,
        function: l.function.clone(),
        code: l.text.clone(),
        inlined: Vec::new(),
    });
    let location = lines.next().map(|first| Location { inlined: lines.collect(), ..first });
    CausePlace {
        text: place.instruction.clone(),
        location,
        function: place.function.clone(),
        module_line: place.module_line,
        ..CausePlace::default()
    }
}
