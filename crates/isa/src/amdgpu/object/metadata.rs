//! The metadata of code objects: what a runtime needs to know of each kernel (LLVM, User Guide for AMDGPU
//! Backend, "Code Object Metadata", versions 4 to 6).
//!
//! # Invariants
//! Keys that PRLX does not know are kept with their values and listed ([`Metadata::unknown`] and the fields
//! of that name). So are kinds of arguments ([`ValueKind::Other`]).

use super::msgpack::{self, Data, Value};
use crate::image::Error;

/// Characters of a kernel's name in errors.
const NAMED: usize = 120;

/// Keys that PRLX does not know, with their values as text.
pub type Unknown = Vec<(String, String)>;

/// The metadata of a code object.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Metadata {
    /// `amdhsa.version`: major and minor; 1.1 is code object V4, 1.2 is V5 and V6.
    pub version: (u64, u64),
    /// `amdhsa.target`, as `amdgcn-amd-amdhsa--gfx942`.
    pub target: String,
    /// `amdhsa.printf`: one string for each call, with its number and the sizes of its arguments.
    pub printf: Vec<String>,
    /// `amdhsa.kernels`, in file order.
    pub kernels: Vec<KernelMetadata>,
    /// Keys that PRLX does not know.
    pub unknown: Unknown,
}

/// What the metadata says about a kernel. Numbers that are not stored are `None`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct KernelMetadata {
    /// Name in the source.
    pub name: String,
    /// Symbol of the kernel's descriptor, as `NAME.kd`.
    pub symbol: String,
    /// Language of the source, as `OpenCL C` or `HIP`.
    pub language: Option<String>,
    /// Version of the language.
    pub language_version: Option<Vec<u64>>,
    /// Arguments, in file order.
    pub args: Vec<Argument>,
    /// Bytes of all arguments, hidden ones included.
    pub kernarg_segment_size: u64,
    /// Alignment of the arguments, bytes.
    pub kernarg_segment_align: u64,
    /// LDS of a workgroup, bytes, without what is allocated at the launch.
    pub group_segment_fixed_size: u64,
    /// Scratch memory of a lane, bytes.
    pub private_segment_fixed_size: u64,
    /// Lanes of a wave.
    pub wavefront_size: u64,
    /// Scalar registers that the kernel needs.
    pub sgpr_count: u64,
    /// Vector registers that the kernel needs; on targets with a unified file, AGPRs included.
    pub vgpr_count: u64,
    /// Accumulator registers that the kernel needs.
    pub agpr_count: Option<u64>,
    /// Stores that save scalar registers to a stack slot.
    pub sgpr_spill_count: Option<u64>,
    /// Stores that save vector registers to a stack slot.
    pub vgpr_spill_count: Option<u64>,
    /// Workitems of a workgroup at most.
    pub max_flat_workgroup_size: u64,
    /// Size that every workgroup must have.
    pub reqd_workgroup_size: Option<Vec<u64>>,
    /// Likely size of workgroups.
    pub workgroup_size_hint: Option<Vec<u64>>,
    /// Likely vector type of the source.
    pub vec_type_hint: Option<String>,
    /// Symbol for launches from the device.
    pub device_enqueue_symbol: Option<String>,
    /// `normal`, `init` or `fini`; the former if it is not stored.
    pub kind: Option<String>,
    /// Workgroups of a launch at most, by dimension.
    pub max_num_workgroups: [Option<u64>; 3],
    /// Whether the stack has no fixed size.
    pub uses_dynamic_stack: Option<bool>,
    /// Whether workgroups run on both compute units of a workgroup processor.
    pub workgroup_processor_mode: Option<bool>,
    /// Whether the grid must be a multiple of the workgroup.
    pub uniform_work_group_size: Option<bool>,
    /// Size of clusters of workgroups (V6).
    pub cluster_dims: Option<Vec<u64>>,
    /// Keys that PRLX does not know.
    pub unknown: Unknown,
}

/// An argument of a kernel.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Argument {
    /// Name in the source, if it is stored.
    pub name: Option<String>,
    /// Type in the source, if it is stored.
    pub type_name: Option<String>,
    /// Offset in the kernel's arguments, bytes.
    pub offset: u64,
    /// Bytes that it takes there.
    pub size: u64,
    /// What is passed.
    pub kind: ValueKind,
    /// Alignment of what a pointer to LDS points to, bytes.
    pub pointee_align: Option<u64>,
    /// Address space of a pointer: `global`, `constant`, `local`, `generic`, `private` or `region`.
    pub address_space: Option<String>,
    /// How the source may access it: `read_only`, `write_only` or `read_write`.
    pub access: Option<String>,
    /// How the kernel accesses it.
    pub actual_access: Option<String>,
    /// Whether it points to constant data.
    pub is_const: Option<bool>,
    /// Whether the source calls it `restrict`.
    pub is_restrict: Option<bool>,
    /// Whether the source calls it `volatile`.
    pub is_volatile: Option<bool>,
    /// Whether it is a pipe.
    pub is_pipe: Option<bool>,
    /// Keys that PRLX does not know.
    pub unknown: Unknown,
}

macro_rules! value_kinds {
    ($($kind:ident $name:literal)*) => {
        /// What an argument passes (`.value_kind`).
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum ValueKind {
            $(
                #[doc = concat!("`", $name, "`")]
                $kind,
            )*
            /// A kind that PRLX does not know.
            Other(String),
        }

        impl ValueKind {
            fn parse(name: &str) -> ValueKind {
                match name {
                    $($name => ValueKind::$kind,)*
                    _ => ValueKind::Other(name.to_owned()),
                }
            }

            /// The name in the metadata.
            pub fn name(&self) -> &str {
                match self {
                    $(ValueKind::$kind => $name,)*
                    ValueKind::Other(name) => name,
                }
            }
        }
    };
}

value_kinds! {
    ByValue "by_value"
    GlobalBuffer "global_buffer"
    DynamicSharedPointer "dynamic_shared_pointer"
    Sampler "sampler"
    Image "image"
    Pipe "pipe"
    Queue "queue"
    HiddenGlobalOffsetX "hidden_global_offset_x"
    HiddenGlobalOffsetY "hidden_global_offset_y"
    HiddenGlobalOffsetZ "hidden_global_offset_z"
    HiddenNone "hidden_none"
    HiddenPrintfBuffer "hidden_printf_buffer"
    HiddenHostcallBuffer "hidden_hostcall_buffer"
    HiddenDefaultQueue "hidden_default_queue"
    HiddenCompletionAction "hidden_completion_action"
    HiddenMultigridSyncArg "hidden_multigrid_sync_arg"
    HiddenBlockCountX "hidden_block_count_x"
    HiddenBlockCountY "hidden_block_count_y"
    HiddenBlockCountZ "hidden_block_count_z"
    HiddenGroupSizeX "hidden_group_size_x"
    HiddenGroupSizeY "hidden_group_size_y"
    HiddenGroupSizeZ "hidden_group_size_z"
    HiddenRemainderX "hidden_remainder_x"
    HiddenRemainderY "hidden_remainder_y"
    HiddenRemainderZ "hidden_remainder_z"
    HiddenGridDims "hidden_grid_dims"
    HiddenHeapV1 "hidden_heap_v1"
    HiddenDynamicLdsSize "hidden_dynamic_lds_size"
    HiddenPrivateBase "hidden_private_base"
    HiddenSharedBase "hidden_shared_base"
    HiddenQueuePtr "hidden_queue_ptr"
}

impl Default for ValueKind {
    fn default() -> ValueKind {
        ValueKind::Other(String::new())
    }
}

impl ValueKind {
    /// Whether the runtime fills in the argument, and not the program.
    pub fn is_hidden(&self) -> bool {
        self.name().starts_with("hidden_")
    }

    /// Whether PRLX knows the kind.
    pub fn is_known(&self) -> bool {
        !matches!(self, ValueKind::Other(_))
    }
}

/// Reads the note of a code object. `at` is the offset of `bytes` in the file.
///
/// # Errors
/// If the bytes are not metadata, or a value does not have the type that its key needs. The error names the
/// key.
pub fn read(bytes: &[u8], at: u64) -> Result<Metadata, Error> {
    let root = msgpack::read(bytes, at)?;
    let mut map = Map::of(&root, "the metadata")?;
    let mut metadata = Metadata::default();
    if let [major, minor] = map.required("amdhsa.version", numbers)?[..] {
        metadata.version = (major, minor);
    }
    metadata.target = map.optional("amdhsa.target", text)?.unwrap_or_default();
    metadata.printf = map.optional("amdhsa.printf", texts)?.unwrap_or_default();
    metadata.kernels = map.required("amdhsa.kernels", |value, path| list(value, path, kernel))?;
    metadata.unknown = map.rest();
    Ok(metadata)
}

fn kernel(value: &Value<'_>, path: &str) -> Result<KernelMetadata, Error> {
    let mut map = Map::of(value, path)?;
    let name = map.required(".name", text)?;
    // Every key's path repeats the name, which may be as long as the file.
    map.path = format!("kernel `{}`", name.chars().take(NAMED).collect::<String>());
    Ok(KernelMetadata {
        name,
        symbol: map.required(".symbol", text)?,
        language: map.optional(".language", text)?,
        language_version: map.optional(".language_version", numbers)?,
        args: map.optional(".args", |value, path| list(value, path, argument))?.unwrap_or_default(),
        kernarg_segment_size: map.required(".kernarg_segment_size", number)?,
        kernarg_segment_align: map.required(".kernarg_segment_align", number)?,
        group_segment_fixed_size: map.required(".group_segment_fixed_size", number)?,
        private_segment_fixed_size: map.required(".private_segment_fixed_size", number)?,
        wavefront_size: map.required(".wavefront_size", number)?,
        sgpr_count: map.required(".sgpr_count", number)?,
        vgpr_count: map.required(".vgpr_count", number)?,
        agpr_count: map.optional(".agpr_count", number)?,
        sgpr_spill_count: map.optional(".sgpr_spill_count", number)?,
        vgpr_spill_count: map.optional(".vgpr_spill_count", number)?,
        max_flat_workgroup_size: map.required(".max_flat_workgroup_size", number)?,
        reqd_workgroup_size: map.optional(".reqd_workgroup_size", numbers)?,
        workgroup_size_hint: map.optional(".workgroup_size_hint", numbers)?,
        vec_type_hint: map.optional(".vec_type_hint", text)?,
        device_enqueue_symbol: map.optional(".device_enqueue_symbol", text)?,
        kind: map.optional(".kind", text)?,
        max_num_workgroups: [
            map.optional(".max_num_work_groups_x", number)?,
            map.optional(".max_num_work_groups_y", number)?,
            map.optional(".max_num_work_groups_z", number)?,
        ],
        uses_dynamic_stack: map.optional(".uses_dynamic_stack", flag)?,
        workgroup_processor_mode: map.optional(".workgroup_processor_mode", flag)?,
        uniform_work_group_size: map.optional(".uniform_work_group_size", flag)?,
        cluster_dims: map.optional(".cluster_dims", numbers)?,
        unknown: map.rest(),
    })
}

fn argument(value: &Value<'_>, path: &str) -> Result<Argument, Error> {
    let mut map = Map::of(value, path)?;
    Ok(Argument {
        name: map.optional(".name", text)?,
        type_name: map.optional(".type_name", text)?,
        offset: map.required(".offset", number)?,
        size: map.required(".size", number)?,
        kind: ValueKind::parse(&map.required(".value_kind", text)?),
        pointee_align: map.optional(".pointee_align", number)?,
        address_space: map.optional(".address_space", text)?,
        access: map.optional(".access", text)?,
        actual_access: map.optional(".actual_access", text)?,
        is_const: map.optional(".is_const", flag)?,
        is_restrict: map.optional(".is_restrict", flag)?,
        is_volatile: map.optional(".is_volatile", flag)?,
        is_pipe: map.optional(".is_pipe", flag)?,
        unknown: map.rest(),
    })
}

/// A map whose keys are taken one by one.
struct Map<'v, 'a> {
    entries: Vec<(&'a str, &'v Value<'a>)>,
    at: u64,
    path: String,
}

impl<'v, 'a> Map<'v, 'a> {
    fn of(value: &'v Value<'a>, path: &str) -> Result<Map<'v, 'a>, Error> {
        let Data::Map(entries) = &value.data else { return Err(wrong(value, path, "a map")) };
        let entry = |(key, value): &'v (Value<'a>, Value<'a>)| match key.data {
            Data::String(name) => Ok((name, value)),
            _ => Err(wrong(key, &format!("a key of {path}"), "a string")),
        };
        let entries = entries.iter().map(entry).collect::<Result<_, _>>()?;
        Ok(Map { entries, at: value.at, path: path.to_owned() })
    }

    fn optional<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Value<'a>, &str) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let Some(place) = self.entries.iter().position(|(name, _)| *name == key) else { return Ok(None) };
        let (_, value) = self.entries.swap_remove(place);
        read(value, &format!("`{key}` of {}", self.path)).map(Some)
    }

    fn required<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Value<'a>, &str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.optional(key, read)?
            .ok_or_else(|| Error { at: self.at, what: format!("{} has no `{key}`", self.path) })
    }

    /// The keys that nobody took, by name.
    fn rest(mut self) -> Unknown {
        self.entries.sort_by_key(|(name, _)| *name);
        self.entries.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect()
    }
}

fn wrong(value: &Value<'_>, path: &str, wanted: &str) -> Error {
    Error { at: value.at, what: format!("the metadata is damaged: {path} is not {wanted}") }
}

fn text(value: &Value<'_>, path: &str) -> Result<String, Error> {
    match value.data {
        Data::String(text) => Ok(text.to_owned()),
        _ => Err(wrong(value, path, "a string")),
    }
}

fn number(value: &Value<'_>, path: &str) -> Result<u64, Error> {
    match value.data {
        Data::Unsigned(number) => Ok(number),
        _ => Err(wrong(value, path, "a number from 0 on")),
    }
}

/// A truth value, which LLVM writes as a boolean and others as 0 or 1.
fn flag(value: &Value<'_>, path: &str) -> Result<bool, Error> {
    match value.data {
        Data::Bool(flag) => Ok(flag),
        Data::Unsigned(number @ (0 | 1)) => Ok(number == 1),
        _ => Err(wrong(value, path, "true or false")),
    }
}

fn list<'a, T>(
    value: &Value<'a>,
    path: &str,
    read: impl Fn(&Value<'a>, &str) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let Data::Array(values) = &value.data else { return Err(wrong(value, path, "a list")) };
    values.iter().enumerate().map(|(i, value)| read(value, &format!("element {i} of {path}"))).collect()
}

fn numbers(value: &Value<'_>, path: &str) -> Result<Vec<u64>, Error> {
    list(value, path, number)
}

fn texts(value: &Value<'_>, path: &str) -> Result<Vec<String>, Error> {
    list(value, path, text)
}
