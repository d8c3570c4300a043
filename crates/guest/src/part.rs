//! Parts and modes of a count: the words of plans and results.
//!
//! Measuring side. Pure tables.

use bakeoff_calls::CallOperation;
use serde::{Deserialize, Serialize};

/// How the guest is booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootMode {
    /// Without SELinux: what the others are compared with.
    Off,
    /// With SELinux, and no policy loaded: its hooks run, everything is of one type.
    NoPolicy,
    /// With the policy: everything is decided, nothing refused.
    Permissive,
    /// With the policy, enforced.
    Enforcing,
}

impl BootMode {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Off, Self::NoPolicy, Self::Permissive, Self::Enforcing];

    /// As in plans.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::NoPolicy => "no-policy",
            Self::Permissive => "permissive",
            Self::Enforcing => "enforcing",
        }
    }

    /// What the guest is told: of one length, so that no stack in it lies elsewhere because of the word.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Off => 'o',
            Self::NoPolicy => 'n',
            Self::Permissive => 'p',
            Self::Enforcing => 'e',
        }
    }

    /// The security modules of the kernel's `lsm=`. Debian's kernels know no `selinux=0`.
    pub(crate) const fn modules(self) -> &'static str {
        match self {
            Self::Off => "landlock,yama,bpf",
            _ => "landlock,yama,selinux,bpf",
        }
    }
}

/// A group of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestPart {
    /// The operations of `calls`.
    Calls,
    /// The first open and stat after the cache of decisions was emptied.
    Cold,
    /// A request of nginx in the domain of web servers, and what that is refused.
    Web,
    /// make and a C compiler over a few small files.
    Compile,
}

impl GuestPart {
    /// All of them, in the order in which the guest makes them.
    pub const ALL: [Self; 4] = [Self::Calls, Self::Cold, Self::Web, Self::Compile];

    /// As in plans.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Cold => "cold",
            Self::Web => "web",
            Self::Compile => "compile",
        }
    }

    /// The rows that the guest must print for it, given the plan's operations.
    pub(crate) fn rows(self, operations: &[CallOperation]) -> Vec<String> {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        match self {
            Self::Calls => operations.iter().map(|operation| operation.word().to_owned()).collect(),
            Self::Cold => named(&COLD),
            Self::Web => FILES.iter().map(|file| format!("http-{}", file.name)).collect(),
            Self::Compile => named(&COMPILE),
        }
    }
}

/// Rows of [`GuestPart::Cold`].
pub(crate) const COLD: [&str; 3] = ["open-cold", "open-warm", "stat-cold"];
/// Rows of [`GuestPart::Compile`]: all of it, and the kernel's part of it by the guest's own clock, which is sampled.
pub(crate) const COMPILE: [&str; 2] = ["compile", "compile-system"];
/// The row that follows from those of the files.
pub(crate) const MIX: &str = "http-mix";
/// The row that is the mean of one byte read and one written, as it was published.
pub(crate) const NULL_IO: &str = "null-io";

/// A file of the site.
pub(crate) struct SiteFile {
    /// As in the row's name and in the URL.
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
    /// How many of 1000 requests ask for it in WebStone's standard file set.
    pub(crate) share: u32,
    /// Requests of a batch.
    pub(crate) batch: u32,
}

/// WebStone's standard file set. The batches are small where a request takes many instructions: a boot's web part is
/// some 200 million.
pub(crate) const FILES: [SiteFile; 5] = [
    SiteFile { name: "500", bytes: 500, share: 350, batch: 40 },
    SiteFile { name: "5k", bytes: 5 * 1024, share: 500, batch: 40 },
    SiteFile { name: "50k", bytes: 50 * 1024, share: 140, batch: 30 },
    SiteFile { name: "500k", bytes: 500 * 1024, share: 9, batch: 10 },
    SiteFile { name: "5m", bytes: 5 * 1024 * 1024, share: 1, batch: 1 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_whole() {
        assert_eq!(FILES.iter().map(|file| file.share).sum::<u32>(), 1000);
    }

    #[test]
    fn plans_and_results_use_the_same_words() {
        for mode in BootMode::ALL {
            assert_eq!(serde_json::to_string(&mode).unwrap(), format!("\"{}\"", mode.word()));
        }
        for part in GuestPart::ALL {
            assert_eq!(serde_json::to_string(&part).unwrap(), format!("\"{}\"", part.word()));
        }
    }
}
