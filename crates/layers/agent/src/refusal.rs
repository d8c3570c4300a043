//! Reasons of an agent for refusing a question.
//!
//! Measured side, pure. Each reason has a name, which is sent with the answer and is the counter's label.
//! `credentials` owns the faults of statements.

use bakeoff_layers_base::refusals;
use bakeoff_layers_credentials::CredentialRefusal;
use bakeoff_layers_credentials::audit::NoCheckpoint;
use bakeoff_layers_credentials::name::PrincipalName;

refusals! {
    /// Why not.
    #[derive(Clone, PartialEq, Eq)]
    pub enum No {
        /// Something that was shown.
        Shown(CredentialRefusal),
        NoHandshake "no-handshake" "TLS 1.3 did not come about; is it a client of agents?",
        OtherProtocol "other-protocol" "the protocol bakeoff-agent/2 was not asked for; is it a client of agents?",
        HalfMessage "half-message" "no whole question came within 10 s; ask again",
        TooLarge "too-large" "a message has at most 64 KiB; show less",
        Malformed "malformed" "not a message of bakeoff-agent/2; use the same version here and there",
        UnknownQuestion "unknown-question" "an unknown question; use the same version here and there",
        TooManySubscribers "too-many-subscribers" "48 subscribers are there already; look who they are",
        TooLong "too-long" "a leaf is given for 1 s to 24 hours; ask for less",
        NotEnrolled(PrincipalName) "not-enrolled"
            "this key of {0} is not on the agent's roll; have the administrator add the line that `ca certify` printed",
        NoLink "no-link" "no link of the chain was given by this domain; ask the agent of the giver's domain",
        NotYours "not-yours"
            "only its giver, the holder of that key, or who has the agent's own key may take it back, and of a hash the agent must know whose it is; ask one of them, or show the transfer itself",
        NeverSeen "never-seen" "no key has logged in under this name; name its key, or have its identity run out",
        NotItsCheckpoint(NoCheckpoint) "not-its-checkpoint" "what shall be kept: {0}",
        CheckpointWentBack { kept: u64, said: u64 } "checkpoint-went-back"
            "a checkpoint of {said} records comes after one of {kept}: the log was cut off, put back or begun anew; look at it, and where that is right, move the kept one away from the agent's checkpoints",
        CheckpointForked(u64) "checkpoint-forked"
            "another checkpoint of {0} records is kept: records were changed, and all links made anew; look at the log",
        CheckpointDisputed "checkpoint-disputed"
            "a checkpoint of this server was refused, and none is taken until somebody has looked why, and moved both away from the agent's checkpoints",
        Full "full" "as many entries are kept as there is room for; ask the administrator, who has room of his own",
        QuotaReached(usize) "quota-reached"
            "{0} entries of this key are kept, its roles' included, and no more are taken; wait until some have ended",
        NotKept "not-kept" "it cannot be kept on the agent's disk, so it is not done; look at that disk",
    }
}
