//! Which file of a crate uses which other file of it, and the circles among them.
//!
//! Paths are read from the text: `use` declarations, and `module::name` in expressions. A name that a module
//! re-exports counts as a use of the file that defines it. A parent's `mod` lines and re-exports are a table
//! of contents, not a use.
//!
//! # Invariants
//! A circle is reported with the names that tie each pair of its files.
//!
//! # Limitations
//! Methods and macros are not followed: a call of a method uses no name of the file that has the `impl`. Code
//! under `#[cfg(test)]` is not read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

/// A module path inside a crate: `[]` is the root.
type Module = Vec<String>;

/// One source file of a crate.
struct File {
    /// Its path, for messages.
    path: PathBuf,
    /// Its text without comments, strings and tests.
    code: String,
    /// Names that it defines.
    defines: BTreeSet<String>,
    /// Names that it brings into scope: local name to full path.
    imports: Vec<Import>,
}

/// One leaf of a `use` declaration.
struct Import {
    /// The name in this file; `*` for a glob.
    name: String,
    /// The path inside the crate that it stands for.
    path: Vec<String>,
    /// Whether others may use it through this file.
    exported: bool,
}

/// Files that use each other, and the names that tie them.
pub struct Circle {
    /// `from -> to: names`, by file.
    pub ties: Vec<String>,
}

/// The circles among the files below `src`.
///
/// # Errors
/// When a file can't be read.
pub fn circles(src: &Path) -> Result<Vec<Circle>> {
    let mut paths = Vec::new();
    super::rust_files(src, &mut paths)?;
    let mut files = BTreeMap::new();
    for path in paths {
        let Some(module) = module_of(src, &path) else { continue };
        let code = code(&std::fs::read_to_string(&path)?);
        let defines = definitions(&code);
        files.insert(module, File { path, code, defines, imports: Vec::new() });
    }
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    for (module, file) in &mut files {
        file.imports = imports(&mut file.code, module, &modules);
    }
    let edges: BTreeMap<&Module, BTreeMap<Module, BTreeSet<String>>> =
        files.iter().map(|(m, f)| (m, uses(m, f, &files))).collect();
    Ok(components(&edges).into_iter().map(|group| describe(&group, &edges, &files, src)).collect())
}

/// The module that a file holds; `None` for a program beside the library.
fn module_of(src: &Path, path: &Path) -> Option<Module> {
    let relative = path.strip_prefix(src).ok()?.with_extension("");
    let mut parts: Module = relative.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    if parts.first().is_some_and(|p| p == "bin") {
        return None;
    }
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    Some(parts)
}

/// Blanks comments and strings, and cuts tests off.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |e| e + 2)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |e| e + 5)
        } else if c == '"' {
            string_end(rest)
        } else if rest.starts_with("'\"'") {
            3
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[skip..];
    }
    out
}

/// The length of the string literal that `text` begins with.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    text.len()
}

/// Names of the items at the top level of a file.
fn definitions(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in code.lines() {
        let mut words = line.split([' ', '(', '<', ':', ';', '{', '=']).filter(|w| !w.is_empty()).peekable();
        if line.starts_with([' ', '\t']) {
            continue;
        }
        while words.peek().is_some_and(|w| {
            matches!(*w, "pub" | "crate)" | "super)" | "in" | "unsafe" | "async" | "extern" | "const")
                && !(*w == "const" && line.contains("const ") && !line.contains("const fn"))
        }) {
            words.next();
        }
        if let Some("fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union") = words.next()
            && let Some(name) = words.next()
        {
            names.insert(name.to_owned());
        }
    }
    names
}

/// The leaves of all `use` declarations whose path stays in the crate.
///
/// Blanks the declarations in `code`, so that what remains are uses.
fn imports(code: &mut String, module: &Module, modules: &BTreeSet<Module>) -> Vec<Import> {
    let mut found = Vec::new();
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find("use ").map(|i| i + from) {
        from = at + 4;
        let before = code[..at].trim_end_matches(' ');
        let starts =
            before.is_empty() || before.ends_with(['\n', ';', '{', '}', ')']) || before.ends_with("pub");
        if !starts {
            continue;
        }
        let end = code[from..].find(';').map_or(code.len(), |i| i + from);
        let line = code[..at].rsplit('\n').next().unwrap_or_default();
        let exported = line.trim_start().starts_with("pub");
        let mut leaves = Vec::new();
        tree(&code[from..end], &mut Vec::new(), &mut leaves);
        for (path, name) in leaves {
            if let Some(path) = absolute(&path, module, modules) {
                found.push(Import { name, path, exported });
            }
        }
        spans.push(from..end);
        from = end;
    }
    for span in spans {
        let blank = " ".repeat(span.len());
        code.replace_range(span, &blank);
    }
    found
}

/// Takes a `use` tree apart: full paths with the names that they get.
fn tree(text: &str, prefix: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) {
    for part in split(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let depth = prefix.len();
        match part.find('{') {
            Some(open) => {
                let head = part[..open].trim().trim_end_matches("::");
                prefix.extend(head.split("::").map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()));
                tree(part[open + 1..].trim_end().trim_end_matches('}'), prefix, leaves);
            }
            None => {
                let (path, alias) =
                    part.split_once(" as ").map_or((part, None), |(p, a)| (p, Some(a.trim())));
                prefix.extend(path.split("::").map(|s| s.trim().to_owned()));
                if prefix.last().is_some_and(|l| l == "self") {
                    prefix.pop();
                }
                let name = alias.map_or_else(|| prefix.last().cloned().unwrap_or_default(), str::to_owned);
                leaves.push((prefix.clone(), name));
            }
        }
        prefix.truncate(depth);
    }
}

/// The parts of a list, at commas outside of braces.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0_usize, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// A path from the crate's root; `None` if it leads to another crate.
fn absolute(path: &[String], module: &Module, modules: &BTreeSet<Module>) -> Option<Vec<String>> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first().map(String::as_str)? {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|p| p == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
        }
        first => {
            base.push(first.to_owned());
            if !modules.contains(&base) {
                return None;
            }
            base.pop();
        }
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// What a file uses of others: by module, the names.
fn uses(module: &Module, file: &File, files: &BTreeMap<Module, File>) -> BTreeMap<Module, BTreeSet<String>> {
    let mut out: BTreeMap<Module, BTreeSet<String>> = BTreeMap::new();
    let mut add = |path: &[String]| {
        if let Some((target, name)) = home(path, files, 0)
            && target != *module
        {
            out.entry(target).or_default().insert(name);
        }
    };
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let mut scope: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for import in &file.imports {
        scope.insert(&import.name, import.path.clone());
        if !import.exported {
            add(&import.path);
        }
    }
    let words = file.code.replace("::<", "<");
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for chain in words.split(|c| !is_word(c)).filter(|w| w.contains("::")) {
        let path: Vec<String> = chain.split("::").map(str::to_owned).collect();
        let full = match scope.get(path[0].as_str()) {
            Some(base) => Some([base.as_slice(), &path[1..]].concat()),
            None => absolute(&path, module, &modules),
        };
        if let Some(full) = full {
            add(&full);
        }
    }
    out
}

/// The module whose file defines what a path names, through re-exports, and the name. A path that ends at a
/// module is no use of its own: what is named through it is.
fn home(path: &[String], files: &BTreeMap<Module, File>, depth: u32) -> Option<(Module, String)> {
    let mut at = (0..=path.len()).rev().find(|n| files.contains_key(&path[..*n]))?;
    if at == path.len() {
        return None;
    }
    let module: Module = path[..at].to_vec();
    let name = &path[at];
    at += 1;
    let file = &files[&module];
    if depth < 8 && !file.defines.contains(name) {
        for import in &file.imports {
            if import.name == *name && import.path != path[..at] {
                let full = [import.path.as_slice(), &path[at..]].concat();
                return home(&full, files, depth + 1);
            }
        }
        for import in file.imports.iter().filter(|i| i.name == "*") {
            let mut full = import.path.clone();
            full.pop();
            full.push(name.clone());
            if let Some((target, name)) = home(&full, files, depth + 1)
                && files[&target].defines.contains(&name)
            {
                return Some((target, name));
            }
        }
    }
    (file.defines.contains(name) || name == "*").then(|| (module, name.clone()))
}

/// Groups of modules that reach each other.
fn components(edges: &BTreeMap<&Module, BTreeMap<Module, BTreeSet<String>>>) -> Vec<BTreeSet<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = edges
        .keys()
        .map(|start| {
            let mut seen = BTreeSet::new();
            let mut next = vec![*start];
            while let Some(at) = next.pop() {
                for to in edges.get(at).into_iter().flat_map(|e| e.keys()) {
                    if seen.insert(to) {
                        next.push(to);
                    }
                }
            }
            (*start, seen)
        })
        .collect();
    let mut groups: Vec<BTreeSet<Module>> = Vec::new();
    for (m, there) in reach.iter().filter(|(m, there)| there.contains(**m)) {
        if groups.iter().any(|g| g.contains(*m)) {
            continue;
        }
        let back = |n: &&Module| reach.get(*n).is_some_and(|r| r.contains(m));
        groups.push(there.iter().filter(|n| back(n)).map(|n| (*n).clone()).collect());
    }
    groups
}

fn describe(
    group: &BTreeSet<Module>,
    edges: &BTreeMap<&Module, BTreeMap<Module, BTreeSet<String>>>,
    files: &BTreeMap<Module, File>,
    src: &Path,
) -> Circle {
    let short = |m: &Module| {
        files
            .get(m)
            .map_or_else(String::new, |f| f.path.strip_prefix(src).unwrap_or(&f.path).display().to_string())
    };
    let mut ties = Vec::new();
    for from in group {
        for (to, names) in edges.get(from).into_iter().flatten().filter(|(to, _)| group.contains(*to)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            ties.push(format!("{} -> {}: {}", short(from), short(to), names.join(", ")));
        }
    }
    Circle { ties }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_through_a_re_export_and_a_module_path() {
        let dir = std::env::temp_dir().join(format!("prlx-tidy-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&dir)).unwrap_or_default();
            std::fs::write(path, text).unwrap_or_default();
        };
        write("lib.rs", "//! x\nmod a;\nmod b;\nmod c;\npub use a::A;\n");
        write("a.rs", "pub struct A;\nfn f() { crate::b::g() }\n");
        write("b/mod.rs", "mod deep;\npub use deep::g;\n");
        write("b/deep.rs", "use crate::A;\npub fn g() {}\n");
        write("c.rs", "use crate::a::A;\n// crate::b::g\nfn c() { let x = \"crate::c::c\"; }\n");
        let circles = circles(&dir).unwrap_or_default();
        std::fs::remove_dir_all(&dir).unwrap_or_default();
        let ties: Vec<Vec<String>> = circles.into_iter().map(|c| c.ties).collect();
        assert_eq!(ties, [["a.rs -> b/deep.rs: g", "b/deep.rs -> a.rs: A"]]);
    }
}
