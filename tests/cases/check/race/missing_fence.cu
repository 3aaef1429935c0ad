// Data and a flag between two CTAs, and nothing that keeps them in order.
extern "C" __global__ void missing_fence(int *data, volatile int *flag, int *out)
{
    if (blockIdx.x == 0) {
        *data = 42; // OTHER
#ifdef FIXED
        __threadfence();
#endif
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
#ifdef FIXED
        __threadfence();
#endif
        *out = *(volatile int *)data; // FAULT
    }
}
