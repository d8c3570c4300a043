//! Which executable was measured, byte for byte.

use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// SHA-256 of a file, in hexadecimal. Links are followed.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    // The TLS library's own SHA-256; a second implementation would be a dependency for nothing.
    let suite = match TLS13_AES_128_GCM_SHA256 {
        SupportedCipherSuite::Tls13(suite) => &suite.common,
        SupportedCipherSuite::Tls12(suite) => &suite.common,
    };
    let mut hash = suite.hash_provider.start();
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => hash.update(&buffer[..n]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
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
            std::fs::write(&path, content).unwrap();
            assert_eq!(sha256_of(&path).unwrap(), expected);
        }
        assert!(sha256_of(directory.path()).is_err());
        assert!(sha256_of(&directory.path().join("none")).is_err());
    }
}
