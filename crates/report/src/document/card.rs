//! Verdict cards: an answer as a sentence with a colour.

use super::Shown;
use bakeoff_stats::Verdict;
use serde::Serialize;

/// Kind of an outcome: a colour in the terminal, a style class on the page, always beside words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    #[default]
    Plain,
    Costs,
    Saves,
    Fine,
    Open,
    /// Noise floor: the difference of two equal servers.
    Floor,
    Invalid,
}

impl State {
    /// SGR parameters, by meaning and not by taste: the terminal's own palette decides the shade.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Plain | Self::Floor => "",
            Self::Costs => "1;33",
            Self::Saves => "1;36",
            Self::Fine => "1;32",
            Self::Open => "1",
            Self::Invalid => "1;35",
        }
    }
}

impl From<Verdict> for State {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Costs => Self::Costs,
            Verdict::Saves => Self::Saves,
            Verdict::NoCost | Verdict::NotWorse => Self::Fine,
            Verdict::NotResolved | Verdict::NoVerdict => Self::Open,
            Verdict::Invalid => Self::Invalid,
        }
    }
}

/// One answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Card {
    pub(super) name: String,
    /// Style class of its colour.
    key: String,
    pub(super) state: State,
    /// A second sign beside colour and word.
    glyph: &'static str,
    word: String,
    /// The whole sentence, for the terminal.
    #[serde(skip)]
    pub(super) sentence: String,
    lead: String,
    rest: String,
    /// Second sentence, in the terminal and on the page.
    pub(crate) beside: String,
    /// Further sentences, on the page alone.
    pub(crate) facts: Vec<String>,
    #[serde(skip)]
    pub(crate) shown: Shown,
}

impl Card {
    pub(crate) fn new(
        (name, key): (&str, String),
        (state, glyph, word): (State, &'static str, &str),
        sentence: &str,
    ) -> Self {
        let (lead, rest) = apart(sentence, word);
        Self {
            name: name.to_owned(),
            key,
            state,
            glyph,
            word: word.to_owned(),
            sentence: sentence.to_owned(),
            lead: lead.to_owned(),
            rest: rest.to_owned(),
            beside: String::new(),
            facts: Vec::new(),
            shown: Shown::Both,
        }
    }
}

/// Result and evidence of a sentence, which the page shows in two sizes. The verdict's word is not repeated.
fn apart<'s>(sentence: &'s str, word: &str) -> (&'s str, &'s str) {
    let said =
        sentence.trim_start_matches("the ").strip_prefix(word).and_then(|rest| rest.strip_prefix(": "));
    let said = said.unwrap_or(sentence);
    let ends = [": ", "; "].into_iter().filter_map(|end| said.find(end)).min();
    ends.map_or((said, ""), |end| (&said[..end], &said[end + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_leads_with_what_it_comes_to_and_never_says_its_word_twice() {
        let said =
            "costs 82 us CPU per request more than http (55..110): +80 % of http's 103 us; 11 s, 10 rounds";
        let (lead, rest) = apart(said, "costs");
        assert_eq!(lead, "costs 82 us CPU per request more than http (55..110)");
        assert_eq!(rest, "+80 % of http's 103 us; 11 s, 10 rounds");
        let (lead, rest) = apart("not resolved: -66 us (-333..+201); 37 s, 6 rounds", "not resolved");
        assert_eq!((lead, rest), ("-66 us (-333..+201)", "37 s, 6 rounds"));
        assert_eq!(apart("invalid: it was dead", "invalid"), ("it was dead", ""));
    }
}
