//! The shape of a launch, as the program passes it to the driver.

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Grid size in CTAs, or in clusters if the kernel counts those.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA in bytes.
    pub shared: u32,
    /// CTAs of a cluster, if the launch sets it.
    pub cluster: Option<[u32; 3]>,
}
