// Programs leave in different ways, and fork. argv: how.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cu.h"

static void work(const char *who) {
    CUmodule module;
    CUfunction function;
    CUdeviceptr x, y;
    unsigned n = 32, a = 4, host[32];
    start();
    for (int round = 0; round < 3; round++) {
        OK(cuModuleLoadData(&module, saxpy(round == 1 ? ".global .align 4 .b8 room[64];\n" : "")));
        OK(cuModuleGetFunction(&function, module, "saxpy"));
        OK(cuMemAlloc_v2(&x, 128));
        OK(cuMemAlloc_v2(&y, 128));
        OK(cuMemsetD8_v2(x, 1, 128));
        OK(cuMemsetD8_v2(y, 0, 128));
        void *params[] = {&n, &a, &x, &y};
        OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, params, 0));
        OK(cuCtxSynchronize());
        OK(cuMemcpyDtoH_v2(host, y, 128));
        printf("%s %08x\n", who, host[7]);
        if (round == 0) OK(cuModuleUnload(module));
        if (round == 1) OK(cuDevicePrimaryCtxReset_v2(0));
    }
    fflush(stdout);
}

static void handler(int number) {
    _exit(3);
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    int status;
    if (!strcmp(how, "fork")) {
        // Before CUDA is used, a child is a process like any other.
        if (fork() == 0) work("child"), _exit(7);
        wait(&status);
        work("parent");
        // After it, the driver does not work in a child; that it is there does no harm.
        if (fork() == 0) {
            CUdeviceptr at;
            _exit(cuMemAlloc_v2(&at, 8) == 3 ? 5 : 6);
        }
        wait(&status);
        return WEXITSTATUS(status);
    }
    if (!strcmp(how, "destroy")) {
        // A context of its own, which goes with launches that nobody has waited for.
        CUcontext context;
        CUmodule module;
        CUfunction function;
        CUdeviceptr x;
        unsigned n = 32, a = 4;
        find();
        OK(cuInit(0));
        OK(cuCtxCreate_v2(&context, 0, 0));
        OK(cuModuleLoadData(&module, saxpy("")));
        OK(cuModuleGetFunction(&function, module, "saxpy"));
        OK(cuMemAlloc_v2(&x, 128));
        OK(cuMemsetD8_v2(x, 1, 128));
        void *params[] = {&n, &a, &x, &x};
        for (int i = 0; i < 3; i++) OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, params, 0));
        OK(cuCtxDestroy_v2(context));
        return 4;
    }
    work("it");
    if (!strcmp(how, "_exit")) _exit(3);
    if (!strcmp(how, "_Exit")) _Exit(3);
    if (!strcmp(how, "quick_exit")) quick_exit(3);
    if (!strcmp(how, "handler")) signal(SIGUSR1, handler), raise(SIGUSR1);
    if (!strcmp(how, "release")) OK(cuDevicePrimaryCtxRelease_v2(0));
    if (!strcmp(how, "vfork")) {
        // A child in the parent's memory: what it leaves undone is the parent's.
        if (vfork() == 0) _exit(5);
        wait(&status);
    }
    if (!strcmp(how, "kill")) usleep(300000), kill(getpid(), SIGKILL);
    if (!strcmp(how, "signal")) kill(getpid(), SIGTERM);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "fault") || !strcmp(how, "queued")) {
        CUmodule module;
        CUfunction function;
        CUdeviceptr x = 64, y = 64, good;
        unsigned n = 32, a = 4;
        void *params[] = {&n, &a, &x, &y};
        OK(cuModuleLoadData(&module, saxpy("")));
        OK(cuModuleGetFunction(&function, module, "saxpy"));
        // What waits for a launch waits a bounded time for its recording: a busy machine gets more.
        usleep(300000);
        if (!strcmp(how, "queued")) {
            // Two that nobody waits for, before the one that faults.
            void *right[] = {&n, &a, &good, &good};
            OK(cuMemAlloc_v2(&good, 128));
            OK(cuMemsetD8_v2(good, 1, 128));
            for (int i = 0; i < 2; i++) OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, right, 0));
        }
        OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, params, 0));
        printf("%d\n", cuCtxSynchronize());
    }
    return 4;
}
