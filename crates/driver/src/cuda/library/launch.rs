//! Launches kernels in the default stream and times them with events.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::cuda::calls::launch::{CLUSTER_DIMENSION, COOPERATIVE};
use crate::cuda::calls::{LaunchAttribute, LaunchConfig, extra};
use crate::cuda::library::modules::number;
use crate::cuda::library::open::Library;
use crate::queue::Failure;
use crate::queue::handles::{Event, Function};

/// Shape of a launch, as CUDA expects it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Size of the grid, in CTAs or in the kernel's unit.
    pub grid: [u32; 3],
    /// Size of a CTA in threads.
    pub block: [u32; 3],
    /// Size of a cluster in CTAs, if the launch asks for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a CTA in bytes.
    pub shared: u32,
    /// Whether all CTAs must be resident at the same time, so that the kernel has a grid barrier.
    pub cooperative: bool,
}

/// Parameters of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Params<'a> {
    /// One slice for each parameter. The driver knows where each one goes.
    Each(Vec<&'a [u8]>),
    /// The whole parameter buffer, laid out as in the kernel's machine code.
    Buffer(&'a [u8]),
}

/// Two events that are recorded around a launch.
#[derive(Debug)]
pub struct LaunchTimer {
    start: *mut c_void,
    end: *mut c_void,
}

impl Library {
    /// Launches a kernel in the default stream, between the two events of `timer`.
    pub fn launch(
        &self,
        function: Function,
        shape: &Shape,
        params: &Params<'_>,
        timer: &LaunchTimer,
    ) -> Result<(), Failure> {
        let (mut each, buffer): (Vec<*mut c_void>, &[u8]) = match params {
            Params::Each(each) => (each.iter().map(|p| p.as_ptr().cast_mut().cast()).collect(), &[]),
            Params::Buffer(buffer) => (Vec::new(), buffer),
        };
        let mut size = buffer.len();
        let mut extra: [*mut c_void; 5] = [
            number(extra::BUFFER),
            buffer.as_ptr().cast_mut().cast(),
            number(extra::SIZE),
            (&raw mut size).cast(),
            number(extra::END),
        ];
        let attribute = |id: i32, words: &[u32]| {
            let mut value = [0; 16];
            value[..words.len()].copy_from_slice(words);
            LaunchAttribute { id, pad: [0; 4], value }
        };
        let cluster = shape.cluster.map(|sizes| attribute(CLUSTER_DIMENSION, &sizes));
        let cooperative = shape.cooperative.then(|| attribute(COOPERATIVE, &[1]));
        let mut attributes: Vec<LaunchAttribute> = cluster.into_iter().chain(cooperative).collect();
        let config = LaunchConfig {
            grid: shape.grid,
            block: shape.block,
            shared: shape.shared,
            stream: null_mut(),
            attributes: attributes.as_mut_ptr(),
            count: attributes.len() as u32,
        };
        let each = if each.is_empty() { null_mut() } else { each.as_mut_ptr() };
        let extra = if buffer.is_empty() { null_mut() } else { extra.as_mut_ptr() };
        call!(self.cuEventRecord(timer.start, null_mut()))?;
        call!(self.cuLaunchKernelEx(&config, function.0, each, extra))?;
        call!(self.cuEventRecord(timer.end, null_mut()))
    }

    /// Creates the two events.
    pub fn create_timer(&self) -> Result<LaunchTimer, Failure> {
        let (mut start, mut end) = (null_mut(), null_mut());
        call!(self.cuEventCreate(&mut start, 0))?;
        if let Err(e) = call!(self.cuEventCreate(&mut end, 0)) {
            self.destroy_timer(LaunchTimer { start, end: start });
            return Err(e);
        }
        Ok(LaunchTimer { start, end })
    }

    /// Returns the nanoseconds between the two events. Both must have passed.
    pub fn timer_elapsed(&self, timer: &LaunchTimer) -> Result<u64, Failure> {
        let mut milliseconds = 0f32;
        call!(self.cuEventElapsedTime(&mut milliseconds, timer.start, timer.end))?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }

    /// Whether the second event has passed.
    pub fn timer_stopped(&self, timer: &LaunchTimer) -> Result<bool, Failure> {
        self.event_passed(Event(timer.end))
    }

    /// Destroys the events. After a fault the driver refuses; the events are then freed with the context.
    pub fn destroy_timer(&self, timer: LaunchTimer) {
        let _ = call!(self.cuEventDestroy_v2(timer.start));
        if timer.end != timer.start {
            let _ = call!(self.cuEventDestroy_v2(timer.end));
        }
    }
}
