// Runs a short program of one-letter commands for each robot of a swarm, and says where the robot ends.

enum Command { STAY, SLOWER, EAST, WEST, NORTH, SOUTH, HOME, FASTER };

extern "C" __global__ void drive(const unsigned char *programs, int length, int robots, int *xs, int *ys)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= robots) {
        return;
    }
    int x = 0, y = 0, pace = 1;
#pragma unroll 1
    for (int at = 0; at < length; ++at) {
        switch (programs[i * length + at]) {
        case EAST: x += pace; break;
        case WEST: x -= pace; break;
        case NORTH: y += pace; break;
        case SOUTH: y -= pace; break;
        case HOME: x = y = 0; break;
        case FASTER: pace *= 2; break;
        case SLOWER: pace = pace > 1 ? pace / 2 : 1; break;
        }
    }
    xs[i] = x;
    ys[i] = y;
}
