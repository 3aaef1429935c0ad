// A store into a table in constant memory.
__constant__ int table[4] = {1, 2, 3, 4};

extern "C" __global__ void const_write(int *out)
{
    int i = threadIdx.x;
#ifdef FIXED
    int *to = out;
#else
    int *to = (int *)table;
#endif
    asm volatile("st.b32 [%0], %1;" ::"l"(to + i), "r"(table[i] + 1) : "memory"); // FAULT
}
