//! Difference between two arms' configurations, for the page's first screens.
//!
//! Cold, pure. Ports and private directories, of which each start has its own, are no difference.

use crate::document::{Block, Section};
use crate::reading::Reading;
use bakeoff_results::SubjectSetup;
use similar::TextDiff;

/// Lines of one difference on the page; the configurations stand whole further down.
const MOST_LINES: usize = 60;
/// Directories of runs, as they are called below `TMPDIR`.
const PRIVATE: &str = "/bakeoff-";
/// Line above each file of an adopted configuration, before the path and a colon.
const FILE: &str = "# configuration file ";

/// One difference an arm that has any.
pub(super) fn section(reading: &Reading<'_>) -> Section {
    let blocks = reading.compared().filter_map(|arm| block(reading, arm)).collect::<Vec<_>>();
    blocks.into_iter().fold(Section::on_page("differs", "What differs").nav("What differs"), Section::page)
}

fn block(reading: &Reading<'_>, arm: &str) -> Option<Block> {
    let baseline = reading.baseline_of(arm);
    let configuration = |arm: &str| reading.bundle.setup.subjects.get(arm).map(configuration);
    let (base, own) = (configuration(baseline)?, configuration(arm)?);
    if base == own || base.is_empty() || own.is_empty() {
        return None;
    }
    let diff = TextDiff::from_lines(&base, &own);
    let said = diff.unified_diff().context_radius(1).header(baseline, arm).to_string();
    let lines: Vec<&str> = said.lines().collect();
    let mut shown = lines[..lines.len().min(MOST_LINES)].join("\n");
    if let Some(more @ 1..) = lines.len().checked_sub(MOST_LINES) {
        shown += &format!("\n... and {more} more lines");
    }
    Some(Block::details(true, format!("{arm} against {baseline}"), [Block::Preformatted(shown)]))
}

/// The configurations of an arm, outermost first, without what is its own at each start.
fn configuration(subject: &SubjectSetup) -> String {
    let fronts = subject.fronts.iter().map(|front| (&front.url, &front.command, &front.config));
    let all: Vec<_> = fronts.chain([(&subject.url, &subject.command, &subject.config)]).collect();
    let mut text: String = all.iter().filter_map(|(_, _, config)| config.as_deref()).collect();
    let ports = all.iter().flat_map(|(url, command, _)| {
        let flag = command.windows(2).find(|words| words[0] == "--port").map(|words| words[1].as_str());
        url.rsplit_once(':').map(|(_, port)| port).into_iter().chain(flag)
    });
    for port in ports.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        text = replaced(&text, port);
    }
    without_home(&without_directories(&text))
}

/// An adopted configuration without its own directory, of which the other has another.
fn without_home(text: &str) -> String {
    let first = text.lines().next().and_then(|line| line.strip_prefix(FILE)?.strip_suffix(':'));
    let Some((home, _)) = first.and_then(|file| file.rsplit_once('/')) else { return text.to_owned() };
    text.replace(&format!("{FILE}{home}/"), FILE).replace(&format!("{{dir}}/tree{home}/"), "{dir}/tree/")
}

/// Every occurrence of a port that is not part of a longer number becomes `{port}`.
fn replaced(text: &str, port: &str) -> String {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (at, _) in text.match_indices(port) {
        let bytes = text.as_bytes();
        let is_whole = !is_digit(at.checked_sub(1).and_then(|at| bytes.get(at)))
            && !is_digit(bytes.get(at + port.len()));
        if is_whole {
            out.push_str(&text[from..at]);
            out.push_str("{port}");
            from = at + port.len();
        }
    }
    out.push_str(&text[from..]);
    out
}

/// `/tmp/bakeoff-4711/ARM/` becomes `{dir}/`.
fn without_directories(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(PRIVATE) {
        let is_end = |letter: char| letter.is_whitespace() || "\"';,:=(){}".contains(letter);
        let start = rest[..at]
            .rfind(is_end)
            .map_or(0, |end| end + rest[end..].chars().next().map_or(0, char::len_utf8));
        let (behind, number) = (at + 1, at + PRIVATE.len());
        let digits = rest[number..].bytes().take_while(u8::is_ascii_digit).count();
        let arm = rest[number + digits..].strip_prefix('/').filter(|_| digits > 0);
        let Some(arm) = arm else {
            out.push_str(&rest[..behind]);
            rest = &rest[behind..];
            continue;
        };
        out.push_str(&rest[..start]);
        out.push_str("{dir}");
        rest = arm.trim_start_matches(|letter: char| letter != '/' && !is_end(letter));
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(port: u16, arm: &str, line: &str) -> SubjectSetup {
        SubjectSetup {
            url: format!("http://127.0.0.1:{port}"),
            config: Some(format!(
                "listen 127.0.0.1:{port};\nroot \"/tmp/bakeoff-4711/{arm}/site\";\nkeepalive 1{port}0;\n{line}\n"
            )),
            ..SubjectSetup::default()
        }
    }

    #[test]
    fn where_an_adopted_configuration_lies_is_no_difference() {
        let text = |home: &str| {
            format!(
                "{FILE}{home}/nginx.conf:\ninclude {{dir}}/tree{home}/a.conf;\n{FILE}{home}/a.conf:\nroot {home}/www;\n"
            )
        };
        let said = without_home(&text("/etc/nginx"));
        assert_eq!(
            said,
            format!("{FILE}nginx.conf:\ninclude {{dir}}/tree/a.conf;\n{FILE}a.conf:\nroot /etc/nginx/www;\n")
        );
        assert_eq!(without_home(&text("/home/u/b")).replace("/home/u/b", "/etc/nginx"), said);
    }

    #[test]
    fn ports_and_directories_of_a_start_are_no_difference() {
        let [one, two] = [started(8080, "a", "gzip on;"), started(9090, "b_second", "gzip on;")];
        let text = configuration(&one);
        assert_eq!(text, "listen 127.0.0.1:{port};\nroot \"{dir}/site\";\nkeepalive 180800;\ngzip on;\n");
        let other = configuration(&two);
        assert_eq!(other.replace("190900", "180800"), text, "a longer number is another number");
        assert_eq!(
            without_directories("see /bakeoff-x and /srv/bakeoff-1"),
            "see /bakeoff-x and /srv/bakeoff-1"
        );
    }
}
