//! The link in one line: asked and got.

use crate::figures;
use crate::reading::Reading;
use bakeoff_meter::catalogue::LINK_BUSY;
use bakeoff_results::LinkResult;
use bakeoff_units::{BitsPerSecond, Nanos};

/// Of a run with a link.
pub(crate) fn line(reading: &Reading<'_>) -> Option<String> {
    let link = reading.bundle.results.link.as_ref()?;
    let busy = reading.arms().filter_map(|arm| reading.figure(arm, LINK_BUSY)).fold(None, most);
    let parts = [
        Some(rate(link)),
        delay(link),
        loss(link),
        busy.map(|share| format!("up to {:.0} % busy", share * 100.0)),
        Some(link.setup.mechanism.clone()),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

fn most(so_far: Option<f64>, share: f64) -> Option<f64> {
    Some(so_far.map_or(share, |most| most.max(share)))
}

fn rate(link: &LinkResult) -> String {
    let rate = |bits| BitsPerSecond::new(bits).map_or(figures::NONE.to_owned(), |rate| rate.to_string());
    let (asked, carried) = (rate(link.setup.rate_bps), rate(link.setup.carried_bps));
    format!("{asked} asked, {carried} of TCP payload carried")
}

/// The run's own delays where they are known, else those of the probes before it.
fn delay(link: &LinkResult) -> Option<String> {
    let asked = Nanos::new(link.setup.delay_ns);
    let got = link.delays.unwrap_or(link.setup.probes);
    let time = |ns| Nanos::new(ns).to_string();
    (asked > Nanos::ZERO).then(|| {
        format!(
            "{asked} each way asked, {} got ({} to {}, 99 % within {})",
            time(got.median_ns),
            time(got.min_ns),
            time(got.max_ns),
            time(got.p99_ns)
        )
    })
}

fn loss(link: &LinkResult) -> Option<String> {
    let (lost, all) = (figures::count(link.lost), figures::count(link.packets));
    let got = if link.packets == 0 { 0.0 } else { link.lost as f64 / link.packets as f64 };
    (link.setup.loss > 0.0).then(|| {
        format!(
            "{} of the frames to be lost, {} lost ({lost} of {all})",
            figures::share(link.setup.loss),
            figures::share(got)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_results::{LinkSetup, OneWay};

    #[test]
    fn asked_and_got_stand_side_by_side() {
        let setup = LinkSetup {
            rate_bps: 100_000_000,
            carried_bps: 95_640_000,
            delay_ns: 10_000_000,
            probes: OneWay { median_ns: 10_100_000, ..OneWay::default() },
            loss: 0.001,
            mechanism: "tbf and netem on veth".to_owned(),
        };
        let delays = OneWay {
            min_ns: 10_000_000,
            median_ns: 10_070_000,
            p99_ns: 10_600_000,
            max_ns: 12_000_000,
            count: 9,
        };
        let mut link =
            LinkResult { setup, packets: 20_000, lost: 19, delays: Some(delays), ..LinkResult::default() };
        assert_eq!(rate(&link), "100 Mbit/s asked, 95.6 Mbit/s of TCP payload carried");
        let said = delay(&link).unwrap();
        assert_eq!(said, "10 ms each way asked, 10.1 ms got (10 ms to 12 ms, 99 % within 10.6 ms)");
        let said = loss(&link).unwrap();
        assert_eq!(said, "0.1 % of the frames to be lost, 0.1 % lost (19 of 20,000)");
        (link.setup.delay_ns, link.setup.loss) = (0, 0.0);
        assert_eq!((delay(&link), loss(&link)), (None, None));
    }
}
