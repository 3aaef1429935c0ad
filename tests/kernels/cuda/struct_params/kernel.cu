// Parameters by value: nested structs, arrays in structs, small integers, a pointer inside a struct indexed at run time.
struct Inner {
    short kind;
    double weight;
};

struct Options {
    signed char shift;
    int limit;
    float table[4];
    Inner inner;
    unsigned char last;
};

extern "C" __global__ void struct_params(Options o, const int *in, float *out, short bias, bool negate, double scale)
{
    int i = threadIdx.x;
    int v = min((in[i] >> o.shift) + bias, o.limit);
    float f = v * o.table[i & 3] + (float)(o.inner.weight * scale) + o.inner.kind + o.last;
    out[i] = negate ? -f : f;
}
