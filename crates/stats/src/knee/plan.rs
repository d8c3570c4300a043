//! Plan of a peak search, and the trials it asks for.

use super::{Criteria, SearchOutcome};
use bakeoff_units::{Nanos, PerSecond};

/// Rates from this share of the guess on are tried, unless the plan says otherwise.
const FLOOR: f64 = 0.05;

/// The goal of a search, and its means.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPlan {
    /// An upper guess of the knee, from a closed loop.
    pub guess: PerSecond,
    /// No lower rate is tried for the bracket.
    pub lowest: PerSecond,
    /// No higher rate is tried at all.
    pub most: Option<PerSecond>,
    /// The criteria of a sustained rate.
    pub criteria: Criteria,
    /// The search ends when the 90 % interval is narrower than this share of the knee.
    pub precision: f64,
    /// The latest end of the search.
    pub budget: Budget,
    /// Length of the first trials.
    pub shortest: Nanos,
    /// Length of the last ones: it doubles as the interval halves.
    pub longest: Nanos,
    /// Length of the trial at 0.95 of the knee; none without.
    pub confirm: Option<Nanos>,
    /// Length of each trial of the curve; none without.
    pub curve: Option<Nanos>,
    /// Seed of the choice of lower rates that are mixed in.
    pub seed: u64,
}

impl SearchPlan {
    /// A search with the default lengths: 3 % precision, 3 to 24 s, 60 s of confirmation; from 5 % of
    /// the guess on.
    pub fn new(guess: PerSecond, criteria: Criteria, seed: u64) -> SearchPlan {
        SearchPlan {
            guess,
            lowest: times(guess, FLOOR),
            most: None,
            criteria,
            precision: 0.03,
            budget: Budget { trials: 60, time: Nanos::from_secs(900) },
            shortest: Nanos::from_secs(3),
            longest: Nanos::from_secs(24),
            confirm: Some(Nanos::from_secs(60)),
            curve: Some(Nanos::from_secs(5)),
            seed,
        }
    }
}

/// The latest end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Trials before confirmation and curve.
    pub trials: u32,
    /// Time of all trials, confirmation and curve included.
    pub time: Nanos,
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrialPurpose {
    /// Finding two rates between which the knee lies.
    Bracket,
    /// Learning most about the knee.
    Refine,
    /// Far below the knee, in between: does the server still do there what it did?
    Lower,
    /// Three of four: whether the lower end of the interval counts as passed.
    Support,
    /// A little above the interval: is it the rate that fails, or one bad point?
    Above,
    /// One long trial at 0.95 of the knee.
    Confirm,
    /// The curve from 11 to 110 % of the knee.
    Curve,
}

impl TrialPurpose {
    /// All, in the order of their declaration.
    pub const ALL: [TrialPurpose; 7] = [
        TrialPurpose::Bracket,
        TrialPurpose::Refine,
        TrialPurpose::Lower,
        TrialPurpose::Support,
        TrialPurpose::Above,
        TrialPurpose::Confirm,
        TrialPurpose::Curve,
    ];

    /// The purpose of that name.
    pub fn named(word: &str) -> Option<TrialPurpose> {
        TrialPurpose::ALL.into_iter().find(|purpose| purpose.as_str() == word)
    }

    /// The word in results and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            TrialPurpose::Bracket => "bracket",
            TrialPurpose::Refine => "refine",
            TrialPurpose::Lower => "lower",
            TrialPurpose::Support => "support",
            TrialPurpose::Above => "above",
            TrialPurpose::Confirm => "confirm",
            TrialPurpose::Curve => "curve",
        }
    }

    pub(crate) fn searches(self) -> bool {
        !matches!(self, TrialPurpose::Confirm | TrialPurpose::Curve)
    }
}

/// One trial: an open loop at a rate, for a time, after warm-up and from rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Requests due per second.
    pub rate: PerSecond,
    /// Its length.
    pub time: Nanos,
    /// Its purpose.
    pub purpose: TrialPurpose,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// Run this trial and report its observation.
    Trial(Trial),
    /// Nothing more.
    Done(SearchOutcome),
}

/// A share of a rate; a rate so small that its share is none stays.
pub(crate) fn times(rate: PerSecond, share: f64) -> PerSecond {
    PerSecond::new(rate.get() * share).unwrap_or(rate)
}
