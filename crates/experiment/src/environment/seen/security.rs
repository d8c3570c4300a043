//! Observed access controls of the kernel, and their settings.

use super::super::host::{Found, Host};
use bakeoff_sys::audit::Audit;
use bakeoff_sys::landlock;
use std::io;

/// The kernel's list of its security modules; securityfs need not be mounted.
const MODULES: &str = "/sys/kernel/security/lsm";
/// SELinux's enforcing flag.
const ENFORCE: &str = "/sys/fs/selinux/enforce";
/// AppArmor's enabled flag.
const APPARMOR: &str = "/sys/module/apparmor/parameters/enabled";

/// Access controls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Security {
    /// ABI of Landlock, or the error from the system.
    pub landlock: Option<Result<u32, String>>,
    /// Names of the modules, with commas, or why they are not known.
    pub modules: Option<Found<String>>,
    /// Whether the kernel's audit is on, or why that is not known.
    pub audit: Option<Result<AuditState, String>>,
}

/// Settings of the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditState {
    /// 0 off, 1 on, 2 on and not to be changed before the machine is started again.
    pub enabled: u32,
    /// Process number of the audit daemon; 0: none.
    pub daemon: u32,
}

pub(super) fn read(host: &Host) -> Security {
    let audit = || -> io::Result<AuditState> {
        let settings = Audit::open()?.settings()?;
        Ok(AuditState { enabled: settings.enabled, daemon: settings.daemon })
    };
    Security {
        landlock: Some(landlock::abi().map_err(|why| why.to_string())),
        modules: Some(host.line(MODULES)),
        audit: Some(audit().map_err(|why| why.to_string())),
    }
}

/// The modules that are loaded, in their order.
pub(in crate::environment) fn modules(host: &Host) -> Found<String> {
    host.line(MODULES).map(|modules| modules.replace(',', ", "))
}

/// `enforcing`, `permissive` or `none`.
pub(in crate::environment) fn selinux(host: &Host) -> String {
    match host.line(ENFORCE).as_deref() {
        Ok("1") => "enforcing",
        Ok("0") => "permissive",
        Ok(_) => "unknown (it says neither 0 nor 1)",
        Err(_) => "none",
    }
    .to_owned()
}

/// `on`, `off` or `none`.
pub(in crate::environment) fn apparmor(host: &Host) -> String {
    match host.line(APPARMOR).as_deref() {
        Ok("Y") => "on",
        Ok(_) => "off",
        Err(_) => "none",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::super::host::tests::machine;
    use super::*;

    #[test]
    fn modes_are_told_in_words() {
        let (_directory, host) =
            machine(&[(ENFORCE, "1"), (APPARMOR, "Y\n"), (MODULES, "lockdown,selinux\n")]);
        assert_eq!((selinux(&host), apparmor(&host)), ("enforcing".to_owned(), "on".to_owned()));
        assert_eq!(modules(&host).unwrap(), "lockdown, selinux");
        let (_directory, host) = machine(&[(ENFORCE, "0"), (APPARMOR, "N\n")]);
        assert_eq!((selinux(&host), apparmor(&host)), ("permissive".to_owned(), "off".to_owned()));
        let (_directory, host) = machine(&[]);
        assert_eq!((selinux(&host), apparmor(&host)), ("none".to_owned(), "none".to_owned()));
        assert!(modules(&host).is_err());
    }
}
