//! Reasons of an agent for refusing a question.
//!
//! Measured side, pure. Each reason has a name, which is sent with the answer and is the counter's label.
//! `credentials` owns the faults of statements.

use bakeoff_layers_credentials::Refusal;
use bakeoff_layers_credentials::audit::NoCheckpoint;
use bakeoff_layers_credentials::name::Name;

/// Reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// The shown credentials.
    #[error(transparent)]
    Shown(#[from] Refusal),
    /// The TLS handshake failed.
    #[error("TLS 1.3 did not come about; is it a client of agents?")]
    NoHandshake,
    /// The client asked for another protocol, or none.
    #[error("the protocol bakeoff-agent/1 was not asked for; is it a client of agents?")]
    OtherProtocol,
    /// The client sent nothing, or half a message.
    #[error("no whole question came within 10 s; ask again")]
    HalfMessage,
    /// The message is too long.
    #[error("a message has at most 64 KiB; show less")]
    TooLarge,
    /// The message is malformed.
    #[error("not a message of bakeoff-agent/1; use the same version here and there")]
    Malformed,
    /// The question is unknown.
    #[error("an unknown question; use the same version here and there")]
    UnknownQuestion,
    /// Every thread is busy.
    #[error("64 connections are there already; try again later")]
    TooManyConnections,
    /// Too few threads would be left for others.
    #[error("48 subscribers are there already; look who they are")]
    TooManySubscribers,
    /// The requested lifetime of a leaf is too long.
    #[error("a leaf is given for 1 s to 24 hours; ask for less")]
    TooLong,
    /// The administrator did not enrol this key.
    #[error(
        "this key of {0} is not on the agent's roll; have the administrator add the line that `ca certify` printed"
    )]
    NotEnrolled(Name),
    /// The chain has no link of this domain.
    #[error("no link of the chain was given by this domain; ask the agent of the giver's domain")]
    NoLink,
    /// The asker is not entitled to revoke it.
    #[error(
        "only who gave it, who has that key, or who has the agent's own key may take it back; ask one of them"
    )]
    NotYours,
    /// No key logged in under this name.
    #[error("no key has logged in under this name; name its key, or have its identity run out")]
    NeverSeen,
    /// It is no checkpoint that the asker has signed for a log of its own.
    #[error("what shall be kept: {0}")]
    NotItsCheckpoint(NoCheckpoint),
    /// An earlier checkpoint of the log had more records.
    #[error(
        "a checkpoint of {said} records comes after one of {kept}: the log was cut off, put back or begun anew; look at it, and where that is right, move the kept one away from the agent's checkpoints"
    )]
    CheckpointWentBack {
        /// Number of records before.
        kept: u64,
        /// Number of records now.
        said: u64,
    },
    /// Another log of the same length.
    #[error(
        "another checkpoint of {0} records is kept: records were changed, and all links made anew; look at the log"
    )]
    CheckpointForked(u64),
    /// A checkpoint was refused before for one of these two reasons.
    #[error(
        "a checkpoint of this server was refused, and none is taken until somebody has looked why, and moved both away from the agent's checkpoints"
    )]
    CheckpointDisputed,
    /// There is no room for more.
    #[error("as much is kept as can be told; what has ended is forgotten at the next start")]
    Full,
    /// Writing to the disk failed.
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
