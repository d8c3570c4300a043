//! Names of arms on a command line, made from files, URLs and programs.

use super::words::{is_url, whole_path};
use crate::Failure;
use std::path::Path;

/// A name for each side: the file's stem or the authority. Equal stems tell nothing: where all are equal, as of
/// `/etc/nginx/nginx.conf` and `new/nginx.conf`, the directories are the names; else they stand before the equal ones. What
/// is equal all the same has numbers behind it.
pub(super) fn of_sides(sides: &[String]) -> Vec<String> {
    let plain: Vec<String> = sides.iter().map(|side| plain(side)).collect();
    let parents: Vec<Option<String>> = sides.iter().map(|side| parent(side)).collect();
    let all_equal = plain.len() > 1 && plain.iter().all(|name| *name == plain[0]);
    if let Some(parents) = parents.iter().cloned().collect::<Option<Vec<String>>>()
        && all_equal
        && parents.iter().all(|name| is_once(&parents, name))
    {
        return parents;
    }
    let below = |(name, parent): (&String, &Option<String>)| match parent {
        Some(parent) if !is_once(&plain, name) => format!("{parent}-{name}"),
        _ => name.clone(),
    };
    numbered(&plain.iter().zip(&parents).map(below).collect::<Vec<_>>())
}

/// The directory of a file.
fn parent(side: &str) -> Option<String> {
    let path = whole_path(side);
    let name = path.parent().and_then(Path::file_name).filter(|_| !is_url(side))?;
    Some(fitting(&name.to_string_lossy())).filter(|name| !name.is_empty())
}

/// A name for each program: that of its file.
pub(super) fn of_programs(programs: &[String]) -> Vec<String> {
    numbered(&programs.iter().map(|program| plain(program)).collect::<Vec<_>>())
}

/// Names that were made, or those that were given in their place.
pub(super) fn named(made: Vec<String>, given: &[String]) -> Result<Vec<String>, Failure> {
    if given.is_empty() {
        return Ok(made);
    }
    if given.len() != made.len() {
        return Err(Failure::usage(format!(
            "--name is given {} times for {} arms ({}): give one for each, in their order",
            given.len(),
            made.len(),
            made.join(", ")
        )));
    }
    Ok(given.to_vec())
}

fn plain(side: &str) -> String {
    if is_url(side) {
        return fitting(side.splitn(3, '/').nth(2).unwrap_or(side).split('/').next().unwrap_or(side));
    }
    let stem = Path::new(side).file_stem();
    stem.map_or_else(|| "config".to_owned(), |stem| fitting(&stem.to_string_lossy()))
}

/// With nothing that a name cannot have.
fn fitting(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    name.chars().map(fits).collect::<String>().trim_start_matches('.').to_owned()
}

fn is_once(names: &[String], name: &str) -> bool {
    names.iter().filter(|other| *other == name).count() == 1
}

/// Those that are equal or empty with their places, from 1.
fn numbered(names: &[String]) -> Vec<String> {
    let number = |(index, name): (usize, &String)| match name {
        name if is_once(names, name) && !name.is_empty() => name.clone(),
        name => format!("{name}{}", index + 1),
    };
    names.iter().enumerate().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_get_names_that_differ() {
        assert_eq!(of_sides(&strings(&["a.conf", "b.conf"])), ["a", "b"]);
        assert_eq!(of_sides(&strings(&["x/site.conf", "y/site.conf"])), ["x", "y"]);
        assert_eq!(of_sides(&strings(&["x/site.conf", "y/site.conf", "b.conf"])), ["x-site", "y-site", "b"]);
        assert_eq!(of_sides(&strings(&["x/../x/site.conf", "x/site.conf"])), ["x-site1", "x-site2"]);
        assert_eq!(of_sides(&strings(&["http://127.0.0.1:80/a", "https://h/"])), ["127.0.0.1-80", "h"]);
    }

    #[test]
    fn equal_programs_are_numbered() {
        assert_eq!(of_programs(&strings(&["sh", "/bin/sh", "cat"])), ["sh1", "sh2", "cat"]);
    }

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|&word| word.to_owned()).collect()
    }
}
