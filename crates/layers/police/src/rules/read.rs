//! From a text to what is typed in it.
//!
//! Measured side, pure. Goes on after a fault, so that all are told at once.

use super::fault::{Faults, Wrong};
use super::file::{At, Entry, File, Overload, Section, Server};
use super::table::{Refuse, When};
use super::value::{self, Bad};
use super::words::unknown;
use bakeoff_layers_base::word::is_name;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys with what they are.
const KEYS: [(&str, &str); 20] = [
    ("server", "a table: write [server], and below it listen = 80"),
    ("listen", "a port that clients connect to, or a list of them: write listen = 80"),
    (
        "classes",
        "a table of ports where the server itself listens: write classes = { high = 8200, low = 8201 }",
    ),
    ("overload", "a table: write [overload], and below it target = \"20ms\""),
    ("target", "how long one may wait in the queue: write target = \"20ms\""),
    ("shares", "a table of a share a class, above 0 to 1: write shares = { high = 1.0, low = 0.25 }"),
    ("when", "\"always\", or \"overload\""),
    ("from", "a list of tables: write [[from]], and below it source = \"10.0.0.0/8\""),
    ("request", "a list of tables: write [[request]], and below it path = \"/x/*\""),
    ("odd", "a table: write [odd], and below it rate = \"10/s\""),
    ("source", "a prefix: write source = \"10.0.0.0/8\""),
    ("to", "a prefix: write to = \"192.0.2.1/32\""),
    ("path", "a text: write path = \"/x\", \"/x/*\" or \"*x*\""),
    ("class", "the name of a class"),
    ("rate", "a text: write rate = \"300/s\""),
    ("burst", "a number: write burst = 300"),
    ("per", "the length of a prefix: write per = \"/24\""),
    ("each", "a text: write each = \"10/s\", the rate of each prefix that per cuts out"),
    ("each-burst", "a number: write each-burst = 10"),
    ("refuse", "a text, how it is refused"),
];

fn wanted(key: &str) -> &'static str {
    KEYS.iter().find(|(known, _)| *known == key).map_or("something else", |(_, wanted)| wanted)
}

/// Reads a text.
pub(super) fn read(text: &str, faults: &mut Faults) -> File {
    let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let mut reader = Reader { starts, faults };
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut lines = BTreeSet::new();
    for error in &errors {
        let line = reader.line(&error.span().unwrap_or_default());
        // The reader's next guesses on a line follow from the first.
        if lines.insert(line) {
            reader.faults.add(line, Wrong::NotToml, error.message());
        }
    }
    // What is missing after a mistake of form would be told as missing from the file.
    if errors.is_empty() { reader.file(table.get_ref()) } else { File::default() }
}

type Value<'t> = Spanned<DeValue<'t>>;

struct Reader<'r> {
    /// Where lines end.
    starts: Vec<usize>,
    faults: &'r mut Faults,
}

impl Reader<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        self.starts.partition_point(|end| *end < span.start) + 1
    }

    fn file(&mut self, table: &DeTable<'_>) -> File {
        let mut file = File::default();
        let (mut requests, mut odd) = (Vec::new(), Vec::new());
        for (key, value) in table {
            let line = self.line(&key.span());
            match key.get_ref().as_ref() {
                "server" => file.server = Some(self.server(line, value)),
                "overload" => file.overload = Some(self.overload(line, value)),
                "from" => self.list("from", value, |reader, value| {
                    let line = reader.line(&value.span());
                    file.entries.extend(reader.entry(Section::From, "from", line, value));
                }),
                "request" => self.list("request", value, |reader, value| {
                    let line = reader.line(&value.span());
                    requests.extend(reader.entry(Section::Request, "request", line, value));
                }),
                "odd" => odd.extend(self.entry(Section::Odd, "odd", line, value)),
                other => self.unknown_key(other, line, &["server", "overload", "from", "request", "odd"]),
            }
        }
        file.entries.extend(requests.into_iter().chain(odd));
        file
    }

    fn server(&mut self, line: usize, value: &Value<'_>) -> Server {
        let mut server = Server::default();
        let mut written = false;
        self.table("server", value, |reader, key, line, value| match key {
            "listen" => {
                let list = value.get_ref().as_array().map_or(std::slice::from_ref(value), |list| list);
                written = !list.is_empty();
                list.iter().for_each(|value| server.listen.extend(reader.port("listen", value)));
            }
            "classes" => reader.table("classes", value, |reader, name, line, value| {
                reader.name(name, line);
                server.classes.extend(reader.port("classes", value).map(|port| (name.to_owned(), port)));
            }),
            other => reader.unknown_key(other, line, &["listen", "classes"]),
        });
        if !written && value.get_ref().is_table() {
            self.missing("listen", line);
        }
        server
    }

    fn overload(&mut self, line: usize, value: &Value<'_>) -> Overload {
        let mut found = Overload { line, ..Overload::default() };
        let mut written = false;
        self.table("overload", value, |reader, key, line, value| match key {
            "target" => {
                written = true;
                found.target =
                    reader.text("target", value).and_then(|text| reader.good(line, value::target(&text)));
            }
            "shares" => {
                let shares = found.shares.insert(Vec::new());
                reader.table("shares", value, |reader, name, line, value| {
                    shares.push((name.to_owned(), (reader.share(value), line)));
                });
            }
            "when" => {
                let words = [("always", When::Always), ("overload", When::Overload)];
                found.when =
                    reader.text("when", value).and_then(|text| reader.word("when", line, &text, &words));
            }
            other => reader.unknown_key(other, line, &["target", "shares", "when"]),
        });
        if !written && value.get_ref().is_table() {
            self.missing("target", line);
        }
        found
    }

    fn entry(&mut self, section: Section, key: &str, line: usize, value: &Value<'_>) -> Option<Entry> {
        let mut found = Entry { section, line, ..Entry::default() };
        self.table(key, value, |reader, key, line, value| {
            if !section.keys().contains(&key) {
                return reader.unknown_key(key, line, section.keys());
            }
            found.written.insert(key.to_owned());
            reader.clause(&mut found, key, line, value);
        });
        let needed = match section {
            Section::From => "source",
            Section::Request => "path",
            Section::Odd => return value.get_ref().is_table().then_some(found),
        };
        if !found.written.contains(needed) && value.get_ref().is_table() {
            self.missing(needed, line);
        }
        value.get_ref().is_table().then_some(found)
    }

    fn clause(&mut self, found: &mut Entry, key: &str, line: usize, value: &Value<'_>) {
        if matches!(key, "burst" | "each-burst") {
            let burst = self.number(key, value).and_then(|number| self.good(line, value::burst(number)));
            let place = if key == "burst" { &mut found.burst } else { &mut found.each_burst };
            *place = burst.map(|burst| (burst, line));
            return;
        }
        let Some(text) = self.text(key, value) else { return };
        match key {
            "source" => found.source = self.good(line, value::prefix(&text)).map(|prefix| (prefix, line)),
            "to" => found.to = self.good(line, value::prefix(&text)).map(|prefix| (prefix, line)),
            "path" => {
                found.path = self.good(line, value::pattern(&text)).map(|pattern| ((text, pattern), line));
            }
            "class" => found.class = Some((text, line)),
            "rate" => found.rate = self.good(line, value::rate(&text)),
            "each" => found.each = self.good(line, value::rate(&text)).map(|rate| (rate, line)),
            "per" => found.per = Some((text, line)),
            _ => found.refuse = self.refuse(found.section, line, &text),
        }
    }

    fn refuse(&mut self, section: Section, line: usize, text: &str) -> Option<Refuse> {
        let known: Vec<(&str, Refuse)> = section.refusals().iter().map(|way| (way.name(), *way)).collect();
        let others = [Section::From, Section::Request].iter().flat_map(|other| other.refusals());
        let elsewhere = others.map(|way| way.name()).any(|word| word == text);
        if elsewhere && known.iter().all(|(word, _)| *word != text) {
            let words: Vec<String> = known.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            let why = match section {
                Section::From => "a SYN has no request that could be answered",
                _ => "a request that is dropped in silence comes again and again",
            };
            let words = words.join(" or ");
            let said = format!("{} cannot refuse by \"{text}\": {why}; write {words}", section.head());
            self.faults.add(line, Wrong::OtherStage, said);
            return None;
        }
        self.word("way to refuse", line, text, &known)
    }

    fn word<T: Copy>(&mut self, what: &str, line: usize, text: &str, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.faults.add(line, Wrong::Unknown, unknown(what, text, &known));
        }
        found
    }

    fn good<T>(&mut self, line: usize, value: Result<T, Bad>) -> Option<T> {
        value.map_err(|(wrong, sentence)| self.faults.add(line, wrong, sentence)).ok()
    }

    fn port(&mut self, key: &str, value: &Value<'_>) -> Option<At<u16>> {
        let line = self.line(&value.span());
        let number = self.number(key, value)?;
        let port = u16::try_from(number).ok().filter(|port| *port > 0);
        if port.is_none() {
            self.faults.add(line, Wrong::NoPort, format!("{number} is no TCP port: write 1 to 65535"));
        }
        port.map(|port| (port, line))
    }

    fn share(&mut self, value: &Value<'_>) -> Option<f64> {
        let text = match value.get_ref() {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => {
                self.odd("shares", value);
                return None;
            }
        };
        let share = text.replace('_', "").parse::<f64>().ok().filter(|share| (0.001..=1.0).contains(share));
        if share.is_none() {
            let line = self.line(&value.span());
            self.faults.add(
                line,
                Wrong::OutOfRange,
                format!("a share of {text} is out of range: write 0.001 to 1"),
            );
        }
        share
    }

    fn number(&mut self, key: &str, value: &Value<'_>) -> Option<i64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.odd(key, value);
        }
        number
    }

    fn text(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(ToOwned::to_owned);
        if text.is_none() {
            self.odd(key, value);
        }
        text
    }

    fn table(
        &mut self,
        key: &str,
        value: &Value<'_>,
        mut each: impl FnMut(&mut Self, &str, usize, &Value<'_>),
    ) {
        let Some(table) = value.get_ref().as_table() else { return self.odd(key, value) };
        for (name, value) in table {
            let line = self.line(&name.span());
            each(self, name.get_ref(), line, value);
        }
    }

    fn list(&mut self, key: &str, value: &Value<'_>, mut each: impl FnMut(&mut Self, &Value<'_>)) {
        let Some(list) = value.get_ref().as_array() else { return self.odd(key, value) };
        list.iter().for_each(|value| each(self, value));
    }

    fn name(&mut self, name: &str, line: usize) {
        if !is_name(name) {
            let said = format!("`{}` is no name: letters, digits, - and _ make one", name.escape_debug());
            self.faults.add(line, Wrong::OddName, said);
        }
    }

    fn odd(&mut self, key: &str, value: &Value<'_>) {
        let line = self.line(&value.span());
        self.faults.add(line, Wrong::OfAnotherType, format!("`{key}` is {}", wanted(key)));
    }

    fn missing(&mut self, key: &str, line: usize) {
        self.faults.add(line, Wrong::KeyMissing, format!("`{key}` is missing: it is {}", wanted(key)));
    }

    fn unknown_key(&mut self, key: &str, line: usize, known: &[&str]) {
        self.faults.add(line, Wrong::Unknown, unknown("key", key, known));
    }
}
