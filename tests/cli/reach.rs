//! Other hosts as they are: namespaces with an sshd and a Slurm of Debian's.

use crate::support::{has, is_root};
use std::process::{Command, Stdio};

/// Far longer than any server takes to start, or `TIME_LIMIT` of a command.
const PATIENCE_SECONDS: &str = "300";

#[test]
fn a_run_each_goes_to_other_hosts_by_ssh_and_slurm() {
    let name = "a_run_each_goes_to_other_hosts_by_ssh_and_slurm";
    let programs = ["ip", "sshd", "slurmctld", "slurmd", "srun", "munged"];
    if !is_root(name) || !programs.iter().all(|program| has(program, name)) {
        return;
    }
    let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/reach");
    let words = ["once", "--bakeoff", env!("CARGO_BIN_EXE_bakeoff"), "--patience", PATIENCE_SECONDS];
    let ended = Command::new(bench).args(words).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    for launcher in ["ssh: ssh:10.", "slurm: slurm:g", "at: ssh:10."] {
        assert!(said.contains(&format!("once: {launcher}")), "{launcher}: {said}");
    }
}
