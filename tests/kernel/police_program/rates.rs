//! Rates, checked by counts: over ten seconds of an artificial clock, by the kernel's own, and by several processors
//! at once.

use crate::packets::{SYN, Segment, Wrapping, frame};
use crate::stage::namespace;
use crate::trial::run_on;
use bakeoff_layers_police::kernel::{PoliceMode, Programs};
use bakeoff_layers_police::rules::Rules;
use bakeoff_layers_police::rules::table::RuleTable;
use std::time::Instant;

fn table(rate: u32, burst: u32, more: &str) -> RuleTable {
    let text = format!(
        "[server]\nlisten = 80\n[[from]]\nsource = \"10.0.0.0/8\"\nrate = \"{rate}/s\"\nburst = {burst}\n{more}"
    );
    Rules::of_text(&text, "rules.toml").unwrap().table
}

fn syn(host: u8) -> Vec<u8> {
    let from = ([10, 0, host, 1].into(), 40_000);
    let to = ([198, 18, 0, 1].into(), 80);
    frame(&Segment { from, to, flags: SYN, sequence: 1, payload: b"" }, &Wrapping::default())
}

/// Loaded; packets of a trial are of no card and of no connection.
fn loaded(table: &RuleTable) -> Programs {
    let mut programs = Programs::load(table, PoliceMode::Enforce).unwrap();
    programs.set_standing(None).unwrap();
    programs
}

fn passed(programs: &Programs) -> u64 {
    programs.counters().unwrap().rules[0].passed
}

#[test]
fn over_ten_seconds_exactly_the_burst_and_the_rate_are_let_in() {
    let Some(here) = namespace("over_ten_seconds_exactly_the_burst_and_the_rate_are_let_in") else { return };
    here.run(|| {
        let mut programs = loaded(&table(300, 50, ""));
        let began_ns = 1_u64 << 40;
        for nth in 0..10_000 {
            programs.set_clock(Some(began_ns + nth * 1_000_000)).unwrap();
            run_on(&programs, "police", &syn(0), 1);
        }
        // A token each 3.33 ms; the last arrival is at 9.999 s.
        assert_eq!(passed(&programs), 50 + 2_999);
        // Idle time, however long, gives one full bucket again, and no more.
        programs.set_clock(Some(began_ns + (1 << 50))).unwrap();
        run_on(&programs, "police", &syn(0), 1_000);
        assert_eq!(passed(&programs), 50 + 2_999 + 50);
    })
    .unwrap();
}

#[test]
fn by_the_kernels_own_clock_the_law_holds() {
    let Some(here) = namespace("by_the_kernels_own_clock_the_law_holds") else { return };
    here.run(|| {
        // The bucket takes five seconds to fill: however long the machine stalls, no token is lost.
        let (rate, burst) = (20_000.0, 100_000.0);
        let programs = loaded(&table(20_000, 100_000, ""));
        let outer = Instant::now();
        run_on(&programs, "police", &syn(0), 120_000);
        let inner = Instant::now();
        while inner.elapsed().as_millis() < 500 {
            run_on(&programs, "police", &syn(0), 1_000);
        }
        let least = inner.elapsed().as_secs_f64();
        run_on(&programs, "police", &syn(0), 120_000);
        let (most, passed) = (outer.elapsed().as_secs_f64(), passed(&programs) as f64);
        assert!(passed <= burst + rate * most + 1.0, "{passed} in {most} s");
        assert!(passed >= burst + rate * least - 1.0, "{passed} in {least} s");
    })
    .unwrap();
}

#[test]
fn several_processors_at_once_let_in_the_burst_and_no_more() {
    let Some(here) = namespace("several_processors_at_once_let_in_the_burst_and_no_more") else { return };
    here.run(|| {
        for (more, hosts) in [("", 1), ("per = \"/24\"\neach = \"1/s\"\neach-burst = 300\n", 5)] {
            let mut programs = loaded(&table(1, 1_000, more));
            programs.set_clock(Some(1 << 40)).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        (0..hosts).for_each(|host| drop(run_on(&programs, "police", &syn(host), 5_000)))
                    });
                }
            });
            let counters = programs.counters().unwrap();
            let rule = &counters.rules[0];
            assert_eq!(
                (rule.passed, rule.passed + rule.refused),
                (1_000, 4 * 5_000 * u64::from(hosts)),
                "{rule:?}"
            );
        }
    })
    .unwrap();
}
