// Values that nothing wrote. Each kernel has one fault, which `FIXED` corrects. `FAULT` marks the line of the
// use, after the name of the kernel, and `READ` the line of the read.
struct pair {
    int first;
    int second;
};

struct padded {
    char tag;
    int value;
};

// LDS is read, and nothing wrote it.
extern "C" __global__ void tile_unwritten(const int *in, int *out, int n)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
#if FIXED
    tile[t] = in[t];
    __syncthreads();
#endif
    int x = ((volatile int *)tile)[127 - t]; // tile_unwritten READ
    out[t] = x + 1;                          // tile_unwritten FAULT
}

// Threads return before they have written their elements of LDS.
extern "C" __global__ void early_return(const int *in, int *out, int n)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
#if FIXED
    tile[t] = t < n ? in[t] : 0;
    if (t >= n)
        return;
#else
    if (t >= n)
        return;
    tile[t] = in[t];
#endif
    __syncthreads();
    int x = tile[(t + 1) % 128]; // early_return READ
    if (x > 3)                   // early_return FAULT
        out[t] = 7;
}

// A local array of which only the even elements are set.
extern "C" __global__ void local_array(const int *in, int *out, int n)
{
    volatile int value[8];
    int i = in[threadIdx.x] & 7;
    value[i & 6] = i;
#if FIXED
    value[i | 1] = i;
#endif
    int x = value[i];       // local_array READ
    out[threadIdx.x] = x;   // local_array FAULT
}

// A structure of which one field is set, and both are used.
extern "C" __global__ void partly_written(const int *in, int *out, int n)
{
    __shared__ pair pairs[128];
    int t = threadIdx.x;
    pairs[t].first = in[t];
#if FIXED
    pairs[t].second = t;
#endif
    __syncthreads();
    pair p = pairs[127 - t];     // partly_written READ
    out[t] = p.first + p.second; // partly_written FAULT
}

// An index that nothing wrote.
extern "C" __global__ void wrong_index(const int *in, int *out, int n)
{
    __shared__ int index[128];
    int t = threadIdx.x;
#if FIXED
    index[t] = t;
#else
    if (t < n)
        index[t] = t;
#endif
    __syncthreads();
    int at = index[t] & 63; // wrong_index READ
    out[t] = in[at];        // wrong_index FAULT
}

// A counter in LDS that nothing sets to zero.
extern "C" __global__ void counter(const int *in, int *out, int n)
{
    __shared__ int sum;
    int t = threadIdx.x;
#if FIXED
    if (t == 0)
        sum = 0;
    __syncthreads();
#endif
    atomicAdd(&sum, in[t]); // counter FAULT
    __syncthreads();
    out[t] = sum;
}

// A uniform condition on LDS that nothing wrote.
extern "C" __global__ void uniform_branch(const int *in, int *out, int n)
{
    __shared__ int flag;
    int t = threadIdx.x;
#if FIXED
    if (t == 0)
        flag = in[0];
    __syncthreads();
#endif
    int f = __builtin_amdgcn_readfirstlane(*(volatile int *)&flag); // uniform_branch READ
    if (f > 2)                                                      // uniform_branch FAULT
        out[blockIdx.x] = n;
}

// A buffer of which only the first elements are set.
extern "C" __global__ void scratch_buffer(int *scratch, int *out, int n)
{
    int t = threadIdx.x;
    if (t < n)
        scratch[t] = t;
#if FIXED
    else
        scratch[t] = 0;
#endif
    int x = ((volatile int *)scratch)[t]; // scratch_buffer READ
    out[t] = x * 2;                       // scratch_buffer FAULT
}

// The halves of packed values: one of them is never written.
extern "C" __global__ void packed_half(const int *in, int *out, int n)
{
    __shared__ unsigned short half[256];
    int t = threadIdx.x;
    half[2 * t] = in[t];
#if FIXED
    half[2 * t + 1] = in[t];
#endif
    __syncthreads();
    unsigned both = ((volatile unsigned *)half)[127 - t]; // packed_half READ
    out[t] = (both >> 16) + 1;                            // packed_half FAULT
}

// Correct: undefined values are copied, masked, or not selected. `padded` has three bytes that nothing writes.
extern "C" __global__ void only_copied(const int *in, int *out, int n)
{
    __shared__ padded some[128], others[128];
    __shared__ int tile[256], copy[128];
    __shared__ unsigned short half[256];
    int t = threadIdx.x;
    tile[t] = t < n ? in[t] : 0;
    some[t].tag = (char)in[t];
    some[t].value = in[t];
    half[2 * t] = in[t];
    __syncthreads();
    padded mine = some[127 - t];
    others[t] = mine;
    int x = ((volatile int *)tile)[t + 64];
    ((volatile int *)copy)[t] = x;
    unsigned both = ((volatile unsigned *)half)[t];
    int y = __shfl_xor_sync(~0u, x, 1);
    __syncthreads();
    out[t] = (both & 0xffff) + others[t].tag + others[t].value + (t < 64 ? y & 1 : 0);
}
