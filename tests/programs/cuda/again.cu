// Launches the same again and again: of so many numbers, so many launches, a wait after each so many of them (0: at the end). Says
// on standard error how long a launch took, waits and all; the first ones are not counted.
#include "common.cuh"
#include <chrono>

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000, launches = argc > 2 ? atoi(argv[2]) : 10, each = argc > 3 ? atoi(argv[3]) : 1;
    Numbers numbers(n);
    auto some = [&](int count) {
        auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i) {
            collatz<<<numbers.blocks(), 128>>>(numbers.from, numbers.steps, n);
            if (each && i % each == each - 1)
                CHECK(cudaDeviceSynchronize());
        }
        CHECK(cudaDeviceSynchronize());
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / count;
    };
    some(launches / 10 + 1);
    fprintf(stderr, "a launch: %.1f us\n", some(launches));
    numbers.say("steps");
    return 0;
}
