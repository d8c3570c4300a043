//! Access lists: rights of principals, by directory.
//!
//! Measured side, pure. Owns the language, its faults and the compiled list. A decision takes one look-up for each
//! name and directory level, however long the list is. Reads no file: the caller passes texts.
//!
//! ```text
//! /                  allow group:staff@home.example  read,list
//! /projects/secret   only  user:alice@home.example   all        # what is above does not reach here
//! "/a name/with b"   allow any@partner.example       create
//! ```
//!
//! Rules at an object and above it add up, from the root down; if a directory has an `only`, just its own rules and
//! those below it count.

use crate::name::{Domain, PrincipalKind, PrincipalName};
use crate::operation::{Operation, Operations};
use crate::path::PathPrefix;
use bakeoff_layers_base::fault::{self, FaultLines};
use bakeoff_layers_base::named::Named;
use bakeoff_layers_base::word;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A fault at a line.
pub type AclFault = fault::Fault<AclFaultKind>;

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AclFaultKind {
    /// Not of the form path, verb, name, operations.
    NotARule,
    /// A path that no object can have.
    OddPath,
    /// An unknown verb or operation.
    Unknown,
    /// Neither a name nor `any@` and a domain.
    OddName,
    /// Two rules for one name at one path.
    Twice,
}

/// All faults of a list, in the order of lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the access list has faults:\n{}", FaultLines(.0))]
pub struct AclError(pub Vec<AclFault>);

/// A list without faults.
#[derive(Clone, Debug)]
pub struct Acl {
    file: String,
    root: Level,
}

/// A directory that rules name, or a parent of one.
#[derive(Clone, Debug, Default)]
struct Level {
    rules: HashMap<String, Rule>,
    /// The first line here with `only`.
    only: Option<usize>,
    below: HashMap<Vec<u8>, Level>,
}

impl Level {
    /// Whether a rule here or deeper grants something to one of these names. Rules nest as deeply as a path may.
    fn lets(&self, who: &[String]) -> bool {
        let mut rules = who.iter().filter_map(|name| self.rules.get(name));
        rules.any(|rule| rule.operations != Operations::NONE)
            || self.below.values().any(|level| level.lets(who))
    }
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    operations: Operations,
    line: usize,
}

/// Rights of a principal at a path, with the lines that grant them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AclDecision {
    /// The granted operations.
    pub operations: Operations,
    /// The nearest line that grants each operation, by its position; 0 if there is none.
    lines: [usize; Operation::ALL.len()],
    /// The nearest `only`, above which no rule counts.
    pub only: Option<usize>,
}

impl AclDecision {
    /// The nearest line that grants this operation.
    pub fn line(&self, operation: Operation) -> Option<usize> {
        self.lines.get(operation.place()).copied().filter(|line| *line > 0)
    }

    fn go_through(&mut self, level: &Level, who: &[String]) {
        if level.only.is_some() {
            *self = Self { only: level.only, ..Self::default() };
        }
        if level.rules.is_empty() {
            return;
        }
        for rule in who.iter().filter_map(|name| level.rules.get(name)) {
            self.operations = self.operations.or(rule.operations);
            for operation in rule.operations.each() {
                if let Some(line) = self.lines.get_mut(operation.place()) {
                    *line = rule.line;
                }
            }
        }
    }
}

impl Acl {
    /// Reads a list from text, with the name of its file.
    ///
    /// # Errors
    /// All its faults.
    pub fn of_text(text: &str, file: &str) -> Result<Self, AclError> {
        let mut faults = fault::Faults::of(file.to_owned());
        let mut acl = Self { file: file.to_owned(), root: Level::default() };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let added = read(line).and_then(|typed| acl.add(typed, index + 1));
            if let Err((wrong, sentence)) = added {
                faults.add(index + 1, wrong, sentence);
            }
        }
        faults.into_warnings(|_| false).map(|_| acl).map_err(AclError)
    }

    /// Name of its file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Rights at a path of a principal with these names ([`names`]).
    pub fn decide(&self, who: &[String], path: &[impl AsRef<[u8]>]) -> AclDecision {
        let mut decision = AclDecision::default();
        let mut rest = path.iter();
        let mut here = Some(&self.root);
        while let Some(level) = here {
            decision.go_through(level, who);
            here = rest.next().and_then(|name| level.below.get(name.as_ref()));
        }
        decision
    }

    /// The root, and the paths that rules name, with those on the way: rights elsewhere are as at one of these.
    pub fn places(&self) -> Vec<Vec<Vec<u8>>> {
        let (mut places, mut left) = (Vec::new(), vec![(Vec::new(), &self.root)]);
        while let Some((path, level)) = left.pop() {
            let below = |(name, level)| ([&path[..], &[Vec::clone(name)]].concat(), level);
            left.extend(level.below.iter().map(below));
            places.push(path);
        }
        places
    }

    /// Whether a rule names a path below this one.
    pub fn has_rules_below(&self, path: &[impl AsRef<[u8]>]) -> bool {
        self.level(path).is_some_and(|level| !level.below.is_empty())
    }

    /// Whether a rule grants something, at a path or below it, to a principal with these names.
    pub(crate) fn leads(&self, who: &[String], path: &[impl AsRef<[u8]>]) -> bool {
        self.level(path).is_some_and(|level| level.lets(who))
    }

    fn level(&self, path: &[impl AsRef<[u8]>]) -> Option<&Level> {
        path.iter().try_fold(&self.root, |level, name| level.below.get(name.as_ref()))
    }

    /// The nearest line that grants this operation to a group of this domain: for a refusal, as its giver may have
    /// the right through that group.
    pub(crate) fn line_of_group(
        &self,
        domain: &Domain,
        path: &[impl AsRef<[u8]>],
        operation: Operation,
    ) -> Option<usize> {
        let is_group = |who: &str| {
            who.parse().is_ok_and(|name: PrincipalName| {
                name.kind() == PrincipalKind::Group && name.domain() == domain
            })
        };
        let mut nearest = None;
        let mut rest = path.iter();
        let mut here = Some(&self.root);
        while let Some(level) = here {
            let rules =
                level.rules.iter().filter(|(who, rule)| rule.operations.has(operation) && is_group(who));
            let line = rules.map(|(_, rule)| rule.line).min();
            nearest = line.or_else(|| nearest.filter(|_| level.only.is_none()));
            here = rest.next().and_then(|name| level.below.get(name.as_ref()));
        }
        nearest
    }

    fn add(&mut self, typed: Typed, line: usize) -> Result<(), (AclFaultKind, String)> {
        let mut level = &mut self.root;
        for name in typed.path.names() {
            level = level.below.entry(name.clone().into_bytes()).or_default();
        }
        match level.rules.entry(typed.who) {
            Entry::Occupied(known) => {
                let (who, path, before) = (known.key(), &typed.path, known.get().line);
                Err((
                    AclFaultKind::Twice,
                    format!("{who} has a rule at {path} already, in line {before}; write one for both"),
                ))
            }
            Entry::Vacant(place) => {
                place.insert(Rule { operations: typed.operations, line });
                level.only = level.only.or(typed.only.then_some(line));
                Ok(())
            }
        }
    }
}

/// Names by which rules know a principal: its own, those of its groups, and `any` of its domain. With a chain these
/// are the first giver's name and domain, and the peer's groups. A giver's groups are not known here, so a right that
/// comes from a group cannot be handed on.
pub(crate) fn names(subject: &PrincipalName, groups: &[PrincipalName]) -> Vec<String> {
    let own = [subject].into_iter().chain(groups).map(PrincipalName::to_string);
    own.chain([any(subject.domain())]).collect()
}

fn any(domain: &Domain) -> String {
    format!("any@{domain}")
}

/// A rule as typed.
struct Typed {
    path: PathPrefix,
    only: bool,
    who: String,
    operations: Operations,
}

fn read(line: &str) -> Result<Typed, (AclFaultKind, String)> {
    let split = match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"'),
        None => Some(line.split_once(char::is_whitespace).unwrap_or((line, ""))),
    };
    let (path, rest) = split.unwrap_or((line, ""));
    let words: Vec<&str> = rest.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    let [verb, who, operations] = words.as_slice() else {
        let sentence = "no rule; write a path, allow or only, a name and operations, such as /x allow \
                        user:alice@home.example read,list; a path with blanks in \"\"";
        return Err((AclFaultKind::NotARule, sentence.to_owned()));
    };
    let path = PathPrefix::parse(path).ok_or_else(|| {
        let odd = path.escape_debug();
        (
            AclFaultKind::OddPath,
            format!("`{odd}` is no path from the root; write names and single / between, such as /a/b"),
        )
    })?;
    let only = match *verb {
        "allow" => false,
        "only" => true,
        other => return Err((AclFaultKind::Unknown, unknown("verb", other, &["allow", "only"]))),
    };
    let domain = who.strip_prefix("any@").map(|domain| domain.parse().map(|domain: Domain| any(&domain)));
    let who = domain.unwrap_or_else(|| who.parse().map(|name: PrincipalName| name.to_string()));
    let who = who.map_err(|no_name| {
        (AclFaultKind::OddName, format!("{no_name}; or any@home.example for all of a domain"))
    })?;
    let operations = Operations::of_words(operations).map_err(|word| {
        let known: Vec<&str> = Operation::ALL.into_iter().map(Operation::name).chain(["all"]).collect();
        (AclFaultKind::Unknown, unknown("operation", word, &known))
    })?;
    Ok(Typed { path, only, who, operations })
}

/// Words that other access lists use.
const ELSEWHERE: [(&[&str], &str); 3] = [
    (&["deny", "refuse", "except"], "nothing is denied here: write only at the directory, for who may"),
    (&["rename", "delete", "unlink", "move"], "write remove, which lets rename, too"),
    (&["execute", "exec", "x", "r", "w", "rw"], "write words, such as read,list"),
];

fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let help = word::said_of(word, &ELSEWHERE).or_else(|| word::near_miss(word, known));
    word::unknown(what, word, known, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault, text, message.
    const CASES: [(AclFaultKind, &str, &str); 12] = [
        (AclFaultKind::NotARule, "/x allow user:a@b", "write a path, allow or only"),
        (AclFaultKind::NotARule, "/x allow user:a@b read list", "write a path, allow or only"),
        (AclFaultKind::NotARule, "\"/x allow user:a@b read", "a path with blanks in \"\""),
        (AclFaultKind::OddPath, "x allow user:a@b read", "`x` is no path from the root"),
        (AclFaultKind::OddPath, "/x/../y allow user:a@b read", "single / between"),
        (AclFaultKind::Unknown, "/x alow user:a@b read", "did you mean `allow`?"),
        (AclFaultKind::Unknown, "/x deny user:a@b read", "nothing is denied here"),
        (AclFaultKind::Unknown, "/x allow user:a@b raed", "did you mean `read`?"),
        (AclFaultKind::Unknown, "/x allow user:a@b read,rename", "write remove"),
        (AclFaultKind::OddName, "/x allow alice read", "user:alice@home.example"),
        (AclFaultKind::OddName, "/x allow any@ read", "any@home.example"),
        (AclFaultKind::Twice, "/y only user:z@b list", "in line 3; write one for both"),
    ];

    #[test]
    fn every_fault_has_its_line_its_name_and_what_to_do() {
        for (wrong, line, said) in CASES {
            let text = format!("# a comment\n\n/y allow user:z@b read # another\n{line}\n");
            let AclError(faults) = Acl::of_text(&text, "acl").unwrap_err();
            let [fault] = faults.as_slice() else { panic!("{faults:?}") };
            assert_eq!((fault.line, fault.wrong), (4, wrong), "{fault}");
            assert!(fault.to_string().contains(said), "{fault}");
        }
        let AclError(faults) = Acl::of_text("x\n/ allow user:a@b read\ny\n", "acl").unwrap_err();
        assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [1, 3], "all are told at once");
    }

    #[test]
    fn the_nearest_line_is_told_and_only_cuts_off_what_is_above() {
        let text = "/ allow group:staff@b read,list\n/p allow user:a@b all\n/p/s only user:c@b read\n/p/s allow any@b list\n\
                    \"/p q\" allow user:a@b create\n";
        let acl = Acl::of_text(text, "acl").unwrap();
        let groups: [PrincipalName; 1] = ["group:staff@b".parse().unwrap()];
        let who = names(&"user:a@b".parse().unwrap(), &groups);
        let decide = |path: &[&str]| acl.decide(&who, path);
        assert_eq!(decide(&[]).operations.to_string(), "read,list");
        assert_eq!(decide(&["p", "x"]).operations, Operations::ALL);
        assert_eq!(decide(&["p", "x"]).line(Operation::Read), Some(2));
        assert_eq!(decide(&["q"]).line(Operation::Read), Some(1));
        let secret = decide(&["p", "s", "deep"]);
        assert_eq!((secret.operations.to_string().as_str(), secret.only), ("list", Some(3)));
        assert_eq!((secret.line(Operation::List), secret.line(Operation::Read)), (Some(4), None));
        assert_eq!(decide(&["p q"]).operations.to_string(), "read,list,create");
        assert_eq!(decide(&["P"]).line(Operation::Create), None, "names are bytes");
    }
}
