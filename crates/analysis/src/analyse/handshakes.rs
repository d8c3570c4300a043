//! TLS session resumption: the offered share against the achieved one.

use super::series::Series;
use bakeoff_meter::{HandshakeCounts, SliceCounters};
use bakeoff_results::{Setup, Warning};
use bakeoff_units::Ratio;

/// Allowed difference of the achieved share from the one asked for, as a share of the handshakes.
const TOLERANCE: f64 = 0.02;

/// All handshakes of an arm.
pub(super) fn sum<'c>(counters: impl IntoIterator<Item = &'c SliceCounters>) -> Option<HandshakeCounts> {
    let mut all: Option<HandshakeCounts> = None;
    for made in counters.into_iter().filter_map(|counters| counters.handshakes.as_ref()) {
        all.get_or_insert_with(HandshakeCounts::default).add(made);
    }
    all
}

/// Reason why the figures of an arm are not those of the share that its plan asks for.
pub(super) fn off<'c>(
    setup: &Setup,
    arm: &str,
    counters: impl IntoIterator<Item = &'c SliceCounters> + Clone,
) -> Option<String> {
    let asked = asked(setup, arm)?;
    let made = sum(counters.clone())?;
    let achieved = made.resumed_share()?;
    // Each thread chooses connections by turns, so that a part of a slice may hold one more or fewer.
    let workers = setup.generator_threads() * setup.design.parts.max(1) as usize;
    let rounding = (counters.into_iter().count() * workers) as f64 / made.completed() as f64;
    let bound = TOLERANCE + rounding;
    if (achieved - asked).abs() <= bound {
        return None;
    }
    let share = |fraction: f64| Ratio::new(fraction).unwrap_or_default();
    let offered = made.offered_share().unwrap_or(0.0);
    let mut sentence = format!(
        "{} of its TLS handshakes went on with an earlier session, and the plan asks for {} (bound {}): there was a \
         session to offer in {}",
        share(achieved),
        share(asked),
        share(bound.min(1.0)),
        share(offered)
    );
    if let Some(accepted) = made.accepted_share() {
        sentence += &format!(", and the server went on with {} of those", share(accepted));
    }
    Some(sentence)
}

/// Shares that no slice could show.
pub(super) fn warnings(setup: &Setup, series: &Series) -> Vec<Warning> {
    setup.arms.iter().filter_map(|arm| unseen(setup, arm, &series.column(arm).counters)).collect()
}

/// A share that is asked of an arm and that nothing measured of it could show.
pub(super) fn unseen<'c>(
    setup: &Setup,
    arm: &str,
    counters: impl IntoIterator<Item = &'c SliceCounters>,
) -> Option<Warning> {
    asked(setup, arm)?;
    let mut counters = counters.into_iter().peekable();
    counters.peek()?;
    if sum(counters).is_some() {
        return None;
    }
    Some(Warning {
        label: "no-handshakes".to_owned(),
        sentence: format!(
            "{arm}: the plan says which share of TLS handshakes goes on with an earlier session, and there was no \
             handshake while it was measured: its connections stay; keep_alive = false or requests_per_connection \
             makes new ones"
        ),
    })
}

fn asked(setup: &Setup, arm: &str) -> Option<f64> {
    setup.subjects.get(arm)?.client.as_ref()?.resume
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_results::{ClientSetup, SubjectSetup};

    fn setup(resume: f64) -> Setup {
        let client = ClientSetup { resume: Some(resume), ..ClientSetup::default() };
        let subject = SubjectSetup { client: Some(client), ..SubjectSetup::default() };
        Setup { subjects: [("a".to_owned(), subject)].into(), ..Setup::default() }
    }

    fn slice(full: u64, resumed: u64, offered: u64) -> SliceCounters {
        let made = HandshakeCounts { full, resumed, offered, ..HandshakeCounts::default() };
        SliceCounters { handshakes: Some(made), ..SliceCounters::default() }
    }

    #[test]
    fn a_share_within_the_tolerance_is_as_asked() {
        let slices = [slice(400, 600, 600), slice(419, 581, 590)];
        assert_eq!(off(&setup(0.6), "a", &slices), None);
        assert_eq!(off(&setup(0.0), "b", &slices), None, "nothing was asked of it");
    }

    #[test]
    fn a_share_that_is_off_is_told_with_what_was_offered() {
        let slices = [slice(900, 100, 200), slice(900, 100, 200)];
        let said = off(&setup(0.6), "a", &slices).unwrap();
        assert_eq!(
            said,
            "10 % of its TLS handshakes went on with an earlier session, and the plan asks for 60 % (bound 2.1 %): \
             there was a session to offer in 20 %, and the server went on with 50 % of those"
        );
        assert!(off(&setup(0.0), "a", &[slice(0, 50, 50)]).is_some());
    }

    #[test]
    fn few_handshakes_are_judged_by_whole_numbers() {
        assert_eq!(off(&setup(0.5), "a", &[slice(1, 0, 0), slice(0, 1, 1)]), None);
        assert_eq!(off(&setup(1.0), "a", &[SliceCounters::default()]), None);
    }
}
