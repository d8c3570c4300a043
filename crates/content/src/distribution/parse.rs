//! The text form of distributions: names, values, units.
//!
//! Cold: once a plan. Values are digits with a point and a unit, so neither signs nor exponents nor
//! `inf`: no value is negative, and none is beyond an exabyte.

use super::{DistributionError, Shape};

/// The units in which a distribution's values may be typed.
pub(super) struct Dimension {
    /// The allowed values, as an error names them.
    allowed: &'static str,
    /// Name, factor, divisor. Two numbers, as 300 ms is 300 / 1000 and not quite 300 x 0.001.
    units: &'static [(&'static str, f64, f64)],
}

const KIB: f64 = 1024.0;
const HOUR: f64 = 3600.0;

pub(super) const BYTES: Dimension = Dimension {
    allowed: "a size such as 500B, 13KB or 0.5GB (units B KB MB GB TB, each 1024 of the one before)",
    units: &[
        ("B", 1.0, 1.0),
        ("KB", KIB, 1.0),
        ("KiB", KIB, 1.0),
        ("MB", KIB * KIB, 1.0),
        ("MiB", KIB * KIB, 1.0),
        ("GB", KIB * KIB * KIB, 1.0),
        ("GiB", KIB * KIB * KIB, 1.0),
        ("TB", KIB * KIB * KIB * KIB, 1.0),
        ("TiB", KIB * KIB * KIB * KIB, 1.0),
    ],
};

pub(super) const SECONDS: Dimension = Dimension {
    allowed: "a time such as 3s, 150ms or 0.5year (units msec ms sec s min hour hr day year)",
    units: &[
        ("msec", 1.0, 1000.0),
        ("ms", 1.0, 1000.0),
        ("sec", 1.0, 1.0),
        ("s", 1.0, 1.0),
        ("min", 60.0, 1.0),
        ("hour", HOUR, 1.0),
        ("hr", HOUR, 1.0),
        ("day", 24.0 * HOUR, 1.0),
        ("year", 365.25 * 24.0 * HOUR, 1.0),
    ],
};

pub(super) const COUNTS: Dimension =
    Dimension { allowed: "a plain number such as 13 or 0.5", units: &[("", 1.0, 1.0)] };

/// An exabyte, or an age of the universe and more: with values up to here no draw and no mean overflows.
const VALUE_AT_MOST: f64 = 1e18;

/// The distribution that `text` means.
pub(super) fn shape(text: &str, dimension: &Dimension) -> Result<Shape, DistributionError> {
    let no_form = || DistributionError::Form { typed: text.to_owned() };
    let (name, values) = text.split_once(':').ok_or_else(no_form)?;
    let texts: Vec<&str> = values.split(',').map(str::trim).collect();
    if name == "table" {
        return table(text, &texts, dimension);
    }
    if let ("zipf", [ranks]) = (name, &texts[..]) {
        return Ok(Shape::Zipf { ranks: whole(ranks)? });
    }
    let values = |n: usize| -> Result<Vec<f64>, DistributionError> {
        if texts.len() == n {
            texts.iter().map(|text| value(text, dimension)).collect()
        } else {
            Err(no_form())
        }
    };
    let refused = |rule| DistributionError::Rule { typed: text.to_owned(), rule };
    match name {
        "const" => Ok(Shape::Constant(values(1)?[0])),
        "exp" => Ok(Shape::Exponential { mean: values(1)?[0] }),
        "unif" => match values(2)?[..] {
            [low, high] if low <= high => Ok(Shape::Uniform { low, high }),
            _ => Err(refused("the first value must not be above the second")),
        },
        "norm" => values(2).map(|v| Shape::Normal { mean: v[0], deviation: v[1] }),
        "logn" => match values(2)?[..] {
            [mean, deviation] if deviation <= mean * 1e9 && mean > 0.0 => Ok(log_normal(mean, deviation)),
            _ => {
                Err(refused("the mean must be above zero, and the deviation below 1000000000 times as much"))
            }
        },
        _ => Err(no_form()),
    }
}

/// From mean m and deviation s of the values: the logarithms have the variance ln(1 + (s/m)^2) and the
/// mean ln m less half of it.
fn log_normal(mean: f64, deviation: f64) -> Shape {
    let variance = (deviation / mean).powi(2).ln_1p();
    Shape::LogNormal { mean, log_mean: mean.ln() - variance / 2.0, log_deviation: variance.sqrt() }
}

fn table(text: &str, rows: &[&str], dimension: &Dimension) -> Result<Shape, DistributionError> {
    let row = |row: &&str| {
        let (weight, of) = row.split_once('x').ok_or_else(|| DistributionError::Value {
            typed: (*row).to_owned(),
            allowed: "a weight, x, a value",
        })?;
        Ok((value(weight, &COUNTS)?, value(of, dimension)?))
    };
    let rows = rows.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let weight = rows.iter().map(|(weight, _)| weight).sum();
    if weight > 0.0 {
        Ok(Shape::Table { rows, weight })
    } else {
        Err(DistributionError::Rule { typed: text.to_owned(), rule: "one of the weights must be above zero" })
    }
}

/// A number and its unit. Zero needs none.
fn value(text: &str, dimension: &Dimension) -> Result<f64, DistributionError> {
    let refused = || DistributionError::Value { typed: text.to_owned(), allowed: dimension.allowed };
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| refused())?;
    let unit = text[end..].trim_start();
    if number == 0.0 && unit.is_empty() {
        return Ok(0.0);
    }
    let known = dimension.units.iter().find(|(name, ..)| *name == unit);
    let value = known.map(|(_, factor, divisor)| number * factor / divisor);
    value.filter(|value| *value <= VALUE_AT_MOST).ok_or_else(refused)
}

/// A whole number from 1 to 2^53, above which not every whole number is an `f64`.
fn whole(text: &str) -> Result<f64, DistributionError> {
    let number = text.parse().ok().filter(|n: &u64| (1..=1 << 53).contains(n));
    let refused = || DistributionError::Value { typed: text.to_owned(), allowed: "a whole number from 1 on" };
    number.map(|n| n as f64).ok_or_else(refused)
}
