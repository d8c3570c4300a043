//! Groups of equal arms among many.
//!
//! Two arms belong together when they are *shown* to be equal: the interval of their ratio lies
//! inside the margin on both sides. That no difference was found is not enough. The relation is
//! not transitive: b can equal both a and c while a and c differ, so groups may overlap, and an
//! arm may stand in several.
//!
//! The groups are a cover: each is as large as it can be, and every two arms shown to be equal
//! share at least one. Where equal arms are neighbours in the order of their estimates, which is
//! the rule, these are all the maximal groups there are. Otherwise some that would add no pair may
//! be left out; listing all could take 3^(n/3) of them (Moon and Moser, Israel J. Math. 3, 1965),
//! while a cover of n arms has at most n(n - 1) / 2, whatever the intervals are. A display by
//! letters needs a cover and no more (Gramm and others, "Algorithms for compact letter displays",
//! Computational Statistics and Data Analysis 52, 2007).

use crate::Interval;

/// Groups of arms that are shown to be equal within `margin`, a fraction.
///
/// `estimates` holds the logarithm of each arm's figure. `pairwise(i, j)` gives the interval of arm i over arm j as a
/// fraction, as everywhere ([`Interval`]); it is called once per pair, i before j in the order of the estimates; `None`
/// where they could not be compared. Equal means that the logarithm of the whole interval lies inside (-ln(1 + margin),
/// ln(1 + margin)), so that it does not matter which of the two is divided by the other.
///
/// Arms in a group are in ascending order of their estimates (by index where those are the same),
/// groups in the order of their members. Every arm is in at least one group; an arm that equals no
/// other has one of its own.
pub fn groups(
    estimates: &[f64],
    pairwise: &dyn Fn(usize, usize) -> Option<Interval>,
    margin: f64,
) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..estimates.len()).collect();
    order.sort_by(|&i, &j| estimates[i].total_cmp(&estimates[j]));
    let equal = Equal::of(&order, pairwise, margin);
    let mut found = cover(&equal);
    found.sort();
    found.into_iter().map(|group| group.into_iter().map(|rank| order[rank]).collect()).collect()
}

/// A compact letter display: for each of `arms` arms the letters of its groups, that of the first
/// being `a`. Two arms with a common letter are shown to be equal. Behind `z` come `A` to `Z`, and
/// behind them numbers in brackets.
pub fn letters(groups: &[Vec<usize>], arms: usize) -> Vec<String> {
    let mut of_arm = vec![String::new(); arms];
    for (index, group) in groups.iter().enumerate() {
        for &arm in group {
            if let Some(text) = of_arm.get_mut(arm) {
                text.push_str(&letter(index));
            }
        }
    }
    of_arm
}

fn letter(index: usize) -> String {
    let letters = (b'a'..=b'z').chain(b'A'..=b'Z').map(char::from);
    letters.clone().nth(index).map_or_else(|| format!("({})", index + 1), String::from)
}

/// The pairs of ranks that are shown to be equal; symmetric.
struct Equal {
    ranks: usize,
    /// Row by row.
    pairs: Vec<bool>,
}

impl Equal {
    fn of(order: &[usize], pairwise: &dyn Fn(usize, usize) -> Option<Interval>, margin: f64) -> Equal {
        let (ranks, bound) = (order.len(), margin.ln_1p());
        let shown = |i: usize, j: usize| {
            let interval = pairwise(order[i], order[j])?;
            Some(interval.map(f64::ln_1p).inside(bound))
        };
        let mut pairs = vec![false; ranks * ranks];
        for i in 0..ranks {
            for j in i + 1..ranks {
                let equal = shown(i, j).unwrap_or(false);
                (pairs[i * ranks + j], pairs[j * ranks + i]) = (equal, equal);
            }
        }
        Equal { ranks, pairs }
    }

    fn holds(&self, i: usize, j: usize) -> bool {
        self.pairs[i * self.ranks + j]
    }

    /// The largest group with `i` and `j` that taking the others in their order leads to.
    fn grown(&self, i: usize, j: usize) -> Vec<usize> {
        let mut group = vec![i, j];
        for k in (0..self.ranks).filter(|&k| k != i && k != j) {
            if group.iter().all(|&member| self.holds(k, member)) {
                group.push(k);
            }
        }
        group.sort_unstable();
        group
    }
}

/// A group for every pair that no earlier group holds, then one for each rank that is in none.
fn cover(equal: &Equal) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    for i in 0..equal.ranks {
        for j in i + 1..equal.ranks {
            let together = |group: &Vec<usize>| group.contains(&i) && group.contains(&j);
            if equal.holds(i, j) && !found.iter().any(together) {
                found.push(equal.grown(i, j));
            }
        }
    }
    for rank in 0..equal.ranks {
        if !found.iter().any(|group| group.contains(&rank)) {
            found.push(vec![rank]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: f64 = 0.02;

    /// Arms with these figures, each pair known to within `half_width` on the log scale.
    fn grouped(figures: &[f64], half_width: f64) -> Vec<Vec<usize>> {
        let logs: Vec<f64> = figures.iter().map(|figure| figure.ln()).collect();
        let pairwise =
            |i: usize, j: usize| Some(Interval::around(logs[i] - logs[j], half_width).map(f64::exp_m1));
        groups(&logs, &pairwise, MARGIN)
    }

    /// Arms in the order of their index of which exactly these pairs are shown to be equal.
    fn joined(arms: u32, equal: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let estimates: Vec<f64> = (0..arms).map(f64::from).collect();
        let pairwise =
            |i: usize, j: usize| equal.contains(&(i, j)).then_some(Interval { low: 0.0, high: 0.0 });
        groups(&estimates, &pairwise, MARGIN)
    }

    #[test]
    fn a_chain_gives_two_groups_that_overlap() {
        // c equals b, b equals a, and c is 2.4 % above a.
        let got = grouped(&[1.024, 1.0, 1.012], 0.004);
        assert_eq!(got, [vec![1, 2], vec![2, 0]]);
        assert_eq!(letters(&got, 3), ["b", "a", "ab"]);
    }

    #[test]
    fn what_is_not_shown_to_be_equal_stands_alone() {
        // The same figures, but known to within 3 % only: nothing was found different.
        let got = grouped(&[1.01, 1.0, 1.005], 0.03);
        assert_eq!(got, [vec![1], vec![2], vec![0]]);
        assert_eq!(letters(&got, 3), ["c", "a", "b"]);
        assert_eq!(groups(&[0.0, 0.0], &|_, _| None, MARGIN), [vec![0], vec![1]]);
        assert_eq!(groups(&[], &|_, _| None, MARGIN), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn equal_arms_are_one_group() {
        assert_eq!(grouped(&[1.0, 1.001, 0.999, 1.0], 0.004), [vec![2, 0, 3, 1]]);
    }

    #[test]
    fn the_margin_is_the_same_in_both_directions_and_not_inside() {
        let pair =
            |low: f64, high: f64| groups(&[0.0, 0.0], &|_, _| Some(Interval { low, high }), MARGIN).len();
        // 1.02 and 1 / 1.02 = 1 - 0.0196.. are the same distance.
        assert_eq!(pair(-0.0196, 0.0199), 1);
        assert_eq!(pair(-0.0197, 0.0199), 2);
        assert_eq!(pair(-0.0196, 0.02), 2);
        assert_eq!(pair(-1.0, 0.0), 2);
        assert_eq!(pair(f64::NAN, 0.0), 2);
    }

    #[test]
    fn every_pair_is_asked_once_the_smaller_first() {
        let asked = std::cell::RefCell::new(Vec::new());
        let none = |i, j| {
            asked.borrow_mut().push((i, j));
            None
        };
        groups(&[0.3, 0.1, 0.2], &none, MARGIN);
        assert_eq!(asked.into_inner(), [(1, 2), (1, 0), (2, 0)]);
    }

    #[test]
    fn a_ring_and_a_square_with_one_diagonal() {
        let ring = [(0, 1), (1, 2), (2, 3), (0, 3)];
        assert_eq!(joined(4, &ring), [vec![0, 1], vec![0, 3], vec![1, 2], vec![2, 3]]);
        let square = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)];
        assert_eq!(joined(4, &square), [vec![0, 1, 2], vec![0, 2, 3]]);
    }

    #[test]
    fn forty_neighbours_give_all_their_maximal_groups() {
        // Each arm equals the three on either side: runs of four, 37 of them.
        let figures: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.005).exp()).collect();
        let got = grouped(&figures, 0.004);
        let want: Vec<Vec<usize>> = (0..37).map(|first| (first..first + 4).collect()).collect();
        assert_eq!(got, want);
        assert_eq!(letters(&got, 40)[39], "K");
    }

    #[test]
    fn the_worst_of_relations_is_covered_without_listing_it() {
        // 13 triples whose arms differ and which equal all other arms: 3^13 maximal groups.
        let arms = 39;
        let equal: Vec<(usize, usize)> = (0..arms)
            .flat_map(|i| (i + 1..arms).map(move |j| (i, j)))
            .filter(|(i, j)| i / 3 != j / 3)
            .collect();
        let got = joined(39, &equal);
        assert!(got.len() <= equal.len(), "{}", got.len());
        for (i, j) in &equal {
            assert!(got.iter().any(|group| group.contains(i) && group.contains(j)), "{i} {j}");
        }
        assert!(got.iter().all(|group| group.len() == 13));
    }

    #[test]
    fn letters_do_not_run_out() {
        let singles: Vec<Vec<usize>> = (0..54).map(|arm| vec![arm]).collect();
        let got = letters(&singles, 54);
        assert_eq!([&got[25], &got[26], &got[51], &got[53]], ["z", "A", "Z", "(54)"]);
    }
}
