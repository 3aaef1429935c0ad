// CUB's radix sorts of keys of one, two, four and eight bytes, of pairs, and of segments.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cuda_fp16.h>

#include <cstdint>

template <class Key>
void keys(void *temporary, size_t &bytes, const Key *in, Key *out, int n) {
    cub::DeviceRadixSort::SortKeys(temporary, bytes, in, out, n);
    cub::DeviceRadixSort::SortKeysDescending(temporary, bytes, in, out, n);
}

template <class Key, class Value>
void pairs(void *temporary, size_t &bytes, const Key *in, Key *out, const Value *from, Value *to, int n) {
    cub::DeviceRadixSort::SortPairs(temporary, bytes, in, out, from, to, n);
}

void all(void *temporary, size_t &bytes, void *in, void *out, void *from, void *to, int n, const int *offsets) {
    keys(temporary, bytes, (const uint8_t *)in, (uint8_t *)out, n);
    keys(temporary, bytes, (const __half *)in, (__half *)out, n);
    keys(temporary, bytes, (const float *)in, (float *)out, n);
    keys(temporary, bytes, (const int64_t *)in, (int64_t *)out, n);
    pairs(temporary, bytes, (const uint32_t *)in, (uint32_t *)out, (const uint32_t *)from, (uint32_t *)to, n);
    pairs(temporary, bytes, (const double *)in, (double *)out, (const double2 *)from, (double2 *)to, n);
    cub::DeviceSegmentedRadixSort::SortPairs(temporary, bytes, (const float *)in, (float *)out, (const int *)from,
                                             (int *)to, n, 16, offsets, offsets + 1);
}
