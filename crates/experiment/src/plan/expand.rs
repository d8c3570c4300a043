//! Factors: from arms and levels to one arm for each combination.
//!
//! An arm is a template. For each cell the keys of its levels are put over the template's, and
//! `{factor}` in every text of the arm becomes the level. What comes out are arms as if they had
//! been typed one by one.

use super::file::{
    ArmSection, Extents, FactorLevel, Http2Entry, LimitsSection, OneOrMany, PlanFile, TlsClientSection,
    UrlEntry, Words,
};
use crate::plan::file::Spanned;
use std::collections::BTreeMap;
use std::ops::Range;

/// A factor, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels, the reference first.
    pub levels: Vec<String>,
    /// The levels as numbers, where all are.
    pub numbers: Option<Vec<f64>>,
}

/// One arm of the expanded plan.
#[derive(Clone)]
pub(super) struct Cell {
    pub(super) name: Spanned<String>,
    pub(super) template: String,
    /// Level of each factor.
    pub(super) levels: Vec<usize>,
    pub(super) values: BTreeMap<String, String>,
    pub(super) section: ArmSection,
}

/// The factors of a plan. More than one template makes `arm` a factor as well, the first one.
pub(super) fn factors(file: &PlanFile) -> Vec<Factor> {
    let typed = file.factors.iter().map(|(name, levels)| Factor {
        name: name.as_ref().clone(),
        levels: levels.iter().map(|level| level.as_ref().to_string()).collect(),
        numbers: levels
            .iter()
            .map(|level| match level.as_ref() {
                FactorLevel::Count(count) => Some(*count as f64),
                _ => None,
            })
            .collect(),
    });
    let templates = Factor {
        name: "arm".to_owned(),
        levels: file.arm.iter().map(|(name, _)| name.as_ref().clone()).collect(),
        numbers: None,
    };
    let several = !file.factors.is_empty() && file.arm.len() > 1;
    several.then_some(templates).into_iter().chain(typed).collect()
}

/// All arms: the templates themselves without factors, else one for each template and setting.
/// `settings`: level indices of the typed factors.
pub(super) fn cells(file: &PlanFile, factors: &[Factor], settings: &[Vec<usize>]) -> Vec<Cell> {
    let several = file.arm.len() > 1;
    let typed = &factors[factors.len() - file.factors.len()..];
    let mut cells = Vec::new();
    for (index, (name, section)) in file.arm.iter().enumerate() {
        if typed.is_empty() {
            cells.push(plain(name, section));
            continue;
        }
        for setting in settings {
            let values: BTreeMap<String, String> = typed
                .iter()
                .zip(setting)
                .map(|(factor, &level)| (factor.name.clone(), factor.levels[level].clone()))
                .collect();
            let mut section = section.clone();
            for (factor, &level) in typed.iter().zip(setting) {
                if let Some(over) = level_section(file, &factor.name, &factor.levels[level]) {
                    section = section.under(over);
                }
            }
            section.fill(&values);
            let template = several.then_some(index);
            cells.push(Cell {
                name: Spanned::new(
                    name.span(),
                    cell_name(several.then(|| name.as_ref().as_str()), typed, setting),
                ),
                template: name.as_ref().clone(),
                levels: template.into_iter().chain(setting.iter().copied()).collect(),
                values,
                section,
            });
        }
    }
    cells
}

fn plain(name: &Spanned<String>, section: &ArmSection) -> Cell {
    Cell {
        name: name.clone(),
        template: name.as_ref().clone(),
        levels: Vec::new(),
        values: BTreeMap::new(),
        section: section.clone(),
    }
}

fn level_section<'a>(file: &'a PlanFile, factor: &str, level: &str) -> Option<&'a ArmSection> {
    let levels = file.level.iter().find(|(name, _)| name.as_ref() == factor)?.1;
    levels.iter().find(|(name, _)| name.as_ref() == level).map(|(_, section)| section)
}

/// The name of an arm: its template's, where there are several, and its levels'.
fn cell_name(template: Option<&str>, factors: &[Factor], setting: &[usize]) -> String {
    let levels = setting_name(factors, setting);
    template.into_iter().chain([levels.as_str()]).collect::<Vec<_>>().join(".")
}

/// `http.active`; numbers and switches say whose they are: `http.rules-10`.
pub(super) fn setting_name(factors: &[Factor], setting: &[usize]) -> String {
    let part = |(factor, &level): (&Factor, &usize)| {
        let text = &factor.levels[level];
        let bare = factor.numbers.is_none() && !matches!(text.as_str(), "true" | "false");
        if bare { text.clone() } else { format!("{}-{text}", factor.name) }
    };
    factors.iter().zip(setting).map(part).collect::<Vec<_>>().join(".")
}

/// Every combination of levels, the reference cell first.
pub(super) fn crossed(factors: &[Factor]) -> Vec<Vec<usize>> {
    factors.iter().fold(vec![Vec::new()], |settings, factor| {
        let longer = |setting: Vec<usize>| {
            (0..factor.levels.len()).map(move |level| setting.iter().copied().chain([level]).collect())
        };
        settings.into_iter().flat_map(longer).collect()
    })
}

/// Texts in which `{factor}` is replaced.
trait Fill {
    fn fill(&mut self, values: &BTreeMap<String, String>);
}

impl Fill for String {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        for (name, value) in values {
            let mark = format!("{{{name}}}");
            if self.contains(&mark) {
                *self = self.replace(&mark, value);
            }
        }
    }
}

impl<T: Fill> Fill for Option<T> {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        self.iter_mut().for_each(|inner| inner.fill(values));
    }
}

impl<T: Fill> Fill for Vec<T> {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        self.iter_mut().for_each(|inner| inner.fill(values));
    }
}

impl<T: Fill> Fill for Spanned<T> {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        self.get_mut().fill(values);
    }
}

impl Fill for BTreeMap<String, String> {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        self.values_mut().for_each(|inner| inner.fill(values));
    }
}

impl Fill for OneOrMany {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        match self {
            Self::One(argv) => argv.fill(values),
            Self::Many(list) => list.fill(values),
        }
    }
}

impl Fill for UrlEntry {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        match self {
            Self::Path(path) => path.fill(values),
            Self::Weighted(weighted) => weighted.path.fill(values),
        }
    }
}

impl Fill for LimitsSection {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        [&mut self.memory, &mut self.read, &mut self.write].into_iter().for_each(|text| text.fill(values));
    }
}

impl Fill for Words {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        match self {
            Self::One(word) => word.fill(values),
            Self::Many(words) => words.fill(values),
        }
    }
}

impl Fill for TlsClientSection {
    fn fill(&mut self, values: &BTreeMap<String, String>) {
        let texts = [&mut self.version, &mut self.cert, &mut self.key, &mut self.resume];
        texts.into_iter().for_each(|text| text.fill(values));
        [&mut self.cipher, &mut self.group].into_iter().for_each(|words| words.fill(values));
    }
}

macro_rules! no_text {
    ($($kind:ty),*) => { $(impl Fill for $kind { fn fill(&mut self, _: &BTreeMap<String, String>) {} })* };
}
no_text!(bool, u32, u64, Http2Entry, Extents<u64>);

/// A list of an arm or of a level.
type List<T> = Option<Spanned<Vec<T>>>;

/// Both lists, the arm's from the files up and then the level's.
fn on_top<T: Clone>(own: &List<T>, over: &List<T>) -> List<T> {
    one_after_the_other(own, over, over)
}

/// Both lists, the level's before the arm's: outermost first.
fn outside<T: Clone>(own: &List<T>, over: &List<T>) -> List<T> {
    one_after_the_other(over, own, over)
}

/// Where both are there, messages point at the level.
fn one_after_the_other<T: Clone>(first: &List<T>, then: &List<T>, over: &List<T>) -> List<T> {
    let span = over.as_ref().or(first.as_ref()).or(then.as_ref())?.span();
    let all = first.iter().chain(then).flat_map(|list| list.as_ref()).cloned().collect();
    Some(Spanned::new(span, all))
}

/// The level's keys over the arm's, so that two factors may each say something of TLS.
fn over_tls(
    own: Option<Spanned<TlsClientSection>>,
    over: Option<&Spanned<TlsClientSection>>,
) -> Option<Spanned<TlsClientSection>> {
    match (own, over) {
        (Some(own), Some(over)) => Some(Spanned::new(over.span(), own.into_inner().under(over.as_ref()))),
        (own, over) => over.cloned().or(own),
    }
}

/// One list of the fields, so that a new key of arms cannot be forgotten in one of the three.
macro_rules! each_key {
    ($($key:ident),*) => {
        impl ArmSection {
            /// These keys with those of a level put over them; its layers are put on top, its fronts and wraps outside, and what it
            /// asks of TLS goes over the arm's key by key.
            fn under(self, over: &Self) -> Self {
                let layers = on_top(&self.layers, &over.layers);
                let front = outside(&self.front, &over.front);
                let wraps = outside(&self.wraps, &over.wraps);
                let tls_client = over_tls(self.tls_client.clone(), over.tls_client.as_ref());
                Self { layers, front, wraps, tls_client, ..Self { $($key: over.$key.clone().or(self.$key)),* } }
            }

            fn fill(&mut self, values: &BTreeMap<String, String>) {
                $(self.$key.fill(values);)*
            }

            /// The first key that is there and not among `allowed`, and where it stands.
            pub(super) fn stranger(&self, allowed: &[&str]) -> Option<(&'static str, Range<usize>)> {
                let typed = [$((stringify!($key), self.$key.as_ref().map(Spanned::span))),*];
                let mut strangers = typed.into_iter().filter(|(key, _)| !allowed.contains(key));
                strangers.find_map(|(key, span)| Some((key, span?)))
            }
        }
    };
}
each_key!(
    server,
    config,
    directives,
    tls,
    command,
    wrap,
    wraps,
    env,
    ready,
    start_timeout,
    url,
    pid,
    cacert,
    insecure,
    burn,
    headers,
    urls,
    keep_alive,
    tls_client,
    http2,
    requests_per_connection,
    from,
    connect_timeout,
    slice_requests,
    fresh,
    first_use_of,
    limits,
    layers,
    front,
    proof,
    path,
    setup,
    prepare,
    drop,
    cleanup
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossing_takes_the_reference_first_and_every_combination_once() {
        let factor = |levels: &[&str]| Factor {
            name: "f".to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            numbers: None,
        };
        let all = crossed(&[factor(&["a", "b"]), factor(&["x", "y", "z"])]);
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(crossed(&[]), [[0; 0]]);
    }
}
