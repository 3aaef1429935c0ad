// CUB's histograms: even and given bins, one and four channels.
#include <cub/device/device_histogram.cuh>

#include <cuda/std/array>

void all(void *temporary, size_t &bytes, unsigned char *pixels, float *samples, int *bins, const float *levels, int n) {
    cuda::std::array<int *, 3> channels{bins, bins + 256, bins + 512};
    cuda::std::array<int, 3> counts{257, 257, 257}, lower{0, 0, 0}, upper{256, 256, 256};
    cub::DeviceHistogram::HistogramEven(temporary, bytes, samples, bins, 65, 0.0f, 1.0f, n);
    cub::DeviceHistogram::HistogramRange(temporary, bytes, samples, bins, 65, levels, n);
    cub::DeviceHistogram::HistogramEven(temporary, bytes, pixels, bins, 257, 0, 256, n);
    cub::DeviceHistogram::MultiHistogramEven<4, 3>(temporary, bytes, pixels, channels, counts, lower, upper, n);
}
