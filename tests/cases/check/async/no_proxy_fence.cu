// corpus: only sm_90a
// What ordinary stores wrote is copied away by the asynchronous proxy, with no fence between the two.
extern "C" __global__ void no_proxy_fence(const int *in, int *out)
{
    __shared__ __align__(128) int tile[32];
    unsigned from = (unsigned)__cvta_generic_to_shared(tile);
    int t = threadIdx.x;
    tile[t] = in[t]; // OTHER
#ifdef FIXED
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(out), "r"(from) : "memory"); // FAULT
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
