// CUB's selections and partitions: by flags, by a condition, first of equals, in three parts.
#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

struct Above {
    int limit;
    template <class T>
    __device__ bool operator()(const T &x) const { return x > T(limit); }
};

void all(void *temporary, size_t &bytes, int *a, double *b, unsigned char *flags, int *count, int n) {
    cub::DeviceSelect::Flagged(temporary, bytes, a, flags, a + n, count, n);
    cub::DeviceSelect::Flagged(temporary, bytes, b, flags, count, n);
    cub::DeviceSelect::If(temporary, bytes, a, a + n, count, n, Above{7});
    cub::DeviceSelect::If(temporary, bytes, b, b + n, count, (long long)n, Above{7});
    cub::DeviceSelect::FlaggedIf(temporary, bytes, b, a, b + n, count, n, Above{7});
    cub::DeviceSelect::Unique(temporary, bytes, a, a + n, count, n);
    cub::DeviceSelect::UniqueByKey(temporary, bytes, a, b, a + n, b + n, count, n);
    cub::DevicePartition::Flagged(temporary, bytes, a, flags, a + n, count, n);
    cub::DevicePartition::If(temporary, bytes, b, b + n, count, n, Above{7});
    cub::DevicePartition::If(temporary, bytes, a, a + n, a + 2 * n, a + 3 * n, count, n, Above{7}, Above{3});
}
