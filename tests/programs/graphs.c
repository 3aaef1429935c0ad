// Kernels in graphs: captured over two streams and replayed, built by hand in each way, changed before and after they are ready.
// `library`: they are a library's, as the CUDA runtime has them.
#include "cu.h"

static CUdeviceptr x, y;
static unsigned n = 64, a = 1;

static void show(const char *what) {
    unsigned host[64], sum = 0;
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(host, y, 256));
    for (int i = 0; i < 64; i++) sum = sum * 31 + host[i];
    printf("%s %u %u %08x\n", what, host[0], host[63], sum);
}

int main(int argc, char **argv) {
    CUmodule module;
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUstream one, two;
    CUevent fork, join;
    CUgraph graph, inner, again;
    CUgraphExec exec;
    CUgraphNode nodes[16], node, last;
    size_t count = 16;
    unsigned host[64], seven = 7, big = 1000;
    start();
    if (argc > 1 && !strcmp(argv[1], "library")) {
        OK(cuLibraryLoadData(&library, saxpy(""), 0, 0, 0, 0, 0, 0));
        OK(cuLibraryGetKernel(&kernel, library, "saxpy"));
        function = (CUfunction)kernel;
    } else {
        OK(cuModuleLoadData(&module, saxpy("")));
        OK(cuModuleGetFunction(&function, module, "saxpy"));
    }
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    for (int i = 0; i < 64; i++) host[i] = i;
    OK(cuMemcpyHtoD_v2(x, host, 256));
    OK(cuMemsetD8_v2(y, 0, 256));
    OK(cuStreamCreate(&one, 1));
    OK(cuStreamCreate(&two, 1));
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    void *params[] = {&n, &a, &x, &y}, *sevens[] = {&n, &seven, &x, &y}, *bigs[] = {&n, &big, &x, &y};
    struct { unsigned n, a; CUdeviceptr x, y; } buffer = {n, a, x, y};
    size_t length = sizeof buffer;
    void *extra[] = {(void *)1, &buffer, (void *)2, &length, 0};

    OK(cuStreamBeginCapture_v2(one, 0));
    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, one, params, 0));
    OK(cuEventRecord(fork, one));
    OK(cuStreamWaitEvent(two, fork, 0));
    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, two, 0, extra));
    OK(cuEventRecord(join, two));
    OK(cuStreamWaitEvent(one, join, 0));
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, one, params, 0));
    OK(cuStreamEndCapture(one, &graph));
    OK(cuGraphGetNodes(graph, nodes, &count));
    printf("%zu nodes\n", count);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 100; i++) OK(cuGraphLaunch(exec, i & 1 ? two : one));
    show("captured");

    // What the driver says of a node can be given back to it.
    CUDA_KERNEL_NODE_PARAMS said, own = {function, {2, 1, 1}, {32, 1, 1}, 0, sevens, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        OK(cuGraphKernelNodeGetParams_v2(nodes[i], &said));
        printf("node of %u threads, a %u\n", said.block[0], *(unsigned *)said.params[1]);
        OK(cuGraphKernelNodeSetParams_v2(nodes[i], &said));
    }
    OK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &own));
    OK(cuGraphLaunch(exec, one));
    show("changed when ready");
    OK(cuGraphKernelNodeSetParams_v2(nodes[1], &own));
    struct { int result; void *error, *from; } updated;
    OK(cuGraphExecUpdate_v2(exec, graph, &updated));
    OK(cuGraphLaunch_ptsz(exec, 0));
    show("updated");
    OK(cuGraphExecDestroy(exec));

    // Clusters, captured and by hand; they stay when parameters change.
    CUlaunchAttribute pair = {4, {0}, {2, 1, 1}};
    CUlaunchConfig config = {{2, 1, 1}, {32, 1, 1}, 0, one, &pair, 1};
    OK(cuStreamBeginCapture_v2(one, 0));
    OK(cuLaunchKernelEx(&config, function, params, 0));
    OK(cuStreamEndCapture(one, &again));
    OK(cuGraphAddKernelNode_v2(&node, again, 0, 0, &own));
    OK(cuGraphKernelNodeSetAttribute(node, 4, pair.value));
    OK(cuGraphKernelNodeSetParams_v2(node, &own));
    OK(cuGraphInstantiateWithFlags(&exec, again, 0));
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &own));
    OK(cuGraphLaunch(exec, one));
    show("in clusters");
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(again));

    // By hand.
    OK(cuGraphCreate(&again, 0));
    own.params = params;
    OK(cuGraphAddKernelNode_v2(&node, again, 0, 0, &own));
    own.params = 0;
    own.extra = extra;
    OK(cuGraphAddKernelNode(&last, again, &node, 1, &own));
    CUgraphNodeParams any = {.type = 0};
    any.kernel = own;
    any.kernel.params = bigs;
    any.kernel.extra = 0;
    OK(cuGraphAddNode_v2(&node, again, &last, 0, 1, &any));
    OK(cuGraphCreate(&inner, 0));
    OK(cuGraphAddChildGraphNode(&node, inner, 0, 0, again));
    OK(cuGraphInstantiateWithFlags(&exec, inner, 0));
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphLaunch(exec, two));
    show("by hand");
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(inner));
    OK(cuGraphDestroy(again));
    OK(cuGraphDestroy(graph));
    return 0;
}
