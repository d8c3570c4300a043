//! Why somebody is not let in: a name for each reason, which is also the counter's label.
//!
//! Measured side, pure. Each says which piece of what was shown, what is wrong with it, and what to do next.

use std::fmt;

/// A piece of what is shown, for the sentence.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    what: &'static str,
    /// From 1; 0 where there is one only.
    number: usize,
    whose: Option<&'a dyn fmt::Display>,
}

impl<'a> Piece<'a> {
    /// The only one of its kind.
    pub(crate) const fn of(what: &'static str) -> Self {
        Self { what, number: 0, whose: None }
    }

    /// One of several, the first as 0.
    pub(crate) const fn nth(what: &'static str, index: usize) -> Self {
        Self { what, number: index + 1, whose: None }
    }

    /// The same, with whose it is, or says to be.
    pub(crate) const fn by(self, whose: &'a dyn fmt::Display) -> Self {
        Self { whose: Some(whose), ..self }
    }

    /// It, refused.
    pub(crate) fn refuse(&self, refusal: fn(String) -> Refusal) -> Refusal {
        refusal(self.to_string())
    }
}

impl fmt::Display for Piece<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if self.number > 0 {
            write!(f, " {}", self.number)?;
        }
        self.whose.map_or(Ok(()), |whose| write!(f, " of {whose}"))
    }
}

/// What is wrong; each holds the piece that it is wrong with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Somebody else signed, or other bytes.
    #[error(
        "{0}: the signature is not the expected signer's over these bytes; fetch it again, and if it stays so, ask the signer"
    )]
    BadSignature(String),
    /// No bundle of its domain.
    #[error("{0}: there is no trust bundle of its domain here; import one, if that domain shall be known")]
    UnknownDomain(String),
    /// Signed by another domain than the name's, or another principal than a role's owner.
    #[error(
        "{0}: a name counts under the keys of its own domain alone, a role under its owner's, and this is another's; have the right one certify it"
    )]
    NotItsDomain(String),
    /// Its time is over.
    #[error(
        "{0}: its time is over; fetch a new one: a leaf by logging in, a certificate or bundle from who gave it"
    )]
    Expired(String),
    /// Its time is yet to come.
    #[error("{0}: not valid yet; wait, or look whether the clocks here and there are right")]
    NotYetValid(String),
    /// For another key or name.
    #[error("{0}: made for another key or name than that which shows it; ask for one that names yours")]
    WrongHolder(String),
    /// For other servers.
    #[error("{0}: not made for this server; ask for one that names it or its domain")]
    WrongAudience(String),
    /// It does not hang on what is before it.
    #[error(
        "{0}: does not hang on what stands before it; show the chain as it was given, from a giver whose identity is shown, too"
    )]
    Spliced(String),
    /// It hands on more.
    #[error("{0}: hands on more paths, operations, bytes or hops than its giver holds; ask for less")]
    Widened(String),
    /// It lives longer than what it hangs on, or than its kind may.
    #[error(
        "{0}: lives longer than what it hangs on, or than the 24 hours of a leaf or status; end it sooner"
    )]
    LongerLived(String),
    /// Too many hands.
    #[error("{0}: handed on more than 8 times; ask somebody nearer to its first giver")]
    TooDeep(String),
    /// It comes back to a key that gave before.
    #[error("{0}: comes back to a key that gave before; leave the way round out")]
    RoleLoop(String),
    /// No status names it.
    #[error(
        "{0}: no status of its giver's domain names it; fetch one from that domain's agent, who may have taken it back"
    )]
    NotEndorsed(String),
    /// The status that names it is over.
    #[error("{0}: the status that names it is over; fetch a new one from its giver's agent")]
    EndorsementStale(String),
    /// It was taken back.
    #[error("{0}: taken back by its domain; ask who gave it")]
    Revoked(String),
    /// A claim that is not known here.
    #[error(
        "{0}: has a claim that is not known here and could be a restriction; have it made without, or use a newer version here"
    )]
    UnknownClaim(String),
    /// A header that is none of ours.
    #[error("{0}: its header has something beside the algorithm; have it made by a version of this program")]
    OddHeader(String),
    /// Not what its kind looks like.
    #[error(
        "{0}: not written as its kind is; fetch it again, and if it stays so, have it made by a version of this program"
    )]
    Malformed(String),
    /// Longer, or more of something, than its kind may have.
    #[error("{0}: larger, or more entries, than its kind may have; split it up")]
    TooLarge(String),
    /// Something behind its end.
    #[error("{0}: something stands behind its end; fetch it again")]
    TrailingData(String),
    /// Another algorithm than Ed25519.
    #[error("{0}: not signed with Ed25519, which alone is taken here; make a key of that kind")]
    UnknownAlgorithm(String),
    /// Clocks are apart.
    #[error("{0}: more than 30 s away from the clock here; set the clocks here and at its agent")]
    ClockSkew(String),
}

impl Refusal {
    /// The counter's label.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BadSignature(_) => "bad-signature",
            Self::UnknownDomain(_) => "unknown-domain",
            Self::NotItsDomain(_) => "not-its-domain",
            Self::Expired(_) => "expired",
            Self::NotYetValid(_) => "not-yet-valid",
            Self::WrongHolder(_) => "wrong-holder",
            Self::WrongAudience(_) => "wrong-audience",
            Self::Spliced(_) => "spliced",
            Self::Widened(_) => "widened",
            Self::LongerLived(_) => "longer-lived",
            Self::TooDeep(_) => "too-deep",
            Self::RoleLoop(_) => "role-loop",
            Self::NotEndorsed(_) => "not-endorsed",
            Self::EndorsementStale(_) => "endorsement-stale",
            Self::Revoked(_) => "revoked",
            Self::UnknownClaim(_) => "unknown-claim",
            Self::OddHeader(_) => "odd-header",
            Self::Malformed(_) => "malformed",
            Self::TooLarge(_) => "too-large",
            Self::TrailingData(_) => "trailing-data",
            Self::UnknownAlgorithm(_) => "unknown-algorithm",
            Self::ClockSkew(_) => "clock-skew",
        }
    }
}
