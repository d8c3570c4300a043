//! Verification of credentials: a pure function of what the peer shows and what is known here.
//!
//! Measured side, once a connection, fed by strangers. Follows a right from its first giver to the key of the TLS
//! peer, and stops at the first fault. Decides nothing about objects (`grant` does).

use crate::bundle::{Bundles, DomainBundle};
use crate::grant::SessionGrant;
use crate::hello::Hello;
use crate::key::PublicKey;
use crate::leaf::{Leaf, MOST_LIFE_S, domain_of};
use crate::name::{Domain, PrincipalName};
use crate::refusal::{CredentialRefusal, Piece};
use crate::revoked::{Item, Revoked};
use crate::statement::{IdentityContent, Shown, StatusContent, Transfer, within};
use rustls_pki_types::CertificateDer;

/// Largest difference between an agent's clock and ours, in seconds.
pub const MOST_SKEW_S: u64 = 30;

/// The grant of a leaf's holder, who proved its key in TLS, at this server.
///
/// # Errors
/// It is refused, by name.
pub fn verify(
    leaf: &[u8],
    hello: &Hello,
    bundles: &Bundles,
    revoked: &Revoked,
    server: &PrincipalName,
    now_unix_s: u64,
) -> Result<SessionGrant, CredentialRefusal> {
    hello.check()?;
    let known = Known { bundles, server, now_unix_s };
    let der = CertificateDer::from(leaf);
    let domain = domain_of(&der, &Piece::of("the leaf"))?;
    let of = Piece::of("the leaf").by(&domain);
    let leaf = Leaf::read(&der, known.bundle(&domain, &of)?, now_unix_s, &of)?;
    let identities = known.identities(hello)?;
    let own = known.own(&leaf, &identities)?;
    if !leaf.groups.iter().all(|group| own.content.groups.contains(group)) {
        return Err(of.refuse(CredentialRefusal::NotMember));
    }
    let links = known.links(hello, &identities)?;
    if let Some(Shown { content: last, .. }) = links.last() {
        let named = last.wish.receiver.as_ref().is_none_or(|receiver| *receiver == leaf.name);
        if last.wish.key != leaf.key || !named {
            return Err(Piece::nth("link", links.len() - 1)
                .by(&last.giver)
                .refuse(CredentialRefusal::WrongHolder));
        }
    }
    let endorsed_until = known.endorsed(hello, &links)?;
    let stands_on = stands_on(&own, &identities, &links);
    if let Some((name, _)) = stands_on.iter().find(|(name, item)| revoked.holds(name.domain(), item)) {
        return Err(Piece::of("a statement or key").by(name).refuse(CredentialRefusal::Revoked));
    }
    let ends = identities.iter().map(|identity| identity.content.until_unix_s);
    let ends = ends.chain(links.iter().map(|link| link.content.wish.until_unix_s)).chain(endorsed_until);
    let of_bundles = stands_on.iter().filter_map(|(name, _)| bundles.get(name.domain()));
    let ends = ends.chain(of_bundles.map(DomainBundle::until_unix_s));
    let expires_unix_s = ends.fold(leaf.until_unix_s.min(own.content.until_unix_s), u64::min);
    let stands_on = stands_on.into_iter().map(|(name, item)| (name.domain().clone(), item)).collect();
    Ok(SessionGrant::new(leaf.name, leaf.groups, links, expires_unix_s, stands_on))
}

/// Expiry of a server's leaf, in seconds since 1970: for its client, which expects this name.
///
/// # Errors
/// It is refused, by name.
pub fn verify_node(
    leaf: &[u8],
    bundles: &Bundles,
    expected: &PrincipalName,
    now_unix_s: u64,
) -> Result<u64, CredentialRefusal> {
    let known = Known { bundles, server: expected, now_unix_s };
    let der = CertificateDer::from(leaf);
    let of = Piece::of("the leaf").by(expected);
    let bundle = known.bundle(expected.domain(), &of)?;
    let leaf = Leaf::read(&der, bundle, now_unix_s, &of)?;
    if leaf.name != *expected {
        return Err(of.refuse(CredentialRefusal::WrongHolder));
    }
    let own = known.own(&leaf, &[])?;
    Ok(leaf.until_unix_s.min(own.content.until_unix_s).min(bundle.until_unix_s()))
}

/// Verifier's own knowledge.
struct Known<'a> {
    bundles: &'a Bundles,
    server: &'a PrincipalName,
    now_unix_s: u64,
}

impl<'a> Known<'a> {
    fn bundle(&self, domain: &Domain, of: &Piece<'_>) -> Result<&'a DomainBundle, CredentialRefusal> {
        let bundle = self.bundles.get(domain).ok_or_else(|| of.refuse(CredentialRefusal::UnknownDomain))?;
        if bundle.not_after_unix_s < self.now_unix_s {
            return Err(Piece::of("the trust bundle").by(domain).refuse(CredentialRefusal::Expired));
        }
        Ok(bundle)
    }

    /// Keys that certify this name: its domain's, or that of the owner of a role, whose identity is among those
    /// shown.
    fn certifiers(
        &self,
        name: &PrincipalName,
        shown: &[Shown<IdentityContent>],
        of: &Piece<'_>,
    ) -> Result<Vec<PublicKey>, CredentialRefusal> {
        match name.owner() {
            None => self.bundle(name.domain(), of).map(|bundle| bundle.ca.clone()),
            Some(owner) => {
                let owner = shown.iter().find(|identity| identity.content.name == owner);
                owner
                    .map(|owner| vec![owner.content.key])
                    .ok_or_else(|| of.refuse(CredentialRefusal::Spliced))
            }
        }
    }

    fn identities(&self, hello: &Hello) -> Result<Vec<Shown<IdentityContent>>, CredentialRefusal> {
        let mut shown = Vec::with_capacity(hello.identities.len());
        for (index, (name, statement)) in hello.identities.iter().enumerate() {
            let of = Piece::nth("identity", index).by(name);
            let identity = IdentityContent::read(statement, name, &self.certifiers(name, &shown, &of)?, of)?;
            within(identity.from_unix_s, identity.until_unix_s, self.now_unix_s, &of)?;
            shown.push(Shown::of(statement, identity));
        }
        Ok(shown)
    }

    /// The identity in the leaf, which must have the same name and key.
    fn own(
        &self,
        leaf: &Leaf<'_>,
        shown: &[Shown<IdentityContent>],
    ) -> Result<Shown<IdentityContent>, CredentialRefusal> {
        let of = Piece::of("the identity in the leaf").by(&leaf.name);
        let own =
            IdentityContent::read(leaf.identity, &leaf.name, &self.certifiers(&leaf.name, shown, &of)?, of)?;
        within(own.from_unix_s, own.until_unix_s, self.now_unix_s, &of)?;
        let own = Shown::of(leaf.identity, own);
        if own.content.key == leaf.key { Ok(own) } else { Err(of.refuse(CredentialRefusal::WrongHolder)) }
    }

    fn links(
        &self,
        hello: &Hello,
        shown: &[Shown<IdentityContent>],
    ) -> Result<Vec<Shown<Transfer>>, CredentialRefusal> {
        let mut links: Vec<Shown<Transfer>> = Vec::with_capacity(hello.chain.len());
        let mut givers = Vec::new();
        for (index, (giver, statement)) in hello.chain.iter().enumerate() {
            let of = Piece::nth("link", index).by(giver);
            let held = links.last();
            let key = giver_key(giver, held.map(|held| &held.content), shown)
                .ok_or_else(|| of.refuse(CredentialRefusal::Spliced))?;
            let link = Transfer::read(statement, giver, key, of)?;
            if link.parent != held.map(|held| held.hash) {
                return Err(of.refuse(CredentialRefusal::Spliced));
            }
            if !link.is_for(self.server) {
                return Err(of.refuse(CredentialRefusal::WrongAudience));
            }
            within(link.wish.from_unix_s, link.wish.until_unix_s, self.now_unix_s, &of)?;
            if let Some(held) = held {
                link.is_narrower(&held.content, &of)?;
            }
            givers.push(key);
            if givers.contains(&link.wish.key) {
                return Err(of.refuse(CredentialRefusal::RoleLoop));
            }
            links.push(Shown::of(statement, link));
        }
        Ok(links)
    }

    /// Times until which statuses endorse each link.
    fn endorsed(&self, hello: &Hello, links: &[Shown<Transfer>]) -> Result<Vec<u64>, CredentialRefusal> {
        let mut statuses = Vec::with_capacity(hello.statuses.len());
        for (index, (domain, statement)) in hello.statuses.iter().enumerate() {
            let of = Piece::nth("status", index).by(domain);
            let status = StatusContent::read(statement, domain, self.bundle(domain, &of)?.agents(), of)?;
            if status.made_unix_s > self.now_unix_s.saturating_add(MOST_SKEW_S) {
                return Err(of.refuse(CredentialRefusal::ClockSkew));
            }
            if status.until_unix_s.saturating_sub(status.made_unix_s) > MOST_LIFE_S {
                return Err(of.refuse(CredentialRefusal::LongerLived));
            }
            statuses.push(status);
        }
        let until = |(index, Shown { content: link, hash }): (usize, &Shown<Transfer>)| {
            let of = Piece::nth("link", index).by(&link.giver);
            let names =
                |status: &&StatusContent| status.domain == *link.giver.domain() && status.good.contains(hash);
            match statuses.iter().filter(names).map(|status| status.until_unix_s).max() {
                None => Err(of.refuse(CredentialRefusal::NotEndorsed)),
                Some(until) if until <= self.now_unix_s => {
                    Err(of.refuse(CredentialRefusal::EndorsementStale))
                }
                Some(until) => Ok(until),
            }
        };
        links.iter().enumerate().map(until).collect()
    }
}

/// The key of the next giver. The first giver, and one that received under no name, shows an identity.
fn giver_key(
    giver: &PrincipalName,
    before: Option<&Transfer>,
    shown: &[Shown<IdentityContent>],
) -> Option<PublicKey> {
    let shown = || {
        let found = shown.iter().find(|identity| identity.content.name == *giver);
        found.map(|identity| identity.content.key)
    };
    let Some(before) = before else { return shown() };
    let named = match &before.wish.receiver {
        Some(receiver) => receiver == giver,
        None => shown() == Some(before.wish.key),
    };
    named.then_some(before.wish.key)
}

/// Everything that could be revoked, each with the name whose domain may do so.
fn stands_on<'a>(
    own: &'a Shown<IdentityContent>,
    shown: &'a [Shown<IdentityContent>],
    links: &'a [Shown<Transfer>],
) -> Vec<(&'a PrincipalName, Item)> {
    let identities = [own].into_iter().chain(shown).flat_map(|identity| {
        let IdentityContent { name, key, .. } = &identity.content;
        [(name, Item::Identity(identity.hash)), (name, Item::Key(key.thumbprint()))]
    });
    let links = links.iter().flat_map(|link| {
        let Transfer { giver, giver_key, .. } = &link.content;
        [(giver, Item::Transfer(link.hash)), (giver, Item::Key(*giver_key))]
    });
    identities.chain(links).collect()
}
