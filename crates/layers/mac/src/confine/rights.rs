//! Landlock rights for the access words of policies, and those that older kernels lack.
//!
//! Measured side, pure except for asking the kernel's version. Owns the table of rights, and of the gap of each
//! older ABI.

use crate::access::{Access, Accesses};
use crate::confine::error::ConfineError;
use crate::confine::gap::{Gap, NEEDED_ABI};
use crate::grant::DomainGrant;
use landlock::{ABI, Access as _, AccessFs, AccessNet, BitFlags, Scope, make_bitflags};

/// Landlock features of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    abi: u32,
}

impl Kernel {
    /// This kernel, limited to `most`; 0 is one without Landlock.
    pub(super) fn here(most: Option<u32>) -> Result<Self, ConfineError> {
        let abi = bakeoff_sys::landlock::abi().map_err(|why| ConfineError::NoLandlock { why })?;
        match most.map_or(abi, |most| abi.min(most)) {
            0 => Err(ConfineError::NoLandlock { why: std::io::Error::from_raw_os_error(libc::ENOSYS) }),
            abi => Ok(Self { abi }),
        }
    }

    pub(super) fn abi(self) -> u32 {
        self.abi
    }

    fn known(self) -> ABI {
        ABI::from(i32::try_from(self.abi).unwrap_or(i32::MAX))
    }

    /// Rights that are refused unless a rule grants them. Truncation is not among them: it would be asked about at
    /// every open, and a rule that grants reading only would never end the kernel's walk to the root (`calls` refuses
    /// its other ways).
    pub(super) fn files(self) -> BitFlags<AccessFs> {
        AccessFs::from_all(self.known()) & !AccessFs::Truncate
    }

    /// UDP is not among them: `calls` refuses it completely.
    pub(super) fn ports(self) -> BitFlags<AccessNet> {
        AccessNet::from_all(self.known()) & make_bitflags!(AccessNet::{BindTcp | ConnectTcp})
    }

    pub(super) fn scopes(self) -> BitFlags<Scope> {
        Scope::from_all(self.known())
    }

    /// Whether refusals can be logged.
    pub(super) fn logs(self) -> bool {
        self.abi >= 7
    }

    /// Gaps of this kernel for this domain.
    pub(super) fn gaps(self, grant: &DomainGrant) -> Vec<Gap> {
        let ioctl_matters = grant.files.iter().any(|file| !file.accesses.has(Access::Ioctl));
        let missing = [
            (self.abi < NEEDED_ABI, Gap::NoTcp),
            (self.abi < 5 && ioctl_matters, Gap::NoIoctl),
            (self.abi < 6, Gap::NoScopes),
            (!self.logs(), Gap::NoLog),
        ];
        missing.into_iter().filter_map(|(is_missing, gap)| is_missing.then_some(gap)).collect()
    }

    /// Rights of these words at a path; at a file, none of those that are for directories.
    pub(super) fn rights(self, accesses: Accesses, of_directory: bool) -> BitFlags<AccessFs> {
        let all = accesses.iter().fold(BitFlags::EMPTY, |all, access| all | rights(access)) & self.files();
        if of_directory { all } else { all & AccessFs::from_file(self.known()) }
    }
}

/// Devices can never be created. Writing to a socket by its path is connecting to it, which kernels from ABI 9 on
/// judge.
fn rights(access: Access) -> BitFlags<AccessFs> {
    match access {
        Access::Read => AccessFs::ReadFile.into(),
        Access::List => AccessFs::ReadDir.into(),
        Access::Write => make_bitflags!(AccessFs::{WriteFile | ResolveUnix}),
        Access::Create => make_bitflags!(AccessFs::{MakeReg | MakeDir | MakeSym | MakeSock | MakeFifo}),
        Access::Delete => make_bitflags!(AccessFs::{RemoveFile | RemoveDir}),
        Access::Rename => AccessFs::Refer.into(),
        Access::Exec => AccessFs::Execute.into(),
        Access::Ioctl => AccessFs::IoctlDev.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_right_but_truncation_and_devices_is_some_words() {
        for abi in 1..=10 {
            let kernel = Kernel { abi };
            let devices = make_bitflags!(AccessFs::{MakeChar | MakeBlock});
            assert_eq!(kernel.rights(Accesses::any(), true), kernel.files() & !devices, "{abi}");
            assert!(!kernel.files().contains(AccessFs::Truncate));
            let of_file = kernel.rights(Accesses::any(), false);
            assert!(!of_file.intersects(AccessFs::ReadDir | AccessFs::MakeReg | AccessFs::Refer), "{abi}");
            assert!(of_file.contains(AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Execute), "{abi}");
        }
        assert_eq!(Kernel { abi: 10 }.ports(), Kernel { abi: 4 }.ports());
    }

    #[test]
    fn each_older_kernel_has_its_gaps_by_name() {
        let file = crate::grant::FileGrant {
            path: "/srv".into(),
            accesses: [Access::Read].into_iter().collect(),
            hot: false,
            label: "site".to_owned(),
            line: 1,
        };
        let grant = DomainGrant { files: vec![file], ..DomainGrant::default() };
        let of = |abi| Kernel { abi }.gaps(&grant).into_iter().map(Gap::name).collect::<Vec<_>>().join(" ");
        assert_eq!(of(3), "no-tcp no-ioctl no-scopes no-log");
        assert_eq!(of(4), "no-ioctl no-scopes no-log");
        assert_eq!([of(5), of(6)], ["no-scopes no-log", "no-log"]);
        assert_eq!([of(7), of(8), of(10)], ["", "", ""]);
    }
}
