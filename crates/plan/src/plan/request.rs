//! What a user asks to record.

use std::ops::Range;
use std::sync::Arc;

use prlx_trace::device::tracks;
use prlx_trace::kernel::{Level, Module, Site, SiteClass};
use prlx_trace::launch::Window;

use crate::markers::options::MarkerOptions;
use crate::pattern;
use crate::probe::program::ProbeProgram;

/// What to watch.
#[derive(Clone, PartialEq, Debug)]
pub struct RecordingRequest {
    /// The recorder; [`Level::Probe`]: the user's own program.
    pub level: Level,
    /// The probe program, for [`Level::Probe`].
    pub probe: Option<Arc<dyn ProbeProgram>>,
    /// Which markers to record, for [`Level::Probe`].
    pub markers: Option<MarkerOptions>,
    /// Leave decisions out that the decoder can evaluate again, and count trips where a loop has one exit.
    /// Off, every decision is one recorded bit: what the hooks of the emulator use as the independent
    /// reference.
    pub elide: bool,
    /// At level `fingerprint`: write hashes at back edges, by which two runs find the first iteration that
    /// differs.
    pub checkpoints: bool,
    /// At level `fingerprint`: keep hashes of all streams of a launch instead of the streams.
    pub launch_hashes: bool,
    /// What to leave out.
    pub filter: Filter,
    /// The sites, warps and visits to record at [`Level::Operands`].
    pub window: Option<Window>,
    /// Which registers code inserted into AMD code takes.
    pub registers: RegisterChoice,
    /// PTX: a function with more places that may take a chunk of memory calls one copy of that code. Tests
    /// set it to 0.
    pub inline_chunks: usize,
}

/// Default of [`RecordingRequest::inline_chunks`]. A copy has about 80 instructions, and the time of ptxas
/// grows faster than their number. It assembles 80 places in about a second. A call makes kernels use more
/// registers, so shorter ones keep their copies.
const INLINE_CHUNKS: usize = 127;

/// Which registers inserted code takes in AMD code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RegisterChoice {
    /// Registers that no function names, if there are enough.
    #[default]
    Free,
    /// Test mode: as if functions named every vector register. Inserted code takes those first that hold
    /// nothing where it stands.
    Dead,
    /// Test mode: as [`RegisterChoice::Dead`], and as if every vector register held something.
    Saved,
    /// Test mode: as [`RegisterChoice::Dead`], and as if functions named every scalar register.
    Scarce,
}

impl RegisterChoice {
    /// All, with their words on the command line.
    pub const ALL: [(&'static str, RegisterChoice); 4] = [
        ("free", RegisterChoice::Free),
        ("dead", RegisterChoice::Dead),
        ("saved", RegisterChoice::Saved),
        ("scarce", RegisterChoice::Scarce),
    ];
}

impl RecordingRequest {
    /// A request for all of a module at `level`, with computable decisions elided: no probe, no markers, no
    /// window.
    pub fn new(level: Level) -> RecordingRequest {
        RecordingRequest {
            level,
            probe: None,
            markers: None,
            elide: true,
            checkpoints: true,
            launch_hashes: false,
            filter: Filter::default(),
            window: None,
            registers: RegisterChoice::Free,
            inline_chunks: INLINE_CHUNKS,
        }
    }
    /// A request to run a probe program.
    pub fn of_probe(program: Arc<dyn ProbeProgram>) -> RecordingRequest {
        RecordingRequest { probe: Some(program), ..RecordingRequest::new(Level::Probe) }
    }
    /// A request to record markers.
    pub fn of_markers(markers: MarkerOptions) -> RecordingRequest {
        RecordingRequest { markers: Some(markers), ..RecordingRequest::new(Level::Probe) }
    }
    /// Whether code at level `fingerprint` writes checkpoints.
    pub fn writes_checkpoints(&self) -> bool {
        self.checkpoints && !self.launch_hashes
    }
    /// The request to fall back on where this one costs a kernel occupancy: the same markers, kept as spans
    /// instead of records; or fingerprints without checkpoints. `None` if the request does not allow it.
    pub fn with_fewer_registers(&self) -> Option<RecordingRequest> {
        if self.level == Level::Fingerprint {
            return self
                .writes_checkpoints()
                .then(|| RecordingRequest { checkpoints: false, ..self.clone() });
        }
        let markers = self.markers.as_ref().filter(|m| m.spare && m.form == tracks::Form::Records)?;
        let markers = Some(MarkerOptions { form: tracks::Form::Spans, ..markers.clone() });
        Some(RecordingRequest { markers, ..self.clone() })
    }
}

/// What a recorder takes; empty lists take all. Patterns are names with `*` and `?`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    /// Name patterns of kernels.
    pub kernels: Vec<String>,
    /// Functions (kernels and device functions).
    pub functions: Vec<String>,
    /// Lines: a file name pattern and a range of lines. At level `path`, decisions that steer branches are
    /// recorded regardless, for without them the path is lost.
    pub lines: Vec<(String, Range<u32>)>,
    /// Classes of site; likewise.
    pub classes: Vec<SiteClass>,
    /// Half-open ranges of warps, by index in the grid.
    pub warps: Vec<(u64, u64)>,
}

impl Filter {
    /// Whether its pattern for functions takes `name`.
    pub fn takes_function(&self, name: &str) -> bool {
        pattern::any(&self.functions, name)
    }

    /// Whether its ranges take a warp.
    pub fn takes_warp(&self, warp: u64) -> bool {
        self.warps.is_empty() || self.warps.iter().any(|(first, end)| (*first..*end).contains(&warp))
    }

    /// Whether its lines and classes take `site`. A line counts if it is the site's own or one that it was
    /// inlined at; a file's pattern is tried on its path and on its last part.
    pub fn takes_site(&self, module: &Module, site: &Site) -> bool {
        (self.classes.is_empty() || self.classes.contains(&site.class))
            && (self.lines.is_empty() || on_lines(self, module, site))
    }
}

fn on_lines(filter: &Filter, module: &Module, site: &Site) -> bool {
    let mut next = site.loc;
    // Bounded, should a chain ever close on itself.
    for _ in 0..=module.locs.len() {
        let Some(loc) = next.and_then(|l| module.locs.get(l.index())) else { return false };
        let path = module.files.get(loc.file.index()).map_or("", |f| f.path.as_str());
        let name = prlx_trace::names::file_name(path);
        let hit = filter.lines.iter().any(|(pattern, lines)| {
            lines.contains(&loc.line)
                && (pattern::matches(pattern.as_bytes(), path.as_bytes())
                    || pattern::matches(pattern.as_bytes(), name.as_bytes()))
        });
        if hit {
            return true;
        }
        next = loc.inlined_at;
    }
    false
}
