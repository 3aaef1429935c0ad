import numpy as np

steps, peak = np.zeros(1024, np.uint32), np.zeros(1024, np.uint32)
for i in range(1000):
    v, most, count = i + 1, i + 1, 0
    while v != 1:
        v = 3 * v + 1 if v % 2 else v // 2
        most, count = max(most, v), count + 1
    steps[i], peak[i] = count, most
np.save("expect_steps.npy", steps)
np.save("expect_peak.npy", peak)
