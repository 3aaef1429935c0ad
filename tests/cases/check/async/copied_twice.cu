// A second copy goes where the first has not come yet: which of them stays is open.
extern "C" __global__ void copied_twice(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory"); // OTHER
    asm volatile("cp.async.commit_group;" ::: "memory");
#ifdef FIXED
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + 32 + t) : "memory"); // FAULT
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    out[t] = tile[t];
}
