//! Trial runs of programs on synthetic packets.
//!
//! Measured side, cold. For tests and benches: measures decisions and their cost without a network.

use super::KernelError;
use super::maps::said;
use super::programs::{Programs, not_there};
use aya::programs::{ProgramError, SchedClassifier, TestRun, TestRunOptions, TestRunResult, Xdp};
use std::time::Duration;

/// Program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialProgram {
    /// Both stages.
    Police,
    /// Both stages, with SYNs decided before.
    Heads,
    /// SYNs, in the driver.
    Flood,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramTrial {
    /// Return value of the program: of tcx -1 (goes on) or 2 (dropped), of XDP 2 (goes on) or 1 (dropped).
    pub verdict: i32,
    /// The packet afterwards.
    pub packet: Vec<u8>,
    /// Time a run, in ns.
    pub each: Duration,
}

/// Bytes that a packet may grow by.
const ROOM: usize = 256;

impl Programs {
    /// Runs a program on a packet, `repeat` times. Packets that it sends leave by the loopback of the calling
    /// thread's network namespace.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn run_on(
        &self,
        program: TrialProgram,
        packet: &[u8],
        repeat: u32,
    ) -> Result<ProgramTrial, KernelError> {
        let mut out = vec![0; packet.len() + ROOM];
        let options = TestRunOptions {
            data_in: Some(packet),
            data_out: Some(&mut out),
            repeat,
            ..TestRunOptions::new()
        };
        let run: Result<TestRunResult, ProgramError> = match program {
            TrialProgram::Police => self.program::<SchedClassifier>("police")?.test_run(options),
            TrialProgram::Heads => self.program::<SchedClassifier>("heads")?.test_run(options),
            TrialProgram::Flood => self.program::<Xdp>("flood")?.test_run(options),
        };
        let place = format!("a trial of {program:?}");
        let run = run.map_err(|why| KernelError::Attach { place, why: said(&why) })?;
        out.truncate(run.data_size_out as usize);
        Ok(ProgramTrial { verdict: run.return_value as i32, packet: out, each: run.duration })
    }

    fn program<'e, P>(&'e self, name: &'static str) -> Result<&'e P, KernelError>
    where
        &'e P: TryFrom<&'e aya::programs::Program>,
    {
        let program = self.ebpf.program(name).and_then(|program| program.try_into().ok());
        program.ok_or_else(|| not_there(name))
    }
}
