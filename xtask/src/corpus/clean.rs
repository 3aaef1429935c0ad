//! Makes compiled PTX independent of the machine that compiled it.
//!
//! Paths in `.file` lines become relative to the source's folder, or begin with `cuda/include`, `triton` or
//! `system`. The hash in the names of internal symbols becomes zeros. Debug information contains both as
//! lists of bytes with lengths: there a folder becomes `.` followed by slashes, with the same length.

/// Returns the cleaned text of a module that was compiled in `folder`.
pub fn clean(ptx: &str, folder: &str) -> String {
    let mut lines: Vec<String> = ptx.lines().map(|line| zero_hashes(&file_line(line, folder))).collect();
    debug_bytes(&mut lines, folder);
    let mut text = lines.join("\n");
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// Replaces the path of a `.file` line; returns other lines unchanged.
fn file_line(line: &str, folder: &str) -> String {
    let parts = line.trim_start().strip_prefix(".file").and_then(|rest| rest.split_once('"'));
    let Some((number, rest)) = parts else { return line.trim_end().to_owned() };
    let Some((path, _)) = rest.split_once('"') else { return line.to_owned() };
    format!("\t.file\t{} \"{}\"", number.trim(), portable(path, folder))
}

fn portable(path: &str, folder: &str) -> String {
    if let Some(rest) = path.strip_prefix(folder) {
        return rest.trim_start_matches('/').to_owned();
    }
    let markers = [
        ("/nvidia/cu13/bin/..//include/", "cuda/include/"),
        ("/nvidia/cu13/", "cuda/"),
        ("/site-packages/triton/", "triton/"),
    ];
    for (marker, name) in markers {
        if let Some((_, rest)) = path.split_once(marker) {
            return format!("{name}{rest}");
        }
    }
    if let Some((_, rest)) = path.split_once("/include/c++/") {
        return format!("c++/{}", rest.split_once('/').map_or(rest, |(_, rest)| rest));
    }
    if path.starts_with('/') { format!("system{path}") } else { path.to_owned() }
}

const HASHED: [&[u8]; 2] = [b"_INTERNAL_", b"_GLOBAL__N__"];

fn zero_hashes(line: &str) -> String {
    let mut bytes = line.as_bytes().to_vec();
    zero_in(&mut bytes);
    String::from_utf8(bytes).unwrap_or_else(|_| line.to_owned())
}

/// Overwrites the eight digits after each marker with zeros.
fn zero_in(bytes: &mut [u8]) {
    for marker in HASHED {
        let mut from = 0;
        while let Some(at) = find(&bytes[from..], marker) {
            from += at + marker.len();
            if let Some(hash) = bytes.get_mut(from..from + 8).filter(|h| h.iter().all(u8::is_ascii_hexdigit))
            {
                hash.fill(b'0');
            }
        }
    }
}

/// Cleans the bytes of `.b8` lines.
fn debug_bytes(lines: &mut [String], folder: &str) {
    let is_data = |line: &str| line.starts_with(".b8 ") && !line.contains("//");
    let mut start = 0;
    while start < lines.len() {
        let length = lines[start..].iter().take_while(|l| is_data(l)).count();
        if length > 0 {
            run_of_bytes(&mut lines[start..start + length], folder);
        }
        start += length.max(1);
    }
}

fn run_of_bytes(lines: &mut [String], folder: &str) {
    let counts: Vec<usize> = lines.iter().map(|l| values(l).count()).collect();
    let mut bytes: Vec<u8> = lines.iter().flat_map(|l| values(l)).collect();
    let before = bytes.clone();
    while let Some(at) = find(&bytes, folder.as_bytes()) {
        bytes[at..at + folder.len()].fill(b'/');
        bytes[at] = b'.';
    }
    zero_in(&mut bytes);
    if bytes == before {
        return;
    }
    let mut rest = bytes.as_slice();
    for (line, count) in lines.iter_mut().zip(counts) {
        let (now, later) = rest.split_at(count);
        *line = format!(".b8 {}", now.iter().map(u8::to_string).collect::<Vec<_>>().join(","));
        rest = later;
    }
}

fn values(line: &str) -> impl Iterator<Item = u8> {
    line.trim_start_matches(".b8 ").split(',').filter_map(|v| v.trim().parse().ok())
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn paths_and_hashes_go() {
        let text = ".func _ZN_INTERNAL_62f70fc2_4_g(\n\t.file\t1 \"/t/k/g.cu\"\n.file 2 \"/v/nvidia/cu13/bin/..//include/a.h\"\n";
        let want = ".func _ZN_INTERNAL_00000000_4_g(\n\t.file\t1 \"g.cu\"\n\t.file\t2 \"cuda/include/a.h\"\n";
        assert_eq!(clean(text, "/t/k"), want);
    }

    #[test]
    fn debug_bytes_keep_their_number() {
        assert_eq!(clean(".b8 47,116\n.b8 47,107,0\n", "/t/k"), ".b8 46,47\n.b8 47,47,0\n");
    }
}
