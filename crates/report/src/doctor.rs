//! Findings of `bakeoff doctor` about the machine.

use crate::document::{Page, Section, State};
use crate::words::upper_first;
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
    page.paragraph(&verdict, if spoilt == 0 { State::Fine } else { State::Invalid });
    for (level, heading) in
        [(Level::Spoils, "Spoils"), (Level::Note, "Worth knowing"), (Level::Ok, "As it should be")]
    {
        let entries: Vec<(&str, String)> = of(level).map(|finding| (finding.name, said(finding))).collect();
        if !entries.is_empty() {
            Section::new(heading).entries(entries).print(&mut page);
        }
    }
    page.finish()
}

/// Found, wanted, why, how.
fn said(finding: &Finding) -> String {
    match finding.level {
        Level::Ok => finding.found.clone(),
        _ => {
            format!(
                "{}; wanted: {}. {}. {}",
                finding.found,
                finding.wanted,
                upper_first(&finding.why),
                finding.how
            )
        }
    }
}
