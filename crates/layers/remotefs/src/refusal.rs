//! Refusals of client and server, beyond the kernel's errors.
//!
//! Measured side. Each refusal has a name here, which is its counter's label, and a number, which is sent with the
//! answer.

use bakeoff_layers_base::named;
use nix::errno::Errno;
use thiserror::Error;

/// The enum, with the name and the sentence of each.
macro_rules! refusals {
    ($($refusal:ident $name:literal $sentence:literal)*) => {
        named! {
            /// Why not.
            #[derive(Error)]
            pub enum Refusal {
                $(
                    #[doc = $sentence]
                    #[error($sentence)]
                    $refusal $name,
                )*
            }
        }
    };
}

refusals! {
    // Malformed frames; the connection is closed.
    FrameTooLarge "frame-too-large" "a frame of more than a mebibyte was announced"
    UnknownKind "unknown-kind" "a frame has a kind that there is not, or not in this direction"
    OtherVersion "other-version" "the other side speaks another version"
    StrayField "stray-field" "a frame has something in a field or flag that means nothing there"
    ShortBody "short-body" "a frame's body is too short"
    TrailingData "trailing-data" "a frame's body goes on behind its end"
    BadName "bad-name" "a name is none: empty, longer than 255 bytes, `.`, `..`, or with a slash or NUL in it"
    BadValue "bad-value" "a frame has a number that is out of its range"
    HalfFrame "half-frame" "a frame was begun and did not end in time"
    NoHello "no-hello" "a connection did not say in time what it is for"
    HelloOutOfTurn "hello-out-of-turn" "HELLO is the first that is said on a connection, and is said once"
    WrongClass "wrong-class" "this is not said on this kind of connection"
    // This session, or another, is over.
    OtherBoot "other-boot" "the server was started anew since; begin a new session"
    SessionOver "session-over" "the session is over; begin a new one"
    TermOver "term-over" "a session was not heard of for its term"
    AckMissing "ack-missing" "a session did not acknowledge a break within its term"
    // Clients that are not let in. Faults of credentials have names of their own (`credentials::Refusal`).
    NoCertificate "no-certificate" "a connection showed no certificate; who mounts with a session shows one"
    TlsRefused "tls-refused" "there was no TLS 1.3 handshake, or not with this protocol"
    NoLeaf "no-leaf" "the server has no leaf of its own; whoever runs it must log in"
    OtherKey "other-key" "a connection has another key than the session that it names"
    // Operations that are not allowed.
    Denied "denied" "the access list or a link of the chain does not let this session do that; `remotefs why` says which"
    Linked "linked" "the file has names that nobody has looked up yet, which may be sterner; look them up first"
    RulesBelow "rules-below" "rules name something below that directory, and would not move with it"
    // Limits exceeded.
    TooManyConnections "too-many-connections" "there are too many connections; try again later"
    TooManyStrangers "too-many-strangers" "a connection did not say who it is before too many others came"
    TooManyOfAddress "too-many-of-address" "the same, before too many others came from its address"
    TooManyOfSession "too-many-of-session" "the session has too many connections"
    TooManyOfPrincipal "too-many-of-principal" "the principal has too many connections from one machine"
    TooManyObjects "too-many-objects" "the session knows too many objects; it must forget some"
    // Objects that are not exported.
    SpecialFile "special-file" "devices, FIFOs and sockets are not exported"
    OtherFileSystem "other-file-system" "another file system is mounted there, and is not exported"
    NoObject "no-object" "there is no such object, or no more"
    // Decisions that cannot be logged.
    AuditFull "audit-full" "the audit log takes no more: its disk is full, or too slow; nothing new is decided until it takes what is waiting"
}

impl Refusal {
    /// Its number in answers: 0 is no refusal.
    pub const fn number(self) -> u32 {
        self as u32 + 1
    }

    /// What a program gets.
    pub const fn errno(self) -> Errno {
        match self {
            Self::NoObject | Self::SessionOver | Self::OtherBoot => Errno::ESTALE,
            Self::SpecialFile => Errno::ENOENT,
            Self::OtherFileSystem => Errno::EXDEV,
            Self::AuditFull => Errno::ENOSPC,
            Self::TooManyObjects
            | Self::TooManyConnections
            | Self::TooManyOfSession
            | Self::TooManyOfPrincipal => Errno::ENFILE,
            Self::Denied | Self::Linked | Self::RulesBelow => Errno::EACCES,
            _ => Errno::EPROTO,
        }
    }
}
