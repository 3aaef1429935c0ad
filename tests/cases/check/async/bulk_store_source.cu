// corpus: only sm_90a
// A tile is cleared while a bulk copy still reads it.
extern "C" __global__ void bulk_store_source(const int *in, int *out)
{
    __shared__ __align__(128) int tile[32];
    unsigned from = (unsigned)__cvta_generic_to_shared(tile);
    int t = threadIdx.x;
    tile[t] = in[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out), "r"(from) : "memory"); // OTHER
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifdef FIXED
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
    __syncthreads();
    tile[t] = 0; // FAULT
#ifndef FIXED
    if (t == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}
