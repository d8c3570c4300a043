//! Reasons for which a connection ended other than by the client's wish.
//!
//! Cold. A closed list: each reason is the label under which it is counted.

use bakeoff_wire::h2::ConnectionError;
use bakeoff_wire::http1::RequestError;
use bakeoff_wire::parts::PartRefusal;

/// One of the reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Bytes that are no request.
    BadRequest,
    /// A head that is too large.
    HeadTooLarge,
    /// A body in a transfer coding.
    TransferCoding,
    /// More pipelined requests than are kept for a client that does not read its replies.
    TooMuchAhead,
    /// The client ended in the middle of a request.
    RequestCutOff,
    /// The connection broke while it was read, mostly by a reset.
    PeerReset,
    /// The connection broke while it was written, mostly by a reset.
    NotSent,
    /// The client went on sending after the last reply.
    WentOnSending,
    /// After the last reply the client neither closed nor sent for as long as the world says.
    StayedOpen,
    /// The session of TLS failed.
    TlsFailed,
    /// The client ended the session of TLS by an alert.
    TlsRefused,
    /// The client broke the protocol of HTTP/2.
    Http2(ConnectionError),
    /// Nothing happened on it for as long as the world says.
    Idle,
    /// It served as many requests as the world says.
    ServedAll,
    /// The word of a part of a run is malformed.
    NoPart,
    /// A part of a run was refused.
    PartRefused(PartRefusal),
    /// No descriptor or no memory was left for it; counted at each try.
    NotTaken,
}

impl Ending {
    /// The label.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::BadRequest => "malformed request",
            Self::HeadTooLarge => "head too large",
            Self::TransferCoding => "body in a transfer coding",
            Self::TooMuchAhead => "too many requests ahead of their replies",
            Self::RequestCutOff => "request cut off",
            Self::PeerReset => "reset by the client",
            Self::NotSent => "broken while sending",
            Self::WentOnSending => "client went on sending",
            Self::StayedOpen => "not closed by the client after the last reply",
            Self::TlsFailed => "TLS failed",
            Self::TlsRefused => "TLS refused by the client",
            Self::Http2(error) => http2(error),
            Self::Idle => "idle for too long",
            Self::ServedAll => "all its requests served",
            Self::NoPart => "malformed word of a part",
            Self::PartRefused(PartRefusal::OtherNumber) => "part refused: other-number",
            Self::PartRefused(PartRefusal::OtherPlan) => "part refused: other-plan",
            Self::PartRefused(PartRefusal::Taken) => "part refused: taken",
            Self::PartRefused(PartRefusal::Unknown) => "part refused: unknown",
            Self::NotTaken => "could not be taken",
        }
    }
}

impl From<RequestError> for Ending {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Bad => Self::BadRequest,
            RequestError::TooLarge => Self::HeadTooLarge,
            RequestError::Coding => Self::TransferCoding,
        }
    }
}

impl From<&rustls::Error> for Ending {
    fn from(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::AlertReceived(_) => Self::TlsRefused,
            _ => Self::TlsFailed,
        }
    }
}

const fn http2(error: ConnectionError) -> &'static str {
    match error {
        ConnectionError::NoPreface => "HTTP/2: no preface",
        ConnectionError::FrameSize => "HTTP/2: frame size",
        ConnectionError::UnexpectedStream => "HTTP/2: unexpected stream",
        ConnectionError::Interleaved => "HTTP/2: interleaved header block",
        ConnectionError::Padding => "HTTP/2: padding",
        ConnectionError::Compression(_) => "HTTP/2: header compression",
        ConnectionError::HeaderListTooLarge => "HTTP/2: header list too large",
        ConnectionError::ContinuationFlood => "HTTP/2: flood of continuations",
        ConnectionError::FlowControl => "HTTP/2: flow control",
        ConnectionError::WindowTooLarge => "HTTP/2: window too large",
        ConnectionError::ZeroIncrement => "HTTP/2: window opened by 0",
        ConnectionError::Setting => "HTTP/2: setting out of range",
        ConnectionError::WindowSetting => "HTTP/2: setting of the window out of range",
        ConnectionError::PushPromise => "HTTP/2: push",
        ConnectionError::EmptyFrameFlood => "HTTP/2: flood of empty frames",
        ConnectionError::ControlFlood => "HTTP/2: flood of control frames",
        ConnectionError::ResetFlood => "HTTP/2: flood of resets",
        ConnectionError::StreamClosed => "HTTP/2: stream closed",
    }
}
