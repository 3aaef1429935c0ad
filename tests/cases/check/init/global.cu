// The input buffer was allocated, and nothing has written it.
extern "C" __global__ void global(int *in, int *out)
{
    int i = threadIdx.x;
#ifdef FIXED
    in[i] = i;
#endif
    out[i] = in[i] + 1; // FAULT
}
