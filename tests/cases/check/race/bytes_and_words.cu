// One warp writes bytes, the other reads them as words, without a barrier between.
extern "C" __global__ void bytes_and_words(int *out)
{
    __shared__ int words[8];
    int t = threadIdx.x;
    if (t < 32)
        ((unsigned char *)words)[t] = t; // OTHER
#ifdef FIXED
    __syncthreads();
#endif
    if (t >= 32)
        out[t] = words[t % 8]; // FAULT
}
