//! The two text files of a sealed key: the wrapped key, and the memory of the newest numbers.
//!
//! Measured side, cold; anybody who can write the files controls this input. Lines of a word and its value, in one
//! order, nothing else. The last line closes the file: it holds the wrapped key or the check, both computed over all
//! lines before it as they stand.

use super::secret::Stretch;
use super::{AdminKey, ExpectedManifest, ReleasePolicy};
use crate::hex::{from_hex, to_hex};
use crate::name::EscapedName;

const WRAP_TITLE: &str = "bakeoff sealed key 2";
/// Title of wraps that were bound neither to a vault nor to one manifest.
const OLD_TITLE: &str = "bakeoff sealed key 1";
/// Purpose of the key: a key of another purpose is never taken for it.
const PURPOSE: &str = "store";
const MEMORY_TITLE: &str = "bakeoff release memory 1";

/// Reasons why a text is no wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoWrap {
    /// Made before keys were bound to what they open.
    Old,
    /// Its fault.
    Damaged(&'static str),
}

impl From<&'static str> for NoWrap {
    fn from(what: &'static str) -> Self {
        Self::Damaged(what)
    }
}

/// The wrap without its last line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrapHead {
    /// `None` for a key file.
    pub(super) stretch: Option<Stretch>,
    pub(super) salt: [u8; 16],
    /// Tells a wrong secret from a changed file.
    pub(super) check: [u8; 8],
    pub(super) policy: ReleasePolicy,
}

/// The last line of the wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrapped {
    pub(super) nonce: [u8; 12],
    /// Ciphertext and tag.
    pub(super) key: [u8; 48],
}

/// The newest numbers seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) manifest: u64,
    pub(super) vault: u64,
}

impl WrapHead {
    /// All lines but the last.
    pub(super) fn lines(&self) -> String {
        let stretch = match self.stretch {
            Some(stretch) => format!("argon2id {} {} {}", stretch.memory_kib, stretch.passes, stretch.lanes),
            None => "key-file".to_owned(),
        };
        let (salt, check) = (to_hex(&self.salt), to_hex(&self.check));
        let vault = &self.policy.vault;
        let manifest = match &self.policy.manifest {
            None => "admin none\n".to_owned(),
            Some(ExpectedManifest { admin, name, root, least_version }) => {
                format!("admin {}\nmanifest {name}\nroot {root}\nversion {least_version}\n", to_hex(admin))
            }
        };
        format!(
            "{WRAP_TITLE}\npurpose {PURPOSE}\nunder {stretch}\nsalt {salt}\ncheck {check}\nvault {vault}\n{manifest}"
        )
    }
}

/// Reads a wrap; the text before its last line comes back too, as the wrapped key is bound to it.
pub(super) fn read_wrap(text: &str) -> Result<(WrapHead, Wrapped, &str), NoWrap> {
    let (head_text, last) = split_last(text)?;
    let mut lines = head_text.lines();
    match lines.next() {
        Some(WRAP_TITLE) => {}
        Some(OLD_TITLE) => return Err(NoWrap::Old),
        _ => return Err("it is no sealed key, or of another bakeoff".into()),
    }
    if value(lines.next(), "purpose")? != PURPOSE {
        return Err("purpose".into());
    }
    let stretch = match value(lines.next(), "under")? {
        "key-file" => None,
        other => Some(read_stretch(other).ok_or("how the passphrase is stretched")?),
    };
    let salt = from_hex(value(lines.next(), "salt")?).ok_or("salt")?;
    let check = from_hex(value(lines.next(), "check")?).ok_or("check")?;
    let vault = EscapedName::read(value(lines.next(), "vault")?).ok_or("vault")?;
    let manifest = match value(lines.next(), "admin")? {
        "none" => None,
        digits => Some(read_wanted(from_hex(digits).ok_or("admin")?, &mut lines)?),
    };
    if lines.next().is_some() {
        return Err("a line too many".into());
    }
    let (nonce, key) = value(Some(last), "wrapped")?.split_once(' ').ok_or("wrapped")?;
    let wrapped = Wrapped { nonce: from_hex(nonce).ok_or("wrapped")?, key: from_hex(key).ok_or("wrapped")? };
    Ok((WrapHead { stretch, salt, check, policy: ReleasePolicy { vault, manifest } }, wrapped, head_text))
}

fn read_wanted<'a>(
    admin: AdminKey,
    lines: &mut impl Iterator<Item = &'a str>,
) -> Result<ExpectedManifest, &'static str> {
    Ok(ExpectedManifest {
        admin,
        name: EscapedName::read(value(lines.next(), "manifest")?).ok_or("manifest")?,
        root: EscapedName::read(value(lines.next(), "root")?).ok_or("root")?,
        least_version: value(lines.next(), "version")?.parse().map_err(|_| "version")?,
    })
}

fn read_stretch(text: &str) -> Option<Stretch> {
    let mut numbers = text.strip_prefix("argon2id ")?.split(' ').map(|word| word.parse::<u32>().ok());
    let stretch = Stretch { memory_kib: numbers.next()??, passes: numbers.next()??, lanes: numbers.next()?? };
    let most = Stretch::MOST;
    let sane = stretch.memory_kib <= most.memory_kib
        && (1..=most.passes).contains(&stretch.passes)
        && (1..=most.lanes).contains(&stretch.lanes)
        && numbers.next().is_none();
    sane.then_some(stretch)
}

impl Memory {
    /// All lines but the last.
    pub(super) fn lines(&self) -> String {
        format!("{MEMORY_TITLE}\nmanifest {}\nvault {}\n", self.manifest, self.vault)
    }
}

/// Reads the memory: the numbers, the check, and the text that the check covers.
pub(super) fn read_memory(text: &str) -> Result<(Memory, [u8; 32], &str), &'static str> {
    let (head_text, last) = split_last(text)?;
    let mut lines = head_text.lines();
    if lines.next() != Some(MEMORY_TITLE) {
        return Err("it is no memory of key releases, or of another bakeoff");
    }
    let manifest = value(lines.next(), "manifest")?.parse().map_err(|_| "manifest")?;
    let vault = value(lines.next(), "vault")?.parse().map_err(|_| "vault")?;
    if lines.next().is_some() {
        return Err("a line too many");
    }
    let check = from_hex(value(Some(last), "check")?).ok_or("check")?;
    Ok((Memory { manifest, vault }, check, head_text))
}

/// The text up to its last line, and that line.
fn split_last(text: &str) -> Result<(&str, &str), &'static str> {
    let body = text.strip_suffix('\n').ok_or("it is cut short")?;
    let at = body.rfind('\n').ok_or("it is cut short")? + 1;
    body.split_at_checked(at).ok_or("it is cut short")
}

fn value<'a>(line: Option<&'a str>, word: &'static str) -> Result<&'a str, &'static str> {
    line.and_then(|line| line.strip_prefix(word)?.strip_prefix(' ')).ok_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(admin: Option<AdminKey>) -> ReleasePolicy {
        let wanted = |admin| ExpectedManifest {
            admin,
            name: EscapedName::of("a b"),
            root: EscapedName::of("/x\ny"),
            least_version: 7,
        };
        ReleasePolicy { vault: EscapedName::of("site.vault"), manifest: admin.map(wanted) }
    }

    fn wrap(stretch: Option<Stretch>, admin: Option<AdminKey>) -> String {
        let policy = policy(admin);
        let head = WrapHead { stretch, salt: [1; 16], check: [2; 8], policy };
        format!("{}wrapped {} {}\n", head.lines(), to_hex(&[3; 12]), to_hex(&[4; 48]))
    }

    #[test]
    fn a_wrap_read_back_is_the_same() {
        for (stretch, admin) in [(None, None), (Some(Stretch::USUAL), Some([9; 32]))] {
            let text = wrap(stretch, admin);
            let (head, wrapped, prefix) = read_wrap(&text).unwrap();
            assert_eq!((head.stretch, &head.policy), (stretch, &policy(admin)));
            assert_eq!((wrapped.nonce, wrapped.key), ([3; 12], [4; 48]));
            assert_eq!(prefix, head.lines());
        }
    }

    #[test]
    fn a_wrap_cut_anywhere_is_refused() {
        let text = wrap(Some(Stretch::USUAL), Some([9; 32]));
        for end in 0..text.len() {
            assert!(read_wrap(&text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_wrap_of_before_is_told_from_a_damaged_one() {
        let text = wrap(None, None).replace(WRAP_TITLE, OLD_TITLE);
        assert_eq!(read_wrap(&text).unwrap_err(), NoWrap::Old);
        let text = wrap(None, None).replace("purpose store", "purpose other");
        assert_eq!(read_wrap(&text).unwrap_err(), NoWrap::Damaged("purpose"));
    }

    #[test]
    fn a_stretch_that_would_eat_the_machine_is_refused() {
        for wrong in ["argon2id 4294967295 3 1", "argon2id 65536 0 1", "argon2id 65536 3 1 1", "md5 1 1 1"] {
            assert_eq!(read_stretch(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn memory_read_back_is_the_same() {
        let memory = Memory { manifest: 3, vault: u64::MAX };
        let text = format!("{}check {}\n", memory.lines(), to_hex(&[5; 32]));
        assert_eq!(read_memory(&text), Ok((memory, [5; 32], memory.lines().as_str())));
    }
}
