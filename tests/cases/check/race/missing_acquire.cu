// The writer of a flag releases; its reader does not acquire.
extern "C" __global__ void missing_acquire(int *data, int *flag, int *out)
{
    if (blockIdx.x == 0) {
        *data = 42; // OTHER
        asm volatile("st.release.gpu.global.b32 [%0], 1;" ::"l"(flag) : "memory");
    } else {
        int seen;
        do {
#ifdef FIXED
            asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
#else
            asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
#endif
        } while (!seen);
        *out = *data; // FAULT
    }
}
