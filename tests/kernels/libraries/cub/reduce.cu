// CUB's reductions: sums, extremes with their places, by key, transformed, of segments.
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Square {
    __device__ float operator()(float x) const { return x * x; }
};

struct Gcd {
    __device__ unsigned operator()(unsigned a, unsigned b) const {
        while (b != 0) {
            unsigned rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    }
};

void all(void *temporary, size_t &bytes, void *in, void *out, int *index, int *keys, int *count, int n) {
    cub::DeviceReduce::Sum(temporary, bytes, (int *)in, (int *)out, n);
    cub::DeviceReduce::Sum(temporary, bytes, (double *)in, (double *)out, n);
    cub::DeviceReduce::Sum(temporary, bytes, (__half *)in, (__half *)out, n);
    cub::DeviceReduce::Max(temporary, bytes, (__nv_bfloat16 *)in, (__nv_bfloat16 *)out, n);
    cub::DeviceReduce::Min(temporary, bytes, (long long *)in, (long long *)out, n);
    cub::DeviceReduce::ArgMax(temporary, bytes, (float *)in, (float *)out, index, (long long)n);
    cub::DeviceReduce::Reduce(temporary, bytes, (unsigned *)in, (unsigned *)out, n, Gcd(), 0u);
    cub::DeviceReduce::TransformReduce(temporary, bytes, (float *)in, (float *)out, n, cuda::std::plus<float>(), Square(),
                                       0.0f);
    cub::DeviceReduce::ReduceByKey(temporary, bytes, keys, keys, (float *)in, (float *)out, count,
                                   cuda::std::plus<float>(), n);
    cub::DeviceSegmentedReduce::Sum(temporary, bytes, (float *)in, (float *)out, 16, keys, keys + 1);
    cub::DeviceSegmentedReduce::ArgMin(temporary, bytes, (float *)in,
                                       (cub::KeyValuePair<int, float> *)out, 16, keys, keys + 1);
    cub::DeviceSegmentedReduce::Max(temporary, bytes, (int *)in, (int *)out, 16, keys, keys + 1);
}
