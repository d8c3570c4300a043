//! Sweeps as charts: a line for each setting of the other factors.

use super::sweep::{self, Setting, Sweep, Whose};
use crate::document::{Block, Cell, Drawing, Section};
use crate::plot::chart::{self, Scale, Series};
use crate::reading::Reading;
use crate::words;

/// Keys and charts of each sweep; nothing without one.
pub(super) fn section(reading: &Reading<'_>) -> Section {
    let mut section = Section::on_page("sweep", "Over a factor").nav("Over a factor");
    for sweep in sweep::all(reading) {
        let charts = charts(reading, &sweep);
        if charts.is_empty() {
            continue;
        }
        let keys = sweep.settings.iter().enumerate().filter(|(_, setting)| !setting.name.is_empty());
        let keys =
            keys.map(|(place, setting)| Cell::keyed(setting.name.as_str(), words::key(place))).collect();
        section = section.page(Block::Keys(keys)).page(Block::Charts(charts));
    }
    section.note("Dots without a filling are figures that must not be used.")
}

/// The primary figure, then rates and times, of each population where there are several.
fn charts(reading: &Reading<'_>, sweep: &Sweep<'_>) -> Vec<Drawing> {
    let mut found: Vec<Drawing> =
        chart(reading, sweep, Whose::All, reading.primary_meter(), Scale::Linear).into_iter().collect();
    let figures = [
        ("replies_per_second", Scale::Linear),
        ("refused_per_second", Scale::Linear),
        ("response_p99", Scale::Logarithmic),
    ];
    for whose in sweep::askers(reading) {
        found.extend(figures.iter().filter_map(|(meter, scale)| chart(reading, sweep, whose, meter, *scale)));
    }
    found
}

fn chart(
    reading: &Reading<'_>,
    sweep: &Sweep<'_>,
    whose: Whose,
    meter: &str,
    scale: Scale,
) -> Option<Drawing> {
    let line = |(place, setting): (usize, &Setting<'_>)| {
        let point = |(x, arm): &(f64, &str)| {
            Some((*x, sweep::figure(reading, whose, arm, meter)?, !reading.is_invalid(arm, meter)))
        };
        Series {
            key: words::key(place),
            label: if setting.name.is_empty() { sweep.factor.to_owned() } else { setting.name.clone() },
            dashed: false,
            name: None,
            points: setting.arms.iter().filter_map(point).collect(),
        }
    };
    let lines: Vec<Series> = sweep.settings.iter().enumerate().map(line).collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return None;
    }
    let noun = words::upper_first(words::noun(reading.kind(), meter));
    let of = sweep::population(reading, whose).map_or(String::new(), |name| format!(" of {name}"));
    let caption = format!("{noun}{of}, against {}", sweep.factor);
    chart::over(&caption, (reading.unit(meter), scale), &|x| sweep::place(sweep, x), &lines)
}
