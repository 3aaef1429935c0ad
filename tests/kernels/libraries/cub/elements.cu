// CUB's run lengths, copies of many ranges, differences of neighbours, loops and transformations.
#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_copy.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_transform.cuh>

#include <cuda/std/tuple>

struct Halve {
    __device__ void operator()(float &x) const { x *= 0.5f; }
};

struct Gather {
    float *sum;
    __device__ void operator()(float x) const { atomicAdd(sum, x); }
};

struct Mark {
    int *marks;
    template <class N>
    __device__ void operator()(N i) const { marks[i] = int(i); }
};

struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
};

void all(void *temporary, size_t &bytes, int *a, float *b, int *count, void **from, void **to, int *sizes, int n) {
    cub::DeviceRunLengthEncode::Encode(temporary, bytes, a, a + n, count, count + n, n);
    cub::DeviceRunLengthEncode::NonTrivialRuns(temporary, bytes, a, a + n, count, count + n, n);
    cub::DeviceMemcpy::Batched(temporary, bytes, from, to, sizes, n);
    cub::DeviceCopy::Batched(temporary, bytes, (float **)from, (float **)to, sizes, n);
    cub::DeviceAdjacentDifference::SubtractLeftCopy(temporary, bytes, b, b + n, n);
    cub::DeviceAdjacentDifference::SubtractRight(temporary, bytes, b, n, Add());
    cub::DeviceFor::ForEachN(b, n, Halve());
    cub::DeviceFor::ForEachCopyN(b, n, Gather{b});
    cub::DeviceFor::Bulk(n, Mark{a});
    cub::DeviceTransform::Transform(cuda::std::make_tuple(b, b + n), b, n, Add());
}
