//! Runs PTX that a test spells out: one kernel that is given the address of a buffer of words.

use prlx_driver::{Driver, Error, ErrorKind, LaunchConfig, LaunchStats, ModuleCode};
use prlx_emu::{Checks, Emulator, Options};
use prlx_trace::Dim3;
use prlx_trace::check::{Check, Findings};
use prlx_trace::dataflow::DataFlow;

/// A launch to be.
#[derive(Clone, Debug)]
pub struct Case {
    /// Declarations before the kernel.
    pub module: String,
    /// Declarations and instructions of the kernel; `%rd0` is the buffer's address, `%tid` in `%r0`, the
    /// lane's own word's address in `%rd1`.
    pub body: String,
    /// Name of the kernel.
    pub name: &'static str,
    /// CTAs of the grid.
    pub grid: u32,
    /// Threads of a CTA.
    pub block: u32,
    /// CTAs of a cluster.
    pub cluster: u32,
    /// The buffer's words.
    pub words: Vec<u32>,
    /// Limits of the device.
    pub options: Options,
}

impl Case {
    /// One warp, a word for each thread.
    pub fn new(body: &str) -> Case {
        Case {
            module: String::new(),
            body: body.into(),
            name: "k",
            grid: 1,
            block: 32,
            cluster: 1,
            words: vec![0; 32],
            options: Options { max_steps: 2_000_000, threads: 1, ..Options::default() },
        }
    }
    /// Adds declarations before the kernel.
    pub fn module(mut self, text: &str) -> Case {
        self.module = text.into();
        self
    }
    /// With another name of the kernel.
    pub fn kernel(mut self, name: &'static str) -> Case {
        self.name = name;
        self
    }
    /// With this shape, and as many words as threads.
    pub fn shape(mut self, grid: u32, block: u32) -> Case {
        (self.grid, self.block) = (grid, block);
        self.words = vec![0; (grid * block) as usize];
        self
    }
    /// The module's text.
    pub fn text(&self) -> String {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{}\n.visible .entry {}(.param .u64 p)\n{{\n\
             .reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n.reg .f32 %f<16>;\n.reg .b16 \
             %h<16>;\n\
             ld.param.u64 %rd0, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r61, %ctaid.x;\nmov.u32 %r62, %ntid.x;\n\
             mad.lo.u32 %r63, %r61, %r62, %r0;\nmul.wide.u32 %rd31, %r63, 4;\nadd.u64 %rd1, %rd0, %rd31;\n{}\nret;\n}}\n",
            self.module, self.name, self.body
        )
    }
    /// Runs it under a schedule.
    pub fn seed(&self, seed: u64) -> Result<(Vec<u32>, LaunchStats, String), Error> {
        let (words, stats, output, _) = self.run(seed)?;
        Ok((words, stats, output))
    }
    /// The words after a run with its checks, and what they found.
    pub fn checked(&self, seed: u64) -> (Vec<u32>, Findings) {
        let (words, _, _, found) = self.run(seed).unwrap_or_else(|e| panic!("{e}\n{}", self.text()));
        (words, found)
    }
    /// The data flow of a run, and the words after it.
    pub fn data_flow(&self, seed: u64) -> (DataFlow, Vec<u32>) {
        let mut e = Emulator::new(self.options.clone());
        let (words, _) = self.launch(&mut e, seed).unwrap_or_else(|e| panic!("{e}\n{}", self.text()));
        (e.take_dataflow().expect("it was asked for"), words)
    }
    /// What the checks find under the fair schedule.
    pub fn findings(&self) -> Findings {
        self.checked(0).1
    }
    /// How it ends, and what its checks found until then.
    pub fn ends(&self, seed: u64) -> (Option<Error>, Findings) {
        let mut e = Emulator::new(self.options.clone());
        let ended = self.launch(&mut e, seed).err();
        (ended, e.take_findings())
    }
    /// What `--check sync` finds under a seed, and how the launch ends.
    pub fn sync_check(&self, seed: u64) -> (Findings, Option<ErrorKind>) {
        let mut case = self.clone();
        case.options.checks = Checks::NONE.with(Check::Sync);
        case.options.max_steps = 20_000_000;
        let (error, found) = case.ends(seed);
        (found, error.map(|e| e.kind))
    }
    fn run(&self, seed: u64) -> Result<(Vec<u32>, LaunchStats, String, Findings), Error> {
        let mut e = Emulator::new(self.options.clone());
        let (words, stats) = self.launch(&mut e, seed)?;
        let output = String::from_utf8_lossy(&e.take_printed().text).into_owned();
        Ok((words, stats, output, e.take_findings()))
    }
    fn launch(&self, e: &mut Emulator, seed: u64) -> Result<(Vec<u32>, LaunchStats), Error> {
        let module = e.load(ModuleCode::Ptx(&self.text()))?;
        let at = e.alloc(self.words.len() as u64 * 4, 4)?;
        e.name_allocation(at, "words");
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        e.write(at, &bytes)?;
        let shape = |x| Dim3 { x, y: 1, z: 1 };
        let (grid, block, cluster) = (shape(self.grid), shape(self.block), shape(self.cluster));
        let config = LaunchConfig { grid, block, cluster, seed, ..LaunchConfig::default() };
        let stats = e.launch(module, self.name, &config, &at.0.to_le_bytes())?;
        let mut out = vec![0; bytes.len()];
        e.read(at, &mut out)?;
        Ok((out.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect(), stats))
    }
    /// Runs it under the fair schedule.
    pub fn words(&self) -> Vec<u32> {
        self.seed(0).unwrap_or_else(|e| panic!("{e}\n{}", self.text())).0
    }
    /// Runs it under the fair schedule and hostile ones; all must give the same.
    pub fn all(&self) -> Vec<u32> {
        let fair = self.words();
        for seed in 1..60 {
            let (words, ..) = self.seed(seed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", self.text()));
            assert_eq!(words, fair, "seed {seed}");
        }
        fair
    }
    /// The error it ends with.
    pub fn error(&self) -> Error {
        match self.seed(0) {
            Err(e) => e,
            Ok((words, ..)) => panic!("it runs: {words:?}"),
        }
    }
}

/// The bits of -3 … 3 in each type of a matrix (integers: the low 8 bits).
pub fn encode(ty: &str, v: i64) -> u32 {
    let (of, sign) = match ty {
        "f16" => ([0, 0x3c00, 0x4000, 0x4200], 15),
        "bf16" => ([0, 0x3f80, 0x4000, 0x4040], 15),
        "tf32" | "f32" => ([0, 0x3f80_0000, 0x4000_0000, 0x4040_0000], 31),
        "e4m3" => ([0, 0x38, 0x40, 0x44], 7),
        "e5m2" => ([0, 0x3c, 0x40, 0x42], 7),
        "e2m3" => ([0, 0x08, 0x10, 0x14], 5),
        "e3m2" => ([0, 0x0c, 0x10, 0x12], 5),
        "e2m1" => ([0, 0x2, 0x4, 0x5], 3),
        _ => return v as u32 & 0xff,
    };
    of[v.unsigned_abs() as usize] | u32::from(v < 0) << sign
}

/// A small integer as binary16.
pub fn half(v: i64) -> u16 {
    if v == 0 {
        return 0;
    }
    let e = v.unsigned_abs().ilog2();
    assert!(e <= 10);
    u16::from(v < 0) << 15 | ((e + 15) << 10) as u16 | ((v.unsigned_abs() << (10 - e)) & 0x3ff) as u16
}
