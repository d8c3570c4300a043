//! What `bakeoff doctor` shows: findings about the machine, and what the network does.

use super::layout::{Page, Paint};
use bakeoff_experiment::environment::{Finding, Level};
use bakeoff_experiment::network::{Answer, Carrying, Likeness, Throughput};

/// Findings, the worst first, for a terminal of `width` columns.
pub fn doctor(findings: &[Finding], width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    let of = |level| findings.iter().filter(move |finding| finding.level == level);
    let spoilt = of(Level::Spoils).count();
    let verdict = match spoilt {
        0 => "Nothing here spoils measurements.".to_owned(),
        1 => "1 finding spoils measurements or limits load.".to_owned(),
        n => format!("{n} findings spoil measurements or limit load."),
    };
    page.paragraph(&verdict, if spoilt == 0 { Paint::Fine } else { Paint::Alarm });
    for (level, heading, paint) in [
        (Level::Spoils, "Spoils", Paint::Plain),
        (Level::Note, "Worth knowing", Paint::Plain),
        (Level::Ok, "As it should be", Paint::Plain),
    ] {
        let entries: Vec<(String, String, Paint)> =
            of(level).map(|finding| (finding.name.to_owned(), said(finding), paint)).collect();
        if !entries.is_empty() {
            page.heading(heading);
            page.definitions(&entries);
        }
    }
    page.finish()
}

/// Found, wanted, why, how.
fn said(finding: &Finding) -> String {
    match finding.level {
        Level::Ok => finding.found.clone(),
        _ => {
            format!("{}; wanted: {}. {}. {}", finding.found, finding.wanted, upper(&finding.why), finding.how)
        }
    }
}

fn upper(text: &str) -> String {
    crate::words::upper_first(text)
}

/// What the network between two hosts does.
pub fn network(answer: &Answer, load: Option<(&str, Carrying)>, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.title(&format!("the network to {}", answer.listener), "");
    let trips = answer.round_trips;
    let mut entries = vec![
        ("there", stream(answer.there)),
        ("back", stream(answer.back)),
        (
            "round trips",
            format!(
                "{:.0} a second, p50 {}, p99 {} ({} of them)",
                trips.per_second, trips.p50, trips.p99, trips.count
            ),
        ),
        ("connect", answer.connect.to_string()),
        ("looks like", Likeness::of(answer).in_words()),
    ];
    if let Some((load, carrying)) = load {
        let said = format!(
            "{load} needs {:.0} % of what came back: {}",
            carrying.share * 100.0,
            carrying.in_words()
        );
        entries.push(("load", said));
    }
    let entries: Vec<_> =
        entries.into_iter().map(|(name, said)| (name.to_owned(), said, Paint::Plain)).collect();
    page.definitions(&entries);
    page.finish()
}

fn stream(stream: Throughput) -> String {
    match stream.rate {
        Some(rate) => format!("{rate} ({} in {})", stream.bytes, stream.time),
        None => "too little came through".to_owned(),
    }
}
