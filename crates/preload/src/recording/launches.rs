//! Launches of the program: what is recorded of each, and the hidden parameter that it gets.
//!
//! # Invariants
//! A launch is recorded, or the reason why not is written to the file.
//!
//! # Limitations
//! Launches of kernels that were not rewritten are missing from the recording if a graph makes them.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use prlx_driver::cuda::{Functions, sticky};
use prlx_driver::queue::Stream;
use prlx_driver::record::program::Ticket;
use prlx_trace::Streams;
use prlx_trace::device::HiddenParameter;
use prlx_trace::launch::ArgInfo;

use crate::recording::capture::Capture;
use crate::recording::context_recorder::ContextRecorder;
use crate::recording::contexts::launches_are_blocking;
use crate::recording::graphs::new_node_context;
use crate::recording::launch_shape::Shape;
use crate::recording::lock::lock;
use crate::recording::open::session;
use crate::recording::session::{SESSION, unnamed_params};
use crate::recording::streams::{effective_stream, is_capturing};
use crate::rewritten_module::{Kernel, Module, ParamLayout};

/// Why a launch has no digests if its kernel's parameters are unknown.
const NO_PARAMS: &str = "the driver does not tell of its kernel's parameters";

/// Why a captured launch has no streams, in a session that wants captures alone.
const ONLY_CAPTURED: &str = "only its memory was wanted";

/// A launch's parameters in one buffer, and the offset and size of each in it.
pub type Params = (Vec<u8>, ParamLayout);

/// Records a launch of a kernel that is not rewritten, by its name if that is known: its shape and, if the
/// session asks for them, digests or what it changes in memory, but no streams. `why` says why it is not
/// rewritten. `params` returns its parameters if the driver knows them.
pub fn record_unchanged(
    real: &Functions,
    (name, why): (Option<&str>, &str),
    shape: &Shape,
    stream: *mut c_void,
    per_thread: bool,
    params: impl FnOnce() -> Option<Params>,
) -> Option<HiddenParam> {
    let session = SESSION.get()?.as_ref()?;
    let mut launch = session.new_launch(real, shape);
    let stream = effective_stream(stream, per_thread);
    // A capture makes a node of the launch; nothing runs yet.
    if is_capturing(real, stream) {
        return None;
    }
    let name = name.unwrap_or("?");
    launch.stream = session.stream_number(stream);
    let (number, start) = (launch.number, launch.start);
    let in_part = session.in_part(name, &launch);
    let digesting_context = || {
        let selected = session.options.wants(name);
        let skipped = lock(&session.digest_filter).skip_reason(session.options, selected, number, start);
        if skipped.is_none() { session.current_context(real) } else { None }
    };
    let copied = session.options.digest.or(session.options.memory_changes);
    let context = copied.filter(|_| in_part).and_then(|_| digesting_context());
    let params = context.as_ref().and_then(|_| params());
    let params_known = params.is_some();
    let (bytes, layout) = params.unwrap_or_default();
    launch.module = session.unchanged_module(name, &layout, why)?;
    launch.args =
        unnamed_params(&layout).map(|p| ArgInfo { name: p.name, ty: p.ty, ..ArgInfo::default() }).collect();
    launch.params = bytes;
    let (mut digested, mut capture) = (false, None);
    launch.skipped = Some(why.to_owned());
    launch.window = None;
    if let Some(context) = context {
        match (params_known, &context.digests) {
            (false, _) => launch.undigested = Some(NO_PARAMS.to_owned()),
            (true, Some(Ok(digests))) if session.options.batched_digests => {
                // SAFETY: the program launches into this stream (P5). It is used until the stream or the
                // context is destroyed, before which the batch is digested.
                let foreign = unsafe { Stream::foreign(stream) };
                session.digest_queue.add_to_batch(digests, launch, foreign, &layout);
                return Some(HiddenParam::Unrecorded { number, stream, capture: None });
            }
            (true, _) if context.changes.is_some() => {
                capture = session.begin_changes(&context, name, &launch, &layout);
            }
            (true, _) => digested = session.begin_digest(&context, &mut launch, stream, &layout),
        }
    }
    if let Some((launch, streams)) = session.digest_queue.ended(launch, Streams::default()) {
        session.append(&launch, &streams);
    }
    (digested || capture.is_some()).then_some(HiddenParam::Unrecorded { number, stream, capture })
}

/// A launch that is being recorded, until [`launch_queued`] gets it.
pub struct RecordedLaunch {
    ticket: Ticket,
    context: Arc<ContextRecorder>,
    number: u64,
    stream: *mut c_void,
    capture: Option<Box<Capture>>,
}

/// What a launch's hidden parameter leads to.
pub enum HiddenParam {
    /// Nothing: the launch is not recorded.
    Empty,
    /// The launch is recorded, and digested if the session asks for it.
    Recorded(RecordedLaunch),
    /// The launch is digested or captured, but not recorded.
    Unrecorded {
        /// Number of the launch.
        number: u64,
        /// The stream that it goes to.
        stream: *mut c_void,
        /// Its capture, if the session asks for one.
        capture: Option<Box<Capture>>,
    },
    /// The context of a graph's node, by its device address.
    Node(u64),
}

impl HiddenParam {
    /// The value that the kernel gets.
    pub fn value(&self) -> HiddenParameter {
        match self {
            HiddenParam::Empty | HiddenParam::Unrecorded { .. } => HiddenParameter::default(),
            HiddenParam::Recorded(launch) => launch.ticket.hidden,
            // The context is filled before each launch of the graph, so only its address is known now.
            HiddenParam::Node(context) => HiddenParameter { context: *context, ..HiddenParameter::default() },
        }
    }
}

/// Begins to record a launch of a rewritten kernel into a stream. `params` are the program's parameters in
/// the form in which they are recorded. `per_thread`: the null stream is the thread's own default stream.
pub fn begin_launch(
    real: &Functions,
    (module, kernel): (&Arc<Module>, &Kernel),
    shape: &Shape,
    params: Vec<u8>,
    stream: *mut c_void,
    per_thread: bool,
) -> Option<HiddenParam> {
    let session = session(real)?;
    let stream = effective_stream(stream, per_thread);
    if is_capturing(real, stream) {
        return Some(new_node_context(real).map_or(HiddenParam::Empty, HiddenParam::Node));
    }
    let (mut launch, skipped) = session.rewritten_launch(real, module, kernel, shape, params)?;
    launch.stream = session.stream_number(stream);
    if let Some(why) = skipped {
        session.append_skipped(launch, why);
        return None;
    }
    let Some(context) = session.current_context(real) else {
        session.append_skipped(launch, "there is no recorder for its context");
        return None;
    };
    // A launch with hashes needs no digests.
    let digested = !session.options.batched_digests
        && session.begin_digest(&context, &mut launch, stream, &kernel.params);
    let number = launch.number;
    let capture = session.begin_capture(module, kernel, &launch);
    if session.options.only_capture && capture.is_some() {
        session.append_skipped(launch, ONLY_CAPTURED);
        return Some(HiddenParam::Unrecorded { number, stream, capture });
    }
    // SAFETY: the program launches into this stream, so the driver knows it during the call (P5).
    match context.recorder.begin(&module.plan, launch, unsafe { Stream::foreign(stream) }) {
        Ok(ticket) => {
            Some(HiddenParam::Recorded(RecordedLaunch { ticket, context, number, stream, capture }))
        }
        Err(_) if digested || capture.is_some() => Some(HiddenParam::Unrecorded { number, stream, capture }),
        Err(_) => None,
    }
}

/// The driver, which was called for this launch between the two `called` times, has returned `code`.
pub fn launch_queued(hidden: HiddenParam, code: i32, called: [Instant; 2]) {
    let Some(Some(session)) = SESSION.get() else { return };
    let (number, stream) = match &hidden {
        HiddenParam::Recorded(launch) => (launch.number, launch.stream),
        HiddenParam::Unrecorded { number, stream, .. } => (*number, *stream),
        HiddenParam::Empty | HiddenParam::Node(_) => return,
    };
    // SAFETY: the program's launch into this stream returns only after this function, so the driver knows the
    // stream (P5). Later the recorder uses it only as a key.
    let stream = unsafe { Stream::foreign(stream) };
    session.digest_queue.launch_queued(number, stream, code == 0);
    let capture = match hidden {
        HiddenParam::Recorded(RecordedLaunch { mut ticket, context, capture, .. }) => {
            ticket.called = Some(called);
            match code {
                // If launches are blocking, the launch's own call returns its fault: the kernel has run.
                code if launches_are_blocking() && (code == 0 || sticky(code)) => {
                    context.recorder.queued_alone(ticket, stream);
                    // Its digests may still be computed, and the next launch may fault.
                    session.append_digested(&context, |queue, _| match code {
                        0 => queue.wait_for(number),
                        _ => queue.take_ready(),
                    });
                }
                0 => context.recorder.queued(ticket, stream),
                _ => context.recorder.cancel(ticket),
            }
            capture
        }
        HiddenParam::Unrecorded { capture, .. } => capture,
        HiddenParam::Empty | HiddenParam::Node(_) => None,
    };
    if let Some(capture) = capture {
        capture.finish(code);
    }
}
