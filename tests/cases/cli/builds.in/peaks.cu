// Counts the peaks of each row, and sums their roots. Made by nvcc 13.0 for sm_80, with -ptx -lineinfo -O3 and
//   rolled.ptx    -DUNROLL=1
//   unrolled.ptx  -DUNROLL=4
//   plain.ptx     -DUNROLL=1 -Xcicc -O0
//   wrong.ptx     -DUNROLL=4 -DWRONG
constexpr int unroll = UNROLL;
extern "C" __global__ void peaks(const float *x, float bound, int n, float *sum, int *count)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    const float *p = x + row * n;
    float s = 0;
    int c = 0;
    #pragma unroll unroll
    for (int i = 0; i < n; i++) {
#ifdef WRONG
        float v = p[i == 6 ? 7 : i];
#else
        float v = p[i];
#endif
        if (v > bound) {
            s += sqrtf(v);
            count[row] = ++c;
        }
    }
    sum[row] = s;
}
