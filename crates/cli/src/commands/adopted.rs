//! Configurations of running servers on a command line: how they are asked, and what is said of their copies.
//!
//! Measuring side, cold. Reads configurations; starts nothing.

use super::words::whole_path;
use crate::Failure;
use bakeoff_adopt::{Application, Change, Copies, Entrance, Setting};
use bakeoff_subject::{Product, key_kind_of, language};
use std::path::PathBuf;

/// A configuration that will be adopted.
pub(super) struct Adopted {
    path: PathBuf,
    files: usize,
    entrance: Entrance,
    copies: Copies,
    /// What makes its pages in the measurement.
    application: Option<Application>,
}

impl Adopted {
    /// Reads it. None: it was written for bakeoff, or cannot be read, which is said elsewhere.
    pub(super) fn read(
        server: &str,
        config: &str,
        host: Option<&str>,
        allowed: &[String],
    ) -> Result<Option<Self>, Failure> {
        let path = whole_path(config);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let language = Product::from_label(server).and_then(|product| language(product, &text));
        let Some(language) = language.filter(|_| !text.is_empty()) else { return Ok(None) };
        let configuration = bakeoff_adopt::read(language, &path).map_err(Failure::usage)?;
        let entrance = configuration.entrance(None, host).map_err(Failure::usage)?;
        let setting = Setting { allowed, ..Setting::unreal(entrance.port) };
        let copies = configuration.adopt(&setting).map_err(Failure::usage)?;
        // As a run decides it.
        let application = entrance.application.clone().filter(|_| allowed.is_empty());
        Ok(Some(Self { path, files: configuration.files(), entrance, copies, application }))
    }

    /// Whether it is asked over TLS.
    pub(super) const fn tls(&self) -> bool {
        self.entrance.tls
    }

    /// The host that leads to the server that is asked.
    pub(super) fn host(&self) -> Option<&str> {
        self.entrance.host.as_deref()
    }

    /// What runs, what is other than in the original, what is behind it, and what is asked; a line each.
    pub(super) fn in_words(&self, host: Option<&str>) -> Vec<String> {
        let files = match self.files {
            1 => String::new(),
            2 => " with the file it includes".to_owned(),
            files => format!(" with the {} files it includes", files - 1),
        };
        let mut lines = vec![
            format!(
                "{}: runs as a private copy{files}; the running server, its logs and its caches are not touched",
                self.path.display()
            ),
            format!("  other in the copy: {}", changed(&self.copies.changes)),
        ];
        if !self.copies.played.is_empty() {
            lines.push(format!(
                "  stand-ins answer for {}, with the paths and sizes that the site has; --allow-upstream HOST:PORT asks one itself",
                played(&self.copies.played)
            ));
        }
        if let Some(application) = &self.application {
            lines.push(format!(
                "  pages without an ending in their names are made by a stand-in, not read from files: {} passes them on",
                application.place()
            ));
        }
        lines.extend(self.certificate());
        let scheme = if self.entrance.tls { "https" } else { "http" };
        let named = host.or(self.host()).map_or_else(String::new, |host| format!(" as {host}"));
        lines
            .push(format!("  asked over {scheme}{named}: {}; --host NAME asks another", self.entrance.place));
        lines
    }

    /// What its throw-away certificate is like.
    fn certificate(&self) -> Option<String> {
        let own = self.entrance.certificates.first().filter(|_| self.entrance.tls)?.display();
        Some(match key_kind_of(&self.entrance.certificates)? {
            Ok(kind) => format!("  certificate: throw-away, {kind} as in {own}; the key is not read"),
            Err(why) => format!("  certificate: throw-away, ECDSA P-256, as {own} cannot be read: {why}"),
        })
    }
}

/// Most names in a line.
const MOST: usize = 4;

/// Directives, each once, with their number.
fn changed(changes: &[Change]) -> String {
    let mut all: Vec<(&str, usize)> = Vec::new();
    for change in changes {
        let name = change.was.trim_start_matches('<').split([' ', ';', '{', '>']).next().unwrap_or_default();
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => all.push((name, 1)),
        }
    }
    let said = all.iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        count => format!("{name} ({count})"),
    });
    said.collect::<Vec<_>>().join(", ")
}

/// Addresses, each once, with the first place.
fn played(all: &[(String, String)]) -> String {
    let mut once: Vec<&(String, String)> = Vec::new();
    for one in all {
        if !once.iter().any(|known| known.0 == one.0) {
            once.push(one);
        }
    }
    let rest = once.len().saturating_sub(MOST);
    let mut said: Vec<String> =
        once.iter().take(MOST).map(|(address, place)| format!("{address} ({place})")).collect();
    if rest > 0 {
        said.push(format!("{rest} more"));
    }
    said.join(", ")
}
