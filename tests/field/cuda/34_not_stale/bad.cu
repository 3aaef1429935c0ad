extern "C" __global__ void largest(const float *x, float *out, int *at)
{
    __shared__ float sv[3];
    __shared__ int si[3];
    float v = fabsf(x[threadIdx.x]);
    int i = threadIdx.x;
    if (threadIdx.x % 32 == 0) {
        sv[threadIdx.x / 32] = v;
        si[threadIdx.x / 32] = i;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 3; w++) {
            if (sv[w] > v || (sv[w] == v && si[w] < i)) {
                v = sv[w];
                i = si[w];
            }
        }
        out[0] = v;
        at[0] = i;
    }
}
