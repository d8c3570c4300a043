//! Trial runs of loaded programs on synthetic packets: decisions and their cost without a network.

use aya::programs::{Program, TestRun, TestRunOptions};
use bakeoff_layers_police::kernel::Programs;
use std::time::Duration;

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramTrial {
    /// Return value of the program: of tcx -1 (goes on) or 2 (dropped), of XDP 2 (goes on) or 1 (dropped).
    pub(crate) verdict: i32,
    /// The packet afterwards.
    pub(crate) packet: Vec<u8>,
    /// Time a run, in ns.
    pub(crate) each: Duration,
}

/// Runs a program on a packet, `repeat` times. Packets that it sends leave by the loopback of the calling thread's
/// network namespace.
pub(crate) fn run_on(programs: &Programs, name: &'static str, packet: &[u8], repeat: u32) -> ProgramTrial {
    // Room for what a packet may grow by.
    let mut out = vec![0; packet.len() + 256];
    let options =
        TestRunOptions { data_in: Some(packet), data_out: Some(&mut out), repeat, ..TestRunOptions::new() };
    let run = match programs.program(name).unwrap() {
        Program::Xdp(program) => program.test_run(options).unwrap(),
        Program::SchedClassifier(program) => program.test_run(options).unwrap(),
        other => panic!("{name} is no program of packets: {:?}", other.prog_type()),
    };
    out.truncate(run.data_size_out as usize);
    ProgramTrial { verdict: run.return_value as i32, packet: out, each: run.duration }
}
