//! The only place that writes to standard output and standard error.

use bakeoff_experiment::run::{RoundReport, RunProgress};
use bakeoff_report::Document;
use bakeoff_units::Nanos;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Writes to standard output; a closed pipe ends quietly.
pub(crate) fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// Passes on what somebody else wrote for standard output or standard error; a closed pipe ends quietly.
pub(crate) fn pass_on(to: &mut impl Write, bytes: &[u8]) {
    let _ = to.write_all(bytes).and_then(|()| to.flush());
}

/// Prints a report: its answers, or all of it.
pub(crate) fn document(document: &Document, verbose: bool) {
    let shown = if verbose { Document::text } else { Document::brief };
    say(&shown(document, width(), colour()));
}

/// Writes a line to standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// An error for the user.
pub(crate) fn complain(text: &str) {
    note(&format!("bakeoff: {text}"));
}

/// The command line as it was typed, quoted for a shell.
pub(crate) fn command_line() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // A shell has no quotes for a NUL, which no command line has.
    let words = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
    format!("bakeoff {words}")
}

/// Columns of standard output: the terminal's, or 80.
pub(crate) fn width() -> usize {
    terminal_width().unwrap_or(80)
}

/// Whether to colour standard output: a terminal, and nobody set `NO_COLOR`.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return std::env::var("COLUMNS").ok()?.parse().ok();
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// How a run goes, on standard error: one living line on a terminal, plain lines elsewhere.
pub(crate) struct Console {
    name: String,
    bar: Option<ProgressBar>,
    quiet: bool,
    told: Option<Nanos>,
}

/// Often enough to see that it lives, and seldom enough to cost nothing.
const TICK: Duration = Duration::from_secs(1);

/// A living line on standard error, where that is a terminal.
fn bar(template: &str) -> Option<ProgressBar> {
    std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(1);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    })
}

/// Plain lines are at least so far apart.
const LINE_GAP: Nanos = Nanos::from_secs(5);

impl Console {
    pub(crate) fn new(name: &str, quiet: bool) -> Self {
        let bar = if quiet { None } else { bar("{spinner} {bar:16} {wide_msg}") };
        Self { name: name.to_owned(), bar, quiet, told: None }
    }

    /// For what has nothing to say until it has ended: the time it has taken, on a terminal alone.
    pub(crate) fn timer(name: &str, what: String) -> Self {
        let bar = bar("{spinner} {wide_msg} {elapsed}").inspect(|bar| bar.enable_steady_tick(TICK));
        let mut console = Self { name: name.to_owned(), quiet: bar.is_none(), bar, told: None };
        console.stage(&what);
        console
    }

    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn tell(&self, line: String) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => {
                bar.set_message(line);
                bar.tick();
            }
            None => note(&line),
        }
    }
}

impl RunProgress for Console {
    fn stage(&mut self, what: &str) {
        self.tell(format!("{}: {what}", self.name));
    }

    fn round(&mut self, report: &RoundReport<'_>) {
        let due = self.told.is_none_or(|told| report.elapsed.since(told) >= LINE_GAP);
        if self.bar.is_none() && !due {
            return;
        }
        self.told = Some(report.elapsed);
        let arms: Vec<String> = report
            .standing
            .arms
            .iter()
            .map(|standing| format!("{} {}", standing.arm, standing.so_far.as_deref().unwrap_or("...")))
            .collect();
        if let Some(bar) = &self.bar {
            bar.set_length((report.elapsed + report.left).get());
            bar.set_position(report.elapsed.get());
        }
        self.tell(format!(
            "{}: round {} of at most {}, {}: {}",
            self.name,
            report.rounds,
            report.max_rounds,
            time_to_come(report.to_look, report.left),
            arms.join(", ")
        ));
    }
}

/// `judged in about 25 s, at most 4 min 56 s left`.
fn time_to_come(to_look: Option<Nanos>, left: Nanos) -> String {
    let at_most = format!("at most {} left", in_seconds(left));
    // Behind the end of the budget there is no look.
    match to_look.filter(|look| *look < left) {
        Some(look) => format!("judged in about {}, {at_most}", in_seconds(look)),
        None => at_most,
    }
}

/// `25 s`, `4 min 56 s`; a moment is a second.
fn in_seconds(time: Nanos) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_to_come_is_that_of_the_next_look_and_of_the_budget() {
        let s = Nanos::from_secs;
        let looks = [
            (Some(s(25)), s(296)),
            (None, s(60)),
            (Some(s(30)), s(12)),
            (Some(Nanos::from_millis(1)), s(3600)),
        ];
        let said = looks.map(|(look, left)| time_to_come(look, left));
        let expected = [
            "judged in about 25 s, at most 4 min 56 s left",
            "at most 1 min left",
            "at most 12 s left",
            "judged in about 1 s, at most 60 min left",
        ];
        assert_eq!(said, expected);
    }
}
