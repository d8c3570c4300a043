//! Traffic on the link in complete rounds, and whether the link was the limit.

use super::error::AnalyseError;
use super::series::Series;
use bakeoff_meter::{Histogram, LinkCounts, catalogue};
use bakeoff_results::{LinkResult, OneWay, Setup, Warning};

/// Share of its rate from which a link counts as full.
const FULL: f64 = 0.9;

/// Sums over all arms; none without a link.
pub(super) fn result(setup: &Setup, series: &Series) -> Result<Option<LinkResult>, AnalyseError> {
    let Some(made) = &setup.link else { return Ok(None) };
    let mut result = LinkResult { setup: made.clone(), ..LinkResult::default() };
    let mut delays = Histogram::new();
    for arm in &setup.arms {
        for (round, counters) in series.column(arm).counters.iter().enumerate() {
            let Some(link) = &counters.link else { continue };
            add(&mut result, link);
            let damaged = |why| AnalyseError::Histogram { round: round as u32, arm: arm.clone(), why };
            let own = Histogram::decode(link.delays.as_deref().unwrap_or_default()).map_err(damaged)?;
            delays.merge(&own);
        }
    }
    result.delays = (delays.count() > 0).then(|| one_way(&delays));
    Ok(Some(result))
}

fn add(result: &mut LinkResult, link: &LinkCounts) {
    result.packets += link.packets;
    result.lost += link.lost;
    result.overflowed += link.overflowed;
    if let Some(cpu) = link.line_cpu_ns {
        *result.line_cpu_ns.get_or_insert(0) += cpu;
    }
}

fn one_way(delays: &Histogram) -> OneWay {
    let at = |quantile| delays.quantile(quantile).get();
    OneWay { min_ns: at(0.0), median_ns: at(0.5), p99_ns: at(0.99), max_ns: at(1.0), count: delays.count() }
}

/// Arms whose slices filled the link.
pub(super) fn warnings(setup: &Setup, series: &Series) -> Vec<Warning> {
    let full = |arm: &String| {
        let mut shares: Vec<f64> =
            series.column(arm).counters.iter().filter_map(|counters| counters.link_busy()).collect();
        shares.sort_by(f64::total_cmp);
        let typical = shares.get(shares.len() / 2).copied().filter(|share| *share > FULL)?;
        Some(Warning { label: "link-full".to_owned(), sentence: sentence(arm, typical) })
    };
    setup.arms.iter().filter_map(full).collect()
}

fn sentence(arm: &str, busy: f64) -> String {
    format!(
        "{arm}: the link was {:.0} % busy ({}): replies per second and response times are the network's, not the \
         server's; a lower rate of requests or a faster link shows the server",
        busy * 100.0,
        catalogue::LINK_BUSY
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::series::{Depth, Table};
    use bakeoff_meter::SliceCounters;
    use bakeoff_results::{LinkSetup, SliceRecord};
    use bakeoff_units::Nanos;

    fn slice(round: u32, arm: &str, busy: f64, millis: u64) -> SliceRecord {
        let mut delays = Histogram::new();
        delays.record(Nanos::from_millis(millis));
        let link = LinkCounts {
            busy: Some(busy),
            packets: 10,
            lost: 1,
            overflowed: 0,
            delays: Some(delays.encode()),
            line_cpu_ns: Some(5),
        };
        let counters = SliceCounters { link: Some(link), ..SliceCounters::default() };
        SliceRecord { round, arm: arm.to_owned(), counters, ..SliceRecord::default() }
    }

    #[test]
    fn slices_add_up_and_a_full_link_is_named() {
        let setup = Setup {
            arms: vec!["a".into(), "b".into()],
            baseline: "a".into(),
            link: Some(LinkSetup { loss: 0.1, ..LinkSetup::default() }),
            ..Setup::default()
        };
        let slices: Vec<SliceRecord> =
            (0..3).flat_map(|round| [slice(round, "a", 0.95, 10), slice(round, "b", 0.5, 30)]).collect();
        let table = Table::read(&setup, &slices, Depth::Counters).unwrap();
        let series = table.main();
        let link = result(&setup, series).unwrap().unwrap();
        assert_eq!((link.packets, link.lost, link.line_cpu_ns), (60, 6, Some(30)));
        let delays = link.delays.unwrap();
        assert_eq!((delays.count, delays.min_ns / 1_000_000, delays.max_ns / 1_000_000), (6, 9, 30));
        let warnings = warnings(&setup, series);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].sentence.starts_with("a: the link was 95 % busy"), "{}", warnings[0].sentence);
    }
}
