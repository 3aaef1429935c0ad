// CUB's scans: sums of several types, an operator of its own, scans by key.
#include <cub/device/device_scan.cuh>
#include <cuda/std/functional>

struct Line {
    float slope, offset;
};

struct Compose {
    __device__ Line operator()(const Line &a, const Line &b) const {
        return {a.slope * b.slope, a.offset * b.slope + b.offset};
    }
};

struct Max {
    template <class T>
    __device__ T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};

void all(void *temporary, size_t &bytes, int *a, float *b, double *c, unsigned char *d, Line *lines, int n) {
    cub::DeviceScan::ExclusiveSum(temporary, bytes, a, a, n);
    cub::DeviceScan::InclusiveSum(temporary, bytes, b, b, n);
    cub::DeviceScan::InclusiveSum(temporary, bytes, c, c, (long long)n);
    cub::DeviceScan::ExclusiveScan(temporary, bytes, d, d, Max(), (unsigned char)0, n);
    cub::DeviceScan::InclusiveScan(temporary, bytes, lines, lines, Compose(), n);
    cub::DeviceScan::InclusiveSumByKey(temporary, bytes, a, b, b, n);
    cub::DeviceScan::ExclusiveScanByKey(temporary, bytes, a, c, c, Max(), 0.0, n);
}
