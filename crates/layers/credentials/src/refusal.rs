//! Reasons for refusing credentials: each has a name, which is also the counter's label.
//!
//! Measured side, pure. Each names the piece that was shown, its fault, and what to do next.

use bakeoff_layers_base::refusals;
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
    pub(crate) fn refuse(&self, refusal: fn(String) -> CredentialRefusal) -> CredentialRefusal {
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

refusals! {
    /// What is wrong; each holds the piece that it is wrong with.
    #[derive(Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum CredentialRefusal {
        BadSignature(String) "bad-signature"
            "{0}: the signature is not the expected signer's over these bytes; fetch it again, and if it stays so, ask the signer",
        UnknownDomain(String) "unknown-domain"
            "{0}: there is no trust bundle of its domain here; import one, if that domain shall be known",
        NotItsDomain(String) "not-its-domain"
            "{0}: a name counts under the keys of its own domain alone, a role under its owner's, and this is another's; have the right one certify it",
        Expired(String) "expired"
            "{0}: its time is over; fetch a new one: a leaf by logging in, a certificate or bundle from who gave it",
        NotYetValid(String) "not-yet-valid"
            "{0}: not valid yet; wait, or look whether the clocks here and there are right",
        WrongHolder(String) "wrong-holder"
            "{0}: made for another key or name than that which shows it; ask for one that names yours",
        WrongAudience(String) "wrong-audience"
            "{0}: not made for this server; ask for one that names it or its domain",
        Spliced(String) "spliced"
            "{0}: does not hang on what stands before it; show the chain as it was given, from a giver whose identity is shown, too",
        Widened(String) "widened"
            "{0}: hands on more paths, operations, bytes or hops than its giver holds; ask for less",
        LongerLived(String) "longer-lived"
            "{0}: lives longer than what it hangs on, or than the 24 hours of a leaf or status; end it sooner",
        NotMember(String) "not-member"
            "{0}: names a group that the identity in it does not; both the CA and the agent must say who is in a group, so have the CA certify it, too",
        TooDeep(String) "too-deep" "{0}: handed on more than 8 times; ask somebody nearer to its first giver",
        RoleLoop(String) "role-loop" "{0}: comes back to a key that gave before; leave the way round out",
        NotEndorsed(String) "not-endorsed"
            "{0}: no status of its giver's domain names it; fetch one from that domain's agent, who may have taken it back",
        EndorsementStale(String) "endorsement-stale"
            "{0}: the status that names it is over; fetch a new one from its giver's agent",
        Revoked(String) "revoked" "{0}: taken back by its domain; ask who gave it",
        UnknownClaim(String) "unknown-claim"
            "{0}: has a claim that is not known here and could be a restriction; have it made without, or use a newer version here",
        OddHeader(String) "odd-header"
            "{0}: its header has something beside the algorithm; have it made by a version of this program",
        Malformed(String) "malformed"
            "{0}: not written as its kind is; fetch it again, and if it stays so, have it made by a version of this program",
        TooLarge(String) "too-large" "{0}: larger, or more entries, than its kind may have; split it up",
        TrailingData(String) "trailing-data" "{0}: something stands behind its end; fetch it again",
        UnknownAlgorithm(String) "unknown-algorithm"
            "{0}: not signed with Ed25519, which alone is taken here; make a key of that kind",
        ClockSkew(String) "clock-skew"
            "{0}: more than 30 s away from the clock here; set the clocks here and at its agent",
    }
}
