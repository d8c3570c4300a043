//! Factors with known truths: crossed, with holes, and the two layers of a published study.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_content::SplitMix64;
use bakeoff_stats::{
    Contrast, DesignLevel, FactorialDesign, Level, NotEstimable, Square, Term, contrasts, effect,
};

fn at(factor: usize, level: usize) -> DesignLevel {
    DesignLevel { factor, level }
}

fn both(first: DesignLevel, second: DesignLevel) -> Term {
    Term::Interaction { first, second }
}

fn level() -> Level {
    Level::new(0.95).unwrap()
}

/// Per cell and round: the cell's truth, a component its round shares, and its own noise.
fn measured(truths: &[f64], rounds: usize, round_sd: f64, sd: f64, rng: &mut SplitMix64) -> Vec<Vec<f64>> {
    let shared: Vec<f64> = (0..rounds).map(|_| round_sd * rng.normal()).collect();
    let mut cell = |truth: &f64| shared.iter().map(|s| truth + s + sd * rng.normal()).collect();
    truths.iter().map(&mut cell).collect()
}

fn views(logs: &[Vec<f64>]) -> Vec<&[f64]> {
    logs.iter().map(Vec::as_slice).collect()
}

/// The contrasts by their terms, without noise: one round is enough.
fn exact(design: &FactorialDesign, truth: impl Fn(&[usize]) -> f64) -> Vec<(Term, f64)> {
    let logs: Vec<Vec<f64>> = design.cells().iter().map(|cell| vec![truth(cell) + 3.0]).collect();
    let logs = views(&logs);
    contrasts(design).estimable.iter().map(|c| (c.term, c.per_round(&logs)[0])).collect()
}

fn assert_terms(got: &[(Term, f64)], want: &[(Term, f64)]) {
    assert_eq!(got.len(), want.len(), "{got:?}");
    for ((term, value), (want_term, want)) in got.iter().zip(want) {
        assert_eq!(term, want_term);
        assert!((value - want).abs() < 1e-12, "{term:?}: {value}, not {want}");
    }
}

#[test]
fn two_by_two() {
    let design = FactorialDesign::crossed(vec![2, 2]).unwrap();
    let truth = |cell: &[usize]| match cell {
        [0, 0] => 0.0,
        [0, 1] => 0.1,
        [1, 0] => 0.2,
        _ => 0.5,
    };
    let (a, b) = (at(0, 1), at(1, 1));
    // Main of a: the mean of 0.2 - 0 and 0.5 - 0.1.
    let want = [(Term::Main(a), 0.3), (Term::Main(b), 0.2), (both(a, b), 0.2)];
    assert_terms(&exact(&design, truth), &want);
}

#[test]
fn three_by_two() {
    let design = FactorialDesign::crossed(vec![3, 2]).unwrap();
    // Additive, but for 0.06 where level 2 of the first meets level 1 of the second.
    let truth = |cell: &[usize]| {
        let extra = if cell == [2, 1] { 0.06 } else { 0.0 };
        [0.0, 0.1, 0.3][cell[0]] + [0.0, 0.05][cell[1]] + extra
    };
    let want = [
        (Term::Main(at(0, 1)), 0.1),
        (Term::Main(at(0, 2)), 0.33),
        (Term::Main(at(1, 1)), 0.07),
        (both(at(0, 1), at(1, 1)), 0.0),
        (both(at(0, 2), at(1, 1)), 0.06),
    ];
    assert_terms(&exact(&design, truth), &want);
}

#[test]
fn two_by_two_by_two() {
    let design = FactorialDesign::crossed(vec![2, 2, 2]).unwrap();
    let truth = |cell: &[usize]| {
        let on = |factor: usize| cell[factor] as f64;
        0.1 * on(0) + 0.2 * on(1) + 0.4 * on(2) + 0.04 * on(0) * on(2)
    };
    let want = [
        (Term::Main(at(0, 1)), 0.12),
        (Term::Main(at(1, 1)), 0.2),
        (Term::Main(at(2, 1)), 0.42),
        (both(at(0, 1), at(1, 1)), 0.0),
        (both(at(0, 1), at(2, 1)), 0.04),
        (both(at(1, 1), at(2, 1)), 0.0),
    ];
    assert_terms(&exact(&design, truth), &want);
    let all = contrasts(&design);
    assert!(all.estimable.iter().take(3).all(|c| (c.settings, c.settings_in_all) == (4, 4)));
    assert!(all.estimable.iter().skip(3).all(|c| (c.settings, c.settings_in_all) == (2, 2)));
    assert_eq!(all.not_estimable, []);
}

#[test]
fn the_order_of_the_cells_does_not_matter() {
    let turned: Vec<Vec<usize>> = vec![vec![1, 1], vec![0, 1], vec![1, 0], vec![0, 0]];
    let truth = |cell: &[usize]| (cell[0] * 2 + cell[1]).pow(2) as f64;
    let listed = FactorialDesign::listed(vec![2, 2], turned).unwrap();
    assert_terms(&exact(&listed, truth), &exact(&FactorialDesign::crossed(vec![2, 2]).unwrap(), truth));
}

#[test]
fn holes_leave_what_can_be_told_and_name_what_cannot() {
    // tls off/on, cache off/on/shared; the shared cache was measured without TLS only, and TLS
    // with the plain cache not at all.
    let cells = vec![vec![0, 0], vec![1, 0], vec![0, 1], vec![0, 2]];
    let design = FactorialDesign::listed(vec![2, 3], cells).unwrap();
    let all = contrasts(&design);
    let terms: Vec<Term> = all.estimable.iter().map(|c| c.term).collect();
    assert_eq!(terms, [at(0, 1), at(1, 1), at(1, 2)].map(Term::Main));
    assert_eq!(all.estimable[0].weights, [(1, 1.0), (0, -1.0)]);
    assert_eq!((all.estimable[0].settings, all.estimable[0].settings_in_all), (1, 3));
    let lacking = |level| NotEstimable { term: both(at(0, 1), at(1, level)), missing: vec![vec![1, level]] };
    assert_eq!(all.not_estimable, [lacking(1), lacking(2)]);
    let name = |at: DesignLevel| {
        let factor = ["tls", "cache"][at.factor];
        let level = [["off", "on", ""], ["off", "on", "shared"]][at.factor][at.level];
        format!("{factor} = {level}")
    };
    assert_eq!(
        all.not_estimable[1].sentence(name),
        "the interaction of tls = on and cache = shared cannot be told: \
         the cell (tls = on, cache = shared) is empty"
    );
}

#[test]
fn a_hole_takes_its_setting_out_of_both_sides() {
    // Without [1, 1, 1] the effect of the first factor is the mean of three settings; in each the
    // cell with and the cell without it are there, so the others' effects cancel.
    let mut cells = FactorialDesign::crossed(vec![2, 2, 2]).unwrap().cells().to_vec();
    cells.retain(|cell| cell != &[1, 1, 1]);
    let design = FactorialDesign::listed(vec![2, 2, 2], cells).unwrap();
    let additive = |cell: &[usize]| 0.1 * cell[0] as f64 + 5.0 * cell[1] as f64 + 70.0 * cell[2] as f64;
    let got = exact(&design, additive);
    assert!((got[0].1 - 0.1).abs() < 1e-12, "{got:?}");
    let all = contrasts(&design);
    assert_eq!((all.estimable[0].settings, all.estimable[0].settings_in_all), (3, 4));
    assert_eq!(all.not_estimable, []);
}

#[test]
fn a_level_nobody_measured_names_the_nearest_cell() {
    let design = FactorialDesign::listed(vec![3, 2], vec![vec![0, 0], vec![1, 0], vec![1, 1]]).unwrap();
    let all = contrasts(&design);
    // For level 1 of the second factor the first at its level 1 is whole; level 2 of the first has
    // no cell at all, and lacks only itself beside the reference.
    assert_eq!(
        all.estimable.iter().map(|c| c.term).collect::<Vec<_>>(),
        [at(0, 1), at(1, 1)].map(Term::Main)
    );
    let want = [
        NotEstimable { term: Term::Main(at(0, 2)), missing: vec![vec![2, 0]] },
        NotEstimable { term: both(at(0, 1), at(1, 1)), missing: vec![vec![0, 1]] },
        NotEstimable { term: both(at(0, 2), at(1, 1)), missing: vec![vec![2, 1], vec![2, 0], vec![0, 1]] },
    ];
    assert_eq!(all.not_estimable, want);
    let said = all.not_estimable[2].sentence(|at| format!("{}{}", ["a", "b"][at.factor], at.level));
    let cells = "(a2, b1) and (a2, b0) and (a0, b1)";
    assert_eq!(said, format!("the interaction of a2 and b1 cannot be told: the cells {cells} are empty"));
}

#[test]
fn weights_add_up_to_nothing() {
    for levels in [vec![2, 2], vec![3, 4, 2], vec![1, 5], vec![2; 5]] {
        for Contrast { term, weights, .. } in contrasts(&FactorialDesign::crossed(levels).unwrap()).estimable
        {
            let sum: f64 = weights.iter().map(|(_, w)| w).sum();
            assert!(sum.abs() < 1e-12, "{term:?}: {sum}");
        }
    }
}

#[test]
fn a_series_that_lacks_or_ends_early_shortens_all() {
    let contrast = &contrasts(&FactorialDesign::crossed(vec![2]).unwrap()).estimable[0];
    assert_eq!(contrast.per_round(&[&[1.0, 2.0, 3.0], &[5.0, 5.0]]), [4.0, 3.0]);
    assert_eq!(contrast.per_round(&[&[1.0]]), [0.0; 0]);
}

#[test]
fn two_layers_that_cost_more_together() {
    // Throughput: a filter costs 2 %, a store 40 %, both 50 %. Independent they would cost
    // 1 - 0.98 x 0.6 = 41.2 %.
    let design = FactorialDesign::crossed(vec![2, 2]).unwrap();
    let square = design.square(at(0, 1), at(1, 1)).unwrap();
    assert_eq!(square, Square { neither: 0, first: 2, second: 1, both: 3 });
    let figures = [1000.0, 600.0, 980.0, 500.0];
    let logs: Vec<Vec<f64>> = figures
        .iter()
        .map(|y: &f64| [0.0, 0.3, -0.2, 0.1].iter().map(|shock| y.ln() + shock).collect())
        .collect();
    let got = square.together(&views(&logs), level()).unwrap();
    let close = |got: f64, want: f64| assert!((got - want).abs() < 1e-9, "{got} {want}");
    close(got.first.effect, -0.02);
    close(got.second.effect, -0.4);
    close(got.expected.effect, -0.412);
    close(got.measured.effect, -0.5);
    close(got.difference.effect, -0.088); // 9 points
    close(got.difference.interval.low, -0.088);
}

#[test]
fn a_square_needs_two_factors_and_four_cells() {
    let design = FactorialDesign::crossed(vec![3, 2]).unwrap();
    assert_eq!(design.square(at(0, 2), at(1, 1)), Some(Square { neither: 0, first: 4, second: 1, both: 5 }));
    assert_eq!(design.square(at(0, 1), at(0, 2)), None);
    assert_eq!(design.square(at(0, 0), at(1, 1)), None);
    assert_eq!(design.square(at(0, 1), at(2, 1)), None);
    let holed = FactorialDesign::listed(vec![2, 2], vec![vec![0, 0], vec![0, 1], vec![1, 1]]).unwrap();
    assert_eq!(holed.square(at(0, 1), at(1, 1)), None);
    let square = design.square(at(0, 1), at(1, 1)).unwrap();
    assert_eq!(square.together(&[&[0.0; 9][..]; 3], level()), None, "cell 3 has no series");
    assert_eq!(square.together(&[&[0.0; 2][..]; 6], level()), None, "two rounds");
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    // Noise of 5 % per slice, rounds that differ by 20 %, as on a shared machine.
    let truths = [0.0, 0.5, 0.1, 0.9]; // neither, b, a, both: expected exp(0.6), measured exp(0.9)
    let design = FactorialDesign::crossed(vec![2, 2]).unwrap();
    let square = design.square(at(0, 1), at(1, 1)).unwrap();
    let interaction = contrasts(&design).estimable.pop().unwrap();
    let points = 0.9_f64.exp() - 0.6_f64.exp();
    let mut rng = SplitMix64::new(21);
    let (runs, mut held, mut points_held, mut bias) = (1000, 0, 0, 0.0);
    for _ in 0..runs {
        let logs = measured(&truths, 20, 0.2, 0.05, &mut rng);
        let logs = views(&logs);
        let got = effect(&interaction.per_round(&logs), level()).unwrap();
        held += usize::from(got.interval.contains(0.3_f64.exp_m1()));
        let got = square.together(&logs, level()).unwrap().difference;
        points_held += usize::from(got.interval.contains(points));
        bias += (got.effect - points) / f64::from(runs);
    }
    println!("interaction {held}, points {points_held} of {runs}; bias {bias}");
    assert!((930..=975).contains(&held) && (930..=975).contains(&points_held), "{held} {points_held}");
    // The plain differences per round would be off by (3 exp(.6) - exp(.9)) x 0.0025 = 0.0075.
    assert!(bias.abs() < 0.004, "{bias}");
}
