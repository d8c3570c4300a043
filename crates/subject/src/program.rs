//! Server programs: search on the machine, version, and the recipe that starts one.

use crate::SubjectError;
use crate::certificate::Certificate;
use crate::config::{ConfigError, Substitutions};
use crate::context::Context;
use crate::litter::Litter;
use crate::user::Runner;
use crate::written::Written;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kind of subject that bakeoff starts.
pub(crate) trait Subject {
    /// Whether it speaks HTTPS.
    fn tls(&self) -> bool;

    /// The user it runs as when bakeoff is root; none: as bakeoff.
    fn runner(&self) -> Option<Runner> {
        None
    }

    /// The user's own configuration; the server is started with a copy of it.
    fn users_config(&self) -> Option<&Path> {
        None
    }

    /// Variables added to the environment of the server and of the commands that prepare its start.
    fn environment(&self, _place: &StartSite<'_>) -> Result<Vec<(String, String)>, SubjectError> {
        Ok(Vec::new())
    }

    /// Writes its files into the private directory and says how to start it.
    fn recipe(&self, place: &StartSite<'_>) -> Result<Recipe, SubjectError>;
}

/// Surroundings of one start.
pub(crate) struct StartSite<'a> {
    pub(crate) context: &'a Context<'a>,
    /// The private directory.
    pub(crate) dir: PathBuf,
    /// The site as the layers show it.
    pub(crate) root: PathBuf,
    pub(crate) port: u16,
    /// Further ports, by name.
    pub(crate) further_ports: Vec<(String, u16)>,
    /// Copies in the private directory.
    pub(crate) certificate: Option<Certificate>,
}

impl StartSite<'_> {
    pub(crate) fn arm(&self) -> String {
        self.context.arm.clone()
    }

    pub(crate) fn substitutions(&self) -> Substitutions {
        let text = |path: &Path| path.display().to_string();
        let mut values = self.context.values.clone();
        values.extend(self.certificate.as_ref().map(|made| ("client_ca".to_owned(), text(&made.ca))));
        values.extend(self.further_ports.iter().map(|(name, port)| (name.clone(), port.to_string())));
        Substitutions {
            host: self.context.host().to_string(),
            port: self.port,
            root: text(&self.root),
            tls: self.certificate.as_ref().map(|made| (text(&made.cert), text(&made.key))),
            dir: text(&self.dir),
            values,
        }
    }

    /// The plan's lines for our own configuration, substitutions made; each ends its line.
    pub(crate) fn directives(&self, origin: &str) -> Result<String, SubjectError> {
        self.lines(self.context.directives.as_deref(), origin)
    }

    /// The same for the block around the server.
    pub(crate) fn http_directives(&self, origin: &str) -> Result<String, SubjectError> {
        self.lines(self.context.http_directives.as_deref(), origin)
    }

    fn lines(&self, lines: Option<&str>, origin: &str) -> Result<String, SubjectError> {
        let Some(lines) = lines else { return Ok(String::new()) };
        let wrong = |source| SubjectError::Config { arm: self.arm(), origin: origin.to_owned(), source };
        Ok(self.substitutions().file(lines).map_err(wrong)?.trim_end().to_owned() + "\n")
    }

    /// A command of the plan, substitutions made; `origin` is its name in messages.
    pub(crate) fn command(&self, words: &[String], origin: &str) -> Result<Vec<String>, SubjectError> {
        let cwd = self.cwd();
        command(&self.arm(), &self.substitutions(), words, origin, &cwd)
    }

    /// Directory in which commands of the plan begin.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.context.home.clone().unwrap_or_else(|| self.dir.clone())
    }

    /// The certificate, or the error that there is none.
    pub(crate) fn demand_certificate(&self) -> Result<&Certificate, SubjectError> {
        self.certificate.as_ref().ok_or_else(|| SubjectError::NoCertificate { arm: self.arm() })
    }

    /// Writes a new file of the private directory. It never overwrites one: a command run before the start may have put
    /// a link in its place.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, SubjectError> {
        let path = self.dir.join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| SubjectError::Dir { arm: self.arm(), path: path.clone(), source })?;
        Ok(path)
    }

    /// Reads a file of the user's, or one that the plan brings.
    pub(crate) fn read(&self, path: &Path) -> Result<String, SubjectError> {
        let own = Written::meant(path).map(|name| self.dir.join(name));
        let path = own.unwrap_or_else(|| self.context.at_home(path));
        std::fs::read_to_string(&path).map_err(|source| SubjectError::Read { arm: self.arm(), path, source })
    }
}

/// Instructions to start a server.
#[derive(Default)]
pub(crate) struct Recipe {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: PathBuf,
    pub(crate) version: Option<String>,
    /// The text of its configuration, after substitution.
    pub(crate) config: Option<String>,
    /// Directory of copies, each under its original's whole path.
    pub(crate) tree: Option<PathBuf>,
    /// Files it writes messages to, besides standard output and error.
    pub(crate) logs: Vec<PathBuf>,
    /// A path that must answer below 500.
    pub(crate) ready: Option<String>,
    /// Commands that make its files ready, run as the server is, one after the other.
    pub(crate) before: Vec<Vec<String>>,
    /// Files and shared memory to remove when it has ended.
    pub(crate) litter: Litter,
}

/// Program and arguments of a plan's command, the program found from `cwd` or the `PATH`.
pub(crate) fn command(
    arm: &str,
    put_in: &Substitutions,
    words: &[String],
    origin: &str,
    cwd: &Path,
) -> Result<Vec<String>, SubjectError> {
    let wrong = |source| SubjectError::Config { arm: arm.to_owned(), origin: origin.to_owned(), source };
    let done: Result<Vec<String>, ConfigError> = words.iter().map(|word| put_in.word(word)).collect();
    let mut argv = done.map_err(wrong)?;
    let Some(program) = argv.first_mut().filter(|program| !program.is_empty()) else {
        return Err(wrong(ConfigError::Empty));
    };
    *program = resolve(program, cwd).ok_or_else(|| no_program(arm.to_owned(), program, cwd))?;
    Ok(argv)
}

/// The error that there is no such program.
pub(crate) fn no_program(arm: String, program: &str, cwd: &Path) -> SubjectError {
    let remedy = format!("install it, or give its path, absolute or from {}", cwd.display());
    SubjectError::NoProgram { arm, program: program.to_owned(), remedy }
}

/// Looks for the first of `names` on the `PATH` and where administrators' programs are.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin", "/sbin"].map(PathBuf::from))
        .collect();
    names.iter().find_map(|name| places.iter().map(|place| place.join(name)).find(|file| is_program(file)))
}

/// The program to start: with a `/` a path from `cwd`, else looked for as `find` does. (Left to
/// `exec`, a directory on the `PATH` that may not be entered would hide that there is none.)
pub fn resolve(name: &str, cwd: &Path) -> Option<String> {
    let found = if name.contains('/') { Some(cwd.join(name)) } else { find(&[name]) };
    Some(found?.display().to_string())
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Output of a program when asked for its version, both streams.
pub(crate) fn ask(program: &Path, question: &str) -> io::Result<String> {
    let said = Command::new(program).arg(question).stdin(Stdio::null()).output()?;
    Ok(format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr)))
}
