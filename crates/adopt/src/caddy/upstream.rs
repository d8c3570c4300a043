//! Addresses behind the sites of a Caddyfile, and what is spoken there.
//!
//! Measuring side, cold, pure.

use super::lexer::Word;
use super::tree::{Placed, Statement, with_arguments};
use std::ops::Range;

/// Protocol behind the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Http,
    Https,
    FastCgi,
}

/// An address behind a site.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) one: &'a Statement,
    pub(super) span: Range<usize>,
    pub(super) address: String,
    pub(super) spoken: Spoken,
}

/// Addresses that a directive names, those of a matcher left out.
pub(super) fn addresses<'a>(placed: &Placed<'a>, by_transport: Option<Spoken>) -> Vec<Asked<'a>> {
    let one = placed.one;
    let is_matcher = |word: &str| word == "*" || word.starts_with(['/', '@']);
    let skipped = one
        .arguments()
        .first()
        .is_some_and(|word| is_matcher(&with_arguments(&word.text, &placed.arguments)));
    let words = one.arguments().iter().skip(usize::from(skipped));
    let of = |word: &Word| {
        let written = with_arguments(&word.text, &placed.arguments);
        let (scheme, address) = written.split_once("://").unwrap_or(("http", &written));
        let by_scheme = if scheme == "https" { Spoken::Https } else { Spoken::Http };
        Asked {
            one,
            span: word.span.clone(),
            address: address.to_owned(),
            spoken: by_transport.unwrap_or(by_scheme),
        }
    };
    words.map(of).collect()
}
