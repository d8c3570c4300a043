//! Parser of rules: `[ARM:] FIGURE[.low|.high|.estimate][@LOAD] > 2%`, `[ARM:] METER > 20ms` or
//! `[ARM:] verdict = costs`.

use super::{Bound, End, Order, Rule, Test};
use bakeoff_meter::{CATALOGUE, Meter, Unit, catalogue};
use bakeoff_plan::suggestion;
use bakeoff_results::entrant::EntrantVerdict;
use bakeoff_stats::Verdict;
use bakeoff_units::{Bytes, BytesPerSecond, Nanos, PerSecond};
use std::str::FromStr;

/// Reasons why a rule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}`: {what}")]
pub struct RuleError {
    rule: String,
    what: String,
}

impl RuleError {
    pub(super) fn no_arm(rule: &str, arm: &str, known: &[&str], is_absolute: bool) -> Self {
        let what = if is_absolute { "measured" } else { "compared" };
        let what = format!("no arm `{arm}` is {what}; {}", suggestion(arm, known));
        Self { rule: rule.to_owned(), what }
    }

    pub(super) fn no_entrant(rule: &str, name: &str, known: &[&str]) -> Self {
        let what = format!("no `{name}` takes part; {}", suggestion(name, known));
        Self { rule: rule.to_owned(), what }
    }

    pub(super) fn only_for(rule: &str, whom: &str) -> Self {
        Self { rule: rule.to_owned(), what: format!("it is for {whom}") }
    }
}

/// Name of the number of faults and breaches of an entrant.
const FAULTS: &str = "faults";

/// All ways to compare, longer ones first.
const ORDERS: [(&str, Order); 4] =
    [(">=", Order::AtLeast), ("<=", Order::AtMost), (">", Order::Above), ("<", Order::Below)];

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let (arm, condition) = match text.split_once(':') {
            Some((arm, condition)) => (Some(arm.trim().to_owned()), condition.trim()),
            None => (None, text),
        };
        let test = test(condition).map_err(|what| RuleError { rule: text.to_owned(), what })?;
        Ok(Self { text: text.to_owned(), arm, test })
    }
}

fn test(condition: &str) -> Result<Test, String> {
    let at = condition.find(['<', '>', '=', '!']).ok_or_else(|| {
        "it compares nothing; write for example `cost > 2%` or `verdict = costs`".to_owned()
    })?;
    let (figure, rest) = (condition[..at].trim(), &condition[at..]);
    if figure == "verdict" {
        return verdict(rest);
    }
    let Some((order, bound)) =
        ORDERS.iter().find_map(|(sign, order)| Some((*order, rest.strip_prefix(sign)?)))
    else {
        return Err(format!("a figure is compared with `>`, `>=`, `<` or `<=`, not with `{rest}`"));
    };
    if figure == FAULTS {
        let bound = number(bound).ok_or_else(|| format!("`{}` is no number of faults", bound.trim()))?;
        return Ok(Test::Faults { order, bound });
    }
    let (figure, at) = match figure.split_once('@') {
        Some((figure, at)) => (figure.trim(), Some(at.trim())),
        None => (figure, None),
    };
    let (name, end) = end(figure);
    let meter = meter(name)?;
    if let (Some(at), Some(meter)) = (at, meter) {
        let name = meter.name;
        return Err(format!(
            "`@{at}` belongs to `cost`, which is measured at several loads; `{name}` is not"
        ));
    }
    let bound = read_bound(bound.trim(), meter)?;
    let at = at.map(str::to_owned);
    Ok(Test::Figure { meter: meter.map(|meter| meter.name), at, end, order, bound })
}

fn verdict(rest: &str) -> Result<Test, String> {
    let (equal, word) = match (rest.strip_prefix("!="), rest.strip_prefix('=')) {
        (Some(word), _) => (false, word),
        (_, Some(word)) => (true, word.strip_prefix('=').unwrap_or(word)),
        _ => return Err("a verdict is compared with `=` or `!=`".to_owned()),
    };
    let word = word.trim();
    if let Some(verdict) = EntrantVerdict::of(word) {
        return Ok(Test::Entrant { equal, verdict });
    }
    let verdict = word.parse().map_err(|_| {
        let known = Verdict::ALL.iter().map(|verdict| verdict.as_str());
        let known: Vec<&str> = known.chain(EntrantVerdict::ALL.map(EntrantVerdict::as_str)).collect();
        format!("`{word}` is no verdict; {}", suggestion(word, &known))
    })?;
    Ok(Test::Verdict { equal, verdict })
}

/// The name, and the number of its interval.
fn end(figure: &str) -> (&str, End) {
    let named = [(".low", End::Low), (".high", End::High), (".estimate", End::Estimate)];
    named
        .iter()
        .find_map(|(suffix, end)| Some((figure.strip_suffix(suffix)?, *end)))
        .unwrap_or((figure, End::Careful))
}

fn meter(name: &str) -> Result<Option<&'static Meter>, String> {
    if name == "cost" {
        return Ok(None);
    }
    catalogue::find(name).map(Some).ok_or_else(|| {
        let known: Vec<&str> =
            ["cost", "verdict", FAULTS].into_iter().chain(CATALOGUE.iter().map(|meter| meter.name)).collect();
        format!("`{name}` is no figure; {}", near(name, &known))
    })
}

/// The near miss, or the place where all are listed: there are too many for a message.
fn near(name: &str, known: &[&str]) -> String {
    let said = suggestion(name, known);
    if said.starts_with("did you mean") {
        said
    } else {
        "`cost` is what the run's verdict stands on, and `bakeoff meters` lists the others".to_owned()
    }
}

/// A bound, which needs its unit: a bare 2 could be 2 % or 200 %. For a named meter a bound without a sign is the
/// figure itself; `cost` is a change anyway.
fn read_bound(bound: &str, meter: Option<&Meter>) -> Result<Bound, String> {
    if let Some(number) = bound.strip_suffix('%').and_then(number) {
        return Ok(Bound::Share(number / 100.0));
    }
    if let Some(number) =
        bound.strip_suffix("points").or_else(|| bound.strip_suffix("point")).and_then(number)
    {
        return Ok(Bound::Points(number / 100.0));
    }
    let signed =
        [('-', -1.0), ('+', 1.0)].iter().find_map(|(c, sign)| Some((*sign, bound.strip_prefix(*c)?)));
    let found = match (signed, meter) {
        (None, Some(meter)) => absolute(meter.unit, bound).map(Bound::Is),
        _ => {
            let (sign, size) = signed.unwrap_or((1.0, bound));
            absolute(Unit::Nanoseconds, size.trim_start()).map(|ns| Bound::Time(sign * ns))
        }
    };
    found.ok_or_else(|| {
        let itself = meter.map_or_else(String::new, |meter| {
            format!("; {} itself is compared with {}", meter.name, example(meter.unit))
        });
        format!(
            "`{bound}` is no bound; give a change in percent, such as `2%` or `-0.5%`, of a share in points, such as `-2 points`, \
             or as a time more, such as `+1.5us`{itself}"
        )
    })
}

/// A figure in the unit of its meter.
fn absolute(unit: Unit, text: &str) -> Option<f64> {
    match unit {
        Unit::Nanoseconds => text.parse::<Nanos>().ok().map(|time| time.get() as f64),
        Unit::PerSecond => text.parse::<PerSecond>().ok().map(PerSecond::get),
        Unit::BytesPerSecond => text.parse::<BytesPerSecond>().ok().map(|speed| speed.get() as f64),
        Unit::Bytes => text.parse::<Bytes>().ok().map(|size| size.get() as f64),
        Unit::Count | Unit::Share => number(text),
    }
}

const fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "a time such as `20ms`",
        Unit::PerSecond => "a rate such as `1000/s`",
        Unit::BytesPerSecond => "a rate such as `10MB/s`",
        Unit::Bytes => "a size such as `200MB`",
        Unit::Count => "a number",
        Unit::Share => "a share from 0 to 1, such as `0.01`",
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}
