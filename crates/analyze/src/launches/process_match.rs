//! Which process of one run is which of another: by rank, else by command and order.
//!
//! Holds: every process is in one pair or alone. Misses: processes of one command that start in another order than they did
//! in the other run, and have no ranks.

use prlx_trace::Process;

/// Which processes belong together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessMatch {
    /// Pairs, by index; in the order of side A.
    pub pairs: Vec<(usize, usize)>,
    /// By side: those without a partner.
    pub alone: [Vec<usize>; 2],
}

/// Pairs the processes of two runs, each in the order in which they started. What has no process is the recording of a launch
/// file, or can't be read.
pub fn match_processes(a: &[Option<Process>], b: &[Option<Process>]) -> ProcessMatch {
    let mut free: Vec<usize> = (0..b.len()).collect();
    let mut partners = vec![None; a.len()];
    // From what tells most to what tells least.
    let rules: [Rule; 4] = [
        |a, b| matches!((rank(a), rank(b)), (Some(a), Some(b)) if a == b) && same_command(a, b),
        |a, b| matches!((rank(a), rank(b)), (Some(a), Some(b)) if a == b),
        |a, b| rank(a).is_none() && rank(b).is_none() && same_command(a, b),
        |a, b| rank(a).is_none() && rank(b).is_none() && same_program(a, b),
    ];
    for rule in rules {
        for (i, partner) in partners.iter_mut().enumerate().filter(|(_, p)| p.is_none()) {
            let Some(at) = free.iter().position(|j| rule(&a[i], &b[*j])) else { continue };
            *partner = Some(free.remove(at));
        }
    }
    // Two runs of one process each are meant to be compared, whatever they are.
    if let ([None], [j]) = (&partners[..], &free[..]) {
        partners[0] = Some(*j);
        free.clear();
    }
    let alone = (0..a.len()).filter(|i| partners[*i].is_none()).collect();
    let pairs = partners.iter().enumerate().filter_map(|(i, j)| Some((i, (*j)?))).collect();
    ProcessMatch { pairs, alone: [alone, free] }
}

/// Whether two processes belong together.
type Rule = fn(&Option<Process>, &Option<Process>) -> bool;

fn rank(p: &Option<Process>) -> Option<u32> {
    p.as_ref().and_then(|p| p.rank)
}

fn same_command(a: &Option<Process>, b: &Option<Process>) -> bool {
    a.as_ref().map(|p| &p.command) == b.as_ref().map(|p| &p.command)
}

/// The same program, wherever it lies and whatever it is told.
fn same_program(a: &Option<Process>, b: &Option<Process>) -> bool {
    let name = |p: &Option<Process>| {
        p.as_ref().and_then(|p| p.command.first()?.rsplit('/').next().map(str::to_owned))
    };
    name(a) == name(b)
}

/// A process in words: its rank, or else its number and host.
pub(crate) fn name(p: &Process) -> String {
    match p.rank {
        Some(rank) => format!("rank {rank}"),
        None if p.host.is_empty() => format!("process {}", p.pid),
        None => format!("process {} on {}", p.pid, p.host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `app 1:3` is that command at rank 3.
    fn processes(all: &[&str]) -> Vec<Option<Process>> {
        let process = |text: &&str| {
            let (command, rank) = text.split_once(':').map_or((*text, None), |(c, r)| (c, r.parse().ok()));
            let command = command.split(' ').map(str::to_owned).collect();
            (!text.is_empty()).then(|| Process { command, rank, ..Process::default() })
        };
        all.iter().map(process).collect()
    }

    fn check(a: &[&str], b: &[&str], pairs: &[(usize, usize)], alone: [&[usize]; 2]) {
        let found = match_processes(&processes(a), &processes(b));
        assert_eq!(
            found,
            ProcessMatch { pairs: pairs.to_vec(), alone: alone.map(<[usize]>::to_vec) },
            "{a:?} {b:?}"
        );
    }

    #[test]
    fn ranks_then_commands_then_programs() {
        check(&["t x:0", "t x:1"], &["t y:1", "t y:0"], &[(0, 1), (1, 0)], [&[], &[]]);
        check(&["t:0", "launcher"], &["launcher", "t:0", "t:1"], &[(0, 1), (1, 0)], [&[], &[2]]);
        check(&["a 1", "a 2"], &["/bin/a 2", "a 1"], &[(0, 1), (1, 0)], [&[], &[]]);
        check(&["a", "b"], &["b", "c"], &[(1, 0)], [&[0], &[1]]);
        // A worker of the torch launcher runs beside the rank.
        check(&["w:0", "t:0"], &["t:0", "w:0"], &[(0, 1), (1, 0)], [&[], &[]]);
    }

    #[test]
    fn one_and_one_belong_together() {
        check(&["a"], &["b:3"], &[(0, 0)], [&[], &[]]);
        check(&[""], &["b"], &[(0, 0)], [&[], &[]]);
        check(&[], &["b"], &[], [&[], &[0]]);
        check(&["", ""], &["", ""], &[(0, 0), (1, 1)], [&[], &[]]);
    }
}
