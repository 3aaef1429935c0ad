// A smoothing filter that looks one element too far.
extern "C" __global__ void smooth(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float next = x[i + 1];
        y[i] = 0.5f * (x[i] + next);
    }
}
