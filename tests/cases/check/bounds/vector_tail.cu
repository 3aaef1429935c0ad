// 62 floats are read four at a time: the last vector is half behind the buffer.
extern "C" __global__ void vector_tail(const float *in, float *out, int n)
{
    int i = threadIdx.x;
#ifdef FIXED
    if (4 * i + 3 >= n)
#else
    if (4 * i >= n)
#endif
        return;
    float4 v = ((const float4 *)in)[i]; // FAULT
    out[i] = v.x + v.y + v.z + v.w;
}
