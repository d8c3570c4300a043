//! `[arm.NAME]`: one server or one command.

use super::super::error::suggestion;
use super::super::expand::Cell;
use super::super::file::{ArmSection, CommandSection, OneOrMany, PlanFile, WorkloadSection};
use super::super::{Arm, ArmCommand, ArmKind, Work};
use super::layers::under_whom;
use super::named::stranger;
use super::{Checked, Context};
use crate::plan::file::Spanned;
use bakeoff_loadgen::Trust;
use bakeoff_subject::{FrontSpec, LayerSpec, Product, Spec, WrapSpec};

/// What an arm of a `command` workload may say.
const COMMAND_KEYS: [&str; 8] = ["command", "wrap", "wraps", "layers", "env", "setup", "prepare", "cleanup"];

/// Our own server, as plans name it.
const ORIGIN: &str = "origin";

/// What an arm's server is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerKind {
    Origin,
    Product(Product),
    Command,
    Url,
}

/// What arms may name.
pub(super) struct Known {
    pub(super) layers: Vec<LayerSpec>,
    pub(super) fronts: Vec<FrontSpec>,
    pub(super) wraps: Vec<WrapSpec>,
}

impl Context<'_> {
    pub(super) fn arm(&self, cell: &Cell, file: &PlanFile, work: &Work, known: &Known) -> Checked<Arm> {
        let (name, arm, w) = (&cell.name, &cell.section, &file.workload);
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.as_ref().is_empty() || !name.as_ref().chars().all(fits) || name.as_ref().starts_with('.') {
            return self.wrong(
                name.span(),
                format!("`{}` is no name for an arm", name.as_ref()),
                "letters, digits, `-`, `_` and `.`",
            );
        }
        let what = match (w, work) {
            (WorkloadSection::Command(command), _) => ArmKind::Command(self.arm_command(name, arm, command)?),
            (_, Work::Files(files)) => ArmKind::Files(self.arm_files(name, arm, files)?),
            (_, Work::Requests(_) | Work::Command(_)) => ArmKind::Server(self.server(name, arm)?),
        };
        let prepare = match (&what, &arm.prepare) {
            (ArmKind::Server(_), Some(hook)) => self.hook(hook)?,
            _ => Vec::new(),
        };
        let fresh = self.fresh(arm)?;
        let fronts = self.fronts(arm, &what, &known.fronts)?;
        let insecure = arm.insecure.as_ref().is_some_and(|value| *value.as_ref());
        let trust = match &arm.cacert {
            _ if insecure => Some(Trust::Anyone),
            Some(file) => Some(Trust::File(self.base.join(file.as_ref()))),
            None => None,
        };
        Ok(Arm {
            name: name.as_ref().clone(),
            serves_site: self.serves_site(&what)?,
            trust,
            start_timeout: self.quantity(arm.start_timeout.as_ref(), "10s")?,
            levels: cell.levels.clone(),
            values: cell.values.clone(),
            layers: self.layers(name, arm, &what, &known.layers)?,
            client: self.client(arm, w.requests(), &what, (&fronts, fresh))?,
            populations: file
                .population
                .iter()
                .map(|of| self.client(arm, Some(&of.requests), &what, (&fronts, fresh)))
                .collect::<Checked<_>>()?,
            fronts,
            wraps: self.wraps(arm, &what, &known.wraps)?,
            what,
            prepare,
            directives: self.directives(arm)?,
            limits: self.limits(arm.limits.as_ref())?,
            proof: arm.proof.as_ref().map(|argv| self.argv(argv)).transpose()?,
            fresh,
            first_use_of: arm.first_use_of.as_ref().map(|steady| steady.as_ref().clone()),
            requests: self.own_requests(arm, work)?,
            slice_requests: self.own_slice(arm, work)?,
        })
    }

    /// Our own set-ups serve the site, others do when they say `{root}`.
    fn serves_site(&self, what: &ArmKind) -> Checked<bool> {
        Ok(match what {
            ArmKind::Server(Spec::Origin { .. }) => true,
            ArmKind::Server(Spec::Product { config, .. }) => match config {
                None => true,
                // A file that cannot be read is reported by whoever starts the server.
                Some(path) => std::fs::read_to_string(path).is_ok_and(|text| text.contains("{root}")),
            },
            ArmKind::Server(Spec::Command { argv, .. }) => argv.iter().any(|word| word.contains("{root}")),
            ArmKind::Server(Spec::Proxy(_) | Spec::Url { .. }) | ArmKind::Command(_) | ArmKind::Files(_) => {
                false
            }
        })
    }

    fn server(&self, name: &Spanned<String>, arm: &ArmSection) -> Checked<Spec> {
        let tls = arm.tls.as_ref().is_some_and(|tls| *tls.as_ref());
        let kind = match (&arm.server, &arm.command, &arm.url) {
            (Some(server), None, None) => self.server_kind(server)?,
            (None, Some(_), None) => ServerKind::Command,
            (None, None, Some(_)) => ServerKind::Url,
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
        let own_program = |argv: &Spanned<Vec<String>>| self.argv(argv);
        Ok(match kind {
            ServerKind::Origin => {
                let burn = arm.burn.as_ref().map(|burn| self.quantity(Some(burn), "2us")).transpose()?;
                Spec::Origin { tls, burn }
            }
            ServerKind::Product(product) => {
                let config = arm.config.as_ref().map(|config| self.base.join(config.as_ref()));
                Spec::Product { product, config, tls }
            }
            ServerKind::Command => Spec::Command {
                argv: arm.command.as_ref().map(own_program).transpose()?.unwrap_or_default(),
                ready: arm.ready.as_ref().map(|ready| ready.as_ref().clone()),
                env: env(arm),
                tls,
            },
            ServerKind::Url => Spec::Url {
                url: arm.url.as_ref().map(|url| url.as_ref().clone()).unwrap_or_default(),
                pid: arm.pid.as_ref().map(|pid| *pid.as_ref()),
            },
        })
    }

    /// The server of this name.
    fn server_kind(&self, typed: &Spanned<String>) -> Checked<ServerKind> {
        let word = typed.as_ref().as_str();
        if word == ORIGIN {
            return Ok(ServerKind::Origin);
        }
        if let Some(product) = Product::servers().find(|product| product.label() == word) {
            return Ok(ServerKind::Product(product));
        }
        let help = if Product::fronts().any(|product| product.label() == word) {
            format!("it stands before one: give the arm a server, and `front = [\"{word}\"]`")
        } else {
            let known: Vec<&str> =
                [ORIGIN].into_iter().chain(Product::servers().map(Product::label)).collect();
            format!("{}; any other server is a `command`", suggestion(word, &known))
        };
        self.wrong(typed.span(), format!("there is no server `{word}`"), help)
    }

    fn refuse_arm_strangers(&self, arm: &ArmSection, kind: ServerKind) -> Checked<()> {
        let is_product = matches!(kind, ServerKind::Product(_));
        let (is_command, is_url) = (kind == ServerKind::Command, kind == ServerKind::Url);
        let keys = [
            ("config", arm.config.as_ref().map(Spanned::span), is_product),
            ("directives", arm.directives.as_ref().map(Spanned::span), is_product),
            ("tls", arm.tls.as_ref().map(Spanned::span), !is_url),
            ("env", arm.env.as_ref().map(Spanned::span), is_command),
            ("ready", arm.ready.as_ref().map(Spanned::span), is_command),
            ("pid", arm.pid.as_ref().map(Spanned::span), is_url),
            ("burn", arm.burn.as_ref().map(Spanned::span), kind == ServerKind::Origin),
            ("start_timeout", arm.start_timeout.as_ref().map(Spanned::span), !is_url),
            ("prepare", arm.prepare.as_ref().map(Spanned::span), !is_url),
            ("limits", arm.limits.as_ref().map(Spanned::span), !is_url),
            ("layers", arm.layers.as_ref().map(Spanned::span), is_product || is_command),
            ("setup", arm.setup.as_ref().map(Spanned::span), false),
            ("cleanup", arm.cleanup.as_ref().map(Spanned::span), false),
            ("path", arm.path.as_ref().map(Spanned::span), false),
            ("drop", arm.drop.as_ref().map(Spanned::span), false),
        ];
        let Some((key, span)) = stranger(keys) else { return Ok(()) };
        let help = match key {
            "tls" => "a url says https:// itself".to_owned(),
            "layers" => under_whom(),
            "setup" | "cleanup" => "it belongs to the `command` workload".to_owned(),
            "path" | "drop" => "it belongs to the `files` workload".to_owned(),
            _ => "take the line out".to_owned(),
        };
        self.wrong(span, format!("`{key}` has no meaning for this arm"), help)
    }

    fn arm_command(
        &self,
        name: &Spanned<String>,
        arm: &ArmSection,
        w: &CommandSection,
    ) -> Checked<ArmCommand> {
        if let Some((key, span)) = arm.stranger(&COMMAND_KEYS) {
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
        let argv = self.argv(command)?;
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
        let hooks = planned.setup.iter().chain(&planned.prepare).chain(&planned.cleanup).flatten();
        // What layers show of the directory has a name of its own.
        let shown = |word: &&String| arm.layers.is_some() && word.contains("{root}");
        self.only_dir(name, planned.argv.iter().filter(|word| !shown(word)).chain(hooks))?;
        Ok(planned)
    }

    /// Where there is no port and no site: of the substitutions only `{dir}` means something.
    pub(super) fn only_dir<'w>(
        &self,
        name: &Spanned<String>,
        words: impl Iterator<Item = &'w String>,
    ) -> Checked<()> {
        for word in words {
            let servers = ["{host}", "{port}", "{root}", "{cert}", "{key}"];
            if let Some(other) = servers.into_iter().find(|other| word.contains(other)) {
                let what = format!("a command of `{}` says {other}, which only servers have", name.as_ref());
                return self.wrong(name.span(), what, "{dir} is the arm's private directory");
            }
        }
        Ok(())
    }

    pub(super) fn argv(&self, argv: &Spanned<Vec<String>>) -> Checked<Vec<String>> {
        if argv.as_ref().first().is_none_or(String::is_empty) {
            return self.wrong(
                argv.span(),
                "there is no program",
                "such as [\"./server\", \"--port\", \"{port}\"]",
            );
        }
        Ok(argv.as_ref().clone())
    }

    pub(super) fn hook(&self, hook: &Spanned<OneOrMany>) -> Checked<Vec<Vec<String>>> {
        let commands = match hook.as_ref() {
            OneOrMany::One(argv) => vec![argv.clone()],
            OneOrMany::Many(list) => list.clone(),
        };
        if commands.iter().any(|argv| argv.first().is_none_or(String::is_empty)) {
            return self.wrong(hook.span(), "there is no program", "such as [\"make\", \"clean\"]");
        }
        Ok(commands)
    }
}

pub(super) fn env(arm: &ArmSection) -> Vec<(String, String)> {
    arm.env.as_ref().map(|env| env.as_ref().clone().into_iter().collect()).unwrap_or_default()
}
