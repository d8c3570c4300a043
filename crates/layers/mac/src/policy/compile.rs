//! Compiler of policies: from a file's sections to the grant of each domain, with all faults between sections.
//!
//! Measured side, pure: the caller tells it what lies at paths. It judges by what the kernel will do, not by what is
//! written.

use super::disk::{ObjectKind, PathState};
use super::fault::{Faults, PolicyFaultKind};
use super::file::{Domain, File, Never, Type};
use super::words::unknown;
use crate::access::{Access, Accesses};
use crate::grant::{DomainGrant, FileGrant, GrantLines, Name, TypePath};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A path with its type and its kind.
struct Typed {
    path: TypePath,
    kind: ObjectKind,
    hot: bool,
    /// Other paths of the same files, by mounts: a rule is of files, whatever the path.
    others: Vec<PathBuf>,
}

/// Grants of all domains of a file. The caller fills in `policy` and `digest`.
pub(super) fn compile(
    file: &File,
    look: &dyn Fn(&Path) -> PathState,
    faults: &mut Faults,
) -> Vec<DomainGrant> {
    let typed = typed(&file.types, look, faults);
    let labels: Vec<&str> = file.types.iter().map(|found| found.name.as_str()).collect();
    let names: Vec<&str> = file.domains.iter().map(|domain| domain.name.as_str()).collect();
    if names.is_empty() {
        let sentence = "there is no domain; write [domain.NAME] with allow = { TYPE = \"read list\" }";
        faults.add(1, PolicyFaultKind::NoDomain, sentence.to_owned());
    }
    let grants: Vec<DomainGrant> = file.domains.iter().map(|domain| grant(domain, &typed)).collect();
    for (domain, grant) in file.domains.iter().zip(&grants) {
        for allow in domain.allow.iter().filter(|allow| !labels.contains(&allow.label.as_str())) {
            faults.add(allow.line, PolicyFaultKind::Unknown, unknown("type", &allow.label, &labels));
        }
        only_files(domain, &typed, faults);
        nested(domain, grant, faults);
        around(grant, &typed, faults);
    }
    for never in &file.nevers {
        if never.domain != "*" && !names.contains(&never.domain.as_str()) {
            faults.add(never.line, PolicyFaultKind::Unknown, unknown("domain", &never.domain, &names));
        }
        if !labels.contains(&never.label.as_str()) {
            faults.add(never.line, PolicyFaultKind::Unknown, unknown("type", &never.label, &labels));
        }
        broken(never, &grants, faults);
    }
    unused(file, faults);
    grants
}

/// All typed paths, each once, sorted.
fn typed(types: &[Type], look: &dyn Fn(&Path) -> PathState, faults: &mut Faults) -> Vec<Typed> {
    let mut found: BTreeMap<PathBuf, Typed> = BTreeMap::new();
    for (of, (written, line)) in types.iter().flat_map(|of| of.paths.iter().map(move |path| (of, path))) {
        let (written, line) = (Path::new(written), *line);
        let PathState { path, kind, others } = look(written);
        match kind {
            ObjectKind::OfEachProcess => {
                let help = "is another file for each process, and a rule is of one file; name /proc, or leave it out";
                faults.add(line, PolicyFaultKind::OfEachProcess, format!("{} {help}", Name(written)));
                continue;
            }
            ObjectKind::Nothing => {
                let help = "is not there (or may not be looked at), and what is not there cannot be granted; make it \
                            before the program is started";
                faults.add(line, PolicyFaultKind::NotThere, format!("{} {help}", Name(written)));
            }
            ObjectKind::File | ObjectKind::Disk | ObjectKind::Directory => {}
        }
        let label = of.name.clone();
        match found.get(&path).map(|other| &other.path) {
            Some(other) if other.label != label => {
                let TypePath { label: second, line: at, .. } = other;
                let path = both(written, &path);
                let sentence =
                    format!("{path} is of type {label} and, by line {at}, of type {second}: take one away");
                faults.add(line, PolicyFaultKind::TwoTypes, sentence);
            }
            Some(_) => {}
            None => {
                let there = kind != ObjectKind::Nothing;
                let typed = TypePath { path: path.clone(), label, line, there };
                found.insert(path, Typed { path: typed, kind, hot: of.hot, others });
            }
        }
    }
    found.into_values().collect()
}

/// A path as written, followed by its target if symbolic links lead elsewhere.
fn both(written: &Path, path: &Path) -> String {
    if written == path {
        Name(path).to_string()
    } else {
        format!("{}, which is {},", Name(written), Name(path))
    }
}

fn grant(domain: &Domain, typed: &[Typed]) -> DomainGrant {
    let allowed = |label: &str| domain.allow.iter().find(|allow| allow.label == label);
    let mut files = BTreeMap::<PathBuf, FileGrant>::new();
    let own = typed.iter().map(|typed| (&typed.path.path, typed));
    let others = typed.iter().flat_map(|typed| typed.others.iter().map(move |path| (path, typed)));
    for (path, typed) in own.chain(others) {
        let Some(allow) = allowed(&typed.path.label) else { continue };
        let (label, accesses, line) = (typed.path.label.clone(), allow.accesses, allow.line);
        let new = || FileGrant { path: path.clone(), accesses, hot: typed.hot, label, line };
        let file = files.entry(path.clone()).or_insert_with(new);
        file.accesses = file.accesses.with(accesses);
    }
    DomainGrant {
        domain: domain.name.clone(),
        files: files.into_values().collect(),
        listen: domain.listen.ports.clone(),
        connect: domain.connect.ports.clone(),
        attributes: domain.attributes,
        types: typed.iter().map(|typed| typed.path.clone()).collect(),
        lines: GrantLines {
            domain: domain.line,
            listen: domain.listen.line.unwrap_or(domain.line),
            connect: domain.connect.line.unwrap_or(domain.line),
        },
        ..DomainGrant::default()
    }
}

/// Finds accesses for directories only that are granted on types that have only files.
fn only_files(domain: &Domain, typed: &[Typed], faults: &mut Faults) {
    let inside = Accesses::from_iter([Access::List, Access::Create, Access::Delete, Access::Rename]);
    for allow in domain.allow.iter().filter(|allow| allow.accesses != Accesses::any()) {
        let mut of_type = typed.iter().filter(|typed| typed.path.label == allow.label).peekable();
        let accesses = allow.accesses.common(inside);
        if of_type.peek().is_some()
            && of_type.all(|typed| matches!(typed.kind, ObjectKind::File | ObjectKind::Disk))
            && !accesses.is_none()
        {
            let label = &allow.label;
            let help = "grant it on their directory";
            let sentence =
                format!("`{accesses}` says nothing of files, and type {label} has only files: {help}");
            faults.add(allow.line, PolicyFaultKind::OnlyFiles, sentence);
        }
    }
}

/// Directories of the kernel's, and what an access to all below them is to root.
const KERNELS: [(&str, Access, &str); 4] = [
    ("/dev", Access::Read, DISKS),
    ("/dev", Access::Write, DISKS),
    ("/proc", Access::Write, SETTINGS),
    ("/sys", Access::Write, SETTINGS),
];
const DISKS: &str =
    "to root that is every file of the machine, whatever its type: name the devices that are needed";
const SETTINGS: &str =
    "to root those are the kernel's settings, core_pattern and more: take it away, or name the files";

/// Finds ways around the policy: a disk holds the files of all types, and settings start programs outside.
fn around(grant: &DomainGrant, typed: &[Typed], faults: &mut Faults) {
    for file in &grant.files {
        let is_disk = |typed: &Typed| typed.kind == ObjectKind::Disk && typed.path.path == file.path;
        let above = |top: &str| Path::new(top).starts_with(&file.path);
        let found = KERNELS.iter().find(|(top, access, _)| {
            file.accesses.has(*access) && (above(top) || *top == "/dev" && typed.iter().any(is_disk))
        });
        let Some((_, access, what)) = found else { continue };
        let sentence = format!("domain {} may {} {}; {what}", grant.domain, access.name(), Name(&file.path));
        faults.add(file.line, PolicyFaultKind::Around, sentence);
    }
}

/// Finds types inside others, where the domain gets more than is written.
fn nested(domain: &Domain, grant: &DomainGrant, faults: &mut Faults) {
    for typed in &grant.types {
        let allow = domain.allow.iter().find(|allow| allow.label == typed.label);
        let effective = grant.effective(&typed.path);
        let more = effective.without(allow.map_or(Accesses::NONE, |allow| allow.accesses));
        let mut around = grant.rules(&typed.path).filter(|rule| rule.label != typed.label);
        let Some(outer) = around.find(|rule| !rule.accesses.common(more).is_none()) else { continue };
        let (path, label) = (Name(&outer.path), &outer.label);
        let place = match grant.typed(&outer.path) {
            Some(typed) if typed.label == *label => format!("it lies inside {path} (type {label})"),
            _ => format!("a mount shows {path} in type {label}"),
        };
        let sentence = format!(
            "domain {} would also get `{more}` on {} (type {label}): {place}, and Landlock adds up what is granted \
             around. Write {label} = \"{effective}\" if that is meant, or move it out",
            domain.name,
            Name(&typed.path),
            label = typed.label,
        );
        faults.add(allow.map_or(outer.line, |allow| allow.line), PolicyFaultKind::Nested, sentence);
    }
}

/// Checks an assertion against the grant of each domain.
fn broken(never: &Never, grants: &[DomainGrant], faults: &mut Faults) {
    for grant in grants.iter().filter(|grant| never.domain == "*" || never.domain == grant.domain) {
        let paths =
            grant.types.iter().map(|typed| &typed.path).chain(grant.files.iter().map(|file| &file.path));
        let of_type = |path: &&PathBuf| grant.typed(path).is_some_and(|typed| typed.label == never.label);
        for path in paths.filter(of_type).collect::<BTreeSet<_>>() {
            let gets = grant.effective(path).common(never.accesses);
            let rule = grant.rules(path).find(|rule| !rule.accesses.common(gets).is_none());
            let Some(FileGrant { line, .. }) = rule else { continue };
            let sentence = format!(
                "this must never be, and domain {} gets `{gets}` on {} (type {}) by line {line}: mend one of the two",
                grant.domain,
                Name(path),
                never.label,
            );
            faults.add(never.line, PolicyFaultKind::Broken, sentence);
        }
    }
}

fn unused(file: &File, faults: &mut Faults) {
    let allowed = file.domains.iter().flat_map(|domain| &domain.allow).map(|allow| &allow.label);
    let named: BTreeSet<&String> = allowed.chain(file.nevers.iter().map(|never| &never.label)).collect();
    for found in file.types.iter().filter(|found| !named.contains(&found.name)) {
        let sentence =
            format!("no domain and no assertion names type {}: nobody gets anything there", found.name);
        faults.add(found.line, PolicyFaultKind::Unused, sentence);
    }
}
