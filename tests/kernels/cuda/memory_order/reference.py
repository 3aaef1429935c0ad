import numpy as np

payload = (np.arange(64) * 7 + 5).astype(np.int32)
np.save("expect_payload.npy", payload)
np.save("expect_received.npy", payload + 1)
np.save("expect_counter.npy", np.array([192], np.int32))
