// Each thread waits for its own copies, and then reads another's: a barrier is missing.
extern "C" __global__ void waited_for_own_only(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory"); // OTHER
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#ifdef FIXED
    __syncthreads();
#endif
    out[t] = tile[t ^ 32]; // FAULT
}
