// An array of 8 in local memory, indexed by data: thread 8 is given index 8.
extern "C" __global__ void local_overrun(const int *index, int *out)
{
    int square[8];
    for (int i = 0; i < 8; ++i)
        square[i] = i * i;
#ifdef FIXED
    int i = min(index[threadIdx.x], 7);
#else
    int i = index[threadIdx.x];
#endif
    out[threadIdx.x] = square[i]; // FAULT
}
