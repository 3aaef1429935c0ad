import hashlib

import numpy as np

messages = np.random.default_rng(56).integers(0, 256, (64, 43), dtype=np.uint8)
np.save("messages.npy", messages.reshape(-1))
digests = b"".join(hashlib.sha256(m.tobytes()).digest() for m in messages)
np.save("expect.npy", np.frombuffer(digests, ">u4").astype(np.uint32))
