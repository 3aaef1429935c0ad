// A kernel writes to its own parameters through their address.
struct Bounds { int from, to; };

extern "C" __global__ void param_write(const __grid_constant__ Bounds bounds, int *out)
{
    int i = threadIdx.x;
#ifdef FIXED
    int *to = out + i;
#else
    int *to = (int *)&bounds + i % 2;
#endif
    asm volatile("st.b32 [%0], %1;" ::"l"(to), "r"(bounds.from + i) : "memory"); // FAULT
}
