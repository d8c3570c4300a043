//! Stand-ins for the servers behind the sites of a Caddyfile.
//!
//! Measuring side, cold, pure. A stand-in's certificate is nobody's, so a directive that asks one over TLS goes into a
//! private file, which has the lines that this takes.

use super::rewrite::Rewriter;
use super::site::holds_directives;
use super::tree::{Placed, Statement};
use super::upstream::{Spoken, addresses};
use crate::error::Reason;

const NO_VERIFICATION: &str = "tls_insecure_skip_verify";

impl<'a> Rewriter<'a> {
    /// `reverse_proxy`, `php_fastcgi`, `forward_auth`.
    pub(super) fn proxy(&mut self, placed: &Placed<'a>, tls: bool) {
        let one = placed.one;
        if self.is_replaced(one) {
            return;
        }
        let inner = self.tree.flat(one.inner(), &placed.arguments);
        let transport = inner.iter().find(|inner| inner.one.name() == "transport");
        if let Some(dynamic) = inner.iter().find(|inner| inner.one.name() == "dynamic") {
            return self.refuse(dynamic.one, Reason::Leaves { directive: "dynamic".to_owned() });
        }
        let Some(by_transport) = self.spoken_by(one.name(), transport) else { return };
        let to = inner.iter().filter(|inner| inner.one.name() == "to");
        let mut asked = addresses(placed, by_transport);
        asked.extend(to.flat_map(|to| addresses(to, by_transport)));
        asked.retain(|asked| !self.setting.allows(&asked.address, asked.spoken == Spoken::Https));
        for asked in &asked {
            let stand_in = self.stand_in(asked);
            self.replace(asked.one, asked.span.clone(), stand_in);
        }
        let is_played = !asked.is_empty();
        for inner in &inner {
            match inner.one.name() {
                "root" => self.root(inner.one),
                // Stand-ins know the paths of the log alone.
                name if is_played && name.starts_with("health_") => self.take_out(inner.one),
                "transport" if is_played => self.transport(inner),
                name if name.starts_with('@') => self.roots(inner),
                name if holds_directives(name) => self.block(inner, tls),
                _ => {}
            }
        }
        if asked.iter().any(|asked| asked.spoken == Spoken::Https) {
            self.unverified(one, transport.map(|transport| transport.one));
        }
    }

    /// What its transport speaks. None: no stand-in does, and it is refused.
    fn spoken_by(&mut self, name: &str, transport: Option<&Placed<'a>>) -> Option<Option<Spoken>> {
        let Some(transport) = transport else {
            return Some((name == "php_fastcgi").then_some(Spoken::FastCgi));
        };
        let kind = transport.one.arguments().first().map_or("", |word| word.text.as_str());
        match kind {
            "fastcgi" => Some(Some(Spoken::FastCgi)),
            "http" => {
                let inner = self.tree.flat(transport.one.inner(), &transport.arguments);
                let is_tls = |name: &str| name == "tls" || name.starts_with("tls_");
                let has_tls = inner.iter().any(|inner| is_tls(inner.one.name()));
                Some(has_tls.then_some(Spoken::Https))
            }
            other => {
                self.refuse(transport.one, Reason::Plugin { directive: format!("transport {other}") });
                None
            }
        }
    }

    fn transport(&mut self, placed: &Placed<'a>) {
        const DROPPED: [&str; 8] = [
            "tls_client_auth",
            "tls_trusted_ca_certs",
            "tls_trust_pool",
            "resolvers",
            "proxy_protocol",
            "forward_proxy_url",
            "network_proxy",
            "local_address",
        ];
        for inner in self.tree.flat(placed.one.inner(), &placed.arguments) {
            match inner.one.name() {
                name if DROPPED.contains(&name) => self.take_out(inner.one),
                "versions"
                    if inner.one.arguments().iter().any(|word| ["h2c", "3"].contains(&&*word.text)) =>
                {
                    self.replace(inner.one, inner.one.span.clone(), "versions 1.1".to_owned());
                }
                _ => {}
            }
        }
    }

    /// Lets a directive ask a server whose certificate nobody knows. Its lines go into a private file.
    fn unverified(&mut self, one: &'a Statement, transport: Option<&'a Statement>) {
        let lines = format!(" {{\n\t{NO_VERIFICATION}\n}}");
        match (transport, &one.block) {
            (Some(transport), _) => match &transport.block {
                Some(block) => self.insert(transport.file, block.open, format!("\n\t{NO_VERIFICATION}")),
                None => self.insert(transport.file, transport.span.end, lines.clone()),
            },
            (None, Some(block)) => self.insert(one.file, block.open, format!("\ntransport http{lines}")),
            (None, None) => {}
        }
        let mut text = self.text_of(one.file, one.whole());
        if one.block.is_none() {
            text += &format!(" {{\ntransport http{lines}\n}}");
        }
        let name = format!("upstream-{}", self.private.len() + 1);
        let file = self.private_file(&name, text + "\n");
        self.replace(one, one.whole(), format!("import {file}"));
    }
}
