//! Parser of rules: from text to the typed file.
//!
//! Measured side, pure. Continues after a fault, so that all are reported at once.

use super::fault::{Faults, RuleFaultKind};
use super::file::{At, Entry, File, Overload, Section, Server};
use super::table::{Refuse, When};
use super::value::{self, Bad};
use super::words::unknown;
use bakeoff_layers_base::document::{self, Language, Value};
use toml::de::DeValue;

impl Language for RuleFaultKind {
    const KEYS: &'static [(&'static str, &'static str)] = &[
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
        ("unread", "a table: write [unread], and below it rate = \"100/s\""),
        ("source", "a prefix: write source = \"10.0.0.0/8\""),
        ("to", "a prefix: write to = \"192.0.2.1/32\""),
        ("path", "a text: write path = \"/x\", \"/x/*\" or \"*x*\""),
        ("class", "the name of a class"),
        ("rate", "a text: write rate = \"300/s\""),
        ("burst", "a number: write burst = 300"),
        ("per", "the length of a prefix: write per = \"/24\""),
        ("each", "a text: write each = \"10/s\", the rate of each prefix that per cuts out"),
        ("each-burst", "a number: write each-burst = 10"),
        ("refuse", "a text, how it is refused: write refuse = \"reset\""),
    ];
    const NOT_TOML: Self = Self::NotToml;
    const UNKNOWN: Self = Self::Unknown;
    const OF_ANOTHER_TYPE: Self = Self::OfAnotherType;
    const KEY_MISSING: Self = Self::KeyMissing;
    const ODD_NAME: Self = Self::OddName;

    fn unknown(what: &str, word: &str, known: &[&str]) -> String {
        unknown(what, word, known)
    }
}

/// Reads a text.
pub(super) fn read(text: &str, faults: &mut Faults) -> File {
    document::read(text, faults, |form, entries| {
        let mut reader = Reader(form);
        let mut file = File::default();
        let (mut requests, mut others) = (Vec::new(), Vec::new());
        for (key, line, value) in entries {
            match key {
                "server" => file.server = Some(reader.server(line, value)),
                "overload" => file.overload = Some(reader.overload(line, value)),
                "from" => file.entries.extend(reader.entries(Section::From, "from", value)),
                "request" => requests.extend(reader.entries(Section::Request, "request", value)),
                "odd" => others.extend(reader.entry(Section::Odd, "odd", line, value)),
                "unread" => others.extend(reader.entry(Section::Unread, "unread", line, value)),
                other => {
                    let known = ["server", "overload", "from", "request", "odd", "unread"];
                    reader.0.unknown_key(other, line, &known);
                }
            }
        }
        file.entries.extend(requests.into_iter().chain(others));
        file
    })
}

struct Reader<'r>(document::ValueReader<'r, RuleFaultKind>);

impl Reader<'_> {
    fn server(&mut self, line: usize, value: &Value<'_>) -> Server {
        let mut server = Server::default();
        let mut written = false;
        for (key, line, value) in self.0.table("server", value) {
            match key {
                "listen" => {
                    let list = value.get_ref().as_array().map_or(std::slice::from_ref(value), |list| list);
                    written = !list.is_empty();
                    list.iter().for_each(|value| server.listen.extend(self.port("listen", value)));
                }
                "classes" => {
                    for (name, line, value) in self.0.table("classes", value) {
                        self.0.name(name, line);
                        server
                            .classes
                            .extend(self.port("classes", value).map(|port| (name.to_owned(), port)));
                    }
                }
                other => self.0.unknown_key(other, line, &["listen", "classes"]),
            }
        }
        if !written && value.get_ref().is_table() {
            self.0.missing("listen", line);
        }
        server
    }

    fn overload(&mut self, line: usize, value: &Value<'_>) -> Overload {
        let mut found = Overload { line, ..Overload::default() };
        let mut written = false;
        for (key, line, value) in self.0.table("overload", value) {
            match key {
                "target" => {
                    written = true;
                    let text = self.0.text("target", value);
                    found.target = text.and_then(|text| self.good(line, value::target(&text)));
                }
                "shares" => {
                    let shares = found.shares.insert(Vec::new());
                    for (name, line, value) in self.0.table("shares", value) {
                        shares.push((name.to_owned(), (self.share(value), line)));
                    }
                }
                "when" => {
                    let words = [("always", When::Always), ("overload", When::Overload)];
                    let text = self.0.text("when", value);
                    found.when = text.and_then(|text| self.word("when", line, &text, &words));
                }
                other => self.0.unknown_key(other, line, &["target", "shares", "when"]),
            }
        }
        if !written && value.get_ref().is_table() {
            self.0.missing("target", line);
        }
        found
    }

    fn entries(&mut self, section: Section, key: &str, value: &Value<'_>) -> Vec<Entry> {
        let list = self.0.list(key, value).iter();
        list.filter_map(|value| self.entry(section, key, self.0.line(value), value)).collect()
    }

    fn entry(&mut self, section: Section, key: &str, line: usize, value: &Value<'_>) -> Option<Entry> {
        let mut found = Entry { section, line, ..Entry::default() };
        for (key, line, value) in self.0.table(key, value) {
            if section.keys().contains(&key) {
                found.written.insert(key.to_owned());
                self.clause(&mut found, key, line, value);
            } else {
                self.0.unknown_key(key, line, section.keys());
            }
        }
        let needed = match section {
            Section::From => "source",
            Section::Request => "path",
            Section::Odd | Section::Unread => return value.get_ref().is_table().then_some(found),
        };
        if !found.written.contains(needed) && value.get_ref().is_table() {
            self.0.missing(needed, line);
        }
        value.get_ref().is_table().then_some(found)
    }

    fn clause(&mut self, found: &mut Entry, key: &str, line: usize, value: &Value<'_>) {
        if matches!(key, "burst" | "each-burst") {
            let burst = self.0.number(key, value).and_then(|number| self.good(line, value::burst(number)));
            let place = if key == "burst" { &mut found.burst } else { &mut found.each_burst };
            *place = burst.map(|burst| (burst, line));
            return;
        }
        let Some(text) = self.0.text(key, value) else { return };
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
                Section::Unread => "no reply can be written into what is not read",
                _ => "a request that is dropped in silence comes again and again",
            };
            let words = words.join(" or ");
            let said = format!("{} cannot refuse by \"{text}\": {why}; write {words}", section.head());
            self.0.fault(line, RuleFaultKind::OtherStage, said);
            return None;
        }
        self.word("way to refuse", line, text, &known)
    }

    fn word<T: Copy>(&mut self, what: &str, line: usize, text: &str, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.0.fault(line, RuleFaultKind::Unknown, unknown(what, text, &known));
        }
        found
    }

    fn good<T>(&mut self, line: usize, value: Result<T, Bad>) -> Option<T> {
        value.map_err(|(wrong, sentence)| self.0.fault(line, wrong, sentence)).ok()
    }

    fn port(&mut self, key: &str, value: &Value<'_>) -> Option<At<u16>> {
        let line = self.0.line(value);
        let number = self.0.number(key, value)?;
        let port = u16::try_from(number).ok().filter(|port| *port > 0);
        if port.is_none() {
            self.0.fault(
                line,
                RuleFaultKind::OutOfRange,
                format!("{number} is no TCP port: write 1 to 65535"),
            );
        }
        port.map(|port| (port, line))
    }

    fn share(&mut self, value: &Value<'_>) -> Option<f64> {
        let text = match value.get_ref() {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            _ => return self.0.odd("shares", value, None),
        };
        let share = text.replace('_', "").parse::<f64>().ok().filter(|share| (0.001..=1.0).contains(share));
        if share.is_none() {
            let line = self.0.line(value);
            let said = format!("a share of {text} is out of range: write 0.001 to 1");
            self.0.fault(line, RuleFaultKind::OutOfRange, said);
        }
        share
    }
}
