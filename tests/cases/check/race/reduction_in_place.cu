// A tree reduction without the barrier between its steps.
extern "C" __global__ void reduction_in_place(const int *in, int *out)
{
    __shared__ int sum[128];
    int t = threadIdx.x;
    sum[t] = in[t];
    __syncthreads();
    if (t < 64)
        sum[t] += sum[t + 64]; // OTHER
#ifdef FIXED
    __syncthreads();
#endif
    if (t < 32)
        out[t] = sum[t + 32]; // FAULT
}
