//! The calls of the CUDA driver API that are used, declared once: name with its version suffix, and signature
//! (cuda.h 13.0).
//!
//! The loader makes its function pointers from the table, a mock and `prlx-preload` their exports. `~12000`
//! before a name says for which version of CUDA programs first get it by `cuGetProcAddress`: of the calls
//! that share a name but for `_v2`, the last that is not newer than what they ask for. `@12000` says so too,
//! and that `prlx-preload` stands in for the call.
//!
//! # Invariants
//! Each row is as cuda.h has it; a test reads the header where there is one. A driver may lack calls that
//! came later than CUDA 12.0: they fail when they are made.
//! # Limitations
//! Every call returns `CUresult`, an `i32`; 64-bit Linux only.

/// Hands the table to a macro: `cuda_calls!(make)` expands to `make! { … }` with a row for each call.
#[macro_export]
macro_rules! cuda_calls {
    ($make:ident) => {
        $make! {
            /// Starts the driver.
            cuInit(flags: u32);
            /// 1000 * major + 10 * minor of the newest CUDA that the driver knows.
            cuDriverGetVersion(version: *mut i32);
            /// The short name of an error.
            cuGetErrorName(error: i32, text: *mut *const ::core::ffi::c_char);
            /// An error in words.
            cuGetErrorString(error: i32, text: *mut *const ::core::ffi::c_char);
            /// How many devices there are.
            cuDeviceGetCount(count: *mut i32);
            /// A device by its ordinal.
            cuDeviceGet(device: *mut i32, ordinal: i32);
            /// Its name.
            cuDeviceGetName(name: *mut ::core::ffi::c_char, len: i32, device: i32);
            /// One of [`Attribute`](crate::cuda::calls::attribute)'s numbers.
            cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32);
            /// Bytes of its memory.
            cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
            /// The context that the runtime API shares with us.
            cuDevicePrimaryCtxRetain(context: *mut *mut ::core::ffi::c_void, device: i32);
            /// Gives it back; the last one destroys it.
            @11000 cuDevicePrimaryCtxRelease_v2(device: i32);
            /// The same.
            @7000 cuDevicePrimaryCtxRelease(device: i32);
            /// Whether there is one.
            cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32);
            /// Makes a context the calling thread's.
            cuCtxSetCurrent(context: *mut ::core::ffi::c_void);
            /// Sets one of [`limit`](crate::cuda::calls::limit)'s.
            cuCtxSetLimit(limit: i32, value: usize);
            /// Waits for everything; gives the error of what failed.
            @2000 cuCtxSynchronize();
            /// The same, of any context.
            @13000 cuCtxSynchronize_v2(context: *mut ::core::ffi::c_void);
            /// Loads PTX (ending in NUL), a cubin or a fatbin.
            @2010 cuModuleLoadDataEx(
                module: *mut *mut ::core::ffi::c_void,
                image: *const ::core::ffi::c_void,
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void
            );
            /// Unloads it.
            @2000 cuModuleUnload(module: *mut ::core::ffi::c_void);
            /// A kernel of a module.
            @2000 cuModuleGetFunction(
                function: *mut *mut ::core::ffi::c_void,
                module: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// What a kernel needs: registers, shared memory …
            cuFuncGetAttribute(value: *mut i32, attribute: i32, function: *mut ::core::ffi::c_void);
            /// What a kernel may have: dynamic shared memory, large clusters.
            cuFuncSetAttribute(function: *mut ::core::ffi::c_void, attribute: i32, value: i32);
            /// How many CTAs of a kernel a multiprocessor runs at once.
            cuOccupancyMaxActiveBlocksPerMultiprocessor(
                ctas: *mut i32,
                function: *mut ::core::ffi::c_void,
                threads: i32,
                shared: usize
            );
            /// Allocates, aligned to 256 bytes at least.
            cuMemAlloc_v2(at: *mut u64, bytes: usize);
            /// Frees.
            cuMemFree_v2(at: u64);
            /// Copies to the device.
            cuMemcpyHtoD_v2(to: u64, from: *const ::core::ffi::c_void, bytes: usize);
            /// Copies from the device.
            cuMemcpyDtoH_v2(to: *mut ::core::ffi::c_void, from: u64, bytes: usize);
            /// Sets bytes.
            cuMemsetD8_v2(to: u64, value: u8, bytes: usize);
            /// Makes a tensor map, of 128 bytes at a multiple of 64.
            cuTensorMapEncodeTiled(
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
            /// Starts a kernel.
            @11060 cuLaunchKernelEx(
                config: *const $crate::cuda::calls::LaunchConfig,
                function: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void,
                extra: *mut *mut ::core::ffi::c_void
            );
            /// Makes an event.
            cuEventCreate(event: *mut *mut ::core::ffi::c_void, flags: u32);
            /// Puts it into a stream; null is the default stream.
            cuEventRecord(event: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
            /// Milliseconds between two events that have passed.
            cuEventElapsedTime(
                milliseconds: *mut f32,
                start: *mut ::core::ffi::c_void,
                end: *mut ::core::ffi::c_void
            );
            /// Destroys an event.
            cuEventDestroy_v2(event: *mut ::core::ffi::c_void);
            /// Another call by its name, for a version of CUDA.
            @11030 cuGetProcAddress(
                symbol: *const ::core::ffi::c_char,
                at: *mut *mut ::core::ffi::c_void,
                version: i32,
                flags: u64
            );
            /// The same, and why there is none.
            @12000 cuGetProcAddress_v2(
                symbol: *const ::core::ffi::c_char,
                at: *mut *mut ::core::ffi::c_void,
                version: i32,
                flags: u64,
                status: *mut i32
            );
            /// The calling thread's context; null if it has none.
            cuCtxGetCurrent(context: *mut *mut ::core::ffi::c_void);
            /// Its device.
            cuCtxGetDevice(device: *mut i32);
            /// Makes a context the calling thread's, the one before comes back when it is popped.
            cuCtxPushCurrent_v2(context: *mut ::core::ffi::c_void);
            /// Takes it off again.
            cuCtxPopCurrent_v2(context: *mut *mut ::core::ffi::c_void);
            /// Destroys what is in a device's primary context.
            @11000 cuDevicePrimaryCtxReset_v2(device: i32);
            /// The same.
            @7000 cuDevicePrimaryCtxReset(device: i32);
            /// Destroys a context.
            @4000 cuCtxDestroy_v2(context: *mut ::core::ffi::c_void);
            /// Loads a file.
            @2000 cuModuleLoad(module: *mut *mut ::core::ffi::c_void, file: *const ::core::ffi::c_char);
            /// Loads PTX (ending in NUL), a cubin or a fatbin.
            @2000 cuModuleLoadData(module: *mut *mut ::core::ffi::c_void, image: *const ::core::ffi::c_void);
            /// Loads a fatbin.
            @2000 cuModuleLoadFatBinary(module: *mut *mut ::core::ffi::c_void, image: *const ::core::ffi::c_void);
            /// How many kernels a module has.
            cuModuleGetFunctionCount(count: *mut u32, module: *mut ::core::ffi::c_void);
            /// Its kernels.
            cuModuleEnumerateFunctions(
                functions: *mut *mut ::core::ffi::c_void,
                count: u32,
                module: *mut ::core::ffi::c_void
            );
            /// A module's variable: where and how large.
            cuModuleGetGlobal_v2(
                at: *mut u64,
                bytes: *mut usize,
                module: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// Loads an image for every context.
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
            /// Loads a file for every context.
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
            /// Unloads it.
            @12000 cuLibraryUnload(library: *mut ::core::ffi::c_void);
            /// A kernel of a library.
            @12000 cuLibraryGetKernel(
                kernel: *mut *mut ::core::ffi::c_void,
                library: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// How many kernels a library has.
            @12040 cuLibraryGetKernelCount(count: *mut u32, library: *mut ::core::ffi::c_void);
            /// Its kernels.
            @12040 cuLibraryEnumerateKernels(
                kernels: *mut *mut ::core::ffi::c_void,
                count: u32,
                library: *mut ::core::ffi::c_void
            );
            /// A library's module in the calling thread's context.
            @12000 cuLibraryGetModule(module: *mut *mut ::core::ffi::c_void, library: *mut ::core::ffi::c_void);
            /// A library's variable in the calling thread's context.
            @12000 cuLibraryGetGlobal(
                at: *mut u64,
                bytes: *mut usize,
                library: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// A library's managed variable.
            @12000 cuLibraryGetManaged(
                at: *mut u64,
                bytes: *mut usize,
                library: *mut ::core::ffi::c_void,
                name: *const ::core::ffi::c_char
            );
            /// A library's function that host and device may call.
            @12000 cuLibraryGetUnifiedFunction(
                fptr: *mut *mut ::core::ffi::c_void,
                library: *mut ::core::ffi::c_void,
                symbol: *const ::core::ffi::c_char
            );
            /// A library's kernel in the calling thread's context.
            @12000 cuKernelGetFunction(function: *mut *mut ::core::ffi::c_void, kernel: *mut ::core::ffi::c_void);
            /// The library of a kernel.
            @12050 cuKernelGetLibrary(library: *mut *mut ::core::ffi::c_void, kernel: *mut ::core::ffi::c_void);
            /// A kernel's name.
            cuKernelGetName(name: *mut *const ::core::ffi::c_char, function: *mut ::core::ffi::c_void);
            /// Where a parameter of a kernel is, and how large.
            @12040 cuKernelGetParamInfo(
                kernel: *mut ::core::ffi::c_void,
                index: usize,
                offset: *mut usize,
                size: *mut usize
            );
            /// What a kernel needs on a device.
            cuKernelGetAttribute(value: *mut i32, attribute: i32, kernel: *mut ::core::ffi::c_void, device: i32);
            /// What a kernel may have on a device.
            cuKernelSetAttribute(attribute: i32, value: i32, kernel: *mut ::core::ffi::c_void, device: i32);
            /// The module of a kernel.
            cuFuncGetModule(module: *mut *mut ::core::ffi::c_void, function: *mut ::core::ffi::c_void);
            /// A kernel's name.
            cuFuncGetName(name: *mut *const ::core::ffi::c_char, function: *mut ::core::ffi::c_void);
            /// Where a parameter of a kernel is, and how large.
            @12040 cuFuncGetParamInfo(
                function: *mut ::core::ffi::c_void,
                index: usize,
                offset: *mut usize,
                size: *mut usize
            );
            /// Begins a linking.
            @6050 cuLinkCreate_v2(
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void,
                state: *mut *mut ::core::ffi::c_void
            );
            /// Adds an input.
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
            /// Adds a file.
            @6050 cuLinkAddFile_v2(
                state: *mut ::core::ffi::c_void,
                kind: i32,
                path: *const ::core::ffi::c_char,
                count: u32,
                options: *mut i32,
                values: *mut *mut ::core::ffi::c_void
            );
            /// Links; the cubin lives as long as the linking.
            @5050 cuLinkComplete(
                state: *mut ::core::ffi::c_void,
                cubin: *mut *mut ::core::ffi::c_void,
                size: *mut usize
            );
            /// Ends it.
            @5050 cuLinkDestroy(state: *mut ::core::ffi::c_void);
            /// Starts a kernel.
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
            /// The same; no stream is the thread's own.
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
            /// As `cuLaunchKernelEx`; no stream is the thread's own.
            @11060 cuLaunchKernelEx_ptsz(
                config: *const $crate::cuda::calls::LaunchConfig,
                function: *mut ::core::ffi::c_void,
                params: *mut *mut ::core::ffi::c_void,
                extra: *mut *mut ::core::ffi::c_void
            );
            /// Starts a kernel whose CTAs all run at once.
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
            /// The same; no stream is the thread's own.
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
            /// Starts kernels on several devices, all at once; given up.
            @9000 cuLaunchCooperativeKernelMultiDevice(
                list: *mut $crate::cuda::calls::DeviceLaunch,
                count: u32,
                flags: u32
            );
            /// Starts a kernel, with the parameters that were set; given up.
            @2000 cuLaunch(function: *mut ::core::ffi::c_void);
            /// Starts a kernel, with the parameters that were set; given up.
            @2000 cuLaunchGrid(function: *mut ::core::ffi::c_void, width: i32, height: i32);
            /// Starts a kernel, with the parameters that were set; given up.
            @2000 cuLaunchGridAsync(
                function: *mut ::core::ffi::c_void,
                width: i32,
                height: i32,
                stream: *mut ::core::ffi::c_void
            );
            /// How large the parameters are that are set; given up.
            cuParamSetSize(function: *mut ::core::ffi::c_void, bytes: u32);
            /// Sets parameters; given up.
            cuParamSetv(
                function: *mut ::core::ffi::c_void,
                offset: i32,
                from: *mut ::core::ffi::c_void,
                bytes: u32
            );
            /// Copies to the device in a stream.
            cuMemcpyHtoDAsync_v2(
                to: u64,
                from: *const ::core::ffi::c_void,
                bytes: usize,
                stream: *mut ::core::ffi::c_void
            );
            /// Copies from the device in a stream.
            cuMemcpyDtoHAsync_v2(
                to: *mut ::core::ffi::c_void,
                from: u64,
                bytes: usize,
                stream: *mut ::core::ffi::c_void
            );
            /// Copies on the device in a stream.
            cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Sets bytes in a stream.
            cuMemsetD8Async(to: u64, byte: u8, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Host memory that the device reaches.
            cuMemHostAlloc(at: *mut *mut ::core::ffi::c_void, bytes: usize, flags: u32);
            /// Lets the device reach host memory that is there already; flag 2: by an address of its own.
            cuMemHostRegister_v2(at: *mut ::core::ffi::c_void, bytes: usize, flags: u32);
            /// That address.
            cuMemHostGetDevicePointer_v2(to: *mut u64, at: *mut ::core::ffi::c_void, flags: u32);
            /// Takes it from the device again.
            cuMemHostUnregister(at: *mut ::core::ffi::c_void);
            /// What is known of an address, by [`pointer`](crate::cuda::calls::pointer)'s numbers; zeros of
            /// one that is nobody's.
            cuPointerGetAttributes(
                count: u32,
                attributes: *mut i32,
                data: *mut *mut ::core::ffi::c_void,
                at: u64
            );
            /// Frees it.
            cuMemFreeHost(at: *mut ::core::ffi::c_void);
            /// Allocates in a stream's order.
            cuMemAllocAsync(at: *mut u64, bytes: usize, stream: *mut ::core::ffi::c_void);
            /// Frees in a stream's order.
            cuMemFreeAsync(at: u64, stream: *mut ::core::ffi::c_void);
            /// Free and all memory of the device.
            cuMemGetInfo_v2(free: *mut usize, all: *mut usize);
            /// Makes a stream.
            cuStreamCreate(stream: *mut *mut ::core::ffi::c_void, flags: u32);
            /// Makes a stream that goes before others.
            cuStreamCreateWithPriority(stream: *mut *mut ::core::ffi::c_void, flags: u32, priority: i32);
            /// Destroys it when its work is done.
            cuStreamDestroy_v2(stream: *mut ::core::ffi::c_void);
            /// Waits for a stream.
            @2000 cuStreamSynchronize(stream: *mut ::core::ffi::c_void);
            /// The same; no stream is the thread's own.
            @7000 cuStreamSynchronize_ptsz(stream: *mut ::core::ffi::c_void);
            /// Whether a stream's work is done.
            cuStreamQuery(stream: *mut ::core::ffi::c_void);
            /// What comes later in a stream waits for an event.
            cuStreamWaitEvent(stream: *mut ::core::ffi::c_void, event: *mut ::core::ffi::c_void, flags: u32);
            /// What is put into a stream becomes nodes of a graph.
            cuStreamBeginCapture_v2(stream: *mut ::core::ffi::c_void, mode: i32);
            /// Ends that; gives the graph.
            cuStreamEndCapture(stream: *mut ::core::ffi::c_void, graph: *mut *mut ::core::ffi::c_void);
            /// Whether it is so.
            cuStreamIsCapturing(stream: *mut ::core::ffi::c_void, status: *mut i32);
            /// The same, with the graph and the nodes that come last.
            cuStreamGetCaptureInfo_v2(
                stream: *mut ::core::ffi::c_void,
                status: *mut i32,
                id: *mut u64,
                graph: *mut *mut ::core::ffi::c_void,
                dependencies: *mut *const *mut ::core::ffi::c_void,
                count: *mut usize
            );
            /// What the calling thread may do while a stream is captured.
            cuThreadExchangeStreamCaptureMode(mode: *mut i32);
            /// Whether an event has passed.
            cuEventQuery(event: *mut ::core::ffi::c_void);
            /// Waits for it.
            @2000 cuEventSynchronize(event: *mut ::core::ffi::c_void);
            /// Makes a graph.
            cuGraphCreate(graph: *mut *mut ::core::ffi::c_void, flags: u32);
            /// Destroys it.
            cuGraphDestroy(graph: *mut ::core::ffi::c_void);
            /// Copies it.
            cuGraphClone(clone: *mut *mut ::core::ffi::c_void, graph: *mut ::core::ffi::c_void);
            /// Its nodes.
            cuGraphGetNodes(graph: *mut ::core::ffi::c_void, nodes: *mut *mut ::core::ffi::c_void, count: *mut usize);
            /// What a node does.
            cuGraphNodeGetType(node: *mut ::core::ffi::c_void, kind: *mut i32);
            /// Adds a kernel.
            @10000 cuGraphAddKernelNode(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Adds a kernel.
            @12000 cuGraphAddKernelNode_v2(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Adds a node.
            @12020 cuGraphAddNode(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                params: *mut $crate::cuda::calls::NodeParams
            );
            /// Adds a node.
            @12030 cuGraphAddNode_v2(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                edges: *const ::core::ffi::c_void,
                count: usize,
                params: *mut $crate::cuda::calls::NodeParams
            );
            /// Adds a graph.
            cuGraphAddChildGraphNode(
                node: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                dependencies: *const *mut ::core::ffi::c_void,
                count: usize,
                child: *mut ::core::ffi::c_void
            );
            /// The graph of a node.
            cuGraphChildGraphNodeGetGraph(node: *mut ::core::ffi::c_void, graph: *mut *mut ::core::ffi::c_void);
            /// What a kernel node starts; the pointers live as long as the node is not changed.
            ~10000 cuGraphKernelNodeGetParams(
                node: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::KernelNodeParams
            );
            /// What a kernel node starts; the pointers live as long as the node is not changed.
            ~12000 cuGraphKernelNodeGetParams_v2(
                node: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::KernelNodeParams
            );
            /// Changes a kernel node.
            @10000 cuGraphKernelNodeSetParams(
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Changes a kernel node.
            @12000 cuGraphKernelNodeSetParams_v2(
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// One of a kernel node's attributes: [`launch`](crate::cuda::calls::launch)'s number, 64 bytes.
            cuGraphKernelNodeGetAttribute(
                node: *mut ::core::ffi::c_void,
                attribute: i32,
                value: *mut ::core::ffi::c_void
            );
            /// Sets it.
            cuGraphKernelNodeSetAttribute(
                node: *mut ::core::ffi::c_void,
                attribute: i32,
                value: *const ::core::ffi::c_void
            );
            /// Changes a node.
            @12020 cuGraphNodeSetParams(node: *mut ::core::ffi::c_void, params: *mut $crate::cuda::calls::NodeParams);
            /// Makes a graph ready to be started.
            @11000 cuGraphInstantiate_v2(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                error: *mut *mut ::core::ffi::c_void,
                log: *mut ::core::ffi::c_char,
                size: usize
            );
            /// Makes a graph ready to be started.
            @11040 cuGraphInstantiateWithFlags(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                flags: u64
            );
            /// Makes a graph ready to be started.
            @12000 cuGraphInstantiateWithParams(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::InstantiateParams
            );
            /// The same; no stream is the thread's own.
            @12000 cuGraphInstantiateWithParams_ptsz(
                exec: *mut *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::InstantiateParams
            );
            /// Changes a kernel node of a graph that is ready.
            @10010 cuGraphExecKernelNodeSetParams(
                exec: *mut ::core::ffi::c_void,
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Changes a kernel node of a graph that is ready.
            @12000 cuGraphExecKernelNodeSetParams_v2(
                exec: *mut ::core::ffi::c_void,
                node: *mut ::core::ffi::c_void,
                params: *const $crate::cuda::calls::KernelNodeParams
            );
            /// Changes a node of a graph that is ready.
            @12020 cuGraphExecNodeSetParams(
                exec: *mut ::core::ffi::c_void,
                node: *mut ::core::ffi::c_void,
                params: *mut $crate::cuda::calls::NodeParams
            );
            /// Makes a graph that is ready like another.
            @10020 cuGraphExecUpdate(
                exec: *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                error: *mut *mut ::core::ffi::c_void,
                result: *mut i32
            );
            /// Makes a graph that is ready like another.
            @12000 cuGraphExecUpdate_v2(
                exec: *mut ::core::ffi::c_void,
                graph: *mut ::core::ffi::c_void,
                result: *mut $crate::cuda::calls::UpdateResult
            );
            /// Starts a graph.
            @10000 cuGraphLaunch(exec: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
            /// The same; no stream is the thread's own.
            @10000 cuGraphLaunch_ptsz(exec: *mut ::core::ffi::c_void, stream: *mut ::core::ffi::c_void);
            /// Destroys what was made ready.
            @10000 cuGraphExecDestroy(exec: *mut ::core::ffi::c_void);
        }
    };
}
