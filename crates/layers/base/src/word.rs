//! Checks of typed words, and suggestions for misspelt ones.
//!
//! Measured side, pure.

/// `did you mean ...?`, if a known word is near.
pub fn near_miss(word: &str, known: &[&str]) -> Option<String> {
    let distance = |other: &&&str| strsim::damerau_levenshtein(word, other);
    let near = known.iter().min_by_key(distance)?;
    (distance(&near) <= (word.len() / 3).max(1)).then(|| format!("did you mean `{near}`?"))
}

/// Sentence on an unknown word, with `help`, or else with the known words.
pub fn unknown(what: &str, word: &str, known: &[&str], help: Option<String>) -> String {
    let help = help.unwrap_or_else(|| match known {
        [] => "none is written".to_owned(),
        _ => format!("known are {}", known.join(", ")),
    });
    format!("there is no {what} `{}`; {help}", word.escape_debug())
}

/// Help for a word, from a list of words and their help.
pub fn said_of(word: &str, list: &[(&[&str], &str)]) -> Option<String> {
    list.iter().find(|(words, _)| words.contains(&word)).map(|(_, said)| (*said).to_owned())
}

/// Whether it is a name that fits into a line of words.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_guessed_where_it_is_near() {
        let known = ["read", "write"];
        assert_eq!(near_miss("raed", &known).unwrap(), "did you mean `read`?");
        assert_eq!((near_miss("execute", &known), near_miss("read", &[])), (None, None));
        assert_eq!(
            unknown("access", "x\n", &known, None),
            "there is no access `x\\n`; known are read, write"
        );
        assert_eq!(unknown("type", "x", &[], None), "there is no type `x`; none is written");
        assert_eq!(said_of("b", &[(&["a", "b"], "both")]).as_deref(), Some("both"));
    }

    #[test]
    fn a_name_is_one_word() {
        assert!(is_name("web-2_a"));
        assert!(["", "a b", "a.b", "\u{e9}"].iter().all(|name| !is_name(name)));
    }
}
