//! Parser of the kernel's audit records of refusals.
//!
//! Measured side, pure. The confined program chooses the paths and names in them: a record of unexpected form is no
//! record of ours. The kernel writes text that is not plain as hex digits, so neither a blank nor a quote in a name
//! can be taken for the end of a field.

use super::access::{LoggedAccess, accesses};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Types of records, `linux/audit.h`.
mod kind {
    pub(super) const SYSCALL: u16 = 1300;
    pub(super) const CONFIG_CHANGE: u16 = 1305;
    pub(super) const END_OF_EVENT: u16 = 1320;
    pub(super) const SECCOMP: u16 = 1326;
    pub(super) const LANDLOCK_ACCESS: u16 = 1423;
    pub(super) const LANDLOCK_DOMAIN: u16 = 1424;
}

/// An audit record. Those of one system call have the same serial number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Time in milliseconds since 1970.
    pub t_ms: u64,
    /// Its serial number.
    pub serial: u64,
    /// Its content.
    pub told: RecordContent,
}

/// Content of an audit record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordContent {
    /// Landlock refused something to a process of this domain.
    Refused {
        /// The domain's number in the kernel.
        domain: u64,
        /// The missing rights.
        wanted: Vec<LoggedAccess>,
    },
    /// The creator of this domain; sent with the domain's first refusal.
    Domain {
        /// Its number.
        domain: u64,
        /// The process that confined itself.
        pid: u32,
        /// Path of that process's program at that time.
        exe: PathBuf,
    },
    /// The last process of the domain is gone.
    Gone {
        /// Its number.
        domain: u64,
    },
    /// seccomp refused a call.
    Call {
        /// The process.
        pid: u32,
        /// Path of its program.
        exe: PathBuf,
        /// The call's number.
        call: u32,
    },
    /// The process of the other records with this serial number.
    Process {
        /// Its number.
        pid: u32,
        /// Its parent's.
        parent: u32,
        /// Path of its program.
        exe: PathBuf,
    },
    /// End of the records with this serial number.
    End,
    /// Somebody has changed the audit's settings.
    Changed,
}

/// The record with this text; `None` if we do not need it or it is malformed.
pub fn parse(kind: u16, text: &[u8]) -> Option<AuditRecord> {
    let (head, rest) = cut(text.strip_prefix(b"audit(")?, b"):")?;
    let (time, serial) = cut(head, b":")?;
    let (seconds, thousandths) = cut(time, b".")?;
    let t_ms = number::<u64>(seconds)?.checked_mul(1000)?.checked_add(number(thousandths)?)?;
    Some(AuditRecord { t_ms, serial: number(serial)?, told: told(kind, &Fields(rest))? })
}

fn told(kind: u16, fields: &Fields<'_>) -> Option<RecordContent> {
    Some(match kind {
        kind::LANDLOCK_ACCESS => RecordContent::Refused { domain: fields.domain()?, wanted: wanted(fields)? },
        kind::LANDLOCK_DOMAIN => match fields.find("status")? {
            b"allocated" => RecordContent::Domain {
                domain: fields.domain()?,
                pid: fields.number("pid")?,
                exe: fields.path("exe")?,
            },
            b"deallocated" => RecordContent::Gone { domain: fields.domain()? },
            _ => return None,
        },
        kind::SECCOMP => RecordContent::Call {
            pid: fields.number("pid")?,
            exe: fields.path("exe")?,
            call: fields.number("syscall")?,
        },
        kind::SYSCALL => RecordContent::Process {
            pid: fields.number("pid")?,
            parent: fields.number("ppid")?,
            exe: fields.path("exe")?,
        },
        kind::END_OF_EVENT => RecordContent::End,
        kind::CONFIG_CHANGE => RecordContent::Changed,
        _ => return None,
    })
}

/// The missing rights. A right of a later kernel that we do not know keeps the kernel's word.
fn wanted(fields: &Fields<'_>) -> Option<Vec<LoggedAccess>> {
    let words = std::str::from_utf8(fields.find("blockers")?).ok()?.split(',');
    let (files, others) = accesses(words);
    let mut wanted = Vec::new();
    if !files.is_none() {
        let path = fields.path("path")?;
        wanted.extend(files.iter().map(|access| LoggedAccess::File(access, path.clone())));
    }
    for word in others {
        wanted.push(match word {
            "net.bind_tcp" => LoggedAccess::Bind(fields.number("src")?),
            "net.connect_tcp" => LoggedAccess::Connect(fields.number("dest")?),
            other => LoggedAccess::Scope(other.strip_prefix("scope.").unwrap_or(other).to_owned()),
        });
    }
    Some(wanted)
}

/// `name=value`, with blanks between.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn find(&self, name: &str) -> Option<&'a [u8]> {
        let of = |field: &'a [u8]| field.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
        self.0.split(|byte| *byte == b' ').find_map(of)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        number(self.find(name)?)
    }

    fn domain(&self) -> Option<u64> {
        u64::from_str_radix(std::str::from_utf8(self.find("domain")?).ok()?, 16).ok()
    }

    /// Text in quotes, or hex digits without.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let value = self.find(name)?;
        let bytes = match value.strip_prefix(b"\"") {
            Some(quoted) => quoted.strip_suffix(b"\"")?.to_vec(),
            // As for a thread of the kernel.
            None if value == b"(null)" => Vec::new(),
            None => value.chunks(2).map(byte).collect::<Option<_>>()?,
        };
        Some(OsString::from_vec(bytes).into())
    }
}

fn byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    let digit = |of: u8| (of as char).to_digit(16);
    u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The parts before and behind the first occurrence of `at`.
fn cut<'a>(text: &'a [u8], at: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let begins = text.windows(at.len()).position(|window| window == at)?;
    Some((text.get(..begins)?, text.get(begins + at.len()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access::{self, Create, Delete, Exec, Read, Rename, Write};

    /// Real records, as Linux 6.18 wrote them; longer ones are cut.
    const READ: &str = "audit(1795580520.207:9): domain=1ae45966f blockers=fs.read_file path=\"/srv/no/f\" dev=\"vda\" ino=10141957";
    const HEX: &str = "audit(1795580520.207:10): domain=1ae45966f blockers=fs.read_file path=2F7372762F6E6F2F612022620A63 dev=\"vda\" ino=10141958";
    const ALLOCATED: &str = "audit(1795580520.195:8): domain=1ae45966f status=allocated mode=enforcing pid=19219 uid=0 exe=\"/usr/bin/python3.11\" comm=\"python3\"";
    const GONE: &str = "audit(1795580520.271:28): domain=1ae45966f status=deallocated denials=24";
    const CALL: &str = "audit(1795580520.207:13): arch=c000003e syscall=257 success=no exit=-13 a0=ffffff9c a1=7f7feca18ed0 a2=80000 a3=0 items=0 ppid=19219 pid=19220 auid=4294967295 uid=0 comm=\"python3\" exe=\"/usr/bin/python3.11\" key=(null)";
    const SECCOMP: &str = "audit(1795580520.300:40): auid=4294967295 uid=0 gid=0 ses=4294967295 pid=19220 comm=\"mount\" exe=\"/usr/bin/mount\" sig=0 arch=c000003e syscall=165 compat=0 ip=0x7f00 code=0x50001";

    fn refused(blockers: &str) -> Option<Vec<LoggedAccess>> {
        let text =
            format!("audit(1.002:3): domain=1f blockers={blockers} path=\"/srv/no\" dev=\"vda\" ino=1");
        match parse(1423, text.as_bytes())?.told {
            RecordContent::Refused { domain: 0x1f, wanted } => Some(wanted),
            _ => None,
        }
    }

    fn files(accesses: &[Access]) -> Option<Vec<LoggedAccess>> {
        Some(accesses.iter().map(|access| LoggedAccess::File(*access, "/srv/no".into())).collect())
    }

    #[test]
    fn what_the_kernel_writes_is_read() {
        let told = |kind, text: &str| parse(kind, text.as_bytes()).map(|record| record.told);
        let read = |path: &str| {
            Some(RecordContent::Refused {
                domain: 0x1_ae45_966f,
                wanted: vec![LoggedAccess::File(Read, path.into())],
            })
        };
        assert_eq!(told(1423, READ), read("/srv/no/f"));
        assert_eq!(told(1423, HEX), read("/srv/no/a \"b\nc"));
        let exe = || PathBuf::from("/usr/bin/python3.11");
        assert_eq!(
            told(1424, ALLOCATED),
            Some(RecordContent::Domain { domain: 0x1_ae45_966f, pid: 19219, exe: exe() })
        );
        assert_eq!(told(1424, GONE), Some(RecordContent::Gone { domain: 0x1_ae45_966f }));
        assert_eq!(told(1300, CALL), Some(RecordContent::Process { pid: 19220, parent: 19219, exe: exe() }));
        assert_eq!(
            told(1326, SECCOMP),
            Some(RecordContent::Call { pid: 19220, exe: "/usr/bin/mount".into(), call: 165 })
        );
        let end = parse(1320, b"audit(1795580520.207:13): ").unwrap();
        assert_eq!((end.t_ms, end.serial, end.told), (1_795_580_520_207, 13, RecordContent::End));
    }

    #[test]
    fn the_kernels_words_are_ours() {
        assert_eq!(refused("fs.write_file,fs.read_file"), files(&[Read, Write]));
        assert_eq!(refused("fs.truncate"), files(&[Write]));
        assert_eq!(refused("fs.remove_file,fs.make_reg"), files(&[Create, Delete]));
        assert_eq!(refused("fs.make_reg,fs.refer"), files(&[Create, Rename]));
        // A link to a place with more rights names all that is missing.
        assert_eq!(refused("fs.execute,fs.write_file,fs.make_char,fs.make_block,fs.refer"), files(&[Rename]));
        assert_eq!(refused("fs.make_char,fs.make_block"), files(&[Rename]));
        assert_eq!(refused("fs.make_char"), files(&[Create]));
        assert_eq!(refused("fs.execute"), files(&[Exec]));
        assert_eq!(refused("fs.resolve_unix"), Some(vec![LoggedAccess::Scope("fs.resolve_unix".to_owned())]));
    }

    #[test]
    fn ports_and_scopes_have_no_path() {
        let told =
            |rest: &str| parse(1423, format!("audit(1.000:3): domain=1 {rest}").as_bytes()).map(|r| r.told);
        let one = |wanted| Some(RecordContent::Refused { domain: 1, wanted: vec![wanted] });
        assert_eq!(told("blockers=net.bind_tcp saddr=127.0.0.1 src=9999"), one(LoggedAccess::Bind(9999)));
        assert_eq!(told("blockers=net.connect_tcp daddr=::1 dest=9998"), one(LoggedAccess::Connect(9998)));
        let signal = LoggedAccess::Scope("signal".to_owned());
        assert_eq!(told("blockers=scope.signal opid=1 ocomm=\"init\""), one(signal));
        assert_eq!(told("blockers=net.connect_tcp daddr=::1 dest=99980"), None);
    }

    #[test]
    fn what_is_cut_or_forged_is_no_record() {
        for text in ["", "audit(", "audit(1.2)", "audit(1.2:3):", "audit(x.2:3): domain=1", &READ[..76]] {
            assert_eq!(parse(1423, text.as_bytes()), None, "{text}");
        }
        // A name cannot forge a field: the kernel writes one with a quote or a blank as hex digits.
        assert_eq!(refused("fs.read_file"), files(&[Read]));
        assert_eq!(parse(1423, HEX.replace("2F73", "2F7").as_bytes()), None);
        assert_eq!(parse(1, READ.as_bytes()), None);
    }
}
