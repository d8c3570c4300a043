//! Check of client settings, each the arm's own or the workload's: `tls_client`, `http2`, `keep_alive`,
//! `requests_per_connection`, `from` and `connect_timeout`.
//!
//! Names of TLS and ranges of addresses are checked by `loadgen`, which knows them.

use super::super::arm::is_asked_over_tls;
use super::super::file::{
    AskedSection, ClientSection, Http2Entry, Http2Section, RequestsSection, SourceSection, TlsClientSection,
    Words, WorkloadSection,
};
use super::super::{Arm, ArmKind, ClientPlan, Fresh};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_loadgen::{
    Alpn, ClientIdentity, LocalAddresses, Protocol, Reuse, Share, TlsOptions, TlsSetupError, Trust, Versions,
};
use bakeoff_subject::{FrontSpec, Spec};
use std::num::{NonZeroU16, NonZeroU64};
use std::ops::Range;

/// Form of a share, for messages.
const SHARES: &str = "such as \"60%\"; with \"0%\" every handshake is a full one";

/// `cert` of a client whose certificate the run makes.
const MADE: &str = "made";

impl Context<'_> {
    pub(super) fn client(
        &self,
        arm: &AskedSection,
        w: Option<&RequestsSection>,
        what: &ArmKind,
        (fronts, fresh): (&[FrontSpec], Fresh),
    ) -> Checked<ClientPlan> {
        let (ArmKind::Server(spec), Some(requests)) = (what, w) else { return Ok(ClientPlan::default()) };
        let w = &requests.client;
        let reuse = self.reuse(arm, requests, fresh)?;
        let (http2, from) = (arm.http2.as_ref().or(w.http2.as_ref()), arm.from.as_ref().or(w.from.as_ref()));
        let timeout = arm.connect_timeout.as_ref().or(w.connect_timeout.as_ref());
        let protocol = self.protocol(http2, &reuse)?;
        let (host, headers) = self.host_and_headers(arm.headers.as_ref().or(w.headers.as_ref()))?;
        let mut client = ClientPlan {
            protocol,
            reuse,
            from: self.local_addresses(from)?,
            connect_timeout: timeout.map(|key| self.read(key, "or take the line out")).transpose()?,
            host,
            headers,
            ..ClientPlan::default()
        };
        if let Some(other) = wrong_family(&client.from, spec) {
            let help = "servers that bakeoff starts listen on an IPv4 address; IPv6 goes with url = \"http://[::1]:8080\"";
            self.refuse(from, other, help)?;
        }
        let behind = http2.filter(|_| protocol != Protocol::Http1 && !fronts.is_empty());
        let what = "what stands before a server is asked over HTTP/1.1";
        self.refuse(behind, what, "take `http2` or `front` out")?;
        if !is_asked_over_tls(spec, fronts) {
            let help = "add tls = true; of a running server the url begins with https://";
            self.refuse(arm.tls_client.as_ref(), "`tls_client` is of TLS, and this arm does without", help)?;
            return Ok(client);
        }
        if let Some(section) = tls_section(arm, w) {
            self.tls_client(&section, &mut client)?;
        }
        if fresh == Fresh::Connection {
            self.only_full_handshakes(arm)?;
            client.resume = Some(Share::NONE);
        }
        if protocol != Protocol::Http1 {
            client.tls.alpn = vec![Alpn::H2];
        }
        client.tls.resume = client.resume.unwrap_or(Share::ALL);
        Ok(client)
    }

    /// A TLS setting for all arms must be of use to one.
    pub(super) fn some_arm_speaks_tls(&self, w: &WorkloadSection, arms: &[Arm]) -> Checked<()> {
        let spoken = arms.iter().any(Arm::is_asked_over_tls);
        let idle = w.requests().and_then(|w| w.client.tls_client.as_ref()).filter(|_| !spoken);
        self.refuse(idle, "`tls_client` is of TLS, and no arm speaks it", "add tls = true to an arm")
    }

    /// A connection has no more requests in flight than it carries.
    fn protocol(&self, entry: Option<&Spanned<Http2Entry>>, reuse: &Reuse) -> Checked<Protocol> {
        let Some(entry) = entry else { return Ok(Protocol::Http1) };
        let streams = match *entry.as_ref() {
            Http2Entry::Switch(false) => return Ok(Protocol::Http1),
            Http2Entry::Switch(true) => 1,
            Http2Entry::Table(Http2Section { streams }) => streams.unwrap_or(1),
        };
        let most = reuse.at_most().map_or(u16::MAX, |most| u16::try_from(most).unwrap_or(u16::MAX));
        match NonZeroU16::new(streams.min(most)) {
            Some(streams) => Ok(Protocol::Http2 { streams }),
            None => self.wrong(entry.span(), "`streams` must be 1 or more", "the default is 1"),
        }
    }

    /// An arm's `keep_alive` or `requests_per_connection` stands in place of both of the workload's.
    fn reuse(&self, arm: &AskedSection, requests: &RequestsSection, fresh: Fresh) -> Checked<Reuse> {
        let w = &requests.client;
        let of_workload = self.kept((w.keep_alive.as_ref(), w.requests_per_connection.as_ref()))?;
        let of_arm = self.kept((arm.keep_alive.as_ref(), arm.requests_per_connection.as_ref()))?;
        if fresh == Fresh::Connection {
            let what = "`fresh = \"connection\"` is a connection for each request";
            self.refuse(arm.requests_per_connection.as_ref(), what, "take one of both out")?;
            return Ok(Reuse::Never);
        }
        let default = Reuse::kept(!matches!(requests.source, SourceSection::Webstone));
        Ok(of_arm.or(of_workload).unwrap_or(default))
    }

    fn kept(&self, keys: (Option<&Spanned<bool>>, Option<&Spanned<u64>>)) -> Checked<Option<Reuse>> {
        let keep = keys.0.map(|keep| *keep.as_ref());
        let Some(most) = keys.1 else { return Ok(keep.map(Reuse::kept)) };
        let what = "`requests_per_connection` is of connections that stay, and keep_alive = false lets none";
        self.refuse(most.when(keep == Some(false)), what, "take one of both out")?;
        match NonZeroU64::new(*most.as_ref()) {
            Some(most) => Ok(Some(Reuse::UpTo(most))),
            None => self.wrong(most.span(), "this must be 1 or more", "keep_alive = true sets no bound"),
        }
    }

    fn local_addresses(&self, ranges: Option<&Spanned<Words>>) -> Checked<LocalAddresses> {
        let mut all = LocalAddresses::default();
        let Some(ranges) = ranges else { return Ok(all) };
        for range in ranges.as_ref().all() {
            match range.parse() {
                Ok(range) => all.add(&range),
                Err(why) => return self.said(ranges.span(), &why),
            }
        }
        Ok(all)
    }

    /// The TLS settings; the rule and the sentences are those of `bakeoff load`.
    fn tls_client(&self, section: &Spanned<TlsClientSection>, client: &mut ClientPlan) -> Checked<()> {
        let s = section.as_ref();
        let names = |words: &Option<Spanned<Words>>| {
            words.as_ref().map(|words| words.as_ref().all().to_vec()).unwrap_or_default()
        };
        let versions = match &s.version {
            None => Versions::default(),
            Some(text) => text.as_ref().parse().or_else(|why| self.said(text.span(), &why))?,
        };
        client.resume = s.resume.as_ref().map(|share| self.read(share, SHARES)).transpose()?;
        client.tls = TlsOptions::new(Trust::system())
            .versions(versions)
            .suites(names(&s.cipher))
            .groups(names(&s.group))
            .post_quantum(s.post_quantum.unwrap_or(true))
            .identity(self.identity(section)?);
        client.shows_made_certificate = s.cert.as_ref().is_some_and(|cert| cert.as_ref() == MADE);
        client.tls.check().or_else(|why| self.said(place(section, &why), &why))
    }

    fn identity(&self, section: &Spanned<TlsClientSection>) -> Checked<Option<ClientIdentity>> {
        let s = section.as_ref();
        match (&s.cert, &s.key) {
            (None, None) => Ok(None),
            (Some(cert), None) if cert.as_ref() == MADE => Ok(None),
            (Some(cert), Some(key)) if cert.as_ref() == MADE => {
                self.wrong(key.span(), "the certificate that is made comes with its key", "take `key` out")
            }
            (Some(cert), Some(key)) => Ok(Some(ClientIdentity {
                certificate: self.base.join(cert.as_ref()),
                key: self.base.join(key.as_ref()),
            })),
            (Some(cert), None) => self.wrong(cert.span(), "a certificate needs its key", "add `key`"),
            (None, Some(key)) => self.wrong(key.span(), "a key needs its certificate", "add `cert`"),
        }
    }

    fn only_full_handshakes(&self, arm: &AskedSection) -> Checked<()> {
        let resume = arm.tls_client.as_ref().and_then(|section| section.as_ref().resume.as_ref());
        let some = resume.filter(|share| share.as_ref().parse() != Ok(Share::NONE));
        let what = "`fresh = \"connection\"` is a full handshake for each request";
        let help = "take one of both out; keep_alive = false is a connection for each request, whatever its handshake";
        self.refuse(some, what, help)
    }

    /// A sentence with its remedy behind a semicolon, as all of ours.
    fn said<T>(&self, span: Range<usize>, why: &dyn std::fmt::Display) -> Checked<T> {
        let sentence = why.to_string();
        let (what, help) = sentence.split_once("; ").unwrap_or((&sentence, "see docs/plans.md"));
        self.wrong(span, what, help)
    }
}

/// No connection leads from IPv6 to IPv4, nor the other way. Names may be either.
fn wrong_family(from: &LocalAddresses, server: &Spec) -> Option<String> {
    let is_v6 = match server {
        Spec::Url { url, .. } => {
            let host = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
            if !host.starts_with(|first: char| first == '[' || first.is_ascii_digit()) {
                return None;
            }
            host.starts_with('[')
        }
        _ => false,
    };
    let (address, _) = from.ends().find(|(first, _)| first.is_ipv6() != is_v6)?;
    Some(format!(
        "connections `from` {address} cannot reach {}",
        if is_v6 { "an IPv6 address" } else { "an IPv4 address" }
    ))
}

/// The arm's over the workload's, key by key.
fn tls_section(arm: &AskedSection, w: &ClientSection) -> Option<Spanned<TlsClientSection>> {
    match (&w.tls_client, &arm.tls_client) {
        (Some(common), Some(own)) => {
            Some(Spanned::new(own.span(), common.as_ref().clone().under(own.as_ref())))
        }
        (common, own) => own.clone().or_else(|| common.clone()),
    }
}

/// The key that a TLS name came from.
fn place(section: &Spanned<TlsClientSection>, why: &TlsSetupError) -> Range<usize> {
    let s = section.as_ref();
    let key = match why {
        TlsSetupError::UnknownSuite { .. } | TlsSetupError::SuiteOfOtherVersion { .. } => &s.cipher,
        TlsSetupError::UnknownGroup { .. }
        | TlsSetupError::GroupOfOtherVersion { .. }
        | TlsSetupError::PostQuantumOff { .. } => &s.group,
        _ => &None,
    };
    key.as_ref().map_or_else(|| section.span(), Spanned::span)
}

#[cfg(test)]
mod tests;
