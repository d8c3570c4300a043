//! Explanations: the deciding rule, and why, in sentences.
//!
//! Measured side, cold, pure. Asks the reference, so that explanation and enforcement agree.

use crate::reference::head::{Unread, head};
use crate::reference::{Flow, Fragment, PacketKind, PacketOutcome, Police, Reason, Syn, TcpSegment};
use crate::rules::table::{ConnectionClass, READ, Rate, Refuse, RuleAction, RuleId, StageRule, When};
use crate::rules::{Rules, not_plain};
use bakeoff_units::PerSecond;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A decision, with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedDecision {
    /// Whether it is refused at any rate.
    pub refused: bool,
    /// The sentence.
    pub reason: String,
}

/// Decision on a connection from `source` to `port`; without a destination rules with `to` do not apply.
pub fn connection(
    rules: &Rules,
    source: IpAddr,
    destination: Option<IpAddr>,
    port: u16,
) -> ExplainedDecision {
    // As servers for both families log IPv4.
    let source = source.to_canonical();
    let none: IpAddr =
        if source.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let flow = Flow { source, source_port: 0, destination: destination.unwrap_or(none), port };
    let table = &rules.table;
    let decision = Police::new(table).syn(0, &Syn { flow, fragment: Fragment::Whole, data: false });
    if decision.seen == PacketKind::Other {
        let ports: Vec<String> = table.ports.iter().map(u16::to_string).collect();
        let reason = format!("port {port} is none of [server] listen = {}", ports.join(", "));
        return ExplainedDecision { refused: false, reason };
    }
    if decision.refusal().is_some_and(|(reason, _)| reason == Reason::ClassPort) {
        let reason = format!(
            "port {port} is a class's, where the server listens for [server] listen; always refused by RST (counted as class-port)"
        );
        return ExplainedDecision { refused: true, reason };
    }
    let class = decision.class.and_then(|class| table.classes.get(usize::from(class)));
    let rule = decision.rule.and_then(|id| Some((id, table.rule(id)?)));
    let is_named = rule.is_some_and(|(_, rule)| rule.class.is_some());
    let class = class.map(|class| steered(class, !is_named)).unwrap_or_default();
    let reason = match rule {
        Some((id, rule)) => {
            let held = table.sources.iter().find(|source| source.rule == id);
            let prefix = held.map(|held| held.prefix.to_string()).unwrap_or_default();
            let to = held.and_then(|held| held.to).map(|to| format!(", to {to}")).unwrap_or_default();
            let others =
                table.sources.iter().filter(|other| other.rule != id && other.prefix.holds(source)).count();
            let longest = if others > 0 { ", the longest that holds" } else { "" };
            let done = done(rules, rule);
            format!("{source} is in {prefix}{to}{longest} ({}:{}){class}; {done}", rules.file, rule.line)
        }
        None => {
            let queued = queued(rules, !class.is_empty());
            format!("no [[from]] holds for {source}{class}; passes at any rate{queued}")
        }
    };
    ExplainedDecision { refused: decision.outcome != PacketOutcome::Pass, reason }
}

/// Decision on a request by its head, or by the first line of one.
pub fn request(rules: &Rules, text: &str) -> ExplainedDecision {
    let whole = if text.contains("\r\n") { text.to_owned() } else { format!("{text}\r\nHost: x\r\n\r\n") };
    let table = &rules.table;
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let port = table.ports.first().copied().unwrap_or(0);
    let flow = Flow { source: any, source_port: 0, destination: any, port };
    let segment = TcpSegment { flow, sequence: 0, payload: whole.as_bytes(), next: Some(0) };
    let decision = Police::new(table).segment(0, &segment);
    let rule = decision.rule.and_then(|id| Some((id, table.rule(id)?)));
    let plain = head(whole.as_bytes()).plain;
    let what = match plain {
        Some(path) => format!("plain, path {}", String::from_utf8_lossy(path)),
        None => format!("odd: {}", odd(text)),
    };
    let reason = match rule {
        Some((id, rule)) if decision.seen == PacketKind::Plain => {
            let (how, line, done) = (matched(rules, id), rule.line, done(rules, rule));
            format!("{what}; {how} ({}:{line}); {done}", rules.file)
        }
        Some((_, rule)) => format!("{what}; [odd] ({}:{}); {}", rules.file, rule.line, done(rules, rule)),
        None if plain.is_some() => {
            format!("{what}; no [[request]] matches; passes at any rate")
        }
        None => format!("{what}; there is no [odd]; passes at any rate, and is counted"),
    };
    let unread = decision.unread.map(|kind| unread(rules, kind)).unwrap_or_default();
    ExplainedDecision { refused: decision.refusal().is_some(), reason: reason + &unread }
}

/// Decision on the connection of a request after which nothing is read.
fn unread(rules: &Rules, kind: Unread) -> String {
    let rule = rules.table.unread.and_then(|id| rules.table.rule(id));
    let done = match rule {
        Some(rule) => format!("[unread] ({}:{}); {}", rules.file, rule.line, done(rules, rule)),
        None => "there is no [unread]; passes at any rate".to_owned(),
    };
    format!("; its connection is not read from there on (counted as unread.{}); {done}", kind.name())
}

/// Reason why a head is not plain, as far as its first line tells.
fn odd(text: &str) -> String {
    let mut words = text.split(' ');
    let target = words.nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    match not_plain(path.as_bytes()) {
        Some(why) => format!("its path {why}"),
        None if text.lines().next().is_some_and(|line| line.len() + 2 > READ) => {
            format!("its first line is longer than the {READ} bytes that are read of it")
        }
        None => {
            "it is not METHOD /PATH HTTP/1.1 and one whole head in the first bytes of a segment".to_owned()
        }
    }
}

/// The matching pattern of a request rule, and why it was chosen.
fn matched(rules: &Rules, id: RuleId) -> String {
    let table = &rules.table;
    let lists = [
        (&table.exact, "is ", ""),
        (&table.prefixes, "no whole path matches, the longest beginning is ", "*"),
        (&table.contains, "no path and no beginning matches, the first part is *", "*"),
    ];
    let found = lists.into_iter().find_map(|(list, before, behind)| {
        let (path, _) = list.iter().find(|(_, rule)| *rule == id)?;
        Some(format!("{before}{}{behind}", String::from_utf8_lossy(path)))
    });
    found.unwrap_or_default()
}

fn steered(class: &ConnectionClass, unnamed: bool) -> String {
    let lowest = if unnamed { ", the lowest, as none is named" } else { "" };
    format!("; class {}{lowest}, at the server's port {}", class.name, class.port)
}

/// Action of a rule, and its action above its rate.
fn done(rules: &Rules, rule: &StageRule) -> String {
    let how = how(rule.refuse);
    let rates = match rule.action {
        RuleAction::Pass => "passes at any rate".to_owned(),
        RuleAction::Refuse => return format!("always refused {how} (counted as refused)"),
        RuleAction::Police(rate) => {
            let each =
                rule.per.map(|per| format!("each /{} passes up to {}, and all ", per.length, said(per.rate)));
            let (each, above) = match each {
                Some(each) => (each, "rate-per or rate"),
                None => ("passes ".to_owned(), "rate"),
            };
            let when = rules.table.overload.as_ref().filter(|overload| overload.when == When::Overload);
            let when = if when.is_some() { " while a queue is at its bound" } else { "" };
            format!("{each}up to {}; above{when} refused {how} (counted as {above})", said(rate))
        }
    };
    let class = rule.class.and_then(|class| rules.table.classes.get(usize::from(class)));
    let syn = rule.name.starts_with("from-");
    let judged =
        class.filter(|_| !syn).map(|class| format!("; judged as class {}", class.name)).unwrap_or_default();
    format!("{rates}{judged}{}", queued(rules, syn || class.is_some()))
}

/// Effect of queues, if they are bounded.
fn queued(rules: &Rules, classed: bool) -> &'static str {
    if rules.table.overload.is_some() && classed {
        ", and is refused while the queue of its class is at its bound (counted as queue)"
    } else {
        ""
    }
}

/// A rate in the form of the rules, with three digits: a second, a minute or an hour, whichever first has one whole.
pub fn rate_in_words(rate: Rate) -> String {
    let units = [(1.0, "/s"), (60.0, "/min"), (3600.0, "/h")];
    let whole = |unit: &(f64, &str)| rate.per_second() * unit.0 >= 0.999;
    let (seconds, unit) = units.into_iter().find(whole).unwrap_or(units[2]);
    let number = PerSecond::new(rate.per_second() * seconds).map(|rate| rate.to_string()).unwrap_or_default();
    number.trim_end_matches("/s").to_owned() + unit
}

fn said(rate: Rate) -> String {
    format!("{}, {} at once", rate_in_words(rate), rate.burst())
}

/// A way to refuse, in words.
const fn how(refuse: Refuse) -> &'static str {
    match refuse {
        Refuse::Drop => "in silence",
        Refuse::Reset => "by RST",
        Refuse::Status503 => "with 503",
        Refuse::Status429 => "with 429",
    }
}
