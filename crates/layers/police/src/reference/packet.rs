//! Packets and decisions of the reference model.
//!
//! Measured side, pure.

use super::head::Unread;
use crate::rules::table::{Refuse, RuleId};
use bakeoff_layers_base::named;
use std::net::IpAddr;

/// A TCP segment that asks for a connection: SYN without ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syn {
    /// Its ends. An earlier connection of the same ends is forgotten.
    pub flow: Flow,
    /// Whether the packet is whole.
    pub fragment: Fragment,
    /// Whether it carries data (TCP Fast Open), or a later fragment may.
    pub data: bool,
}

/// Part of a fragmented packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragment {
    /// Not fragmented, or the first with a whole TCP head.
    #[default]
    Whole,
    /// The first, with an incomplete TCP head: never let through to a port of ours.
    CutHead,
    /// Not the first, so without a TCP head: let through.
    Later,
}

/// Both ends of a connection, as in its packets to the server.
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
pub struct TcpSegment<'p> {
    /// Its connection.
    pub flow: Flow,
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// Its whole payload; no more than [`crate::rules::table::READ`] bytes of it are read.
    pub payload: &'p [u8],
    /// The sequence number that the server's kernel waits for; `None` if no such connection stands there.
    pub next: Option<u32>,
}

/// Queues of the server's listeners, a number a class from highest to lowest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Connections that wait to be accepted.
    pub queues: Vec<u32>,
    /// Limit on the connections in its queue and those above it when one of this class comes; 0 lets through: not yet
    /// measured.
    pub bounds: Vec<u32>,
}

/// Decision on a packet, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketDecision {
    /// Kind of the packet.
    pub seen: PacketKind,
    /// The rule that applies.
    pub rule: Option<RuleId>,
    /// The class: of a SYN to a port with classes always; of a head only where its rule names one.
    pub class: Option<u8>,
    /// The action.
    pub outcome: PacketOutcome,
    /// The connection is not read from here on.
    pub unread: Option<Unread>,
    /// The decision of the rule for such connections, if it was asked.
    pub unread_outcome: Option<PacketOutcome>,
}

impl PacketDecision {
    /// The refusal, if it is refused.
    pub fn refusal(&self) -> Option<(Reason, Refuse)> {
        let all = [Some(self.outcome), self.unread_outcome];
        all.into_iter().flatten().find_map(|outcome| match outcome {
            PacketOutcome::Refuse { reason, how } => Some((reason, how)),
            PacketOutcome::Pass => None,
        })
    }
}

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
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
    /// Any other: continues a head, is not read, was taken before, is of no connection, or has no payload.
    Rest,
}

/// Action on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// Let through.
    Pass,
    /// Refused.
    Refuse {
        /// The reason.
        reason: Reason,
        /// The way of refusing.
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
        /// A SYN to the port of a class: clients come to it by the public ones.
        ClassPort "class-port",
    }
}
