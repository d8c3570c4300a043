//! Trust bundles: a domain's keys, signed by its administrator.
//!
//! Measured side, cold, pure. Agents' keys are pinned here and not named by the CA, so that a thief of the CA's key
//! cannot appoint an agent. Signature, expiry and rollback work as for manifests.
//!
//! The format is lines of text, so that `less`, `diff` and `minisign` can read it:
//!
//! ```text
//! bakeoff-trust 1
//! domain home.example
//! version 1763784000
//! not-after 1795320000
//! ca <32 bytes in base64>
//! ola-root <a certificate in base64>
//! ola agent.home.example:7440
//! ```
//!
//! The last three in this order; one or two each of `ca` and `ola-root`, so that keys can be changed, and up to four
//! of `ola`. No key may be both a CA's and an agent's: neither alone may be enough. The dates in an agent's
//! certificate do not count: the bundle's do.

use crate::key::{PublicKey, key_of};
use crate::name::Domain;
use bakeoff_layers_base::manifest::ManifestRefusal;
use bakeoff_layers_base::manifest::load::TrustConditions;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::{CertificateDer, TrustAnchor};
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::RangeInclusive;
use webpki::EndEntityCert;

/// Longest bundle.
const MOST_BYTES: usize = 64 * 1024;
/// Limit on keys of a kind: verifiers have to try each.
pub const MOST_KEYS: usize = 2;
/// Limit on addresses of agents.
const MOST_ADDRESSES: usize = 4;

/// Keys and agents of a domain.
#[derive(Clone, Debug)]
pub struct DomainBundle {
    /// The domain.
    pub domain: Domain,
    /// Rises with each new bundle; an older one is a rollback.
    pub version: u64,
    /// Expiry, in seconds since 1970.
    pub not_after_unix_s: u64,
    /// Keys of its CA.
    pub ca: Vec<PublicKey>,
    /// Addresses of its agents: `HOST:PORT`.
    pub addresses: Vec<String>,
    roots: Vec<CertificateDer<'static>>,
    keys: Vec<PublicKey>,
    anchors: Vec<TrustAnchor<'static>>,
}

/// Content of a new bundle.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// The domain.
    pub domain: &'a Domain,
    /// Must be larger than that of the previous bundle.
    pub version: u64,
    /// Expiry, in seconds since 1970.
    pub not_after_unix_s: u64,
    /// Keys of its CA.
    pub ca: &'a [PublicKey],
    /// Certificates of its agents, in DER.
    pub roots: &'a [Vec<u8>],
    /// Addresses of its agents.
    pub addresses: &'a [String],
}

impl Draft<'_> {
    /// The text to sign.
    ///
    /// # Errors
    /// It would be refused, with the reason.
    pub fn text(&self) -> Result<String, ManifestRefusal> {
        let mut text = format!(
            "bakeoff-trust 1\ndomain {}\nversion {}\nnot-after {}\n",
            self.domain, self.version, self.not_after_unix_s
        );
        let keys = self.ca.iter().map(|key| ("ca", STANDARD.encode(key.bytes())));
        let roots = self.roots.iter().map(|root| ("ola-root", STANDARD.encode(root)));
        let addresses = self.addresses.iter().map(|address| ("ola", address.clone()));
        for (word, value) in keys.chain(roots).chain(addresses) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{word} {value}");
        }
        parse(&text).map(|_| text)
    }
}

impl DomainBundle {
    /// Reads a bundle and checks its signature, time and version.
    ///
    /// # Errors
    /// It is refused, by name.
    pub fn read(bytes: &[u8], signature: &str, trust: &TrustConditions<'_>) -> Result<Self, ManifestRefusal> {
        trust.key.verify(bytes, signature)?;
        let bundle = Self::read_unverified(bytes)?;
        if bundle.not_after_unix_s < trust.now_unix_s {
            return Err(ManifestRefusal::Expired { not_after: bundle.not_after_unix_s });
        }
        if bundle.version < trust.seen_version {
            return Err(ManifestRefusal::RolledBack { version: bundle.version, seen: trust.seen_version });
        }
        Ok(bundle)
    }

    /// Its text, which has only one spelling.
    ///
    /// # Errors
    /// It would be refused, which cannot happen to a bundle that was read.
    pub fn text(&self) -> Result<String, ManifestRefusal> {
        let roots: Vec<Vec<u8>> = self.roots.iter().map(|root| root.to_vec()).collect();
        let Self { domain, version, not_after_unix_s, ca, addresses, .. } = self;
        let (version, not_after_unix_s) = (*version, *not_after_unix_s);
        Draft { domain, version, not_after_unix_s, ca, roots: &roots, addresses }.text()
    }

    /// Reads bytes without checking a signature: for tests and fuzzing.
    ///
    /// # Errors
    /// It is refused, by name.
    pub fn read_unverified(bytes: &[u8]) -> Result<Self, ManifestRefusal> {
        if bytes.len() > MOST_BYTES {
            return Err(ManifestRefusal::Malformed { line: 1, what: "a bundle of at most 64 KiB" });
        }
        parse(
            std::str::from_utf8(bytes)
                .map_err(|_| ManifestRefusal::Malformed { line: 1, what: "text in UTF-8" })?,
        )
    }

    /// Whether it has expired.
    pub const fn is_over(&self, now_unix_s: u64) -> bool {
        now_unix_s >= self.until_unix_s()
    }

    /// The certificates of its agents, in DER.
    pub fn roots(&self) -> &[CertificateDer<'static>] {
        &self.roots
    }

    /// First second at which it has expired, since 1970.
    pub(crate) const fn until_unix_s(&self) -> u64 {
        self.not_after_unix_s.saturating_add(1)
    }

    /// The keys of its agents.
    pub(crate) fn agents(&self) -> &[PublicKey] {
        &self.keys
    }

    /// The same as trust anchors, to verify leafs with.
    pub(crate) fn anchors(&self) -> &[TrustAnchor<'static>] {
        &self.anchors
    }
}

/// The known bundles.
#[derive(Clone, Debug, Default)]
pub struct Bundles(HashMap<Domain, DomainBundle>);

impl Bundles {
    /// Bundle of a domain.
    pub fn get(&self, domain: &Domain) -> Option<&DomainBundle> {
        self.0.get(domain)
    }

    /// All of them, in no order.
    pub fn each(&self) -> impl Iterator<Item = &DomainBundle> {
        self.0.values()
    }
}

impl FromIterator<DomainBundle> for Bundles {
    /// Of several bundles of a domain it keeps the newest.
    fn from_iter<I: IntoIterator<Item = DomainBundle>>(bundles: I) -> Self {
        let mut all = HashMap::<Domain, DomainBundle>::new();
        for bundle in bundles {
            if all.get(&bundle.domain).is_none_or(|known| known.version < bundle.version) {
                all.insert(bundle.domain.clone(), bundle);
            }
        }
        Self(all)
    }
}

/// The key of an agent's certificate, if it belongs to this domain.
fn root_key(root: &CertificateDer<'_>, domain: &Domain) -> Option<PublicKey> {
    let parsed = EndEntityCert::try_from(root).ok()?;
    parsed.valid_uri_names().eq([domain.uri().as_str()]).then(|| key_of(&parsed))?
}

/// Unread lines, with the number of the next, counted from 1.
struct Rest<'t> {
    lines: std::iter::Peekable<std::str::Lines<'t>>,
    next: usize,
}

impl<'t> Rest<'t> {
    /// The rest of the next line behind `word` and a blank, parsed by `read`.
    fn field<T>(
        &mut self,
        word: &str,
        what: &'static str,
        read: impl FnOnce(&'t str) -> Option<T>,
    ) -> Result<T, ManifestRefusal> {
        let value = self.lines.next().and_then(|line| line.strip_prefix(word)?.strip_prefix(' '));
        let value = value.and_then(read).ok_or(ManifestRefusal::Malformed { line: self.next, what })?;
        self.next += 1;
        Ok(value)
    }

    /// The same for several consecutive lines.
    fn fields<T>(
        &mut self,
        word: &str,
        what: &'static str,
        number: RangeInclusive<usize>,
        read: impl Fn(&'t str) -> Option<T>,
    ) -> Result<Vec<T>, ManifestRefusal> {
        let mut found = Vec::new();
        let more =
            |rest: &mut Self| rest.lines.peek().is_some_and(|line| line.split(' ').next() == Some(word));
        while found.len() < *number.start() || (found.len() < *number.end() && more(self)) {
            found.push(self.field(word, what, &read)?);
        }
        Ok(found)
    }

    /// Checks that nothing is left.
    fn end(mut self) -> Result<(), ManifestRefusal> {
        let left = self.lines.next().map(|_| ManifestRefusal::Malformed { line: self.next, what: "the end" });
        left.map_or(Ok(()), Err)
    }
}

fn parse(text: &str) -> Result<DomainBundle, ManifestRefusal> {
    if !text.ends_with('\n') {
        return Err(ManifestRefusal::Malformed {
            line: text.lines().count().max(1),
            what: "the end of a line",
        });
    }
    let mut rest = Rest { lines: text.lines().peekable(), next: 1 };
    rest.field("bakeoff-trust", "`bakeoff-trust 1`", |version| (version == "1").then_some(()))?;
    let domain: Domain = rest.field("domain", "`domain` and its name", |name| name.parse().ok())?;
    let version = rest.field("version", "`version` and a number", |number| number.parse().ok())?;
    let what = "`not-after` and seconds since 1970";
    let not_after_unix_s = rest.field("not-after", what, |number| number.parse().ok())?;
    let key = |value: &str| STANDARD.decode(value).ok()?.try_into().ok().map(PublicKey::new);
    let ca = rest.fields("ca", "`ca` and 32 bytes in base64", 1..=MOST_KEYS, key)?;
    let root = |value: &str| {
        let root = CertificateDer::from(STANDARD.decode(value).ok()?);
        let key = root_key(&root, &domain).filter(|key| !ca.contains(key))?;
        let anchor = webpki::anchor_from_trusted_cert(&root).ok()?.to_owned();
        Some((root, key, anchor))
    };
    let what =
        "`ola-root` and a certificate of this domain's agent, with an Ed25519 key of its own, in base64";
    let agents = rest.fields("ola-root", what, 1..=MOST_KEYS, root)?;
    let address = |value: &str| {
        let (host, port) = value.rsplit_once(':')?;
        let good = !host.is_empty() && port.parse::<u16>().is_ok() && !value.contains(char::is_whitespace);
        good.then(|| value.to_owned())
    };
    let addresses = rest.fields("ola", "`ola` and HOST:PORT", 0..=MOST_ADDRESSES, address)?;
    rest.end()?;
    let mut bundle = DomainBundle {
        domain,
        version,
        not_after_unix_s,
        ca,
        addresses,
        roots: Vec::new(),
        keys: Vec::new(),
        anchors: Vec::new(),
    };
    for (root, key, anchor) in agents {
        bundle.roots.push(root);
        bundle.keys.push(key);
        bundle.anchors.push(anchor);
    }
    Ok(bundle)
}
