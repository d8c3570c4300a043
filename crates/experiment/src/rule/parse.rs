//! A rule as it is typed: `[ARM:] FIGURE[.low|.high|.estimate] > 2%`, or `[ARM:] verdict = costs`.

use super::{Bound, End, Order, Rule, Test};
use crate::plan::suggestion;
use bakeoff_meter::{CATALOGUE, catalogue};
use bakeoff_stats::Verdict;
use bakeoff_units::Nanos;
use std::str::FromStr;

/// Why a rule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}`: {what}")]
pub struct RuleError {
    rule: String,
    what: String,
}

impl RuleError {
    pub(super) fn no_arm(rule: &str, arm: &str, known: &[&str]) -> Self {
        let what = format!("no arm `{arm}` is compared; {}", suggestion(arm, known));
        Self { rule: rule.to_owned(), what }
    }
}

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
    let (name, end) = end(figure);
    Ok(Test::Figure { meter: meter(name)?, end, order, bound: read_bound(bound.trim())? })
}

fn verdict(rest: &str) -> Result<Test, String> {
    let (equal, word) = match (rest.strip_prefix("!="), rest.strip_prefix('=')) {
        (Some(word), _) => (false, word),
        (_, Some(word)) => (true, word.strip_prefix('=').unwrap_or(word)),
        _ => return Err("a verdict is compared with `=` or `!=`".to_owned()),
    };
    let word = word.trim();
    let verdict = word.parse().map_err(|_| {
        let known: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect();
        format!("`{word}` is no verdict; {}", suggestion(word, &known))
    })?;
    Ok(Test::Verdict { equal, verdict })
}

/// The name, and which number of its interval.
fn end(figure: &str) -> (&str, End) {
    let named = [(".low", End::Low), (".high", End::High), (".estimate", End::Estimate)];
    named
        .iter()
        .find_map(|(suffix, end)| Some((figure.strip_suffix(suffix)?, *end)))
        .unwrap_or((figure, End::Careful))
}

fn meter(name: &str) -> Result<Option<&'static str>, String> {
    if name == "cost" {
        return Ok(None);
    }
    catalogue::find(name).map(|meter| Some(meter.name)).ok_or_else(|| {
        let known: Vec<&str> =
            ["cost", "verdict"].into_iter().chain(CATALOGUE.iter().map(|meter| meter.name)).collect();
        format!("`{name}` is no figure; {}", near(name, &known))
    })
}

/// The near miss, or where all of them stand: there are too many for a message.
fn near(name: &str, known: &[&str]) -> String {
    let said = suggestion(name, known);
    if said.starts_with("did you mean") {
        said
    } else {
        "`cost` is what the run's verdict stands on, and `bakeoff meters` lists the others".to_owned()
    }
}

/// With its unit: whether a bare 2 is 2 % or 200 % would be anybody's guess.
fn read_bound(bound: &str) -> Result<Bound, String> {
    let percent = bound.strip_suffix('%').map(str::trim).and_then(|number| number.parse::<f64>().ok());
    if let Some(number) = percent.filter(|number| number.is_finite()) {
        return Ok(Bound::Share(number / 100.0));
    }
    let points = bound.strip_suffix("points").or_else(|| bound.strip_suffix("point"));
    if let Some(number) =
        points.and_then(|number| number.trim().parse::<f64>().ok()).filter(|n| n.is_finite())
    {
        return Ok(Bound::Points(number / 100.0));
    }
    let (sign, size) = bound.strip_prefix('-').map_or((1.0, bound), |size| (-1.0, size.trim_start()));
    size.parse::<Nanos>().map(|time| Bound::Time(sign * time.get() as f64)).map_err(|_| {
        format!(
            "`{bound}` is no bound; give it in percent, such as `2%` or `-0.5%`, of a share in points, such as `-2 points`, \
             or as a time more, such as `1.5us`"
        )
    })
}
