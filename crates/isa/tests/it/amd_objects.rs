//! AMD code objects and the files that hold them. Expected values are those of `llvm-readelf --notes
//! --symbols --relocs` and of the sources in `tests/kernels/amd`.

use std::io::Write;

use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::object::{
    Argument, CodeObject, Compression, Feature, Field, TargetId, ValueKind, Version, choose, is_binary, read,
};

use crate::amd_descriptors::file;
use crate::common::Random;

fn id(text: &str) -> TargetId {
    TargetId::parse(text).unwrap()
}

/// A plain bundle, as clang's bundler writes it.
fn bundle(entries: &[(&str, &[u8])], alignment: usize) -> Vec<u8> {
    let table: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut places = Vec::new();
    let mut end = 32 + table;
    for (_, bytes) in entries {
        let from = end.next_multiple_of(alignment);
        places.push(from);
        end = from + bytes.len();
    }
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    for ((id, bytes), from) in entries.iter().zip(&places) {
        for number in [*from, bytes.len(), id.len()] {
            out.extend((number as u64).to_le_bytes());
        }
        out.extend(id.as_bytes());
    }
    for ((_, bytes), from) in entries.iter().zip(places) {
        out.resize(from, 0);
        out.extend(*bytes);
    }
    out
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A compressed bundle with a header of this version, that says that it holds `size` bytes.
fn compressed(version: u16, method: u16, stored: &[u8], size: u64) -> Vec<u8> {
    let mut out = b"CCOB".to_vec();
    out.extend(version.to_le_bytes());
    out.extend(method.to_le_bytes());
    let header = [20, 24, 32][usize::from(version) - 1];
    let whole = (header + stored.len()) as u64;
    match version {
        1 => out.extend((size as u32).to_le_bytes()),
        2 => out.extend([(whole as u32).to_le_bytes(), (size as u32).to_le_bytes()].concat()),
        _ => out.extend([whole.to_le_bytes(), size.to_le_bytes()].concat()),
    }
    out.extend([0x5a; 8]);
    out.extend(stored);
    out
}

const OBJECTS: [&str; 9] = [
    "vecadd.gfx90a.co",
    "vecadd.gfx942.co",
    "vecadd.gfx950.co",
    "vecadd.gfx1030.co",
    "vecadd.gfx1100.co",
    "vecadd.gfx1201.co",
    "parts.gfx942.co",
    "parts.gfx1100.co",
    "parts.gfx1030.co",
];

#[test]
fn objects_are_written_as_they_were_read() {
    for name in OBJECTS {
        let bytes = file(name);
        assert!(is_binary(&bytes));
        let mut object = CodeObject::read(&bytes).unwrap();
        assert_eq!(object.write(), bytes, "{name}");
        // A changed descriptor changes its own bytes alone: here 4, those of the LDS.
        let kernel = &mut object.kernels[0];
        let at = usize::try_from(kernel.at).unwrap();
        kernel.descriptor.set(Field::GroupSegment, 0x0102_0304).unwrap();
        let written = object.write();
        assert_eq!(written[at..at + 4], [4, 3, 2, 1]);
        assert_eq!((&written[..at], &written[at + 4..]), (&bytes[..at], &bytes[at + 4..]));
        assert_eq!(
            CodeObject::read(&written).unwrap().kernels[0].descriptor.get(Field::GroupSegment),
            Some(0x0102_0304)
        );
    }
}

#[test]
fn what_an_object_holds() {
    let bytes = file("parts.gfx942.co");
    let object = CodeObject::read(&bytes).unwrap();
    assert_eq!((object.version, object.target), (Version::V6, id("gfx942:xnack+")));
    assert_eq!((object.target.sramecc, object.target.xnack), (Feature::Any, Feature::On));
    assert_eq!(object.metadata.version, (1, 2));
    assert_eq!(object.metadata.target, "amdgcn-amd-amdhsa--gfx942:xnack+");
    assert_eq!(object.metadata.printf, ["1:2:4:4:%d of %d\\n"]);
    assert_eq!(object.metadata.unknown, []);
    let names: Vec<&str> = object.kernels.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["tile", "spill"]);
    let [tile, spill] = &object.metadata.kernels[..] else { panic!() };
    assert_eq!((tile.name.as_str(), tile.symbol.as_str()), ("tile", "tile.kd"));
    assert_eq!(
        (tile.language.as_deref(), tile.language_version.as_deref()),
        (Some("OpenCL C"), Some(&[2, 0][..]))
    );
    assert_eq!((tile.kernarg_segment_size, tile.kernarg_segment_align), (12, 8));
    assert_eq!((tile.group_segment_fixed_size, tile.private_segment_fixed_size), (256, 0));
    assert_eq!((tile.wavefront_size, tile.max_flat_workgroup_size), (64, 64));
    assert_eq!(tile.reqd_workgroup_size.as_deref(), Some(&[32, 2, 1][..]));
    assert_eq!((tile.agpr_count, tile.uses_dynamic_stack), (Some(0), Some(false)));
    assert_eq!(
        tile.args[0],
        Argument {
            name: Some("out".into()),
            type_name: Some("int*".into()),
            offset: 0,
            size: 8,
            kind: ValueKind::GlobalBuffer,
            address_space: Some("global".into()),
            actual_access: Some("write_only".into()),
            is_restrict: Some(true),
            ..Argument::default()
        }
    );
    let args: Vec<_> =
        spill.args.iter().map(|a| (a.name.as_deref().unwrap(), a.offset, a.size, a.kind.name())).collect();
    assert_eq!(
        args,
        [
            ("in", 0, 8, "global_buffer"),
            ("out", 8, 8, "global_buffer"),
            ("lds", 16, 4, "dynamic_shared_pointer"),
            ("n", 20, 4, "by_value"),
        ]
    );
    assert_eq!((spill.args[0].is_const, spill.args[1].is_volatile), (Some(true), Some(true)));
    assert_eq!(
        (spill.args[2].pointee_align, spill.args[2].address_space.as_deref()),
        (Some(4), Some("local"))
    );
    assert_eq!(
        (spill.max_flat_workgroup_size, spill.sgpr_spill_count, spill.vgpr_spill_count),
        (256, Some(0), Some(0))
    );

    let descriptor = &object.kernels[0].descriptor;
    assert_eq!(descriptor.get(Field::GroupSegment), Some(256));
    assert_eq!(
        (descriptor.get(Field::WorkgroupIdX), descriptor.get(Field::WorkgroupIdY)),
        (Some(1), Some(1))
    );
    assert_eq!((descriptor.get(Field::WorkgroupIdZ), descriptor.workitem_dimensions()), (Some(0), Some(2)));
    assert_eq!(
        object.kernels[1].descriptor.get(Field::PrivateSegment),
        Some(spill.private_segment_fixed_size as u32)
    );
    assert!(object.kernels[1].descriptor.is_set(Field::Scratch) && !descriptor.is_set(Field::Scratch));

    let variables: Vec<_> = object.variables().map(|s| (s.name, s.size)).collect();
    assert_eq!(variables, [("text", 64), ("counter", 4), ("place", 8)]);
    let functions: Vec<_> = object.functions().map(|s| s.name).collect();
    assert!(functions.contains(&"twice") && functions.contains(&"spill"), "{functions:?}");
    for kernel in &object.kernels {
        let symbol = object.functions().find(|s| s.name == kernel.name).unwrap();
        assert_eq!((kernel.code.start, kernel.code.end - kernel.code.start), (symbol.value, symbol.size));
        assert_eq!(object.code(kernel).len() as u64, symbol.size);
    }
    // `place` holds the address of `counter`: R_AMDGPU_RELATIVE64 is 13.
    let place = object.variables().find(|s| s.name == "place").unwrap();
    let [relocation] = object.relocations[..] else { panic!("{:?}", object.relocations) };
    let counter = object.variables().find(|s| s.name == "counter").unwrap();
    assert_eq!((relocation.address, relocation.symbol, relocation.kind), (place.value, "", 13));
    assert_eq!(relocation.addend.cast_unsigned(), counter.value);
    assert_eq!(object.at_address(counter.value).unwrap()[..4], 7u32.to_le_bytes());
}

#[test]
fn versions_targets_and_hidden_arguments() {
    for (name, version, target, wave) in [
        ("vecadd.gfx90a.co", Version::V5, "gfx90a", 64),
        ("vecadd.gfx942.co", Version::V5, "gfx942", 64),
        ("vecadd.gfx950.co", Version::V5, "gfx950", 64),
        ("vecadd.gfx1030.co", Version::V5, "gfx1030", 32),
        ("vecadd.gfx1100.co", Version::V5, "gfx1100", 32),
        ("vecadd.gfx1201.co", Version::V5, "gfx1201", 32),
        ("parts.gfx1030.co", Version::V4, "gfx1030", 32),
        ("parts.gfx1100.co", Version::V5, "gfx1100", 64),
    ] {
        let bytes = file(name);
        let object = CodeObject::read(&bytes).unwrap();
        assert_eq!((object.version, object.target.to_string().as_str()), (version, target));
        assert_eq!(object.kernels[0].descriptor.wave_size(), wave, "{name}");
        assert_eq!(object.metadata.kernels[0].wavefront_size, u64::from(wave), "{name}");
        let feature = if target.starts_with("gfx9") { Feature::Any } else { Feature::Unsupported };
        assert_eq!((object.target.xnack, object.target.sramecc), (feature, feature));
    }
    let bytes = file("vecadd.gfx1100.co");
    let object = CodeObject::read(&bytes).unwrap();
    let args = &object.metadata.kernels[0].args;
    assert_eq!(
        args.iter().filter(|a| !a.kind.is_hidden()).map(|a| a.offset).collect::<Vec<_>>(),
        [0, 8, 16, 24]
    );
    // Hidden arguments begin at the next multiple of eight behind the last of 28 bytes.
    let x = args.iter().find(|a| a.kind == ValueKind::HiddenGroupSizeX).unwrap();
    assert_eq!((x.offset, x.size), (32 + 12, 2));
    assert!(args.iter().all(|a| a.kind.is_known()));
}

#[test]
fn unknown_keys_and_kinds_are_kept() {
    let mut bytes = file("parts.gfx942.co");
    // Names of the same length.
    for (from, to) in
        [(".language_version", ".lingoage_version"), ("by_value", "by_magic"), (".is_const", ".is_fixed")]
    {
        let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    let object = CodeObject::read(&bytes).unwrap();
    let [tile, spill] = &object.metadata.kernels[..] else { panic!() };
    assert_eq!(tile.unknown, [(".lingoage_version".to_owned(), "[2, 0]".to_owned())]);
    assert_eq!(tile.args[1].kind, ValueKind::Other("by_magic".into()));
    assert_eq!(spill.args[0].unknown, [(".is_fixed".to_owned(), "true".to_owned())]);
    assert_eq!(object.write(), bytes);
}

#[test]
fn what_is_refused_and_where() {
    let good = file("vecadd.gfx942.co");
    let error = |changes: &[(usize, &[u8])]| {
        let mut bytes = good.clone();
        for (at, to) in changes {
            bytes[*at..at + to.len()].copy_from_slice(to);
        }
        CodeObject::read(&bytes).unwrap_err().to_string()
    };
    for (changes, said) in [
        (&[(18, &[62, 0][..])][..], "machine 62, not an AMD code object (at byte 18)"),
        (&[(7, &[65])], "another runtime than HSA (OS/ABI 65) (at byte 7)"),
        (&[(8, &[1])], "code object V3: build it again with -mcode-object-version=5 (at byte 8)"),
        (&[(8, &[5])], "code object V7, which is newer than V6 (at byte 8)"),
        (&[(16, &[1, 0])], "an object that is not linked: link it with `ld.lld -shared` (at byte 16)"),
        (&[(48, &[0x3f])], "the ELF header says gfx90a, and the metadata says gfx942 (at byte 48)"),
        (&[(49, &[0x07])], "the ELF header says gfx942:xnack+, and the metadata says gfx942 (at byte 48)"),
    ] {
        let error = error(changes);
        assert!(error.contains(said), "{error}");
    }
    // A processor that is not read, and a generic one, by the names in the metadata.
    let renamed = |flags: [u8; 4], name: &[u8; 6], version: u8| {
        let mut bytes = good.clone();
        let at = bytes.windows(8).position(|w| w == b"--gfx942").unwrap() + 2;
        bytes[at..at + 6].copy_from_slice(name);
        bytes[48..52].copy_from_slice(&flags);
        bytes[8] = version;
        CodeObject::read(&bytes).unwrap_err().to_string()
    };
    let known = "only for gfx90a, gfx942, gfx950, gfx1030, gfx1100, gfx1201";
    let old = renamed([0x2f, 5, 0, 0], b"gfx906", 3);
    assert!(old.contains(&format!("does not read code for target `gfx906`, {known}")), "{old}");
    let generic = renamed([0x51, 5, 0, 1], b"gfx9-g", 4);
    assert!(generic.contains("`gfx9-g`") && generic.contains("(version 1)"), "{generic}");
    // A descriptor that leads nowhere, and metadata of a kernel that is not there.
    let at = usize::try_from(CodeObject::read(&good).unwrap().kernels[0].at).unwrap();
    assert!(
        error(&[(at + 16, &[0, 0, 0, 0, 1])])
            .contains("kernel `vecadd`: its descriptor says that it begins at")
    );
    let symbol = good.windows(9).position(|w| w == b"vecadd.kd").unwrap();
    assert!(
        error(&[(symbol, b"vecadx.kd")]).contains("names the descriptor `vecadx.kd`, which is no symbol")
    );
    let size = good.windows(21).position(|w| w == b".kernarg_segment_size").unwrap();
    let missing = error(&[(size, b".kernarg_segment_sizx")]);
    assert!(missing.contains("kernel `vecadd` has no `.kernarg_segment_size`"), "{missing}");
}

#[test]
fn target_ids() {
    for (text, sramecc, xnack) in [
        ("gfx942", Feature::Any, Feature::Any),
        ("gfx90a:sramecc+:xnack-", Feature::On, Feature::Off),
        ("gfx950:xnack+", Feature::Any, Feature::On),
        ("gfx1100", Feature::Unsupported, Feature::Unsupported),
    ] {
        let id = id(text);
        assert_eq!((id.to_string().as_str(), id.sramecc, id.xnack), (text, sramecc, xnack));
    }
    assert_eq!(id("gfx942:xnack-:sramecc+").to_string(), "gfx942:sramecc+:xnack-");
    for (text, said) in [
        ("gfx906", "target `gfx906`"),
        ("gfx9-4-generic", "the generic target `gfx9-4-generic`"),
        ("gfx1100:xnack+", "no feature of gfx1100, which has none"),
        ("gfx942:wave32", "`wave32` is no feature of gfx942; it has"),
        ("gfx942:", "`` is no feature"),
        ("sm_90", "target `sm_90`"),
    ] {
        let error = TargetId::parse(text).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_image_that_a_device_takes() {
    let objects = ["vecadd.gfx942.co", "parts.gfx942.co", "vecadd.gfx90a.co", "vecadd.gfx1100.co"].map(file);
    let bytes = bundle(
        &[
            ("host-x86_64-unknown-linux-gnu-", &[]),
            ("hipv4-amdgcn-amd-amdhsa--gfx942", &objects[0]),
            ("hipv4-amdgcn-amd-amdhsa--gfx942:xnack+", &objects[1]),
            ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", &objects[2]),
            ("hip-amdgcn-amd-amdhsa-gfx1100", &objects[3]),
            ("hipv4-amdgcn-amd-amdhsa--gfx906", b"old"),
            ("hip-spirv64-amd-amdhsa--amdgcnspirv", b"spirv"),
        ],
        4096,
    );
    let images = read(&bytes).unwrap();
    assert_eq!(images.len(), 6, "all but the host's");
    let takes =
        |device: &str| choose(&images, 0, id(device)).map(|i| i.id.rsplit_once("hsa-").unwrap().1.to_owned());
    assert_eq!(takes("gfx942:xnack+:sramecc+").as_deref(), Some("-gfx942:xnack+"));
    assert_eq!(takes("gfx942:xnack-:sramecc+").as_deref(), Some("-gfx942"));
    assert_eq!(
        takes("gfx942").as_deref(),
        Some("-gfx942"),
        "a device with unknown settings takes what runs anyway"
    );
    assert_eq!(takes("gfx90a:xnack-").as_deref(), Some("-gfx90a:xnack-"));
    assert_eq!(takes("gfx90a:xnack+"), None);
    assert_eq!(takes("gfx90a"), None);
    assert_eq!(takes("gfx1100").as_deref(), Some("gfx1100"));
    assert_eq!(takes("gfx1201"), None);
    assert_eq!(choose(&images, 1, id("gfx1100")).map(|i| i.at), None, "there is one bundle");
    assert_eq!(images[0].at, 4096);
    assert_eq!(images[1].at, 4096 + (objects[0].len() as u64).next_multiple_of(4096));
    assert_eq!(images[0].bytes().unwrap(), objects[0]);
    assert_eq!(images[3].code_object().unwrap().target.target, Target::Gfx1100);
    assert!(images[4].target.as_ref().unwrap_err().contains("`gfx906`"));
    assert!(images[5].target.as_ref().unwrap_err().contains("no code for the HSA runtime"));
}

#[test]
fn compressed_bundles_of_every_version() {
    let objects = ["vecadd.gfx942.co", "vecadd.gfx1030.co"].map(file);
    let plain = bundle(
        &[
            ("host-x86_64-unknown-linux-gnu-", &[]),
            ("hipv4-amdgcn-amd-amdhsa--gfx942", &objects[0]),
            ("hipv4-amdgcn-amd-amdhsa--gfx1030", &objects[1]),
        ],
        4096,
    );
    let size = plain.len() as u64;
    let streams = [zlib(&plain), zstd::bulk::compress(&plain, 19).unwrap()];
    let mut section = Vec::new();
    for version in 1..=3 {
        for (method, compression) in [(0, Compression::Zlib), (1, Compression::Zstd)] {
            let bytes = compressed(version, method, &streams[usize::from(method)], size);
            assert!(is_binary(&bytes));
            let images = read(&bytes).unwrap();
            let listed: Vec<_> = images.iter().map(|i| (i.at, i.within, i.compression, i.size)).collect();
            let first = objects[0].len() as u64;
            assert_eq!(
                listed,
                [
                    (0, Some(4096), Some(compression), first),
                    (
                        0,
                        Some(4096 + first.next_multiple_of(4096)),
                        Some(compression),
                        objects[1].len() as u64
                    ),
                ]
            );
            for (image, object) in images.iter().zip(&objects) {
                assert_eq!(image.bytes().unwrap(), object, "version {version}, {compression:?}");
            }
            section.resize(section.len().next_multiple_of(4096), 0);
            section.extend(bytes);
        }
    }
    // One behind the other, as a linker puts them; that of version 1 does not say where it ends.
    let images = read(&section).unwrap();
    assert_eq!(images.iter().map(|i| i.bundle).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    assert!(
        images
            .iter()
            .all(|i| i.bytes().is_ok_and(|b| *b == objects[usize::from(i.size == objects[1].len() as u64)]))
    );

    let wrong = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert!(wrong(&compressed(3, 1, &streams[1], 1 << 40)).contains("larger than it can be"));
    assert!(
        wrong(&compressed(3, 1, &streams[1][..9], size))
            .contains("cut off in its table, or does not decompress")
    );
    assert!(wrong(&compressed(2, 7, &streams[1], size)).contains("unknown method 7 (at byte 6)"));
    let mut newer = compressed(3, 1, &streams[1], size);
    newer[4] = 4;
    assert!(wrong(&newer).contains("unknown version 4 (at byte 4)"));
    assert!(
        wrong(&compressed(2, 1, &streams[1], size)[..40]).contains("longer than what is there (at byte 8)")
    );
    // A size that is not the content's: listed, but not read.
    for size in [size - 1, size + 1] {
        let bytes = compressed(2, 1, &streams[1], size);
        match read(&bytes) {
            Ok(images) => assert!(images[0].bytes().unwrap_err().what.contains("does not decompress to its")),
            Err(error) => assert!(error.what.contains("reaches out of its offload bundle"), "{error}"),
        }
    }
    // A small file that inflates to half a gigabyte of zeros is not inflated further than to its table.
    let bomb = compressed(2, 0, &zlib(&vec![0; 1 << 20]), 1 << 20);
    assert!(wrong(&bomb).contains("holds no bundle"));
}

#[test]
fn bundles_in_bundles() {
    let object = file("vecadd.gfx1201.co");
    let inner = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx1201", &object)], 8);
    let packed = compressed(3, 1, &zstd::bulk::compress(&inner, 3).unwrap(), inner.len() as u64);
    let outer = bundle(&[("hip-a", &inner), ("hip-b", &packed)], 8);
    let images = read(&outer).unwrap();
    assert_eq!(images.len(), 2);
    assert!(images.iter().all(|i| i.bytes().unwrap() == object));
    assert_eq!(
        images.iter().map(|i| (i.bundle, i.compression)).collect::<Vec<_>>(),
        [(1, None), (2, Some(Compression::Zstd))]
    );
    let mut deep = inner;
    for _ in 0..6 {
        deep = bundle(&[("hip-c", &deep)], 8);
    }
    assert!(read(&deep).unwrap_err().what.contains("nested too deeply"));
    // Entries that share bytes could nest without end.
    let mut shared = bundle(&[("hip-d", &object), ("hip-e", &object)], 8);
    let first = shared[32..40].to_vec();
    let second = 32 + 24 + 5;
    shared[second..second + 8].copy_from_slice(&first);
    assert!(read(&shared).unwrap_err().what.contains("entry `hip-e` overlaps what is before it"));
    shared[32..40].fill(0);
    assert!(read(&shared).unwrap_err().what.contains("entry `hip-d` overlaps"));
    let out = bundle(&[("hip-d", &object)], 8);
    assert!(read(&out[..out.len() - 1]).unwrap_err().what.contains("entry `hip-d`"));
    assert!(read(b"text").unwrap_err().what.contains("neither an AMD code object"));
}

/// A library with sections of bundles and wrappers, made by `make.sh`.
#[test]
fn bundles_of_a_program() {
    let bytes = file("program.so");
    let images = read(&bytes).unwrap();
    let listed: Vec<_> =
        images.iter().map(|i| (i.bundle, i.target.as_ref().unwrap().to_string(), i.compression)).collect();
    let zstd = Some(Compression::Zstd);
    assert_eq!(
        listed,
        [
            (0, "gfx90a".to_owned(), zstd),
            (0, "gfx1201".to_owned(), zstd),
            (1, "gfx1100".to_owned(), Some(Compression::Zlib)),
            (2, "gfx1030".to_owned(), zstd),
        ],
        "two bundles in .hip_fatbin, and one that only a wrapper leads to"
    );
    for image in &images {
        assert_eq!(image.code_object().unwrap().kernels[0].name, "vecadd");
    }
    let many: Vec<(&str, &[u8])> = vec![("host-x86_64--", b""); 1025];
    assert!(read(&bundle(&many, 8)).unwrap_err().what.contains("has 1025 entries, more than 1024"));
}

/// Cut anywhere, and with bytes changed anywhere: errors or other objects, never a panic.
#[test]
fn broken_files() {
    let everything = |bytes: &[u8]| {
        for image in read(bytes).unwrap_or_default() {
            if let Ok(object) = image.code_object() {
                assert_eq!(object.write(), image.bytes().unwrap());
                for kernel in &object.kernels {
                    let _ =
                        (object.code(kernel), kernel.descriptor.initial_sgprs(), kernel.descriptor.vgprs());
                }
            }
        }
    };
    let mut random = Random(224);
    for name in OBJECTS.into_iter().chain(["program.so"]) {
        let bytes = file(name);
        for cut in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
            everything(&bytes[..cut]);
        }
        for _ in 0..600 {
            let mut changed = bytes.clone();
            let n = changed.len();
            for _ in 0..1 + random.below(3) {
                let at = match random.below(3) {
                    0 => random.below(n.min(2048)),
                    1 => n - 1 - random.below(n.min(2048)),
                    _ => random.below(n),
                };
                changed[at] = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8][random.below(6)];
            }
            everything(&changed);
        }
    }
}
