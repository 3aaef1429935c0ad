//! Matches the processes of two runs: by rank, otherwise by command and order.
//!
//! # Invariants
//! Every process is in exactly one pair, or unmatched.
//!
//! # Limitations
//! Processes of one command without ranks are mismatched if they start in another order in the other run.

use prlx_trace::Process;

/// The processes of two runs, matched.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessMatch {
    /// The matched processes, by index, in the order of side A.
    pub pairs: Vec<(usize, usize)>,
    /// By side: the processes without a match.
    pub alone: [Vec<usize>; 2],
}

/// Matches the processes of two runs, each listed in the order of their start. `None` stands for a launch
/// file's recording, or for a recording that cannot be read.
pub fn match_processes(a: &[Option<Process>], b: &[Option<Process>]) -> ProcessMatch {
    let mut free: Vec<usize> = (0..b.len()).collect();
    let mut partners = vec![None; a.len()];
    // The most specific rule first.
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
    // Two runs of one process each are compared, whatever they ran.
    if let ([None], [j]) = (&partners[..], &free[..]) {
        partners[0] = Some(*j);
        free.clear();
    }
    let alone = (0..a.len()).filter(|i| partners[*i].is_none()).collect();
    let pairs = partners.iter().enumerate().filter_map(|(i, j)| Some((i, (*j)?))).collect();
    ProcessMatch { pairs, alone: [alone, free] }
}

/// Whether two processes match.
type Rule = fn(&Option<Process>, &Option<Process>) -> bool;

fn rank(p: &Option<Process>) -> Option<u32> {
    p.as_ref().and_then(|p| p.rank)
}

fn same_command(a: &Option<Process>, b: &Option<Process>) -> bool {
    a.as_ref().map(|p| &p.command) == b.as_ref().map(|p| &p.command)
}

/// Whether two processes ran the same program, whatever its folder and arguments.
fn same_program(a: &Option<Process>, b: &Option<Process>) -> bool {
    let name = |p: &Option<Process>| {
        p.as_ref().and_then(|p| p.command.first()?.rsplit('/').next().map(str::to_owned))
    };
    name(a) == name(b)
}

/// Names a process by its rank, or else by its process id and host.
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
