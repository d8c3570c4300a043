//! The laboratory: which machine measures and which send the load, in a file. No plan names a host.

use super::place::{Place, PlaceList};
use super::slurm::SlurmError;
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Where things are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lab {
    /// The machine that is measured; `None`: this one.
    pub subject: Option<Place>,
    /// Its address, at which servers listen.
    pub address: Option<Ipv4Addr>,
    /// Hosts that send the load; none: the machine that is measured.
    pub generators: Vec<PlaceList>,
    /// Socket of whoever calls them; `None`: they are called from here.
    pub passed_by: Option<PathBuf>,
}

/// A file that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct LabError {
    path: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    subject: Subject,
    #[serde(default)]
    generator: Generator,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    at: Option<String>,
    address: Option<Ipv4Addr>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Generator {
    #[serde(default)]
    at: Vec<String>,
}

impl Lab {
    /// The places of all generators.
    ///
    /// # Errors
    /// Slurm does not say which nodes there are.
    pub fn places(&self) -> Result<Vec<Place>, SlurmError> {
        let all: Result<Vec<Vec<Place>>, SlurmError> = self.generators.iter().map(PlaceList::all).collect();
        Ok(all?.concat())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or names what is no place.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let wrong = |why: &dyn std::fmt::Display| LabError {
            path: path.display().to_string(),
            why: why.to_string().trim_end().to_owned(),
        };
        let text = std::fs::read_to_string(path).map_err(|why| wrong(&why))?;
        let file: File = toml::from_str(&text).map_err(|why| wrong(&why))?;
        let subject = file.subject.at.map(|at| at.parse()).transpose().map_err(|why| wrong(&why))?;
        let generators = file.generator.at.iter().map(|at| at.parse()).collect::<Result<_, _>>();
        let generators = generators.map_err(|why| wrong(&why))?;
        Ok(Self { subject, address: file.subject.address, generators, passed_by: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_where_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lab.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Lab::open(&path)
        };
        let lab = read(
            "[subject]\nat = \"ssh:bench\"\naddress = \"10.0.0.2\"\n[generator]\nat = [\"ssh:a\", \"via:docker exec -i b x\"]",
        );
        let lab = lab.unwrap();
        assert_eq!(lab.subject, Some("ssh:bench".parse().unwrap()));
        assert_eq!(lab.address, Some(Ipv4Addr::new(10, 0, 0, 2)));
        let generators: Vec<String> = lab.generators.iter().map(PlaceList::to_string).collect();
        assert_eq!(generators, ["ssh:a", "via:docker exec -i b x"]);
        assert_eq!(read("").unwrap(), Lab::default());
        for (text, why) in [
            ("[subject]\nat = \"bench\"", "`bench` is no place"),
            ("[generator]\nat = [\"ssh:\"]", "there is no host"),
            ("[generators]\nat = []", "unknown field `generators`"),
            ("[subject]\naddress = \"10.0.0.0/24\"", "invalid"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("lab.toml: "), "{error}");
        }
    }
}
