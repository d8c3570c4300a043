//! How products did in the public HTTP cache suite: table and lines, for the terminal and the page alike.

use crate::caches::Table;
use crate::figures;
use bakeoff_caches::conformance::{Conformance, Conforms, Tally};

/// What the columns are.
pub(crate) const CAPTION: &str = "Required: passed, of the tests of what the standard asks of every cache; some of them \
    failed, and some cannot be judged, as what they begin with did not happen or what they build on did not pass. \
    Optimal: passed, of the tests of what makes a cache of more use. Checks: yes, of the questions after what caches \
    may do or leave";

/// Columns of figures behind the product.
pub(crate) const FIGURES: usize = 5;

/// A row a product.
pub(crate) fn table(conformance: &Conformance) -> Table {
    Table {
        head: vec!["product", "required", "failed", "unjudged", "optimal", "checks"],
        rows: conformance.products.iter().map(row).collect(),
    }
}

fn row(product: &Conforms) -> Vec<String> {
    let mut row = vec![named(product)];
    if product.failed.is_some() {
        row.extend(std::iter::repeat_n(figures::NONE.to_owned(), FIGURES));
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
pub(crate) fn named(product: &Conforms) -> String {
    let name = &product.name;
    match &product.version {
        Some(version) if version.split('/').next() == Some(name) => version.clone(),
        Some(version) => format!("{name} ({version})"),
        None => name.clone(),
    }
}

/// `103 of 146`
fn passed(tally: &Tally) -> String {
    format!("{} of {}", figures::count(tally.passed), figures::count(tally.all))
}

/// The suite, and when it was run.
pub(crate) fn source(conformance: &Conformance) -> String {
    format!("{}, {}", conformance.suite, conformance.started)
}

/// What must be known of the table: who has no figures, and who is not what the bake-off measured.
pub(crate) fn remarks(conformance: &Conformance) -> Vec<String> {
    let of_one = |product: &Conforms| -> Vec<String> {
        let failed = product.failed.iter().map(|why| format!("{}: no figures: {why}", product.name));
        let differs = product.differs.iter().map(|how| format!("{}: {how}", product.name));
        failed.chain(differs).collect()
    };
    conformance.products.iter().flat_map(of_one).collect()
}
