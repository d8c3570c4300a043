//! Check of this machine for what a plan names: files, programs, cores, and names in braces that will be filled in.
//!
//! A run finds out too, minutes later. All missing things are reported at once.

use super::{Checked, Context};
use crate::error::{Faults, suggestion};
use crate::expand::Cell;
use crate::file::{ArmWhat, FrontWhat, OneOrMany, PlanFile, SourceSection, Spanned, WorkloadSection, is_on};
use bakeoff_subject::{ConfigError, FURTHER_PORTS, Product, Substitutions, resolve_program};
use std::path::Path;

/// Substitutions besides the plan's own names.
const NAMES: [&str; 6] = ["host", "port", "root", "cert", "key", "dir"];

impl Context<'_> {
    pub(super) fn here(&self, file: &PlanFile, cells: &[Cell], cores: &[usize]) -> Checked<()> {
        let mut found = vec![self.log(file), self.cores_are_here(file, cores)];
        found.extend(file.front.iter().map(|(_, front)| match &front.what {
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
                known.values.extend(["layers", "bakeoff"].map(|name| (name.to_owned(), String::new())));
                self.words_of(argv, &known)?;
                self.program(argv, false)
            }),
            ArmWhat::Origin(_) | ArmWhat::Url(..) | ArmWhat::Directory(_) => Ok(()),
        }
    }

    /// Arms whose programs are here, and those that are left out with the first program they lack.
    pub(super) fn left_out(&self, cells: Vec<Cell>) -> (Vec<Cell>, Vec<(String, String)>) {
        let (mut here, mut out) = (Vec::new(), Vec::new());
        for cell in cells {
            match self.lacks(&cell) {
                Some(program) => out.push((cell.name.as_ref().clone(), program)),
                None => here.push(cell),
            }
        }
        (here, out)
    }

    fn lacks(&self, cell: &Cell) -> Option<String> {
        let ArmWhat::Directory(own) = &cell.section.what else { return None };
        let mut needs = own.needs.iter().flat_map(|needs| needs.as_ref());
        needs.find(|program| !self.has_program(program)).cloned()
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

/// All substitutions of an arm's start, with placeholders for values that do not matter.
fn filled_in(cell: &Cell) -> Substitutions {
    let tls = is_on(&cell.section.has.stand.tls);
    let mut values = cell.values.clone();
    values.extend(FURTHER_PORTS.map(|name| (name.to_owned(), String::new())));
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
}
