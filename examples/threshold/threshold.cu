// Finds the beats in an electrocardiogram: samples whose magnitude exceeds a threshold.
// A grid-stride loop: each thread marks the beats among its own samples and keeps their energy.

__device__ __forceinline__ void take_beat(float sample, float threshold, float &energy, int *mark)
{
    if (fabsf(sample) > threshold) {
        energy += sample * sample;
        *mark = 1;
    }
}

extern "C" __global__ void find_beats(const float *signal, int length, float threshold, int *marks, float *energy)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int threads = gridDim.x * blockDim.x;
    float mine = 0.0f;
#pragma unroll 1
    for (int i = thread; i < length; i += threads) {
        take_beat(signal[i], threshold, mine, &marks[i]);
    }
    energy[thread] = mine;
}
