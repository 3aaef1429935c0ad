//! Large launches in bounded memory. The peak is measured in a process of its own, which runs nothing else.

use crate::case::Case;
use prlx_driver::ErrorKind;
use prlx_emu::Options;

/// The most memory this process ever had, MiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? / 1024)
}

/// Set in the process that measures.
const MEASURES: &str = "PRLX_EMU_MEASURES_MEMORY";

/// Runs this test again in a process of its own, in which no other test runs beside it.
#[test]
fn large_launches_take_little_memory() {
    if std::env::var_os(MEASURES).is_some() {
        return measure();
    }
    let this = std::env::current_exe().expect("the test's own program");
    let name = "bounded::large_launches_take_little_memory";
    let run = std::process::Command::new(this).args([name, "--exact"]).env(MEASURES, "1").output();
    let run = run.expect("the test's own program runs");
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && out.contains("1 passed"),
        "{out}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

fn measure() {
    let module = ".shared .align 4 .b8 unused[4];";
    let count = "red.global.add.u32 [%rd0], 1;";
    let case = |body: &str, grid, block, threads| Case {
        words: vec![0],
        options: Options { threads, ..Options::default() },
        ..Case::new(body).module(module).shape(grid, block)
    };
    let begun = peak();
    let grown = || peak().zip(begun).map(|(now, then)| now.saturating_sub(then));
    // A million threads, with local memory; then CTAs by the million, in order and by a seed's.
    let local = ".local .align 4 .b8 l[256]; mov.u64 %rd2, l; cvta.local.u64 %rd2, %rd2; st.u32 [%rd2+128], %r0; ld.u32 %r1, [%rd2+128];";
    assert_eq!(case(&format!("{local} {count}"), 1024, 1024, 0).words(), [1 << 20]);
    assert_eq!(case(count, 1_000_000, 1, 0).words(), [1_000_000]);
    assert_eq!(case(count, 100_000, 1, 0).seed(3).unwrap().0, [100_000]);
    assert!(grown().is_none_or(|mib| mib < 48), "{:?} MiB", grown());
    // More CTAs that wait for each other than are under way at once.
    let body = "atom.global.add.u32 %r1, [%rd0], 1;\n A: ld.volatile.global.u32 %r2, [%rd0]; setp.lt.u32 %p1, %r2, 1000; @%p1 bra A;";
    for seed in [0, 1] {
        let mut wait = case(body, 1000, 1, 0);
        wait.options.max_steps = 100_000;
        let e = wait.seed(seed).unwrap_err();
        let says = ["100000 instructions", "the grid (744 CTAs have not begun) wait for each other"];
        assert!(e.kind == ErrorKind::Stuck && says.iter().any(|s| e.message.contains(s)), "{e}");
    }
    // One CTA among many may take long, if all together do not.
    let long = "mov.u32 %r2, 0; setp.ne.u32 %p1, %r61, 7; @%p1 bra E;\n A: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 30000; @%p2 bra A;\n\
        E: atom.global.add.u32 %r1, [%rd0], 1;";
    for seed in [0, 1] {
        let mut limited = case(long, 500, 1, 0);
        limited.options.max_launch_steps = 110_000;
        assert_eq!(limited.seed(seed).unwrap().0, [500]);
        limited.options.max_launch_steps = 80_000;
        let e = limited.seed(seed).unwrap_err();
        let text = "the launch did not end within the step limit of 80000 instructions";
        assert!(e.kind == ErrorKind::Stuck && e.message.contains(text), "{e}");
    }
    // Recursion and prints, as much as they like.
    let print = "{ .param .b64 a; .param .b64 b; .param .b32 r; mov.u64 %rd5, text; cvta.global.u64 %rd5, %rd5; st.param.b64 [a], %rd5;\n\
        st.param.b64 [b], 0; call (r), vprintf, (a, b); }";
    let text = format!(
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a); .global .align 1 .b8 text[1025] = {{{}}};",
        vec!["65"; 1024].join(",")
    );
    let mut endless = case(&format!("L:\n {print} bra L;"), 1, 1024, 1).module(&text);
    endless.options.max_steps = 100_000;
    let e = endless.error();
    assert!(e.kind == ErrorKind::Stuck, "{e}");
    assert!(grown().is_none_or(|mib| mib < 256), "{:?} MiB", grown());
}
