//! Checks of kernel features that the layer mac needs, and of access controls that `--here` would measure.

use super::super::seen::AuditState;
use super::{CheckInput, Judged, Level};

/// Landlock ABI from which on the layer mac can use every feature that this kernel could refuse or log.
const WHOLE: u32 = 7;

pub(super) fn modules(asked: &CheckInput<'_>) -> Option<Judged> {
    Some(match asked.seen.security.modules.as_ref()? {
        Ok(modules) => Judged::ok(format!("security modules: {}", modules.replace(',', ", "))),
        Err(why) => Judged::but(
            format!("the kernel's security modules are not known ({why})"),
            Level::Note,
            "their list",
            "whether SELinux or AppArmor is in the figures of this machine cannot be told",
            "As root: `mount -t securityfs none /sys/kernel/security`.",
        ),
    })
}

pub(super) fn landlock(asked: &CheckInput<'_>) -> Option<Judged> {
    let found = match asked.seen.security.landlock.as_ref()? {
        Ok(abi) if *abi >= WHOLE => return Some(Judged::ok(format!("Landlock has ABI {abi}"))),
        Ok(abi) => format!("Landlock has ABI {abi}"),
        Err(why) => format!("there is no Landlock ({why})"),
    };
    Some(Judged::but(
        found,
        Level::Note,
        format!("ABI {WHOLE} or more"),
        "the layer mac cannot refuse or log all that a policy says: its degree names what is missing",
        "Boot a kernel from 6.15 on, with `landlock` in its list of security modules (`lsm=`).",
    ))
}

pub(super) fn audit(asked: &CheckInput<'_>) -> Option<Judged> {
    let (found, why, how) = match asked.seen.security.audit.as_ref()? {
        Ok(AuditState { daemon, .. }) if *daemon > 0 => {
            return Some(Judged::ok(format!("the kernel's audit is on; its daemon is process {daemon}")));
        }
        Ok(AuditState { enabled: 1.., .. }) => {
            return Some(Judged::ok("the kernel's audit is on; nobody reads it but who asks"));
        }
        Ok(_) => {
            return Some(Judged::ok(
                "the kernel's audit is off; the layer mac has it on while it keeps a log",
            ));
        }
        Err(why) => (
            format!("the kernel's audit cannot be asked ({why})"),
            "the layer mac keeps no log of what was refused; it refuses the same",
            "Run as root, outside of containers, on a kernel with CONFIG_AUDIT.",
        ),
    };
    Some(Judged::but(found, Level::Note, "a log of refusals", why, how))
}
