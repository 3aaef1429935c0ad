//! Launches, streams, events and captures.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::slice::from_raw_parts;

use prlx_driver::LaunchConfig;
use prlx_driver::cuda::calls::{self, launch, stream};
use prlx_trace::Dim3;

use super::pointers::{buffer, put};
use crate::codes::Result;
use crate::codes::code;
use crate::device::dispatch::with;
use crate::device::state::Device;
use crate::graphs::capture_mode::exchange_mode;
use crate::work::Work;

fn dims([x, y, z]: [u32; 3]) -> Dim3 {
    Dim3 { x, y, z }
}

/// Copies a launch's parameters into one buffer, as PTX lays them out.
///
/// # Safety
/// `params` is null or has a pointer to each parameter of the function; `extra` is null or a list as cuda.h
/// describes it.
pub(super) unsafe fn parameters(
    device: &Device,
    function: u64,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u8>> {
    if params.is_null() {
        // SAFETY: the caller's promise about `extra` is that of `buffer`.
        return unsafe { buffer(extra) }.map(<[u8]>::to_vec);
    }
    if !extra.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let declared = &device.kernel(function)?.params;
    let mut bytes = vec![0; declared.iter().map(|p| (p.offset + p.size) as usize).max().unwrap_or(0)];
    for (i, param) in declared.iter().enumerate() {
        let (from, size) = (param.offset as usize, param.size as usize);
        // SAFETY: the caller promises a pointer for each parameter, null or to as many bytes as it has.
        unsafe {
            let at = *params.add(i);
            if at.is_null() {
                return Err(code::INVALID_VALUE);
            }
            bytes[from..from + size].copy_from_slice(from_raw_parts(at.cast(), size));
        }
    }
    Ok(bytes)
}

// Launches whose shape is in their arguments. `true`: the null stream is the thread's own default stream.
macro_rules! launches {
    (@or_null $extra:ident) => { $extra };
    (@or_null) => { null_mut() };
    ($($name:ident($($extra:ident: $ty:ty)?) $per_thread:literal $cooperative:literal)*) => { $(
        #[expect(clippy::too_many_arguments, reason = "as cuda.h has it")]
        pub unsafe fn $name(
            function: *mut c_void,
            grid_x: u32,
            grid_y: u32,
            grid_z: u32,
            block_x: u32,
            block_y: u32,
            block_z: u32,
            shared: u32,
            stream: *mut c_void,
            params: *mut *mut c_void,
            $($extra: $ty)?
        ) -> i32 {
            let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
            let mut value = [0; 16];
            value[0] = u32::from($cooperative);
            let mut attribute = calls::LaunchAttribute { id: launch::COOPERATIVE, pad: [0; 4], value };
            let attributes = &raw mut attribute;
            let config = calls::LaunchConfig { grid, block, shared, stream, attributes, count: 1 };
            let extra = launches!(@or_null $($extra)?);
            // SAFETY: the arguments are those of a launch (E1).
            unsafe { start(stringify!($name), &config, function, params, extra, $per_thread) }
        }
    )* };
}
// Each with whether the null stream is the thread's own, and whether the launch is cooperative.
launches! {
    cuLaunchKernel(extra: *mut *mut c_void) false false
    cuLaunchKernel_ptsz(extra: *mut *mut c_void) true false
    cuLaunchCooperativeKernel() false true
    cuLaunchCooperativeKernel_ptsz() true true
}
pub unsafe fn cuLaunchKernelEx(
    config: *const calls::LaunchConfig,
    function: *mut c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> i32 {
    // SAFETY: the arguments are those of a launch (E1).
    unsafe { start("cuLaunchKernelEx", config, function, params, extra, false) }
}
pub unsafe fn cuLaunchKernelEx_ptsz(
    config: *const calls::LaunchConfig,
    function: *mut c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> i32 {
    // SAFETY: the arguments are those of a launch (E1).
    unsafe { start("cuLaunchKernelEx_ptsz", config, function, params, extra, true) }
}

pub unsafe fn cuLaunchCooperativeKernelMultiDevice(_: *mut calls::DeviceLaunch, _: u32, _: u32) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuLaunch(_: *mut c_void) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuLaunchGrid(_: *mut c_void, _: i32, _: i32) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuLaunchGridAsync(_: *mut c_void, _: i32, _: i32, _: *mut c_void) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuParamSetSize(_: *mut c_void, _: u32) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuParamSetv(_: *mut c_void, _: i32, _: *mut c_void, _: u32) -> i32 {
    code::NOT_SUPPORTED
}

/// Puts a launch into its stream. `per_thread`: the null stream is the thread's own default stream.
///
/// # Safety
/// `config` is null or points to a configuration with as many attributes as it says. `params` and `extra` are
/// those of a launch of the function.
unsafe fn start(
    call: &str,
    config: *const calls::LaunchConfig,
    function: *mut c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    per_thread: bool,
) -> i32 {
    with(call, |d| {
        d.ready()?;
        if config.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: not null, so the caller promises the configuration.
        let config = unsafe { &*config };
        let attributes = match config.count {
            0 => &[],
            // SAFETY: the caller promises as many attributes as `count` says.
            n => unsafe { from_raw_parts(config.attributes, n as usize) },
        };
        let (mut cluster, mut cooperative) = (Dim3::default(), false);
        for attribute in attributes {
            match attribute.id {
                launch::CLUSTER_DIMENSION => {
                    cluster = dims([attribute.value[0], attribute.value[1], attribute.value[2]])
                }
                launch::COOPERATIVE => cooperative = attribute.value[0] != 0,
                launch::IGNORE | launch::PROGRAMMATIC | launch::PRIORITY => {}
                _ => return Err(code::NOT_SUPPORTED),
            }
        }
        let (grid, block) = (dims(config.grid), dims(config.block));
        let shape = LaunchConfig { grid, block, cluster, shared: config.shared, seed: 0 };
        // SAFETY: the caller's promise is that of `parameters`.
        let params = unsafe { parameters(d, function as u64, params, extra)? };
        let work = d.launch(function as u64, shape, params, cooperative)?;
        let stream = d.stream(config.stream as u64, per_thread)?;
        d.put(stream, work)
    })
}

/// The launch that a kernel node with these parameters makes. `first`: they are of the first version of the
/// structure, which ends with `extra`.
///
/// # Safety
/// `node` is null or points to that version of the structure, with parameters of a launch of its function.
pub(super) unsafe fn kernel_work(
    d: &mut Device,
    node: *const calls::KernelNodeParams,
    first: bool,
) -> Result<Work> {
    if node.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller promises the structure. Fields behind `extra` are read only in the
    // version that has them.
    unsafe {
        let (grid, block) = (dims((*node).grid), dims((*node).block));
        let shape = LaunchConfig { grid, block, cluster: Dim3::default(), shared: (*node).shared, seed: 0 };
        let mut function = (*node).function as u64;
        if function == 0 && !first {
            function = (*node).kernel as u64;
        }
        let params = parameters(d, function, (*node).params, (*node).extra)?;
        d.launch(function, shape, params, false)
    }
}

pub unsafe fn cuStreamCreate(stream: *mut *mut c_void, flags: u32) -> i32 {
    with("cuStreamCreate", |d| {
        if flags > stream::NON_BLOCKING {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: `stream` is an output of this call (E1, E2).
        unsafe { put(stream, d.stream_create(flags == stream::NON_BLOCKING)? as *mut c_void) }
    })
}
pub unsafe fn cuStreamCreateWithPriority(stream: *mut *mut c_void, flags: u32, _: i32) -> i32 {
    // SAFETY: the call has the same arguments with the same meaning (E1).
    unsafe { cuStreamCreate(stream, flags) }
}
pub unsafe fn cuStreamDestroy_v2(stream: *mut c_void) -> i32 {
    with("cuStreamDestroy_v2", |d| d.stream_destroy(stream as u64))
}
pub unsafe fn cuStreamSynchronize(stream: *mut c_void) -> i32 {
    with("cuStreamSynchronize", |d| {
        let stream = d.stream(stream as u64, false)?;
        d.stream_synchronize(stream)
    })
}
pub unsafe fn cuStreamSynchronize_ptsz(stream: *mut c_void) -> i32 {
    with("cuStreamSynchronize_ptsz", |d| {
        let stream = d.stream(stream as u64, true)?;
        d.stream_synchronize(stream)
    })
}
pub unsafe fn cuStreamQuery(stream: *mut c_void) -> i32 {
    with("cuStreamQuery", |d| {
        let stream = d.stream(stream as u64, false)?;
        d.stream_query(stream)
    })
}
pub unsafe fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _: u32) -> i32 {
    with("cuStreamWaitEvent", |d| {
        let stream = d.stream(stream as u64, false)?;
        d.stream_wait(stream, event as u64)
    })
}

pub unsafe fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: i32) -> i32 {
    with("cuStreamBeginCapture_v2", |d| {
        let stream = d.stream(stream as u64, false)?;
        d.capture_begin(stream, mode)
    })
}
pub unsafe fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> i32 {
    with("cuStreamEndCapture", |d| {
        let stream = d.stream(stream as u64, false)?;
        // SAFETY: `graph` is an output of this call (E1, E2).
        unsafe { put(graph, d.capture_end(stream)? as *mut c_void) }
    })
}
pub unsafe fn cuStreamIsCapturing(stream: *mut c_void, status: *mut i32) -> i32 {
    with("cuStreamIsCapturing", |d| {
        let stream = d.stream(stream as u64, false)?;
        // SAFETY: `status` is an output of this call (E1, E2).
        unsafe { put(status, d.capture_info(stream)?.0) }
    })
}
pub unsafe fn cuStreamGetCaptureInfo_v2(
    stream: *mut c_void,
    status: *mut i32,
    id: *mut u64,
    graph: *mut *mut c_void,
    dependencies: *mut *const *mut c_void,
    count: *mut usize,
) -> i32 {
    with("cuStreamGetCaptureInfo_v2", |d| {
        let stream = d.stream(stream as u64, false)?;
        let (now, number, of, last) = d.capture_info(stream)?;
        // SAFETY: `status` is an output, and the others are null or outputs (E1, E2).
        unsafe {
            put(status, now)?;
            if !id.is_null() {
                put(id, number)?;
            }
            if !graph.is_null() {
                put(graph, of as *mut c_void)?;
            }
            if !dependencies.is_null() {
                put(dependencies, last.as_ptr().cast())?;
            }
            if !count.is_null() {
                put(count, last.len())?;
            }
        }
        Ok(())
    })
}
pub unsafe fn cuThreadExchangeStreamCaptureMode(mode: *mut i32) -> i32 {
    with("cuThreadExchangeStreamCaptureMode", |_| {
        if mode.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: `mode` is read and written (E1), and is not null.
        unsafe {
            let was = exchange_mode(*mode)?;
            put(mode, was)
        }
    })
}

pub unsafe fn cuEventCreate(event: *mut *mut c_void, _: u32) -> i32 {
    // SAFETY: `event` is an output of this call (E1, E2).
    with("cuEventCreate", |d| unsafe { put(event, d.event()? as *mut c_void) })
}
pub unsafe fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> i32 {
    with("cuEventRecord", |d| {
        let stream = d.stream(stream as u64, false)?;
        d.event_record(event as u64, stream)
    })
}
pub unsafe fn cuEventQuery(event: *mut c_void) -> i32 {
    with("cuEventQuery", |d| d.event_query(event as u64))
}
pub unsafe fn cuEventSynchronize(event: *mut c_void) -> i32 {
    with("cuEventSynchronize", |d| d.event_wait(event as u64))
}
pub unsafe fn cuEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void) -> i32 {
    // SAFETY: `milliseconds` is an output of this call (E1, E2).
    with("cuEventElapsedTime", |d| unsafe { put(milliseconds, d.elapsed(start as u64, end as u64)?) })
}
pub unsafe fn cuEventDestroy_v2(event: *mut c_void) -> i32 {
    with("cuEventDestroy_v2", |d| d.event_destroy(event as u64))
}
