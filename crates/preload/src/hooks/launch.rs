//! Launches: a rewritten kernel gets the hidden parameter behind the program's own.
//!
//! The hidden parameter holds the address of the launch's context. If it is zero, the launch records nothing.
//!
//! # Invariants
//! - Shape, stream and attributes reach the driver unchanged.
//! - A kernel that was not rewritten is launched with exactly the program's arguments.
//!
//! # Limitations
//! Launches by deprecated calls (`cuLaunch`, `cuLaunchGrid`, several devices at once) run but record nothing.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(clippy::too_many_arguments, reason = "as cuda.h has them")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::Instant;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::calls::{DeviceLaunch, LaunchConfig, launch};
use prlx_trace::device::HiddenParameter;

use crate::hooks::params::{PatchedParams, Purpose, kernel};
use crate::panic_guard::guard;
use crate::recording::launch_shape::Shape;

/// The shape and the stream of a configured launch. `None` if there is no configuration.
///
/// # Safety
/// `config` is null, or points to a configuration with as many attributes as it says.
unsafe fn shape(config: *const LaunchConfig) -> Option<(Shape, *mut c_void)> {
    // SAFETY: the caller's promise; a null pointer to attributes is not followed.
    unsafe {
        let config = config.as_ref()?;
        let mut cluster = None;
        for i in 0..if config.attributes.is_null() { 0 } else { config.count as usize } {
            let attribute = &*config.attributes.add(i);
            if attribute.id == launch::CLUSTER_DIMENSION {
                cluster = Some([attribute.value[0], attribute.value[1], attribute.value[2]]);
            }
        }
        Some((
            Shape { grid: config.grid, block: config.block, shared: config.shared, cluster },
            config.stream,
        ))
    }
}

macro_rules! launches {
    ($($name:ident($($extra:ident)?))*) => { $(
        pub unsafe fn $name(
            real: &Functions,
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
            $($extra: *mut *mut c_void,)?
        ) -> i32 {
            let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
            let shape = Shape { grid, block, shared, cluster: None };
            let per_thread = stringify!($name).ends_with("_ptsz");
            let purpose = Purpose::Launch { shape: &shape, stream, per_thread };
            let mut patched = PatchedParams::default();
            let extra = [$($extra,)? null_mut()][0];
            // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters that
            // `patched` owns until the call returns (P6).
            let (called, code) = unsafe {
                let (params, _extra) = patched.patch(real, function, params, extra, purpose);
                $(let $extra = _extra;)?
                let called = Instant::now();
                let code = (real.$name)(
                    function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params,
                    $($extra)?
                );
                (called, code)
            };
            patched.launched(code, called)
        }
    )* };
}

launches! {
    cuLaunchKernel(extra)
    cuLaunchKernel_ptsz(extra)
    cuLaunchCooperativeKernel()
    cuLaunchCooperativeKernel_ptsz()
}

macro_rules! configured {
    ($($name:ident)*) => { $(
        pub unsafe fn $name(
            real: &Functions,
            config: *const LaunchConfig,
            function: *mut c_void,
            params: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) -> i32 {
            let mut patched = PatchedParams::default();
            // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters that
            // `patched` owns until the call returns (P6).
            let (called, code) = unsafe {
                let shape = shape(config);
                let per_thread = stringify!($name).ends_with("_ptsz");
                let purpose = shape.as_ref().map_or(Purpose::Unrecorded, |(shape, stream)| {
                    Purpose::Launch { shape, stream: *stream, per_thread }
                });
                let (params, extra) = patched.patch(real, function, params, extra, purpose);
                let called = Instant::now();
                (called, (real.$name)(config, function, params, extra))
            };
            patched.launched(code, called)
        }
    )* };
}

configured! { cuLaunchKernelEx cuLaunchKernelEx_ptsz }

pub unsafe fn cuLaunchCooperativeKernelMultiDevice(
    real: &Functions,
    list: *mut DeviceLaunch,
    count: u32,
    flags: u32,
) -> i32 {
    let mut launches = match list.is_null() {
        true => Vec::new(),
        // SAFETY: not null, so the program passes `count` launches (P1).
        false => unsafe { std::slice::from_raw_parts(list, count as usize) }.to_vec(),
    };
    let mut patched: Vec<PatchedParams> = Vec::new();
    patched.resize_with(launches.len(), PatchedParams::default);
    for (launch, patched) in launches.iter_mut().zip(&mut patched) {
        // SAFETY: the parameters of a launch of the program (P1). The vector of `PatchedParams` does not grow
        // any more, so its elements do not move.
        launch.params =
            unsafe { patched.patch(real, launch.function, launch.params, null_mut(), Purpose::Unrecorded).0 };
    }
    let at = if list.is_null() { list } else { launches.as_mut_ptr() };
    // SAFETY: the driver's function (P2) with as many launches as the program passed. The copies and their
    // parameters live until the call returns (P6).
    unsafe { (real.cuLaunchCooperativeKernelMultiDevice)(at, count, flags) }
}

/// Sets the hidden parameter to zeros with the calls that deprecated launches use, so that the launch records
/// nothing.
fn clear_hidden_param(real: &Functions, function: *mut c_void) {
    let found = guard(|| kernel(real, function).filter(|(_, k)| k.skipped.is_none()));
    if let Some((_, kernel)) = found {
        let mut none = [0u8; HiddenParameter::SIZE];
        // SAFETY: the driver's functions (P2). The function is rewritten, so it has a parameter of that
        // offset and size; `none` has the size that the call gets, and is copied.
        unsafe {
            let (offset, size) = (kernel.hidden_offset, HiddenParameter::SIZE);
            (real.cuParamSetv)(function, offset as i32, none.as_mut_ptr().cast(), size as u32);
            (real.cuParamSetSize)(function, (offset + size) as u32);
        }
    }
}

pub unsafe fn cuLaunch(real: &Functions, function: *mut c_void) -> i32 {
    clear_hidden_param(real, function);
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLaunch)(function) }
}

pub unsafe fn cuLaunchGrid(real: &Functions, function: *mut c_void, width: i32, height: i32) -> i32 {
    clear_hidden_param(real, function);
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLaunchGrid)(function, width, height) }
}

pub unsafe fn cuLaunchGridAsync(
    real: &Functions,
    function: *mut c_void,
    width: i32,
    height: i32,
    stream: *mut c_void,
) -> i32 {
    clear_hidden_param(real, function);
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLaunchGridAsync)(function, width, height, stream) }
}
