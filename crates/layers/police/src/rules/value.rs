//! Parsers of typed values: prefixes, rates, bursts, paths, times.
//!
//! Measured side, pure. Each gives a value, or a fault with what to do.

use super::AddressPrefix;
use super::fault::RuleFaultKind;
use super::path::Pattern;
use super::table::{PATH_MAX, Rate};
use bakeoff_units::{Nanos, PerSecond};
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// A fault without its place.
pub(super) type Bad = (RuleFaultKind, String);

/// Sensible bursts; with the slowest rate a tolerance stays below 2^62 ns.
const BURSTS: RangeInclusive<i64> = 1..=1_000_000;
/// The fastest rate, and the shortest interval: 1 us.
const FASTEST: f64 = 1e6;
/// The slowest rate: one an hour.
const SLOWEST: f64 = 1.0 / 3600.0;

/// `10.0.0.0/8`, or an address for itself alone.
pub(super) fn prefix(text: &str) -> Result<AddressPrefix, Bad> {
    let shown = text.escape_debug();
    let bad = || {
        let help = "write an address and how many of its bits count, as 10.0.0.0/8 or 2001:db8::/32";
        (RuleFaultKind::NoPrefix, format!("`{shown}` is no prefix: {help}"))
    };
    let (address, length) =
        text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().map_err(|_| bad())?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let digits = |length: &&str| length.bytes().all(|byte| byte.is_ascii_digit());
    let length: u8 = match length {
        Some(length) => Some(length).filter(digits).and_then(|length| length.parse().ok()).ok_or_else(bad)?,
        None => bits,
    };
    let prefix = AddressPrefix::of(address, length).ok_or_else(bad)?;
    if let Some(v4) = mapped(prefix) {
        let help = "packets of IPv4 come as IPv4, whatever socket the server has";
        let said = format!("`{shown}` is an IPv4 prefix written as IPv6: {help}; write {v4}");
        return Err((RuleFaultKind::NoPrefix, said));
    }
    if prefix.address() != address {
        let said = format!(
            "`{shown}` has bits behind the first {length}: write {prefix}, or {address} for it alone"
        );
        return Err((RuleFaultKind::HostBits, said));
    }
    Ok(prefix)
}

fn mapped(prefix: AddressPrefix) -> Option<AddressPrefix> {
    let IpAddr::V6(v6) = prefix.address() else { return None };
    AddressPrefix::of(v6.to_ipv4_mapped()?.into(), prefix.length().checked_sub(96)?)
}

/// `300/s`.
pub(super) fn rate(text: &str) -> Result<PerSecond, Bad> {
    let shown = text.escape_debug();
    let help = "write one from 1/h to 1000000/s, such as 300/s or 20/min";
    match text.parse::<PerSecond>() {
        Ok(rate) if (SLOWEST..=FASTEST).contains(&rate.get()) => Ok(rate),
        Ok(_) => Err((RuleFaultKind::OutOfRange, format!("the rate `{shown}` is out of range: {help}"))),
        Err(_) => Err((RuleFaultKind::OutOfRange, format!("`{shown}` is no rate: {help}"))),
    }
}

/// A burst: number of arrivals at once.
pub(super) fn burst(number: i64) -> Result<u64, Bad> {
    let help = "write 1 to 1000000; 1 lets none come early";
    let good = u64::try_from(number).ok().filter(|_| BURSTS.contains(&number));
    good.ok_or_else(|| (RuleFaultKind::OutOfRange, format!("a burst of {number} is out of range: {help}")))
}

/// A rate and a burst in the form of a bucket. Default burst: the arrivals of a second, at least 1.
pub(super) fn compiled(rate: PerSecond, burst: Option<u64>) -> Rate {
    let interval_ns = (1e9 / rate.get()).round() as u64;
    let burst = burst.unwrap_or_else(|| (rate.get().ceil() as u64).max(1));
    Rate { interval_ns, tolerance_ns: (burst - 1) * interval_ns }
}

/// `/24`, within a source.
pub(super) fn per(text: &str, source: AddressPrefix) -> Result<u8, Bad> {
    let range = if source.address().is_ipv4() { 8..=32 } else { 16..=64 };
    let length = text.strip_prefix('/').and_then(|length| length.parse::<u8>().ok());
    match length {
        Some(length) if range.contains(&length) && length > source.length() => Ok(length),
        Some(length) if range.contains(&length) => {
            let said =
                format!("per = \"/{length}\" is no part of {source}: name a longer one, or leave per out");
            Err((RuleFaultKind::OutOfRange, said))
        }
        _ => {
            let (first, last) = range.into_inner();
            let (shown, family) = (text.escape_debug(), if last == 32 { "IPv4" } else { "IPv6" });
            let said = format!("per = \"{shown}\": write \"/{first}\" to \"/{last}\" for {family}");
            Err((RuleFaultKind::OutOfRange, said))
        }
    }
}

/// `20ms`.
pub(super) fn target(text: &str) -> Result<Nanos, Bad> {
    let help = "write one from 1ms to 10s, such as 20ms";
    let good = |target: &Nanos| (Nanos::from_millis(1)..=Nanos::from_secs(10)).contains(target);
    let bad = |what| (RuleFaultKind::OutOfRange, format!("`{}` is {what}: {help}", text.escape_debug()));
    let target: Nanos = text.parse().map_err(|_| bad("no time"))?;
    Some(target).filter(good).ok_or_else(|| bad("out of range"))
}

/// `/x`, `/x/*` or `*x*` that some plain path can match.
pub(super) fn pattern(text: &str) -> Result<Pattern, Bad> {
    let shown = text.escape_debug();
    let pattern = Pattern::of(text).ok_or_else(|| {
        let help = "write a whole path /x, what begins with one /x/*, or what holds a part *x*";
        (RuleFaultKind::Pattern, format!("`{shown}` has `*` where it cannot stand: {help}"))
    })?;
    if let Some(why) = pattern.never() {
        let help = match text.strip_prefix(['/', '*']) {
            Some(_) => "heads that do are odd: limit them in [odd]".to_owned(),
            None => format!("write /{shown}"),
        };
        let said = format!("`{shown}` {why}, so no plain head matches; {help}");
        return Err((RuleFaultKind::NeverMatches, said));
    }
    if pattern.bytes().len() > PATH_MAX {
        let length = pattern.bytes().len();
        let said =
            format!("`{shown}` has {length} bytes, and no more than {PATH_MAX} are read: write less of it");
        return Err((RuleFaultKind::NeverMatches, said));
    }
    Ok(pattern)
}
