// corpus: only sm_90a
// The result of a bulk copy to global memory is read after a wait that only says that its source was read.
#ifdef FIXED
#define WAIT "cp.async.bulk.wait_group 0;"
#else
#define WAIT "cp.async.bulk.wait_group.read 0;"
#endif

extern "C" __global__ void bulk_store_read(const int *in, int *out, int *sum)
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
        asm volatile(WAIT ::: "memory");
        sum[0] = ((volatile int *)out)[5]; // FAULT
    }
}
