//! The shape of a launch, as the program passes it to the driver.

/// How a kernel is started.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// CTAs, or clusters if the kernel counts those.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// CTAs of a cluster, where it is said.
    pub cluster: Option<[u32; 3]>,
}
