//! Common checks of named sections (layers, fronts, wraps), and of the names by which arms refer to them.

use super::super::error::suggestion;
use super::{Checked, Context};
use crate::file::Spanned;
use std::collections::BTreeMap;

pub(super) fn text(typed: &Option<Spanned<String>>) -> Option<String> {
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
    /// The name of a section of this kind.
    pub(super) fn demand_name(&self, name: &Spanned<String>, noun: &str) -> Checked<()> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.as_ref().is_empty() || !name.as_ref().chars().all(fits) {
            let what = format!("`{}` is no name for a {}", name.as_ref(), noun);
            return self.wrong(name.span(), what, "letters, digits, `-` and `_`");
        }
        Ok(())
    }

    /// A counter of violations needs a status file.
    pub(super) fn demand_status(
        &self,
        violations: &Option<Spanned<String>>,
        status: &Option<Spanned<String>>,
    ) -> Checked<()> {
        match violations {
            Some(counter) if status.is_none() => self.wrong(
                counter.span(),
                "`violations` names a counter of its status, and there is none",
                "add `status`, the file with its counters",
            ),
            _ => Ok(()),
        }
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
            if found.contains(one) {
                let what = format!("the {noun} `{}` {place} twice", one.name());
                let help = format!("take one out; the {noun}s of an arm and of its levels add up");
                return self.wrong(word.span(), what, help);
            }
            found.push(one.clone());
        }
        Ok(found)
    }
}
