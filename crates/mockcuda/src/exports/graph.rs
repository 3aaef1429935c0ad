//! Graphs.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::{self, KernelNodeParams, NodeParams, launch, node};
use prlx_trace::Dim3;

use super::launch::node as kernel;
use super::pointers::{put, put_all};
use crate::codes::Result;
use crate::codes::code;
use crate::device::dispatch::with;
use crate::device::state::Device;
use crate::work::Work;

pub unsafe fn cuGraphCreate(graph: *mut *mut c_void, _: u32) -> i32 {
    // SAFETY: as the module says.
    with("cuGraphCreate", |d| unsafe { put(graph, d.graph_create()? as *mut c_void) })
}
pub unsafe fn cuGraphDestroy(graph: *mut c_void) -> i32 {
    with("cuGraphDestroy", |d| d.graph_destroy(graph as u64))
}
pub unsafe fn cuGraphClone(clone: *mut *mut c_void, graph: *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuGraphClone", |d| unsafe { put(clone, d.graph_clone(graph as u64)? as *mut c_void) })
}
pub unsafe fn cuGraphGetNodes(graph: *mut c_void, nodes: *mut *mut c_void, count: *mut usize) -> i32 {
    with("cuGraphGetNodes", |d| {
        let all = d.graph_nodes(graph as u64)?;
        if count.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: as the module says: room for `count`, if there is a place at all.
        unsafe {
            if !nodes.is_null() {
                put_all(nodes, *count, &all)?;
            }
            put(count, if nodes.is_null() { all.len() } else { all.len().min(*count) })
        }
    })
}
pub unsafe fn cuGraphNodeGetType(node: *mut c_void, kind: *mut i32) -> i32 {
    // SAFETY: as the module says.
    with("cuGraphNodeGetType", |d| unsafe { put(kind, d.node_kind(node as u64)?) })
}

/// # Safety
/// `count` nodes, and a place for one.
unsafe fn add(
    d: &mut Device,
    into: *mut *mut c_void,
    graph: *mut c_void,
    after: *const *mut c_void,
    count: usize,
    work: Work,
) -> Result<()> {
    let after = match count {
        0 => Vec::new(),
        // SAFETY: the caller's promise.
        _ => unsafe { from_raw_parts(after, count) }.iter().map(|n| *n as u64).collect(),
    };
    // SAFETY: the caller's promise.
    unsafe { put(into, d.node_add(graph as u64, after, work)? as *mut c_void) }
}
/// What a node of any kind does.
///
/// # Safety
/// As cuda.h says.
unsafe fn any(d: &mut Device, params: *const NodeParams) -> Result<Work> {
    // SAFETY: the caller's promise.
    unsafe {
        match params.as_ref().ok_or(code::INVALID_VALUE)? {
            p if p.kind == node::KERNEL => kernel(d, &p.params.kernel, false),
            p if p.kind == node::EMPTY => Ok(Work::Nothing),
            _ => Err(code::NOT_SUPPORTED),
        }
    }
}

/// Kernel nodes; `true`: the structure ends with `extra`.
macro_rules! added {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            node: *mut *mut c_void,
            graph: *mut c_void,
            dependencies: *const *mut c_void,
            count: usize,
            params: *const KernelNodeParams,
        ) -> i32 {
            with(stringify!($name), |d| {
                // SAFETY: as the module says.
                unsafe {
                    let work = kernel(d, params, $first)?;
                    add(d, node, graph, dependencies, count, work)
                }
            })
        }
    )* };
}
added! { cuGraphAddKernelNode true cuGraphAddKernelNode_v2 false }

pub unsafe fn cuGraphAddNode(
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    with("cuGraphAddNode", |d| {
        // SAFETY: as the module says.
        unsafe {
            let work = any(d, params)?;
            add(d, node, graph, dependencies, count, work)
        }
    })
}
pub unsafe fn cuGraphAddNode_v2(
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    if !edges.is_null() {
        return code::NOT_SUPPORTED;
    }
    // SAFETY: as the module says.
    unsafe { cuGraphAddNode(node, graph, dependencies, count, params) }
}
pub unsafe fn cuGraphAddChildGraphNode(
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
    child: *mut c_void,
) -> i32 {
    with("cuGraphAddChildGraphNode", |d| {
        let copy = d.graph_clone(child as u64)?;
        // SAFETY: as the module says.
        unsafe { add(d, node, graph, dependencies, count, Work::Graph(copy)) }
    })
}
pub unsafe fn cuGraphChildGraphNodeGetGraph(node: *mut c_void, graph: *mut *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuGraphChildGraphNodeGetGraph", |d| unsafe {
        put(graph, d.node_graph(node as u64)? as *mut c_void)
    })
}

/// # Safety
/// `params` may be written, as much as its version has.
unsafe fn get(d: &mut Device, node: *mut c_void, params: *mut KernelNodeParams, first: bool) -> Result<()> {
    let (work, given) = d.node_kernel(node as u64)?;
    let Work::Launch { function, config, .. } = work else { return Err(code::INVALID_VALUE) };
    let given = given.pointers.as_ptr().cast_mut().cast();
    let sizes = |d: prlx_trace::Dim3| [d.x, d.y, d.z];
    // SAFETY: the caller's promise.
    unsafe {
        // Of a library's kernel, the function that it is here: another handle than the program's.
        put(&raw mut (*params).function, d.function_of(function) as *mut c_void)?;
        put(&raw mut (*params).grid, sizes(config.grid))?;
        put(&raw mut (*params).block, sizes(config.block))?;
        put(&raw mut (*params).shared, config.shared)?;
        put(&raw mut (*params).params, given)?;
        put(&raw mut (*params).extra, null_mut())?;
        if !first {
            put(&raw mut (*params).kernel, null_mut())?;
            put(&raw mut (*params).context, null_mut())?;
        }
    }
    Ok(())
}
pub unsafe fn cuGraphKernelNodeGetParams(node: *mut c_void, params: *mut KernelNodeParams) -> i32 {
    // SAFETY: as the module says.
    with("cuGraphKernelNodeGetParams", |d| unsafe { get(d, node, params, true) })
}
pub unsafe fn cuGraphKernelNodeGetParams_v2(node: *mut c_void, params: *mut KernelNodeParams) -> i32 {
    // SAFETY: as the module says.
    with("cuGraphKernelNodeGetParams_v2", |d| unsafe { get(d, node, params, false) })
}
pub unsafe fn cuGraphKernelNodeSetParams(node: *mut c_void, params: *const KernelNodeParams) -> i32 {
    with("cuGraphKernelNodeSetParams", |d| {
        // SAFETY: as the module says.
        let work = unsafe { kernel(d, params, true)? };
        d.node_change(node as u64, work)
    })
}
pub unsafe fn cuGraphKernelNodeSetParams_v2(node: *mut c_void, params: *const KernelNodeParams) -> i32 {
    with("cuGraphKernelNodeSetParams_v2", |d| {
        // SAFETY: as the module says.
        let work = unsafe { kernel(d, params, false)? };
        d.node_change(node as u64, work)
    })
}
pub unsafe fn cuGraphNodeSetParams(node: *mut c_void, params: *mut NodeParams) -> i32 {
    with("cuGraphNodeSetParams", |d| {
        // SAFETY: as the module says.
        let work = unsafe { any(d, params)? };
        d.node_change(node as u64, work)
    })
}

pub unsafe fn cuGraphKernelNodeGetAttribute(node: *mut c_void, attribute: i32, value: *mut c_void) -> i32 {
    with("cuGraphKernelNodeGetAttribute", |d| {
        let (Work::Launch { config, .. }, _) = d.node_kernel(node as u64)? else {
            return Err(code::INVALID_VALUE);
        };
        let Dim3 { x, y, z } = config.cluster;
        match attribute {
            // One is what it is where none was asked for.
            // SAFETY: as the module says.
            launch::CLUSTER_DIMENSION if config.cluster == Dim3::default() => unsafe {
                put(value.cast(), [0u32; 3])
            },
            // SAFETY: as the module says.
            launch::CLUSTER_DIMENSION => unsafe { put(value.cast(), [x, y, z]) },
            _ => Err(code::NOT_SUPPORTED),
        }
    })
}
pub unsafe fn cuGraphKernelNodeSetAttribute(node: *mut c_void, attribute: i32, value: *const c_void) -> i32 {
    with("cuGraphKernelNodeSetAttribute", |d| {
        if attribute != launch::CLUSTER_DIMENSION || value.is_null() {
            return Err(code::NOT_SUPPORTED);
        }
        // SAFETY: as the module says: 64 bytes.
        let [x, y, z] = unsafe { value.cast::<[u32; 3]>().read_unaligned() };
        d.node_cluster(node as u64, Dim3 { x, y, z })
    })
}

pub unsafe fn cuGraphInstantiate_v2(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    _: *mut *mut c_void,
    _: *mut c_char,
    _: usize,
) -> i32 {
    // SAFETY: as the module says.
    unsafe { cuGraphInstantiateWithFlags(exec, graph, 0) }
}
pub unsafe fn cuGraphInstantiateWithFlags(exec: *mut *mut c_void, graph: *mut c_void, _: u64) -> i32 {
    // SAFETY: as the module says.
    with("cuGraphInstantiateWithFlags", |d| unsafe { put(exec, d.graph_ready(graph as u64)? as *mut c_void) })
}
pub unsafe fn cuGraphInstantiateWithParams(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut calls::InstantiateParams,
) -> i32 {
    with("cuGraphInstantiateWithParams", |d| {
        // SAFETY: as the module says.
        unsafe {
            put(exec, d.graph_ready(graph as u64)? as *mut c_void)?;
            put(&raw mut (*params).result, 0)
        }
    })
}
pub unsafe fn cuGraphInstantiateWithParams_ptsz(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut calls::InstantiateParams,
) -> i32 {
    // SAFETY: as the module says.
    unsafe { cuGraphInstantiateWithParams(exec, graph, params) }
}
pub unsafe fn cuGraphExecKernelNodeSetParams(
    exec: *mut c_void,
    node: *mut c_void,
    params: *const KernelNodeParams,
) -> i32 {
    with("cuGraphExecKernelNodeSetParams", |d| {
        // SAFETY: as the module says.
        let work = unsafe { kernel(d, params, true)? };
        d.ready_change(exec as u64, node as u64, work)
    })
}
pub unsafe fn cuGraphExecKernelNodeSetParams_v2(
    exec: *mut c_void,
    node: *mut c_void,
    params: *const KernelNodeParams,
) -> i32 {
    with("cuGraphExecKernelNodeSetParams_v2", |d| {
        // SAFETY: as the module says.
        let work = unsafe { kernel(d, params, false)? };
        d.ready_change(exec as u64, node as u64, work)
    })
}
pub unsafe fn cuGraphExecNodeSetParams(exec: *mut c_void, node: *mut c_void, params: *mut NodeParams) -> i32 {
    with("cuGraphExecNodeSetParams", |d| {
        // SAFETY: as the module says.
        let work = unsafe { any(d, params)? };
        d.ready_change(exec as u64, node as u64, work)
    })
}
/// `CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED`.
const TOPOLOGY: i32 = 2;
pub unsafe fn cuGraphExecUpdate(
    exec: *mut c_void,
    graph: *mut c_void,
    error: *mut *mut c_void,
    result: *mut i32,
) -> i32 {
    with("cuGraphExecUpdate", |d| {
        let updated = d.ready_update(exec as u64, graph as u64)?;
        // SAFETY: as the module says.
        unsafe {
            put(error, null_mut())?;
            put(result, if updated { 0 } else { TOPOLOGY })?;
        }
        if updated { Ok(()) } else { Err(code::GRAPH_EXEC_UPDATE_FAILURE) }
    })
}
pub unsafe fn cuGraphExecUpdate_v2(
    exec: *mut c_void,
    graph: *mut c_void,
    result: *mut calls::UpdateResult,
) -> i32 {
    with("cuGraphExecUpdate_v2", |d| {
        let updated = d.ready_update(exec as u64, graph as u64)?;
        let told = calls::UpdateResult {
            result: if updated { 0 } else { TOPOLOGY },
            error: null_mut(),
            from: null_mut(),
        };
        // SAFETY: as the module says.
        unsafe { put(result, told)? };
        if updated { Ok(()) } else { Err(code::GRAPH_EXEC_UPDATE_FAILURE) }
    })
}
pub unsafe fn cuGraphLaunch(exec: *mut c_void, stream: *mut c_void) -> i32 {
    with("cuGraphLaunch", |d| {
        let stream = d.stream(stream as u64, false)?;
        d.ready_launch(exec as u64, stream)
    })
}
pub unsafe fn cuGraphLaunch_ptsz(exec: *mut c_void, stream: *mut c_void) -> i32 {
    with("cuGraphLaunch_ptsz", |d| {
        let stream = d.stream(stream as u64, true)?;
        d.ready_launch(exec as u64, stream)
    })
}
pub unsafe fn cuGraphExecDestroy(exec: *mut c_void) -> i32 {
    with("cuGraphExecDestroy", |d| d.ready_destroy(exec as u64))
}
