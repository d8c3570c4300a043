//! Places: how they are typed, and the words of their launchers.
//!
//! Cold, pure but for the nodes of a job, which Slurm is asked for. No plan names a place.

use super::executable::Executable;
use super::slurm::{self, SlurmError};
use std::fmt;
use std::str::FromStr;

/// A host that does not answer is not waited for, no question is asked, and nothing of the user's own settings turns the
/// channel into something else.
const SSH: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=5",
    "-o",
    "ControlPath=none",
    "-o",
    "RemoteCommand=none",
];
/// A step of the job that takes nothing away from others, and has the whole node.
const SRUN: [&str; 6] = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mpi=none"];
/// Words of a far end that shows whether one gets there at all.
const TRIAL: &str = "hostname";
/// All other nodes of a job.
const OTHER_NODES: &str = "slurm";

/// A place, with its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a host that one can log in to.
    Ssh(String),
    /// On a node of the Slurm job.
    Slurm(String),
    /// By any launcher.
    Via {
        /// As it was typed.
        typed: String,
        /// Its words.
        words: Vec<String>,
    },
}

/// A text that is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no place: {why}; such as ssh:HOST, slurm, or via:WORDS with the words of any launcher and of `bakeoff` \
     there, as in 'via:docker exec -i load bakeoff generator --stdio'"
)]
pub struct PlaceError {
    text: String,
    why: &'static str,
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let wrong = |why| PlaceError { text: text.to_owned(), why };
        let named = |host: &str| {
            let is_host = !host.is_empty() && !host.starts_with('-') && !host.contains(char::is_whitespace);
            if is_host { Ok(host.to_owned()) } else { Err(wrong("there is no host")) }
        };
        if let Some(host) = text.strip_prefix("ssh:") {
            return named(host).map(Self::Ssh);
        }
        if let Some(node) = text.strip_prefix("slurm:") {
            return named(node).map(Self::Slurm);
        }
        let Some(typed) = text.strip_prefix("via:") else {
            return Err(wrong("it does not begin with ssh:, slurm or via:"));
        };
        let words = shlex::split(typed).ok_or_else(|| wrong("a quote is not closed"))?;
        if words.is_empty() {
            return Err(wrong("there are no words"));
        }
        Ok(Self::Via { typed: typed.trim().to_owned(), words })
    }
}

impl Place {
    /// The launcher's words, and behind them those of a far end that has or takes this executable.
    pub(crate) fn words(&self, executable: &Executable, far: &[&str]) -> Vec<String> {
        let mut words = self.launcher();
        match self {
            Self::Ssh(_) => words.extend(executable.words(far, true)),
            Self::Slurm(_) => words.extend(executable.words(far, false)),
            Self::Via { .. } => {}
        }
        words
    }

    /// A command for a shell that shows whether the launcher gets there.
    pub(crate) fn trial(&self) -> String {
        let mut words = self.launcher();
        if !matches!(self, Self::Via { .. }) {
            words.push(TRIAL.to_owned());
        }
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
    }

    fn launcher(&self) -> Vec<String> {
        let owned = |words: &[&[&str]]| words.concat().into_iter().map(str::to_owned).collect();
        match self {
            Self::Ssh(host) => owned(&[&["ssh"], &SSH, &["--", host]]),
            Self::Slurm(node) => owned(&[&SRUN, &["--nodelist", node, "--"]]),
            Self::Via { words, .. } => words.clone(),
        }
    }
}

/// As it was typed.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh(host) => write!(f, "ssh:{host}"),
            Self::Slurm(node) => write!(f, "slurm:{node}"),
            Self::Via { typed, .. } => write!(f, "via:{typed}"),
        }
    }
}

/// Several places with commas between them; a comma within the words of a launcher is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceList(Vec<Typed>);

/// What stands between two commas.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Typed {
    One(Place),
    OtherNodes,
}

impl FromStr for Typed {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        if text == OTHER_NODES { Ok(Self::OtherNodes) } else { text.parse().map(Self::One) }
    }
}

impl FromStr for PlaceList {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let mut parts: Vec<String> = Vec::new();
        for part in text.split(',') {
            let begins =
                part == OTHER_NODES || ["ssh:", "slurm:", "via:"].iter().any(|kind| part.starts_with(kind));
            match parts.last_mut() {
                Some(last) if !begins => *last = format!("{last},{part}"),
                _ => parts.push(part.to_owned()),
            }
        }
        parts.iter().map(|part| part.parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// As it was typed.
impl fmt::Display for PlaceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, typed) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match typed {
                Typed::One(place) => write!(f, "{comma}{place}")?,
                Typed::OtherNodes => write!(f, "{comma}{OTHER_NODES}")?,
            }
        }
        Ok(())
    }
}

impl PlaceList {
    /// All of them, and of a Slurm job each other node.
    ///
    /// # Errors
    /// Slurm does not say which nodes there are.
    pub fn all(&self) -> Result<Vec<Place>, SlurmError> {
        let mut places = Vec::new();
        for typed in &self.0 {
            match typed {
                Typed::One(place) => places.push(place.clone()),
                Typed::OtherNodes => places.extend(slurm::other_nodes()?.into_iter().map(Place::Slurm)),
            }
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_what_was_typed_and_a_comma_in_a_launcher_s_words_is_its_own() {
        let list: PlaceList = "ssh:load-1,via:sh -c 'a,b c',slurm:n7,ssh:root@load-2".parse().unwrap();
        assert_eq!(list.to_string(), "ssh:load-1,via:sh -c 'a,b c',slurm:n7,ssh:root@load-2");
        let places = list.all().unwrap();
        let typed: Vec<String> = places.iter().map(Place::to_string).collect();
        assert_eq!(typed, ["ssh:load-1", "via:sh -c 'a,b c'", "slurm:n7", "ssh:root@load-2"]);
        let own = Executable::own().unwrap();
        assert_eq!(places[1].words(&own, &["generator", "--stdio"]), ["sh", "-c", "a,b c"]);
        let ssh = places[0].words(&own, &["generator", "--stdio"]);
        assert_eq!(ssh[..4], ["ssh", "-T", "-o", "BatchMode=yes"]);
        let at = ssh.iter().position(|word| word == "load-1").unwrap();
        assert_eq!(ssh[at - 1..=at + 2], ["--", "load-1", "sh", "-c"]);
        assert!(ssh[at + 3].starts_with("'d=") && ssh[at + 3].ends_with('\''), "for a login shell: {ssh:?}");
        assert_eq!(ssh[ssh.len() - 2..], ["generator", "--stdio"]);
        let srun = places[2].words(&own, &["generator", "--stdio"]);
        assert_eq!(srun[..2], ["srun", "--overlap"]);
        let at = srun.iter().position(|word| word == "n7").unwrap();
        assert_eq!(srun[at - 1..=at + 3], ["--nodelist", "n7", "--", "sh", "-c"]);
        assert!(srun[at + 4].starts_with("d="), "for no shell: {srun:?}");
        assert!(places[0].trial().ends_with("-- load-1 hostname"), "{}", places[0].trial());
        let other: PlaceList = "via:sh -c x,slurm".parse().unwrap();
        assert_eq!(other.0[1], Typed::OtherNodes);
        for (text, why) in [
            ("load-1", "does not begin"),
            ("ssh:", "no host"),
            ("slurm:", "no host"),
            ("ssh:-oProxyCommand=x", "no host"),
            ("via: ", "no words"),
            ("via:sh 'x", "quote"),
        ] {
            let error = text.parse::<PlaceList>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
