//! Refusals: endings of a request that a plan expects, which are no failures.
//!
//! Measuring side, hot: looked at once for each reply, and only where something is named. A server that sheds load
//! answers 429 or 503, or resets. An ending that a plan names is counted by its name, is neither a good reply nor a
//! failure, and its time enters no histogram. Not to be confused with the refusals of planted violations, which a layer
//! must make.

use bakeoff_meter::{ErrorClass, RequestRefusal};
use bakeoff_workload::Statuses;

/// The endings that count as refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    statuses: Statuses,
    /// A bit for each class, by its place in [`ErrorClass::ALL`].
    classes: u32,
    any: bool,
}

impl Refusals {
    /// Replies with these statuses, and failures of these classes.
    pub fn of(statuses: &[u16], classes: &[ErrorClass]) -> Self {
        Self {
            statuses: Statuses::of(statuses),
            classes: classes.iter().fold(0, |bits, class| bits | 1 << *class as u32),
            any: !statuses.is_empty() || !classes.is_empty(),
        }
    }

    /// The union of both.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            statuses: self.statuses.and(&other.statuses),
            classes: self.classes | other.classes,
            any: self.any || other.any,
        }
    }

    /// Whether nothing is named.
    pub const fn is_empty(&self) -> bool {
        !self.any
    }

    /// The names under which refusals are counted.
    pub fn labels(&self) -> impl Iterator<Item = String> {
        let statuses = (400..600).filter(|status| self.has_status(*status)).map(RequestRefusal::Status);
        let classes =
            ErrorClass::ALL.into_iter().filter(|class| self.has_class(*class)).map(RequestRefusal::Class);
        statuses.chain(classes).map(RequestRefusal::label)
    }

    /// Whether replies with this status are refusals.
    pub fn has_status(&self, status: u16) -> bool {
        self.statuses.contains(status)
    }

    pub(crate) const fn has_class(&self, class: ErrorClass) -> bool {
        self.classes & 1 << class as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_refused_and_nothing_else() {
        let refusals = Refusals::of(&[429, 503], &[ErrorClass::Reset]);
        assert!(refusals.has_status(429) && refusals.has_status(503) && !refusals.has_status(500));
        assert!(refusals.has_class(ErrorClass::Reset) && !refusals.has_class(ErrorClass::CutOff));
        assert_eq!(refusals.labels().collect::<Vec<_>>(), ["429", "503", "reset"]);
        let none = Refusals::default();
        assert!(none.is_empty() && !none.has_status(429) && !none.has_class(ErrorClass::Reset));
        assert!(ErrorClass::ALL.len() <= 32, "a bit for each");
    }
}
