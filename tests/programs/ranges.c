// Launches in NVTX ranges, by NVTX's own headers. As a library (-DTOOL): a user's injection library, which counts calls.
#ifdef TOOL
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

static int pushes, pops;
static int push(const char *name) { return 100 + pushes++; }
static int pop(void) { return pops++; }
__attribute__((destructor)) static void end(void) { printf("tool: %d pushes, %d pops\n", pushes, pops); }

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
    const NvtxExportTableCallbacks *callbacks = tables(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
#else
#include "cu.h"
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <wchar.h>

static CUfunction function;
static CUcontext context;
static CUdeviceptr data;

static void launch(void) {
    unsigned n = 64, a = 3;
    CUdeviceptr y = data + 256;
    void *params[] = {&n, &a, &data, &y};
    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, 0, params, 0));
}

static void *other_thread(void *unused) {
    cuCtxSetCurrent(context);
    launch();
    nvtxRangePushA("other");
    launch();
    nvtxRangePop();
    return 0;
}

int main(void) {
    CUmodule module;
    pthread_t thread;
    start();
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuModuleLoadData(&module, saxpy("")));
    OK(cuModuleGetFunction(&function, module, "saxpy"));
    OK(cuMemAlloc_v2(&data, 512));
    OK(cuMemsetD8_v2(data, 1, 512));
    launch();  // 0: no range
    int levels[4];
    levels[0] = nvtxRangePushA("step");
    launch();  // 1: step
    levels[1] = nvtxRangePushW(L"in\u00e9r");
    launch();  // 2: step, inér
    levels[2] = nvtxRangePop();
    nvtxDomainHandle_t domain = nvtxDomainCreateA("lib");
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION, event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED, event.message.registered = nvtxDomainRegisterStringA(domain, "op");
    nvtxDomainRangePushEx(domain, &event);
    launch();  // 3: step, op@lib
    levels[3] = nvtxRangePop();
    launch();  // 4: op@lib
    nvtxDomainRangePop(domain);
    nvtxRangeId_t id = nvtxRangeStartA("whole");
    nvtxRangePushA("step");
    pthread_create(&thread, 0, other_thread, 0);
    pthread_join(thread, 0);  // 5: whole; 6: whole, other
    launch();  // 7: whole, step
    nvtxRangeEnd(id);
    launch();  // 8: step
    nvtxRangePop();
    launch();  // 9: no range
    OK(cuCtxSynchronize());
    printf("levels %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3]);
    return 0;
}
#endif
