// Two CTAs of a grid: each waits for the flag that the other sets behind its own wait.
extern "C" __global__ void grid_flags_crossed(volatile int *first, volatile int *second, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
#ifdef FIXED
            *second = 1;
#endif
            while (*first == 0) // FAULT
                ;
#ifndef FIXED
            *second = 1;
#endif
        } else {
            while (*second == 0) // OTHER
                ;
            *first = 1;
        }
    }
    __syncthreads(); // OTHER
    out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
}
