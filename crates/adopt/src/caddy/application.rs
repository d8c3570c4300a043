//! Application of a site: what `php_fastcgi` passes on if there is no file.
//!
//! Measuring side, cold, pure. Named matchers are left out: what they match is files here.

use super::tree::{Placed, Tree};
use crate::application::{Application, Fallback, Scope, script_in};

/// The script if none is named.
const USUAL_SCRIPT: &str = "index.php";

/// The application behind a site.
pub(super) fn of(tree: &Tree, site: &Placed<'_>) -> Option<Application> {
    let mut scopes = Vec::new();
    block(tree, site, "/", &mut scopes);
    Application::of(scopes)
}

fn block(tree: &Tree, around: &Placed<'_>, beginning: &str, scopes: &mut Vec<Scope>) {
    let inner = tree.flat(around.one.inner(), &around.arguments);
    let has_other_end = inner.iter().any(|placed| {
        let target = placed.one.arguments().last();
        placed.one.name() == "try_files" && target.is_none_or(|word| script_in(&word.text).is_none())
    });
    for placed in &inner {
        let matched = matched(placed, beginning);
        match (placed.one.name(), matched) {
            ("php_fastcgi", Some(beginning)) if !has_other_end => {
                let fallback = script(tree, placed).map(|script| Fallback {
                    place: tree.place(placed.one),
                    script: Some(script),
                    takes_directories: false,
                    is_index: true,
                });
                scopes.push(Scope { beginning, fallback });
            }
            ("handle" | "route", Some(own)) => {
                if own != beginning {
                    scopes.push(Scope { beginning: own.clone(), fallback: None });
                }
                block(tree, placed, &own, scopes);
            }
            // The application gets other paths than those that were asked for.
            ("handle_path", Some(own)) => scopes.push(Scope { beginning: own, fallback: None }),
            _ => {}
        }
    }
}

/// Beginning of the paths that a directive is for. None: only Caddy knows.
fn matched(placed: &Placed<'_>, beginning: &str) -> Option<String> {
    match placed.one.arguments().first().map(|word| word.text.as_str()) {
        Some(matcher) if matcher.starts_with('@') => None,
        Some(path) if path.starts_with('/') => {
            let path = path.strip_suffix('*')?;
            (!path.contains('*')).then(|| path.to_owned())
        }
        _ => Some(beginning.to_owned()),
    }
}

/// The script that is asked for what is missing; none: nothing is.
fn script(tree: &Tree, placed: &Placed<'_>) -> Option<String> {
    let mut script = USUAL_SCRIPT.to_owned();
    for option in tree.flat(placed.one.inner(), &placed.arguments) {
        if ["index", "try_files"].contains(&option.one.name()) {
            script = option.one.arguments().last()?.text.clone();
        }
    }
    script_in(&script)
}
