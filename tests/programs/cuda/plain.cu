// Three launches from the runtime API. The first argument is where the numbers begin: another one, another path.
#include "common.cuh"

int main(int argc, char **argv)
{
    Numbers numbers(10000, argc > 1 ? atoi(argv[1]) : 1);
    for (int i = 0; i < 3; ++i)
        collatz<<<numbers.blocks(), 128>>>(numbers.from, numbers.steps, numbers.n - i * 1000);
    CHECK(cudaDeviceSynchronize());
    numbers.say("steps");
    return argc > 2 ? atoi(argv[2]) : 0;
}
