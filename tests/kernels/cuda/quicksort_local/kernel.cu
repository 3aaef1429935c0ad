// Quicksort with an explicit stack, a thread an array of 24: local memory, data-dependent loops, no recursion.
extern "C" __global__ void quicksort_local(int *data, int arrays)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= arrays)
        return;
    int a[24], stack[48], top = 0;
    for (int k = 0; k < 24; ++k)
        a[k] = data[i * 24 + k];
    stack[top++] = 0;
    stack[top++] = 23;
    while (top > 0) {
        int high = stack[--top], low = stack[--top];
        if (low >= high)
            continue;
        int pivot = a[high], split = low;
        for (int k = low; k < high; ++k)
            if (a[k] < pivot) {
                int t = a[k];
                a[k] = a[split];
                a[split++] = t;
            }
        a[high] = a[split];
        a[split] = pivot;
        stack[top++] = low;
        stack[top++] = split - 1;
        stack[top++] = split + 1;
        stack[top++] = high;
    }
    for (int k = 0; k < 24; ++k)
        data[i * 24 + k] = a[k];
}
