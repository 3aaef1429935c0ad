"""Writes signal.npy: 4000 samples of an electrocardiogram, 25 heart beats.

Two of the 25 T waves are almost as tall as a beat. All samples are multiples of 1/1024, so every machine writes the same file.
"""

from pathlib import Path

import numpy as np

BEATS, PERIOD = 25, 160
QRS = [-0.10, -0.25, 0.48, 1.20, 0.41, -0.33, -0.12]  # the beat itself: one sample above 0.75, none between 0.65 and 1
TALL = {9: 0.735, 17: 0.715}  # beat -> height of its T wave; all others reach 0.31

k = np.arange(PERIOD)
signal = []
for beat in range(BEATS):
    one = 0.12 * np.exp(-(((k - 22) / 7.0) ** 2))  # P wave
    one += TALL.get(beat, 0.31) * np.exp(-(((k - 92) / 11.0) ** 2))  # T wave
    one[50 : 50 + len(QRS)] += QRS
    signal.append(one)
signal = np.rint(np.concatenate(signal) * 1024).astype(np.float32) / np.float32(1024)
np.save(Path(__file__).parent / "signal.npy", signal)
