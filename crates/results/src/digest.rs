//! SHA-256 digests, which identify the measured executable and seal a results directory.

use aws_lc_rs::digest::{Context, SHA256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// SHA-256 of a file, in hexadecimal. Links are followed.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Context::new(&SHA256);
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => hash.update(&buffer[..n]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(hex(hash.finish().as_ref()))
}

/// SHA-256 of these bytes concatenated, in hexadecimal.
pub fn sha256(parts: &[&[u8]]) -> String {
    let mut hash = Context::new(&SHA256);
    parts.iter().for_each(|part| hash.update(part));
    hex(hash.finish().as_ref())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4's examples, and a million `a`, longer than the buffer.
    #[test]
    fn the_standard_s_examples() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("it");
        for (content, expected) in [
            (String::new(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc".to_owned(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            ("a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        ] {
            std::fs::write(&path, &content).unwrap();
            assert_eq!(sha256_of(&path).unwrap(), expected);
            let (one, other) = content.as_bytes().split_at(content.len() / 3);
            assert_eq!(sha256(&[one, other]), expected);
        }
        assert!(sha256_of(directory.path()).is_err());
        assert!(sha256_of(&directory.path().join("none")).is_err());
    }
}
