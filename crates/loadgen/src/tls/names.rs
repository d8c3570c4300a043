//! Cipher suites and key-exchange groups by the names that standards and reports use.

use super::TlsSetupError;
use rustls::SupportedCipherSuite;
use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, ALL_KX_GROUPS};

/// The suites of these names, in this order.
pub(super) fn suites(names: &[String]) -> Result<Vec<SupportedCipherSuite>, TlsSetupError> {
    names.iter().map(|name| suite(name)).collect()
}

fn suite(name: &str) -> Result<SupportedCipherSuite, TlsSetupError> {
    // The registry calls TLS 1.3's suites TLS_AES_..., the library TLS13_AES_...: both are known.
    let is_named = |known: &str| {
        let short = known.replacen("TLS13_", "TLS_", 1);
        name.eq_ignore_ascii_case(known) || name.eq_ignore_ascii_case(&short)
    };
    ALL_CIPHER_SUITES.iter().find(|suite| is_named(&suite_name(suite))).copied().ok_or_else(|| {
        TlsSetupError::UnknownSuite {
            name: name.to_owned(),
            known: ALL_CIPHER_SUITES.iter().map(suite_name).collect::<Vec<_>>().join(", "),
        }
    })
}

pub(super) fn suite_name(suite: &SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite())
}

/// The groups of these names, in this order.
pub(super) fn groups(names: &[String]) -> Result<Vec<&'static dyn SupportedKxGroup>, TlsSetupError> {
    names.iter().map(|name| group(name)).collect()
}

fn group(name: &str) -> Result<&'static dyn SupportedKxGroup, TlsSetupError> {
    let found = ALL_KX_GROUPS.iter().find(|group| name.eq_ignore_ascii_case(&group_name(**group)));
    found.copied().ok_or_else(|| TlsSetupError::UnknownGroup {
        name: name.to_owned(),
        known: ALL_KX_GROUPS.iter().map(|group| group_name(*group)).collect::<Vec<_>>().join(", "),
    })
}

pub(super) fn group_name(group: &dyn SupportedKxGroup) -> String {
    format!("{:?}", group.name())
}

/// Whether a group withstands quantum computers: all that do hold ML-KEM, and say so in their name.
pub(super) fn is_post_quantum(group: &dyn SupportedKxGroup) -> bool {
    group_name(group).contains("MLKEM")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_names_itself_in_either_case() {
        for known in ALL_CIPHER_SUITES {
            let name = suite_name(known);
            assert_eq!(suite(&name).unwrap().suite(), known.suite());
            assert_eq!(suite(&name.to_lowercase()).unwrap().suite(), known.suite());
        }
        for known in ALL_KX_GROUPS {
            assert_eq!(group(&group_name(*known)).unwrap().name(), known.name());
        }
        let registered = suite("TLS_AES_256_GCM_SHA384").unwrap();
        assert_eq!(suite_name(&registered), "TLS13_AES_256_GCM_SHA384");
    }

    #[test]
    fn wrong_names_list_the_known_ones() {
        let wrong = suite("RC4-MD5").unwrap_err().to_string();
        assert!(wrong.contains("`RC4-MD5`") && wrong.contains("TLS13_AES_256_GCM_SHA384, TLS13_"), "{wrong}");
        assert!(wrong.contains("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), "{wrong}");
        let wrong = group("X448").unwrap_err().to_string();
        for known in ["`X448`", "X25519", "secp256r1", "secp384r1", "X25519MLKEM768"] {
            assert!(wrong.contains(known), "{wrong}");
        }
    }
}
