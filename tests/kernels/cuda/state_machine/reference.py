import numpy as np

PUSH, ADD, MUL, DUP, SWAP, JUMP_IF, DEC, XOR, STOP = range(9)
programs = [
    [DUP, DEC, JUMP_IF, 1, ADD, STOP],
    [PUSH, 7, MUL, XOR, SWAP, DEC, JUMP_IF, 3, STOP],
    [DUP, MUL, PUSH, 3, XOR, ADD, STOP],
    [DEC, SWAP, XOR, SWAP, DEC, JUMP_IF, 0, DUP, ADD, STOP],
]
code = np.full((4, 16), STOP, np.uint8)
for row, program in zip(code, programs):
    row[: len(program)] = program
values = np.random.default_rng(26).integers(-20, 60, 128, dtype=np.int32)
np.save("code.npy", code.reshape(-1))
np.save("input.npy", values)


def wrap(v):
    return (v + 2**31) % 2**32 - 2**31


def interpret(program, a):
    b = pc = count = 0
    while count < 200:
        count += 1
        op = program[pc]
        pc += 1
        if op == PUSH:
            a, b, pc = int(program[pc]), a, pc + 1
        elif op == ADD:
            a = wrap(a + b)
        elif op == MUL:
            a = wrap(a * b)
        elif op == DUP:
            b = a
        elif op == SWAP:
            a, b = b, a
        elif op == JUMP_IF:
            pc = int(program[pc]) if a > 0 else pc + 1
        elif op == DEC:
            a = wrap(a - 1)
        elif op == XOR:
            a = wrap(a ^ (b << 1))
        else:
            break
    return wrap(a * 31 + b), count


results = [interpret(code[i % 4], int(values[i])) for i in range(128)]
np.save("expect_result.npy", np.array([r for r, _ in results], np.int32))
np.save("expect_steps.npy", np.array([c for _, c in results], np.int32))
