//! Check of this machine for what a plan names: files, programs, cores, and names in braces that will be filled in.
//!
//! A run finds out too, minutes later. All missing things are reported at once.

use super::{Checked, Context};
use crate::error::{Faults, suggestion};
use crate::expand::{Cell, Factor};
use crate::file::{
    ArmWhat, BaselineEntry, FrontWhat, OneOrMany, PlanFile, SourceSection, Spanned, WorkloadSection, is_on,
};
use crate::needs::Need;
use bakeoff_subject::{ConfigError, FURTHER_PORTS, Product, Substitutions, resolve_program};
use std::path::Path;

/// Substitutions besides the plan's own names.
const NAMES: [&str; 6] = ["host", "port", "root", "cert", "key", "dir"];

impl Context<'_> {
    pub(super) fn here(&self, file: &PlanFile, cells: &[Cell], cores: &[usize]) -> Checked<()> {
        let mut found = vec![self.log(file), self.cores_are_here(file, cores)];
        let lacks = |cell: &Cell| match self.lacks(file, cell) {
            Some(need) => {
                self.wrong(cell.name.span(), need.to_string(), "without it this plan has nothing to compare")
            }
            None => Ok(()),
        };
        found.extend(cells.iter().find_map(|cell| lacks(cell).err()).map(Err));
        let is_here = |needs: &Option<Spanned<Vec<Need>>>| {
            needs.iter().flat_map(|needs| needs.as_ref()).all(|need| need.is_here(self.base))
        };
        let fronts = file.front.iter().filter(|(_, front)| is_here(&front.told.needs));
        found.extend(fronts.map(|(_, front)| match &front.what {
            FrontWhat::Product(own) => {
                own.config.as_ref().map_or(Ok(()), |config| self.readable(config).map(drop))
            }
            FrontWhat::Command(own) => self.program(&own.command, false),
            FrontWhat::Attach(own) => self.program(&own.attach, false),
            FrontWhat::Rules(own) if file.file.keys().any(|name| name.as_ref() == own.rules.as_ref()) => {
                Ok(())
            }
            FrontWhat::Rules(own) => self.readable(&own.rules).map(drop),
        }));
        found.extend(cells.iter().map(|cell| self.arm_is_here(file, cell)));
        let faults = Faults::default();
        found.into_iter().for_each(|part| {
            faults.keep(part);
        });
        if faults.is_empty() { Ok(()) } else { Err(faults.into_one()) }
    }

    fn log(&self, file: &PlanFile) -> Checked<()> {
        let Some(SourceSection::Replay(replay)) = file.workload.requests().map(|requests| &requests.source)
        else {
            return Ok(());
        };
        let own = replay.log.as_ref().filter(|log| !log.as_ref().starts_with("builtin:"));
        own.map_or(Ok(()), |log| self.there(log))
    }

    fn there(&self, path: &Spanned<String>) -> Checked<()> {
        // A pipe is good, too.
        std::fs::metadata(self.base.join(path.as_ref())).map(drop).or_else(|why| self.unreadable(path, &why))
    }

    fn readable(&self, path: &Spanned<String>) -> Checked<String> {
        if let Some(text) = self.text_of(path.as_ref()) {
            return Ok(text.to_owned());
        }
        std::fs::read_to_string(self.base.join(path.as_ref())).or_else(|why| self.unreadable(path, &why))
    }

    fn unreadable<T>(&self, path: &Spanned<String>, why: &std::io::Error) -> Checked<T> {
        let what = format!("{}: {why}", self.base.join(path.as_ref()).display());
        self.wrong(path.span(), what, format!("paths are absolute, or from {}", self.base.display()))
    }

    fn cores_are_here(&self, file: &PlanFile, allowed: &[usize]) -> Checked<()> {
        let e = &file.experiment;
        for list in [&e.generator_cores, &e.subject_cores].into_iter().flatten() {
            if let Some(core) = list.as_ref().iter().find(|core| !allowed.contains(core)) {
                let all: Vec<String> = allowed.iter().map(usize::to_string).collect();
                let what = format!("there is no core {core} for this process");
                return self.wrong(list.span(), what, format!("there are {}", all.join(", ")));
            }
        }
        Ok(())
    }

    fn arm_is_here(&self, file: &PlanFile, cell: &Cell) -> Checked<()> {
        let has = &cell.section.has;
        match &cell.section.what {
            ArmWhat::Product(product, own) => {
                let Some(config) = &own.config else { return Ok(()) };
                let text = self.readable(config)?;
                // Caddy has names in braces of its own.
                if *product != Product::Caddy {
                    let put_in = filled_in(cell).file(&text).map(drop);
                    put_in.or_else(|why| self.not_filled(config, &format!("{}: ", config.as_ref()), &why))?;
                }
                Ok(())
            }
            ArmWhat::Command(argv, _) => {
                self.words(argv, cell)?;
                self.program(argv, has.stand.prepare.is_some())
            }
            ArmWhat::Run(own) => match &file.workload {
                WorkloadSection::Command(common) => {
                    let hooks: [&Option<Spanned<OneOrMany>>; 4] =
                        [&own.setup, &own.prepare, &common.setup, &common.prepare];
                    own.command.as_ref().map_or(Ok(()), |argv| {
                        self.words(argv, cell)?;
                        self.program(argv, hooks.into_iter().any(Option::is_some))
                    })
                }
                _ => Ok(()),
            },
            ArmWhat::Calls(_) => has.start.wrap.as_ref().map_or(Ok(()), |argv| {
                let mut known = filled_in(cell);
                known
                    .values
                    .extend(["outside", "layers", "bakeoff"].map(|name| (name.to_owned(), String::new())));
                self.words_of(argv, &known)?;
                self.program(argv, false)
            }),
            ArmWhat::Origin(_) | ArmWhat::Url(..) | ArmWhat::Directory(_) => Ok(()),
        }
    }

    /// Arms of which this machine has all that they need, and those that are left out with what it lacks first. An arm
    /// whose baseline is left out has nothing to be compared with, and a baseline that no arm is left of measures nothing.
    /// Where nothing would be left, nothing is left out: the plan is good, and not for this machine.
    pub(super) fn left_out(
        &self,
        file: &PlanFile<'_>,
        cells: Vec<Cell>,
        factors: &[Factor],
    ) -> (Vec<Cell>, Vec<(String, Need)>) {
        let lacking = self.lacking(file, &cells, factors);
        if self.elsewhere || lacking.iter().all(Option::is_some) {
            return (cells, Vec::new());
        }
        let (mut here, mut out) = (Vec::new(), Vec::new());
        for (cell, need) in cells.into_iter().zip(lacking) {
            match need {
                Some(need) => out.push((cell.name.as_ref().clone(), need)),
                None => here.push(cell),
            }
        }
        (here, out)
    }

    /// What this machine lacks for each arm, or for the comparison that it is in.
    fn lacking(&self, file: &PlanFile<'_>, cells: &[Cell], factors: &[Factor]) -> Vec<Option<Need>> {
        let own: Vec<Option<Need>> = cells.iter().map(|cell| self.lacks(file, cell)).collect();
        let baseline = file.experiment.baseline.as_ref();
        let of: Vec<Option<usize>> =
            cells.iter().map(|cell| baseline_of(baseline, factors, cells, cell)).collect();
        let others = |arm: usize| (0..cells.len()).filter(move |other| *other != arm);
        let lacking = |arm: usize| {
            let need = own[arm].clone();
            need.or_else(|| of[arm].and_then(|baseline| own[baseline].clone())).or_else(|| {
                // Of a baseline: that of the last arm that was to be compared with it.
                let mut compared = others(arm).filter(|other| of[*other] == Some(arm)).peekable();
                compared.peek()?;
                compared.map(|other| own[other].clone()).collect::<Option<Vec<_>>>()?.pop()
            })
        };
        (0..cells.len()).map(lacking).collect()
    }

    fn lacks(&self, file: &PlanFile<'_>, cell: &Cell) -> Option<Need> {
        let has = &cell.section.has;
        let names = |list: &Option<Spanned<Vec<Spanned<String>>>>| -> Vec<String> {
            list.iter().flat_map(|list| list.as_ref()).map(|name| name.as_ref().clone()).collect()
        };
        let (wraps, layers, fronts) =
            (names(&has.start.wraps), names(&has.under.layers), names(&has.asked.front));
        let of_wraps = file.wrap.iter().filter(|(name, _)| wraps.contains(name.as_ref()));
        let of_layers = file.layer.iter().filter(|(name, _)| layers.contains(name.as_ref()));
        let of_fronts = file.front.iter().filter(|(name, _)| fronts.contains(name.as_ref()));
        let all = std::iter::once(&has.row.needs)
            .chain(of_wraps.map(|(_, wrap)| &wrap.needs))
            .chain(of_layers.map(|(_, layer)| &layer.needs))
            .chain(of_fronts.map(|(_, front)| &front.told.needs));
        all.flatten().flat_map(|needs| needs.as_ref()).find(|need| !need.is_here(self.base)).cloned()
    }

    fn has_program(&self, name: &str) -> bool {
        resolve_program(name, self.base).is_some_and(|path| Path::new(&path).is_file())
    }

    /// `makes`: a command before it may make the program.
    fn program(&self, argv: &Spanned<Vec<String>>, makes: bool) -> Checked<()> {
        let Some(name) = argv.as_ref().first().filter(|name| !name.contains('{') && !makes) else {
            return Ok(());
        };
        if self.has_program(name) {
            return Ok(());
        }
        let help = format!("install it, or give its path, absolute or from {}", self.base.display());
        self.wrong(argv.span(), format!("there is no program `{name}` on this machine"), help)
    }

    fn words(&self, argv: &Spanned<Vec<String>>, cell: &Cell) -> Checked<()> {
        self.words_of(argv, &filled_in(cell))
    }

    fn words_of(&self, argv: &Spanned<Vec<String>>, known: &Substitutions) -> Checked<()> {
        let wrong = argv.as_ref().iter().find_map(|word| known.word(word).err());
        wrong.map_or(Ok(()), |why| self.not_filled(argv, "", &why))
    }

    fn not_filled<T>(&self, at: &Spanned<T>, place: &str, why: &ConfigError) -> Checked<()> {
        let ConfigError::Unknown { line, name, more } = why else {
            return self.wrong(at.span(), format!("{place}{why}"), "docs/plans.md lists what is filled in");
        };
        let known: Vec<String> = NAMES
            .iter()
            .copied()
            .chain(more.iter().map(String::as_str))
            .map(|name| format!("{{{name}}}"))
            .collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        let what = format!("{place}{line}nothing is filled in for `{name}`");
        self.wrong(at.span(), what, suggestion(name, &known))
    }
}

/// The baseline of an arm. One that does not exist is told elsewhere.
fn baseline_of(baseline: &BaselineEntry, factors: &[Factor], cells: &[Cell], cell: &Cell) -> Option<usize> {
    match baseline {
        BaselineEntry::Arm(name) => {
            let named = cells.iter().position(|cell| cell.name.as_ref() == name);
            named.or_else(|| cells.iter().position(|cell| cell.template == *name))
        }
        BaselineEntry::Levels(levels) => {
            let mut wanted = cell.levels.clone();
            for (factor, place) in factors.iter().zip(&mut wanted) {
                let fixed = levels.get(&factor.name).map(ToString::to_string);
                let level = fixed.and_then(|fixed| factor.levels.iter().position(|level| *level == fixed));
                *place = level.unwrap_or(*place);
            }
            cells.iter().position(|cell| cell.levels == wanted)
        }
    }
}

/// All substitutions of an arm's start, with placeholders for values that do not matter.
fn filled_in(cell: &Cell) -> Substitutions {
    let tls = is_on(&cell.section.has.stand.tls);
    let mut values = cell.values.clone();
    let further = FURTHER_PORTS.iter().copied().chain(tls.then_some("client_ca"));
    values.extend(further.map(|name| (name.to_owned(), String::new())));
    Substitutions { values, tls: tls.then(Default::default), ..Substitutions::default() }
}

#[cfg(test)]
mod tests {
    use crate::Plan;

    const PLAN: &str = r#"
[experiment]
baseline = "a"
generator_cores = [100000]

[workload]
kind = "replay"
log = "access.log"

[front.before]
product = "squid"
config = "squid.conf"

[arm.a]
server = "nginx"
config = "a.conf"
front = ["before"]

[arm.b]
command = ["./server", "{port}"]

[arm.c]
command = ["sh", "{prot}"]
"#;

    fn here(dir: &std::path::Path, text: &str) -> String {
        let plan = Plan::parse("test", "plan.toml", text, dir).unwrap_or_else(|why| panic!("{why}"));
        plan.here(&[0, 1]).err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[test]
    fn all_that_a_run_would_miss_is_told_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let said = here(dir.path(), PLAN);
        for part in [
            "access.log: No such",
            "no core 100000",
            "squid.conf: No such",
            "a.conf: No such",
            "no program `./server`",
        ] {
            assert!(said.contains(part), "{part}:\n{said}");
        }
        assert!(
            said.contains("nothing is filled in for `{prot}`") && said.contains("did you mean `{port}`?"),
            "{said}"
        );
        assert_eq!(said.matches("error: ").count(), 6, "{said}");
    }

    #[test]
    fn what_is_there_is_good_and_what_a_command_makes_first_is_not_missed() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in
            [("access.log", ""), ("squid.conf", "{upstream}"), ("a.conf", "a\nlisten {prot};")]
        {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let text = PLAN
            .replace("100000", "0")
            .replace("prot", "port")
            .replace("[\"./server\", \"{port}\"]", "[\"./server\", \"{port}\"]\nprepare = [\"make\"]");
        let said = here(dir.path(), &text);
        assert!(said.contains("a.conf: line 2: nothing is filled in for `{prot}`"), "{said}");
        std::fs::write(dir.path().join("a.conf"), "listen {host}:{port};").unwrap();
        let said = here(dir.path(), &text);
        // Only the core may be missing here.
        assert!(said.is_empty() || said.contains("no core 0"), "{said}");
    }

    const FACTORS: &str = "[experiment]\nbaseline = { state = \"off\" }\n[workload]\nkind = \"get\"\nurls = [\"/\"]\n\
        [factors]\nserver = [\"x\", \"y\"]\nstate = [\"off\", \"on\", \"more\"]\n\
        [level.state.on]\nburn = \"1us\"\n[level.state.more]\nburn = \"2us\"\n[level.server.y]\nkeep_alive = false\n\
        [arm.a]\nserver = \"origin\"\n";

    fn arms(text: &str) -> (Vec<String>, Vec<String>) {
        let plan = Plan::parse("test", "plan.toml", text, std::path::Path::new("/")).unwrap();
        let of = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let out = plan.left_out.iter().map(|(arm, need)| format!("{arm}: {need}")).collect();
        (of(plan.arms.iter().map(|arm| arm.name.as_str()).collect()), out)
    }

    #[test]
    fn what_lacks_a_program_goes_with_all_that_is_compared_with_it_alone() {
        let strange = "needs = [\"sh\", { program = \"no-such\", install = \"apt install none\" }]";
        let at = |section: &str| FACTORS.replace(section, &format!("{section}{strange}\n"));
        let (here, out) = arms(&at("[level.state.on]\n"));
        assert_eq!(here, ["x.off", "x.more", "y.off", "y.more"]);
        assert!(
            out[0].starts_with("x.on: ")
                && out[0].contains("`no-such`")
                && out[0].contains("`apt install none`")
        );
        // The whole server, its baseline too.
        assert_eq!(arms(&at("[level.server.y]\n")).0, ["x.off", "x.on", "x.more"]);
        // Nothing is compared with a baseline that is alone.
        let alone = format!(
            "{FACTORS}[[cell]]\nserver = \"x\"\n[[cell]]\nserver = \"y\"\nstate = \"off\"\n[[cell]]\nserver = \"y\"\nstate = \"on\"\n"
        );
        let alone = alone.replace("[level.state.on]\n", &format!("[level.state.on]\n{strange}\n"));
        assert_eq!(arms(&alone).0, ["x.off", "x.more"]);
    }

    #[test]
    fn wraps_and_fronts_have_needs_for_every_arm_with_them() {
        let of = |use_: &str, section: &str| {
            FACTORS.replace("burn = \"2us\"\n", &format!("burn = \"2us\"\n{use_}\n")) + section
        };
        let wrapped = of("wraps = [\"box\"]", "[wrap.box]\nwords = [\"no-such\"]\nneeds = [\"no-such\"]\n");
        assert_eq!(arms(&wrapped).0, ["x.off", "x.on", "y.off", "y.on"]);
        let front = of("front = [\"way\"]", "[front.way]\ncommand = [\"no-such\"]\nneeds = [\"/no/such\"]\n");
        let (here, out) = arms(&front);
        assert_eq!(here, ["x.off", "x.on", "y.off", "y.on"]);
        assert!(out[0].contains("there is no file `/no/such`"), "{out:?}");
        let said = super::tests::here(std::path::Path::new("/"), &front);
        assert!(!said.contains("no-such"), "what is left out is not missed: {said}");
    }

    #[test]
    fn a_plan_of_which_nothing_would_be_left_is_good_and_not_for_this_machine() {
        let text = FACTORS.replace("[arm.a]\n", "[arm.a]\nneeds = [\"no-such\"]\n");
        let (here_, out) = arms(&text);
        assert_eq!((here_.len(), out.len()), (6, 0));
        let said = here(std::path::Path::new("/"), &text);
        assert!(said.contains("there is no program `no-such`"), "{said}");
    }
}
