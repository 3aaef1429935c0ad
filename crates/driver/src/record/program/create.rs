//! Creates a recorder: allocates and zeroes its memory, and starts its threads.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use prlx_trace::Level;
use prlx_trace::device::tracks::{BEYOND, fits};

use crate::error::{Error, ErrorKind};
use crate::queue::{CopyBuffer, Failure, HostMemory, Queue, quiet, wait};
use crate::record::program::copy_thread::CopyThread;
use crate::record::program::decode_thread;
use crate::record::program::handle::Recorder;
use crate::record::program::launch::{Finished, RecorderMemory};
use crate::record::program::launch_hashes::LaunchHasher;
use crate::record::program::layout::{Layout, NODES};
use crate::record::program::limits::{COPY_PART, STAGED, STAGING, START};
use crate::record::program::shared::Shared;
use crate::record::program::size_estimate::SizeHistory;
use crate::record::program::state::{Counts, Generation, State, TimeSpent};
use crate::record::program::tables::Tables;

/// Allocates the memory of a layout. Returns its address, and the memory itself if it is the host's.
fn place(
    queue: &dyn Queue,
    layout: &Layout,
    on_host: bool,
) -> Result<(u64, Option<Box<dyn HostMemory>>), Failure> {
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let get = |bytes: u64| match on_host {
        true => queue.host_memory(size(bytes)).map(|m| (m.device(), Some(m))),
        false => queue.alloc(size(bytes)).map(|at| (at, None)),
    };
    let bytes = layout.total() + layout.chunk();
    let (at, mapped) = get(bytes)?;
    let base = at.next_multiple_of(layout.chunk());
    if !layout.tracked() || fits(base, layout.total()) {
        return Ok((base, mapped));
    }
    // One half of a range of twice the size does not cross a 4 GiB boundary. Freeing is safe here, because
    // nothing runs yet for which it could wait.
    match mapped {
        Some(mapped) => drop(mapped),
        None => queue.free(at)?,
    }
    let (at, mapped) = get(2 * bytes + BEYOND)?;
    let base = at.next_multiple_of(layout.chunk());
    Ok((if fits(base, layout.total()) { base } else { base.next_multiple_of(1 << 32) }, mapped))
}

impl Recorder {
    /// Creates a recorder for the launches of `queue`'s context at one level. `sink` receives every launch on
    /// a thread of the recorder, mostly in the order in which the launches began. If only hashes of launches
    /// are to be kept, `hashes` is the code of the kernel that makes them, for CUDA
    /// [`LAUNCH_HASHES`](crate::cuda::LAUNCH_HASHES) or the machine code of it.
    ///
    /// The threads inherit the caller's signal mask. Block the program's signals, because its handlers should
    /// not run there.
    ///
    /// # Errors
    /// If there is too little memory, or a driver call fails.
    pub fn new(
        queue: Arc<dyn Queue>,
        (level, hashes): (Level, Option<&[u8]>),
        memory: RecorderMemory,
        sink: impl FnMut(Finished) + Send + 'static,
    ) -> Result<Recorder, Error> {
        let RecorderMemory { device, tables, on_host, host } = memory;
        let mut layout = Layout::new(level, queue.warp_size(), device, tables).ok_or_else(|| {
            Error::new(
                ErrorKind::Memory,
                format!("{device} bytes of device memory are too little to record with"),
            )
            .help("four MiB are the least that is of use")
        })?;
        layout.hashes = hashes.is_some();
        let allocated = {
            let _quiet = quiet(&*queue);
            queue.enter().map_err(|e| e.during("recording"))?;
            let allocated = Recorder::allocate(&queue, (layout, hashes), on_host, host);
            queue.leave();
            allocated
        };
        let (shared, copy_thread) = allocated?;
        let shared = Arc::new(shared);
        let (to, batches) = std::sync::mpsc::channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        let failed = |e| Error::new(ErrorKind::Record, format!("no thread to record with: {e}"));
        let of_thread = Arc::clone(&shared);
        let sink = Box::new(sink);
        thread("prlx-decode")
            .spawn(move || decode_thread::run(&of_thread, &batches, sink))
            .map_err(failed)?;
        let of_thread = Arc::clone(&shared);
        thread("prlx").spawn(move || copy_thread.run(&of_thread, to)).map_err(failed)?;
        Ok(Recorder { shared })
    }

    /// Allocates and zeroes everything that the recorder needs from the driver.
    fn allocate(
        queue: &Arc<dyn Queue>,
        (layout, hashes): (Layout, Option<&[u8]>),
        on_host: bool,
        host: u64,
    ) -> Result<(Shared, CopyThread), Error> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let failed = |e: Failure| e.during("recording");
        let hasher = hashes.map(|image| LaunchHasher::new(&**queue, image)).transpose().map_err(failed)?;
        let (stream, upload_stream) =
            (queue.create_stream().map_err(failed)?, queue.create_stream().map_err(failed)?);
        let mut upload = queue.copy_buffer(64 * layout.context() as usize).map_err(failed)?;
        let staging =
            (0..STAGING).map(|_| queue.copy_buffer(STAGED)).collect::<Result<_, _>>().map_err(failed)?;
        let part = size((layout.pool + layout.arena).min(COPY_PART));
        let bulk = || queue.copy_buffer(part).map_err(failed);
        let bulk = [bulk()?, bulk()?];
        let (base, mapped) = place(&**queue, &layout, on_host).map_err(failed)?;
        let generations = std::array::from_fn(|i| Generation::new(layout, layout.area(base, i)));
        upload.zero_device(upload_stream, &[(base, size(layout.total()))]).map_err(failed)?;
        let start = Instant::now();
        let settle = |upload: &mut dyn CopyBuffer| {
            let settled = wait(upload, || {
                std::thread::yield_now();
                start.elapsed() < START
            });
            let late = || {
                Error::new(
                    ErrorKind::Record,
                    "recording: its memory was not zeroed in time: the device is busy",
                )
            };
            settled.map_err(failed).and_then(|done| done.then_some(()).ok_or_else(late))
        };
        settle(&mut *upload)?;
        for g in &generations {
            upload
                .copy_to_device(upload_stream, &[(g.area.bucket, &g.area.bucket.to_le_bytes())])
                .map_err(failed)?;
            settle(&mut *upload)?;
        }
        let mut state = State {
            generations,
            open: None,
            waiting: BTreeMap::new(),
            sharing: (Vec::new(), None),
            events: Vec::new(),
            progress: 0,
            stalled: None,
            unrecorded: Vec::new(),
            counts: Counts::default(),
            time_spent: TimeSpent::default(),
            size_history: SizeHistory::default(),
            tables: Tables::default(),
            host_bytes: 0,
            spares: Vec::new(),
            copies_requested: 0,
            copies_answered: 0,
            waited: Duration::ZERO,
            pause_requests: 0,
            paused: false,
            context_destroyed: false,
            failed: None,
            survives_context: mapped.is_some(),
            deadline: None,
            finished: false,
            upload,
            late: false,
            staging,
            free_nodes: (0..NODES).rev().collect(),
            users: BTreeMap::new(),
        };
        state.reopen();
        let shared = Shared {
            queue: Arc::clone(queue),
            layout,
            hasher,
            base,
            mapped,
            upload_stream,
            pid: std::process::id(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            host,
            began: Instant::now(),
            end_requested: AtomicBool::new(false),
            finished: AtomicBool::new(false),
        };
        Ok((shared, CopyThread::new(stream, bulk)))
    }
}
