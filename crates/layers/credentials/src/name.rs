//! Names of principals and of their domains.
//!
//! Measured side, pure. Each name has one spelling: small letters, digits, `-`, `_` and dots. So two names are the
//! same exactly when their bytes are.

use bakeoff_layers_base::named;
use bakeoff_layers_base::named::Named;
use std::fmt;
use std::str::FromStr;

/// Longest part before the `@`, in bytes: the limit of X.509's common name.
const MOST_LOCAL: usize = 64;
/// Longest domain, and longest part of one, in bytes: those of DNS.
const MOST_DOMAIN: usize = 253;
const MOST_LABEL: usize = 63;

named! {
    /// What a principal is.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum PrincipalKind {
        /// Somebody.
        User "user",
        /// A machine, or a server on one.
        Node "node",
        /// A part of somebody's rights, with a key of its own.
        Role "role",
        /// Several principals; it has no key.
        Group "group",
    }
}

/// The text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no name; write user:alice@home.example, node:files@home.example, role:editor.alice@home.example or \
     group:staff@home.example, in small letters", .0.escape_debug()
)]
pub struct NoName(pub String);

/// Domain that certifies names: `home.example`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain(String);

impl Domain {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As a SPIFFE trust domain.
    pub fn uri(&self) -> String {
        format!("spiffe://{self}")
    }
}

impl FromStr for Domain {
    type Err = NoName;

    fn from_str(text: &str) -> Result<Self, NoName> {
        let good = text.len() <= MOST_DOMAIN && text.split('.').all(|label| is_label(label, ""));
        if good { Ok(Self(text.to_owned())) } else { Err(NoName(text.to_owned())) }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A principal: `user:alice@home.example`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrincipalName {
    kind: PrincipalKind,
    local: String,
    domain: Domain,
}

impl PrincipalName {
    /// Its kind.
    pub const fn kind(&self) -> PrincipalKind {
        self.kind
    }

    /// The part before the `@`.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// Its domain.
    pub const fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Owner of a role, whose key certifies it: `user:alice@home.example` for `role:editor.alice@home.example`.
    pub fn owner(&self) -> Option<Self> {
        let (_, owner) = self.local.split_once('.').filter(|_| self.kind == PrincipalKind::Role)?;
        Some(Self { kind: PrincipalKind::User, local: owner.to_owned(), domain: self.domain.clone() })
    }

    /// As a SPIFFE URI: `spiffe://home.example/user/alice`.
    pub fn uri(&self) -> String {
        format!("{}/{}/{}", self.domain.uri(), self.kind.name(), self.local)
    }

    /// From a SPIFFE URI, exactly as [`Self::uri`] writes it.
    pub fn of_uri(uri: &str) -> Option<Self> {
        let (domain, path) = uri.strip_prefix("spiffe://")?.split_once('/')?;
        let (kind, local) = path.split_once('/')?;
        Self::of(kind, local, domain)
    }

    fn of(kind: &str, local: &str, domain: &str) -> Option<Self> {
        let kind = PrincipalKind::of_name(kind)?;
        let whole = local.len() <= MOST_LOCAL && local.split('.').all(|label| is_label(label, "_"));
        let owned = kind != PrincipalKind::Role || local.contains('.');
        (whole && owned).then_some(())?;
        Some(Self { kind, local: local.to_owned(), domain: domain.parse().ok()? })
    }
}

impl FromStr for PrincipalName {
    type Err = NoName;

    fn from_str(text: &str) -> Result<Self, NoName> {
        let parts = text.split_once(':').and_then(|(kind, rest)| Some((kind, rest.split_once('@')?)));
        let name = parts.and_then(|(kind, (local, domain))| Self::of(kind, local, domain));
        name.ok_or_else(|| NoName(text.to_owned()))
    }
}

impl fmt::Display for PrincipalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@{}", self.kind.name(), self.local, self.domain)
    }
}

/// Whether it may stand between two dots; `more` are letters beside those of DNS.
fn is_label(label: &str, more: &str) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || more.contains(c);
    !label.is_empty()
        && label.len() <= MOST_LABEL
        && label.chars().all(known)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_spelling_as_text_and_as_uri() {
        for (text, uri) in [
            ("user:alice@home.example", "spiffe://home.example/user/alice"),
            ("node:files@site.example", "spiffe://site.example/node/files"),
            ("role:editor.alice@home.example", "spiffe://home.example/role/editor.alice"),
            ("group:staff_2@localhost", "spiffe://localhost/group/staff_2"),
        ] {
            let name: PrincipalName = text.parse().unwrap();
            assert_eq!((name.to_string().as_str(), name.uri().as_str()), (text, uri));
            assert_eq!(PrincipalName::of_uri(uri), Some(name));
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_no_name() {
        let long = format!("user:{}@a", "x".repeat(MOST_LOCAL + 1));
        for bad in [
            "",
            "user:",
            "alice@home",
            "user:alice",
            "user:@home",
            "user:alice@",
            "User:alice@home",
            "user:Alice@home",
            "user:alice@Home",
            "user:al/ice@home",
            "user:..@home",
            "user:.a@home",
            "user:a.@home",
            "user:a@b@c",
            "user:a@b:c",
            "user:-a@b",
            "user:a@b-",
            "user:a@b..c",
            "user:a@.b",
            "user:a@b.",
            "user:a b@c",
            "user:\u{e9}@c",
            "user:a%2e@c",
            "role:editor@home",
            "any:a@b",
            " user:a@b",
            "user:a@b\n",
            "user:a@b_c",
            &long,
        ] {
            assert!(bad.parse::<PrincipalName>().is_err(), "{bad:?}");
        }
        for bad in [
            "spiffe://home",
            "spiffe://home/user",
            "spiffe://home/user/",
            "spiffe://home/user/a/b",
            "spiffe:///user/a",
            "SPIFFE://home/user/a",
            "spiffe://home:1/user/a",
            "spiffe://u@home/user/a",
            "spiffe://home/user/a?b",
            "spiffe://home//user/a",
            "https://home/user/a",
        ] {
            assert_eq!(PrincipalName::of_uri(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_roles_owner_is_what_follows_its_first_dot() {
        let owner =
            |text: &str| text.parse::<PrincipalName>().unwrap().owner().map(|owner| owner.to_string());
        assert_eq!(owner("role:editor.alice@a").as_deref(), Some("user:alice@a"));
        assert_eq!(owner("role:editor.alice.smith@a").as_deref(), Some("user:alice.smith@a"));
        assert_eq!(owner("user:alice.smith@a"), None);
    }
}
