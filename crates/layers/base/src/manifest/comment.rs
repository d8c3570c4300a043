//! Comment of a manifest's signature: facts that are signed with the manifest and stand beside it.

use crate::name::EscapedName;

/// Text before the manifest's name.
const NAMED: &str = ", of ";
/// Text before the digest of the links.
const LINKED: &str = ", links ";

/// What the comment of a signature says, which is signed with the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedComment {
    /// Name of the tree.
    pub name: Option<EscapedName>,
    /// Digest of its symbolic links ([`seal::links_digest`](super::seal::links_digest)).
    pub links: Option<String>,
}

impl SignedComment {
    /// What a signature says. Trustworthy only after it was verified.
    pub(super) fn of_signature(signature: &str) -> Self {
        let Ok(signature) = minisign_verify::Signature::decode(signature) else { return Self::default() };
        let comment = signature.trusted_comment();
        let (about, name) = comment.split_once(NAMED).unwrap_or((comment, ""));
        let links = about.split_once(LINKED).map(|(_, links)| links.to_owned());
        Self { name: EscapedName::read(name), links }
    }

    /// The text that is signed with a manifest of this version.
    pub(super) fn text(&self, version: u64) -> String {
        let links = self.links.as_ref().map_or(String::new(), |links| format!("{LINKED}{links}"));
        let name = self.name.as_ref().map_or(String::new(), |name| format!("{NAMED}{name}"));
        format!("bakeoff manifest, version {version}{links}{name}")
    }
}
