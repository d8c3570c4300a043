//! Error classes of requests: the names that are counter labels, JSON keys and words of reports. Measuring side, data
//! alone.

/// Classes of requests that did not end in a good reply. The label is the JSON key and the word in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// The connection was refused by the peer's system.
    ConnectRefused,
    /// The connection was not made within the time limit.
    ConnectTimeout,
    /// Any other failure to connect (no route, no free port, no descriptor).
    ConnectFailed,
    /// The proxy was asked for a tunnel (CONNECT), and answered with another status than 2xx.
    TunnelRefused,
    /// The proxy's answer to CONNECT is no reply, or it closed before there was one.
    TunnelBroken,
    /// TLS: the certificate is for another name.
    TlsName,
    /// TLS: the certificate is not signed by a known authority.
    TlsUntrusted,
    /// TLS: any other failure of handshake or record layer.
    TlsFailed,
    /// Open loop: due, but every allowed connection was busy until the run ended.
    NotSent,
    /// The request could not be written.
    SendFailed,
    /// The connection was reset while a reply was due.
    Reset,
    /// The connection was closed before the first byte of a reply.
    ClosedEarly,
    /// The connection was closed inside a reply: fewer bytes than promised.
    Truncated,
    /// No complete reply within the time limit.
    Timeout,
    /// The bytes are no HTTP reply, or its head is too large.
    Malformed,
    /// The server does not speak HTTP/2, or over TLS does not agree to it.
    NoHttp2,
    /// HTTP/2: the server broke a rule of the connection.
    Protocol,
    /// HTTP/2: the server reset the stream.
    StreamReset,
    /// Unexpected bytes after the end of the reply.
    Surplus,
    /// 5xx.
    ServerError,
    /// 4xx, where any good reply would have been right.
    ClientError,
    /// Another status than the workload knows to be right.
    WrongStatus,
    /// A length other than that of the object asked for.
    WrongLength,
    /// Bytes other than those of the object asked for.
    WrongBody,
    /// In flight when the run was broken off, or when its end had waited long enough.
    CutOff,
}

impl ErrorClass {
    /// Every class, in the order of a request's life.
    pub const ALL: [Self; 25] = [
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectFailed,
        Self::TunnelRefused,
        Self::TunnelBroken,
        Self::TlsName,
        Self::TlsUntrusted,
        Self::TlsFailed,
        Self::NotSent,
        Self::SendFailed,
        Self::Reset,
        Self::ClosedEarly,
        Self::Truncated,
        Self::Timeout,
        Self::Malformed,
        Self::NoHttp2,
        Self::Protocol,
        Self::StreamReset,
        Self::Surplus,
        Self::ServerError,
        Self::ClientError,
        Self::WrongStatus,
        Self::WrongLength,
        Self::WrongBody,
        Self::CutOff,
    ];

    /// The label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect-refused",
            Self::ConnectTimeout => "connect-timeout",
            Self::ConnectFailed => "connect-failed",
            Self::TunnelRefused => "tunnel-refused",
            Self::TunnelBroken => "tunnel-broken",
            Self::TlsName => "tls-name-mismatch",
            Self::TlsUntrusted => "tls-untrusted",
            Self::TlsFailed => "tls-failed",
            Self::NotSent => "not-sent",
            Self::SendFailed => "send-failed",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed-early",
            Self::Truncated => "truncated",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed",
            Self::NoHttp2 => "no-http2",
            Self::Protocol => "protocol-error",
            Self::StreamReset => "stream-reset",
            Self::Surplus => "surplus",
            Self::ServerError => "server-error",
            Self::ClientError => "client-error",
            Self::WrongStatus => "wrong-status",
            Self::WrongLength => "wrong-length",
            Self::WrongBody => "wrong-body",
            Self::CutOff => "cut-off",
        }
    }

    /// Whether a server or a front may refuse requests in this way; a plan can then name it as refused. A whole reply
    /// is told by its status, wrong bytes are no refusal, and requests that were never sent or were cut off are of our
    /// own doing.
    pub const fn may_refuse(self) -> bool {
        match self {
            Self::ConnectRefused
            | Self::ConnectTimeout
            | Self::ConnectFailed
            | Self::TunnelRefused
            | Self::TunnelBroken
            | Self::TlsFailed
            | Self::SendFailed
            | Self::Reset
            | Self::ClosedEarly
            | Self::Truncated
            | Self::Timeout
            | Self::StreamReset => true,
            Self::TlsName
            | Self::TlsUntrusted
            | Self::NotSent
            | Self::Malformed
            | Self::NoHttp2
            | Self::Protocol
            | Self::Surplus
            | Self::ServerError
            | Self::ClientError
            | Self::WrongStatus
            | Self::WrongLength
            | Self::WrongBody
            | Self::CutOff => false,
        }
    }

    /// Advice to the user.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::ConnectRefused => "Is the server running, and on this port?",
            Self::ConnectTimeout | Self::Timeout => {
                "Is the server overloaded? A larger timeout, or fewer robots, may help."
            }
            Self::NotSent => {
                "The server cannot keep up with the rate on so many connections: lower the rate or allow more."
            }
            Self::ConnectFailed => {
                "Are there descriptors (ulimit -n) and local ports (net.ipv4.ip_local_port_range) left?"
            }
            Self::TunnelRefused => {
                "The proxy opens no tunnel to the server: does it know CONNECT, and may it be used for the server's port?"
            }
            Self::TunnelBroken => {
                "Is it an HTTP/1.1 proxy? If it closes connections, its error log may say why."
            }
            Self::TlsName => {
                "The certificate is for another name: use that name in the URL, or accept any certificate with insecure."
            }
            Self::TlsUntrusted => "Name the authority with cacert, or accept any certificate with insecure.",
            Self::TlsFailed => "Does the server speak TLS 1.2 or 1.3 on this port?",
            Self::SendFailed | Self::Reset | Self::ClosedEarly | Self::Truncated => {
                "The server closes connections: its error log may say why."
            }
            Self::Malformed | Self::Surplus => "Is it an HTTP/1.1 server, and not a TLS port?",
            Self::NoHttp2 => {
                "Is HTTP/2 switched on for this port? Over TLS the server must agree to it (ALPN h2)."
            }
            Self::Protocol => "The server, or what speaks on this port, does not keep to HTTP/2.",
            Self::StreamReset => "The server ends streams: its error log or its limits may say why.",
            Self::ServerError => "The server fails: its error log may say why.",
            Self::ClientError => {
                "Does the server have these paths? If the status is right, say so: expect = 404 in the workload, or --expect 404."
            }
            Self::WrongStatus | Self::WrongLength | Self::WrongBody => {
                "The workload's site lies at {root}, and its files must come as they are: does the configuration say so?"
            }
            Self::CutOff => "The run ended, or was broken off, before these had their replies.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_distinct() {
        let mut labels: Vec<_> = ErrorClass::ALL.iter().map(|class| class.as_str()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), ErrorClass::ALL.len());
    }
}
