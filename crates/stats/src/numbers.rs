//! Numbers of one effect as text, with as many decimals as its interval deserves.

use crate::{Effect, Scale};

pub(crate) fn unit(scale: Scale) -> &'static str {
    match scale {
        Scale::LogRatio => "%",
        Scale::Difference => "points",
    }
}

/// Numbers of one effect, all with the same decimals, in percent or points.
pub(crate) struct Numbers<'a> {
    effect: &'a Effect,
    scale: Scale,
    digits: usize,
}

impl<'a> Numbers<'a> {
    pub(crate) fn of(effect: &'a Effect, scale: Scale) -> Numbers<'a> {
        let half_width = effect.interval.half_width() * 100.0;
        let mut digits = match half_width {
            w if w >= 9.5 || effect.effect.abs() >= 1.0 => 0,
            w if w >= 0.095 || w == 0.0 => 1,
            _ => 2,
        };
        // A bound clear of 0 must not be printed as 0.
        let hidden =
            |x: f64, digits: usize| x != 0.0 && (x * 100.0).abs() < 0.5 * 0.1_f64.powi(digits as i32);
        let clear = !effect.interval.contains(0.0);
        while clear
            && digits < 4
            && (hidden(effect.interval.low, digits) || hidden(effect.interval.high, digits))
        {
            digits += 1;
        }
        Numbers { effect, scale, digits }
    }

    pub(crate) fn plain(&self, fraction: f64) -> String {
        let text = format!("{:.*}", self.digits, fraction * 100.0);
        let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
        if is_zero { text.trim_start_matches('-').to_owned() } else { text }
    }

    fn signed(&self, fraction: f64) -> String {
        let text = self.plain(fraction);
        let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
        if fraction > 0.0 && !is_zero { format!("+{text}") } else { text }
    }

    pub(crate) fn with_unit(&self, fraction: f64) -> String {
        format!("{} {}", self.plain(fraction), unit(self.scale))
    }

    pub(crate) fn signed_range(&self) -> String {
        let interval = self.effect.interval;
        format!("{}..{}", self.signed(interval.low), self.signed(interval.high))
    }

    pub(crate) fn range_with_unit(&self) -> String {
        format!("{} {}", self.signed_range(), unit(self.scale))
    }
}
