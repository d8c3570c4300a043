//! Analysis of a guest's boots: the table of instructions.
//!
//! Measuring side, cold. A pure function: the same directory always gives the same results.

use crate::directory::StoredGuest;
use crate::part::{COMPILE, FILES, MIX, NULL_IO};
use crate::plan::derived;
use crate::records::{BootRecord, BootRow};
use crate::results::{
    Compared, CountedInstructions, GuestResults, GuestTable, Planted, Published, Repeat, Resolved, RowResult,
    SCHEMA, STATEMENT,
};
use crate::{BootMode, run};
use bakeoff_plan::study::{self, Study};

/// What a directory says.
pub fn analyse(stored: &StoredGuest) -> GuestResults {
    let setup = &stored.setup;
    let study = setup.study.as_ref().and_then(|name| study::find(name).ok().flatten());
    let repeats: Vec<Repeat> =
        stored.boots.iter().filter_map(|record| repeat(record, &stored.boots)).collect();
    let differing: Vec<String> = repeats
        .iter()
        .filter(|repeat| !repeat.differ.is_empty())
        .map(|repeat| repeat.boot.in_words())
        .collect();
    let invalid = (!differing.is_empty()).then(|| {
        format!(
            "not deterministic: {} did not count the same twice, so no row is known; was QEMU replaced in the middle?",
            differing.join("; ")
        )
    });
    let first =
        |name: &str| stored.boots.iter().flat_map(|record| record.facts(name)).next().map(str::to_owned);
    GuestResults {
        schema: SCHEMA,
        bakeoff: env!("CARGO_PKG_VERSION"),
        name: setup.name.clone(),
        title: setup.title.clone(),
        statement: STATEMENT,
        started: setup.started.clone(),
        extent: setup.extent.map(|extent| extent.in_words().to_owned()),
        planned: setup.boots.len(),
        ended: stored.boots.len(),
        tables: [false, true].iter().filter_map(|on| table(stored, *on, study.as_ref())).collect(),
        repeats,
        invalid,
        planted: planted(stored),
        server_domain: enforced(stored)
            .and_then(|record| record.facts("nginx").next().map(str::to_owned))
            .or_else(|| first("nginx")),
        packages: setup.packages.clone(),
        kernel_sha256: setup.kernel_sha256.clone(),
        policy_sha256: setup.policy_sha256.clone(),
        qemu: setup.qemu.clone(),
        cpu_ns: run::cpu(stored).get(),
        sources: study.iter().flat_map(|study| &study.sources).map(|source| source.text.clone()).collect(),
        differs: setup.differs.clone(),
    }
}

fn enforced(stored: &StoredGuest) -> Option<&BootRecord> {
    stored.boots.iter().find(|record| record.boot.mode == BootMode::Enforcing)
}

/// A boot that repeats another one, beside that.
fn repeat(record: &BootRecord, all: &[BootRecord]) -> Option<Repeat> {
    let like = crate::records::Boot { repeat: false, ..record.boot };
    let first = all.iter().find(|other| record.boot.repeat && other.boot == like)?;
    let same = |row: &&BootRow| first.row(&row.name) == Some(*row);
    let (equal, differ): (Vec<&BootRow>, Vec<&BootRow>) = record.rows.iter().partition(same);
    let differ = differ.iter().map(|row| row.name.clone()).collect();
    Some(Repeat { boot: record.boot, equal: equal.len(), differ })
}

fn table(stored: &StoredGuest, mitigations: bool, study: Option<&Study>) -> Option<GuestTable> {
    let records: Vec<&BootRecord> = stored
        .boots
        .iter()
        .filter(|record| record.boot.mitigations == mitigations && !record.boot.repeat)
        .collect();
    let mut modes: Vec<BootMode> = Vec::new();
    for boot in &stored.setup.boots {
        if !modes.contains(&boot.mode) && records.iter().any(|record| record.boot.mode == boot.mode) {
            modes.push(boot.mode);
        }
    }
    let baseline = *modes.first()?;
    // Perturbations that every mode has: the others would compare unlike with unlike.
    let of = |mode: BootMode, perturbation: u32| {
        let found =
            |record: &&&BootRecord| record.boot.mode == mode && record.boot.perturbation == perturbation;
        records.iter().find(found).copied()
    };
    let most = stored.setup.boots.iter().map(|boot| boot.perturbation).max().unwrap_or(0);
    let whole: Vec<Vec<&BootRecord>> =
        (0..=most).filter_map(|p| modes.iter().map(|mode| of(*mode, p)).collect()).collect();
    if whole.is_empty() {
        return None;
    }
    let names =
        stored.setup.rows.iter().map(String::as_str).chain(derived().into_iter().map(|(name, _)| name));
    let rows = names.filter_map(|name| row(name, &modes, &whole, study)).collect();
    Some(GuestTable { mitigations, baseline, modes: modes[1..].to_vec(), boots: whole.len(), rows })
}

/// A row: `whole` has a list a perturbation with a boot a mode.
fn row(
    name: &str,
    modes: &[BootMode],
    whole: &[Vec<&BootRecord>],
    study: Option<&Study>,
) -> Option<RowResult> {
    let values = |index: usize| match name == COMPILE[1] {
        true => system(whole, index),
        false => whole.iter().map(|boots| value(boots[index], name)).collect::<Option<Vec<f64>>>(),
    };
    let base = values(0)?;
    let compared = |(index, mode): (usize, &BootMode)| Some(compare(*mode, &base, &values(index)?));
    let rows = whole.iter().flatten().filter_map(|record| record.row(name));
    let published = study.iter().flat_map(|study| &study.counted).filter(|counted| counted.counted == name);
    Some(RowResult {
        name: name.to_owned(),
        baseline: CountedInstructions::of(&base),
        modes: modes.iter().enumerate().skip(1).map(compared).collect::<Option<_>>()?,
        published: published
            .map(|counted| Published {
                table: counted.table.clone(),
                row: counted.row.clone(),
                column: counted.column.clone(),
                text: counted.published.in_words(),
                percent: counted.published.value,
            })
            .collect(),
        within: rows.map(|row| row.max / row.min - 1.0).fold(0.0, f64::max),
    })
}

/// The kernel's part of the compile. The guest's clock samples it some twenty times a boot, so the base is the mean
/// of all boots; what a mode adds to the whole is counted, and all of it the kernel's, as the programs are the same.
fn system(whole: &[Vec<&BootRecord>], index: usize) -> Option<Vec<f64>> {
    let sampled = |record: &BootRecord| Some(record.row(COMPILE[1])?.median);
    let all: Vec<f64> = whole.iter().flatten().map(|record| sampled(record)).collect::<Option<_>>()?;
    let base = all.iter().sum::<f64>() / all.len() as f64;
    let more = |boots: &Vec<&BootRecord>| {
        let of = |index: usize| Some(boots[index].row(COMPILE[0])?.median);
        Some(base + of(index)? - of(0)?)
    };
    whole.iter().map(more).collect()
}

/// Instructions an operation in one boot; rows that follow from others are made here.
fn value(record: &BootRecord, name: &str) -> Option<f64> {
    let middle = |name: &str| record.row(name).map(|row| row.median);
    match name {
        NULL_IO => Some((middle("read")? + middle("write")?) / 2.0),
        MIX => FILES.iter().try_fold(0.0, |sum, file| {
            Some(sum + middle(&format!("http-{}", file.name))? * f64::from(file.share) / 1000.0)
        }),
        name => middle(name),
    }
}

fn compare(mode: BootMode, base: &[f64], own: &[f64]) -> Compared {
    let (baseline, counted) = (CountedInstructions::of(base), CountedInstructions::of(own));
    let changes: Vec<f64> = base.iter().zip(own).map(|(base, own)| own / base - 1.0).collect();
    let changes = CountedInstructions::of(&changes);
    Compared {
        mode,
        counted,
        more: counted.median - baseline.median,
        change: counted.median / baseline.median - 1.0,
        change_low: changes.low,
        change_high: changes.high,
        resolved: resolved(baseline, counted),
    }
}

fn resolved(base: CountedInstructions, own: CountedInstructions) -> Resolved {
    if (base.low, base.high) == (own.low, own.high) && base.low == base.high {
        Resolved::Equal
    } else if own.low > base.high {
        Resolved::More
    } else if own.high < base.low {
        Resolved::Fewer
    } else {
        Resolved::No
    }
}

impl CountedInstructions {
    /// Of at least one value.
    fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        Self { median, low, high }
    }
}

/// What became of forbidden requests, in the first boot of each mode.
fn planted(stored: &StoredGuest) -> Vec<Planted> {
    let mut all = Vec::new();
    for mode in BootMode::ALL {
        let Some(record) = stored.boots.iter().find(|record| record.boot.mode == mode) else { continue };
        for (what, status) in [("secret", "403"), ("port", "502")] {
            let said: Vec<&str> = record.facts(what).collect();
            if !said.is_empty() {
                let refused = said.iter().filter(|said| **said == status).count();
                let logged =
                    record.facts(&format!("logged-{what}")).next().and_then(|count| count.parse().ok());
                all.push(Planted { mode, what: what.to_owned(), asked: said.len(), refused, logged });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Boot, FORMAT, GuestFact, GuestSetup};

    fn record(mode: BootMode, perturbation: u32, repeat: bool, rows: &[(&str, f64)]) -> BootRecord {
        let row = |(name, value): &(&str, f64)| BootRow {
            name: (*name).to_owned(),
            count: 10,
            min: *value,
            median: *value,
            max: value * 1.5,
        };
        let fact = |name: &str, value: &str| GuestFact { name: name.to_owned(), value: value.to_owned() };
        BootRecord {
            boot: Boot { mode, mitigations: false, perturbation, repeat },
            rows: rows.iter().map(row).collect(),
            facts: vec![fact("secret", "403"), fact("secret", "200"), fact("logged-secret", "1")],
            elapsed_ns: 1,
            cpu_ns: 2,
        }
    }

    fn stored(boots: Vec<BootRecord>) -> StoredGuest {
        let names = ["null", "stat", "fork", "read", "write"].map(str::to_owned).to_vec();
        let setup = GuestSetup {
            format: FORMAT,
            bakeoff: String::new(),
            name: "p".to_owned(),
            title: "T".to_owned(),
            started: String::new(),
            extent: None,
            packages: Vec::new(),
            kernel_sha256: String::new(),
            policy_sha256: String::new(),
            disk_sha256: String::new(),
            executable_sha256: String::new(),
            qemu: String::new(),
            machine: Vec::new(),
            rows: names,
            boots: boots.iter().map(|record| record.boot).collect(),
            study: Some("selinux".to_owned()),
            differs: Vec::new(),
        };
        StoredGuest { plan: String::new(), setup, boots }
    }

    const OFF: [(&str, f64); 5] =
        [("null", 315.0), ("stat", 4000.0), ("fork", 1000.0), ("read", 500.0), ("write", 300.0)];
    const ON: [(&str, f64); 5] =
        [("null", 315.0), ("stat", 5000.0), ("fork", 990.0), ("read", 600.0), ("write", 400.0)];

    #[test]
    fn a_row_is_resolved_when_its_ranges_do_not_overlap() {
        let (mut off, mut on) = (OFF, ON);
        (off[2].1, on[2].1) = (980.0, 1010.0);
        (off[1].1, on[1].1) = (4200.0, 5300.0);
        let results = analyse(&stored(vec![
            record(BootMode::Off, 0, false, &OFF),
            record(BootMode::Enforcing, 0, false, &ON),
            record(BootMode::Off, 1, false, &off),
            record(BootMode::Enforcing, 1, false, &on),
        ]));
        let [table] = &results.tables[..] else { panic!("{:?}", results.tables) };
        let of = |name: &str| table.rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!((table.boots, of("null").modes[0].resolved), (2, Resolved::Equal));
        let stat = of("stat");
        assert_eq!((stat.baseline.median, stat.modes[0].counted.high), (4100.0, 5300.0));
        assert_eq!((stat.modes[0].more, stat.modes[0].resolved), (1050.0, Resolved::More));
        assert!((stat.modes[0].change_low - 0.25).abs() < 1e-12 && (stat.within - 0.5).abs() < 1e-12);
        assert_eq!(stat.published[0].text, "28 %");
        assert_eq!(of("fork").modes[0].resolved, Resolved::No);
        assert_eq!(of(NULL_IO).baseline.median, 400.0);
        assert!((of(NULL_IO).modes[0].change - 0.25).abs() < 1e-12);
        assert_eq!(of(NULL_IO).published[0].row, "null I/O");
        assert!(table.rows.iter().all(|row| row.name != MIX), "no web, no mix");
    }

    #[test]
    fn what_a_compile_costs_more_is_the_kernels() {
        let rows = |all, system| [("compile", all), ("compile-system", system)];
        let mut stored = stored(vec![
            record(BootMode::Off, 0, false, &rows(1000.0, 50.0)),
            record(BootMode::Enforcing, 0, false, &rows(1008.0, 110.0)),
        ]);
        stored.setup.rows = COMPILE.map(str::to_owned).to_vec();
        let results = analyse(&stored);
        let system = &results.tables[0].rows[1];
        assert_eq!((system.baseline.median, system.modes[0].more), (80.0, 8.0));
        assert!((system.modes[0].change - 0.1).abs() < 1e-12);
    }

    #[test]
    fn boots_that_have_no_counterpart_are_left_out() {
        let results = analyse(&stored(vec![
            record(BootMode::Off, 0, false, &OFF),
            record(BootMode::Enforcing, 0, false, &ON),
            record(BootMode::Off, 1, false, &OFF),
        ]));
        assert_eq!((results.tables[0].boots, results.ended), (1, 3));
    }

    #[test]
    fn a_repeat_that_differs_makes_the_run_invalid() {
        let (first, mut again) =
            (record(BootMode::Off, 0, false, &OFF), record(BootMode::Off, 0, true, &OFF));
        let same = analyse(&stored(vec![first.clone(), again.clone()]));
        assert_eq!((same.repeats[0].equal, same.invalid), (5, None));
        again.rows[1].max += 0.1;
        let other = analyse(&stored(vec![first, again]));
        assert_eq!((other.repeats[0].equal, &other.repeats[0].differ[..]), (4, &["stat".to_owned()][..]));
        assert!(other.invalid.unwrap().starts_with("not deterministic: off, again"));
    }

    #[test]
    fn what_was_planted_is_counted() {
        let results = analyse(&stored(vec![record(BootMode::Enforcing, 0, false, &ON)]));
        let [planted] = &results.planted[..] else { panic!("{:?}", results.planted) };
        assert_eq!((planted.asked, planted.refused, planted.logged), (2, 1, Some(1)));
    }
}
