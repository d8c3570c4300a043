//! Faults in a configuration text for a layer: collected one by one, reported all at once.
//!
//! Measured side, pure. Every fault says where, what, and what to do about it. The layer defines the kinds.

use std::fmt;

/// A fault at a place, of a kind `W`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault<W> {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Kind of the fault.
    pub wrong: W,
    /// The fault in words, with what to do.
    pub sentence: String,
}

impl<W> fmt::Display for Fault<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.sentence)
    }
}

/// Faults found so far.
#[derive(Debug)]
pub struct Faults<W> {
    file: String,
    found: Vec<Fault<W>>,
}

impl<W: Copy + Eq> Faults<W> {
    /// No faults yet, of this file.
    pub const fn of(file: String) -> Self {
        Self { file, found: Vec::new() }
    }

    /// Adds a fault.
    pub fn add(&mut self, line: usize, wrong: W, sentence: impl Into<String>) {
        self.found.push(Fault { file: self.file.clone(), line, wrong, sentence: sentence.into() });
    }

    /// Whether one is of this kind.
    pub fn have(&self, wrong: W) -> bool {
        self.found.iter().any(|fault| fault.wrong == wrong)
    }

    /// The warnings, if nothing else was found.
    /// # Errors
    /// The other faults, in the order of lines.
    pub fn into_warnings(mut self, is_warning: impl Fn(W) -> bool) -> Result<Vec<Fault<W>>, Vec<Fault<W>>> {
        self.found.sort_by_key(|fault| fault.line);
        let (warnings, faults): (Vec<_>, Vec<_>) =
            self.found.into_iter().partition(|fault| is_warning(fault.wrong));
        if faults.is_empty() { Ok(warnings) } else { Err(faults) }
    }
}

/// Faults as lines of an error.
#[derive(Debug)]
pub struct FaultLines<'a, W>(pub &'a [Fault<W>]);

impl<W> fmt::Display for FaultLines<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Fault::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_told_where_nothing_else_is_wrong() {
        let found = |kinds: &[(usize, char)]| {
            let mut faults = Faults::of("f.toml".to_owned());
            kinds.iter().for_each(|(line, kind)| faults.add(*line, *kind, format!("it is {kind}")));
            assert_eq!(faults.have('x'), kinds.iter().any(|(_, kind)| *kind == 'x'));
            let told = faults.into_warnings(|kind| kind == 'w');
            told.map(|warnings| FaultLines(&warnings).to_string())
                .map_err(|faults| FaultLines(&faults).to_string())
        };
        assert_eq!(found(&[(3, 'w'), (1, 'w')]), Ok("f.toml:1: it is w\nf.toml:3: it is w".to_owned()));
        assert_eq!(
            found(&[(3, 'x'), (1, 'w'), (2, 'y')]),
            Err("f.toml:2: it is y\nf.toml:3: it is x".to_owned())
        );
    }
}
