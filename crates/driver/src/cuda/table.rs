//! The CUDA driver calls that PRLX uses, declared once: name with its version suffix, and signature (cuda.h
//! 13.0).
//!
//! The loader makes its function pointers from the table; a mock and `prlx-preload` make their exports from
//! it. `~12000` before a name is the CUDA version from which `cuGetProcAddress` returns this call. Among
//! calls whose names differ only in `_v2`, it returns the newest that is not newer than the requested
//! version. `@12000` means the same, and that `prlx-preload` replaces the call.
//!
//! # Invariants
//! - Each row agrees with cuda.h. A test compares them if the header is installed.
//! - A driver may lack calls that are newer than CUDA 12.0. Those fail when they are called.
//!
//! # Limitations
//! - Every call returns `CUresult`, an `i32`.
//! - Only 64-bit Linux is supported.

/// Hands the table to a macro: `cuda_calls!(make)` expands to `make! { … }` with a row for each call.
#[macro_export]
macro_rules! cuda_calls {
    ($make:ident) => {
        $make! {
            /// Initialises the driver.
            cuInit(flags: u32);
            /// 1000 * major + 10 * minor of the newest CUDA that the driver knows.
            cuDriverGetVersion(version: *mut i32);
            /// Returns the name of an error code.
            cuGetErrorName(error: i32, text: *mut *const ::core::ffi::c_char);
            /// Returns the description of an error code.
            cuGetErrorString(error: i32, text: *mut *const ::core::ffi::c_char);
            /// Returns the number of devices.
            cuDeviceGetCount(count: *mut i32);
            /// Returns the device with an ordinal.
            cuDeviceGet(device: *mut i32, ordinal: i32);
            /// Returns the name of a device.
            cuDeviceGetName(name: *mut ::core::ffi::c_char, len: i32, device: i32);
            /// Returns an attribute of a device, by a constant of
            /// [`attribute`](crate::cuda::calls::attribute).
            cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32);
            /// Returns the memory size of a device.
            cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
            /// Retains the primary context of a device, which the runtime API uses as well.
            cuDevicePrimaryCtxRetain(context: *mut *mut ::core::ffi::c_void, device: i32);
            /// Releases the primary context of a device. The last release destroys it.
            @11000 cuDevicePrimaryCtxRelease_v2(device: i32);
            /// First version of the call above.
            @7000 cuDevicePrimaryCtxRelease(device: i32);
            /// Returns whether the primary context exists.
            cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32);
            /// Sets the calling thread's current context.
            cuCtxSetCurrent(context: *mut ::core::ffi::c_void);
            /// Sets a limit of the context, by a constant of [`limit`](crate::cuda::calls::limit).
            cuCtxSetLimit(limit: i32, value: usize);
            /// Waits for all work of the context, and returns its error.
            @2000 cuCtxSynchronize();
            /// Waits for all work of a given context.
            @13000 cuCtxSynchronize_v2(context: *mut ::core::ffi::c_void);
            /// Loads PTX (ending in NUL), a cubin or a fatbin.
            @2010 cuModuleLoadDataEx(
                module: *mut *mut ::core::ffi::c_void,
                image: *const ::core::ffi::c_void,
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void
            );
            /// Unloads a module.
            @2000 cuModuleUnload(module: *mut ::core::ffi::c_void);
            /// Returns a kernel of a module.
            @2000 cuModuleGetFunction(
                function: *mut *mut ::core::ffi::c_void,
                module: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// Returns an attribute of a kernel: registers, shared memory and others.
            cuFuncGetAttribute(value: *mut i32, attribute: i32, function: *mut ::core::ffi::c_void);
            /// Sets an attribute of a kernel: dynamic shared memory, large clusters.
            cuFuncSetAttribute(function: *mut ::core::ffi::c_void, attribute: i32, value: i32);
            /// Returns how many CTAs of a kernel fit on an SM at the same time.
            cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctas: *mut i32,
                function: *mut ::core::ffi::c_void,
                threads: i32,
                shared: usize
            );
            /// Allocates device memory, aligned to at least 256 bytes.
            cuMemAlloc_v2(at: *mut u64, bytes: usize);
            /// Frees device memory.
            @3020 cuMemFree_v2(at: u64);
            /// Copies from host to device.
            cuMemcpyHtoD_v2(to: u64, from: *const ::core::ffi::c_void, bytes: usize);
            /// Copies from device to host.
            cuMemcpyDtoH_v2(to: *mut ::core::ffi::c_void, from: u64, bytes: usize);
            /// Fills device memory with a byte.
            cuMemsetD8_v2(to: u64, value: u8, bytes: usize);
            /// Encodes a tensor map of 128 bytes, aligned to 64 bytes.
            @12000 cuTensorMapEncodeTiled(
                map: *mut ::core::ffi::c_void,
                element: i32,
                rank: u32,
                at: *mut ::core::ffi::c_void,
                sizes: *const u64,
                strides: *const u64,
                tile: *const u32,
                steps: *const u32,
                interleave: i32,
                swizzle: i32,
                promotion: i32,
                fill: i32
            );
            /// Launches a kernel, with attributes.
            @11060 cuLaunchKernelEx(
                config: *const $crate::cuda::calls::LaunchConfig,
                function: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void,
                extra: *mut *mut ::core::ffi::c_void
            );
            /// Creates an event.
            cuEventCreate(event: *mut *mut ::core::ffi::c_void, flags: u32);
            /// Records an event in a stream; null means the default stream.
            cuEventRecord(event: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
            /// Returns the milliseconds between two events that have passed.
            cuEventElapsedTime(
                milliseconds: *mut f32,
                start: *mut ::core::ffi::c_void,
                end: *mut ::core::ffi::c_void
            );
            /// Destroys an event.
            cuEventDestroy_v2(event: *mut ::core::ffi::c_void);
            /// Returns a driver call by name, for a CUDA version.
            @11030 cuGetProcAddress(
                symbol: *const ::core::ffi::c_char,
                at: *mut *mut ::core::ffi::c_void,
                version: i32,
                flags: u64
            );
            /// Returns a driver call by name, and why there is none.
            @12000 cuGetProcAddress_v2(
                symbol: *const ::core::ffi::c_char,
                at: *mut *mut ::core::ffi::c_void,
                version: i32,
                flags: u64,
                status: *mut i32
            );
            /// Returns the calling thread's current context; null if there is none.
            cuCtxGetCurrent(context: *mut *mut ::core::ffi::c_void);
            /// Returns the device of the current context.
            cuCtxGetDevice(device: *mut i32);
            /// Pushes a context onto the calling thread's stack of contexts.
            cuCtxPushCurrent_v2(context: *mut ::core::ffi::c_void);
            /// Pops the current context.
            cuCtxPopCurrent_v2(context: *mut *mut ::core::ffi::c_void);
            /// Destroys everything in a device's primary context.
            @11000 cuDevicePrimaryCtxReset_v2(device: i32);
            /// First version of the call above.
            @7000 cuDevicePrimaryCtxReset(device: i32);
            /// Destroys a context.
            @4000 cuCtxDestroy_v2(context: *mut ::core::ffi::c_void);
            /// Loads a module from a file.
            @2000 cuModuleLoad(module: *mut *mut ::core::ffi::c_void, file: *const ::core::ffi::c_char);
            /// Loads PTX (ending in NUL), a cubin or a fatbin.
            @2000 cuModuleLoadData(module: *mut *mut ::core::ffi::c_void, image: *const ::core::ffi::c_void);
            /// Loads a module from a fatbin.
            @2000 cuModuleLoadFatBinary(
                module: *mut *mut ::core::ffi::c_void,
                image: *const ::core::ffi::c_void
            );
            /// Returns the number of kernels in a module.
            cuModuleGetFunctionCount(count: *mut u32, module: *mut ::core::ffi::c_void);
            /// Returns the kernels of a module.
            cuModuleEnumerateFunctions(
                functions: *mut *mut ::core::ffi::c_void,
                count: u32,
                module: *mut ::core::ffi::c_void
            );
            /// Returns address and size of a module's variable.
            cuModuleGetGlobal_v2(
                at: *mut u64,
                bytes: *mut usize,
                module: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// Loads an image as a library, for every context.
            @12000 cuLibraryLoadData(
                library: *mut *mut ::core::ffi::c_void,
                image: *const ::core::ffi::c_void,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void,
                count: u32,
                library_options: *mut i32,
                library_values: *mut *mut ::core::ffi::c_void,
                library_count: u32
            );
            /// Loads a file as a library, for every context.
            @12000 cuLibraryLoadFromFile(
                library: *mut *mut ::core::ffi::c_void,
                file: *const ::core::ffi::c_char,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void,
                count: u32,
                library_options: *mut i32,
                library_values: *mut *mut ::core::ffi::c_void,
                library_count: u32
            );
            /// Unloads a library.
            @12000 cuLibraryUnload(library: *mut ::core::ffi::c_void);
            /// Returns a kernel of a library.
            @12000 cuLibraryGetKernel(
                kernel: *mut *mut ::core::ffi::c_void,
                library: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// Returns the number of kernels in a library.
            @12040 cuLibraryGetKernelCount(count: *mut u32, library: *mut ::core::ffi::c_void);
            /// Returns the kernels of a library.
            @12040 cuLibraryEnumerateKernels(
                kernels: *mut *mut ::core::ffi::c_void,
                count: u32,
                library: *mut ::core::ffi::c_void
            );
            /// Returns a library's module in the current context.
            @12000 cuLibraryGetModule(
                module: *mut *mut ::core::ffi::c_void,
                library: *mut ::core::ffi::c_void
            );
            /// Returns address and size of a library's variable in the current context.
            @12000 cuLibraryGetGlobal(
                at: *mut u64,
                bytes: *mut usize,
                library: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// Returns address and size of a library's managed variable.
            @12000 cuLibraryGetManaged(
                at: *mut u64,
                bytes: *mut usize,
                library: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// Returns a library's function that host and device can call.
            @12000 cuLibraryGetUnifiedFunction(
                fptr: *mut *mut ::core::ffi::c_void,
                library: *mut ::core::ffi::c_void,
                symbol: *const ::core::ffi::c_char
            );
            /// Returns a library's kernel in the current context.
            @12000 cuKernelGetFunction(
                function: *mut *mut ::core::ffi::c_void,
                kernel: *mut ::core::ffi::c_void
            );
            /// Returns the library of a kernel.
            @12050 cuKernelGetLibrary(
                library: *mut *mut ::core::ffi::c_void,
                kernel: *mut ::core::ffi::c_void
            );
            /// Returns the name of a library's kernel.
            cuKernelGetName(name: *mut *const ::core::ffi::c_char, function: *mut ::core::ffi::c_void);
            /// Returns offset and size of a parameter of a library's kernel.
            @12040 cuKernelGetParamInfo(
                kernel: *mut ::core::ffi::c_void,
                index: usize,
                offset: *mut usize,
                size: *mut usize
            );
            /// Returns an attribute of a library's kernel on a device.
            cuKernelGetAttribute(
                value: *mut i32,
                attribute: i32,
                kernel: *mut ::core::ffi::c_void,
                device: i32
            );
            /// Sets an attribute of a library's kernel on a device.
            cuKernelSetAttribute(attribute: i32, value: i32, kernel: *mut ::core::ffi::c_void, device: i32);
            /// Returns the module of a kernel.
            cuFuncGetModule(module: *mut *mut ::core::ffi::c_void, function: *mut ::core::ffi::c_void);
            /// Returns the name of a kernel.
            cuFuncGetName(name: *mut *const ::core::ffi::c_char, function: *mut ::core::ffi::c_void);
            /// Returns offset and size of a parameter of a kernel.
            @12040 cuFuncGetParamInfo(
                function: *mut ::core::ffi::c_void,
                index: usize,
                offset: *mut usize,
                size: *mut usize
            );
            /// Starts a link.
            @6050 cuLinkCreate_v2(
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void,
                state: *mut *mut ::core::ffi::c_void
            );
            /// Adds an input from memory to the link.
            @6050 cuLinkAddData_v2(
                state: *mut ::core::ffi::c_void,
                kind: i32,
                data: *mut ::core::ffi::c_void,
                size: usize,
                name: *const ::core::ffi::c_char,
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void
            );
            /// Adds an input file to the link.
            @6050 cuLinkAddFile_v2(
                state: *mut ::core::ffi::c_void,
                kind: i32,
                path: *const ::core::ffi::c_char,
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void
            );
            /// Completes the link. The cubin lives as long as the link state.
            @5050 cuLinkComplete(
                state: *mut ::core::ffi::c_void,
                cubin: *mut *mut ::core::ffi::c_void,
                size: *mut usize
            );
            /// Destroys a link state.
            @5050 cuLinkDestroy(state: *mut ::core::ffi::c_void);
            /// Launches a kernel.
            @4000 cuLaunchKernel(
                function: *mut ::core::ffi::c_void,
                grid_x: u32,
                grid_y: u32,
                grid_z: u32,
                block_x: u32,
                block_y: u32,
                block_z: u32,
                shared: u32,
                stream: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void,
                extra: *mut *mut ::core::ffi::c_void
            );
            /// Launches a kernel; a null stream is the per-thread default stream.
            @7000 cuLaunchKernel_ptsz(
                function: *mut ::core::ffi::c_void,
                grid_x: u32,
                grid_y: u32,
                grid_z: u32,
                block_x: u32,
                block_y: u32,
                block_z: u32,
                shared: u32,
                stream: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void,
                extra: *mut *mut ::core::ffi::c_void
            );
            /// Launches a kernel, with attributes; a null stream is the per-thread default stream.
            @11060 cuLaunchKernelEx_ptsz(
                config: *const $crate::cuda::calls::LaunchConfig,
                function: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void,
                extra: *mut *mut ::core::ffi::c_void
            );
            /// Launches a kernel whose CTAs are all resident at the same time.
            @9000 cuLaunchCooperativeKernel(
                function: *mut ::core::ffi::c_void,
                grid_x: u32,
                grid_y: u32,
                grid_z: u32,
                block_x: u32,
                block_y: u32,
                block_z: u32,
                shared: u32,
                stream: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void
            );
            /// Launches a cooperative kernel; a null stream is the per-thread default stream.
            @9000 cuLaunchCooperativeKernel_ptsz(
                function: *mut ::core::ffi::c_void,
                grid_x: u32,
                grid_y: u32,
                grid_z: u32,
                block_x: u32,
                block_y: u32,
                block_z: u32,
                shared: u32,
                stream: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void
            );
            /// Launches cooperative kernels on several devices. Deprecated.
            @9000 cuLaunchCooperativeKernelMultiDevice(
                list: *mut $crate::cuda::calls::DeviceLaunch,
                count: u32,
                flags: u32
            );
            /// Launches one CTA with the parameters set before. Deprecated.
            @2000 cuLaunch(function: *mut ::core::ffi::c_void);
            /// Launches a grid with the parameters set before. Deprecated.
            @2000 cuLaunchGrid(function: *mut ::core::ffi::c_void, width: i32, height: i32);
            /// Launches a grid in a stream with the parameters set before. Deprecated.
            @2000 cuLaunchGridAsync(
                function: *mut ::core::ffi::c_void,
                width: i32,
                height: i32,
                stream: *mut ::core::ffi::c_void
            );
            /// Sets the size of the parameters. Deprecated.
            cuParamSetSize(function: *mut ::core::ffi::c_void, bytes: u32);
            /// Sets bytes of the parameters. Deprecated.
            cuParamSetv(
                function: *mut ::core::ffi::c_void,
                offset: i32,
                from: *mut ::core::ffi::c_void,
                bytes: u32
            );
            /// Copies from host to device in a stream.
            cuMemcpyHtoDAsync_v2(
                to: u64,
                from: *const ::core::ffi::c_void,
                bytes: usize,
                stream: *mut ::core::ffi::c_void
            );
            /// Copies from device to host in a stream.
            cuMemcpyDtoHAsync_v2(
                to: *mut ::core::ffi::c_void,
                from: u64,
                bytes: usize,
                stream: *mut ::core::ffi::c_void
            );
            /// Copies on the device in a stream.
            cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Fills device memory in a stream.
            cuMemsetD8Async(to: u64, byte: u8, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Allocates pinned host memory.
            cuMemHostAlloc(at: *mut *mut ::core::ffi::c_void, bytes: usize, flags: u32);
            /// Pins existing host memory. Flag 2 gives it a device address.
            cuMemHostRegister_v2(at: *mut ::core::ffi::c_void, bytes: usize, flags: u32);
            /// Returns the device address of pinned host memory.
            cuMemHostGetDevicePointer_v2(to: *mut u64, at: *mut ::core::ffi::c_void, flags: u32);
            /// Unpins host memory.
            @4000 cuMemHostUnregister(at: *mut ::core::ffi::c_void);
            /// Returns attributes of an address, by constants of [`pointer`](crate::cuda::calls::pointer). An
            /// address unknown to the driver has zeros.
            cuPointerGetAttributes(
                count: u32,
                attributes: *mut i32,
                data: *mut *mut ::core::ffi::c_void,
                at: u64
            );
            /// Frees pinned host memory.
            @2000 cuMemFreeHost(at: *mut ::core::ffi::c_void);
            /// Allocates device memory in stream order.
            cuMemAllocAsync(at: *mut u64, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Frees device memory in stream order.
            @11020 cuMemFreeAsync(at: u64, stream: *mut ::core::ffi::c_void);
            /// Frees device memory in stream order; null is the per-thread default stream.
            @11020 cuMemFreeAsync_ptsz(at: u64, stream: *mut ::core::ffi::c_void);
            /// Gives back the memory of a pool that is not in use, but for so many bytes.
            @11020 cuMemPoolTrimTo(pool: *mut ::core::ffi::c_void, keep: usize);
            /// Destroys a pool.
            @11020 cuMemPoolDestroy(pool: *mut ::core::ffi::c_void);
            /// Takes the memory behind a part of a reserved address range away.
            @10020 cuMemUnmap(at: u64, bytes: usize);
            /// Takes another process's memory out of this one's addresses.
            @4010 cuIpcCloseMemHandle(at: u64);
            /// Returns free and total memory of the device.
            cuMemGetInfo_v2(free: *mut usize, all: *mut usize);
            /// Creates a stream.
            cuStreamCreate(stream: *mut *mut ::core::ffi::c_void, flags: u32);
            /// Creates a stream with a priority.
            cuStreamCreateWithPriority(stream: *mut *mut ::core::ffi::c_void, flags: u32, priority: i32);
            /// Destroys a stream when its work is done.
            @4000 cuStreamDestroy_v2(stream: *mut ::core::ffi::c_void);
            /// Waits for a stream.
            @2000 cuStreamSynchronize(stream: *mut ::core::ffi::c_void);
            /// Waits for a stream; null is the per-thread default stream.
            @7000 cuStreamSynchronize_ptsz(stream: *mut ::core::ffi::c_void);
            /// Returns whether a stream's work is done.
            cuStreamQuery(stream: *mut ::core::ffi::c_void);
            /// Makes later work of a stream wait for an event.
            cuStreamWaitEvent(stream: *mut ::core::ffi::c_void, event: *mut ::core::ffi::c_void, flags: u32);
            /// Begins capturing a stream into a graph.
            @10010 cuStreamBeginCapture_v2(stream: *mut ::core::ffi::c_void, mode: i32);
            /// Ends the capture and returns the graph.
            cuStreamEndCapture(stream: *mut ::core::ffi::c_void, graph: *mut *mut ::core::ffi::c_void);
            /// Returns whether a stream is being captured.
            cuStreamIsCapturing(stream: *mut ::core::ffi::c_void, status: *mut i32);
            /// Returns the state of a capture, its graph, and the current dependencies.
            cuStreamGetCaptureInfo_v2(
                stream: *mut ::core::ffi::c_void,
                status: *mut i32,
                id: *mut u64,
                graph: *mut *mut ::core::ffi::c_void,
                dependencies: *mut *const *mut ::core::ffi::c_void,
                count: *mut usize
            );
            /// Exchanges the calling thread's capture mode.
            cuThreadExchangeStreamCaptureMode(mode: *mut i32);
            /// Returns whether an event has passed.
            cuEventQuery(event: *mut ::core::ffi::c_void);
            /// Waits for an event.
            @2000 cuEventSynchronize(event: *mut ::core::ffi::c_void);
            /// Creates a graph.
            cuGraphCreate(graph: *mut *mut ::core::ffi::c_void, flags: u32);
            /// Destroys a graph.
            cuGraphDestroy(graph: *mut ::core::ffi::c_void);
            /// Clones a graph.
            cuGraphClone(clone: *mut *mut ::core::ffi::c_void, graph: *mut ::core::ffi::c_void);
            /// Returns the nodes of a graph.
            cuGraphGetNodes(
                graph: *mut ::core::ffi::c_void,
                nodes: *mut *mut ::core::ffi::c_void,
                count: *mut usize
            );
            /// Returns the kind of a node.
            cuGraphNodeGetType(node: *mut ::core::ffi::c_void, kind: *mut i32);
            /// Adds a kernel node (first version).
            @10000 cuGraphAddKernelNode(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Adds a kernel node.
            @12000 cuGraphAddKernelNode_v2(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Adds a node of any kind.
            @12020 cuGraphAddNode(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                params: *mut $crate::cuda::calls::NodeParams
            );
            /// Adds a node of any kind, with edge data.
            @12030 cuGraphAddNode_v2(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                edges: *const ::core::ffi::c_void,
                count: usize,
                params: *mut $crate::cuda::calls::NodeParams
            );
            /// Adds a child graph as a node.
            cuGraphAddChildGraphNode(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                child: *mut ::core::ffi::c_void
            );
            /// Returns the child graph of a node.
            cuGraphChildGraphNodeGetGraph(
                node: *mut ::core::ffi::c_void,
                graph: *mut *mut ::core::ffi::c_void
            );
            /// Returns the parameters of a kernel node (first version). The pointers are valid until the node
            /// changes.
            ~10000 cuGraphKernelNodeGetParams(
                node: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::KernelNodeParams
            );
            /// Returns the parameters of a kernel node. The pointers are valid until the node changes.
            ~12000 cuGraphKernelNodeGetParams_v2(
                node: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::KernelNodeParams
            );
            /// Sets the parameters of a kernel node (first version).
            @10000 cuGraphKernelNodeSetParams(
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Sets the parameters of a kernel node.
            @12000 cuGraphKernelNodeSetParams_v2(
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Returns an attribute of a kernel node, by a constant of
            /// [`launch`](crate::cuda::calls::launch). The value has 64 bytes.
            cuGraphKernelNodeGetAttribute(
                node: *mut ::core::ffi::c_void,
                attribute: i32,
                value: *mut ::core::ffi::c_void
            );
            /// Sets an attribute of a kernel node.
            cuGraphKernelNodeSetAttribute(
                node: *mut ::core::ffi::c_void,
                attribute: i32,
                value: *const ::core::ffi::c_void
            );
            /// Sets the parameters of a node of any kind.
            @12020 cuGraphNodeSetParams(
                node: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::NodeParams
            );
            /// Instantiates a graph (CUDA 11.0).
            @11000 cuGraphInstantiate_v2(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                error: *mut *mut ::core::ffi::c_void,
                log: *mut ::core::ffi::c_char,
                size: usize
            );
            /// Instantiates a graph with flags.
            @11040 cuGraphInstantiateWithFlags(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                flags: u64
            );
            /// Instantiates a graph with parameters.
            @12000 cuGraphInstantiateWithParams(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::InstantiateParams
            );
            /// Instantiates a graph with parameters; a null stream is the per-thread default stream.
            @12000 cuGraphInstantiateWithParams_ptsz(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::InstantiateParams
            );
            /// Sets the parameters of a kernel node in an executable graph (first version).
            @10010 cuGraphExecKernelNodeSetParams(
                exec: *mut ::core::ffi::c_void,
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Sets the parameters of a kernel node in an executable graph.
            @12000 cuGraphExecKernelNodeSetParams_v2(
                exec: *mut ::core::ffi::c_void,
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Sets the parameters of a node in an executable graph.
            @12020 cuGraphExecNodeSetParams(
                exec: *mut ::core::ffi::c_void,
                node: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::NodeParams
            );
            /// Updates an executable graph from another graph (first version).
            @10020 cuGraphExecUpdate(
                exec: *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                error: *mut *mut ::core::ffi::c_void,
                result: *mut i32
            );
            /// Updates an executable graph from another graph.
            @12000 cuGraphExecUpdate_v2(
                exec: *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                result: *mut $crate::cuda::calls::UpdateResult
            );
            /// Launches an executable graph.
            @10000 cuGraphLaunch(exec: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
            /// Launches an executable graph; a null stream is the per-thread default stream.
            @10000 cuGraphLaunch_ptsz(exec: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
            /// Destroys an executable graph.
            @10000 cuGraphExecDestroy(exec: *mut ::core::ffi::c_void);
        }
    };
}
