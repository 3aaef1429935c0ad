//! Launches of the program: what is recorded of each, and the hidden parameter that it gets.
//!
//! # Invariants
//! A launch is recorded, or the reason is written to the file.
//!
//! # Limitations
//! Launches of modules that were not rewritten are not recorded when a graph starts them.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use prlx_driver::cuda::recorder::Ticket;
use prlx_driver::cuda::{Functions, Stream, sticky};
use prlx_trace::device::HiddenParameter;
use prlx_trace::launch::ArgInfo;
use prlx_trace::{Launch, Streams};

use crate::recording::context_recorder::Of;
use crate::recording::contexts::one_by_one;
use crate::recording::graphs::node;
use crate::recording::launch_shape::Shape;
use crate::recording::lock::lock;
use crate::recording::open::session;
use crate::recording::session::{Places, SESSION, named};
use crate::recording::streams::{capturing, in_stream};
use crate::rewritten_module::{Kernel, Module};

/// How many launches that wait for digests are looked at for each that begins.
const LOOKS: usize = 8;

/// Why others have none.
const NO_PARAMS: &str = "the driver does not tell of its kernel's parameters";

/// A launch of something that was not rewritten, by what it is called: it stands in the recording, without
/// streams, and with why. `params` gives its parameters, and where each lies in them, if they can be known.
pub fn passed(
    real: &Functions,
    (name, why): (Option<&str>, &str),
    shape: &Shape,
    handle: *mut c_void,
    own: bool,
    params: impl FnOnce() -> Option<Parameters>,
) -> Option<Hidden> {
    let session = SESSION.get()?.as_ref()?;
    let mut launch = session.described(real, shape);
    let handle = in_stream(handle, own);
    // A node that a capture makes is no launch yet.
    if capturing(real, handle) {
        return None;
    }
    let name = name.unwrap_or("?");
    launch.stream = session.stream(handle);
    let (number, start) = (launch.number, launch.start);
    let of = || {
        let mut choice = lock(&session.others_choice);
        let out = choice.skip_reason(session.options, session.options.wants(name), number, start.0);
        drop(choice);
        if out.is_none() { session.here(real) } else { None }
    };
    let of = session.options.digest.and_then(|_| of());
    let found = of.as_ref().map(|_| params());
    let (bytes, places) = found.clone().flatten().unwrap_or_default();
    launch.module = session.other(name, &places, why)?;
    launch.args = named(&places).map(|p| ArgInfo { name: p.name, ty: p.ty, ..ArgInfo::default() }).collect();
    launch.params = bytes;
    let mut digested = false;
    if let Some(of) = of {
        session.digested(&of, |digesting, _| digesting.come(LOOKS));
        match found.flatten() {
            Some(_) => digested = session.digest(&of, &mut launch, handle, &places),
            None => launch.undigested = Some(NO_PARAMS.to_owned()),
        }
    }
    let launch = Launch { skipped: Some(why.to_owned()), ..launch };
    if let Some((launch, streams)) = session.digesting.ended(launch, Streams::default()) {
        session.append(&launch, &streams);
    }
    digested.then_some(Hidden::Digested(number, handle))
}

/// A launch's parameters in one buffer, and where they lie there.
pub type Parameters = (Vec<u8>, Places);

/// A launch that is being recorded. It goes to [`Begun::queued`].
pub struct Begun {
    ticket: Ticket,
    of: Arc<Of>,
    number: u64,
    stream: *mut c_void,
}

/// What a launch gets as its context.
pub enum Hidden {
    /// Nothing is recorded.
    Nothing,
    /// It is recorded, and perhaps digested.
    Begun(Begun),
    /// It is digested alone: its number, and its stream.
    Digested(u64, *mut c_void),
    /// It is a graph's node.
    Node(u64),
}

impl Hidden {
    /// The parameter that the program does not know of.
    pub fn handed(&self) -> HiddenParameter {
        match self {
            Hidden::Nothing | Hidden::Digested(..) => HiddenParameter::default(),
            Hidden::Begun(b) => b.ticket.hidden,
            // Its context is filled before each launch of its graph.
            Hidden::Node(context) => HiddenParameter { context: *context, ..HiddenParameter::default() },
        }
    }
}

/// A rewritten kernel is about to be put into a stream; `own`: no stream is the thread's own.
pub fn begin(
    real: &Functions,
    (module, kernel): (&Arc<Module>, &Kernel),
    shape: &Shape,
    params: Vec<u8>,
    handle: *mut c_void,
    own: bool,
) -> Option<Hidden> {
    let session = session(real)?;
    let handle = in_stream(handle, own);
    if capturing(real, handle) {
        return Some(node(real).map_or(Hidden::Nothing, Hidden::Node));
    }
    let (mut launch, why) = session.launch(real, module, kernel, shape, params)?;
    launch.stream = session.stream(handle);
    if let Some(why) = why {
        session.left_out(launch, why);
        return None;
    }
    let Some(of) = session.here(real) else {
        session.left_out(launch, "there is no recorder for its context");
        return None;
    };
    session.digested(&of, |digesting, _| digesting.come(LOOKS));
    let digested = session.digest(&of, &mut launch, handle, &kernel.params);
    let number = launch.number;
    // SAFETY: the program's stream, which it is about to use.
    match of.recorder.begin(&module.plan, launch, unsafe { Stream::foreign(handle) }) {
        Ok(ticket) => Some(Hidden::Begun(Begun { ticket, of, number, stream: handle })),
        Err(_) => digested.then_some(Hidden::Digested(number, handle)),
    }
}

/// The driver was called for a launch that was begun, and has answered.
pub fn queued(hidden: Hidden, code: i32, called: [Instant; 2]) {
    let Some(Some(session)) = SESSION.get() else { return };
    let (number, stream) = match &hidden {
        Hidden::Begun(b) => (b.number, b.stream),
        Hidden::Digested(number, stream) => (*number, *stream),
        Hidden::Nothing | Hidden::Node(_) => return,
    };
    // SAFETY: the program's stream, which it has just used.
    session.digesting.queued(number, unsafe { Stream::foreign(stream) }, code == 0);
    if let Hidden::Begun(mut b) = hidden {
        b.ticket.called = Some(called);
        match code {
            // Who waits for a launch in its call is told there of its fault: it has run.
            code if one_by_one() && (code == 0 || sticky(code)) => {
                // SAFETY: as below.
                b.of.recorder.queued_alone(b.ticket, unsafe { Stream::foreign(b.stream) });
                session.digested(&b.of, |digesting, _| digesting.come(usize::MAX));
            }
            // SAFETY: the program's stream, which it has just used.
            0 => b.of.recorder.queued(b.ticket, unsafe { Stream::foreign(b.stream) }),
            _ => b.of.recorder.cancel(b.ticket),
        }
    }
}
