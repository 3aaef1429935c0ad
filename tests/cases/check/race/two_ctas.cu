// Both CTAs write the same words: the index forgets which CTA it is in.
extern "C" __global__ void two_ctas(int *out)
{
#ifdef FIXED
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#else
    int i = threadIdx.x;
#endif
    out[i] = blockIdx.x; // FAULT OTHER
}
