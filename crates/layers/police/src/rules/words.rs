//! Suggestions for unknown words of rules.
//!
//! Measured side, pure.

use bakeoff_layers_base::word;

/// Words of other systems that these rules lack, or that are written elsewhere here.
const ELSEWHERE: [(&[&str], &str); 5] = [
    (&["cookie", "header", "host", "method"], "requests are told apart by path alone: write path"),
    (&["per", "source"], "it belongs to [[from]], where addresses are judged"),
    (&["path", "url", "uri", "location"], "paths are judged in [[request]]: write path there"),
    (&["limit", "zone", "rps"], "write rate = \"300/s\" and burst = 300"),
    (&["delay", "nodelay", "queue"], "nothing is held back here: what does not conform is refused"),
];

/// Sentence on an unknown word, with a suggestion.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let help = word::near_miss(word, known).or_else(|| word::said_of(word, &ELSEWHERE));
    word::unknown(what, word, known, help)
}
