// CUB's merge sorts with a comparison of its own, and its merge of two sorted sequences.
#include <cub/device/device_merge.cuh>
#include <cub/device/device_merge_sort.cuh>

struct Point {
    float x, y;
};

struct Nearer {
    __device__ bool operator()(const Point &a, const Point &b) const { return a.x * a.x + a.y * a.y < b.x * b.x + b.y * b.y; }
};

struct Less {
    template <class T>
    __device__ bool operator()(const T &a, const T &b) const { return a < b; }
};

void all(void *temporary, size_t &bytes, int *keys, double *wide, Point *points, float *values, int *out, int n) {
    cub::DeviceMergeSort::SortKeys(temporary, bytes, keys, n, Less());
    cub::DeviceMergeSort::StableSortKeys(temporary, bytes, wide, n, Less());
    cub::DeviceMergeSort::SortPairs(temporary, bytes, points, values, n, Nearer());
    cub::DeviceMergeSort::SortKeysCopy(temporary, bytes, keys, out, n, Less());
    cub::DeviceMerge::MergeKeys(temporary, bytes, keys, n, out, n, keys, Less());
    cub::DeviceMerge::MergePairs(temporary, bytes, keys, values, n, out, values, n, keys, values, Less());
}
