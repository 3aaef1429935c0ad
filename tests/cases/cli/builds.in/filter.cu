// A filter whose inner loop has a constant number of trips. Made by nvcc 13.0 for sm_80, with -ptx -lineinfo -O3 and
//   filter-1.ptx  -DUNROLL=1
//   filter-4.ptx  -DUNROLL=4: the inner loop is gone
constexpr int unroll = UNROLL;
extern "C" __global__ void filter(const float *x, int rows, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    #pragma unroll 1
    for (int r = 0; r < rows; r++) {
        if (x[r] < 0.25f)
            continue;
        #pragma unroll unroll
        for (int k = 0; k < 4; k++) {
            float v = x[(i + r * 4 + k) & 63];
            if (v > 0.5f) {
                s += v;
                out[i + 32 * k] = s;
            }
        }
    }
    out[i] += s;
}
