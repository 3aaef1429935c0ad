//! Launches: a rewritten kernel gets one more parameter behind the program's.
//!
//! That parameter holds the address of the launch's context. Zeros record nothing.
//!
//! # Invariants
//! Shape, stream and attributes go to the driver as they came. A kernel that was not rewritten is launched
//! with exactly the program's arguments.
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

use crate::hooks::params::{Room, Use, kernel};
use crate::panic_guard::guard;
use crate::recording::launch_shape::Shape;

/// How a configured launch starts its kernel.
///
/// # Safety
/// As cuda.h says.
unsafe fn shape(config: *const LaunchConfig) -> Option<(Shape, *mut c_void)> {
    // SAFETY: the caller's promise: so many attributes.
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
            let what = Use::Launch(&shape, stream, stringify!($name).ends_with("_ptsz"));
            let mut room = Room::default();
            let list = [$($extra,)? null_mut()][0];
            // SAFETY: the program's call, with room that lives through it.
            let (called, code) = unsafe {
                let (params, _list) = room.extend(real, function, params, list, what);
                $(let $extra = _list;)?
                let called = Instant::now();
                let code = (real.$name)(
                    function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, $($extra)?
                );
                (called, code)
            };
            room.done(code, called)
        }
    )* };
}

launches! {
    cuLaunchKernel(extra) cuLaunchKernel_ptsz(extra) cuLaunchCooperativeKernel() cuLaunchCooperativeKernel_ptsz()
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
            let mut room = Room::default();
            // SAFETY: the program's call, with room that lives through it.
            let (called, code) = unsafe {
                let shape = shape(config);
                let own = stringify!($name).ends_with("_ptsz");
                let what = shape.as_ref().map_or(Use::Other, |(shape, stream)| Use::Launch(shape, *stream, own));
                let (params, extra) = room.extend(real, function, params, extra, what);
                let called = Instant::now();
                (called, (real.$name)(config, function, params, extra))
            };
            room.done(code, called)
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
    let mut rooms: Vec<Room> = Vec::new();
    let mut launches = match list.is_null() {
        true => Vec::new(),
        // SAFETY: the program's promise: so many.
        false => unsafe { std::slice::from_raw_parts(list, count as usize) }.to_vec(),
    };
    rooms.resize_with(launches.len(), Room::default);
    for (launch, room) in launches.iter_mut().zip(&mut rooms) {
        // SAFETY: a launch of the program's, and room that is not moved any more.
        launch.params =
            unsafe { room.extend(real, launch.function, launch.params, null_mut(), Use::Other).0 };
    }
    let at = if list.is_null() { list } else { launches.as_mut_ptr() };
    // SAFETY: the program's call, with room that lives through it.
    unsafe { (real.cuLaunchCooperativeKernelMultiDevice)(at, count, flags) }
}

/// Sets the parameter that the program does not know of, in the way that CUDA has given up.
fn set(real: &Functions, function: *mut c_void) {
    let found = guard(|| kernel(real, function).filter(|(_, k)| k.skipped.is_none()));
    if let Some((_, kernel)) = found {
        let mut none = [0u8; HiddenParameter::SIZE];
        // SAFETY: the function has this parameter, of so many bytes.
        unsafe {
            (real.cuParamSetv)(
                function,
                kernel.end as i32,
                none.as_mut_ptr().cast(),
                HiddenParameter::SIZE as u32,
            );
            (real.cuParamSetSize)(function, (kernel.end + HiddenParameter::SIZE) as u32);
        }
    }
}

pub unsafe fn cuLaunch(real: &Functions, function: *mut c_void) -> i32 {
    set(real, function);
    // SAFETY: the program's call.
    unsafe { (real.cuLaunch)(function) }
}

pub unsafe fn cuLaunchGrid(real: &Functions, function: *mut c_void, width: i32, height: i32) -> i32 {
    set(real, function);
    // SAFETY: the program's call.
    unsafe { (real.cuLaunchGrid)(function, width, height) }
}

pub unsafe fn cuLaunchGridAsync(
    real: &Functions,
    function: *mut c_void,
    width: i32,
    height: i32,
    stream: *mut c_void,
) -> i32 {
    set(real, function);
    // SAFETY: the program's call.
    unsafe { (real.cuLaunchGridAsync)(function, width, height, stream) }
}
