//! Graphs: kernel nodes of rewritten kernels get their parameter too, however they come about.
//!
//! Nodes that a capture makes come from launches. What the driver says of a node has the parameter behind the program's, where
//! nobody looks; given back to it, it is put there again.
//!
//! Holds: as in [`crate::launch`].
#![allow(unsafe_code, reason = "a C interface: pointers come from the program, as cuda.h says what they point to")]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::c_void;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::calls::{KernelNodeParams, NodeParams, node};

use crate::launch::Room;

/// A kernel node's parameters with one more. `first`: the structure ends with `extra`.
///
/// # Safety
/// `params` points to those of a node; what comes of it lives as long as `room` and `copy`.
unsafe fn extended(
    real: &Functions,
    room: &mut Room,
    copy: &mut Option<KernelNodeParams>,
    params: *const KernelNodeParams,
    first: bool,
) -> *const KernelNodeParams {
    if params.is_null() {
        return params;
    }
    // SAFETY: the caller's promise; fields behind `extra` are read only where they are.
    unsafe {
        let of = &raw const *params;
        let mut own = KernelNodeParams {
            function: (*of).function,
            grid: (*of).grid,
            block: (*of).block,
            shared: (*of).shared,
            params: (*of).params,
            extra: (*of).extra,
            kernel: std::ptr::null_mut(),
            context: std::ptr::null_mut(),
        };
        if !first {
            (own.kernel, own.context) = ((*of).kernel, (*of).context);
        }
        let handle = if own.function.is_null() { own.kernel } else { own.function };
        (own.params, own.extra) = room.extend(real, handle, own.params, own.extra);
        &raw const *copy.insert(own)
    }
}
/// The same of a node of any kind.
///
/// # Safety
/// As [`extended`].
unsafe fn any(real: &Functions, room: &mut Room, params: *const NodeParams) -> Option<NodeParams> {
    // SAFETY: the caller's promise; a kernel's node has a kernel's parameters.
    unsafe {
        let mut own = *params.as_ref().filter(|p| p.kind == node::KERNEL)?;
        let mut copy = None;
        own.of.kernel = *extended(real, room, &mut copy, &raw const own.of.kernel, false);
        Some(own)
    }
}

macro_rules! added {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            real: &Functions,
            node: *mut *mut c_void,
            graph: *mut c_void,
            dependencies: *const *mut c_void,
            count: usize,
            params: *const KernelNodeParams,
        ) -> i32 {
            let (mut room, mut copy) = (Room::default(), None);
            // SAFETY: the program's call, with room that lives through it.
            unsafe {
                let params = extended(real, &mut room, &mut copy, params, $first);
                (real.$name)(node, graph, dependencies, count, params)
            }
        }
    )* };
}
added! { cuGraphAddKernelNode true cuGraphAddKernelNode_v2 false }

macro_rules! changed {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(real: &Functions, node: *mut c_void, params: *const KernelNodeParams) -> i32 {
            let (mut room, mut copy) = (Room::default(), None);
            // SAFETY: the program's call, with room that lives through it.
            unsafe {
                let params = extended(real, &mut room, &mut copy, params, $first);
                (real.$name)(node, params)
            }
        }
    )* };
}
changed! { cuGraphKernelNodeSetParams true cuGraphKernelNodeSetParams_v2 false }

macro_rules! changed_ready {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            real: &Functions,
            exec: *mut c_void,
            node: *mut c_void,
            params: *const KernelNodeParams,
        ) -> i32 {
            let (mut room, mut copy) = (Room::default(), None);
            // SAFETY: the program's call, with room that lives through it.
            unsafe {
                let params = extended(real, &mut room, &mut copy, params, $first);
                (real.$name)(exec, node, params)
            }
        }
    )* };
}
changed_ready! { cuGraphExecKernelNodeSetParams true cuGraphExecKernelNodeSetParams_v2 false }

pub unsafe fn cuGraphAddNode(
    real: &Functions,
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let mut own = any(real, &mut room, params);
        (real.cuGraphAddNode)(node, graph, dependencies, count, own.as_mut().map_or(params, |p| p))
    }
}
pub unsafe fn cuGraphAddNode_v2(
    real: &Functions,
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let mut own = any(real, &mut room, params);
        (real.cuGraphAddNode_v2)(node, graph, dependencies, edges, count, own.as_mut().map_or(params, |p| p))
    }
}
pub unsafe fn cuGraphNodeSetParams(real: &Functions, node: *mut c_void, params: *mut NodeParams) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let mut own = any(real, &mut room, params);
        (real.cuGraphNodeSetParams)(node, own.as_mut().map_or(params, |p| p))
    }
}
pub unsafe fn cuGraphExecNodeSetParams(
    real: &Functions,
    exec: *mut c_void,
    node: *mut c_void,
    params: *mut NodeParams,
) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let mut own = any(real, &mut room, params);
        (real.cuGraphExecNodeSetParams)(exec, node, own.as_mut().map_or(params, |p| p))
    }
}
