//! Words of rules: names, and what was meant by a word that there is not.
//!
//! Measured side, pure.

/// Words that others know and these rules do not, or that stand elsewhere here.
const ELSEWHERE: [(&[&str], &str); 5] = [
    (&["cookie", "header", "host", "method"], "requests are told apart by path alone: write path"),
    (&["per", "source"], "it belongs to [[from]], where addresses are judged"),
    (&["path", "url", "uri", "location"], "paths are judged in [[request]]: write path there"),
    (&["limit", "zone", "rps"], "write rate = \"300/s\" and burst = 300"),
    (&["delay", "nodelay", "queue"], "nothing is held back here: what does not conform is refused"),
];

/// A word that there is not, with what was meant, in a sentence.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let help = near_miss(word, known)
        .or_else(|| {
            ELSEWHERE.iter().find(|(words, _)| words.contains(&word)).map(|(_, help)| (*help).to_owned())
        })
        .unwrap_or_else(|| match known {
            [] => "none is written".to_owned(),
            _ => format!("known are {}", known.join(", ")),
        });
    format!("there is no {what} `{}`; {help}", word.escape_debug())
}

/// `did you mean ...?`, where one is near.
fn near_miss(word: &str, known: &[&str]) -> Option<String> {
    let distance = |other: &&&str| strsim::damerau_levenshtein(word, other);
    let near = known.iter().min_by_key(distance)?;
    (distance(&near) <= (word.len() / 3).max(1)).then(|| format!("did you mean `{near}`?"))
}

/// Whether it can stand in a line of words.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
