// A local array of which only the even elements are set.
extern "C" __global__ void local(const int *index, int *out)
{
    int value[8];
    int i = index[threadIdx.x];
    asm volatile("" ::"l"(value) : "memory");
    value[i & 6] = i;
#ifdef FIXED
    value[i | 1] = i;
#endif
    out[threadIdx.x] = value[i]; // FAULT
}
