// The part of the CUDA driver API that the programs here use, as cuda.h declares it; so that they need no toolkit.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUlinkState_st *CUlinkState;
typedef unsigned long long CUdeviceptr;
typedef struct { int id; char pad[4]; unsigned value[16]; } CUlaunchAttribute;
typedef struct {
    unsigned grid[3], block[3], shared;
    CUstream stream;
    CUlaunchAttribute *attrs;
    unsigned count;
} CUlaunchConfig;
typedef struct {
    CUfunction func;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    CUkernel kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;
typedef struct {
    int type, reserved0[3];
    union { long long reserved1[29]; CUDA_KERNEL_NODE_PARAMS kernel; };
    long long reserved2;
} CUgraphNodeParams;

#define CALLS(X) \
    X(cuInit, (unsigned)) X(cuDriverGetVersion, (int *)) X(cuDeviceGet, (CUdevice *, int)) \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice)) X(cuDevicePrimaryCtxRelease_v2, (CUdevice)) \
    X(cuDevicePrimaryCtxReset_v2, (CUdevice)) X(cuCtxSetCurrent, (CUcontext)) X(cuCtxSynchronize, (void)) \
    X(cuCtxCreate_v2, (CUcontext *, unsigned, CUdevice)) X(cuCtxDestroy_v2, (CUcontext)) \
    X(cuGetProcAddress_v2, (const char *, void **, int, unsigned long long, int *)) \
    X(cuGetProcAddress, (const char *, void **, int, unsigned long long)) \
    X(cuModuleLoad, (CUmodule *, const char *)) X(cuModuleLoadData, (CUmodule *, const void *)) \
    X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, int *, void **)) \
    X(cuModuleLoadFatBinary, (CUmodule *, const void *)) X(cuModuleUnload, (CUmodule)) \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *)) \
    X(cuModuleGetFunctionCount, (unsigned *, CUmodule)) \
    X(cuModuleEnumerateFunctions, (CUfunction *, unsigned, CUmodule)) \
    X(cuModuleGetGlobal_v2, (CUdeviceptr *, size_t *, CUmodule, const char *)) \
    X(cuLibraryLoadData, (CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned)) \
    X(cuLibraryLoadFromFile, (CUlibrary *, const char *, int *, void **, unsigned, int *, void **, unsigned)) \
    X(cuLibraryUnload, (CUlibrary)) X(cuLibraryGetKernel, (CUkernel *, CUlibrary, const char *)) \
    X(cuLibraryGetKernelCount, (unsigned *, CUlibrary)) X(cuLibraryEnumerateKernels, (CUkernel *, unsigned, CUlibrary)) \
    X(cuLibraryGetModule, (CUmodule *, CUlibrary)) X(cuKernelGetFunction, (CUfunction *, CUkernel)) \
    X(cuLibraryGetGlobal, (CUdeviceptr *, size_t *, CUlibrary, const char *)) \
    X(cuKernelGetLibrary, (CUlibrary *, CUkernel)) X(cuKernelGetName, (const char **, CUkernel)) \
    X(cuKernelGetParamInfo, (CUkernel, size_t, size_t *, size_t *)) \
    X(cuFuncGetParamInfo, (CUfunction, size_t, size_t *, size_t *)) X(cuFuncGetName, (const char **, CUfunction)) \
    X(cuFuncGetModule, (CUmodule *, CUfunction)) X(cuFuncGetAttribute, (int *, int, CUfunction)) \
    X(cuFuncSetAttribute, (CUfunction, int, int)) \
    X(cuLinkCreate_v2, (unsigned, int *, void **, CUlinkState *)) \
    X(cuLinkAddData_v2, (CUlinkState, int, void *, size_t, const char *, unsigned, int *, void **)) \
    X(cuLinkAddFile_v2, (CUlinkState, int, const char *, unsigned, int *, void **)) \
    X(cuLinkComplete, (CUlinkState, void **, size_t *)) X(cuLinkDestroy, (CUlinkState)) \
    X(cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **)) \
    X(cuLaunchKernel_ptsz, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **)) \
    X(cuLaunchCooperativeKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **)) \
    X(cuLaunchCooperativeKernel_ptsz, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **)) \
    X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **)) \
    X(cuLaunchKernelEx_ptsz, (const CUlaunchConfig *, CUfunction, void **, void **)) \
    X(cuMemHostRegister_v2, (void *, size_t, unsigned)) X(cuMemHostUnregister, (void *)) \
    X(cuMemHostGetDevicePointer_v2, (CUdeviceptr *, void *, unsigned)) \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t)) X(cuMemFree_v2, (CUdeviceptr)) \
    X(cuMemHostAlloc, (void **, size_t, unsigned)) X(cuMemFreeHost, (void *)) \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t)) \
    X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t)) X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream)) \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream)) \
    X(cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream)) \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
    X(cuStreamCreate, (CUstream *, unsigned)) X(cuStreamDestroy_v2, (CUstream)) X(cuStreamSynchronize, (CUstream)) \
    X(cuStreamSynchronize_ptsz, (CUstream)) X(cuStreamQuery, (CUstream)) X(cuStreamWaitEvent, (CUstream, CUevent, unsigned)) \
    X(cuStreamBeginCapture_v2, (CUstream, int)) X(cuStreamEndCapture, (CUstream, CUgraph *)) \
    X(cuStreamIsCapturing, (CUstream, int *)) X(cuThreadExchangeStreamCaptureMode, (int *)) \
    X(cuEventCreate, (CUevent *, unsigned)) X(cuEventRecord, (CUevent, CUstream)) X(cuEventQuery, (CUevent)) \
    X(cuEventSynchronize, (CUevent)) X(cuEventDestroy_v2, (CUevent)) \
    X(cuTensorMapEncodeTiled, (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, int, int, int, int)) \
    X(cuGraphCreate, (CUgraph *, unsigned)) X(cuGraphDestroy, (CUgraph)) \
    X(cuGraphGetNodes, (CUgraph, CUgraphNode *, size_t *)) X(cuGraphNodeGetType, (CUgraphNode, int *)) \
    X(cuGraphAddKernelNode_v2, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_KERNEL_NODE_PARAMS *)) \
    X(cuGraphAddKernelNode, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_KERNEL_NODE_PARAMS *)) \
    X(cuGraphAddNode_v2, (CUgraphNode *, CUgraph, const CUgraphNode *, const void *, size_t, CUgraphNodeParams *)) \
    X(cuGraphAddChildGraphNode, (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph)) \
    X(cuGraphKernelNodeGetParams_v2, (CUgraphNode, CUDA_KERNEL_NODE_PARAMS *)) \
    X(cuGraphKernelNodeGetParams, (CUgraphNode, CUDA_KERNEL_NODE_PARAMS *)) \
    X(cuGraphKernelNodeSetParams_v2, (CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *)) \
    X(cuGraphKernelNodeSetAttribute, (CUgraphNode, int, const void *)) \
    X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long)) \
    X(cuGraphExecKernelNodeSetParams_v2, (CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *)) \
    X(cuGraphExecUpdate_v2, (CUgraphExec, CUgraph, void *)) \
    X(cuGraphLaunch, (CUgraphExec, CUstream)) X(cuGraphLaunch_ptsz, (CUgraphExec, CUstream)) X(cuGraphExecDestroy, (CUgraphExec))

// How a program finds them: linked; by dlsym in a library of its own scope (FIND=1); by cuGetProcAddress (FIND=2).
#ifndef FIND
#define DECLARE(name, arguments) extern CUresult name arguments;
CALLS(DECLARE)
static void find(void) {}
#else
#include <dlfcn.h>
#define DECLARE(name, arguments) static CUresult (*name) arguments;
CALLS(DECLARE)
static void find(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) puts(dlerror()), exit(1);
#if FIND == 1
#define LOOK(name, arguments) name = (CUresult(*) arguments)dlsym(driver, #name);
#else
    CUresult (*get)(const char *, void **, int, unsigned long long, int *);
    void *at = dlsym(driver, "cuGetProcAddress_v2");
    get = (CUresult(*)(const char *, void **, int, unsigned long long, int *))at;
    char text[64], *end;
#define LOOK(name, arguments) \
    strcpy(text, #name); \
    int own_##name = (end = strstr(text, "_ptsz")) ? (*end = 0, 2) : 0; \
    if ((end = strstr(text, "_v2"))) *end = 0; \
    if (get(text, &at, 12040, own_##name, 0)) at = dlsym(driver, #name); \
    name = (CUresult(*) arguments)at;
#endif
    CALLS(LOOK)
}
#endif

// A call that must answer `want`; OK: 0.
#define IS(want, call) \
    do { \
        int got_ = (call); \
        if (got_ != (want)) { printf("%s:%d: %s answers %d, not %d\n", __FILE__, __LINE__, #call, got_, (int)(want)), exit(1); } \
    } while (0)
#define OK(call) IS(0, call)
#define TRUE(what) \
    do { \
        if (!(what)) { printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #what), exit(1); } \
    } while (0)

static CUcontext start(void) {
    find();
    CUdevice device;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    return context;
}

// The PTX of `names` kernels: y[i] = a * x[i] + y[i], with a branch where x[i] is odd: adds 1.
static char *saxpy(const char *more) {
    static char text[1 << 16];
    snprintf(text, sizeof text,
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .const .align 4 .u32 bias = 5;\n"
        "%s"
        ".visible .entry saxpy(.param .u32 n, .param .u32 a, .param .u64 x, .param .u64 y)\n{\n"
        ".reg .pred %%p<4>;\n.reg .b32 %%r<16>;\n.reg .b64 %%rd<16>;\n"
        "ld.param.u32 %%r1, [n];\nld.param.u32 %%r2, [a];\nld.param.u64 %%rd1, [x];\nld.param.u64 %%rd2, [y];\n"
        "mov.u32 %%r3, %%ctaid.x;\nmov.u32 %%r4, %%ntid.x;\nmov.u32 %%r5, %%tid.x;\nmad.lo.s32 %%r6, %%r3, %%r4, %%r5;\n"
        "setp.ge.u32 %%p1, %%r6, %%r1;\n@%%p1 bra END;\n"
        "mul.wide.u32 %%rd3, %%r6, 4;\nadd.s64 %%rd4, %%rd1, %%rd3;\nadd.s64 %%rd5, %%rd2, %%rd3;\n"
        "ld.global.u32 %%r7, [%%rd4];\nld.global.u32 %%r8, [%%rd5];\nmad.lo.u32 %%r9, %%r7, %%r2, %%r8;\n"
        "and.b32 %%r10, %%r7, 1;\nsetp.eq.u32 %%p2, %%r10, 0;\n@%%p2 bra EVEN;\n"
        "ld.const.u32 %%r11, [bias];\nadd.u32 %%r9, %%r9, %%r11;\n"
        "EVEN:\nst.global.u32 [%%rd5], %%r9;\nEND:\nret;\n}\n", more);
    return text;
}
