// Launches until it kills itself, in the way that its argument says: nothing of it may be lost but what had not ended.
#include "common.cuh"
#include <csignal>
#include <cstring>
#include <unistd.h>

int main(int argc, char **argv)
{
    Numbers numbers(10000);
    for (int i = 0; i < 20; ++i) {
        collatz<<<numbers.blocks(), 128>>>(numbers.from, numbers.steps, numbers.n);
        CHECK(cudaDeviceSynchronize());
        usleep(20000);
    }
    numbers.say("steps");
    const char *how = argc > 1 ? argv[1] : "kill";
    if (!strcmp(how, "exit"))
        _exit(7);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "fork")) {
        if (fork() == 0)
            _exit(0);
        return 0;
    }
    if (!strcmp(how, "reset")) {
        CHECK(cudaDeviceReset());
        return 0;
    }
    kill(getpid(), SIGKILL);
}
