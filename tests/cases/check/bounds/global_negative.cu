// The first thread has no left neighbour: it reads the element before the buffer.
extern "C" __global__ void global_negative(const int *in, int *out)
{
    int i = threadIdx.x;
#ifdef FIXED
    int left = max(i - 1, 0);
#else
    int left = i - 1;
#endif
    out[i] = in[i] - in[left]; // FAULT
}
