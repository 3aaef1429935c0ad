// A captured graph replayed 100 times, with other numbers each time, and a graph built by hand.
#include "common.cuh"

__global__ void next(uint32_t *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        from[i] += 1;
}

int main()
{
    Numbers numbers(5000);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    collatz<<<numbers.blocks(), 128, 0, stream>>>(numbers.from, numbers.steps, numbers.n);
    next<<<numbers.blocks(), 128, 0, stream>>>(numbers.from, numbers.n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 100; ++i)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    numbers.say("captured");

    cudaGraph_t built;
    cudaGraphExec_t runs;
    cudaGraphNode_t node;
    void *args[] = {&numbers.from, &numbers.steps, &numbers.n};
    cudaKernelNodeParams params = {};
    params.func = (void *)collatz;
    params.gridDim = dim3(numbers.blocks());
    params.blockDim = dim3(128);
    params.kernelParams = args;
    CHECK(cudaGraphCreate(&built, 0));
    CHECK(cudaGraphAddKernelNode(&node, built, nullptr, 0, &params));
    CHECK(cudaGraphInstantiate(&runs, built, 0));
    CHECK(cudaGraphLaunch(runs, stream));
    CHECK(cudaStreamSynchronize(stream));
    // What the program set is what it gets.
    cudaKernelNodeParams back = {};
    CHECK(cudaGraphKernelNodeGetParams(node, &back));
    if (back.gridDim.x != params.gridDim.x || *(int *)back.kernelParams[2] != numbers.n)
        return 8;
    numbers.say("built");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(runs));
    return 0;
}
