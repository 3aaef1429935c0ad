//! Cuts a module down to one kernel and everything that the kernel can reach.
//!
//! Functions, kernels, declarations and aliases that the kernel does not reach are removed from the text. The
//! rest stays byte-identical: header, variables, sections, and `.file` directives wherever they are.
//!
//! # Invariants
//! - Any mention of a function's name reaches it: a call, an address, a list of call targets or an initial
//!   value. Targets of pointers are therefore kept.
//! - Variables and sections stay, and so does everything they mention. Debug sections mention the labels of
//!   their functions.
//!
//! # Limitations
//! A label or register with the same name as a function keeps that function.

use std::collections::{BTreeMap, BTreeSet};

use super::syntax::header::header;
use super::syntax::tree::{self, Item, ItemKind, StatementKind, SyntaxTree};
use super::syntax::{parser, scan};
use crate::view::{FunctionKind, Span};

/// The pruned module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pruned {
    /// Text of the module.
    pub text: String,
    /// Functions with a body that were kept, the kernel included, in source order.
    pub kept: Vec<String>,
    /// Functions with a body that were removed.
    pub cut: Vec<String>,
}

/// Removes everything from `source` that `kernel` cannot reach; `None` if there is no such kernel.
pub fn prune(source: &str, kernel: &str) -> Option<Pruned> {
    let (module, _) = parser::parse(source);
    let is_kernel =
        |f: &tree::FunctionSyntax| f.kind == FunctionKind::Kernel && module.text(f.name) == kernel;
    module.functions.iter().find(|f| is_kernel(f))?;
    let graph = References::new(&module);
    let reached = graph.reached(kernel);
    let stays = |i: usize| graph.nodes[i].is_empty() || graph.nodes[i].iter().any(|n| reached.contains(n));

    let mut pruned = Pruned { text: String::with_capacity(source.len()), kept: Vec::new(), cut: Vec::new() };
    let mut end = 0;
    for (i, item) in module.items.iter().enumerate() {
        if let ItemKind::Function(f) = item.kind {
            let name = module.text(module.functions[f as usize].name).to_owned();
            if stays(i) { pruned.kept.push(name) } else { pruned.cut.push(name) }
        }
        let next = item.span.end as usize;
        if stays(i) {
            pruned.text.push_str(&source[end..next]);
        } else {
            // `.file` directives belong to the whole module, wherever they are.
            let own = module.files.iter().filter(|f| item.span.start <= f.start && f.end <= item.span.end);
            own.for_each(|f| pruned.text.extend(["\n", module.text(*f)]));
        }
        end = next;
    }
    pruned.text.push_str(&source[end..]);
    Some(pruned)
}

/// Which items mention which functions.
struct References<'a> {
    /// Names by which each item is reached; none: the item is always kept.
    nodes: Vec<Vec<&'a str>>,
    /// Functions that each item mentions.
    names: Vec<BTreeSet<&'a str>>,
}

impl<'a> References<'a> {
    fn new(module: &SyntaxTree<'a>) -> References<'a> {
        let nodes: Vec<Vec<&str>> = module.items.iter().map(|item| nodes(module, item)).collect();
        let functions: BTreeSet<&str> = nodes.iter().flatten().copied().collect();
        // Labels in bodies. Debug sections mention them.
        let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for f in &module.functions {
            for label in module.body(f).iter().filter(|s| s.kind == StatementKind::Label) {
                let label = module.text(label.span).trim_end_matches(':').trim_end();
                labels.entry(label).or_default().insert(module.text(f.name));
            }
        }
        let names = module.items.iter().map(|item| {
            let mut named = BTreeSet::new();
            for word in words(module, item.span) {
                named.extend(functions.get(word));
                if item.kind == ItemKind::Section {
                    named.extend(labels.get(word).into_iter().flatten());
                }
            }
            named
        });
        References { names: names.collect(), nodes }
    }

    /// All names that are reached from the kernel, and from the items that are always kept.
    fn reached(&self, kernel: &'a str) -> BTreeSet<&'a str> {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, nodes) in self.nodes.iter().enumerate() {
            nodes.iter().for_each(|n| by_name.entry(*n).or_default().push(i));
        }
        let always = self.nodes.iter().zip(&self.names).filter(|(nodes, _)| nodes.is_empty());
        let mut next: Vec<&str> = always.flat_map(|(_, names)| names.iter().copied()).collect();
        next.push(kernel);
        let mut reached = BTreeSet::new();
        while let Some(name) = next.pop() {
            if reached.insert(name) {
                let items = by_name.get(name).into_iter().flatten();
                next.extend(items.flat_map(|&i| self.names[i].iter().copied()));
            }
        }
        reached
    }
}

/// Names of functions that an item declares. An alias stays with either of its two names.
fn nodes<'a>(module: &SyntaxTree<'a>, item: &Item) -> Vec<&'a str> {
    let mut all = words(module, item.span);
    match item.kind {
        ItemKind::Function(f) => vec![module.text(module.functions[f as usize].name)],
        ItemKind::Declaration => {
            let Some(word) = all.find(|w| matches!(*w, "entry" | "func")) else { return Vec::new() };
            let after = word.as_ptr() as usize - module.source.as_ptr() as usize + word.len();
            vec![module.text(header(module.source.as_bytes(), after).name)]
        }
        ItemKind::Directive if all.next() == Some("alias") => all.collect(),
        _ => Vec::new(),
    }
}

/// Words of a span, outside comments and strings.
fn words<'a>(module: &SyntaxTree<'a>, span: Span) -> impl Iterator<Item = &'a str> {
    let (source, end) = (module.source, span.end as usize);
    let bytes = source.as_bytes();
    let mut i = span.start as usize;
    std::iter::from_fn(move || {
        loop {
            i = scan::trivia(bytes, i);
            match bytes.get(i) {
                Some(_) if i >= end => return None,
                None => return None,
                Some(b'"') => i = scan::string(bytes, i),
                Some(c) if scan::is_name(*c) => {
                    let start = i;
                    i = scan::name(bytes, i).max(i + 1);
                    return source.get(start..i);
                }
                Some(_) => i += 1,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#".version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.func far (.param .b32 x);
.func lonely ();
.global .align 8 .u64 table[2] = {generic(pointed), 0};
.global .u32 counter;
// of the other
.func far (.param .b32 x)
{
	.file 2 "far.cuh"
	ret;
}

.func near ()
{
	call.uni twin, ();
	ret;
}

.func lonely () { call far, (0); ret; }
.func one () { ret; }
.func twin ();
.alias twin, one;
.func other_twin ();
.alias other_twin, lonely;
.func pointed () { ret; }
.visible .entry other (.param .u64 p) { call lonely, (); ret; }
.visible .entry kernel (.param .u64 p)
{
	.pragma "far";
	call near, ();
	ret;
}

.file 1 "a.cu"
.section .debug_str { $L_s: .b8 0 }
"#;

    #[test]
    fn what_the_kernel_reaches_stays_byte_by_byte() {
        let pruned = prune(MODULE, "kernel").unwrap();
        assert_eq!(pruned.kept, ["near", "one", "pointed", "kernel"]);
        assert_eq!(pruned.cut, ["far", "lonely", "other"]);
        // The lines that are left, in their order; the file is still declared.
        let lines = |text: &str| text.lines().map(|l| l.trim().to_owned()).collect::<Vec<_>>();
        let gone = lines(MODULE).into_iter().filter(|l| !lines(&pruned.text).contains(l)).collect::<Vec<_>>();
        let expected = [
            ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);",
            ".func far (.param .b32 x);",
            ".func lonely ();",
            "// of the other",
            ".func far (.param .b32 x)",
            ".func lonely () { call far, (0); ret; }",
            ".func other_twin ();",
            ".alias other_twin, lonely;",
            ".visible .entry other (.param .u64 p) { call lonely, (); ret; }",
        ];
        assert_eq!(gone, expected.map(str::to_owned));
        assert!(pruned.text.contains(".file 2 \"far.cuh\""));
        assert_eq!(prune(MODULE, "kern"), None);
        assert_eq!(prune(MODULE, "near"), None, "it is no kernel");
    }

    #[test]
    fn debug_sections_keep_the_functions_whose_labels_they_name() {
        let debug =
            MODULE.replace("{ call far", "{ $L_begin: call far").replace("$L_s: .b8 0", ".b64 $L_begin");
        assert_eq!(prune(&debug, "kernel").unwrap().cut, ["other"]);
    }

    #[test]
    fn a_module_of_one_kernel_stays_as_it_is() {
        let whole = ".version 8.0\n.target sm_80\n.func f () { ret; }\n.entry k () { call f; }\n// end\n";
        assert_eq!(prune(whole, "k").unwrap().text, whole);
    }
}
