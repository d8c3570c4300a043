//! Times and sizes that a scale leaves as in the published procedure, in words.
//!
//! Measuring side, cold, pure.

use crate::scale::TimeScale;
use bakeoff_units::{Bytes, Nanos};

/// Growth of a plan's working set, as far as a scale changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grows {
    /// With the time.
    WithTime,
    /// To this many objects.
    To(u64),
    /// Until the store was fed enough.
    WithTheFill,
}

/// A line each; nothing at full scale.
pub(crate) fn lines(scale: TimeScale, think_mean: Nanos, grows: Grows, store: Bytes) -> Vec<String> {
    if scale.get() >= 1.0 {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if think_mean > Nanos::ZERO {
        lines.push(format!(
            "the origin's think time stays {think_mean} in the mean: of what is asked for again, {:.0} times as large a \
             share as in the published procedure is asked for while its first fetch is under way, and cannot be a hit",
            1.0 / scale.get()
        ));
    }
    let fixed = format!("the store is {store}, whatever the scale");
    let evicts = "how soon it evicts depends on the rate and the time together";
    let (set, store) = match grows {
        Grows::WithTime => (
            format!(
                "the working set grows to {scale} of its published size at the same rate, since it grows with time"
            ),
            format!("{fixed}: {evicts}"),
        ),
        Grows::To(objects) => (
            format!("the working set grows to {objects} objects, whatever the scale"),
            format!("{fixed}: {evicts}"),
        ),
        Grows::WithTheFill => {
            ("what is measured ends when enough went into the store, whatever the scale".to_owned(), fixed)
        }
    };
    lines.extend([set, "no warm-up is shortened below 10 s".to_owned(), store]);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_full_scale_nothing_is_left_unscaled() {
        let (think, store) = (Nanos::from_secs(3), Bytes::new(1 << 26));
        assert!(lines(TimeScale::FULL, think, Grows::WithTime, store).is_empty());
        let sixtieth: TimeScale = "1/60".parse().unwrap();
        let left = lines(sixtieth, think, Grows::WithTime, store);
        assert!(left[0].contains("60 times") && left[1].contains("1/60") && left.len() == 4, "{left:?}");
        let left = lines(sixtieth, think, Grows::To(95_325), store);
        assert!(left[1].contains("95325 objects") && left.len() == 4, "{left:?}");
        // Robots without think time spoil no hits by it.
        let left = lines(sixtieth, Nanos::ZERO, Grows::WithTheFill, store);
        assert!(left[0].contains("enough went into the store") && left.len() == 3, "{left:?}");
    }
}
