// The fences are there, but they order the threads of one CTA only, and the reader is in another.
#ifdef FIXED
#define FENCE __threadfence()
#else
#define FENCE __threadfence_block()
#endif

extern "C" __global__ void narrow_fence(int *data, volatile int *flag, int *out)
{
    if (blockIdx.x == 0) {
        *data = 42; // OTHER
        FENCE;
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        FENCE;
        *out = *data; // FAULT
    }
}
