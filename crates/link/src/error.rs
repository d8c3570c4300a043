//! Errors of making a link: what is missing, and what to do.

use bakeoff_units::{BitsPerSecond, Nanos};
use std::io;

/// The advice when a link cannot be had at all.
const WITHOUT: &str = "or take `link` out of the plan";

/// The reason for which a link could not be made, or is gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// No namespace could be made or entered.
    #[error("no network of its own for generator and subjects: {}", namespace(.0))]
    Namespace(io::Error),
    /// iproute2 is missing.
    #[error(
        "no program `{program}` on this machine; install iproute2 (Debian, Ubuntu: `apt-get install iproute2`), {WITHOUT}"
    )]
    NoTool {
        /// `ip` or `tc`.
        program: &'static str,
    },
    /// iproute2 refused.
    #[error(
        "cannot make the link: `{command}` failed: {said}; the kernel needs veth and sch_tbf, the user CAP_NET_ADMIN: run as root on such a kernel, {WITHOUT}"
    )]
    Tool {
        /// The command.
        command: String,
        /// The answer.
        said: String,
    },
    /// Neither way of delaying works.
    #[error(
        "this kernel can neither delay nor lose packets: it has no netem ({netem}), and the user-space emulator cannot work ({emulator}); load sch_netem or tun as root, or take `delay` and `loss` out of the plan"
    )]
    NoDelay {
        /// The kernel's reason.
        netem: String,
        /// The emulator's reason.
        emulator: String,
    },
    /// The emulator process is gone, or does not answer.
    #[error("the process that delays packets has failed: {0}; start again")]
    Emulator(io::Error),
    /// The kernel does not tell its counters.
    #[error("the counters of the link cannot be read: {0}")]
    Counters(io::Error),
    /// Nothing came through.
    #[error("nothing comes through the link: {0}; does a firewall apply to new network namespaces?")]
    Dead(io::Error),
    /// It does not carry what it should.
    #[error(
        "the link was to carry {asked} and carried {got} of TCP payload {way}; this machine cannot shape that rate now: ask for a lower one, or wait until the machine is quieter"
    )]
    Rate {
        /// As the plan says.
        asked: BitsPerSecond,
        /// As measured.
        got: BitsPerSecond,
        /// The direction.
        way: &'static str,
    },
    /// Its delay differs from the plan's.
    #[error(
        "the link was to delay by {asked} and delayed by {got} (median); this machine cannot do that now: wait until it is quieter"
    )]
    Delay {
        /// As the plan says.
        asked: Nanos,
        /// As measured.
        got: Nanos,
    },
}

fn namespace(error: &io::Error) -> String {
    match nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or_default()) {
        nix::errno::Errno::EPERM => {
            format!(
                "a link needs the right to make network namespaces (CAP_SYS_ADMIN and CAP_NET_ADMIN); run as root, {WITHOUT}"
            )
        }
        nix::errno::Errno::EINVAL | nix::errno::Errno::ENOSYS => {
            format!("this kernel has no network namespaces (CONFIG_NET_NS); use one that has, {WITHOUT}")
        }
        nix::errno::Errno::ENOSPC => {
            format!("there are as many as may be; raise user.max_net_namespaces with sysctl, {WITHOUT}")
        }
        _ => format!("{error}; {WITHOUT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_missing_and_what_to_do() {
        let say = |errno: nix::errno::Errno| LinkError::Namespace(errno.into()).to_string();
        assert!(say(nix::errno::Errno::EPERM).contains("run as root, or take `link` out of the plan"));
        assert!(say(nix::errno::Errno::EINVAL).contains("CONFIG_NET_NS"));
        assert!(say(nix::errno::Errno::ENOSPC).contains("user.max_net_namespaces"));
        assert!(LinkError::NoTool { program: "tc" }.to_string().contains("apt-get install iproute2"));
    }
}
