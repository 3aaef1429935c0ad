// One wave of 64 lanes. Lanes 0-31 write neighbouring words; lanes 32-63 all write to one bank (stride of 32 words).
extern "C" __global__ void upper(int* out)
{
    __shared__ int s[2048];
    int t = threadIdx.x;
    int at = t < 32 ? t : 32 * t;
    s[at] = t;
    __syncthreads();
    out[t] = s[2047 & (at * 1)];
}
