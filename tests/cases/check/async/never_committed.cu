// A wait for groups does not wait for a copy that was never put into one.
extern "C" __global__ void never_committed(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory"); // OTHER
#ifdef FIXED
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    out[t] = tile[t]; // FAULT
}
