// Indirect calls: a table of device functions in constant memory, the callee chosen by loaded data.
typedef int (*Operation)(int, int);

__device__ __noinline__ int op_add(int a, int b) { return a + b; }
__device__ __noinline__ int op_sub(int a, int b) { return a - b; }
__device__ __noinline__ int op_mul(int a, int b) { return a * b; }
__device__ __noinline__ int op_max(int a, int b) { return a > b ? a : b; }

__device__ Operation const table[4] = {op_add, op_sub, op_mul, op_max};

extern "C" __global__ void function_pointer(const int *which, const int *a, const int *b, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[which[i]](a[i], b[i]);
}
