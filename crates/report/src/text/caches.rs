//! The terminal's report of a bake-off.

use super::conformance;
use super::layout::{Page, Paint};
use super::study::show;
use crate::caches::{
    self, FAULTS, Table, costs, extent, faults, handshakes, hit_ratios, hits_and_misses, in_gzip, pages,
    performance, preparation, published,
};
use crate::downtime::{LOSSES, TIMES, losses, times};
use crate::passes::{PASSES, TWICE, baselines, noise, passes};
use crate::together::{TOGETHER, together};
use bakeoff_caches::records::End;
use bakeoff_caches::results::{Entrant, Results};

/// The report, lines of at most `width` columns.
pub fn caches_text(results: &Results, width: usize, colour: bool) -> String {
    let mut page = Page::new(width, colour);
    page.title(&format!("{}: {}", results.name, results.title), &extent(results));
    if results.ended != End::Complete {
        page.paragraph(&format!("PARTIAL RESULTS: {}.", results.ended), Paint::Alarm);
    }
    if let Some(flags) = caches::flags(results) {
        page.note(&format!("run with {flags}"));
    }
    let said: Vec<_> = results.entrants.iter().map(sentence).collect();
    page.definitions(&said);
    if let Some(all) = together(results) {
        page.heading("Side by side");
        table(&mut page, &all, all.head.len() - 1);
        page.note(TOGETHER);
    }
    for entrant in &results.entrants {
        one(&mut page, entrant);
    }
    twice(&mut page, results);
    if let Some(found) = &results.conformance {
        conformance::section(&mut page, found);
    }
    path(&mut page, results);
    beside(&mut page, results);
    notes(&mut page, "What the scale leaves as it is", &results.not_scaled);
    notes(&mut page, "Kept and modernised", &results.differs);
    notes(&mut page, "Warnings", &results.warnings);
    page.finish()
}

fn sentence(entrant: &Entrant) -> (String, String, Paint) {
    let paint = match (&entrant.failed, entrant.came_back(), entrant.passed_up_to_per_s) {
        (Some(_), ..) => Paint::Alarm,
        (None, Some(true), _) | (None, None, Some(_)) => Paint::Fine,
        (None, ..) => Paint::Open,
    };
    (entrant.name.clone(), entrant.sentence.clone(), paint)
}

fn one(page: &mut Page, entrant: &Entrant) {
    let direct = || entrant.is_direct().then(|| "the origin itself, without a cache".to_owned());
    match caches::version(entrant).or_else(direct) {
        Some(what) => page.heading(&format!("{} ({what})", entrant.name)),
        None => page.heading(&entrant.name),
    }
    for line in preparation(entrant) {
        page.note(&line);
    }
    for (said, downtime, figures) in [(TIMES, times(entrant), 8), (LOSSES, losses(entrant), 7)] {
        let Some(downtime) = downtime else { continue };
        page.note(said);
        table(page, &downtime, figures);
    }
    if !entrant.points.is_empty() {
        let performance = performance(entrant);
        table(page, &performance, performance.head.len() - 1);
        if let Some(passes) = passes(entrant) {
            page.note(PASSES);
            table(page, &passes, passes.head.len() - 1);
        }
        if let Some(ratios) = hit_ratios(entrant) {
            table(page, &ratios, 8);
        }
        if let Some(times) = hits_and_misses(entrant) {
            table(page, &times, 2);
        }
        if let Some(pages) = pages(entrant) {
            table(page, &pages, 7);
        }
        if let Some(gzip) = in_gzip(entrant) {
            table(page, &gzip, 3);
        }
        table(page, &costs(entrant), 5);
        if let Some(handshakes) = handshakes(entrant) {
            table(page, &handshakes, 6);
        }
    }
    let faults = faults(entrant);
    if !faults.rows.is_empty() {
        page.note(FAULTS);
        table(page, &faults, 2);
    }
}

/// The baseline beside itself.
fn twice(page: &mut Page, results: &Results) {
    let Some((baselines, noise)) = baselines(results).zip(noise(results)) else { return };
    page.heading("The baseline, twice");
    page.note(TWICE);
    page.note(&noise);
    table(page, &baselines, baselines.head.len() - 1);
}

fn table(page: &mut Page, table: &Table, figures: usize) {
    page.table(&table.head, &table.rows, figures);
}

fn path(page: &mut Page, results: &Results) {
    let Some(path) = &results.path else { return };
    page.heading("The way to the origin, without a cache and without think time");
    page.note(&caches::path(path));
}

/// What was published in 1999.
fn beside(page: &mut Page, results: &Results) {
    let Some(study) = published(results) else { return };
    page.heading("Published in 1999");
    for table in &study.tables {
        show(page, &study, table);
    }
    for missing in &study.missing {
        page.note(missing);
    }
}

fn notes(page: &mut Page, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.heading(heading);
    for line in lines {
        page.bullet(line);
    }
}
