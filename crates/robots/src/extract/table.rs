//! lx's two tables: histograms in rows of about one per cent, and errors.
//!
//! Cold, pure.

use bakeoff_meter::Histogram;

/// Rows of a histogram in milliseconds; none when nothing was counted. Bounds have six decimals, as our
/// buckets are narrower than lx's whole milliseconds.
pub(super) fn histogram(histogram: &Histogram) -> Vec<String> {
    let total = histogram.count();
    if total == 0 {
        return Vec::new();
    }
    let mut rows =
        vec![format!("# {:>3} {:>13} {:>13} {:>7} {:>5} {:>6}", "bin", "min", "max", "count", "%", "acc%")];
    let buckets = histogram.buckets();
    let (mut first, mut count, mut before) = (None, 0, 0);
    for (place, (edge_ns, more)) in buckets.iter().enumerate() {
        let first_ns = *first.get_or_insert(*edge_ns);
        count += more;
        let last = place + 1 == buckets.len();
        if last || count as f64 >= total as f64 / 100.0 {
            before += count;
            let percent = |part: u64| 100.0 * part as f64 / total as f64;
            rows.push(format!(
                "{:5} {:13.6} {:13.6} {:7} {:5.2} {:6.2}",
                rows.len(),
                first_ns as f64 / 1e6,
                *edge_ns as f64 / 1e6,
                count,
                percent(count),
                percent(before)
            ));
            (first, count) = (None, 0);
        }
    }
    rows
}

/// Rows of counts, the largest first.
pub(super) fn errors(mut counts: Vec<(u64, &str)>) -> Vec<String> {
    let total: u64 = counts.iter().map(|(count, _)| count).sum();
    counts.sort_by_key(|(count, name)| (std::cmp::Reverse(*count), *name));
    let row = |(count, name): &(u64, &str)| {
        format!("{count:7} {:6.2} \"{name}\"", 100.0 * *count as f64 / total.max(1) as f64)
    };
    counts.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_units::Nanos;

    #[test]
    fn rows_hold_a_hundredth_at_least_and_add_up() {
        let mut times = Histogram::new();
        assert!(histogram(&times).is_empty());
        (0..150).for_each(|_| times.record(Nanos::from_micros(500)));
        (1..=50).for_each(|ms| times.record(Nanos::from_millis(ms)));
        let rows = histogram(&times);
        assert_eq!(rows[0], "# bin           min           max   count     %   acc%");
        assert_eq!(rows.len(), 1 + 1 + 25, "two of the fifty make a hundredth");
        assert!(rows[1].ends_with(" 150 75.00  75.00"), "{}", rows[1]);
        assert!(rows[26].ends_with(" 2  1.00 100.00"), "{}", rows[26]);
        assert!(rows[1].starts_with("    1      0.5"), "{}", rows[1]);
    }

    #[test]
    fn errors_are_sorted_and_shared_out() {
        let rows = errors(vec![(1, "reset"), (3, "timeout")]);
        assert_eq!(rows, ["      3  75.00 \"timeout\"", "      1  25.00 \"reset\""]);
        assert!(errors(Vec::new()).is_empty());
    }
}
