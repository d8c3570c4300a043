//! Keys of one vault, and the encryption and decryption of its blocks.
//!
//! Measured side; `open` is the hot path of cold reads. Owns the derivation of keys and the form of
//! nonces. AES-256-GCM of aws-lc: 3 to 4.8 GB/s a core where the `aes-gcm` crate made 0.45 (Xeon with
//! wide AES instructions), and already part of the workspace for TLS.
//!
//! A nonce must not repeat under a key. Each vault has keys of its own, derived from the store key
//! and 32 random bytes drawn when it is sealed, and within it each block has its number. So a store
//! key can seal vault after vault, and a block of an older one does not open here. The vault's id
//! and the block's number are additional data as well: moved blocks are refused by two means.

use crate::layout::{KEY_ID_BYTES, SEALED_BYTES, TAG_BYTES, VAULT_ID_BYTES};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{self, HKDF_SHA256, Salt};
use bakeoff_layers_base::release::StoreKey;
use bakeoff_sys::secret::SecretBytes;
use std::fmt::Write;
use zeroize::Zeroizing;

/// A block did not open: flipped, moved, from another vault, or sealed under another key. An
/// authenticated cipher cannot tell which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotGenuine;

/// The keys of one vault. The library wipes them when they are dropped.
#[derive(Debug)]
pub(crate) struct Cipher {
    blocks: LessSafeKey,
    header: LessSafeKey,
    vault_id: [u8; VAULT_ID_BYTES],
}

impl Cipher {
    /// The keys of the vault with this id.
    pub(crate) fn new(key: &StoreKey, vault_id: [u8; VAULT_ID_BYTES]) -> Result<Self, Unspecified> {
        Ok(Self {
            blocks: aead_key(key, &vault_id, b"bakeoff store blocks 1")?,
            header: aead_key(key, &vault_id, b"bakeoff store header 1")?,
            vault_id,
        })
    }

    /// Encrypts a block in place and returns its tag.
    pub(crate) fn seal(&self, block: u64, payload: &mut [u8]) -> Result<[u8; TAG_BYTES], Unspecified> {
        let tag =
            self.blocks.seal_in_place_separate_tag(nonce(block), Aad::from(self.place(block)), payload)?;
        tag.as_ref().try_into().map_err(|_| Unspecified)
    }

    /// Decrypts a whole block as it lies on disk into `plain`; if the block is not genuine, `plain` is unusable.
    pub(crate) fn open(&self, block: u64, on_disk: &[u8], plain: &mut [u8]) -> Result<(), NotGenuine> {
        let (sealed, tag) = on_disk.split_last_chunk::<TAG_BYTES>().ok_or(NotGenuine)?;
        self.blocks
            .open_separate_gather(nonce(block), Aad::from(self.place(block)), sealed, tag, plain)
            .map_err(|_| NotGenuine)
    }

    /// Encrypts the sealed part of the header, once in a vault's life.
    pub(crate) fn seal_header(
        &self,
        open_part: &[u8],
        plain: &[u8; SEALED_BYTES],
    ) -> Result<[u8; SEALED_BYTES + TAG_BYTES], Unspecified> {
        let mut out = [0; SEALED_BYTES + TAG_BYTES];
        let (body, end) = out.split_at_mut(SEALED_BYTES);
        body.copy_from_slice(plain);
        let tag = self.header.seal_in_place_separate_tag(nonce(0), Aad::from(open_part), body)?;
        end.copy_from_slice(tag.as_ref());
        Ok(out)
    }

    /// Opens the sealed part of the header; the open part is authenticated by it.
    pub(crate) fn open_header(
        &self,
        open_part: &[u8],
        sealed: &[u8; SEALED_BYTES + TAG_BYTES],
    ) -> Result<[u8; SEALED_BYTES], NotGenuine> {
        let mut plain = [0; SEALED_BYTES];
        let (body, tag) = sealed.split_last_chunk::<TAG_BYTES>().ok_or(NotGenuine)?;
        self.header
            .open_separate_gather(nonce(0), Aad::from(open_part), body, tag, &mut plain)
            .map_err(|_| NotGenuine)?;
        Ok(plain)
    }

    fn place(&self, block: u64) -> [u8; VAULT_ID_BYTES + 8] {
        let mut place = [0; VAULT_ID_BYTES + 8];
        let (id, number) = place.split_at_mut(VAULT_ID_BYTES);
        id.copy_from_slice(&self.vault_id);
        number.copy_from_slice(&block.to_le_bytes());
        place
    }
}

/// Identifier of a store key, which reveals nothing of it.
pub(crate) fn key_id(key: &StoreKey) -> Result<[u8; KEY_ID_BYTES], Unspecified> {
    let mut id = [0; KEY_ID_BYTES];
    derive(key, b"", b"bakeoff store key id 1", &mut id)?;
    Ok(id)
}

/// A password for another encrypting program; nothing of the store key follows from it.
pub(crate) fn password(key: &StoreKey, purpose: &[u8]) -> Result<Zeroizing<String>, Unspecified> {
    let mut bytes = SecretBytes::zeroed(32).map_err(|_| Unspecified)?;
    derive(key, b"", purpose, &mut bytes)?;
    // With room for a line end: a text that grew would leave a copy behind.
    let mut text = Zeroizing::new(String::with_capacity(2 * bytes.len() + 1));
    for byte in bytes.iter() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

fn aead_key(key: &StoreKey, vault_id: &[u8], purpose: &[u8]) -> Result<LessSafeKey, Unspecified> {
    let mut bytes = SecretBytes::zeroed(32).map_err(|_| Unspecified)?;
    derive(key, vault_id, purpose, &mut bytes)?;
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &bytes)?))
}

fn derive(key: &StoreKey, salt: &[u8], purpose: &[u8], out: &mut [u8]) -> Result<(), Unspecified> {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let secret = Salt::new(HKDF_SHA256, salt).extract(key.bytes());
    secret.expand(&[purpose], Length(out.len()))?.fill(out)
}

fn nonce(block: u64) -> Nonce {
    let mut bytes = [0; 12];
    for (to, from) in bytes.iter_mut().zip(block.to_le_bytes()) {
        *to = from;
    }
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(cipher: &Cipher, block: u64, text: &[u8]) -> Vec<u8> {
        let mut bytes = text.to_vec();
        let tag = cipher.seal(block, &mut bytes).unwrap();
        bytes.extend_from_slice(&tag);
        bytes
    }

    #[test]
    fn a_block_opens_only_in_its_place_in_its_vault_under_its_key() {
        let key = StoreKey::from_bytes(&[1; 32]).unwrap();
        let cipher = Cipher::new(&key, [9; 32]).unwrap();
        let block = sealed(&cipher, 5, b"text");
        let mut plain = [0; 4];
        assert_eq!(cipher.open(5, &block, &mut plain), Ok(()));
        assert_eq!(&plain, b"text");
        assert_eq!(cipher.open(6, &block, &mut plain), Err(NotGenuine));
        let later = Cipher::new(&key, [8; 32]).unwrap();
        assert_eq!(later.open(5, &block, &mut plain), Err(NotGenuine));
        let stranger = Cipher::new(&StoreKey::from_bytes(&[2; 32]).unwrap(), [9; 32]).unwrap();
        assert_eq!(stranger.open(5, &block, &mut plain), Err(NotGenuine));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let cipher = Cipher::new(&StoreKey::from_bytes(&[1; 32]).unwrap(), [9; 32]).unwrap();
        let block = sealed(&cipher, 0, b"text");
        for bit in 0..block.len() * 8 {
            let mut other = block.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(cipher.open(0, &other, &mut [0; 4]), Err(NotGenuine), "bit {bit}");
        }
    }

    #[test]
    fn blocks_and_names_of_one_key_differ_by_vault() {
        let key = StoreKey::from_bytes(&[1; 32]).unwrap();
        let one = sealed(&Cipher::new(&key, [1; 32]).unwrap(), 0, &[0; 32]);
        let two = sealed(&Cipher::new(&key, [2; 32]).unwrap(), 0, &[0; 32]);
        assert_ne!(one, two);
        assert_ne!(key_id(&key).unwrap(), key_id(&StoreKey::from_bytes(&[2; 32]).unwrap()).unwrap());
    }
}
