// A local array that clang keeps in registers, which M0 or `s_set_gpr_idx_on` index.
extern "C" __global__ void pick(const int *in, int *out, int n)
{
    int v[12];
    int t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < 12; ++i)
        v[i] = in[12 * t + i];
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        unsigned at = in[k] % 12u;
        v[at] = v[at] * 3 + k;
        if (in[12 * t + k] & 1)
            v[at ^ 1] -= t;
    }
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 12; ++i)
        sum = sum * 5 + v[i];
    out[t] = sum;
}
