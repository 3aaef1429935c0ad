// Everything is in gpu.h.
