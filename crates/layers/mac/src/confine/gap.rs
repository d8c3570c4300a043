//! Gaps in the protection of a domain, which older kernels leave.
//!
//! Measured side, pure.

use bakeoff_layers_base::named;

/// The first ABI with rules for TCP ports (Linux 6.7): a domain needs them.
pub const NEEDED_ABI: u32 = 4;

named! {
    /// Something that a domain is meant to be held by and is not.
    #[derive(PartialOrd, Ord)]
    pub enum Gap {
        /// Any TCP port can be bound and connected to: ABI below 4.
        NoTcp "no-tcp",
        /// Requests to devices that may be opened are not judged: ABI below 5 (Linux 6.10).
        NoIoctl "no-ioctl",
        /// Signals and abstract sockets reach processes outside: ABI below 6 (Linux 6.12).
        NoScopes "no-scopes",
        /// Refusals are not logged: ABI below 7 (Linux 6.15). They are refusals all the same.
        NoLog "no-log",
        /// Paths of the policy that could not be granted.
        NotGranted "not-granted",
        /// The domain may change its own status, log or policy.
        OwnFiles "own-files",
        /// Nothing was found that the domain may not do, so nothing could be tried.
        NoCanary "no-canary",
    }
}

impl Gap {
    /// Why it makes the degree `partial`; none of one that takes nothing from the protection, and of paths, which are
    /// told by name.
    pub(crate) fn reason(self) -> Option<&'static str> {
        match self {
            Self::NoTcp => Some("this kernel's Landlock has no rules for TCP ports"),
            Self::NoIoctl => Some("this kernel's Landlock has no right for ioctl"),
            Self::NoScopes => Some("this kernel's Landlock has no scopes for signals and abstract sockets"),
            Self::NoLog | Self::NotGranted => None,
            Self::OwnFiles => {
                Some("the program may change its own status, log or policy: lay them elsewhere")
            }
            Self::NoCanary => Some("nothing was found that the domain must not do, so nothing was tried"),
        }
    }
}
