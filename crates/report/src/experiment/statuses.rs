//! Statuses of replies, arm by arm, as one line beside the verdicts. Measuring side, cold, pure.

use crate::figures;
use crate::reading::Reading;
use bakeoff_results::ArmResult;
use std::cmp::Reverse;

/// Statuses of the replies, arm by arm: `Statuses: a, a' 200; b 200 97 %, 404 3 %.` `None` where no arm has any.
pub(super) fn statuses(reading: &Reading<'_>) -> Option<String> {
    let mut said: Vec<(Vec<&str>, String)> = Vec::new();
    for arm in reading.arms() {
        let own = statuses_of(reading.arm(arm)?);
        match said.iter_mut().find(|(_, other)| *other == own) {
            Some((arms, _)) => arms.push(arm),
            None if own.is_empty() => {}
            None => said.push((vec![arm], own)),
        }
    }
    let text = match said.as_slice() {
        [] => return None,
        [(_, all)] => format!("all arms {all}"),
        many => {
            many.iter().map(|(arms, own)| format!("{} {own}", arms.join(", "))).collect::<Vec<_>>().join("; ")
        }
    };
    Some(format!("Statuses: {text}."))
}

/// `200 97 %, 404 3 %`, the most frequent first; a status alone without its share.
fn statuses_of(arm: &ArmResult) -> String {
    const SHOWN: usize = 4;
    let all: u64 = arm.statuses.values().sum();
    let mut counts: Vec<_> = arm.statuses.iter().filter(|(_, count)| **count > 0).collect();
    if let [(status, _)] = counts[..] {
        return status.to_string();
    }
    counts.sort_by_key(|(_, count)| Reverse(**count));
    let share = |count: u64| match count as f64 / all as f64 {
        share if share < 0.001 => "below 0.1 %".to_owned(),
        share => figures::share((share * 1e3).round() / 1e3),
    };
    let shown = counts.iter().take(SHOWN).map(|(status, count)| format!("{status} {}", share(**count)));
    let more = (counts.len() > SHOWN).then(|| format!("{} more", counts.len() - SHOWN));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}
