//! Reads the assembler options that a build stored in its code.

/// Selects the stored options that change the machine code. `stored` is a command line, for example `
/// -lineinfo -arch sm_90a -O1`.
pub fn code_options(stored: &str) -> Vec<String> {
    let mut words = stored.split_whitespace().peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let value = words.next_if(|w| !word.contains('=') && !w.starts_with('-'));
        let name = word.split('=').next().unwrap_or_default();
        let idle = [
            "-lineinfo",
            "--generate-line-info",
            "-v",
            "--verbose",
            "-arch",
            "--gpu-name",
            "-o",
            "--output-file",
        ];
        if word.starts_with('-') && !idle.contains(&name) {
            all.push(word.to_owned());
            all.extend(value.map(str::to_owned));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::code_options;

    #[test]
    fn options_that_change_code_are_kept() {
        let all = |stored| code_options(stored).join(" ");
        assert_eq!(all(" -lineinfo -arch sm_90a "), "");
        assert_eq!(all("-maxrregcount=32 -O2 --generate-line-info"), "-maxrregcount=32 -O2");
        assert_eq!(all("-v -g --gpu-name=sm_90 --maxrregcount 40 -O 1 in.ptx"), "-g --maxrregcount 40 -O 1");
    }
}
