//! Check of `[arm.NAME]`: one server or one command.

use super::super::expand::Cell;
use super::super::file::{ArmGroups, ArmSection, ArmWhat, OneOrMany, PlanFile, RunSection, Spanned, is_on};
use super::super::{Arm, ArmCalls, ArmCommand, ArmKind, Work};
use super::named::{DOTTED, env, text};
use super::{Checked, Context, Typed};
use bakeoff_loadgen::Trust;
use bakeoff_subject::{Burn, FrontSpec, LayerSpec, Spec, WrapSpec, Written, language};

/// Names that arms may refer to.
pub(super) struct Known {
    pub(super) layers: Vec<LayerSpec>,
    pub(super) fronts: Vec<FrontSpec>,
    pub(super) wraps: Vec<WrapSpec>,
}

impl Context<'_> {
    pub(super) fn arm(&self, cell: &Cell, file: &PlanFile<'_>, work: &Work, known: &Known) -> Checked<Arm> {
        let (name, w) = (&cell.name, &file.workload);
        self.demand_name(name, "name for an arm", DOTTED)?;
        let (has, asked) = (&cell.section.has, &cell.section.has.asked);
        let what = self.what(name, &cell.section, work)?;
        let fresh = self.fresh(&cell.section)?;
        let fronts = self.fronts(has, &what, &known.fronts)?;
        let trust = match &asked.cacert {
            _ if is_on(&asked.insecure) => Some(Trust::Anyone),
            Some(file) => Some(Trust::File(self.base.join(file.as_ref()))),
            None => None,
        };
        Ok(Arm {
            name: name.as_ref().clone(),
            says: text(&has.row.says),
            serves_site: self.serves_site(&what),
            trust,
            certificate: self.certificate(&has.stand, &what, &fronts)?,
            start_timeout: self.quantity(&has.stand.start_timeout, "10s")?,
            levels: cell.levels.clone(),
            values: cell.values.clone(),
            layers: self.layers(name, &has.under, &known.layers)?,
            client: self.client(asked, w.requests(), &what, (&fronts, fresh))?,
            populations: file
                .population
                .iter()
                .map(|of| self.client(asked, Some(&of.requests), &what, (&fronts, fresh)))
                .collect::<Checked<_>>()?,
            fronts,
            wraps: self.wraps(&has.start, &known.wraps)?,
            what,
            prepare: self.hook(&has.stand.prepare)?,
            directives: self.directives(&cell.section.what)?,
            http_directives: self.http_directives(&cell.section.what)?,
            allowed_upstreams: self.allowed_upstreams(&cell.section.what)?,
            limits: self.limits(has.stand.limits.as_ref())?,
            proof: has.told.proof.as_ref().map(|argv| self.argv(argv)).transpose()?,
            fresh,
            first_use_of: text(&asked.first_use_of),
            urls: self.own_urls(asked, work)?,
            slice_requests: self.own_slice(asked, work)?,
            load: None,
        })
    }

    /// Whether the arm serves the site: our own set-ups do, others do if they contain `{root}` or are adopted.
    fn serves_site(&self, what: &ArmKind) -> bool {
        match what {
            ArmKind::Server(Spec::Origin { .. } | Spec::Product { config: None, .. }) => true,
            // An unreadable file is reported by the code that starts the server.
            ArmKind::Server(Spec::Product { product, config: Some(path), .. }) => {
                let serves = |text: &str| text.contains("{root}") || language(*product, text).is_some();
                match Written::meant(path) {
                    Some(name) => self.text_of(name).is_some_and(serves),
                    None => std::fs::read_to_string(path).is_ok_and(|text| serves(&text)),
                }
            }
            ArmKind::Server(Spec::Command { argv, .. }) => argv.iter().any(|word| word.contains("{root}")),
            ArmKind::Server(Spec::Proxy(_) | Spec::Url { .. }) => false,
            ArmKind::Command(_) | ArmKind::Files(_) | ArmKind::Calls(_) => false,
        }
    }

    fn what(&self, name: &Spanned<String>, arm: &ArmSection, work: &Work) -> Checked<ArmKind> {
        let tls = is_on(&arm.has.stand.tls);
        Ok(ArmKind::Server(match &arm.what {
            ArmWhat::Origin(own) => {
                let time = |key: &Typed| key.is_some().then(|| self.quantity(key, "2us")).transpose();
                let burn = Burn {
                    request: time(&own.burn)?,
                    in_flight: time(&own.burn_in_flight)?,
                    wakeup: time(&own.burn_per_wakeup)?,
                };
                Spec::Origin { tls, burn }
            }
            ArmWhat::Product(product, own) => {
                let config = own.config.as_ref().map(|config| self.config(config));
                Spec::Product { product: *product, config, tls }
            }
            ArmWhat::Command(argv, own) => {
                Spec::Command { argv: self.argv(argv)?, ready: text(&own.ready), env: env(&own.env), tls }
            }
            ArmWhat::Url(url, own) => {
                Spec::Url { url: url.as_ref().clone(), pid: own.pid.as_ref().map(|pid| *pid.as_ref()) }
            }
            ArmWhat::Run(own) => return self.arm_command(name, own, &arm.has).map(ArmKind::Command),
            ArmWhat::Directory(own) => {
                return self.arm_files(name, own, &arm.has.told, work).map(ArmKind::Files);
            }
            ArmWhat::Calls(own) => return Ok(ArmKind::Calls(ArmCalls { env: env(&own.env) })),
        }))
    }

    fn arm_command(&self, name: &Spanned<String>, own: &RunSection, has: &ArmGroups) -> Checked<ArmCommand> {
        let Some(command) = &own.command else {
            let what = format!("the arm `{}` has no command", name.as_ref());
            return self.wrong(name.span(), what, "give it `command`, or give the workload one");
        };
        let planned = ArmCommand {
            argv: self.argv(command)?,
            setup: self.hook(&own.setup)?,
            prepare: self.hook(&own.prepare)?,
            cleanup: self.hook(&own.cleanup)?,
            env: env(&own.env),
        };
        let hooks = planned.setup.iter().chain(&planned.prepare).chain(&planned.cleanup).flatten();
        // The directory as the layers show it has a name of its own.
        let shown = |word: &&String| has.under.layers.is_some() && word.contains("{root}");
        let words = planned.argv.iter().filter(|word| !shown(word)).chain(hooks);
        let servers = ["{host}", "{port}", "{root}", "{cert}", "{key}"];
        self.only_for_servers(name, words, &servers, "{dir} is the arm's private directory")?;
        Ok(planned)
    }

    /// Refuses substitutions that an arm without a port or a site does not have.
    pub(super) fn only_for_servers<'w>(
        &self,
        name: &Spanned<String>,
        mut words: impl Iterator<Item = &'w String>,
        strange: &[&str],
        help: &str,
    ) -> Checked<()> {
        let Some(other) = words.find_map(|word| strange.iter().find(|other| word.contains(**other))) else {
            return Ok(());
        };
        let what = format!("a command of `{}` says {other}, which only servers have", name.as_ref());
        self.wrong(name.span(), what, help)
    }

    pub(super) fn argv(&self, argv: &Spanned<Vec<String>>) -> Checked<Vec<String>> {
        let none = argv.when(argv.as_ref().first().is_none_or(String::is_empty));
        self.refuse(none, "there is no program", "such as [\"./server\", \"--port\", \"{port}\"]")?;
        Ok(argv.as_ref().clone())
    }

    /// Nothing, a command, or several one after the other.
    pub(super) fn hook(&self, hook: &Option<Spanned<OneOrMany>>) -> Checked<Vec<Vec<String>>> {
        let Some(hook) = hook else { return Ok(Vec::new()) };
        let commands = match hook.as_ref() {
            OneOrMany::One(argv) => vec![argv.clone()],
            OneOrMany::Many(list) => list.clone(),
        };
        let is_none = |argv: &Vec<String>| argv.first().is_none_or(String::is_empty);
        let none = hook.when(commands.iter().any(is_none));
        self.refuse(none, "there is no program", "such as [\"make\", \"clean\"]")?;
        Ok(commands)
    }
}
