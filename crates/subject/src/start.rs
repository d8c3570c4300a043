//! Start of a subject: from a `Spec` to a `Running` one.

use crate::SubjectError;
use crate::cgroup::{Ceiling, HitMeter};
use crate::command::Program;
use crate::context::{Context, environment};
use crate::cpu::Account;
use crate::origin::{Origin, StandIn};
use crate::port;
use crate::prepare;
use crate::private_dir::private_dir;
use crate::product::{self, Server};
use crate::program::{Recipe, StartSite, Subject, no_program};
use crate::ready::Waiting;
use crate::running::{Again, Running};
use crate::spec::{Burn, Spec};
use crate::stack;
use crate::supervisor::{LaunchError, Plan, Supervisor};
use crate::url;
use crate::user::Runner;
use crate::wrap::wrapped;
use crate::written::{Written, outside};
use bakeoff_units::{Clock, MonotonicClock};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// Attempts of a start when another program takes the port between our choice and the server.
const ATTEMPTS: usize = 3;

/// Starts the subject and returns when it is ready. Nothing of it is left when this fails, except
/// its private directory with what it printed. All of it happens in the subject's network.
pub fn start(spec: &Spec, context: &Context<'_>) -> Result<Running, SubjectError> {
    context.inside(|| start_here(spec, context))
}

fn start_here(spec: &Spec, context: &Context<'_>) -> Result<Running, SubjectError> {
    match spec {
        Spec::Origin { tls, burn } => {
            launch("origin", &Origin { tls: *tls, stand_in: None, burn: *burn }, context)
        }
        Spec::Product { product, config, tls } => {
            let server = Server { product: *product, config: config.clone(), tls: *tls };
            launch(product.label(), &server, context)
        }
        Spec::Command { argv, ready, env, tls } => {
            let program = Program { argv: argv.clone(), ready: ready.clone(), env: env.clone(), tls: *tls };
            launch("command", &program, context)
        }
        Spec::Proxy(proxy) => launch(proxy.product.label(), proxy, &product::context(proxy, context)),
        Spec::Url { url, pid } => url::attach(url, *pid, context),
    }
}

/// Starts a stand-in for what is behind a server.
pub(crate) fn start_stand_in(stand_in: StandIn, context: &Context<'_>) -> Result<Running, SubjectError> {
    let origin = Origin { tls: stand_in == StandIn::Https, stand_in: Some(stand_in), burn: Burn::default() };
    context.inside(|| launch("stand-in", &origin, context))
}

fn launch(kind: &'static str, subject: &dyn Subject, context: &Context<'_>) -> Result<Running, SubjectError> {
    let mut attempt = 1;
    loop {
        match launch_once(kind, subject, context) {
            Err(error) if attempt < ATTEMPTS && is_port_taken(&error) => attempt += 1,
            other => return other,
        }
    }
}

/// Whether the server reported its port in use, or a stranger answered there.
fn is_port_taken(error: &SubjectError) -> bool {
    match error {
        SubjectError::Stranger { .. } => true,
        SubjectError::DiedAtStart { said, .. } => {
            let says = |line: &String| {
                let line = line.to_ascii_lowercase();
                line.contains("address already in use")
                    || line.contains("eaddrinuse")
                    || line.contains("addrinuse")
            };
            said.lines.iter().any(says)
        }
        _ => false,
    }
}

fn launch_once(
    kind: &'static str,
    subject: &dyn Subject,
    context: &Context<'_>,
) -> Result<Running, SubjectError> {
    let clock = MonotonicClock::new();
    let runner = subject.runner();
    let mut place = place(context)?;
    let ceiling = context.limits.ceiling(&context.arm, [&context.root, &place.dir])?;
    let stack = stack::raise(context, &place.dir, &ceiling)?;
    place.root.clone_from(&stack.root);
    let env = subject.environment(&place)?;
    hand_over(runner.as_ref(), &place)?;
    prepare::run(&place, runner.as_ref(), &env)?;
    let mut recipe = subject.recipe(&place)?;
    give_files(runner.as_ref(), &place)?;
    prepare::run_own(&place, runner.as_ref(), &env, &recipe)?;
    let substitutions = place.substitutions();
    recipe.argv = wrapped(&context.wraps, recipe.argv, (&context.arm, &substitutions, &place.cwd()))?;
    let plan = plan(&place, &recipe, env, runner.as_ref(), ceiling.clone());
    let supervisor = guard(&place, &recipe, plan.clone(), stack.supervisor)?;
    let address = SocketAddr::from((context.host(), place.port));
    let tls = subject.tls();
    let again = Again::of(context, plan, recipe.ready.clone());
    Waiting {
        arm: &context.arm,
        supervisor: &supervisor,
        host: context.host(),
        port: place.port,
        dir: &place.dir,
        logs: &recipe.logs,
        ready: recipe.ready.as_deref(),
        tls,
        timeout: context.start_timeout,
        interrupted: context.interrupted,
    }
    .wait()
    .map_err(|error| in_users_words(error, (subject, runner.as_ref()), &recipe, context))?;
    let account = Account::of(&supervisor).map_err(|source| SubjectError::Supervisor {
        arm: context.arm.clone(),
        source,
        log: place.dir.join("supervisor.log"),
    })?;
    let told = context.wraps.iter().filter_map(|wrap| wrap.standing(&substitutions));
    let layers = stack.layers.into_iter().chain(told).collect();
    let hits = HitMeter::open(supervisor.groups(), &ceiling);
    Ok(Running {
        arm: context.arm.clone(),
        kind,
        address,
        tls,
        server_name: "localhost".to_owned(),
        version: recipe.version,
        command_line: recipe.argv,
        config: recipe.config,
        dir: Some(place.dir),
        user: runner.map(|runner| runner.name.to_owned()),
        start_time: clock.now(),
        limits: context.limits,
        substitutions,
        hits,
        logs: recipe.logs,
        supervisor: Some(supervisor),
        layers,
        account,
        pid: None,
        again,
    })
}

/// Makes messages about the copy of a configuration name the user's own file, whose lines are the same. If permission
/// was denied, adds the user that the server runs as.
fn in_users_words(
    mut error: SubjectError,
    (subject, runner): (&dyn Subject, Option<&Runner>),
    recipe: &Recipe,
    context: &Context<'_>,
) -> SubjectError {
    let Some(said) = error.said_mut() else { return error };
    let is_copy = |word: &&String| fs::read_to_string(word).ok() == recipe.config;
    if let (Some(users), Some(copy)) = (subject.users_config(), recipe.argv.iter().find(is_copy)) {
        let users = context.at_home(users).display().to_string();
        said.lines.iter_mut().for_each(|line| *line = line.replace(copy, &users));
    }
    if let Some(tree) = &recipe.tree {
        let tree = tree.display().to_string();
        said.lines.iter_mut().for_each(|line| *line = line.replace(&tree, ""));
    }
    let is_denied = said.lines.iter().any(|line| line.contains("Permission denied"));
    if let Some(runner) = runner.filter(|_| is_denied) {
        said.lines
            .push(format!("(it runs as the user `{}`; {{dir}} is a directory of its own)", runner.name));
    }
    error
}

/// A fresh directory, a free port, and a copy of the certificate.
fn place<'a>(context: &'a Context<'a>) -> Result<StartSite<'a>, SubjectError> {
    let dir_error =
        |path: &Path, source| SubjectError::Dir { arm: context.arm.clone(), path: path.to_owned(), source };
    let dir = private_dir(&context.base, &context.arm).map_err(|error| dir_error(&context.base, error))?;
    let put = Written::put(&context.files, &dir, !context.wraps.is_empty());
    put.map_err(|error| dir_error(&dir, error))?;
    let host = context.host();
    let free = || port::free(host).map_err(|error| dir_error(Path::new(&host.to_string()), error));
    let port = context.port.map_or_else(free, Ok)?;
    let further_ports =
        port::further(host, port).map_err(|error| dir_error(Path::new(&host.to_string()), error))?;
    let certificate = match &context.certificate {
        Some(made) => Some(made.copy_to(&dir).map_err(|error| dir_error(&dir, error))?),
        None => None,
    };
    Ok(StartSite { context, dir, root: context.root.clone(), port, further_ports, certificate })
}

/// Makes the runner owner of the private directory, and checks that it reaches that and the site.
fn hand_over(runner: Option<&Runner>, place: &StartSite<'_>) -> Result<(), SubjectError> {
    give_files(runner, place)?;
    let Some(runner) = runner else { return Ok(()) };
    runner.demand_reach(&place.arm(), &place.dir)?;
    runner.demand_reach(&place.arm(), &place.root)
}

/// Makes the runner owner of the private directory, of its wraps' one, and of what is in them.
fn give_files(runner: Option<&Runner>, place: &StartSite<'_>) -> Result<(), SubjectError> {
    let Some(runner) = runner else { return Ok(()) };
    let given = |dir: &Path| {
        runner.give(dir)?;
        fs::read_dir(dir)?.try_for_each(|entry| runner.give(&entry?.path()))
    };
    let outside = (!place.context.wraps.is_empty()).then(|| outside(&place.dir));
    [&place.dir].into_iter().chain(&outside).try_for_each(|dir| {
        given(dir).map_err(|source| SubjectError::Dir { arm: place.arm(), path: dir.clone(), source })
    })
}

fn plan(
    place: &StartSite<'_>,
    recipe: &Recipe,
    env: Vec<(String, String)>,
    runner: Option<&Runner>,
    ceiling: Ceiling,
) -> Plan {
    let context = place.context;
    Plan {
        argv: recipe.argv.clone(),
        env: environment(&place.dir, env, context.padding),
        cwd: recipe.cwd.clone(),
        dir: place.dir.clone(),
        cpus: context.cpus.clone(),
        user: runner.map(|runner| (runner.user.uid, runner.user.gid)),
        cpu: context.cpu_source,
        ceiling,
        own_mounts: false,
        speaks: false,
        grace_ms: context.grace.get() / 1_000_000,
        litter: recipe.litter.clone(),
    }
}

fn guard(
    place: &StartSite<'_>,
    recipe: &Recipe,
    plan: Plan,
    above: Option<Supervisor>,
) -> Result<Supervisor, SubjectError> {
    if let Some(mut supervisor) = above {
        let launched = supervisor.launch_next(plan).map(|()| supervisor);
        return launched.map_err(|error| launch_error(place, recipe, error));
    }
    let command = place.context.supervisor_command().map_err(LaunchError::Supervisor);
    command
        .and_then(|command| Supervisor::launch(&command, plan))
        .map_err(|error| launch_error(place, recipe, error))
}

fn launch_error(place: &StartSite<'_>, recipe: &Recipe, error: LaunchError) -> SubjectError {
    let arm = place.arm();
    match error {
        // Ctrl-C in the moment before the supervisor has left the terminal's session.
        LaunchError::Supervisor(_) if place.context.is_interrupted() => SubjectError::Interrupted { arm },
        LaunchError::Supervisor(source) => {
            SubjectError::Supervisor { arm, source, log: place.dir.join("supervisor.log") }
        }
        LaunchError::NotFound => {
            let program = recipe.argv.first().map_or("", String::as_str);
            no_program(arm, program, &recipe.cwd)
        }
        LaunchError::Limits(reason) => SubjectError::Limit { arm, reason },
        LaunchError::Failed { doing, error } => {
            SubjectError::Spawn { arm, doing, message: error, command: recipe.argv.join(" ") }
        }
    }
}
