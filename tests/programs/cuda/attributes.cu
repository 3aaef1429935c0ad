// Launches with attributes: clusters, programmatic dependent launch, cooperative; constants and globals set by the host; a
// symbol's address; a kernel's attributes and occupancy.
#include "common.cuh"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__constant__ uint32_t shift;
__device__ uint32_t total;

__global__ void shifted(const uint32_t *from, uint32_t *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && from[i] % 3 != shift % 3)
        to[i] = from[i] + shift;
}

__global__ void sum(const uint32_t *from, int n)
{
    cg::grid_group grid = cg::this_grid();
    uint32_t mine = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size())
        mine += from[i];
    atomicAdd(&total, mine);
    grid.sync();
    if (grid.thread_rank() == 0)
        total ^= 1;
}

int main()
{
    Numbers numbers(4096);
    uint32_t three = 3, zero = 0, result = 0;
    CHECK(cudaMemcpyToSymbol(shift, &three, 4));
    CHECK(cudaMemcpyToSymbol(total, &zero, 4));
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {2, 1, 1};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(numbers.blocks());
    config.blockDim = dim3(128);
    config.attrs = attributes;
    config.numAttrs = 2;
    CHECK(cudaLaunchKernelEx(&config, shifted, (const uint32_t *)numbers.from, numbers.steps, numbers.n));
    void *args[] = {&numbers.steps, &numbers.n};
    CHECK(cudaLaunchCooperativeKernel((void *)sum, dim3(8), dim3(128), args, 0, 0));
    CHECK(cudaMemcpyFromSymbol(&result, total, 4));
    cudaFuncAttributes has;
    CHECK(cudaFuncGetAttributes(&has, shifted));
    int fit = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, shifted, 128, 0));
    if (has.maxThreadsPerBlock < 128 || fit < 1)
        return 8;
    numbers.say("shifted");
    say("total", &result, 1);
    return 0;
}
