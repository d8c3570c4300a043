//! From what was typed to what will be done. Every key is either used or refused with a reason.

use super::error::suggestion;
use super::file::{ArmSection, OneOrMany, PlanFile, UrlEntry, WorkloadSection};
use super::{
    Arm, ArmCommand, ArmKind, CommandWork, LoadClock, Plan, PlanError, RequestSource, RequestWork, Work,
};
use crate::shipped;
use bakeoff_loadgen::Trust;
use bakeoff_subject::Spec;
use bakeoff_units::{Bytes, PerSecond, Ratio};
use bakeoff_workload::GetUrl;
use bakeoff_workload::replay::LogSource;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;

/// Where a message points.
struct Context<'a> {
    origin: &'a str,
    text: &'a str,
    base: &'a Path,
}

type Checked<T> = Result<T, PlanError>;

pub(super) fn check(name: &str, origin: &str, text: &str, base: &Path, file: PlanFile) -> Checked<Plan> {
    let cx = Context { origin, text, base };
    let e = &file.experiment;
    let work = cx.work(&file.workload, e.slice_requests.as_ref())?;
    let is_command = matches!(work, Work::Command(_));
    let mut arms = Vec::new();
    for (name, section) in &file.arm {
        arms.push(cx.arm(name, section, &file.workload, is_command)?);
    }
    let baseline = cx.baseline(&e.baseline, &arms)?;
    cx.enough_arms(&e.baseline, &arms, &file, e.allow_equal_arms.unwrap_or(false))?;
    Ok(Plan {
        name: name.to_owned(),
        text: text.to_owned(),
        base_dir: base.to_owned(),
        seed: e.seed.unwrap_or(1),
        baseline,
        margin: cx.positive(e.margin.as_ref(), "1%", Ratio::get)?,
        budget: cx.quantity(e.budget.as_ref(), "5min")?,
        max_rounds: cx.at_least(e.max_rounds.as_ref(), 80, 3)?,
        max_errors: cx.quantity(e.max_errors.as_ref(), "0.1%")?,
        generator_cores: cx.cores(e.generator_cores.as_ref())?,
        subject_cores: cx.cores(e.subject_cores.as_ref())?,
        work,
        arms,
    })
}

impl Context<'_> {
    fn wrong<T>(&self, span: Range<usize>, what: impl AsRef<str>, help: impl AsRef<str>) -> Checked<T> {
        Err(PlanError::at(self.origin, self.text, span, what.as_ref(), Some(help.as_ref())))
    }

    /// A quantity with its unit, or the default.
    fn quantity<T: FromStr<Err: std::fmt::Display>>(
        &self,
        value: Option<&Spanned<String>>,
        default: &str,
    ) -> Checked<T> {
        let text = value.map_or(default, |value| value.as_ref());
        text.parse().or_else(|why: T::Err| {
            self.wrong(
                value.map_or(0..0, Spanned::span),
                why.to_string(),
                format!("the default is \"{default}\""),
            )
        })
    }

    fn positive<T: FromStr<Err: std::fmt::Display> + Copy>(
        &self,
        value: Option<&Spanned<String>>,
        default: &str,
        number: fn(T) -> f64,
    ) -> Checked<T> {
        let quantity: T = self.quantity(value, default)?;
        if number(quantity) > 0.0 {
            return Ok(quantity);
        }
        self.wrong(
            value.map_or(0..0, Spanned::span),
            "this must be above zero",
            format!("the default is \"{default}\""),
        )
    }

    fn at_least<T: Copy + PartialOrd + std::fmt::Display>(
        &self,
        value: Option<&Spanned<T>>,
        default: T,
        least: T,
    ) -> Checked<T> {
        match value {
            None => Ok(default),
            Some(value) if *value.as_ref() >= least => Ok(*value.as_ref()),
            Some(value) => self.wrong(
                value.span(),
                format!("this must be {least} or more"),
                format!("the default is {default}"),
            ),
        }
    }

    fn cores(&self, cores: Option<&Spanned<Vec<usize>>>) -> Checked<Option<Vec<usize>>> {
        match cores {
            Some(list) if list.as_ref().is_empty() => {
                self.wrong(list.span(), "there must be at least one core", "such as [0]")
            }
            Some(list) => Ok(Some(list.as_ref().clone())),
            None => Ok(None),
        }
    }

    fn work(&self, w: &WorkloadSection, slice: Option<&Spanned<u64>>) -> Checked<Work> {
        const KINDS: [&str; 4] = ["get", "replay", "webstone", "command"];
        let kind = w.kind.as_ref().as_str();
        if !KINDS.contains(&kind) {
            return self.wrong(
                w.kind.span(),
                format!("there is no workload `{kind}`"),
                suggestion(kind, &KINDS),
            );
        }
        self.refuse_strangers(w, kind)?;
        if kind == "command" {
            if let Some(slice) = slice {
                return self.wrong(slice.span(), "a command has no requests to count", "take the line out");
            }
            let cold = w.cold.as_ref().is_some_and(|cold| *cold.as_ref());
            return Ok(Work::Command(CommandWork {
                cold,
                time_limit: self.quantity(w.time_limit.as_ref(), "10min")?,
            }));
        }
        let source = match kind {
            "get" => self.get_source(w)?,
            "replay" => self.replay_source(w)?,
            _ => RequestSource::Webstone,
        };
        Ok(Work::Requests(RequestWork {
            source,
            clock: self.clock(w, kind)?,
            keep_alive: w.keep_alive.as_ref().map_or(kind != "webstone", |keep| *keep.as_ref()),
            timeout: self.quantity(w.timeout.as_ref(), "10s")?,
            connections: self.at_least(w.connections.as_ref(), 1000, 1)?,
            slice_requests: slice.map(|n| self.at_least(Some(n), 1, 1)).transpose()?,
        }))
    }

    /// Keys that mean nothing for this kind are errors, not ornaments.
    fn refuse_strangers(&self, w: &WorkloadSection, kind: &str) -> Checked<()> {
        let is = |kinds: &[&str]| kinds.contains(&kind);
        let requests = is(&["get", "replay", "webstone"]);
        let (replay, command) = (is(&["replay"]), is(&["command"]));
        let keys = [
            ("urls", w.urls.as_ref().map(Spanned::span), is(&["get"])),
            ("log", w.log.as_ref().map(Spanned::span), replay),
            ("format", w.format.as_ref().map(Spanned::span), replay),
            ("conditional", w.conditional.as_ref().map(Spanned::span), replay),
            ("max_site", w.max_site.as_ref().map(Spanned::span), replay),
            ("max_unparsable", w.max_unparsable.as_ref().map(Spanned::span), replay),
            ("passes", w.passes.as_ref().map(Spanned::span), replay),
            ("speed", w.speed.as_ref().map(Spanned::span), replay),
            ("clock", w.clock.as_ref().map(Spanned::span), is(&["get", "replay"])),
            ("rate", w.rate.as_ref().map(Spanned::span), is(&["get", "replay"])),
            ("connections", w.connections.as_ref().map(Spanned::span), is(&["get", "replay"])),
            ("robots", w.robots.as_ref().map(Spanned::span), requests),
            ("think", w.think.as_ref().map(Spanned::span), requests),
            ("keep_alive", w.keep_alive.as_ref().map(Spanned::span), requests),
            ("timeout", w.timeout.as_ref().map(Spanned::span), requests),
            ("command", w.command.as_ref().map(Spanned::span), command),
            ("setup", w.setup.as_ref().map(Spanned::span), command),
            ("prepare", w.prepare.as_ref().map(Spanned::span), command),
            ("cleanup", w.cleanup.as_ref().map(Spanned::span), command),
            ("cold", w.cold.as_ref().map(Spanned::span), command),
            ("time_limit", w.time_limit.as_ref().map(Spanned::span), command),
        ];
        for (key, span, allowed) in keys {
            if let Some(span) = span.filter(|_| !allowed) {
                return self.wrong(
                    span,
                    format!("`{key}` has no meaning in a `{kind}` workload"),
                    "take the line out",
                );
            }
        }
        Ok(())
    }

    fn clock(&self, w: &WorkloadSection, kind: &str) -> Checked<LoadClock> {
        let known: &[&str] = match kind {
            "replay" => &["shuffled", "original", "constant", "poisson"],
            "get" => &["closed", "constant", "poisson"],
            _ => &["closed"],
        };
        let name = w.clock.as_ref().map_or(known[0], |clock| clock.as_ref());
        if !known.contains(&name) {
            let span = w.clock.as_ref().map_or(0..0, Spanned::span);
            return self.wrong(
                span,
                format!("a `{kind}` workload has no clock `{name}`"),
                suggestion(name, known),
            );
        }
        self.refuse_clock_strangers(w, name)?;
        match name {
            "constant" | "poisson" => {
                let Some(rate) = &w.rate else {
                    let span = w.clock.as_ref().map_or(0..0, Spanned::span);
                    return self.wrong(
                        span,
                        format!("the clock `{name}` needs a rate"),
                        "add rate = \"1000/s\"",
                    );
                };
                let rate: PerSecond = self.quantity(Some(rate), "1000/s")?;
                Ok(if name == "constant" { LoadClock::Constant(rate) } else { LoadClock::Poisson(rate) })
            }
            "original" => {
                let speed = w.speed.as_ref().map_or(1.0, |speed| *speed.as_ref());
                if !(speed.is_finite() && speed > 0.0) {
                    return self.wrong(
                        w.speed.as_ref().map_or(0..0, Spanned::span),
                        "the speed must be above zero",
                        "1 is as in the log",
                    );
                }
                Ok(LoadClock::Original { speed })
            }
            _ => Ok(LoadClock::Closed {
                robots: self.at_least(w.robots.as_ref(), if kind == "webstone" { 32 } else { 15 }, 1)?,
                think: self.quantity(w.think.as_ref(), "0s")?,
                passes: w.passes.as_ref().map(|passes| self.at_least(Some(passes), 1, 1)).transpose()?,
            }),
        }
    }

    fn refuse_clock_strangers(&self, w: &WorkloadSection, clock: &str) -> Checked<()> {
        let closed = matches!(clock, "closed" | "shuffled");
        let keys = [
            ("robots", w.robots.as_ref().map(Spanned::span), closed),
            ("think", w.think.as_ref().map(Spanned::span), closed),
            ("passes", w.passes.as_ref().map(Spanned::span), clock == "shuffled"),
            ("rate", w.rate.as_ref().map(Spanned::span), matches!(clock, "constant" | "poisson")),
            ("speed", w.speed.as_ref().map(Spanned::span), clock == "original"),
            ("connections", w.connections.as_ref().map(Spanned::span), !closed),
        ];
        for (key, span, allowed) in keys {
            if let Some(span) = span.filter(|_| !allowed) {
                let help = "take the line out, or choose another clock";
                return self.wrong(span, format!("`{key}` has no meaning with the clock `{clock}`"), help);
            }
        }
        Ok(())
    }

    fn get_source(&self, w: &WorkloadSection) -> Checked<RequestSource> {
        let Some(list) = &w.urls else {
            return self.wrong(w.kind.span(), "a `get` workload needs `urls`", "add urls = [\"/\"]");
        };
        let mut urls = Vec::new();
        for entry in list.as_ref() {
            let (path, weight) = match entry.as_ref() {
                UrlEntry::Path(path) => (path.clone(), 1),
                UrlEntry::Weighted(weighted) => (weighted.path.clone(), weighted.weight.unwrap_or(1)),
            };
            if !path.starts_with('/') {
                return self.wrong(
                    entry.span(),
                    format!("`{path}` is no path"),
                    "paths start with /; the server is an arm",
                );
            }
            urls.push(GetUrl { path, weight });
        }
        if urls.iter().all(|url| url.weight == 0) {
            return self.wrong(
                list.span(),
                "there is nothing to ask for",
                "name at least one path with a weight above 0",
            );
        }
        Ok(RequestSource::Get(urls))
    }

    fn replay_source(&self, w: &WorkloadSection) -> Checked<RequestSource> {
        let Some(log) = &w.log else {
            return self.wrong(
                w.kind.span(),
                "a `replay` workload needs a `log`",
                "add log = \"access.log\"",
            );
        };
        let format = w.format.as_ref().map(|format| {
            format.as_ref().parse().or_else(|_| {
                let known = ["common", "combined", "vhost-combined", "nginx-json", "squid"];
                self.wrong(
                    format.span(),
                    format!("there is no log format `{}`", format.as_ref()),
                    suggestion(format.as_ref(), &known),
                )
            })
        });
        let source = match log.as_ref().strip_prefix("builtin:") {
            Some(name) => match shipped::log(name) {
                Some(source) => source,
                None => {
                    return self.wrong(
                        log.span(),
                        format!("there is no bundled log `{name}`"),
                        "the bundled one is `builtin:weblog`",
                    );
                }
            },
            None => LogSource::File(self.base.join(log.as_ref())),
        };
        Ok(RequestSource::Replay {
            log: source,
            format: format.transpose()?,
            conditional: w.conditional.as_ref().is_some_and(|value| *value.as_ref()),
            max_site: self.quantity::<Bytes>(w.max_site.as_ref(), "2GB")?,
            max_unparsable: self.quantity(w.max_unparsable.as_ref(), "10%")?,
        })
    }

    fn arm(
        &self,
        name: &Spanned<String>,
        arm: &ArmSection,
        w: &WorkloadSection,
        is_command: bool,
    ) -> Checked<Arm> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.as_ref().is_empty() || !name.as_ref().chars().all(fits) || name.as_ref().starts_with('.') {
            return self.wrong(
                name.span(),
                format!("`{}` is no name for an arm", name.as_ref()),
                "letters, digits, `-`, `_` and `.`",
            );
        }
        let what = if is_command {
            ArmKind::Command(self.arm_command(name, arm, w)?)
        } else {
            ArmKind::Server(self.server(name, arm)?)
        };
        let insecure = arm.insecure.as_ref().is_some_and(|value| *value.as_ref());
        let trust = match &arm.cacert {
            _ if insecure => Some(Trust::Anyone),
            Some(file) => Some(Trust::File(self.base.join(file.as_ref()))),
            None => None,
        };
        Ok(Arm {
            name: name.as_ref().clone(),
            serves_site: self.serves_site(&what)?,
            what,
            trust,
            start_timeout: self.quantity(arm.start_timeout.as_ref(), "10s")?,
        })
    }

    /// Our own set-ups serve the site, others do when they say `{root}`.
    fn serves_site(&self, what: &ArmKind) -> Checked<bool> {
        Ok(match what {
            ArmKind::Server(Spec::Origin { .. }) => true,
            ArmKind::Server(Spec::Nginx { config, .. } | Spec::Apache { config, .. }) => match config {
                None => true,
                // A file that cannot be read is reported by whoever starts the server.
                Some(path) => std::fs::read_to_string(path).is_ok_and(|text| text.contains("{root}")),
            },
            ArmKind::Server(Spec::Command { argv, .. }) => argv.iter().any(|word| word.contains("{root}")),
            ArmKind::Server(Spec::Url { .. }) | ArmKind::Command(_) => false,
        })
    }

    fn server(&self, name: &Spanned<String>, arm: &ArmSection) -> Checked<Spec> {
        let tls = arm.tls.as_ref().is_some_and(|tls| *tls.as_ref());
        let kind = match (&arm.server, &arm.command, &arm.url) {
            (Some(server), None, None) => server.as_ref().as_str(),
            (None, Some(_), None) => "command",
            (None, None, Some(_)) => "url",
            (None, None, None) => {
                let what = format!("the arm `{}` is no server", name.as_ref());
                return self.wrong(name.span(), what, "give it `server`, `command` or `url`");
            }
            _ => {
                let what = format!("the arm `{}` is more than one server", name.as_ref());
                return self.wrong(name.span(), what, "give it one of `server`, `command` and `url`");
            }
        };
        self.refuse_arm_strangers(arm, kind)?;
        let config = arm.config.as_ref().map(|config| self.base.join(config.as_ref()));
        let own_program = |argv: &Spanned<Vec<String>>| self.argv(argv);
        match kind {
            "origin" => {
                let burn = arm.burn.as_ref().map(|burn| self.quantity(Some(burn), "2us")).transpose()?;
                Ok(Spec::Origin { tls, burn })
            }
            "nginx" => Ok(Spec::Nginx { config, tls }),
            "apache" => Ok(Spec::Apache { config, tls }),
            "command" => Ok(Spec::Command {
                argv: arm.command.as_ref().map(own_program).transpose()?.unwrap_or_default(),
                ready: arm.ready.as_ref().map(|ready| ready.as_ref().clone()),
                env: env(arm),
                tls,
            }),
            "url" => Ok(Spec::Url {
                url: arm.url.as_ref().map(|url| url.as_ref().clone()).unwrap_or_default(),
                pid: arm.pid.as_ref().map(|pid| *pid.as_ref()),
            }),
            other => {
                let span = arm.server.as_ref().map_or(0..0, Spanned::span);
                let help = suggestion(other, &["origin", "nginx", "apache"]);
                self.wrong(
                    span,
                    format!("there is no server `{other}`"),
                    format!("{help}; any other server is a `command`"),
                )
            }
        }
    }

    fn refuse_arm_strangers(&self, arm: &ArmSection, kind: &str) -> Checked<()> {
        let is = |kinds: &[&str]| kinds.contains(&kind);
        let keys = [
            ("config", arm.config.as_ref().map(Spanned::span), is(&["nginx", "apache"])),
            ("tls", arm.tls.as_ref().map(Spanned::span), !is(&["url"])),
            ("env", arm.env.as_ref().map(Spanned::span), is(&["command"])),
            ("ready", arm.ready.as_ref().map(Spanned::span), is(&["command"])),
            ("pid", arm.pid.as_ref().map(Spanned::span), is(&["url"])),
            ("burn", arm.burn.as_ref().map(Spanned::span), is(&["origin"])),
            ("start_timeout", arm.start_timeout.as_ref().map(Spanned::span), !is(&["url"])),
            ("wrap", arm.wrap.as_ref().map(Spanned::span), false),
            ("setup", arm.setup.as_ref().map(Spanned::span), false),
            ("prepare", arm.prepare.as_ref().map(Spanned::span), false),
            ("cleanup", arm.cleanup.as_ref().map(Spanned::span), false),
        ];
        for (key, span, allowed) in keys {
            if let Some(span) = span.filter(|_| !allowed) {
                let what = format!("`{key}` has no meaning for this arm");
                let help = match key {
                    "tls" => "a url says https:// itself",
                    "wrap" | "setup" | "prepare" | "cleanup" => "it belongs to the `command` workload",
                    _ => "take the line out",
                };
                return self.wrong(span, what, help);
            }
        }
        Ok(())
    }

    fn arm_command(
        &self,
        name: &Spanned<String>,
        arm: &ArmSection,
        w: &WorkloadSection,
    ) -> Checked<ArmCommand> {
        let strangers = [
            ("server", arm.server.as_ref().map(Spanned::span)),
            ("url", arm.url.as_ref().map(Spanned::span)),
            ("config", arm.config.as_ref().map(Spanned::span)),
            ("tls", arm.tls.as_ref().map(Spanned::span)),
            ("ready", arm.ready.as_ref().map(Spanned::span)),
            ("burn", arm.burn.as_ref().map(Spanned::span)),
            ("pid", arm.pid.as_ref().map(Spanned::span)),
            ("cacert", arm.cacert.as_ref().map(Spanned::span)),
            ("insecure", arm.insecure.as_ref().map(Spanned::span)),
            ("start_timeout", arm.start_timeout.as_ref().map(Spanned::span)),
        ];
        if let Some((key, span)) = strangers.into_iter().find_map(|(key, span)| Some((key, span?))) {
            return self.wrong(
                span,
                format!("`{key}` has no meaning in a `command` workload"),
                "an arm is a command, or wraps the workload's",
            );
        }
        let Some(command) = arm.command.as_ref().or(w.command.as_ref()) else {
            let what = format!("the arm `{}` has no command", name.as_ref());
            return self.wrong(name.span(), what, "give it `command`, or give the workload one");
        };
        let mut argv = arm.wrap.as_ref().map(|wrap| self.argv(wrap)).transpose()?.unwrap_or_default();
        argv.extend(self.argv(command)?);
        let hook = |own: &Option<Spanned<OneOrMany>>, common: &Option<Spanned<OneOrMany>>| {
            own.as_ref().or(common.as_ref()).map_or(Ok(Vec::new()), |commands| self.hook(commands))
        };
        let planned = ArmCommand {
            argv,
            setup: hook(&arm.setup, &w.setup)?,
            prepare: hook(&arm.prepare, &w.prepare)?,
            cleanup: hook(&arm.cleanup, &w.cleanup)?,
            env: env(arm),
        };
        self.only_dir(name, &planned)?;
        Ok(planned)
    }

    /// A command has no port and no site: of the substitutions only `{dir}` means something.
    fn only_dir(&self, name: &Spanned<String>, planned: &ArmCommand) -> Checked<()> {
        let hooks = planned.setup.iter().chain(&planned.prepare).chain(&planned.cleanup).flatten();
        for word in planned.argv.iter().chain(hooks) {
            let servers = ["{host}", "{port}", "{root}", "{cert}", "{key}"];
            if let Some(other) = servers.into_iter().find(|other| word.contains(other)) {
                let what =
                    format!("the command of `{}` says {other}, which only servers have", name.as_ref());
                return self.wrong(name.span(), what, "{dir} is the arm's private directory");
            }
        }
        Ok(())
    }

    fn argv(&self, argv: &Spanned<Vec<String>>) -> Checked<Vec<String>> {
        if argv.as_ref().first().is_none_or(String::is_empty) {
            return self.wrong(
                argv.span(),
                "there is no program",
                "such as [\"./server\", \"--port\", \"{port}\"]",
            );
        }
        Ok(argv.as_ref().clone())
    }

    fn hook(&self, hook: &Spanned<OneOrMany>) -> Checked<Vec<Vec<String>>> {
        let commands = match hook.as_ref() {
            OneOrMany::One(argv) => vec![argv.clone()],
            OneOrMany::Many(list) => list.clone(),
        };
        if commands.iter().any(|argv| argv.first().is_none_or(String::is_empty)) {
            return self.wrong(hook.span(), "there is no program", "such as [\"make\", \"clean\"]");
        }
        Ok(commands)
    }

    fn baseline(&self, name: &Spanned<String>, arms: &[Arm]) -> Checked<usize> {
        match arms.iter().position(|arm| &arm.name == name.as_ref()) {
            Some(index) => Ok(index),
            None => {
                let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
                self.wrong(
                    name.span(),
                    format!("there is no arm `{}`", name.as_ref()),
                    suggestion(name.as_ref(), &known),
                )
            }
        }
    }

    fn enough_arms(
        &self,
        baseline: &Spanned<String>,
        arms: &[Arm],
        file: &PlanFile,
        equal_allowed: bool,
    ) -> Checked<()> {
        if arms.len() < 2 {
            return self.wrong(
                baseline.span(),
                "there is nothing to compare the baseline with",
                "add another [arm.NAME]; the baseline itself runs twice anyway",
            );
        }
        for (index, arm) in arms.iter().enumerate() {
            let twin = arms[..index].iter().find(|other| other.what == arm.what && other.trust == arm.trust);
            if let Some(twin) = twin.filter(|_| !equal_allowed) {
                return self.wrong(
                    file.arm[index].0.span(),
                    format!("the arms `{}` and `{}` are equal", twin.name, arm.name),
                    "take one out: the baseline runs twice anyway; for calibration set allow_equal_arms = true",
                );
            }
        }
        Ok(())
    }
}

fn env(arm: &ArmSection) -> Vec<(String, String)> {
    arm.env.as_ref().map(|env| env.as_ref().clone().into_iter().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::*;

    const GOOD: &str = r#"
[experiment]
baseline = "plain"
margin = "2%"

[workload]
kind = "get"
urls = ["/f", { path = "/g", weight = 3 }]

[arm.plain]
server = "origin"

[arm.tls]
server = "origin"
tls = true
"#;

    fn parse(text: &str) -> Result<Plan, String> {
        Plan::parse("test", "plan.toml", text, Path::new("/plans")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_plan_keeps_the_order_of_its_arms_and_runs_the_baseline_twice() {
        let plan = parse(GOOD).unwrap();
        assert_eq!(plan.names(), ["plain", "plain'", "tls"]);
        assert_eq!(plan.margin.get(), 0.02);
        assert_eq!(plan.arm_of("plain'").unwrap().name, "plain");
    }

    #[test]
    fn paths_are_relative_to_the_plan() {
        let text = GOOD
            .replace("kind = \"get\"", "kind = \"replay\"\nlog = \"a.log\"")
            .replace("urls = [\"/f\", { path = \"/g\", weight = 3 }]\n", "");
        let Work::Requests(work) = parse(&text).unwrap().work else { panic!("no requests") };
        let RequestSource::Replay { log: LogSource::File(path), .. } = work.source else { panic!("no file") };
        assert_eq!(path, Path::new("/plans/a.log"));
    }

    /// Each wrong plan: what is changed, and what the message must name.
    #[test]
    fn errors_point_at_the_line_name_the_key_and_suggest_the_near_miss() {
        for (from, to, expected) in [
            ("margin", "margn", &["margn", "did you mean `margin`", "plan.toml:4"][..]),
            (
                "baseline = \"plain\"",
                "baseline = \"plian\"",
                &["plian", "did you mean `plain`", "plan.toml:3"],
            ),
            ("baseline = \"plain\"\n", "", &["`baseline` is missing"]),
            ("margin = \"2%\"", "margin = \"2\"", &["`2` is not a share", "plan.toml:4"]),
            ("margin = \"2%\"", "margin = \"0%\"", &["above zero"]),
            ("margin = \"2%\"", "max_rounds = 2", &["3 or more"]),
            ("kind = \"get\"", "kind = \"gte\"", &["gte", "did you mean `get`"]),
            ("urls = [\"/f\", { path = \"/g\", weight = 3 }]", "", &["needs `urls`"]),
            ("\"/f\"", "\"f\"", &["`f` is no path"]),
            ("weight = 3", "wieght = 3", &["plan.toml:8"]),
            ("kind = \"get\"", "kind = \"get\"\nlog = \"x\"", &["`log` has no meaning"]),
            (
                "kind = \"get\"",
                "kind = \"get\"\nrate = \"5/s\"",
                &["`rate` has no meaning with the clock `closed`"],
            ),
            ("kind = \"get\"", "kind = \"get\"\nclock = \"constant\"", &["needs a rate"]),
            ("kind = \"get\"", "kind = \"get\"\nclock = \"shuffled\"", &["no clock `shuffled`"]),
            ("tls = true", "", &["the arms `plain` and `tls` are equal", "allow_equal_arms"]),
            ("tls = true", "tls = 1", &["plan.toml"]),
            ("tls = true", "pid = 4", &["`pid` has no meaning"]),
            ("server = \"origin\"\ntls", "server = \"ngnix\"\ntls", &["ngnix", "did you mean `nginx`"]),
            ("server = \"origin\"\ntls = true", "burn = \"2us\"", &["is no server"]),
            (
                "server = \"origin\"\ntls = true",
                "server = \"nginx\"\nurl = \"http://x\"",
                &["more than one server"],
            ),
            ("[arm.tls]\nserver = \"origin\"\ntls = true\n", "", &["nothing to compare the baseline with"]),
            ("[arm.tls]", "[arm.\"a/b\"]", &["no name for an arm"]),
            ("[workload]", "[workload", &["plan.toml:6"]),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "nothing was changed: {from}");
            let message = parse(&text).expect_err(to);
            for word in expected {
                assert!(message.contains(word), "{to}\nshould say {word}\n{message}");
            }
        }
    }
}
