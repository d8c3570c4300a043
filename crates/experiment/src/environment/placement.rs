//! Placement: the division of the cores between the generator and the subjects.
//!
//! The two are apart wherever that is possible: a generator on the subject's core takes its time and its caches, and
//! takes them differently from a faster and a slower server.

use super::cores::core_list;
use std::collections::BTreeSet;
use std::fmt;

/// Cores of the two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Cores of the load generator, rising, at least one.
    pub generator: Vec<usize>,
    /// Cores of the subjects and their children, rising, at least one.
    pub subject: Vec<usize>,
    /// Whether no core is in both.
    pub disjoint: bool,
    /// Whether a physical core's hardware threads are divided between the two sides.
    pub siblings_split: bool,
}

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementSide {
    /// The load generator.
    Generator,
    /// The subjects.
    Subject,
}

impl fmt::Display for PlacementSide {
    /// Its key in the plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generator => "generator_cores",
            Self::Subject => "subject_cores",
        })
    }
}

/// Reasons why there is no placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The plan names cores that do not exist or that this process may not use.
    #[error(
        "{side} names {}, which this machine does not have or this process may not use; \
         cores that it may use: {}",
        core_list(cores),
        core_list(allowed)
    )]
    NotAllowed {
        /// The side, a key of the plan.
        side: PlacementSide,
        /// The cores at fault.
        cores: Vec<usize>,
        /// The cores that may be used.
        allowed: Vec<usize>,
    },
    /// The plan names a side without a core.
    #[error("{0} names no core; name one, or leave the key out and let bakeoff choose")]
    Empty(PlacementSide),
    /// No core may be used.
    #[error(
        "this process may run on no core that can be seen; see `taskset -p` and the cpuset of its cgroup"
    )]
    NoCores,
}

/// Places the two sides on the cores of `allowed`.
///
/// `siblings` holds the hardware threads of each physical core (empty: unknown); they stay on one side as long as there
/// are two physical cores. The subjects get the first half of the physical cores, rounded down; the generator gets the
/// other half from the end, because it must be able to do twice what is asked of it. Of its cores it keeps
/// `generator_threads_hint` (0: all), spread over physical cores first. Cores that the plan names are taken as they
/// are, even if the sides overlap.
pub fn placement(
    plan_generator: Option<&[usize]>,
    plan_subject: Option<&[usize]>,
    allowed: &[usize],
    siblings: &[Vec<usize>],
    generator_threads_hint: usize,
) -> Result<Placement, PlacementError> {
    let allowed = rising(allowed);
    if allowed.is_empty() {
        return Err(PlacementError::NoCores);
    }
    let generator =
        plan_generator.map(|cores| planned(PlacementSide::Generator, cores, &allowed)).transpose()?;
    let subject = plan_subject.map(|cores| planned(PlacementSide::Subject, cores, &allowed)).transpose()?;

    let physical = physical_cores(&allowed, siblings);
    let units = if physical.len() > 1 { physical.clone() } else { single(&allowed) };
    let half = (units.len() / 2).max(1);

    let subject = subject.unwrap_or_else(|| {
        let taken = generator.as_deref().unwrap_or_default();
        let free = free_units(&units, &allowed, taken);
        flat(&free[..half.min(free.len())])
    });
    let generator = generator.unwrap_or_else(|| {
        let free = free_units(&units, &allowed, &subject);
        let most = (units.len() - half).max(1);
        spread(&free[free.len().saturating_sub(most)..], generator_threads_hint)
    });

    let both = |cores: &[usize]| {
        cores.iter().any(|core| generator.contains(core)) && cores.iter().any(|core| subject.contains(core))
    };
    let disjoint = !generator.iter().any(|core| subject.contains(core));
    let siblings_split = disjoint && physical.iter().any(|family| both(family));
    Ok(Placement { generator, subject, disjoint, siblings_split })
}

fn planned(side: PlacementSide, cores: &[usize], allowed: &[usize]) -> Result<Vec<usize>, PlacementError> {
    let cores = rising(cores);
    let strangers: Vec<usize> = cores.iter().copied().filter(|core| !allowed.contains(core)).collect();
    if cores.is_empty() {
        Err(PlacementError::Empty(side))
    } else if strangers.is_empty() {
        Ok(cores)
    } else {
        Err(PlacementError::NotAllowed { side, cores: strangers, allowed: allowed.to_vec() })
    }
}

/// `allowed` in families; a core that no family names is its own.
fn physical_cores(allowed: &[usize], siblings: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut physical: Vec<Vec<usize>> = Vec::new();
    for core in allowed {
        if physical.iter().any(|family| family.contains(core)) {
            continue;
        }
        let named = siblings.iter().find(|family| family.contains(core));
        let together = |other: &&usize| *other == core || named.is_some_and(|family| family.contains(other));
        physical.push(allowed.iter().filter(together).copied().collect());
    }
    physical
}

/// Units without a taken core; else single cores that are not taken; else, as no core is left to be apart on, the taken
/// ones (all, if none was taken).
fn free_units(units: &[Vec<usize>], allowed: &[usize], taken: &[usize]) -> Vec<Vec<usize>> {
    let untaken = |cores: &&Vec<usize>| !cores.iter().any(|core| taken.contains(core));
    let whole: Vec<Vec<usize>> = units.iter().filter(untaken).cloned().collect();
    if !whole.is_empty() {
        return whole;
    }
    let left: Vec<usize> = allowed.iter().copied().filter(|core| !taken.contains(core)).collect();
    if left.is_empty() { vec![taken.to_vec()] } else { single(&left) }
}

/// At most `threads` cores (0: all), the first of each unit before the second of any.
fn spread(units: &[Vec<usize>], threads: usize) -> Vec<usize> {
    let widest = units.iter().map(Vec::len).max().unwrap_or(0);
    let by_rank = (0..widest).flat_map(|rank| units.iter().filter_map(move |unit| unit.get(rank)));
    let most = if threads == 0 { usize::MAX } else { threads };
    rising(&by_rank.copied().take(most).collect::<Vec<_>>())
}

fn single(cores: &[usize]) -> Vec<Vec<usize>> {
    cores.iter().map(|&core| vec![core]).collect()
}

fn flat(units: &[Vec<usize>]) -> Vec<usize> {
    rising(&units.concat())
}

fn rising(cores: &[usize]) -> Vec<usize> {
    cores.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(
        plan: (Option<&[usize]>, Option<&[usize]>),
        allowed: &[usize],
        siblings: &[Vec<usize>],
        threads: usize,
    ) -> (String, String, bool, bool) {
        let it = placement(plan.0, plan.1, allowed, siblings, threads).unwrap();
        (core_list(&it.subject), core_list(&it.generator), it.disjoint, it.siblings_split)
    }

    #[test]
    fn left_alone_the_subjects_are_in_front_and_the_generator_behind() {
        for (allowed, threads, subject, generator) in [
            ((0..2).collect::<Vec<_>>(), 0, "0", "1"),
            (vec![3, 7], 0, "3", "7"),
            ((0..3).collect(), 0, "0", "1-2"),
            ((0..3).collect(), 1, "0", "1"),
            ((0..4).collect(), 0, "0-1", "2-3"),
            ((0..4).collect(), 9, "0-1", "2-3"),
            ((0..8).collect(), 2, "0-3", "4-5"),
            (vec![0, 1, 4, 5, 9], 0, "0-1", "4-5,9"),
        ] {
            let found = placed((None, None), &allowed, &[], threads);
            assert_eq!(found, (subject.to_owned(), generator.to_owned(), true, false), "{allowed:?}");
        }
    }

    #[test]
    fn one_core_is_shared() {
        assert_eq!(placed((None, None), &[5], &[], 4), ("5".into(), "5".into(), false, false));
    }

    #[test]
    fn hardware_threads_of_one_core_stay_on_one_side() {
        let neighbours: Vec<Vec<usize>> = (0..4).map(|core| vec![2 * core, 2 * core + 1]).collect();
        let far: Vec<Vec<usize>> = (0..4).map(|core| vec![core, core + 4]).collect();
        let all: Vec<usize> = (0..8).collect();
        for (siblings, threads, subject, generator) in [
            (&neighbours, 0, "0-3", "4-7"),
            (&neighbours, 2, "0-3", "4,6"),
            (&neighbours, 3, "0-3", "4-6"),
            (&far, 0, "0-1,4-5", "2-3,6-7"),
            (&far, 2, "0-1,4-5", "2-3"),
        ] {
            let found = placed((None, None), &all, siblings, threads);
            assert_eq!(
                found,
                (subject.to_owned(), generator.to_owned(), true, false),
                "{siblings:?} {threads}"
            );
        }
        // Four threads, two cores: a core each, where half of the numbers would split both.
        let found = placed((None, None), &[0, 1, 4, 5], &far, 0);
        assert_eq!(found, ("0,4".into(), "1,5".into(), true, false));
    }

    #[test]
    fn a_single_physical_core_is_split_and_said_so() {
        let found = placed((None, None), &[0, 1], &[vec![0, 1]], 0);
        assert_eq!(found, ("0".into(), "1".into(), true, true));
    }

    #[test]
    fn siblings_that_may_not_be_used_do_not_count() {
        let siblings = [vec![0, 4], vec![1, 5]];
        assert_eq!(placed((None, None), &[4, 5], &siblings, 0), ("4".into(), "5".into(), true, false));
    }

    #[test]
    fn the_plan_is_obeyed_and_the_other_side_keeps_away() {
        let all: Vec<usize> = (0..4).collect();
        let pairs = [vec![0, 1], vec![2, 3]];
        for (generator, subject, siblings, expected) in [
            (Some(&[0][..]), None, &[][..], ("1-2", "0", true, false)),
            (None, Some(&[3][..]), &[], ("3", "1-2", true, false)),
            (None, Some(&[0, 1, 2][..]), &[], ("0-2", "3", true, false)),
            (Some(&[0][..]), None, &pairs, ("2-3", "0", true, false)),
            (Some(&[0, 2][..]), None, &pairs, ("1", "0,2", true, true)),
            (None, Some(&[0, 1, 2, 3][..]), &[], ("0-3", "0-3", false, false)),
            (Some(&[1, 1, 0][..]), Some(&[1, 2][..]), &[], ("1-2", "0-1", false, false)),
            (Some(&[1][..]), Some(&[0][..]), &pairs, ("0", "1", true, true)),
        ] {
            let found = placed((generator, subject), &all, siblings, 0);
            let expected = (expected.0.to_owned(), expected.1.to_owned(), expected.2, expected.3);
            assert_eq!(found, expected, "{generator:?} {subject:?} {siblings:?}");
        }
    }

    #[test]
    fn cores_that_are_not_there_are_named_with_those_that_are() {
        let error = placement(Some(&[1, 9, 8]), None, &[0, 1, 2], &[], 0).unwrap_err();
        assert_eq!(
            error,
            PlacementError::NotAllowed {
                side: PlacementSide::Generator,
                cores: vec![8, 9],
                allowed: vec![0, 1, 2]
            }
        );
        let said = error.to_string();
        assert!(said.starts_with("generator_cores names 8-9,") && said.ends_with(": 0-2"), "{said}");
        assert_eq!(
            placement(None, Some(&[]), &[0], &[], 0),
            Err(PlacementError::Empty(PlacementSide::Subject))
        );
        assert_eq!(placement(None, None, &[], &[], 0), Err(PlacementError::NoCores));
    }

    #[test]
    fn whatever_is_allowed_each_side_has_a_core_and_two_cores_are_enough_to_be_apart() {
        for n in 1..40 {
            let allowed: Vec<usize> = (0..n).collect();
            for width in 1..5 {
                let siblings: Vec<Vec<usize>> = allowed.chunks(width).map(<[usize]>::to_vec).collect();
                for threads in 0..6 {
                    let it = placement(None, None, &allowed, &siblings, threads).unwrap();
                    assert!(!it.generator.is_empty() && !it.subject.is_empty());
                    assert_eq!(it.disjoint, n > 1, "{n} cores");
                    assert_eq!(it.siblings_split, n > 1 && n <= width, "{n} cores of {width} threads");
                    assert!(threads == 0 || it.generator.len() <= threads);
                }
            }
        }
    }
}
