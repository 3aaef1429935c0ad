// corpus: keep sm_90a
// A small bytecode interpreter, a program a thread: a switch in a loop, control that follows loaded data.
enum Op : unsigned char { PUSH, ADD, MUL, DUP, SWAP, JUMP_IF, DEC, XOR, STOP };

extern "C" __global__ void state_machine(const unsigned char *code, int stride, const int *input, int *result,
                                         int *steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *program = code + (i % 4) * stride;
    int a = input[i], b = 0, pc = 0, count = 0;
    bool running = true;
    while (running && count < 200) {
        ++count;
        switch (program[pc++]) {
        case PUSH: b = a; a = program[pc++]; break;
        case ADD: a += b; break;
        case MUL: a *= b; break;
        case DUP: b = a; break;
        case SWAP: { int t = a; a = b; b = t; break; }
        case JUMP_IF: { int to = program[pc++]; if (a > 0) pc = to; break; }
        case DEC: --a; break;
        case XOR: a ^= b << 1; break;
        default: running = false;
        }
    }
    result[i] = a * 31 + b;
    steps[i] = count;
}
