//! Effects, intervals, looks and verdicts as pure functions.
//!
//! Measuring side, cold path: runs between rounds and in the report, in any process. Owns the arithmetic from per-round
//! figures to a sentence. No I/O, no clock, no threads, no hidden state: randomness comes from a seed the caller gives,
//! so a results directory always yields the same report.
//!
//! The walk of a number: two figures of one round become a log ratio ([`log_ratios`]), the log
//! ratios an [`Effect`] ([`effect()`]; [`effect_of`] where processes are started more than once),
//! the effect at a planned look ([`LookPlan`]) a [`Judgement`] ([`judge`]), the judgement a line
//! for people ([`sentence`]). Of many arms, [`groups()`] says which are shown to be equal. Latencies
//! take the side door [`quantile_ratio`], and the search for the highest rate is a house of its own
//! ([`knee`]). tests/calibration runs the whole rule on invented noise and is how its error rates are
//! known; docs/method.md quotes it.
//!
//! Figures of many cells become effects of factors ([`contrasts`]), of a numeric factor a
//! [`price()`], of sessions a [`first_use()`] and a [`break_even`]; all of them end in [`Effect`]s.
//! Amounts at several loads become [`curves()`], each with a [`Trend`].
//! [`steady()`] stands before all that: whether a running server has settled.
//!
//! Everywhere a *fraction* is relative to the reference: 0.014 is 1.4 % more. Figures are
//! oriented by the caller so that more is worse.

#![forbid(unsafe_code)]

mod batches;
mod bootstrap;
mod components;
mod contradict;
mod contrast;
mod curve;
mod effect;
mod first_use;
mod groups;
mod interval;
mod judge;
pub mod knee;
mod looks;
mod numbers;
mod price;
mod quantile;
mod resolution;
mod restarts;
mod sentence;
mod signed_rank;
mod steady;
mod trimmed;
mod unpaired;
mod verdict;

pub use batches::{FEWEST_BATCHES, OfBatches, of_batches};
pub use bootstrap::Resampling;
pub use components::{ComponentPrice, CostRow, component_prices};
pub use contradict::{Contradiction, contradiction};
pub use contrast::{
    Contrast, Contrasts, DesignError, DesignLevel, FactorialDesign, NotEstimable, Square, Term, Together,
    contrasts,
};
pub use curve::{Curve, CurveQuestion, CurveRefusal, LoadContrast, Trend, UnknownTrend, curves};
pub use effect::{
    Effect, Proportion, Scale, difference_of_proportions, effect, log_ratio, log_ratios,
    proportion_differences, ratio_of_sums,
};
pub use first_use::{BreakEven, Crossing, FirstUse, Requests, SessionCosts, Which, break_even, first_use};
pub use groups::{groups, letters};
pub use interval::{Interval, Level};
pub use judge::{Cost, Judgement, Margin, Question, Rounds, judge, judge_null};
pub use looks::{LOOKS, LookPlan, level};
pub use numbers::{
    Amounts, FACTOR_FROM, InWords, change_in_words, decimals, per_second, points_in_words, signed,
};
pub use price::{BENT, LineFit, Price, PriceRefusal, price};
pub use quantile::{
    CountsByRound, Quantile, QuantileEffect, QuantileRefusal, SHIFT, quantile_ratio, shift_function,
};
pub use resolution::{Outlook, outlook, rounds_for, rounds_from_sd, rounds_to_settle, smallest_detectable};
pub use restarts::{Levels, STARTS_FOR_LUCK, effect_of, levels};
pub use sentence::{AlsoChanged, Wording, duration, floor_in_words, sentence};
pub use steady::{FEWEST_WINDOWS, SMALLEST_SHIFT, Segment, Shift, Steadiness, steady};
pub use unpaired::{Estimate, RunRounds, Unpaired, change_of_effect, change_of_figure, change_of_quantile};
pub use verdict::{Decision, UnknownVerdict, Verdict};
