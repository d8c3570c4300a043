//! Run of an experiment: start the arms, size the slice, measure round after round.
//!
//! Measuring side, the bakeoff process. Owns the order of slices and every moment at which something is read. Figures
//! are written down and never looked at here, but for the question whether to go on, which `analyse` answers. Whatever
//! ends a run, all measurements so far are on disk.

mod bench;
mod blocks;
mod budget;
mod calls;
mod commands;
mod design;
mod error;
mod files;
mod link;
mod need;
mod page_cache;
mod peak;
mod pilot;
mod rounds;
mod scratch;
mod servers;
mod size;
mod snapshot;
mod workloads;

pub use error::RunError;
pub use rounds::{RoundReport, RunProgress};
pub use scratch::Scratch;
pub use servers::{GENERATOR, Generators, Offer, generator, refusal, roll_call};

use crate::environment::{self, MachineClaim, Placement};
use bakeoff_meter::catalogue::{ELAPSED, OPERATION_TIME, RESPONSE_P50, SUBJECT_CPU, SUBJECT_CPU_PER_REPLY};
use bakeoff_plan::{
    Arm, DEFAULT_MARGIN, ExperimentGoal, Factor, Plan, RequestSource, RequestWork, RoundDesign,
    ViolationPlan, Violations, Work,
};
use bakeoff_results::digest;
use bakeoff_results::directory::{ResultsDir, StoppedBy};
use bakeoff_results::{
    DesignSetup, Environment, Fact, FactorSetup, RestartSetup, SETUP_SCHEMA, Setup, StratumSetup,
    SubjectSetup, ViolationSetup, Warning, WorkloadSetup,
};
use bakeoff_stats::{Margin, level};
use bakeoff_sys::affinity::Pinned;
use bakeoff_units::{Clock, MonotonicClock, Nanos, PerSecond, Ratio};
use bench::Bench;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run's surroundings.
pub struct Run<'a> {
    /// The plan to run.
    pub plan: &'a Plan,
    /// The results directory.
    pub dir: &'a ResultsDir,
    /// Command line that began the run, quoted for a shell; it is kept with the set-up.
    pub command_line: String,
    /// Time at which the command began: the budget counts from here.
    pub began: Nanos,
    /// The clock that `began` was read from.
    pub clock: MonotonicClock,
    /// Set by Ctrl-C.
    pub interrupted: &'a AtomicBool,
    /// A quantile is asked for: it needs more rounds than other figures.
    pub quantiles: bool,
    /// Generators on other hosts, if any.
    pub generators: &'a Generators,
}

/// Schedule of the rounds.
#[derive(Default)]
struct RoundSchedule {
    /// Requests of a slice, and the reason for that number.
    requests: usize,
    reason: String,
    looks: Vec<u32>,
    design: DesignSetup,
    restarts: RestartSetup,
    warnings: Vec<Warning>,
}

impl Run<'_> {
    /// Runs the experiment from its start.
    ///
    /// # Errors
    /// Any obstacle to going on. If `setup.json` exists by then, so do all measured slices, and `analyse` can use them.
    pub fn start(&self, progress: &mut dyn RunProgress) -> Result<StoppedBy, RunError> {
        self.dir.write_plan(&self.plan.text)?;
        if let Some(quest) = self.quest() {
            return peak::start(self, quest, progress);
        }
        self.with_bench(progress, |run, bench, environment, progress| {
            let course = run.course(bench, &environment, progress)?;
            let setup = run.setup(bench, course, environment)?;
            run.dir.write_setup(&setup)?;
            rounds::run(run, bench, setup, Vec::new(), progress)
        })
    }

    /// Goes on with an unfinished run. The looks stay as they were planned.
    ///
    /// # Errors
    /// As [`Run::start`].
    pub fn resume(
        &self,
        stored: bakeoff_results::directory::StoredExperiment,
        progress: &mut dyn RunProgress,
    ) -> Result<StoppedBy, RunError> {
        if digest::sha256(&[self.plan.text.as_bytes()]) != stored.setup.plan_sha256 {
            return Err(RunError::PlanChanged);
        }
        if self.plan.names() != stored.setup.arms {
            return Err(RunError::ArmsChanged);
        }
        self.dir.go_on()?;
        if let Some(quest) = self.quest() {
            return peak::resume(self, quest, stored, progress);
        }
        self.with_bench(progress, |run, bench, _, progress| {
            if bench.workload().log_sha256 != stored.setup.workload.log_sha256 {
                return Err(RunError::LogChanged);
            }
            bench.take_up(&stored.setup.workload);
            let size = stored.setup.workload.slice_requests as usize;
            bench.warm_up(size)?;
            rounds::run(run, bench, stored.setup, stored.slices, progress)
        })
    }

    fn with_bench(
        &self,
        progress: &mut dyn RunProgress,
        go: impl FnOnce(&Self, &mut dyn Bench, Environment, &mut dyn RunProgress) -> Result<StoppedBy, RunError>,
    ) -> Result<StoppedBy, RunError> {
        let (placement, environment, claim) = self.environment(progress)?;
        // All threads of bakeoff run beside the generator, never on the subjects' cores, until the run ends.
        let _pinned = Pinned::to(&placement.generator).map_err(RunError::System)?;
        let result = match &self.plan.work {
            Work::Requests(work) => {
                let remote = servers::Remote::connect(self, work, progress)?;
                let load = (&placement, remote.as_ref());
                let mut bench = servers::ServerBench::start(self, work, load, progress)?;
                let result = go(self, &mut bench, environment, progress);
                progress.stage("stopping the servers");
                bench.stop(result)
            }
            Work::Command(work) => {
                let mut bench = commands::CommandBench::start(self, work, &placement, progress)?;
                let result = go(self, &mut bench, environment, progress);
                progress.stage("cleaning up");
                bench.stop().and(result)
            }
            Work::Calls(work) => {
                let mut bench = calls::CallsBench::start(self, work, &placement, progress)?;
                go(self, &mut bench, environment, progress)
            }
            Work::Files(work) => {
                let mut bench = files::FilesBench::start(self, work, &placement, progress)?;
                let result = go(self, &mut bench, environment, progress);
                progress.stage("cleaning up");
                let stopped = bench.stop(progress);
                result.and_then(|stopped_by| stopped.map(|()| stopped_by))
            }
        };
        self.end(result, &claim)
    }

    /// The input of a search for peaks, if the plan is one.
    fn quest(&self) -> Option<peak::Quest<'_>> {
        match (&self.plan.kind, &self.plan.work) {
            (ExperimentGoal::Peak(plan), Work::Requests(work)) => Some(peak::Quest { plan, work }),
            _ => None,
        }
    }

    /// Records how a run ended.
    fn end(&self, result: Result<StoppedBy, RunError>, claim: &MachineClaim) -> Result<StoppedBy, RunError> {
        let ended = match &result {
            Ok(stopped_by) => *stopped_by,
            // A part that was cut short by Ctrl-C did not fail.
            Err(_) if self.interrupted.load(Ordering::Relaxed) => StoppedBy::Interrupted,
            Err(_) => StoppedBy::Failed,
        };
        let lost = match &result {
            Err(lost @ RunError::GeneratorLost { .. }) => {
                Some(Warning { label: "generator-lost".to_owned(), sentence: lost.to_string() })
            }
            _ => None,
        };
        let written = self.dir.write_end(ended, claim.others().into_iter().chain(lost).collect());
        if result.is_ok() {
            written?;
        }
        result
    }

    fn environment(
        &self,
        progress: &mut dyn RunProgress,
    ) -> Result<(Placement, Environment, MachineClaim), RunError> {
        let allowed = bakeoff_sys::affinity::allowed().map_err(RunError::System)?;
        let plan = self.plan;
        let (generator, subject) = (plan.generator_cores.as_deref(), plan.subject_cores.as_deref());
        let placement = environment::placement(generator, subject, &allowed, &environment::siblings(), 0)?;
        let (mut facts, seen) = environment::examine();
        facts.push(Fact { name: "generator_driver".to_owned(), value: bakeoff_loadgen::DRIVER.to_owned() });
        let need = self.need();
        self.ensure_ports(seen.port_range)?;
        environment::ensure_descriptors(need.connections)?;
        let claim = environment::claim(&plan.name, &[&placement.subject[..], &placement.generator].concat());
        let mut warnings = Vec::from_iter(claim.found());
        warnings.iter().for_each(|other| progress.stage(&other.sentence));
        warnings.extend(environment::warnings(&seen, &placement, &need));
        warnings.extend(kernel_threads(plan));
        warnings.extend(unchecked(plan));
        warnings.extend(left_out(plan));
        warnings.extend(receive_interrupts(self.generators));
        let environment = Environment {
            facts,
            generator_cores: placement.generator.clone(),
            subject_cores: placement.subject.clone(),
            disjoint: placement.disjoint,
            warnings,
        };
        Ok((placement, environment, claim))
    }

    /// The pilot, and the schedule that follows from it.
    fn course(
        &self,
        bench: &mut dyn Bench,
        environment: &Environment,
        progress: &mut dyn RunProgress,
    ) -> Result<RoundSchedule, RunError> {
        progress.stage("sizing the slice: each arm is tried");
        let pilot = pilot::try_arms(self, bench)?;
        let restarts = design::restarts(self.plan, bench.start_time());
        progress.stage("sizing the slice: what else a round takes");
        let restart = pilot::rehearse_start(self, bench, &restarts)?;
        let plan = self.plan;
        let names = plan.names();
        let blocks = blocks::blocks(&names, plan.baseline_name(), &strata(plan));
        let facts = design::Facts {
            plan,
            primary: self.primary(bench),
            tried: &pilot.tried,
            of: pilot.of,
            subject_cores: environment.subject_cores.len(),
            generator_cores: environment.generator_cores.len(),
            blocks: blocks.len(),
        };
        let (reason, design) = match design::choose(&facts)? {
            design::Chosen::Pairs(reason) => (reason, RoundDesign::Pairs),
            design::Chosen::Duet(reason) => (reason, RoundDesign::Duet),
        };
        let blocks = if design == RoundDesign::Duet { blocks } else { Vec::new() };
        let in_slots = blocks::indexed(&blocks, &names);
        let loads = self.loads(bench, &facts, design, &in_slots[0])?;
        let given = budget::Given {
            plan: self.plan,
            pilot: &pilot,
            restarts: &restarts,
            restart,
            sizing: bench.sized(),
            own: &bench.own_slices(),
            in_parts: bench.parts(),
            blocks: &in_slots.iter().map(|block| block.arms.len()).collect::<Vec<_>>(),
            left: self.left(),
            quantiles: self.quantiles,
        };
        let rounds = match &loads {
            None => budget::pairs(&given),
            Some(loads) => budget::loads(&given, loads),
        };
        let decide_at = loads.map_or(0, |loads| loads.decide_at as u32);
        let budget::Rounds { requests, reason: size_reason, parts, looks, loads, after, mut warnings } =
            rounds;
        warnings.extend(pilot.warnings);
        Ok(RoundSchedule {
            requests,
            reason: size_reason,
            looks: looks.looks,
            design: DesignSetup { design, reason, parts, blocks, loads, decide_at, after },
            restarts,
            warnings,
        })
    }

    /// The loads of every round; `None`: the plan's own clock alone.
    fn loads(
        &self,
        bench: &mut dyn Bench,
        facts: &design::Facts<'_>,
        design: RoundDesign,
        block: &blocks::Block,
    ) -> Result<Option<budget::Loads>, RunError> {
        if design == RoundDesign::Pairs && self.plan.loads.is_none() {
            return Ok(None);
        }
        let planned = facts.planned();
        // A server that bakeoff did not start is not asked for its maximum if rates set the load.
        let given = match &self.plan.loads {
            Some(loads) => {
                loads.loads.iter().find_map(|load| load.rate.given()).filter(|_| !loads.has_shares())
            }
            None => planned,
        };
        let capacity = match given {
            Some(rate) => rate,
            None => bench.capacity(facts.of, self.left())?,
        };
        let (all, decide_at) = design::loads(self.plan.loads.as_ref(), planned, capacity);
        let overhead = match (design, all.get(decide_at)) {
            (RoundDesign::Duet, Some((_, rate))) => {
                pilot::rehearse_duet(self, bench, (*rate, design::slots(*rate)), block)?
            }
            _ => Nanos::ZERO,
        };
        Ok(Some(budget::Loads { all, decide_at, design, overhead, has_full_speed: planned.is_none() }))
    }

    /// The figure that verdicts stand on.
    fn primary<'p>(&'p self, bench: &dyn Bench) -> &'p str {
        self.plan.primary.as_deref().unwrap_or_else(|| primary(&self.plan.work, bench))
    }

    fn setup(
        &self,
        bench: &dyn Bench,
        course: RoundSchedule,
        mut environment: Environment,
    ) -> Result<Setup, RunError> {
        let plan = self.plan;
        environment.warnings.extend(course.warnings.iter().cloned());
        let judged = plan.arms.len() - plan.baselines.all().count();
        let (margin, margin_amount) = match plan.margin {
            Margin::Share(share) => (share, None),
            Margin::Amount(ns) => (DEFAULT_MARGIN, Some(ns)),
        };
        let load = plan.load_in_words();
        let mut subjects: BTreeMap<String, SubjectSetup> = BTreeMap::new();
        for (index, name) in plan.names().into_iter().enumerate() {
            let arm = plan.arm_of(&name);
            let levels = arm.map(|arm| arm.levels.clone()).unwrap_or_default();
            let says = arm.and_then(|arm| arm.says.clone());
            let rate_per_s = arm.and_then(|arm| own_rate(plan, arm));
            subjects.insert(name, SubjectSetup { levels, says, rate_per_s, ..bench.subject(index) });
        }
        Ok(Setup {
            schema: SETUP_SCHEMA.to_owned(),
            bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
            name: plan.name.clone(),
            plan_sha256: digest::sha256(&[plan.text.as_bytes()]),
            base_dir: plan.base_dir.display().to_string(),
            command_line: self.command_line.clone(),
            started: jiff::Timestamp::now().to_string(),
            extent: plan.extent,
            seed: plan.seed,
            margin,
            margin_amount,
            at_per_s: plan.at.get(),
            budget_ns: plan.budget.get(),
            rounds_budget_ns: self.left().get(),
            max_rounds: plan.max_rounds,
            precision: plan.precision.map(Ratio::get),
            level: level(judged, course.looks.len()).get(),
            looks: course.looks.clone(),
            primary: self.primary(bench).to_owned(),
            arms: plan.names(),
            baseline: plan.baseline_name().to_owned(),
            strata: strata(plan),
            load,
            max_errors: plan.max_errors.get(),
            rate_per_s: rate(plan),
            max_lateness_ns: bench.max_lateness().map(Nanos::get),
            design: course.design.clone(),
            restarts: course.restarts.clone(),
            factors: plan.factors.iter().map(factor_setup).collect(),
            first_uses: first_uses(plan),
            violations: plan.violations.as_ref().map(violation_setup),
            study: plan.study.clone(),
            peak: None,
            link: bench.link(),
            places: bench.places(),
            address: self.generators.address.filter(|_| !self.generators.places.is_empty()),
            workload: WorkloadSetup { requests_of: own_slices(plan), ..sized(bench.workload(), &course) },
            subjects,
            environment,
        })
    }

    /// Time since the command began.
    pub(crate) fn elapsed(&self) -> Nanos {
        self.clock.now().since(self.began)
    }

    /// Time left of the budget.
    pub(crate) fn left(&self) -> Nanos {
        self.plan.budget.since(self.elapsed())
    }
}

/// Warnings of kernel threads that work for a layer and are no process of its arm.
fn kernel_threads(plan: &Plan) -> Vec<Warning> {
    let mut arms: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for arm in &plan.arms {
        for layer in &arm.layers {
            if let Some(threads) = &layer.kernel_threads {
                arms.entry((&layer.name, threads)).or_default().push(&arm.name);
            }
        }
    }
    let warning = |((layer, threads), arms): (_, Vec<&str>)| Warning {
        label: "kernel-threads".to_owned(),
        sentence: format!(
            "{threads} in the kernel work for the layer {layer}: their CPU is not in that of {}, but in the machine's",
            arms.join(", ")
        ),
    };
    arms.into_iter().map(warning).collect()
}

/// A warning that a part of the work is in nobody's account if load comes from other hosts.
fn receive_interrupts(generators: &Generators) -> Option<Warning> {
    (!generators.places.is_empty()).then(|| Warning {
        label: "receive-interrupts".to_owned(),
        sentence: "The load comes from other hosts: packets are received in soft interrupts of this machine, mostly charged to \
                   no process, so they are in path_cpu_per_request and not in the cost of an arm"
            .to_owned(),
    })
}

/// Warnings of arms that this machine has no program for.
fn left_out(plan: &Plan) -> impl Iterator<Item = Warning> + '_ {
    plan.left_out.iter().map(|(arm, need)| Warning {
        label: "left-out".to_owned(),
        sentence: format!("{arm} is left out: {need}"),
    })
}

/// A warning of arms that serve the workload's site beside others that do not: then it is checked for none.
fn unchecked(plan: &Plan) -> Option<Warning> {
    let Work::Requests(RequestWork { source: RequestSource::Replay { .. }, .. }) = &plan.work else {
        return None;
    };
    let (with, without): (Vec<&Arm>, Vec<&Arm>) = plan.arms.iter().partition(|arm| arm.serves_site);
    let names = |arms: &[&Arm]| arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>().join(", ");
    (!with.is_empty() && !without.is_empty()).then(|| Warning {
        label: "unchecked".to_owned(),
        sentence: format!(
            "The site of the log is made for none, and no reply is checked, since {} has content of its own: its \
             configuration never says {{root}}, or it is a URL. What is at {{root}} of {} is empty",
            names(&without),
            names(&with)
        ),
    })
}

/// The rate of the plan's clock, if it is the same for all arms and clients.
fn rate(plan: &Plan) -> Option<f64> {
    let Work::Requests(work) = &plan.work else { return None };
    let alike = work.populations.is_empty() && plan.arms.iter().all(|arm| arm.work(work).clock == work.clock);
    design::planned_rate(work).filter(|_| alike).map(PerSecond::get)
}

/// The rate of an arm's clock, where arms differ in it.
fn own_rate(plan: &Plan, arm: &Arm) -> Option<f64> {
    let Work::Requests(work) = &plan.work else { return None };
    let is_own = work.populations.is_empty() && rate(plan).is_none();
    design::planned_rate(arm.work(work)).filter(|_| is_own).map(PerSecond::get)
}

/// None if all arms are compared with one.
fn strata(plan: &Plan) -> Vec<StratumSetup> {
    let names = plan.names();
    let of = |baseline: usize| {
        let own: Vec<&str> =
            plan.baselines.stratum(baseline).map(|arm| plan.arms[arm].name.as_str()).collect();
        let is_own = |name: &&String| own.contains(&name.strip_suffix('\'').unwrap_or(name));
        StratumSetup {
            name: plan.baselines.stratum_name(baseline, &plan.arms, &plan.factors),
            baseline: plan.arms[baseline].name.clone(),
            arms: names.iter().filter(is_own).cloned().collect(),
        }
    };
    match plan.baselines.all().count() {
        1 => Vec::new(),
        _ => plan.baselines.all().map(of).collect(),
    }
}

fn factor_setup(factor: &Factor) -> FactorSetup {
    let Factor { name, levels, numbers } = factor.clone();
    FactorSetup { name, levels, numbers }
}

fn first_uses(plan: &Plan) -> BTreeMap<String, String> {
    plan.arms.iter().filter_map(|arm| Some((arm.name.clone(), arm.first_use_of.clone()?))).collect()
}

fn own_slices(plan: &Plan) -> BTreeMap<String, u64> {
    let own = |name: String| Some((plan.arm_of(&name)?.slice_requests?, name));
    plan.names().into_iter().filter_map(own).map(|(count, name)| (name, count)).collect()
}

fn violation_setup(plan: &ViolationPlan) -> ViolationSetup {
    let what = match &plan.what {
        Violations::Urls(urls) => urls.join(", "),
        Violations::Files(files) => format!("{files} files of the site, altered on disk"),
        Violations::Digests(files) => format!("{files} files that are not as their owner signed them"),
        Violations::Denied(files) => format!("{files} files that must not open"),
    };
    let noted = matches!(plan.what, Violations::Digests(_));
    ViolationSetup { share: plan.share.get(), what, noted, enforced_by: plan.enforced_by.clone() }
}

/// The workload with its size and the reason for it: its own, or the planned one.
fn sized(workload: WorkloadSetup, course: &RoundSchedule) -> WorkloadSetup {
    let own = (!workload.slice_reason.is_empty()).then(|| workload.slice_reason.clone());
    WorkloadSetup {
        slice_requests: course.requests as u64,
        slice_reason: own.unwrap_or_else(|| course.reason.clone()),
        ..workload
    }
}

fn primary(work: &Work, bench: &dyn Bench) -> &'static str {
    match work {
        Work::Command(_) => ELAPSED,
        Work::Files(files) if !files.cache.drops() && bench.has_cpu() => SUBJECT_CPU,
        Work::Files(_) | Work::Calls(_) => OPERATION_TIME,
        Work::Requests(work) if bench.has_cpu() && !work.refusals.is_empty() => SUBJECT_CPU_PER_REPLY,
        Work::Requests(_) if bench.has_cpu() => SUBJECT_CPU,
        Work::Requests(_) => RESPONSE_P50,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_root_of_its_own_takes_the_site_from_all_and_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let arm = |name: &str, root: &str| {
            std::fs::write(dir.path().join(name), format!("listen {{host}}:{{port}}; root {root};")).unwrap();
            format!("[arm.{name}]\nserver = \"nginx\"\nconfig = \"{name}\"\n")
        };
        let head = "[experiment]\nbaseline = \"a\"\n[workload]\nkind = \"replay\"\nlog = \"l\"\n";
        let said = |other: &str| {
            let text = format!("{head}{}{}", arm("a", "{root}"), arm("b", other));
            unchecked(&Plan::parse("test", "plan.toml", &text, dir.path()).unwrap())
                .map(|warning| warning.sentence)
        };
        let words = said("/srv").unwrap();
        assert!(
            words.contains("since b has content of its own") && words.contains("{root} of a is empty"),
            "{words}"
        );
        assert_eq!(said("{root}/below"), None);
    }
}
