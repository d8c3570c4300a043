//! Access words of policies, and suggestions for unknown words.
//!
//! Measured side, pure.

use super::fault::PolicyFaultKind;
use crate::access::{Access, Accesses};
use bakeoff_layers_base::named::Named;
use bakeoff_layers_base::word;

/// Words of other access control systems that Landlock lacks, or that are written elsewhere here.
const ELSEWHERE: [(&[&str], &str); 6] = [
    (&["append"], "Landlock has no append: `write` lets it write anywhere in a file"),
    (
        &["chmod", "chown", "setattr", "setxattr", "utimes", "attributes"],
        "Landlock has none by path: the domain's attributes = true allows chmod, chown, utimes and setxattr, where the \
         owner may",
    ),
    (&["stat", "getattr", "search"], "Landlock does not judge it: names and sizes can always be seen"),
    (
        &["transition", "transitions"],
        "a domain is for life, as Landlock only takes away: start the other program with a run of its own",
    ),
    (
        &["role", "roles", "user", "users", "level", "levels", "category", "categories"],
        "Landlock has neither roles nor levels: write a domain for each",
    ),
    (&["view"], "domains have no file system of their own: put a mount namespace around the run"),
];

/// The accesses of words like `read list`, or `any`; with all faults.
pub(super) fn accesses(text: &str) -> (Accesses, Vec<(PolicyFaultKind, String)>) {
    let mut all = Accesses::NONE;
    let mut wrong = Vec::new();
    for word in text.split_whitespace() {
        match Access::of_name(word) {
            Some(access) => all = all.with(Accesses::from_iter([access])),
            None if word == "any" => all = Accesses::any(),
            None => {
                let known: Vec<&str> = Access::ALL.into_iter().map(Access::name).chain(["any"]).collect();
                wrong.push((PolicyFaultKind::Unknown, unknown("access", word, &known)));
            }
        }
    }
    if text.split_whitespace().next().is_none() {
        let none = format!("no access is named; leave it out, or write some of {}, or any", Accesses::any());
        wrong.push((PolicyFaultKind::NoAccess, none));
    }
    (all, wrong)
}

/// Sentence on an unknown word, with a suggestion.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let help = word::said_of(word, &ELSEWHERE).or_else(|| word::near_miss(word, known));
    word::unknown(what, word, known, help)
}
