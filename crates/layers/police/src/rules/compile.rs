//! Compiler of rules: from the typed file to the table, with all faults between its parts.
//!
//! Measured side, pure.

use super::fault::{Faults, RuleFaultKind};
use super::file::{At, Entry, File, Section, Server};
use super::path::Pattern;
use super::table::{
    CLASSES_MAX, CONTAINS_BYTES_MAX, ConnectionClass, DESTINATIONS_MAX, Overload, Per, RULES_MAX, Rate,
    RuleAction, RuleId, RuleTable, SOURCES_MAX, StageRule, SynSource, When,
};
use super::value;
use super::words::unknown;
use std::collections::{BTreeSet, HashMap};

/// The table of a file; complete only without faults.
pub(super) fn compile(file: &File, faults: &mut Faults) -> RuleTable {
    let mut table = RuleTable::default();
    match &file.server {
        Some(server) => (table.ports, table.classes) = ports(server, faults),
        None => faults.add(
            1,
            RuleFaultKind::KeyMissing,
            "there is no [server]: write it, and below it listen = 80",
        ),
    }
    table.overload = overload(file, faults);
    let classes: Vec<&str> =
        file.server.iter().flat_map(|server| &server.classes).map(|(name, _)| name.as_str()).collect();
    let mut lines = HashMap::new();
    for entry in &file.entries {
        let Ok(id) = u16::try_from(table.rules.len()) else { break };
        let rule = rule(entry, &classes, table.overload.is_some(), faults);
        if let Some(first) = lines.insert(rule.name.clone(), entry.line)
            && entry.is_complete()
        {
            let (_, what) = rule.name.split_once('-').unwrap_or_default();
            let said = format!("{what} has a rule already, in line {first}: make one of the two");
            faults.add(entry.line, RuleFaultKind::Twice, said);
        }
        place(&mut table, entry, RuleId(id));
        table.rules.push(rule);
    }
    too_many(&table, file, faults);
    table
}

fn ports(server: &Server, faults: &mut Faults) -> (Vec<u16>, Vec<ConnectionClass>) {
    let (mut public, mut own) = (BTreeSet::new(), BTreeSet::new());
    for (port, line) in &server.listen {
        if !public.insert(*port) {
            faults.add(*line, RuleFaultKind::Twice, format!("port {port} is listed twice: take one away"));
        }
    }
    for (name, (port, line)) in &server.classes {
        let (kind, whose) = match (public.contains(port), own.insert(*port)) {
            (true, _) => (RuleFaultKind::PublicPort, "which clients connect to"),
            (_, false) => (RuleFaultKind::Twice, "which another class has"),
            _ => continue,
        };
        let help = "give it one of its own, where the server listens as well";
        faults.add(*line, kind, format!("class {name} has port {port}, {whose}: {help}"));
    }
    if let Some((name, (_, line))) = server.classes.get(CLASSES_MAX) {
        let said = format!("class {name} is one too many: there can be {CLASSES_MAX}");
        faults.add(*line, RuleFaultKind::TooMany, said);
    }
    let class = |(name, (port, _)): &(String, At<u16>)| ConnectionClass { name: name.clone(), port: *port };
    (public.into_iter().collect(), server.classes.iter().map(class).collect())
}

fn overload(file: &File, faults: &mut Faults) -> Option<Overload> {
    let found = file.overload.as_ref()?;
    let classes = file.server.as_ref().map_or(&[][..], |server| &server.classes);
    if classes.is_empty() {
        let said = "[overload] bounds the queues of classes, and there is none: write classes in [server]";
        faults.add(found.line, RuleFaultKind::KeyMissing, said);
    }
    let names: Vec<&str> = classes.iter().map(|(name, _)| name.as_str()).collect();
    let written = found.shares.as_deref().unwrap_or_default();
    for (name, (_, line)) in written.iter().filter(|(name, _)| !names.contains(&name.as_str())) {
        faults.add(*line, RuleFaultKind::Unknown, unknown("class", name, &names));
    }
    let mut shares: Vec<u16> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let share = written.iter().find(|(other, _)| other == name).map(|(_, share)| *share);
        // Default: half of the share of the class above.
        let halved = 1.0 / f64::from(1_u32 << index.min(CLASSES_MAX));
        let thousandths = (share.and_then(|(share, _)| share).unwrap_or(halved) * 1000.0).round() as u16;
        match (share, shares.last()) {
            (None, _) if found.shares.is_some() => {
                let said =
                    format!("class {name} has no share: write one for each class, or leave shares out");
                faults.add(found.line, RuleFaultKind::KeyMissing, said);
            }
            (Some((Some(share), line)), Some(above)) if thousandths > *above => {
                let help = "a lower class cannot fill more than the one above it";
                faults.add(
                    line,
                    RuleFaultKind::OutOfRange,
                    format!("class {name} has a share of {share}: {help}"),
                );
            }
            _ => {}
        }
        shares.push(thousandths);
    }
    let target_ns = found.target?.get();
    Some(Overload { target_ns, shares, when: found.when.unwrap_or(When::Always) })
}

fn rule(entry: &Entry, classes: &[&str], is_bounded: bool, faults: &mut Faults) -> StageRule {
    let class = entry.class.as_ref().and_then(|(name, line)| {
        let place = classes.iter().position(|known| known == name);
        if place.is_none() {
            faults.add(*line, RuleFaultKind::Unknown, unknown("class", name, classes));
        }
        place.and_then(|place| u8::try_from(place).ok())
    });
    if let (Some((_, line)), false) = (entry.burst, entry.has("rate")) {
        faults.add(
            line,
            RuleFaultKind::NoRate,
            "burst says how many may come at once of a rate: write rate, too",
        );
    }
    if entry.has("refuse") && entry.has("class") && !entry.has("rate") && !is_bounded {
        let said = "refuse says how it is refused above a rate or a queue's bound: write rate, or [overload]";
        faults.add(entry.line, RuleFaultKind::NoRate, said);
    }
    let rate = entry.rate.map(|rate| value::compiled(rate, entry.burst.map(|(burst, _)| burst)));
    let per = per(entry, rate, faults);
    if let (Some((source, _)), Some((to, line))) = (entry.source, entry.to)
        && source.address().is_ipv4() != to.address().is_ipv4()
    {
        let said =
            format!("{source} and {to} are not of one family, so no packet has both: write a rule for each");
        faults.add(line, RuleFaultKind::OtherFamily, said);
    }
    let action = match rate {
        Some(rate) => RuleAction::Police(rate),
        None if entry.has("refuse") && !entry.has("class") => RuleAction::Refuse,
        None => RuleAction::Pass,
    };
    let refuse = entry.refuse.unwrap_or(entry.section.refusals()[0]);
    StageRule {
        name: entry.name(),
        line: u32::try_from(entry.line).unwrap_or(u32::MAX),
        action,
        class,
        refuse,
        per,
    }
}

fn per(entry: &Entry, rate: Option<Rate>, faults: &mut Faults) -> Option<Per> {
    match (&entry.per, entry.each, entry.each_burst) {
        (None, Some((_, line)), _) if !entry.has("per") => {
            let said = "each is the rate of each prefix that per cuts out: write per = \"/24\", too";
            faults.add(line, RuleFaultKind::KeyMissing, said);
        }
        (_, None, Some((_, line))) if !entry.has("each") => {
            let said = "each-burst says how many may come at once of each: write each, too";
            faults.add(line, RuleFaultKind::NoRate, said);
        }
        _ => {}
    }
    let (text, line) = entry.per.as_ref()?;
    if !entry.has("rate") {
        let help = "strangers can be of any number of prefixes, so write rate for all together";
        faults.add(*line, RuleFaultKind::NoRate, format!("per without a rate bounds nothing: {help}"));
    }
    let (source, _) = entry.source?;
    let length = match value::per(text, source) {
        Ok(length) => length,
        Err((wrong, said)) => {
            faults.add(*line, wrong, said);
            return None;
        }
    };
    let own = rate?;
    let each = match entry.each {
        Some((each, _)) => value::compiled(each, entry.each_burst.map(|(burst, _)| burst)),
        None => own,
    };
    if each.interval_ns <= own.interval_ns && each.burst() >= own.burst() {
        let said =
            format!("each {text} of {source} may take all that the rule lets in: write each, below rate");
        faults.add(*line, RuleFaultKind::EachIsAll, said);
    }
    Some(Per { length, rate: each })
}

/// Puts a rule into its look-up tables.
fn place(table: &mut RuleTable, entry: &Entry, rule: RuleId) {
    match (entry.section, entry.source, &entry.path) {
        (Section::Odd, _, _) => table.odd = Some(rule),
        (Section::Unread, _, _) => table.unread = Some(rule),
        (Section::From, Some((prefix, _)), _) => {
            table.sources.push(SynSource { prefix, to: entry.to.map(|(to, _)| to), rule });
        }
        (Section::Request, _, Some(((_, pattern), _))) => {
            let list = match pattern {
                Pattern::Exact(_) => &mut table.exact,
                Pattern::Prefix(_) => &mut table.prefixes,
                Pattern::Contains(_) => &mut table.contains,
            };
            list.push((pattern.bytes().to_vec(), rule));
        }
        _ => {}
    }
}

fn too_many(table: &RuleTable, file: &File, faults: &mut Faults) {
    let mut add = |line, sentence| faults.add(line, RuleFaultKind::TooMany, sentence);
    if let Some(entry) = file.entries.get(RULES_MAX) {
        add(
            entry.line,
            format!("this is one rule too many: the kernel's maps hold {RULES_MAX}; take some together"),
        );
    }
    let line = |id: &RuleId| table.rule(*id).map_or(1, |rule| rule.line as usize);
    let mut bytes = 0;
    let over = table.contains.iter().find(|(part, _)| {
        bytes += part.len();
        bytes > CONTAINS_BYTES_MAX
    });
    if let Some((_, id)) = over {
        let said =
            format!("all *...* together have more than {CONTAINS_BYTES_MAX} bytes: write shorter ones");
        add(line(id), said);
    }
    let mut named = BTreeSet::new();
    let over = table.sources.iter().find(|source| {
        named.extend(source.to.map(|to| (to.address(), to.length())));
        named.len() > DESTINATIONS_MAX
    });
    if let Some(source) = over {
        let said =
            format!("this is one destination too many: there can be {DESTINATIONS_MAX}; take some together");
        add(line(&source.rule), said);
    } else if !named.is_empty() {
        let all: usize = table.by_destination().iter().map(|destination| destination.sources.len()).sum();
        if all > SOURCES_MAX {
            let help = "each source without `to` counts for each destination";
            let last = table.sources.last().map_or(1, |source| line(&source.rule));
            add(
                last,
                format!("sources in all destinations are {all}, and the maps hold {SOURCES_MAX}: {help}"),
            );
        }
    }
}

impl Entry {
    /// The rule's name; unique among complete ones.
    fn name(&self) -> String {
        let source = self.source.map(|(source, _)| source.to_string()).unwrap_or_default();
        let path = self.path.as_ref().map(|((text, _), _)| text.as_str()).unwrap_or_default();
        match (self.section, self.to) {
            (Section::From, Some((to, _))) => format!("from-{source}-to-{to}"),
            (Section::From, None) => format!("from-{source}"),
            (Section::Request, _) => format!("request-{path}"),
            (Section::Odd, _) => "odd".to_owned(),
            (Section::Unread, _) => "unread".to_owned(),
        }
    }

    /// Whether its subject is known: a faulty rule is not also reported as a duplicate.
    fn is_complete(&self) -> bool {
        match self.section {
            Section::From => self.source.is_some() && self.to.is_some() == self.has("to"),
            Section::Request => self.path.is_some(),
            Section::Odd | Section::Unread => false,
        }
    }
}
