//! A bake-off beside the study that its plan names: each published rate, and what an entrant gave at the same share of its
//! own peak.
//!
//! Measuring side, cold, pure. Response times and rates are those of other products on other machines, and a scale lets
//! repeats come before an object is fetched: each row says which of the two keeps it from being comparable.

use crate::records::TrialVerdict;
use crate::results::{BakeoffResults, EntrantResults, Peak, Point};
use bakeoff_plan::study::{Figure, PublishedRow, PublishedTable, Study};
use bakeoff_results::{Standing, StudyRow};

/// Two shares of a peak that differ by less are the same.
const SAME_SHARE: f64 = 0.005;

/// A row a published figure of the first table that the study draws, an entrant and a figure of its own.
pub fn beside(results: &BakeoffResults, study: &Study) -> Vec<StudyRow> {
    let Some(curve) = study.curves.first() else { return Vec::new() };
    let table = curve.tables.first().and_then(|id| study.table(id));
    let Some((table, peak)) = table.and_then(|table| Some((table, table.highest(&curve.against)?))) else {
        return Vec::new();
    };
    let columns: Vec<&str> = study.curves.iter().map(|curve| curve.column.as_str()).collect();
    let entrants = results.entrants.iter().filter(|entrant| entrant.second_of.is_none());
    let mut rows = Vec::new();
    for entrant in entrants {
        let rows_of = Beside { scale: &results.scale, table, entrant };
        for row in &table.rows {
            let share = table.base(row, &curve.against).map(|rate| rate / peak);
            let Some(share) = share else { continue };
            rows.extend(rows_of.at_peak(row, &curve.against, share));
            rows.extend(rows_of.at(row, &columns, share));
        }
    }
    rows
}

/// An entrant's figure, in base units, with its interval.
struct Ours {
    figure: &'static str,
    meter: &'static str,
    value: f64,
    interval: Option<(f64, f64)>,
}

struct Beside<'r> {
    scale: &'r str,
    table: &'r PublishedTable,
    entrant: &'r EntrantResults,
}

impl Beside<'_> {
    /// The peak itself: between the highest rate that was sustained and the lowest above it that was not.
    fn at_peak(&self, row: &PublishedRow, column: &str, share: f64) -> Option<StudyRow> {
        let peak = self.entrant.peak.as_ref().filter(|_| share >= 1.0)?;
        let value = peak.rate_per_s?;
        let interval = not_sustained(peak, value).map(|above| (value, above));
        let ours = Ours { figure: "highest rate that is sustained", meter: "peak", value, interval };
        self.line(row, column, ours)
    }

    /// Its figures at this share of its peak, a column each, and hits of the endless cache on the same requests.
    fn at(&self, row: &PublishedRow, columns: &[&str], share: f64) -> Vec<StudyRow> {
        let peak = self.entrant.peak.as_ref().and_then(|peak| peak.rate_per_s);
        let is_here = |point: &&Point| {
            let own = point.rate_per_s.zip(peak).map(|(rate, peak)| rate / peak);
            own.is_some_and(|own| (own - share).abs() < SAME_SHARE)
        };
        let Some(point) = self.entrant.points.iter().find(is_here) else { return Vec::new() };
        let line = |column: &&str| -> Vec<StudyRow> {
            let unit = self.table.figure(row, column).map(|figure| figure.unit.label);
            let ours = match unit {
                Some("s") => vec![mean(point)],
                Some("%") => hits(point),
                _ => Vec::new(),
            };
            ours.into_iter().filter_map(|ours| self.line(row, column, ours)).collect()
        };
        columns.iter().flat_map(line).collect()
    }

    fn line(&self, row: &PublishedRow, column: &str, ours: Ours) -> Option<StudyRow> {
        let published = self.table.figure(row, column)?;
        let own = |base: f64| base / published.unit.scale;
        let (standing, said) = match self.reason(published) {
            None => ours.standing(published),
            Some(why) => (Standing::NotComparable, format!("not comparable: {why}")),
        };
        Some(StudyRow {
            table: self.table.title.clone(),
            row: row.name.clone(),
            column: column.to_owned(),
            statement: None,
            operation: None,
            population: None,
            published: published.in_words(),
            published_value: published.value,
            unit: published.unit.label.to_owned(),
            doubt: published.doubt.clone(),
            taken_from: None,
            arm: self.entrant.name.clone(),
            baseline: self.entrant.name.clone(),
            meter: ours.meter.to_owned(),
            figure: ours.figure.to_owned(),
            value: Some(own(ours.value)),
            low: ours.interval.map(|(low, _)| own(low)),
            high: ours.interval.map(|(_, high)| own(high)),
            standing,
            said,
        })
    }

    /// Why an entrant's figure is not comparable with this published one.
    fn reason(&self, published: &Figure) -> Option<String> {
        match published.unit.label {
            "%" if self.scale == "1" => None,
            "%" => Some(format!("at scale {} repeats come before an object is fetched", self.scale)),
            "s" => Some("another product on another machine, at the same share of its peak".to_owned()),
            _ => Some("another product on another machine".to_owned()),
        }
    }
}

impl Ours {
    fn standing(&self, published: &Figure) -> (Standing, String) {
        let published = published.base();
        let standing = match self.interval {
            Some((low, _)) if low > published => Standing::Higher,
            Some((_, high)) if high < published => Standing::Lower,
            Some(_) => Standing::Inside,
            None => {
                let why = "not comparable: this run's figure has no interval";
                return (Standing::NotComparable, why.to_owned());
            }
        };
        (standing, standing.in_words().to_owned())
    }
}

fn mean(point: &Point) -> Ours {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    let interval = point.mean_low_ns.zip(point.mean_high_ns);
    Ours {
        figure: "mean response time",
        meter: "response_mean",
        value: seconds(point.mean_ns),
        interval: interval.map(|(low, high)| (seconds(low), seconds(high))),
    }
}

/// The entrant's hits, and an endless cache's; none of who has no store.
fn hits(point: &Point) -> Vec<Ours> {
    let own = point.hit_ratio.map(|value| Ours {
        figure: "document hit ratio",
        meter: "hit_ratio",
        value,
        interval: point.hit_ratio_low.zip(point.hit_ratio_high),
    });
    let endless = point.achievable.as_ref().map(|best| Ours {
        figure: "hit ratio of an endless cache on the same requests",
        meter: "achievable",
        value: best.when_fetched.0,
        interval: None,
    });
    own.into_iter().chain(endless).collect()
}

/// The lowest rate above this one that was tried and not sustained.
fn not_sustained(peak: &Peak, rate: f64) -> Option<f64> {
    let tried = peak.trials.iter().chain(&peak.confirming);
    let is_above = |(tried, _, verdict): &&(f64, Option<u64>, TrialVerdict)| {
        use TrialVerdict::{PiledUp, RequestsFailed, TooSlow};
        *tried > rate && matches!(verdict, RequestsFailed | TooSlow | PiledUp)
    };
    tried.filter(is_above).map(|(tried, ..)| *tried).min_by(f64::total_cmp)
}
