//! What `bakeoff doctor` shows: findings about the machine.

use super::layout::{Page, Paint};
use bakeoff_experiment::environment::{Finding, Level};

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
