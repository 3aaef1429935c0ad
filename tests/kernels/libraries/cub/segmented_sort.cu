// CUB's sorts of segments, which sort small, middle and large segments by kernels of their own.
#include <cub/device/device_segmented_sort.cuh>

void all(void *temporary, size_t &bytes, const float *in, float *out, const int *from, int *to, const double *a, double *b,
         int n, const int *offsets) {
    cub::DeviceSegmentedSort::SortKeys(temporary, bytes, a, b, n, 16, offsets, offsets + 1);
    cub::DeviceSegmentedSort::StableSortPairs(temporary, bytes, in, out, from, to, n, 16, offsets, offsets + 1);
}
