// What a copy brings is read without waiting for it.
extern "C" __global__ void no_wait(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + t);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + t) : "memory"); // OTHER
    asm volatile("cp.async.commit_group;" ::: "memory");
#ifdef FIXED
    asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
    out[t] = tile[t]; // FAULT
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}
