//! Generator of a policy from observed accesses: few types, and no more rights than needed where that can be said
//! shortly.
//!
//! Measured side, pure: a function tells what lies where. Programs and libraries are one type, `/proc` another. Files
//! are named one by one until there are many, and then by their directory. Creating and removing are granted on the
//! directory in which they happened. A path inside another granted one gets what the kernel will give it anyway.

use crate::access::Access::{Create, Delete, Exec, Ioctl, List, Read, Rename, Write};
use crate::access::Accesses;
use crate::log::LoggedAccess;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// From this number on, files of a directory with the same accesses are named as the directory.
const MANY: usize = 4;
/// Directories so near the root are shared by many programs, and do not stand for their files.
const SHALLOW: usize = 2;
/// The system's directories, if they are only read and executed.
const SYSTEM: [&str; 5] = ["/usr", "/lib", "/lib64", "/bin", "/sbin"];
/// Trees that differ in each run.
const MOVING: [&str; 4] = ["/proc", "/sys", "/dev/shm", "/dev/pts"];
/// Number of observed examples in a comment.
const EXAMPLES: usize = 3;

/// Observed accesses of a program.
#[derive(Debug, Default)]
pub(super) struct ObservedAccesses {
    files: BTreeMap<PathBuf, Accesses>,
    listen: BTreeSet<u16>,
    connect: BTreeSet<u16>,
    /// System calls that no domain may make, with their number.
    calls: BTreeMap<u32, u64>,
    /// Moves from one directory to another.
    pub(super) moves: BTreeSet<(PathBuf, PathBuf)>,
    /// Whether modes, owners, times or extended attributes were changed.
    pub(super) attributes: bool,
    /// Number of calls that could not be looked at.
    pub(super) unseen: u64,
}

/// Paths of the policy, with the granted accesses.
type Entries = BTreeMap<PathBuf, Accesses>;

impl ObservedAccesses {
    pub(super) fn note(&mut self, wanted: LoggedAccess) {
        match wanted {
            LoggedAccess::File(access, path) => {
                let all = self.files.entry(path).or_default();
                *all = all.with([access].into_iter().collect());
            }
            LoggedAccess::Bind(port) => drop(self.listen.insert(port)),
            LoggedAccess::Connect(port) => drop(self.connect.insert(port)),
            LoggedAccess::Call(number) => *self.calls.entry(number).or_default() += 1,
            LoggedAccess::Files(_) | LoggedAccess::Scope(_) => {}
        }
    }

    /// A policy with one domain; `what_is` tells whether a path is a directory, something else, or missing.
    pub(super) fn policy(
        &self,
        domain: &str,
        program: &str,
        what_is: &dyn Fn(&Path) -> Option<bool>,
    ) -> String {
        let types = types(&nested(gathered(self.entries(what_is))));
        let mut text = format!(
            "# What `{}` did, as bakeoff layer mac learn saw it. It may do more another time: run it with --mode permissive,\n\
             # and look at each line before it is enforced.\n\n[types]\n",
            program.escape_debug()
        );
        for (name, (accesses, paths)) in &types {
            let seen: Vec<String> = self.seen_below(paths, *accesses);
            let more = seen.len().saturating_sub(EXAMPLES);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let _ = writeln!(text, "# seen: {}{more}", seen[..seen.len().min(EXAMPLES)].join(", "));
            let quoted: Vec<String> = paths.iter().map(|path| format!("\"{}\"", path.display())).collect();
            let _ = writeln!(text, "{name} = [{}]", quoted.join(", "));
        }
        let allowed: Vec<_> = types.iter().map(|(name, (all, _))| format!("{name} = \"{all}\"")).collect();
        let _ = writeln!(text, "\n[domain.{domain}]\nallow = {{ {} }}", allowed.join(", "));
        for (key, ports) in [("listen", &self.listen), ("connect", &self.connect)] {
            if !ports.is_empty() {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                let _ = writeln!(text, "{key} = [{}]", ports.join(", "));
            }
        }
        text + &self.remarks()
    }

    /// Comments on accesses that cannot be granted path by path.
    fn remarks(&self) -> String {
        let mut text = String::new();
        if self.attributes {
            text.push_str("# It changed modes, owners, times or extended attributes.\nattributes = true\n");
        }
        for (number, times) in &self.calls {
            let _ = writeln!(text, "# Refused, whatever a policy says: system call {number}, {times} times.");
        }
        if self.unseen > 0 {
            let _ = writeln!(text, "# Not seen, as its memory could not be read: {} calls.", self.unseen);
        }
        text
    }

    /// Paths that a policy can name, each with its accesses.
    fn entries(&self, what_is: &dyn Fn(&Path) -> Option<bool>) -> Entries {
        let made = |folder: &Path| {
            self.files.get(folder).is_some_and(|all| all.has(Create) || all.has(Delete) || all.has(Rename))
        };
        let mut entries = Entries::new();
        for (path, all) in &self.files {
            let all = if path.starts_with("/dev") && all.has(Write) {
                all.with([Ioctl].into_iter().collect())
            } else {
                *all
            };
            let fixed = |roots: &[&str]| roots.iter().find(|root| path.starts_with(root)).map(PathBuf::from);
            let reading = all.without([Read, List, Exec].into_iter().collect()).is_none();
            let place = fixed(&MOVING).or_else(|| fixed(&SYSTEM).filter(|_| reading)).unwrap_or_else(|| {
                let named = |path: &Path| what_is(path).is_some() && is_plain(path);
                let own = path.ancestors().find(|above| named(above)).unwrap_or(path);
                let folder = own.parent().filter(|folder| what_is(own) == Some(false) && made(folder));
                folder.unwrap_or(own).to_owned()
            });
            add(&mut entries, place, all);
        }
        for (from, to) in &self.moves {
            // A moved file must not gain rights by it.
            if let (Some(one), Some(other)) = (entries.get(from).copied(), entries.get(to).copied()) {
                add(&mut entries, from.clone(), other);
                add(&mut entries, to.clone(), one);
            }
        }
        entries
    }

    fn seen_below(&self, paths: &[PathBuf], accesses: Accesses) -> Vec<String> {
        let below = |path: &Path| paths.iter().any(|above| path.starts_with(above));
        let seen = self.files.iter().filter(|(path, all)| below(path) && all.without(accesses).is_none());
        seen.map(|(path, all)| format!("{all} {}", path.to_string_lossy().escape_debug())).collect()
    }
}

fn add(entries: &mut Entries, path: PathBuf, all: Accesses) {
    let entry = entries.entry(path).or_default();
    *entry = entry.with(all);
}

/// Whether a policy can name the path: patterns and blanks are excluded.
fn is_plain(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.chars().all(|c| c.is_alphanumeric() || "/-_.+@,:=~%".contains(c)))
}

/// Replaces many files of one directory by the directory, from the deepest on.
fn gathered(mut entries: Entries) -> Entries {
    let depth = |path: &Path| path.components().count();
    let deepest = entries.keys().map(|path| depth(path)).max().unwrap_or(0);
    for level in (SHALLOW + 2..=deepest).rev() {
        let mut children = BTreeMap::<(PathBuf, Accesses), Vec<PathBuf>>::new();
        for (path, all) in entries.iter().filter(|(path, _)| depth(path) == level) {
            children.entry((path.parent().unwrap_or(path).to_owned(), *all)).or_default().push(path.clone());
        }
        for ((folder, _), paths) in children.into_iter().filter(|(_, paths)| paths.len() >= MANY) {
            let all =
                paths.iter().filter_map(|path| entries.remove(path)).fold(Accesses::NONE, Accesses::with);
            add(&mut entries, folder, all);
        }
    }
    entries
}

/// Grants from above hold below: adds them, or leaves the path out if it adds nothing.
fn nested(entries: Entries) -> Entries {
    let mut kept = Entries::new();
    for (path, all) in entries {
        let above = path.ancestors().skip(1).filter_map(|above| kept.get(above).copied());
        let above = above.fold(Accesses::NONE, Accesses::with);
        if !all.without(above).is_none() {
            kept.insert(path, all.with(above));
        }
    }
    kept
}

/// Types by name: paths of one area with the same accesses.
fn types(entries: &Entries) -> BTreeMap<String, (Accesses, Vec<PathBuf>)> {
    let mut types = BTreeMap::<String, (Accesses, Vec<PathBuf>)>::new();
    for (path, all) in entries {
        let area = area(path);
        let more = [(Write, "write"), (Create, "make"), (Exec, "exec"), (List, "list")];
        let more = more.iter().filter(|(access, _)| all.has(*access)).map(|(_, word)| *word);
        let longer = std::iter::once(area.as_str()).chain(more).collect::<Vec<_>>().join("-");
        let numbered = (2..).map(|number| format!("{longer}-{number}"));
        let mut names = [area.clone(), longer.clone()].into_iter().chain(numbered);
        let fits = |name: &String| types.get(name).is_none_or(|(other, _)| other == all);
        let name = names.find(fits).unwrap_or(longer);
        types.entry(name).or_insert((*all, Vec::new())).1.push(path.clone());
    }
    types
}

/// One word for the area of a path.
fn area(path: &Path) -> String {
    let fixed = [
        ("/proc", "proc"),
        ("/sys", "sys"),
        ("/dev", "dev"),
        ("/etc", "config"),
        ("/tmp", "tmp"),
        ("/var/tmp", "tmp"),
    ];
    let system = SYSTEM.map(|root| (root, "system"));
    if let Some((_, name)) = fixed.iter().chain(&system).find(|(root, _)| path.starts_with(root)) {
        return (*name).to_owned();
    }
    let names = path.iter().skip(1).take(SHALLOW).last().map_or("root".into(), |name| name.to_string_lossy());
    let name: String = names.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if name.trim_matches('-').is_empty() { "files".to_owned() } else { name.trim_matches('-').to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::policy::disk::{ObjectKind, PathState};
    use crate::policy::{Lets, Policy};

    /// A policy of accesses to paths; paths with a slash at the end are directories. Checks that it has no fault.
    fn policy(seen: &ObservedAccesses, there: &[&str]) -> String {
        let folders =
            |path: &Path| there.iter().any(|one| Path::new(one) != path && Path::new(one).starts_with(path));
        let what_is = |path: &Path| {
            let named = there.iter().find(|one| Path::new(one) == path).map(|one| one.ends_with('/'));
            if folders(path) { Some(true) } else { named }
        };
        let text = seen.policy("web", "web", &what_is);
        let look = |path: &Path| PathState {
            path: path.to_owned(),
            kind: ObjectKind::Directory,
            others: Vec::new(),
        };
        if let Err(error) = Policy::of_text(&text, "p", &Lets::default(), &look) {
            panic!("{error}\n{text}");
        }
        text
    }

    fn seen(of: &[(&str, &[Access])]) -> ObservedAccesses {
        let mut seen = ObservedAccesses::default();
        for (path, accesses) in of {
            accesses.iter().for_each(|access| seen.note(LoggedAccess::File(*access, path.into())));
        }
        seen
    }

    #[test]
    fn few_files_are_named_and_many_are_their_directory() {
        let of: Vec<String> = (0..5).map(|number| format!("/srv/site/a/{number}")).collect();
        let mut all: Vec<(&str, &[Access])> =
            of.iter().map(|path| (path.as_str(), [Read].as_slice())).collect();
        all.extend([
            ("/etc/passwd", [Read].as_slice()),
            ("/usr/bin/x", &[Read, Exec]),
            ("/dev/null", &[Write]),
        ]);
        let there: Vec<&str> = all.iter().map(|(path, _)| *path).collect();
        let text = policy(&seen(&all), &there);
        assert!(
            text.contains("site = [\"/srv/site/a\"]\n") && text.contains("config = [\"/etc/passwd\"]\n"),
            "{text}"
        );
        assert!(text.contains("system = [\"/usr\"]") && text.contains("dev = \"write ioctl\""), "{text}");
        assert!(
            text.contains("# seen: read /srv/site/a/0, read /srv/site/a/1, read /srv/site/a/2, and 2 more\n"),
            "{text}"
        );
    }

    #[test]
    fn what_is_made_is_granted_where_it_was_made_and_names_that_no_policy_has_are_not_in_one() {
        let mut seen = seen(&[
            ("/srv/log", &[Create]),
            ("/srv/log/gone", &[Write]),
            ("/srv/odd*/x", &[Read]),
            ("/srv/other/new", &[Read]),
            ("/proc/self/status", &[Read]),
        ]);
        seen.attributes = true;
        seen.note(LoggedAccess::Bind(80));
        seen.note(LoggedAccess::Call(165));
        let text = policy(&seen, &["/srv/log/", "/srv/odd*/x", "/srv/other/", "/proc/self/status"]);
        assert!(text.contains("write create\"") && !text.contains("gone\""), "{text}");
        assert!(text.contains("proc = [\"/proc\"]") && text.contains("listen = [80]\n"), "{text}");
        assert!(
            text.contains(
                "attributes = true\n# Refused, whatever a policy says: system call 165, 1 times.\n"
            ),
            "{text}"
        );
        assert!(!text.contains("[\"/srv/odd*"), "{text}");
    }

    #[test]
    fn what_lies_inside_gets_what_it_gets_anyway() {
        let seen = seen(&[
            ("/srv", &[List]),
            ("/srv/a/b", &[List]),
            ("/srv/a/c", &[Create]),
            ("/srv/a/c/f", &[Write]),
        ]);
        let text = policy(&seen, &["/srv/", "/srv/a/b/", "/srv/a/c/f"]);
        assert!(text.contains("\"list write create\"") && !text.contains("/srv/a/b\""), "{text}");
    }
}
