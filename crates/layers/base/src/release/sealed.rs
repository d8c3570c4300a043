//! Store key sealed in a file.
//!
//! Measured side, cold. Owns two files: the wrapped key (`NAME`) and the memory of the newest numbers (`NAME.memory`).
//! Locking ([`StoreLock`]) needs no secret, so that a layer that finds a violation can do it; unlocking does.

use super::lock::StoreLock;
use super::secret::{KEY_FILE, PASSPHRASE, Secret, Stretch, derive};
use super::text::{self, Memory, NoWrap, WrapHead};
use super::{AdminKey, Counter, MeasuredState, ReleasePolicy, ReleaseRefusal, StoreKey, judge};
use crate::hex::to_hex;
use crate::name::EscapedName;
use crate::plain::{self, FileAudience, FileLocation, FileOwner, PathError, beside};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{hmac, rand};
use bakeoff_sys::secret::SecretBytes;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Size limit of a sealed key and its memory; ours have less than 1 KiB.
const MOST_BYTES: u64 = 16 * 1024;

/// A sealed key in a file, and the secret that opens it.
#[derive(Debug)]
pub struct SealedFile {
    path: PathBuf,
    secret: Secret,
    /// The wrapping key and the salt it was made with: stretching is slow on purpose.
    wrapping: Option<([u8; 16], Arc<SecretBytes>)>,
}

/// The wrapped key as it was read.
struct Wrap {
    head: WrapHead,
    wrapped: text::Wrapped,
    bound: String,
}

impl SealedFile {
    /// The sealed key in this file, which need not be there before [`keep`](Self::keep).
    pub fn new(path: &Path, secret: Secret) -> Self {
        Self { path: path.to_owned(), secret, wrapping: None }
    }

    /// The policy as it stands in the file; authenticated only by a release.
    ///
    /// # Errors
    /// There is none.
    pub fn policy(&self) -> Result<ReleasePolicy, ReleaseRefusal> {
        Ok(self.read_wrap()?.head.policy)
    }

    fn read_wrap(&self) -> Result<Wrap, ReleaseRefusal> {
        let text = read_text(&self.path, "", ReleaseRefusal::KeyLost)?;
        let refused = |why| match why {
            NoWrap::Old => ReleaseRefusal::OldFormat(self.path.clone()),
            NoWrap::Damaged(what) => ReleaseRefusal::Damaged { path: self.path.clone(), what },
        };
        let (head, wrapped, bound) = text::read_wrap(&text).map_err(refused)?;
        Ok(Wrap { head, wrapped, bound: bound.to_owned() })
    }

    /// The wrapping key for this wrap; refuses when the secret is not the one it was made with.
    fn wrapping(&mut self, head: &WrapHead) -> Result<Arc<SecretBytes>, ReleaseRefusal> {
        if let Some((salt, key)) = &self.wrapping
            && *salt == head.salt
        {
            return Ok(key.clone());
        }
        let (sealed, given) =
            (if head.stretch.is_some() { PASSPHRASE } else { KEY_FILE }, self.secret.word());
        if sealed != given {
            return Err(ReleaseRefusal::OtherSecret { sealed, given });
        }
        let key = Arc::new(self.secret.stretch(&head.salt, head.stretch.unwrap_or(Stretch::USUAL))?);
        if check_of(&key)? != head.check {
            return Err(ReleaseRefusal::WrongSecret(given));
        }
        self.wrapping = Some((head.salt, key.clone()));
        Ok(key)
    }

    /// The key, and the policy, which is authentic: the key was bound to it.
    fn open_wrap(&mut self) -> Result<(StoreKey, ReleasePolicy), ReleaseRefusal> {
        let wrap = self.read_wrap()?;
        let wrapping = self.wrapping(&wrap.head)?;
        let mut body = SecretBytes::copy_of(&wrap.wrapped.key).map_err(ReleaseRefusal::Memory)?;
        let plain = aead(&wrapping)?
            .open_in_place(
                Nonce::assume_unique_for_key(wrap.wrapped.nonce),
                Aad::from(wrap.bound.as_bytes()),
                &mut body,
            )
            .map_err(|_| ReleaseRefusal::Altered(self.path.clone()))?;
        let key = StoreKey::from_bytes(plain.first_chunk().ok_or(ReleaseRefusal::Cipher)?)?;
        Ok((key, wrap.head.policy))
    }

    fn refuse_locked(&self) -> Result<(), ReleaseRefusal> {
        StoreLock::of(&self.path)?.reason().map_or(Ok(()), |reason| Err(ReleaseRefusal::Locked(reason)))
    }

    fn read_memory(&mut self) -> Result<Memory, ReleaseRefusal> {
        let wrap = self.read_wrap()?;
        let wrapping = self.wrapping(&wrap.head)?;
        let key = memory_key(&wrapping)?;
        let path = beside(&self.path, MEMORY);
        let text = read_text(&self.path, MEMORY, ReleaseRefusal::MemoryLost)?;
        let damaged = |what| ReleaseRefusal::Damaged { path: path.clone(), what };
        let (memory, check, bound) = text::read_memory(&text).map_err(damaged)?;
        hmac::verify(&key, bound.as_bytes(), &check).map_err(|_| ReleaseRefusal::Altered(path.clone()))?;
        Ok(memory)
    }

    fn write_memory(&mut self, memory: Memory) -> Result<(), ReleaseRefusal> {
        let wrap = self.read_wrap()?;
        let wrapping = self.wrapping(&wrap.head)?;
        let key = memory_key(&wrapping)?;
        let lines = memory.lines();
        let check = hmac::sign(&key, lines.as_bytes());
        write_whole(&self.path, MEMORY, &format!("{lines}check {}\n", to_hex(check.as_ref())))
    }

    /// Keeps a key under a policy; replaces the previous one.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn keep(&mut self, key: &StoreKey, policy: ReleasePolicy) -> Result<(), ReleaseRefusal> {
        let mut head = WrapHead {
            stretch: matches!(self.secret, Secret::Passphrase(_)).then_some(Stretch::USUAL),
            salt: random()?,
            check: [0; 8],
            policy,
        };
        let wrapping = Arc::new(self.secret.stretch(&head.salt, Stretch::USUAL)?);
        head.check = check_of(&wrapping)?;
        let lines = head.lines();
        let nonce: [u8; 12] = random()?;
        let mut body = SecretBytes::copy_of(key.bytes()).map_err(ReleaseRefusal::Memory)?;
        let tag = aead(&wrapping)?
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(lines.as_bytes()),
                &mut body,
            )
            .map_err(|_| ReleaseRefusal::Cipher)?;
        let wrapped = format!("wrapped {} {}{}\n", to_hex(&nonce), to_hex(&body), to_hex(tag.as_ref()));
        write_whole(&self.path, "", &format!("{lines}{wrapped}"))?;
        self.wrapping = Some((head.salt, wrapping));
        self.write_memory(Memory { manifest: least_version(&head.policy), vault: 0 })
    }

    /// Gives out the key of this vault if the secret is right, nothing is locked and the state satisfies the policy.
    /// The version of a measured state counts from then on as the newest: no other manifest ever raises it.
    ///
    /// # Errors
    /// The first condition that fails.
    pub fn release(
        &mut self,
        vault: &EscapedName,
        state: &MeasuredState,
    ) -> Result<StoreKey, ReleaseRefusal> {
        self.refuse_locked()?;
        let (key, policy) = self.open_wrap()?;
        let version = judge(&policy, vault, state)?;
        match version {
            Some(version) => self.advance(Counter::Manifest, version)?,
            None => drop(self.read_memory()?),
        }
        Ok(key)
    }

    /// Notes that this number was seen; it must not be lower than any before.
    ///
    /// # Errors
    /// [`ReleaseRefusal::RolledBack`], and nothing is noted.
    pub fn advance(&mut self, counter: Counter, to: u64) -> Result<(), ReleaseRefusal> {
        let mut memory = self.read_memory()?;
        let newest = match counter {
            Counter::Manifest => &mut memory.manifest,
            Counter::Vault => &mut memory.vault,
        };
        if to < *newest {
            return Err(ReleaseRefusal::RolledBack { what: counter.name(), is: to, newest: *newest });
        }
        if to == *newest {
            return Ok(());
        }
        *newest = to;
        self.write_memory(memory)
    }

    /// The highest number seen.
    ///
    /// # Errors
    /// The number is lost or was changed.
    pub fn newest(&mut self, counter: Counter) -> Result<u64, ReleaseRefusal> {
        let memory = self.read_memory()?;
        Ok(match counter {
            Counter::Manifest => memory.manifest,
            Counter::Vault => memory.vault,
        })
    }

    /// Ends a lock; needs the secret. A key that is bound to an admin needs the admin, too: the secret may lie on the
    /// locked machine, so that it mounts without a person. `admin` is a public key whose secret half the caller was
    /// shown.
    ///
    /// # Errors
    /// The secret or the admin is not the right one.
    pub fn unlock(&mut self, admin: Option<&AdminKey>) -> Result<(), ReleaseRefusal> {
        let (_, policy) = self.open_wrap()?;
        if policy.manifest.as_ref().is_some_and(|wanted| Some(&wanted.admin) != admin) {
            return Err(ReleaseRefusal::NotTheAdmin);
        }
        match self.read_memory() {
            Err(ReleaseRefusal::MemoryLost(_)) => {
                self.write_memory(Memory { manifest: least_version(&policy), vault: 0 })?;
            }
            other => drop(other?),
        }
        StoreLock::of(&self.path)?.unlock()
    }
}

/// Lowest version of the manifest in a newly begun memory.
fn least_version(policy: &ReleasePolicy) -> u64 {
    policy.manifest.as_ref().map_or(0, |wanted| wanted.least_version)
}

fn aead(key: &[u8]) -> Result<LessSafeKey, ReleaseRefusal> {
    UnboundKey::new(&AES_256_GCM, key).map(LessSafeKey::new).map_err(|_| ReleaseRefusal::Cipher)
}

fn check_of(wrapping: &[u8]) -> Result<[u8; 8], ReleaseRefusal> {
    let mut out = [0; 32];
    derive(wrapping, b"", b"bakeoff check 1", &mut out)?;
    out.first_chunk().copied().ok_or(ReleaseRefusal::Cipher)
}

fn memory_key(wrapping: &[u8]) -> Result<hmac::Key, ReleaseRefusal> {
    let mut key = Zeroizing::new([0; 32]);
    derive(wrapping, b"", b"bakeoff memory 1", key.as_mut_slice())?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, key.as_slice()))
}

fn random<const N: usize>() -> Result<[u8; N], ReleaseRefusal> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).map_err(|_| ReleaseRefusal::Cipher)?;
    Ok(bytes)
}

/// End of the name of the memory.
const MEMORY: &str = ".memory";

/// Reads the file whose name has `end` behind it, where the sealed key really lies.
fn read_text(
    sealed: &Path,
    end: &str,
    missing: impl Fn(PathBuf) -> ReleaseRefusal,
) -> Result<String, ReleaseRefusal> {
    let path = beside(sealed, end);
    let place = FileLocation::followed(sealed).and_then(|place| place.beside(end));
    let read = place.and_then(|place| plain::read_at_most(&place.open(FileOwner::Trusted)?, MOST_BYTES));
    match read {
        Ok(bytes) => {
            String::from_utf8(bytes).map_err(|_| ReleaseRefusal::Damaged { path, what: "it is no text" })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(path)),
        Err(error) => Err(PathError::read(&path)(error).into()),
    }
}

/// Writes atomically and synced: the file is the old one or the new one.
fn write_whole(sealed: &Path, end: &str, text: &str) -> Result<(), ReleaseRefusal> {
    let place = FileLocation::followed(sealed).and_then(|place| place.beside(end));
    let written = place.and_then(|place| place.replace(text.as_bytes(), FileAudience::Owner));
    Ok(written.map_err(PathError::written(&*beside(sealed, end)))?)
}
