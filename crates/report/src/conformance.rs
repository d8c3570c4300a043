//! The report of the public HTTP cache suite: how products did, and what they failed.

use crate::document::{Block, Card, Document, Entry, Head, Section, Shown, State, Table};
use crate::figures;
use crate::words;
use bakeoff_caches::conformance::{Conformance, Conforms, FailedTest, TestCounts};

/// What the columns are.
const CAPTION: &str = "Required: passed, of the tests of what the standard asks of every cache; some of them \
    failed, and some cannot be judged, as what they begin with did not happen or what they build on did not pass. \
    Optimal: passed, of the tests of what makes a cache of more use. Checks: yes, of the questions after what caches \
    may do or leave.";

/// Report of the suite: the table, and the required tests that failed. Its page belongs beside `conformance.json`.
pub fn conformance(found: &Conformance) -> Document {
    let title = format!("Conformance: {}", source(found));
    let head = Head {
        title: match &found.products[..] {
            [one] => format!("How well does {} follow the standard of HTTP caches?", one.name),
            _ => "How well do these products follow the standard of HTTP caches?".to_owned(),
        },
        extent: found.suite.clone(),
        started: words::moment(&found.started),
        figures: bakeoff_caches::conformance::FILE,
        ..Head::default()
    };
    let titled = Section::new("Figures").id("figures").nav("Figures").line("");
    let titled = titled.terminal(Block::Paragraph(title, State::Open));
    let mut sections = vec![
        Section::verdicts("Verdicts")
            .add(Block::Cards(found.products.iter().enumerate().map(card).collect())),
        figures(titled, found),
    ];
    sections.extend(failing(found).map(|product| {
        let tests = product.failed_tests.iter().map(|test| format!("{}: {}", test.id, test.name));
        let title = format!("{}: required tests that failed", product.name);
        Section::in_terminal(title).bullets(&tests.collect::<Vec<_>>())
    }));
    Document::new(head, sections)
}

/// As a section of a bake-off's report.
pub(crate) fn section(found: &Conformance) -> Section {
    figures(Section::new("Conformance").id("conformance").nav("Conformance").note(source(found)), found)
}

fn figures(section: Section, found: &Conformance) -> Section {
    let head = ["product", "required", "failed", "unjudged", "optimal", "checks"];
    let table = Table::new(head, found.products.iter().map(row));
    let section = section.table(table).note(CAPTION).bullets(&remarks(found));
    failing(found).map(failures).fold(section, Section::page)
}

fn failing(found: &Conformance) -> impl Iterator<Item = &Conforms> {
    found.products.iter().filter(|product| !product.failed_tests.is_empty())
}

fn failures(product: &Conforms) -> Block {
    let entry = |test: &FailedTest| {
        let said = test.said.as_ref().map_or_else(String::new, |said| format!(" ({said})"));
        Entry::new(test.id.as_str(), format!("{}{said}", test.name))
    };
    let tests = product.failed_tests.iter().map(entry).collect();
    Block::details(false, format!("Required tests that {} failed", product.name), [Block::Entries(tests)])
}

fn card((at, product): (usize, &Conforms)) -> Card {
    let required = &product.required;
    let (look, sentence) = match &product.failed {
        Some(why) => ((State::Invalid, "?", "no figures"), why.clone()),
        None => {
            let look = match required.failed {
                0 => (State::Fine, "=", "fails none"),
                _ => (State::Costs, "\u{2715}", "fails some"),
            };
            let (failed, unjudged) = (figures::count(required.failed), figures::count(required.not_judged()));
            let said = format!("passes {} tests of what the standard requires", passed(required));
            (look, format!("{said}; {failed} failed, {unjudged} cannot be judged"))
        }
    };
    let mut card = Card::new((&named(product), words::key(at)), look, &sentence);
    card.shown = Shown::Page;
    card
}

fn row(product: &Conforms) -> Vec<String> {
    let mut row = vec![named(product)];
    if product.failed.is_some() {
        row.extend([figures::NONE; 5].map(str::to_owned));
        return row;
    }
    row.extend([
        passed(&product.required),
        figures::count(product.required.failed),
        figures::count(product.required.not_judged()),
        passed(&product.optimal),
        passed(&product.check),
    ]);
    row
}

/// `squid/5.7`, or `squid-my (squid/5.7)` where the version does not begin with the name.
fn named(product: &Conforms) -> String {
    let name = &product.name;
    match &product.version {
        Some(version) if version.split('/').next() == Some(name) => version.clone(),
        Some(version) => format!("{name} ({version})"),
        None => name.clone(),
    }
}

/// `103 of 146`
fn passed(tally: &TestCounts) -> String {
    format!("{} of {}", figures::count(tally.passed), figures::count(tally.all))
}

/// The suite, and when it was run.
fn source(conformance: &Conformance) -> String {
    format!("{}, {}", conformance.suite, conformance.started)
}

/// What must be known of the table: who has no figures, and who is not what the bake-off measured.
fn remarks(conformance: &Conformance) -> Vec<String> {
    let of_one = |product: &Conforms| -> Vec<String> {
        let failed = product.failed.iter().map(|why| format!("{}: no figures: {why}", product.name));
        let differs = product.differs.iter().map(|how| format!("{}: {how}", product.name));
        failed.chain(differs).collect()
    };
    conformance.products.iter().flat_map(of_one).collect()
}
