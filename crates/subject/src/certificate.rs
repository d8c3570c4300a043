//! A throw-away certificate authority, and certificates for the servers of a run.
//!
//! Measuring side, cold path. ECDSA P-256, the usual choice, or of the kind that a running server has, so that handshakes
//! cost what they cost elsewhere. Nothing is installed anywhere: clients are given the authority's file.

use crate::SubjectError;
use crate::key_kind::KeyKind;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The names the certificate is for.
pub const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Paths of the files, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The authority: what a client must trust.
    pub ca: PathBuf,
    /// The server's certificate.
    pub cert: PathBuf,
    /// The server's key, mode 0600.
    pub key: PathBuf,
    /// The same for keys of other kinds.
    others: Vec<(KeyKind, PathBuf, PathBuf)>,
}

impl Certificate {
    /// Makes them in `dir` (which must exist), valid from yesterday for a week.
    pub fn create(dir: &Path) -> Result<Self, SubjectError> {
        Self::create_for(dir, &[], &BTreeSet::new())
    }

    /// The same for further names, and besides for keys of these kinds.
    pub fn create_for(dir: &Path, names: &[&str], kinds: &BTreeSet<KeyKind>) -> Result<Self, SubjectError> {
        let failed = |reason: String| SubjectError::Certificate { dir: dir.to_owned(), reason };
        let issued = || -> Result<_, rcgen::Error> {
            let (ca, authority) = authority()?;
            let usual = leaf(&authority, names, KeyKind::P256)?;
            let others = kinds.iter().filter(|kind| **kind != KeyKind::P256);
            let others: Result<Vec<_>, _> =
                others.map(|kind| Ok((*kind, leaf(&authority, names, *kind)?))).collect();
            Ok((ca, usual, others?))
        };
        let (ca, (cert, key), others) = issued().map_err(|error| failed(error.to_string()))?;
        let written = |name: &str, text: &str, mode| {
            let path = dir.join(name);
            write(&path, text, mode).map_err(|error| failed(format!("{name}: {error}")))?;
            Ok(path)
        };
        let write_other = |(kind, (cert, key)): (KeyKind, (String, String))| {
            let name = kind.label();
            let cert = written(&format!("cert-{name}.pem"), &cert, 0o644)?;
            Ok((kind, cert, written(&format!("key-{name}.pem"), &key, 0o600)?))
        };
        Ok(Self {
            ca: written("ca.pem", &ca, 0o644)?,
            cert: written("cert.pem", &cert, 0o644)?,
            key: written("key.pem", &key, 0o600)?,
            others: others.into_iter().map(write_other).collect::<Result<_, SubjectError>>()?,
        })
    }

    /// The one of this kind, if it was made; else the usual one.
    #[must_use]
    pub fn of_kind(mut self, kind: KeyKind) -> Self {
        if let Some((_, cert, key)) = self.others.iter().find(|(known, ..)| *known == kind) {
            (self.cert, self.key) = (cert.clone(), key.clone());
        }
        self
    }

    /// Certificate and key that a client may show, too.
    pub fn identity(&self) -> (PathBuf, PathBuf) {
        (self.cert.clone(), self.key.clone())
    }

    /// A copy of authority, certificate and key for one server, which may run as another user.
    pub(crate) fn copy_to(&self, dir: &Path) -> std::io::Result<Self> {
        let [ca, cert, key] = ["client-ca.pem", "cert.pem", "key.pem"].map(|name| dir.join(name));
        write(&ca, &fs::read_to_string(&self.ca)?, 0o644)?;
        write(&cert, &fs::read_to_string(&self.cert)?, 0o644)?;
        write(&key, &fs::read_to_string(&self.key)?, 0o600)?;
        Ok(Self { ca, cert, key, others: Vec::new() })
    }

    /// Certificate and key in one file of that directory, mode 0600, for programs that need them together.
    pub(crate) fn in_one_file(&self, dir: &Path) -> std::io::Result<PathBuf> {
        let path = dir.join("both.pem");
        let both = fs::read_to_string(&self.cert)? + &fs::read_to_string(&self.key)?;
        write(&path, &both, 0o600)?;
        Ok(path)
    }
}

/// PEM of the authority, and what issues.
fn authority() -> Result<(String, Issuer<'static, KeyPair>), rcgen::Error> {
    let mut authority = params(&[], "bakeoff throw-away authority")?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let pem = authority.self_signed(&key)?.pem();
    Ok((pem, Issuer::new(authority, key)))
}

/// PEM of certificate and key.
fn leaf(
    authority: &Issuer<'static, KeyPair>,
    further: &[&str],
    kind: KeyKind,
) -> Result<(String, String), rcgen::Error> {
    let mut leaf = params(&[&NAMES, further].concat(), "localhost")?;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    if kind.is_rsa() {
        leaf.key_usages.push(KeyUsagePurpose::KeyEncipherment); // suites without Diffie-Hellman
    }
    // A proxy shows the same to the server behind it.
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    leaf.use_authority_key_identifier_extension = true;
    let key = kind.generate()?;
    Ok((leaf.signed_by(&key, authority)?.pem(), key.serialize_pem()))
}

fn params(names: &[&str], common_name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let today =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400) as i64;
    let day = |number| {
        let (year, month, day) = civil(number);
        date_time_ymd(year, month, day)
    };
    params.not_before = day(today - 1); // clocks of clients and servers need not agree
    params.not_after = day(today + 7);
    Ok(params)
}

/// Year, month, day of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn civil(days: i64) -> (i32, u8, u8) {
    let z = days + 719_468; // counted from 0000-03-01
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year as i32, month as u8, day as u8)
}

fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(47_540), (2100, 2, 28));
        assert_eq!(civil(47_541), (2100, 3, 1)); // 2100 is no leap year
    }

    #[test]
    fn certificates_are_of_the_kinds_that_are_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let kinds = KeyKind::ALL.into_iter().collect();
        let made = Certificate::create_for(dir.path(), &[], &kinds).unwrap();
        for kind in KeyKind::ALL {
            let own = made.clone().of_kind(kind);
            assert_eq!(KeyKind::of_file(&own.cert).unwrap(), kind);
            assert_eq!(fs::metadata(&own.key).unwrap().permissions().mode() & 0o777, 0o600, "{kind}");
        }
        let usual = Certificate::create(dir.path()).unwrap();
        assert_eq!(usual.clone().of_kind(KeyKind::Rsa4096), usual, "one that was not made");
    }

    #[test]
    fn the_key_is_nobody_elses_to_read() {
        let dir = tempfile::tempdir().unwrap();
        let made = Certificate::create(dir.path()).unwrap();
        assert_eq!(fs::metadata(&made.key).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::read_to_string(&made.ca).unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    }
}
