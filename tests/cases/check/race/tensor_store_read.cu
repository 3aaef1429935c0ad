// corpus: only sm_90a
// A thread reads a tensor into which another has stored a tile, with nothing between them.
#include <cuda.h>
#include <cstdint>

extern "C" __global__ void tensor_store_read(const __grid_constant__ CUtensorMap to, const int *there, int *out)
{
    __shared__ __align__(128) int tile[64];
    unsigned from = (unsigned)__cvta_generic_to_shared(tile);
    tile[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(0), "r"(1), "r"(from) : "memory"); // OTHER
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
#ifdef FIXED
    __syncthreads();
#endif
    out[threadIdx.x] = ((volatile const int *)there)[16 + threadIdx.x]; // FAULT
}
