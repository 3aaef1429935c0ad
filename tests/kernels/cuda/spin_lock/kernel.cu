// A lock taken by every lane of every warp: progress needs a fair scheduler; the guarded update is not atomic itself.
extern "C" __global__ void spin_lock(int *lock, volatile int *data, int rounds)
{
    for (int r = 0; r < rounds; ++r) {
        bool done = false;
        while (!done) {
            if (atomicCAS(lock, 0, 1) == 0) {
                __threadfence();
                data[0] = data[0] + 1;
                data[1] = data[1] ^ (blockIdx.x * blockDim.x + threadIdx.x + 1);
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            } else {
                __nanosleep(20);
            }
        }
    }
}
