//! What comes in and what is decided.
//!
//! Measured side, pure.

use crate::rules::table::{Refuse, RuleId};
use bakeoff_layers_base::named;
use std::net::IpAddr;

/// A TCP segment that asks for a connection: SYN without ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syn {
    /// Who asks whom. What was known of an earlier connection of these ends is forgotten.
    pub flow: Flow,
    /// Whether the packet is whole.
    pub fragment: Fragment,
    /// Whether it brings data (TCP Fast Open), or a later fragment may.
    pub data: bool,
}

/// Which part of a fragmented packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragment {
    /// Not fragmented, or the first with a whole TCP head.
    #[default]
    Whole,
    /// The first, and the TCP head is not whole: never let through to a port of ours.
    CutHead,
    /// Not the first: no TCP head in it. Lets through.
    Later,
}

/// Both ends of a connection, as its packets to the server have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The client's address.
    pub source: IpAddr,
    /// The client's port.
    pub source_port: u16,
    /// The server's address.
    pub destination: IpAddr,
    /// The server's public port.
    pub port: u16,
}

/// A TCP segment of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'p> {
    /// Whose.
    pub flow: Flow,
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// Its whole payload; no more than [`crate::rules::table::READ`] bytes of it are read.
    pub payload: &'p [u8],
    /// Whether nothing of the connection was seen before: the server's kernel still has only a request for it. False where that
    /// cannot be told.
    pub first: bool,
}

/// Queues of the server's listeners, a number a class from highest to lowest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Connections that wait to be accepted.
    pub queues: Vec<u32>,
    /// How many may wait when one of this class comes, in its queue and those above it; 0 lets through: not yet measured.
    pub bounds: Vec<u32>,
}

/// What is done with a packet, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What the packet is.
    pub seen: Seen,
    /// The rule that was asked.
    pub rule: Option<RuleId>,
    /// The class: of a SYN to a port with classes always; of a head only where its rule names one.
    pub class: Option<u8>,
    /// What is done.
    pub outcome: Outcome,
    /// A body without a known end begins, so plain heads are not seen in this connection from here on: counted as `unseen`.
    pub unseen: bool,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// To a port that is not ours.
    Other,
    /// Asks for a connection.
    Syn,
    /// Begins with a plain head: counted as `heads`.
    Plain,
    /// Begins or hides a request, and is not plain: counted as `heads` and `odd`.
    Odd,
    /// Known to be of a body: counted as `bodies`.
    Body,
    /// Anything else of a connection: goes on with what was begun before, or has no payload.
    Rest,
}

/// What is done with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Let through.
    Pass,
    /// Refused.
    Refuse {
        /// Why.
        reason: Reason,
        /// How.
        how: Refuse,
    },
}

named! {
    /// Why something is refused: the label of its counter.
    #[derive(PartialOrd, Ord)]
    pub enum Reason {
        /// The rule's bucket was empty.
        Rate "rate",
        /// The bucket of the source's own prefix was empty.
        RatePer "rate-per",
        /// The rule refuses always.
        Refused "refused",
        /// The queue of the class is at its bound.
        Queue "queue",
        /// A first fragment without a whole TCP head.
        Fragment "fragment",
        /// Others changed the bucket each time: in the kernel only.
        LostRace "lost-race",
        /// A SYN that brings data, where there are rules for requests: nobody here reads it.
        SynData "syn-data",
    }
}
