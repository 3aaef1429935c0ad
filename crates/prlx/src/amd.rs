//! Lists the AMD code objects of a file, as values to show or to write as JSON.
//!
//! # Invariants
//! An image that cannot be read is listed with the reason, and does not hide the others.
//!
//! # Limitations
//! Machine code is not decoded.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use prlx_isa::amdgpu::object::{
    self, Argument, CodeObject, Compression, Descriptor, Field, Image, Kernel, KernelMetadata, Symbol,
    TargetId, Unknown, Version, WorkgroupIds,
};
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::Level;
use prlx_trace::kernel::Module;
use serde::Serialize;

/// A code object of a file.
#[derive(Serialize, Debug)]
pub struct AmdImage {
    /// Its number in the file, as `--image` takes it.
    pub image: usize,
    /// Number of the bundle that it belongs to.
    pub bundle: usize,
    /// Offset in the file: of the code object, or of its compressed bundle.
    pub offset: u64,
    /// Offset in the decompressed bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_in_bundle: Option<u64>,
    /// ID in the bundle; empty for a code object by itself.
    pub id: String,
    /// Target ID; `None` if PRLX does not read code for it.
    pub target: Option<String>,
    /// `zlib` or `zstd`.
    pub compression: Option<&'static str>,
    /// Bytes of the code object.
    pub size: u64,
    /// Whether the runtime takes it for the device that was asked for.
    pub chosen: bool,
    /// Why it is not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it holds.
    #[serde(flatten)]
    pub object: Option<AmdObject>,
}

/// What a code object holds.
#[derive(Serialize, Debug)]
pub struct AmdObject {
    /// Version of the code object: 4 to 6.
    pub version: u32,
    /// Kernels, by the address of their descriptor.
    pub kernels: Vec<AmdKernel>,
    /// Functions that are no kernels.
    pub functions: Vec<AmdSymbol>,
    /// Variables in its memory, kernel descriptors aside.
    pub variables: Vec<AmdSymbol>,
    /// Number of addresses that a loader relocates.
    pub relocations: usize,
    /// Formats of printed text, as the metadata has them.
    pub printf: Vec<String>,
    /// Keys of the metadata that PRLX does not know.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, String>,
}

/// A symbol of a code object.
#[derive(Serialize, Debug)]
pub struct AmdSymbol {
    /// The symbol's name.
    pub name: String,
    /// Address in memory.
    pub address: u64,
    /// Bytes that it takes.
    pub size: u64,
}

/// A kernel of a code object.
#[derive(Serialize, Debug)]
pub struct AmdKernel {
    /// The kernel's name.
    pub name: String,
    /// Address of its code.
    pub address: u64,
    /// Bytes of its code.
    pub size: u64,
    /// Offset of its descriptor in the code object.
    pub descriptor_offset: u64,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// VGPRs of a lane that instructions may name.
    pub vgprs: u32,
    /// AGPRs of a lane that instructions may name.
    pub agprs: u32,
    /// Vector registers of a lane that hardware allocates, of both kinds.
    pub vgprs_allocated: u32,
    /// SGPRs of a wave.
    pub sgprs: u32,
    /// Bytes of LDS of a workgroup.
    pub lds: u32,
    /// Bytes of scratch memory of a lane.
    pub scratch: u32,
    /// Whether its stack has no fixed size, and needs scratch memory beyond that.
    pub dynamic_stack: bool,
    /// Bytes of the arguments.
    pub kernarg_size: u32,
    /// Arguments, hidden ones last.
    pub args: Vec<AmdArg>,
    /// Scalar registers with an initial content: their names, as `s[0:1]`, and what they hold.
    pub sgprs_at_entry: Vec<(String, String)>,
    /// Vector registers with the number of the workitem: their names, and the dimensions in them.
    pub vgprs_at_entry: Vec<(String, String)>,
    /// Arguments that are in SGPRs at entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preload: Option<AmdPreload>,
    /// How floating-point operations round, and what they do with denormals.
    pub float_modes: Vec<String>,
    /// Fields of the descriptor, by the names of LLVM's documentation.
    pub descriptor: BTreeMap<&'static str, u32>,
    /// Reserved bits of the descriptor that are set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reserved_bits: Vec<u16>,
    /// What the metadata says beyond that; `None` if it does not name the kernel.
    pub metadata: Option<AmdMetadata>,
    /// Where descriptor and metadata disagree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Arguments that hardware loads before a kernel begins.
#[derive(Serialize, Debug)]
pub struct AmdPreload {
    /// Number of 32-bit words.
    pub dwords: u32,
    /// Offset of the first, bytes.
    pub offset: u32,
    /// Bytes at the beginning of the code that such hardware skips.
    pub prologue: u64,
}

/// What the metadata says about a kernel, beyond what its descriptor says.
#[derive(Serialize, Debug)]
#[allow(missing_docs, reason = "the names are those of the metadata, see `KernelMetadata`")]
pub struct AmdMetadata {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    pub sgpr_count: u64,
    pub vgpr_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agpr_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sgpr_spill_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vgpr_spill_count: Option<u64>,
    pub max_flat_workgroup_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reqd_workgroup_size: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uniform_work_group_size: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_dims: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, String>,
}

/// An argument of a kernel.
#[derive(Serialize, Debug)]
pub struct AmdArg {
    /// Offset in the kernel's arguments, bytes.
    pub offset: u64,
    /// Bytes that it takes.
    pub size: u64,
    /// Kind, as `global_buffer` or `hidden_block_count_x`.
    pub kind: String,
    /// Name in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Type in the source.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Address space and how it is accessed, as `global`, `const` or `write_only`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Keys of the metadata that PRLX does not know.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, String>,
}

impl AmdArg {
    /// Whether the runtime fills it in.
    pub fn is_hidden(&self) -> bool {
        self.kind.starts_with("hidden_")
    }
}

/// The code objects in the bytes of a file, with the kernels, functions and variables whose names are
/// wanted; none if it is no file of AMD's, nor a program with bundles. Images that the runtime takes for
/// `device` are marked.
///
/// # Errors
/// If the structure of the file is damaged.
pub fn images(
    bytes: &[u8],
    path: &Path,
    device: Option<TargetId>,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<AmdImage>> {
    if !object::is_binary(bytes) && !bytes.starts_with(b"\x7fELF") {
        return Ok(Vec::new());
    }
    let images = object::read(bytes).with_context(|| path.display().to_string())?;
    let bundles = images.last().map_or(0, |i| i.bundle + 1);
    let chosen: Vec<Option<(u64, Option<u64>)>> = (0..bundles)
        .map(|bundle| object::choose(&images, bundle, device?).map(|image| (image.at, image.within)))
        .collect();
    // A decompressed bundle goes with the last of its images.
    let image = |(number, image): (usize, Image<'_>)| {
        let place = Some((image.at, image.within));
        image_of(number, &image, device.is_some() && chosen.get(image.bundle) == Some(&place), wanted)
    };
    Ok(images.into_iter().enumerate().map(image).collect())
}

/// The code objects of a file, or image number `image` of it, planned for the `path` recorder.
///
/// # Errors
/// If the file or a code object is damaged, or there is no such image.
pub fn planned(bytes: &[u8], path: &Path, image: Option<usize>) -> Result<Vec<Module>> {
    let file = path.display().to_string();
    let images = object::read(bytes).with_context(|| file.clone())?;
    let count = images.len();
    let wanted: Vec<(usize, &Image<'_>)> =
        images.iter().enumerate().filter(|(n, _)| image.is_none_or(|image| image == *n)).collect();
    if let (Some(n), true) = (image, wanted.is_empty()) {
        return Err(no_image(&file, n, count));
    }
    let request = RecordingRequest::new(Level::Path);
    let module = |(n, image): (usize, &Image<'_>)| {
        let name = if count == 1 { file.clone() } else { format!("{file}, image {n}") };
        let object = image.code_object().and_then(|object| prlx_isa::amdgpu::read(&object));
        let view = object.map_err(|e| anyhow::anyhow!("{name}: {}", within(&e)))?;
        Ok(Plan::resolve(&request, &view, &name, &|_| None).module)
    };
    wanted.into_iter().map(module).collect()
}

/// The only code object of a file, or image number `image` of it; `None` if it is no file of AMD's.
///
/// # Errors
/// If the file is damaged, there is no such image, or there are several and none is named.
pub fn object(bytes: &[u8], path: &Path, image: Option<usize>) -> Result<Option<Vec<u8>>> {
    let cuda = prlx_isa::image::is_binary(bytes);
    if !object::is_binary(bytes) && (cuda || !bytes.starts_with(b"\x7fELF")) {
        return Ok(None);
    }
    let file = path.display().to_string();
    let images = object::read(bytes).with_context(|| file.clone())?;
    let count = images.len();
    let one = match (image, images.as_slice()) {
        // A program without code of AMD's.
        (_, []) => return Ok(None),
        (Some(n), all) => all.get(n),
        (None, [one]) => Some(one),
        (None, _) => anyhow::bail!("{file} has {count} AMD code objects: name one with --image"),
    };
    let one = one.ok_or_else(|| no_image(&file, image.unwrap_or(0), count))?;
    let bytes = one.bytes().map_err(|e| anyhow::anyhow!("{file}: {}", within(&e)))?;
    Ok(Some(bytes.to_vec()))
}

fn no_image(file: &str, image: usize, count: usize) -> anyhow::Error {
    anyhow::anyhow!("{file}: there is no image {image}: the file has {count} AMD code objects")
}

fn image_of(number: usize, image: &Image<'_>, chosen: bool, wanted: &dyn Fn(&str) -> bool) -> AmdImage {
    let read = match &image.target {
        Err(why) => Err(why.clone()),
        Ok(id) => image.code_object().map_err(|e| within(&e)).and_then(|object| {
            let same = object.target.to_string() == id.to_string();
            let other = || format!("the bundle says {id}, and the code object says {}", object.target);
            same.then(|| object_of(&object, wanted)).ok_or_else(other)
        }),
    };
    let (object, error) = match read {
        Ok(object) => (Some(object), None),
        Err(error) => (None, Some(error)),
    };
    AmdImage {
        image: number,
        bundle: image.bundle,
        offset: image.at,
        offset_in_bundle: image.within,
        id: image.id.clone(),
        target: image.target.as_ref().ok().map(ToString::to_string),
        compression: image.compression.map(|method| match method {
            Compression::Zlib => "zlib",
            Compression::Zstd => "zstd",
        }),
        size: image.size,
        chosen,
        error,
        object,
    }
}

/// An error with its place, which is one in the code object and not in the file.
fn within(error: &prlx_isa::image::Error) -> String {
    match error.at {
        0 => error.what.clone(),
        at => format!("{} (at byte {at} of the code object)", error.what),
    }
}

fn object_of(object: &CodeObject<'_>, wanted: &dyn Fn(&str) -> bool) -> AmdObject {
    let symbol = |s: &Symbol<'_>| AmdSymbol { name: s.name.to_owned(), address: s.value, size: s.size };
    let kernels: std::collections::BTreeSet<&str> = object.kernels.iter().map(|k| k.name.as_str()).collect();
    let functions = object.functions().filter(|s| !kernels.contains(s.name) && wanted(s.name));
    AmdObject {
        version: match object.version {
            Version::V4 => 4,
            Version::V5 => 5,
            Version::V6 => 6,
        },
        kernels: object.kernels.iter().filter(|k| wanted(&k.name)).map(|k| kernel_of(object, k)).collect(),
        functions: functions.map(symbol).collect(),
        variables: object.variables().filter(|s| wanted(s.name)).map(symbol).collect(),
        relocations: object.relocations.len(),
        printf: object.metadata.printf.clone(),
        unknown: map(&object.metadata.unknown),
    }
}

fn kernel_of(object: &CodeObject<'_>, kernel: &Kernel) -> AmdKernel {
    let descriptor = &kernel.descriptor;
    let metadata = kernel.metadata.and_then(|i| object.metadata.kernels.get(i));
    let vgprs = descriptor.vgprs();
    let value = |field| descriptor.get(field).unwrap_or_default();
    let mut args: Vec<AmdArg> = metadata.into_iter().flat_map(|m| &m.args).map(argument).collect();
    args.sort_by_key(|a| (a.is_hidden(), a.offset));
    AmdKernel {
        name: kernel.name.clone(),
        address: kernel.code.start,
        size: kernel.code.end - kernel.code.start,
        descriptor_offset: kernel.at,
        wave_size: descriptor.wave_size(),
        vgprs: vgprs.vector,
        agprs: vgprs.accumulator,
        vgprs_allocated: vgprs.allocated,
        sgprs: descriptor.sgprs(),
        lds: value(Field::GroupSegment),
        scratch: value(Field::PrivateSegment),
        dynamic_stack: descriptor.is_set(Field::DynamicStack),
        kernarg_size: value(Field::Kernarg),
        args,
        sgprs_at_entry: scalar_registers(descriptor),
        vgprs_at_entry: vector_registers(descriptor),
        preload: descriptor.preload().map(|(dwords, offset)| AmdPreload {
            dwords,
            offset,
            prologue: object::PRELOAD_PROLOGUE,
        }),
        float_modes: float_modes(descriptor),
        descriptor: descriptor.fields().map(|(field, value)| (field.name(), value)).collect(),
        reserved_bits: descriptor.reserved(),
        metadata: metadata.map(metadata_of),
        warnings: metadata.map(|m| warnings(descriptor, m)).unwrap_or_default(),
    }
}

fn argument(a: &Argument) -> AmdArg {
    let mut flags: Vec<String> =
        [&a.address_space, &a.access, &a.actual_access].into_iter().flatten().cloned().collect();
    let named = [
        ("const", a.is_const),
        ("restrict", a.is_restrict),
        ("volatile", a.is_volatile),
        ("pipe", a.is_pipe),
    ];
    flags.extend(named.iter().filter(|(_, is)| *is == Some(true)).map(|(name, _)| (*name).to_owned()));
    flags.extend(a.pointee_align.map(|align| format!("aligned to {align}")));
    AmdArg {
        offset: a.offset,
        size: a.size,
        kind: a.kind.name().to_owned(),
        name: a.name.clone(),
        type_name: a.type_name.clone(),
        flags,
        unknown: map(&a.unknown),
    }
}

fn metadata_of(m: &KernelMetadata) -> AmdMetadata {
    AmdMetadata {
        name: m.name.clone(),
        language: m.language.clone(),
        sgpr_count: m.sgpr_count,
        vgpr_count: m.vgpr_count,
        agpr_count: m.agpr_count,
        sgpr_spill_count: m.sgpr_spill_count,
        vgpr_spill_count: m.vgpr_spill_count,
        max_flat_workgroup_size: m.max_flat_workgroup_size,
        reqd_workgroup_size: m.reqd_workgroup_size.clone(),
        kind: m.kind.clone(),
        uniform_work_group_size: m.uniform_work_group_size,
        cluster_dims: m.cluster_dims.clone(),
        unknown: map(&m.unknown),
    }
}

fn map(unknown: &Unknown) -> BTreeMap<String, String> {
    unknown.iter().cloned().collect()
}

/// Registers by their first number and how many there are, as `s[0:1]`.
fn registers(prefix: char, first: u32, count: u32) -> String {
    match count {
        1 => format!("{prefix}{first}"),
        _ => format!("{prefix}[{first}:{}]", first + count.saturating_sub(1)),
    }
}

fn scalar_registers(descriptor: &Descriptor) -> Vec<(String, String)> {
    let sgprs = descriptor.initial_sgprs().into_iter();
    let mut all: Vec<_> =
        sgprs.map(|s| (registers('s', s.first, s.count), s.content.name().to_owned())).collect();
    if descriptor.workgroup_ids() == WorkgroupIds::TrapTemporaries {
        all.push(("ttmp9".into(), "workgroup_id_x".into()));
        all.push(("ttmp7".into(), "workgroup_id_y, workgroup_id_z".into()));
    }
    all
}

fn vector_registers(descriptor: &Descriptor) -> Vec<(String, String)> {
    let names = ["workitem_id_x", "workitem_id_y", "workitem_id_z"];
    let names: Vec<&str> =
        names.into_iter().take(descriptor.workitem_dimensions().unwrap_or(1) as usize).collect();
    if descriptor.packs_workitem_ids() {
        return vec![("v0".into(), names.join(", "))];
    }
    (0..).zip(names).map(|(n, name)| (registers('v', n, 1), name.to_owned())).collect()
}

/// Modes that floating-point operations begin with.
fn float_modes(descriptor: &Descriptor) -> Vec<String> {
    let value = |field| descriptor.get(field).unwrap_or_default();
    let rounds = |field| ["to nearest even", "up", "down", "toward zero"].get(value(field) as usize).copied();
    let denormals = |field| {
        ["flushed", "flushed in results", "flushed in operands", "kept"].get(value(field) as usize).copied()
    };
    let mode = |round, denormal| {
        let (round, denormal) = (rounds(round).unwrap_or_default(), denormals(denormal).unwrap_or_default());
        format!("round {round}, denormals are {denormal}")
    };
    let single = mode(Field::Round32, Field::Denorm32);
    let others = mode(Field::Round16And64, Field::Denorm16And64);
    let mut all = match single == others {
        true => vec![format!("f16, f32 and f64 {single}")],
        false => vec![format!("f32 {single}"), format!("f16 and f64 {others}")],
    };
    for (field, text) in [
        (Field::IeeeMode, "signalling NaNs are quieted"),
        (Field::Dx10Clamp, "clamps turn NaN into 0"),
        (Field::Fp16Overflow, "f16 overflow is clamped"),
    ] {
        all.extend(descriptor.is_set(field).then(|| text.to_owned()));
    }
    all
}

/// Where descriptor and metadata disagree.
fn warnings(descriptor: &Descriptor, metadata: &KernelMetadata) -> Vec<String> {
    let value = |field| u64::from(descriptor.get(field).unwrap_or_default());
    let compared = [
        ("LDS bytes", value(Field::GroupSegment), metadata.group_segment_fixed_size),
        ("scratch bytes", value(Field::PrivateSegment), metadata.private_segment_fixed_size),
        ("argument bytes", value(Field::Kernarg), metadata.kernarg_segment_size),
        ("lanes of a wave", descriptor.wave_size().into(), metadata.wavefront_size),
    ];
    let differs = compared.into_iter().filter(|(_, descriptor, metadata)| descriptor != metadata);
    differs
        .map(|(what, descriptor, metadata)| {
            format!("{what}: {descriptor} in the descriptor, {metadata} in the metadata")
        })
        .collect()
}
