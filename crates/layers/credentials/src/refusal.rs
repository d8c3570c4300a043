//! Reasons for refusing credentials: each has a name, which is also the counter's label.
//!
//! Measured side, pure. Each names the piece that was shown, its fault, and what to do next.

use std::fmt;

/// A piece of the shown credentials, as the sentence names it.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    what: &'static str,
    /// From 1; 0 if there is only one.
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

    /// The same, with its owner, real or claimed.
    pub(crate) const fn by(self, whose: &'a dyn fmt::Display) -> Self {
        Self { whose: Some(whose), ..self }
    }

    /// Refuses this piece.
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

/// Fault of a piece; each variant holds the piece.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Signed by another key, or over other bytes.
    #[error(
        "{0}: the signature is not the expected signer's over these bytes; fetch it again, and if it stays so, ask the signer"
    )]
    BadSignature(String),
    /// The bundle of its domain is not known.
    #[error("{0}: there is no trust bundle of its domain here; import one, if that domain shall be known")]
    UnknownDomain(String),
    /// Signed by another domain than the name's, or another principal than a role's owner.
    #[error(
        "{0}: a name counts under the keys of its own domain alone, a role under its owner's, and this is another's; have the right one certify it"
    )]
    NotItsDomain(String),
    /// It has expired.
    #[error(
        "{0}: its time is over; fetch a new one: a leaf by logging in, a certificate or bundle from who gave it"
    )]
    Expired(String),
    /// It is not valid yet.
    #[error("{0}: not valid yet; wait, or look whether the clocks here and there are right")]
    NotYetValid(String),
    /// It is for another key or name.
    #[error("{0}: made for another key or name than that which shows it; ask for one that names yours")]
    WrongHolder(String),
    /// It is for other servers.
    #[error("{0}: not made for this server; ask for one that names it or its domain")]
    WrongAudience(String),
    /// It does not follow from the piece before it.
    #[error(
        "{0}: does not hang on what stands before it; show the chain as it was given, from a giver whose identity is shown, too"
    )]
    Spliced(String),
    /// It hands on more than was received.
    #[error("{0}: hands on more paths, operations, bytes or hops than its giver holds; ask for less")]
    Widened(String),
    /// It lives longer than the piece that it follows from, or than its kind may.
    #[error(
        "{0}: lives longer than what it hangs on, or than the 24 hours of a leaf or status; end it sooner"
    )]
    LongerLived(String),
    /// Handed on too often.
    #[error("{0}: handed on more than 8 times; ask somebody nearer to its first giver")]
    TooDeep(String),
    /// The chain returns to a key that already gave.
    #[error("{0}: comes back to a key that gave before; leave the way round out")]
    RoleLoop(String),
    /// No status endorses it.
    #[error(
        "{0}: no status of its giver's domain names it; fetch one from that domain's agent, who may have taken it back"
    )]
    NotEndorsed(String),
    /// The status that endorses it has expired.
    #[error("{0}: the status that names it is over; fetch a new one from its giver's agent")]
    EndorsementStale(String),
    /// It was revoked.
    #[error("{0}: taken back by its domain; ask who gave it")]
    Revoked(String),
    /// It has an unknown claim.
    #[error(
        "{0}: has a claim that is not known here and could be a restriction; have it made without, or use a newer version here"
    )]
    UnknownClaim(String),
    /// It has an unknown header.
    #[error("{0}: its header has something beside the algorithm; have it made by a version of this program")]
    OddHeader(String),
    /// It is malformed.
    #[error(
        "{0}: not written as its kind is; fetch it again, and if it stays so, have it made by a version of this program"
    )]
    Malformed(String),
    /// It exceeds a limit on length or number.
    #[error("{0}: larger, or more entries, than its kind may have; split it up")]
    TooLarge(String),
    /// Data behind its end.
    #[error("{0}: something stands behind its end; fetch it again")]
    TrailingData(String),
    /// It uses another algorithm than Ed25519.
    #[error("{0}: not signed with Ed25519, which alone is taken here; make a key of that kind")]
    UnknownAlgorithm(String),
    /// The clocks disagree.
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
