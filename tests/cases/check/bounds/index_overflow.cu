// A product of two int exceeds 32 bits before it is divided again: from thread 54 on the index is negative.
extern "C" __global__ void index_overflow(const int *in, int *out, int scale, int back)
{
    int i = threadIdx.x;
#ifdef FIXED
    int at = (int)((long long)i * scale / back);
#else
    int at = i * scale / back;
#endif
    out[i] = in[at]; // FAULT
}
