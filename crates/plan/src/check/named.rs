//! Common checks of words and names: one of several known words, names of sections, and names by which arms refer to
//! sections (layers, fronts, wraps).

use super::super::error::suggestion;
use super::{Checked, Context, Typed};
use crate::file::Spanned;
use std::collections::BTreeMap;
use std::ops::Range;

/// Characters beside letters and digits of names that may be file names, and their description. The dot does not come
/// first.
pub(super) const DOTTED: (&str, &str) = ("-_.", "`-`, `_` and `.`");

pub(super) fn text(typed: &Typed) -> Option<String> {
    typed.as_ref().map(|text| text.as_ref().clone())
}

/// Environment variables.
pub(super) fn env(typed: &Option<Spanned<BTreeMap<String, String>>>) -> Vec<(String, String)> {
    typed.iter().flat_map(|env| env.as_ref().clone()).collect()
}

/// A section that arms may refer to by name.
pub(super) trait Named: Clone + PartialEq {
    /// Its kind, as in the section's title.
    const NOUN: &'static str;

    fn name(&self) -> &str;
}

impl Context<'_> {
    /// Refuses a word that is none of the known ones.
    pub(super) fn unknown<T>(
        &self,
        span: Range<usize>,
        noun: &str,
        word: &str,
        known: &[impl AsRef<str>],
    ) -> Checked<T> {
        let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
        self.wrong(span, format!("there is no {noun} `{word}`"), suggestion(word, &known))
    }

    /// What a word stands for.
    pub(super) fn one_of<'n, T: Copy>(
        &self,
        word: &Spanned<String>,
        noun: &str,
        all: &[T],
        name: impl Fn(T) -> &'n str,
    ) -> Checked<T> {
        match all.iter().find(|known| name(**known) == word.as_ref()) {
            Some(found) => Ok(*found),
            None => {
                let known: Vec<&str> = all.iter().map(|known| name(*known)).collect();
                self.unknown(word.span(), noun, word.as_ref(), &known)
            }
        }
    }

    /// The same where it may be left out.
    pub(super) fn choice<T: Copy>(
        &self,
        word: &Typed,
        noun: &str,
        all: &[T],
        default: T,
        name: impl Fn(T) -> &'static str,
    ) -> Checked<T> {
        word.as_ref().map_or(Ok(default), |word| self.one_of(word, noun, all, name))
    }

    /// Operations by their words, none twice and one at least.
    pub(super) fn operations<T: Copy + PartialEq>(
        &self,
        list: &Option<Spanned<Vec<Spanned<String>>>>,
        default: &[T],
        all: &[T],
        name: impl Fn(T) -> &'static str + Copy,
    ) -> Checked<Vec<T>> {
        let Some(list) = list else { return Ok(default.to_vec()) };
        let mut operations = Vec::new();
        for word in list.as_ref() {
            let operation = self.one_of(word, "operation", all, name)?;
            let twin = word.when(operations.contains(&operation));
            self.refuse(twin, format!("`{}` is there twice", word.as_ref()), "take one out")?;
            operations.push(operation);
        }
        let none = list.when(operations.is_empty());
        self.refuse(none, "there is nothing to do", "such as [\"read\", \"stat\"]")?;
        Ok(operations)
    }

    /// The name of a section of this kind.
    pub(super) fn demand_section_name(&self, name: &Spanned<String>, noun: &str) -> Checked<()> {
        self.demand_name(name, &format!("name for a {noun}"), ("-_", "`-` and `_`"))
    }

    /// A name: letters, digits and some other characters.
    pub(super) fn demand_name(
        &self,
        name: &Spanned<String>,
        noun: &str,
        (others, in_words): (&str, &str),
    ) -> Checked<()> {
        let text = name.as_ref();
        let fits = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
        let bad = name.when(text.is_empty() || text.starts_with('.') || !text.chars().all(fits));
        self.refuse(bad, format!("`{text}` is no {noun}"), format!("letters, digits, {in_words}"))
    }

    /// A counter of violations needs a status file.
    pub(super) fn demand_status(&self, violations: &Typed, status: &Typed) -> Checked<()> {
        let counter = violations.as_ref().filter(|_| status.is_none());
        let what = "`violations` names a counter of its status, and there is none";
        self.refuse(counter, what, "add `status`, the file with its counters")
    }

    /// The known sections that an arm names, in its order. `place` describes for messages where they then are;
    /// `besides`: other words that may be there, too.
    pub(super) fn named<'w, T: Named>(
        &self,
        words: impl IntoIterator<Item = &'w Spanned<String>>,
        known: &[T],
        place: &str,
        besides: &[&str],
    ) -> Checked<Vec<T>> {
        let noun = T::NOUN;
        let mut found: Vec<T> = Vec::new();
        for word in words {
            let Some(one) = known.iter().find(|one| one.name() == word.as_ref()) else {
                let names: Vec<&str> = known.iter().map(T::name).chain(besides.iter().copied()).collect();
                let help =
                    format!("{}; a {noun} of your own is a [{noun}.NAME]", suggestion(word.as_ref(), &names));
                return self.wrong(word.span(), format!("there is no {noun} `{}`", word.as_ref()), help);
            };
            let twin = word.when(found.contains(one));
            let help = format!("take one out; the {noun}s of an arm and of its levels add up");
            self.refuse(twin, format!("the {noun} `{}` {place} twice", one.name()), help)?;
            found.push(one.clone());
        }
        Ok(found)
    }
}
