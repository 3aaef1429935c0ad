// Every thread adds up the large ones among its slice of `x`; `n` may claim more elements than `x` has.
extern "C" __global__ void slices(const int *x, int *sums, int n)
{
    int sum = 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int v = x[i];
        if (v % 7 > 3) {
            sum += v;
        }
    }
    sums[threadIdx.x] = sum;
}
