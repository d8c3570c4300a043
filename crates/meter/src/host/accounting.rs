//! Time accounting of this kernel: whether interrupts and stolen time are charged to tasks.
//!
//! It decides on the meaning of a CPU clock, so it is recorded with the environment of a run.

use flate2::read::GzDecoder;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;

/// Whether such time is charged to the task that was running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charged {
    /// Yes: a task's CPU time includes the work that ran on its core meanwhile.
    ToTasks,
    /// No: the kernel takes it out.
    Apart,
    /// The kernel's configuration cannot be read.
    Unknown,
}

impl Charged {
    /// As reports print it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ToTasks => "charged to tasks",
            Self::Apart => "taken out of task time",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Charged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The accounting of this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounting {
    /// Time in interrupt handlers (`CONFIG_IRQ_TIME_ACCOUNTING`, or full virtual accounting).
    pub irq: Charged,
    /// Time the hypervisor took (`CONFIG_PARAVIRT_TIME_ACCOUNTING`).
    pub steal: Charged,
}

impl Accounting {
    /// From the running kernel's configuration.
    pub fn read() -> Self {
        match configuration() {
            Some(text) => Self::from_configuration(&text),
            None => Self { irq: Charged::Unknown, steal: Charged::Unknown },
        }
    }

    fn from_configuration(text: &str) -> Self {
        let is_set = |option: &str| text.lines().any(|line| line.strip_prefix(option) == Some("=y"));
        let apart = |set| if set { Charged::Apart } else { Charged::ToTasks };
        Self {
            irq: apart(is_set("CONFIG_IRQ_TIME_ACCOUNTING") || is_set("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE")),
            steal: apart(is_set("CONFIG_PARAVIRT_TIME_ACCOUNTING")),
        }
    }
}

fn configuration() -> Option<String> {
    let mut text = String::new();
    if let Ok(file) = File::open("/proc/config.gz")
        && GzDecoder::new(file).read_to_string(&mut text).is_ok()
    {
        return Some(text);
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    fs::read_to_string(format!("/boot/config-{}", release.trim())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_the_kernels_configuration() {
        let text = "# CONFIG_IRQ_TIME_ACCOUNTING is not set\nCONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\nCONFIG_PARAVIRT_TIME_ACCOUNTING=y\n";
        let found = Accounting::from_configuration(text);
        assert_eq!(found, Accounting { irq: Charged::ToTasks, steal: Charged::Apart });
        assert_eq!(Accounting::from_configuration("CONFIG_IRQ_TIME_ACCOUNTING=y").irq, Charged::Apart);
    }

    #[test]
    fn this_kernel_is_known_where_it_publishes_its_configuration() {
        let readable = fs::exists("/proc/config.gz").is_ok_and(|exists| exists);
        assert!(!readable || Accounting::read().steal != Charged::Unknown);
    }
}
