//! Why an agent does not do what it is asked.
//!
//! Measured side, pure. Each reason has a name, which travels with the answer and is the counter's label. What is wrong
//! with a statement is `credentials`' to say.

use bakeoff_layers_credentials::Refusal;
use bakeoff_layers_credentials::audit::NoCheckpoint;
use bakeoff_layers_credentials::name::Name;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// Something that was shown.
    #[error(transparent)]
    Shown(#[from] Refusal),
    /// TLS did not come about.
    #[error("TLS 1.3 did not come about; is it a client of agents?")]
    NoHandshake,
    /// Another protocol, or none, was asked for.
    #[error("the protocol bakeoff-agent/1 was not asked for; is it a client of agents?")]
    OtherProtocol,
    /// Nothing, or half of a message.
    #[error("no whole question came within 10 s; ask again")]
    HalfMessage,
    /// More than a message may have.
    #[error("a message has at most 64 KiB; show less")]
    TooLarge,
    /// Not a message.
    #[error("not a message of bakeoff-agent/1; use the same version here and there")]
    Malformed,
    /// Not one of the questions.
    #[error("an unknown question; use the same version here and there")]
    UnknownQuestion,
    /// Every thread is taken.
    #[error("64 connections are there already; try again later")]
    TooManyConnections,
    /// Few threads would be left for others.
    #[error("48 subscribers are there already; look who they are")]
    TooManySubscribers,
    /// A leaf's time.
    #[error("a leaf is given for 1 s to 24 hours; ask for less")]
    TooLong,
    /// A key that the administrator did not enrol.
    #[error(
        "this key of {0} is not on the agent's roll; have the administrator add the line that `ca certify` printed"
    )]
    NotEnrolled(Name),
    /// There is nothing to say a word about.
    #[error("no link of the chain was given by this domain; ask the agent of the giver's domain")]
    NoLink,
    /// Somebody else's.
    #[error(
        "only who gave it, who has that key, or who has the agent's own key may take it back; ask one of them"
    )]
    NotYours,
    /// A name without keys.
    #[error("no key has logged in under this name; name its key, or have its identity run out")]
    NeverSeen,
    /// Not a checkpoint that who asks has signed of a log of its own.
    #[error("what shall be kept: {0}")]
    NotItsCheckpoint(NoCheckpoint),
    /// A log that was longer before.
    #[error(
        "a checkpoint of {said} records comes after one of {kept}: the log was cut off, put back or begun anew; look at it, and where that is right, move the kept one away from the agent's checkpoints"
    )]
    CheckpointWentBack {
        /// How many records there were.
        kept: u64,
        /// How many there are now.
        said: u64,
    },
    /// Another log of the same length.
    #[error(
        "another checkpoint of {0} records is kept: records were changed, and all links made anew; look at the log"
    )]
    CheckpointForked(u64),
    /// After one of these two.
    #[error(
        "a checkpoint of this server was refused, and none is taken until somebody has looked why, and moved both away from the agent's checkpoints"
    )]
    CheckpointDisputed,
    /// There is no room for more.
    #[error("as much is kept as can be told; what has ended is forgotten at the next start")]
    Full,
    /// The disk.
    #[error("it cannot be kept on the agent's disk, so it is not done; look at that disk")]
    NotKept,
}

impl No {
    /// The counter's label.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Shown(refusal) => refusal.name(),
            Self::NoHandshake => "no-handshake",
            Self::OtherProtocol => "other-protocol",
            Self::HalfMessage => "half-message",
            Self::TooLarge => "too-large",
            Self::Malformed => "malformed",
            Self::UnknownQuestion => "unknown-question",
            Self::TooManyConnections => "too-many-connections",
            Self::TooManySubscribers => "too-many-subscribers",
            Self::TooLong => "too-long",
            Self::NotEnrolled(_) => "not-enrolled",
            Self::NoLink => "no-link",
            Self::NotYours => "not-yours",
            Self::NeverSeen => "never-seen",
            Self::NotItsCheckpoint(_) => "not-its-checkpoint",
            Self::CheckpointWentBack { .. } => "checkpoint-went-back",
            Self::CheckpointForked(_) => "checkpoint-forked",
            Self::CheckpointDisputed => "checkpoint-disputed",
            Self::Full => "full",
            Self::NotKept => "not-kept",
        }
    }
}
