//! Filters: names with `*` and `?`, lines, classes.

use prlx_trace::kernel::{Module, Site};

use crate::plan::Filter;

/// Whether `name` matches one of `patterns`; no patterns take all.
pub(crate) fn any(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|p| matches(p.as_bytes(), name.as_bytes()))
}

/// Whether all of `name` matches: `*` is any text, `?` any one byte.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to try again: just after the last star, which then takes one byte more.
    let mut again: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                again = Some((p + 1, n + 1));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match again {
                Some((after, from)) => {
                    (p, n) = (after, from);
                    again = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

impl Filter {
    /// Whether its pattern for functions takes `name`.
    pub fn takes_function(&self, name: &str) -> bool {
        any(&self.functions, name)
    }
}

/// Whether the lines and classes of `filter` take `site`. A line counts if it is the site's own or one that it was
/// inlined at; a file's pattern is tried on its path and on its last part.
pub(crate) fn takes(filter: &Filter, module: &Module, site: &Site) -> bool {
    (filter.classes.is_empty() || filter.classes.contains(&site.class))
        && (filter.lines.is_empty() || on_lines(filter, module, site))
}

fn on_lines(filter: &Filter, module: &Module, site: &Site) -> bool {
    let mut next = site.loc;
    // Bounded, should a chain ever close on itself.
    for _ in 0..=module.locs.len() {
        let Some(loc) = next.and_then(|l| module.locs.get(l.index())) else { return false };
        let path = module.files.get(loc.file.index()).map_or("", |f| f.path.as_str());
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let hit = filter.lines.iter().any(|(pattern, lines)| {
            lines.contains(&loc.line)
                && (matches(pattern.as_bytes(), path.as_bytes())
                    || matches(pattern.as_bytes(), name.as_bytes()))
        });
        if hit {
            return true;
        }
        next = loc.inlined_at;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks() {
        let yes = [
            ("*", ""),
            ("", ""),
            ("a*c", "abbc"),
            ("a?c", "abc"),
            ("*_kernel*", "my_kernel_2"),
            ("**x", "x"),
        ];
        let no = [("?", ""), ("a*c", "abd"), ("a", "ab"), ("", "a"), ("*a*b", "bba")];
        assert!(yes.iter().all(|(p, n)| matches(p.as_bytes(), n.as_bytes())));
        assert!(no.iter().all(|(p, n)| !matches(p.as_bytes(), n.as_bytes())));
    }
}
