// Eight lanes share one channel of a recording, four channels to a warp. The first lane of each eight reads the channel's
// floor and gives it to the others; samples that are not above it are dropped.

constexpr int LANES = 8;

extern "C" __global__ void gate(const float *samples, const float *floors, int trips, float *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int channel = thread / LANES;
    int lane = thread % LANES;
    float floor = 0.0f;
    if (lane == 0) {
        floor = floors[channel];
    }
    floor = __shfl_sync(0xffffffffu, floor, 0, LANES);
#pragma unroll 1
    for (int trip = 0; trip < trips; ++trip) {
        int at = (channel * trips + trip) * LANES + lane;
        float sample = samples[at];
        if (fabsf(sample) > floor) {
            out[at] = sample;
        }
    }
}
