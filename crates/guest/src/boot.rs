//! One boot: QEMU under a supervisor, with a time limit, and what its console said.
//!
//! Measuring side, cold. With `-icount shift=0` the guest's clock and its processor's counter advance by one for
//! each instruction, so what it counts depends neither on this machine nor on what else runs here.

use crate::build::Built;
use crate::records::{Boot, BootRecord, GuestFact};
use crate::said::{self, Said};
use crate::tools::Tool;
use crate::{BootMode, GuestError};
use bakeoff_subject::{CommandEnd, CommandJob, CommandOutcome, CpuChoice, run_command};
use bakeoff_units::Nanos;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// One processor without extensions that differ between hosts, no devices but a console, a clock of its own.
const MACHINE: [&str; 21] = [
    "qemu-system-x86_64",
    "-accel",
    "tcg,thread=single",
    "-icount",
    "shift=0,sleep=off",
    "-M",
    "pc",
    "-cpu",
    "qemu64",
    "-smp",
    "1",
    "-m",
    "768M",
    "-rtc",
    "base=2027-01-01,clock=vm",
    "-nodefaults",
    "-no-user-config",
    "-no-reboot",
    "-display",
    "none",
    "-serial",
];
/// Nothing random, nothing measured at boot, an end at a panic.
const KERNEL: &str = "console=ttyS0 quiet panic=-1 nokaslr norandmaps randomize_kstack_offset=off random.trust_cpu=off \
                      lpj=4000000 tsc=reliable no_timer_check";
/// A perturbed boot has so many more characters in its command line for each step.
const STEP: usize = 7;
/// What the guest prints.
pub(crate) const CONSOLE: &str = "console.log";
/// Lines of the console that an error shows.
const LAST_LINES: usize = 8;

/// How QEMU is started, but for what differs between boots.
pub(crate) fn machine() -> Vec<String> {
    MACHINE.iter().map(|word| (*word).to_owned()).chain([KERNEL.to_owned()]).collect()
}

/// What QEMU says it is.
pub(crate) fn version() -> Result<String, GuestError> {
    let said = Tool::new("qemu-system-x86_64").words(["--version"]).text()?;
    Ok(said.lines().next().unwrap_or_default().to_owned())
}

/// What a boot needs of the run that it is of.
pub(crate) struct Booting<'r> {
    pub(crate) built: &'r Built,
    pub(crate) rows: &'r [String],
    pub(crate) time_limit: Nanos,
    pub(crate) interrupted: &'r AtomicBool,
}

impl Booting<'_> {
    /// Boots, waits for the end, reads. `number` is from 1 on; `dir` its own directory.
    pub(crate) fn boot(&self, number: usize, boot: Boot, dir: &Path) -> Result<BootRecord, GuestError> {
        let console = dir.join(CONSOLE);
        let job = CommandJob {
            arm: format!("boot {number}"),
            argv: self.argv(boot, &console),
            env: Vec::new(),
            cwd: dir.to_owned(),
            dir: dir.to_owned(),
            cpus: Vec::new(),
            time_limit: Some(self.time_limit),
            cpu_source: CpuChoice::Clocks,
            grace: Nanos::from_secs(2),
            executable: None,
            interrupted: self.interrupted,
        };
        let outcome = run_command(&job)?;
        if outcome.status == CommandEnd::Interrupted {
            return Err(GuestError::Interrupted);
        }
        let text = String::from_utf8_lossy(&fs::read(&console).unwrap_or_default()).into_owned();
        let said = said::read(&text);
        let failed = |why: String| GuestError::Boot {
            boot: number,
            what: boot.in_words(),
            why,
            lines: last_lines(&text),
        };
        match self.missed(&outcome, &said) {
            Some(why) => Err(failed(why)),
            None => as_it_was_booted(boot, &said.facts).map_err(failed).map(|()| BootRecord {
                boot,
                rows: said.rows,
                facts: said.facts,
                elapsed_ns: outcome.elapsed.get(),
                cpu_ns: (outcome.user + outcome.system).get(),
            }),
        }
    }

    fn argv(&self, boot: Boot, console: &Path) -> Vec<String> {
        let mut argv: Vec<String> = MACHINE.iter().map(|word| (*word).to_owned()).collect();
        let mitigations = if boot.mitigations { "auto" } else { "off" };
        let mut words = format!(
            "{KERNEL} mitigations={mitigations} lsm={} mode={} ramdisk={}",
            boot.mode.modules(),
            boot.mode.letter(),
            self.built.disk_kib
        );
        if boot.perturbation > 0 {
            words += &format!(" perturb={}", "x".repeat(boot.perturbation as usize * STEP));
        }
        let path = |path: &Path| path.display().to_string();
        argv.push(format!("file:{}", path(console)));
        argv.extend(["-kernel".to_owned(), path(&self.built.kernel), "-initrd".to_owned()]);
        argv.extend([path(&self.built.archive), "-append".to_owned(), words]);
        argv
    }

    /// Why the boot did not count everything, with what to do.
    fn missed(&self, outcome: &CommandOutcome, said: &Said) -> Option<String> {
        if outcome.status == CommandEnd::TimedOut {
            let limit = self.time_limit;
            return Some(format!(
                "it had not ended after {limit}; give a longer `time_limit`, or fewer `parts`"
            ));
        }
        if said.panicked {
            return Some("its kernel panicked; is another kernel or QEMU to be had?".to_owned());
        }
        if outcome.status != CommandEnd::Exited(0) {
            let words = outcome.stderr_tail.last().map_or(String::new(), |line| format!(": {line}"));
            return Some(format!("QEMU ended with {}{words}", outcome.status));
        }
        if let Some(cannot) = said.cannot.first() {
            return Some(format!(
                "it could not make {}: {}; leave it out of the plan",
                cannot.name, cannot.why
            ));
        }
        let missing = self.rows.iter().find(|name| !said.rows.iter().any(|row| row.name == **name));
        if let Some(name) = missing {
            return Some(format!("it did not print the row {name}; leave that out of the plan"));
        }
        (!said.ended).then(|| "it ended before everything was counted".to_owned())
    }
}

/// Whether the guest was in the mode that it was to be in: a cost of what was not on is none.
fn as_it_was_booted(boot: Boot, facts: &[GuestFact]) -> Result<(), String> {
    let wanted = match boot.mode {
        BootMode::Off | BootMode::NoPolicy => None,
        BootMode::Permissive => Some("0"),
        BootMode::Enforcing => Some("1"),
    };
    let found = facts.iter().find(|fact| fact.name == "enforcing").map(|fact| fact.value.as_str());
    if wanted != found {
        return Err(format!("it was to be {}, and its kernel says otherwise", boot.mode.word()));
    }
    let domain = facts.iter().find(|fact| fact.name == "domain").map(|fact| fact.value.as_str());
    match domain {
        Some(domain) if !domain.contains(":unconfined_t:") => {
            Err(format!("what was counted ran as {domain}; the policy has no such user's domain"))
        }
        _ => Ok(()),
    }
}

fn last_lines(console: &str) -> Vec<String> {
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(LAST_LINES);
    lines[last..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(name: &str, value: &str) -> GuestFact {
        GuestFact { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_guest_in_another_mode_is_none() {
        let boot = |mode| Boot { mode, mitigations: false, perturbation: 0, repeat: false };
        let domain = fact("domain", "unconfined_u:unconfined_r:unconfined_t:s0");
        let on = [fact("enforcing", "1"), domain.clone()];
        assert!(as_it_was_booted(boot(BootMode::Enforcing), &on).is_ok());
        assert!(as_it_was_booted(boot(BootMode::Permissive), &on).is_err());
        assert!(as_it_was_booted(boot(BootMode::Off), &on).is_err());
        assert!(as_it_was_booted(boot(BootMode::Enforcing), &[]).is_err());
        assert!(as_it_was_booted(boot(BootMode::NoPolicy), &[]).is_ok());
        let kernel = [fact("enforcing", "1"), fact("domain", "system_u:system_r:kernel_t:s0")];
        assert!(as_it_was_booted(boot(BootMode::Enforcing), &kernel).unwrap_err().contains("kernel_t"));
    }

    #[test]
    fn the_end_of_a_console_is_shown() {
        let console: String = (0..20).map(|line| format!("line {line}\r\n\n")).collect();
        let shown = last_lines(&console);
        assert_eq!((shown.len(), shown[7].as_str()), (LAST_LINES, "line 19"));
    }
}
