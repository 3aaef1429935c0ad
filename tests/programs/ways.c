// Loads an image in a way and launches its kernel in every way; prints what comes of it. argv: way, file, kernel.
#include "cu.h"

static CUdeviceptr x, y;
static unsigned n = 100, a = 3;

static void show(const char *what) {
    unsigned host[100], sum = 0;
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(host, y, 400));
    for (int i = 0; i < 100; i++) sum = sum * 31 + host[i];
    printf("%s %u %u %08x\n", what, host[0], host[99], sum);
}

int main(int argc, char **argv) {
    const char *way = argv[1], *file = argv[2], *name = argc > 3 ? argv[3] : "saxpy";
    static char image[1 << 20];
    FILE *in = fopen(file, "rb");
    size_t size = fread(image, 1, sizeof image - 1, in);
    fclose(in);
    start();
    CUmodule module = 0;
    CUlibrary library = 0;
    CUfunction function = 0;
    CUkernel kernel = 0;
    CUlinkState link = 0;
    int code = 0;
    struct { unsigned magic, version; const void *at, *more; } wrapper = {0x466243b1, 1, image, 0};
    if (!strcmp(way, "data")) code = cuModuleLoadData(&module, image);
    if (!strcmp(way, "options")) {
        int option[] = {0, 7};
        void *value[] = {(void *)64, (void *)2};
        code = cuModuleLoadDataEx(&module, image, 2, option, value);
    }
    if (!strcmp(way, "file")) code = cuModuleLoad(&module, file);
    if (!strcmp(way, "fatbin")) code = cuModuleLoadFatBinary(&module, image);
    // The image stays where it is; the CUDA runtime says so without a value.
    int preserved[] = {1};
    if (!strcmp(way, "wrapped")) code = cuLibraryLoadData(&library, &wrapper, 0, 0, 0, preserved, 0, 1);
    if (!strcmp(way, "library")) code = cuLibraryLoadData(&library, image, 0, 0, 0, 0, 0, 0);
    if (!strcmp(way, "library-file")) code = cuLibraryLoadFromFile(&library, file, 0, 0, 0, 0, 0, 0);
    if (!strncmp(way, "link", 4)) {
        void *cubin;
        size_t length;
        OK(cuLinkCreate_v2(0, 0, 0, &link));
        if (!strcmp(way, "link")) OK(cuLinkAddData_v2(link, 1, image, size + 1, "ptx", 0, 0, 0));
        else OK(cuLinkAddFile_v2(link, 1, file, 0, 0, 0));
        OK(cuLinkComplete(link, &cubin, &length));
        code = cuModuleLoadData(&module, cubin);
        OK(cuLinkDestroy(link));
    }
    if (code) return printf("does not load: %d\n", code), 0;
    // Any other image is the program's own again.
    if (strcmp(way, "wrapped")) memset(image, 0, sizeof image);
    if (library) {
        CUkernel all[8] = {0};
        CUlibrary of;
        CUdeviceptr at;
        unsigned count;
        const char *called;
        OK(cuLibraryGetKernel(&kernel, library, name));
        OK(cuLibraryGetKernelCount(&count, library));
        OK(cuLibraryEnumerateKernels(all, count, library));
        OK(cuKernelGetName(&called, kernel));
        OK(cuKernelGetLibrary(&of, kernel));
        TRUE(of == library);
        OK(cuKernelGetFunction(&function, kernel));
        OK(cuLibraryGetModule(&module, library));
        printf("%u kernels, %s\n", count, called);
        if (!cuLibraryGetGlobal(&at, 0, library, "bias")) puts("bias is there");
    } else {
        OK(cuModuleGetFunction(&function, module, name));
    }
    unsigned count = 0, bias = 11;
    size_t offset, bytes;
    CUdeviceptr at;
    OK(cuModuleGetFunctionCount(&count, module));
    CUfunction all[8];
    OK(cuModuleEnumerateFunctions(all, count, module));
    printf("%u functions, parameters", count);
    for (int i = 0; !cuFuncGetParamInfo(function, i, &offset, &bytes); i++) printf(" %zu+%zu", offset, bytes);
    puts("");
    if (cuModuleGetGlobal_v2(&at, &bytes, module, "bias") == 0) {
        OK(cuMemcpyHtoD_v2(at, &bias, 4));
        printf("bias of %zu bytes\n", bytes);
    }
    OK(cuMemAlloc_v2(&x, 400));
    OK(cuMemAlloc_v2(&y, 400));
    unsigned host[100];
    for (int i = 0; i < 100; i++) host[i] = i * i + (i & 3);
    OK(cuMemcpyHtoD_v2(x, host, 400));
    OK(cuMemsetD8_v2(y, 0, 400));

    void *params[] = {&n, &a, &x, &y};
    struct { unsigned n, a; CUdeviceptr x, y; } buffer = {n, a, x, y};
    size_t length = sizeof buffer;
    void *extra[] = {(void *)1, &buffer, (void *)2, &length, 0};
    CUlaunchAttribute attributes[] = {{.id = 4, .value = {2, 1, 1}}, {.id = 6, .value = {1}}};
    CUlaunchConfig config = {{4, 1, 1}, {32, 1, 1}, 0, 0, attributes, 2};
    OK(cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, 0, params, 0));
    show("params");
    OK(cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, 0, 0, extra));
    show("extra");
    OK(cuLaunchKernelEx(&config, function, params, 0));
    show("ex");
    OK(cuLaunchKernelEx(&config, function, 0, extra));
    show("ex extra");
    OK(cuLaunchCooperativeKernel(function, 4, 1, 1, 32, 1, 1, 0, 0, params));
    show("cooperative");
    OK(cuLaunchKernel_ptsz(function, 4, 1, 1, 32, 1, 1, 0, 0, params, 0));
    OK(cuLaunchKernelEx_ptsz(&config, function, params, 0));
    OK(cuLaunchCooperativeKernel_ptsz(function, 4, 1, 1, 32, 1, 1, 0, 0, params));
    show("own stream");
    OK(cuLaunchKernel(all[0], 4, 1, 1, 32, 1, 1, 0, 0, params, 0));
    show("enumerated");
    if (kernel) {
        OK(cuLaunchKernel((CUfunction)kernel, 4, 1, 1, 32, 1, 1, 0, 0, params, 0));
        show("kernel");
    }
    IS(1, cuLaunchKernel(function, 4, 1, 1, 2000, 1, 1, 0, 0, params, 0));
    if (library) OK(cuLibraryUnload(library));
    else OK(cuModuleUnload(module));
    printf("%d\n", cuLaunchKernel(function, 4, 1, 1, 32, 1, 1, 0, 0, params, 0));
    return 0;
}
