//! Checked client settings of an arm: protocol, connections, TLS.

use bakeoff_loadgen::{LocalAddresses, Protocol, Reuse, Share, TlsOptions, Trust, Versions};
use bakeoff_units::Nanos;
use bakeoff_workload::replay::without_port;

/// The load generator's side of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientPlan {
    /// The TLS options. The trusted authority is known when the arm is started, and put in then.
    pub tls: TlsOptions,
    /// The client shows a certificate of the run's authority, which is made when the arms are started.
    pub shows_made_certificate: bool,
    /// Share of the handshakes that must resume an earlier session, if the plan gives one.
    pub resume: Option<Share>,
    /// The protocol.
    pub protocol: Protocol,
    /// Number of requests that a connection carries.
    pub reuse: Reuse,
    /// Local addresses of the connections; none leaves it to the kernel.
    pub from: LocalAddresses,
    /// A connection that does not stand after this long has failed; `None`: the request's time limit.
    pub connect_timeout: Option<Nanos>,
    /// The `Host` of each request that has none of its own, and the name in TLS; `None`: the server's address.
    pub host: Option<String>,
    /// Lines added to the head of each request, without line ends.
    pub headers: Vec<String>,
}

impl Default for ClientPlan {
    fn default() -> Self {
        Self {
            tls: TlsOptions::new(Trust::system()),
            shows_made_certificate: false,
            resume: None,
            protocol: Protocol::Http1,
            reuse: Reuse::Always,
            from: LocalAddresses::default(),
            connect_timeout: None,
            host: None,
            headers: Vec::new(),
        }
    }
}

impl ClientPlan {
    /// Concurrent connections for this number of robots in a closed loop: with HTTP/2 they share.
    pub const fn connections(&self, robots: usize) -> usize {
        robots.div_ceil(self.protocol.streams())
    }

    /// The name that a TLS handshake asks for, if it is not the server's address.
    pub fn name_in_tls(&self) -> Option<&str> {
        let host = self.host.as_deref()?;
        Some(&host[..without_port(host.as_bytes()).len()])
    }

    /// Requests in flight on a connection, with HTTP/2.
    pub const fn streams(&self) -> Option<u16> {
        match self.protocol {
            Protocol::Http1 => None,
            Protocol::Http2 { streams } => Some(streams.get()),
        }
    }

    /// Requests of a connection, if it does not stay as long as the server lets it.
    pub fn requests_per_connection(&self) -> Option<u64> {
        self.reuse.at_most()
    }

    /// In words, for reports; `tls`: the arm speaks it. Empty: the default.
    pub fn in_words(&self, tls: bool) -> String {
        let mut words = Vec::new();
        words.extend(self.streams().map(|streams| format!("HTTP/2, {streams} in flight on a connection")));
        match self.reuse.at_most() {
            Some(1) => words.push("a connection for each request".to_owned()),
            Some(most) => words.push(format!("{most} requests a connection at most")),
            None => {}
        }
        if self.from.count() > 0 {
            words.push(format!("from {} local addresses", self.from.count()));
        }
        words.extend(self.connect_timeout.map(|time| format!("connected within {time} or failed")));
        words.extend(self.host.iter().map(|host| format!("asked for as {host}")));
        words.extend(self.headers.iter().map(|line| format!("with {line}")));
        if tls {
            self.tls_in_words(&mut words);
        }
        words.join("; ")
    }

    fn tls_in_words(&self, words: &mut Vec<String>) {
        let tls = &self.tls;
        if tls.versions != Versions::Both {
            words.push(format!("{} alone", tls.versions.words()));
        }
        for names in [&tls.suites, &tls.groups].into_iter().filter(|names| !names.is_empty()) {
            words.push(format!("{} alone", names.join(", ")));
        }
        if !tls.post_quantum {
            words.push("no post-quantum group".to_owned());
        }
        if tls.identity.is_some() || self.shows_made_certificate {
            words.push("a certificate of the client's own".to_owned());
        }
        words.extend(self.resume.map(|share| format!("{share} of the handshakes resumed")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::{NonZeroU16, NonZeroU64};

    #[test]
    fn robots_share_connections_of_http2() {
        let streams = NonZeroU16::new(10).unwrap();
        let client = ClientPlan { protocol: Protocol::Http2 { streams }, ..ClientPlan::default() };
        assert_eq!([1, 10, 11, 64].map(|robots| client.connections(robots)), [1, 1, 2, 7]);
        assert_eq!(ClientPlan::default().connections(64), 64);
    }

    #[test]
    fn only_what_is_not_as_ever_is_said() {
        assert_eq!(ClientPlan::default().in_words(true), "");
        let options = TlsOptions::new(Trust::system());
        let client = ClientPlan {
            shows_made_certificate: true,
            tls: options.versions(Versions::Tls13).groups(["X25519"]).post_quantum(false),
            resume: Some("60%".parse().unwrap()),
            protocol: Protocol::Http2 { streams: NonZeroU16::MIN },
            reuse: Reuse::UpTo(NonZeroU64::new(100).unwrap()),
            from: "127.0.0.0/16".parse().unwrap(),
            connect_timeout: Some(Nanos::from_secs(1)),
            host: Some("shop.example".to_owned()),
            headers: vec!["Accept-Encoding: gzip".to_owned()],
        };
        assert_eq!(
            client.in_words(true),
            "HTTP/2, 1 in flight on a connection; 100 requests a connection at most; from 65534 local addresses; \
             connected within 1 s or failed; asked for as shop.example; with Accept-Encoding: gzip; TLS 1.3 alone; X25519 alone; no post-quantum group; \
             a certificate of the client's own; 60 % of the handshakes resumed"
        );
        assert!(!client.in_words(false).contains("TLS"));
    }
}
