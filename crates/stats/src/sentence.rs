//! Sentence form of a judgement.
//!
//! One line that stands behind the arm's name: the amount in the figure's own unit, the baseline, the share of its
//! figure, and the load, as both depend on it. It claims what the verdict allows and no more. `numbers` decides on the
//! decimals.

use std::cmp::Ordering;

use crate::judge::cleared;
use crate::numbers::{Amounts, change_in_words};
use crate::resolution::{Outlook, outlook, outlook_of_sign};
use crate::{Cost, Decision, Effect, Judgement, Margin, Verdict};

/// Facts that the judgement does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Wording<'a> {
    /// The name of the baseline.
    pub baseline: &'a str,
    /// The baseline's figure, in `unit`.
    pub of: f64,
    /// Unit of the figure as in the catalogue of meters: `ns`, `B`, `share`, ...
    pub unit: &'a str,
    /// The figure's noun: "CPU per request", "elapsed time".
    pub figure: &'a str,
    /// The load it was taken at: "6,400/s"; empty: there is none to name.
    pub load: &'a str,
    /// Time that the rounds took.
    pub seconds: f64,
    /// Length of one round, for the time that more of them would take.
    pub seconds_per_round: Option<f64>,
    /// Further figures that changed much.
    pub also: &'a [AlsoChanged],
}

/// A further figure that changed beside the one that is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlsoChanged {
    /// As a clause: "the median reply takes 21 ms in place of 0.9 ms".
    pub clause: String,
    /// Whether it changed for the worse.
    pub worse: bool,
}

/// The judgement as one line without a full stop, to stand behind the arm's name.
pub fn sentence(j: &Judgement, wording: &Wording<'_>) -> String {
    if j.verdict() == Some(Verdict::Invalid) {
        return format!("invalid: {}", j.invalid.as_deref().unwrap_or("no reason given"));
    }
    let Some(cost) = &j.cost else {
        let open = if j.verdict() == Some(Verdict::NoVerdict) { "no verdict" } else { "not resolved" };
        return format!("{open}: too few usable rounds{}", also(wording.also, None));
    };
    let words = Words { cost, margin: j.margin, wording };
    match j.decision {
        Decision::GoOn => format!("undecided: {}", words.amount_signed()),
        Decision::Final(Verdict::Costs) => words.claim(("costs", true), "more than"),
        Decision::Final(Verdict::Saves) => words.claim(("saves", false), "against"),
        Decision::Final(Verdict::NoCost) => words.margin("costs no more than the margin of"),
        Decision::Final(Verdict::NotWorse) => words.margin("is not worse by the margin of"),
        Decision::Final(Verdict::NoVerdict) => words.no_verdict(j.null.as_ref()),
        Decision::Final(_) => words.not_resolved(),
    }
}

/// `two equal a's differ by -0.03 us (-0.25..+0.19)`; where that could be all of the effect it says so.
pub fn floor_in_words(null: &Cost, effect: Option<&Cost>, wording: &Wording<'_>) -> String {
    let amounts = Amounts::of(&null.amount, wording.of, wording.unit);
    let told = format!(
        "two equal {}'s differ by {}{} ({})",
        wording.baseline,
        amounts.signed(null.amount.effect),
        amounts.unit(),
        amounts.range(null.amount.interval.low, null.amount.interval.high)
    );
    let reach = null.amount.interval.reach();
    let hides =
        effect.is_some_and(|cost| !cost.amount.interval.contains(0.0) && cost.amount.effect.abs() <= reach);
    if hides { format!("{told}: DOUBTFUL, as they may differ by as much as this") } else { told }
}

/// `, and the median reply takes 21 ms in place of 0.9 ms`; `but` where that goes another way than what stands before.
fn also(others: &[AlsoChanged], worse: Option<bool>) -> String {
    let mut before = worse;
    let mut said = String::new();
    for other in others {
        let word = if before == Some(other.worse) { "and" } else { "but" };
        said += &format!(", {word} {}", other.clause);
        before = Some(other.worse);
    }
    said
}

struct Words<'a> {
    cost: &'a Cost,
    margin: Margin,
    wording: &'a Wording<'a>,
}

impl Words<'_> {
    fn also(&self, worse: Option<bool>) -> String {
        also(self.wording.also, worse)
    }

    /// `costs 2.6 us CPU per request more than a (2.3..2.9): +7.8 % of a's 33.3 us at 6,400/s; 14 s, 14 rounds`
    fn claim(&self, (does, worse): (&str, bool), than: &str) -> String {
        let Wording { baseline, figure, .. } = *self.wording;
        let (amount, amounts) = (&self.cost.amount, self.amounts());
        let (low, high) = (amount.interval.low, amount.interval.high);
        let (nearer, farther) = if low.abs() <= high.abs() { (low, high) } else { (high, low) };
        let range = format!("{}..{}", amounts.plain(nearer), amounts.plain(farther));
        format!(
            "{does} {}{} {figure} {than} {baseline} ({range}){}: {}{}",
            amounts.plain(amount.effect),
            amounts.unit(),
            self.also(Some(worse)),
            self.share(),
            self.basis()
        )
    }

    fn margin(&self, claims: &str) -> String {
        format!(
            "{claims} {}{}: {}, {}{}",
            self.margin_in_words(),
            self.also(Some(false)),
            self.amount_signed(),
            self.share_range(),
            self.basis()
        )
    }

    fn no_verdict(&self, null: Option<&Cost>) -> String {
        let Some(null) = null else {
            return format!("no verdict{}: the two equal servers could not be compared", self.also(None));
        };
        format!(
            "no verdict{}: {}, and this is less than three times that: {}{}",
            self.also(None),
            floor_in_words(null, None, self.wording),
            self.amount_signed(),
            self.basis()
        )
    }

    /// Sentence for an unresolved effect. An interval that is clear of 0 says which of the two is dearer, whatever else
    /// it leaves open.
    fn not_resolved(&self) -> String {
        let judged = self.cost.on(self.margin);
        let side = judged.interval.side();
        let open = match side {
            Ordering::Greater => {
                format!("costs more than {}, how much is not resolved", self.wording.baseline)
            }
            Ordering::Less => format!("saves against {}, how much is not resolved", self.wording.baseline),
            Ordering::Equal => "not resolved".to_owned(),
        };
        let worse = Some(side).filter(|side| side.is_ne()).map(Ordering::is_gt);
        let (open, figures) = (format!("{open}{}", self.also(worse)), self.figures_of(side));
        let told = format!("{open}: {figures}{}", self.basis());
        let margin = format!("a margin of {}", self.margin_in_words());
        let amount = &self.cost.amount;
        let more = match (cleared(judged, self.margin.size()), amount.interval.side()) {
            (None, _) => outlook(judged, self.margin.size()).map(|outlook| self.outlook(&outlook, &margin)),
            (Some(_), Ordering::Equal) => {
                outlook_of_sign(amount).map(|outlook| self.outlook(&outlook, "how much"))
            }
            // Only another look is missing.
            (Some(_), _) => None,
        };
        told + &more.unwrap_or_default()
    }

    /// Amount and share with their intervals; where a side is claimed, without the one that leaves both open.
    fn figures_of(&self, side: Ordering) -> String {
        let claims = |effect: &Effect| side.is_eq() || effect.interval.side() == side;
        match (claims(&self.cost.amount), claims(&self.cost.share)) {
            (false, true) => self.share_range(),
            (true, false) => self.amount_signed(),
            _ => format!("{}, {}", self.amount_signed(), self.share_range()),
        }
    }

    /// `; 20 to 90 more rounds (1 to 5 min) would settle a margin of 1 %`
    fn outlook(&self, outlook: &Outlook, what: &str) -> String {
        let time = |rounds: u32| self.wording.seconds_per_round.map(|s| duration(s * f64::from(rounds)));
        match outlook.most {
            Some(most) => {
                let times = time(outlook.least).zip(time(most)).map(|(a, b)| format!(" ({a} to {b})"));
                let times = times.unwrap_or_default();
                format!("; {} to {most} more rounds{times} would settle {what}", outlook.least)
            }
            None => {
                let time = time(outlook.least).map(|a| format!(" ({a})")).unwrap_or_default();
                let least = outlook.least;
                let rounds = if least == 1 { "round" } else { "rounds" };
                format!(
                    "; at least {least} more {rounds}{time}, perhaps many times that, would settle {what}"
                )
            }
        }
    }

    fn amounts(&self) -> Amounts {
        Amounts::of(&self.cost.amount, self.wording.of, self.wording.unit)
    }

    /// `+0.03 us CPU per request (-0.06..+0.12)`
    fn amount_signed(&self) -> String {
        let (amount, amounts) = (&self.cost.amount, self.amounts());
        let unit = amounts.unit();
        format!(
            "{}{unit} {} ({})",
            amounts.signed(amount.effect),
            self.wording.figure,
            amounts.range(amount.interval.low, amount.interval.high)
        )
    }

    /// `+7.8 % of a's 33.3 us`, `3.4 times a's 33.3 us`
    fn share(&self) -> String {
        let words =
            change_in_words(self.cost.share.effect, ends(&self.cost.share).0, ends(&self.cost.share).1);
        match words.effect.strip_suffix(" x") {
            Some(times) => format!("{times} times {}", self.reference()),
            None => format!("{} of {}", words.effect, self.reference()),
        }
    }

    fn share_range(&self) -> String {
        let (low, high) = ends(&self.cost.share);
        let words = change_in_words(self.cost.share.effect, low, high);
        match words.interval.strip_suffix(" x") {
            Some(times) => format!("{times} times {}", self.reference()),
            None => format!("{} of {}", words.interval, self.reference()),
        }
    }

    /// `a's 33.3 us`
    fn reference(&self) -> String {
        let amounts = Amounts::of_figure(self.wording.of, self.wording.unit);
        format!("{}'s {}{}", self.wording.baseline, amounts.plain(self.wording.of), amounts.unit())
    }

    /// ` at 6,400/s; 14 s, 14 rounds`
    fn basis(&self) -> String {
        let Wording { load, seconds, .. } = *self.wording;
        let at = if load.is_empty() { String::new() } else { format!(" at {load}") };
        format!("{at}; {}, {} rounds", duration(seconds), self.cost.share.n)
    }

    /// The margin as it was set, without trailing zeros.
    fn margin_in_words(&self) -> String {
        match self.margin {
            Margin::Share(share) => format!("{} %", (share * 1e6).round() / 1e4),
            Margin::Amount(amount) => {
                let amounts = Amounts::of_figure(amount, self.wording.unit);
                let text = amounts.plain(amount);
                let short =
                    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
                format!("{short}{}", amounts.unit())
            }
        }
    }
}

const fn ends(e: &Effect) -> (f64, f64) {
    (e.interval.low, e.interval.high)
}

/// `3.9 s`, `12 min`, `1.5 h`
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} days", s / 86400.0),
    }
}
