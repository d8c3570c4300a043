//! Programs run on packets that nobody sent.
//!
//! Measured side, cold. For tests and benches: what is decided, and what it costs, without a network.

use super::KernelError;
use super::maps::said;
use super::programs::{Programs, classifier, flood};
use aya::programs::{ProgramError, TestRun, TestRunOptions, TestRunResult};
use std::time::Duration;

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Both stages.
    Police,
    /// Both stages, SYNs asked before.
    Heads,
    /// SYNs, in the driver.
    Flood,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What the program returned: of tcx -1 (goes on) or 2 (dropped), of XDP 2 (goes on) or 1 (dropped).
    pub verdict: i32,
    /// The packet afterwards.
    pub packet: Vec<u8>,
    /// Time a run, in ns.
    pub each: Duration,
}

/// Bytes that a packet may grow by.
const ROOM: usize = 256;

impl Programs {
    /// Runs a program on a packet, `repeat` times. What it sends leaves by the loopback of the calling thread's network namespace.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn run_on(&mut self, program: Program, packet: &[u8], repeat: u32) -> Result<Trial, KernelError> {
        let mut out = vec![0; packet.len() + ROOM];
        let options = TestRunOptions {
            data_in: Some(packet),
            data_out: Some(&mut out),
            repeat,
            ..TestRunOptions::new()
        };
        let run: Result<TestRunResult, ProgramError> = match program {
            Program::Police => classifier(&mut self.ebpf, "police")?.test_run(options),
            Program::Heads => classifier(&mut self.ebpf, "heads")?.test_run(options),
            Program::Flood => flood(&mut self.ebpf)?.test_run(options),
        };
        let place = format!("a trial of {program:?}");
        let run = run.map_err(|why| KernelError::Attach { place, why: said(&why) })?;
        out.truncate(run.data_size_out as usize);
        Ok(Trial { verdict: run.return_value as i32, packet: out, each: run.duration })
    }
}
