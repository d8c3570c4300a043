//! Proofs: a command of the plan tells whether a layer is on, and how far it enforces.
//!
//! Cold path, between slices. The cost of a protection that was not on is no cost, so a plan may name a command that
//! looks. It runs as bakeoff does and wherever bakeoff may run, off the subject's cores, in the subject's network; it
//! looks at the subject from outside, like everything else here.

use crate::SubjectError;
use crate::command_end::CommandEnd;
use crate::config::Substitutions;
use crate::context::Context;
use crate::cpu::CpuChoice;
use crate::private_dir::private_dir;
use crate::program;
use crate::run_command::{CommandJob, run_command};
use crate::running::Running;
use crate::stack::Standing;
use crate::words::{first_line, last_words};
use std::fs;
use std::path::Path;

/// Degree to which a layer enforces what it is there for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enforcement {
    /// Wholly.
    Full,
    /// In part, and why only in part.
    Partial(String),
    /// Not at all, and why.
    None(String),
}

/// Answer of the proof command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The layer is on.
    pub active: bool,
    /// Its degree of enforcement.
    pub enforcement: Enforcement,
    /// The first line that the command printed, else the last of its messages; may be empty.
    pub words: String,
}

impl Proof {
    /// Several proofs, each with a name, as one: on when all are, and enforced no further than the least. `None` of
    /// none.
    pub fn all(proofs: Vec<(String, Self)>) -> Option<Self> {
        let named = |(name, proof): &(String, Self)| match proof.words.as_str() {
            "" => name.clone(),
            words => format!("{name}: {words}"),
        };
        let words: Vec<String> = proofs.iter().map(named).collect();
        let rank = |proof: &Self| match proof.enforcement {
            Enforcement::Full => 2,
            Enforcement::Partial(_) => 1,
            Enforcement::None(_) => 0,
        };
        let active = proofs.iter().all(|(_, proof)| proof.active);
        let (name, least) = proofs.into_iter().min_by_key(|(_, proof)| rank(proof))?;
        let of = |why: String| format!("{name}: {why}");
        let enforcement = match least.enforcement {
            Enforcement::Full => Enforcement::Full,
            Enforcement::Partial(why) => Enforcement::Partial(of(why)),
            Enforcement::None(why) => Enforcement::None(of(why)),
        };
        Some(Self { active, enforcement, words: words.join("; ") })
    }
}

/// Results of the proofs of the arm's layers, by layer, from the files up.
///
/// # Errors
/// As [`prove`].
pub fn prove_layers(running: &Running, context: &Context<'_>) -> Result<Vec<(String, Proof)>, SubjectError> {
    prove_standing(&running.layers, |known| with_pid(known, running), context)
}

/// The same for a stack; `known` adds substitutions to the layer's own.
pub(crate) fn prove_standing(
    layers: &[Standing],
    known: impl Fn(&Substitutions) -> Substitutions,
    context: &Context<'_>,
) -> Result<Vec<(String, Proof)>, SubjectError> {
    let mut proofs = Vec::new();
    for layer in layers {
        if let Some(argv) = &layer.spec.proof {
            let proof = prove_with(&known(&layer.substitutions), context, argv)?;
            proofs.push((layer.spec.name.clone(), proof));
        }
    }
    Ok(proofs)
}

/// Runs `argv` (substitutions as for the subject, and `{pid}`, its first process). Status 0: the
/// layer is on; 1: it is off. The first line printed may be `full`, `partial: REASON` or
/// `none: REASON`; a layer that is on and says none of these enforces fully.
///
/// # Errors
/// Any other ending, in at most `start_timeout`, and what keeps a command from being run.
pub fn prove(running: &Running, context: &Context<'_>, argv: &[String]) -> Result<Proof, SubjectError> {
    prove_with(&with_pid(&running.substitutions, running), context, argv)
}

/// A server that bakeoff did not start has no private directory: `{dir}` is that of the proof then.
fn prove_with(known: &Substitutions, context: &Context<'_>, argv: &[String]) -> Result<Proof, SubjectError> {
    let name = format!("{}-proof", context.arm);
    let dir = private_dir(&context.base, &name).map_err(|source| SubjectError::Dir {
        arm: context.arm.clone(),
        path: context.base.clone(),
        source,
    })?;
    let mut known = known.clone();
    if known.dir.is_empty() {
        known.dir = dir.display().to_string();
    }
    let proof = context.inside(|| ask(&known, context, argv, &dir));
    if proof.is_ok() {
        let _ = fs::remove_dir_all(&dir); // else its output stays, as the error says
    }
    proof
}

fn ask(
    known: &Substitutions,
    context: &Context<'_>,
    argv: &[String],
    dir: &Path,
) -> Result<Proof, SubjectError> {
    let arm = context.arm.clone();
    let cwd = context.home.clone().unwrap_or_else(|| dir.to_owned());
    let job = CommandJob {
        argv: program::command(&arm, known, argv, "proof", &cwd)?,
        arm,
        env: Vec::new(),
        cwd,
        dir: dir.to_owned(),
        cpus: Vec::new(),
        time_limit: Some(context.start_timeout),
        cpu_source: CpuChoice::Clocks, // nobody asks
        grace: context.grace,
        executable: context.executable.clone(),
        interrupted: context.interrupted,
    };
    prove_by(&job)
}

/// The same for a subject without a server: the command is given whole. Its directory must hold no output yet, as the
/// first line there counts.
///
/// # Errors
/// As [`prove`], in at most the job's time.
pub fn prove_by(job: &CommandJob<'_>) -> Result<Proof, SubjectError> {
    let outcome = run_command(job)?;
    let said = first_line(&job.dir.join("stdout.log"));
    let words = said.or_else(|| outcome.stderr_tail.last().cloned()).unwrap_or_default();
    match outcome.status {
        CommandEnd::Exited(0) => Ok(Proof { active: true, enforcement: degree(&words), words }),
        CommandEnd::Exited(1) => Ok(Proof { active: false, enforcement: off(&words), words }),
        CommandEnd::Interrupted => Err(SubjectError::Interrupted { arm: job.arm.clone() }),
        status => {
            let command = job.argv.join(" ");
            let said = last_words(&job.dir, &[]);
            Err(SubjectError::Proof { arm: job.arm.clone(), command, status, said })
        }
    }
}

/// With the server's first process: its view of the mounts is in `/proc/{pid}`.
fn with_pid(known: &Substitutions, running: &Running) -> Substitutions {
    let mut known = known.clone();
    if let Some(pid) = running.main_process() {
        known.values.insert("pid".to_owned(), pid.to_string());
    }
    known
}

/// Degree of a layer that is on.
fn degree(line: &str) -> Enforcement {
    let reason = |rest: &str| {
        let rest = rest.trim();
        if rest.is_empty() { "its proof gives no reason".to_owned() } else { rest.to_owned() }
    };
    let (word, rest) = line.split_once(':').unwrap_or((line, ""));
    match word.trim() {
        "partial" => Enforcement::Partial(reason(rest)),
        "none" => Enforcement::None(reason(rest)),
        _ => Enforcement::Full,
    }
}

/// Degree of a layer that is off.
fn off(line: &str) -> Enforcement {
    match degree(line) {
        Enforcement::None(reason) => Enforcement::None(reason),
        _ if line.is_empty() => Enforcement::None("its proof says that it is off".to_owned()),
        _ => Enforcement::None(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_proofs_are_as_strong_as_the_weakest() {
        let proof = |active, enforcement, words: &str| Proof { active, enforcement, words: words.to_owned() };
        let partial = Enforcement::Partial("no leases".to_owned());
        let all = Proof::all(vec![
            ("store".to_owned(), proof(true, Enforcement::Full, "")),
            ("integrity".to_owned(), proof(true, partial, "partial: no leases")),
        ]);
        let all = all.unwrap();
        assert_eq!(all.enforcement, Enforcement::Partial("integrity: no leases".to_owned()));
        assert_eq!((all.active, all.words.as_str()), (true, "store; integrity: partial: no leases"));
        let off = proof(false, Enforcement::None("dead".to_owned()), "dead");
        let one_off =
            Proof::all(vec![("a".to_owned(), proof(true, Enforcement::Full, "")), ("b".to_owned(), off)]);
        assert!(!one_off.unwrap().active);
        assert_eq!(Proof::all(Vec::new()), None);
    }

    #[test]
    fn the_first_line_gives_the_degree() {
        let reason = |text: &str| text.to_owned();
        assert_eq!(degree("full"), Enforcement::Full);
        assert_eq!(degree("1000 rules"), Enforcement::Full);
        assert_eq!(degree(""), Enforcement::Full);
        assert_eq!(degree("partial: no rule for UDP"), Enforcement::Partial(reason("no rule for UDP")));
        assert_eq!(degree("none : old kernel"), Enforcement::None(reason("old kernel")));
        assert_eq!(degree("none"), Enforcement::None(reason("its proof gives no reason")));
        assert_eq!(off("full"), Enforcement::None(reason("full")));
        assert_eq!(off("none: not loaded"), Enforcement::None(reason("not loaded")));
        assert_eq!(off(""), Enforcement::None(reason("its proof says that it is off")));
    }
}
