// corpus: only sm_90a
// A CTA ends while a bulk copy still reads its shared memory, which is another CTA's from then on.
extern "C" __global__ void left_under_way(const int *in, int *out)
{
    __shared__ __align__(128) int tile[32];
    unsigned from = (unsigned)__cvta_generic_to_shared(tile);
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 32 + t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out + blockIdx.x * 32), "r"(from) : "memory"); // FAULT
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifdef FIXED
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
}
