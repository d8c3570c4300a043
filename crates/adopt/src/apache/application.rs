//! Application of a virtual host: what `FallbackResource` and rewritings pass on if there is no file.
//!
//! Measuring side, cold, pure. Files named `.htaccess` lie in the site, and are not read.

use super::site::Mapping;
use super::tree::{Statement, Tree, each};
use crate::application::{Application, Fallback, Scope, script_in};

/// The application behind a virtual host, by its place; behind the main server if none has it.
pub(super) fn of(tree: &Tree, host: &str) -> Option<Application> {
    let mapping = Mapping::of(tree);
    let mut found = Found::of(tree, &mapping);
    each(&tree.statements, &mut Vec::new(), &mut |one, around| {
        let container = around.iter().find(|section| section.key == "virtualhost");
        if container.is_none_or(|section| tree.place(section) == host) {
            found.statement(one, around);
        }
    });
    let is_index = |script: &str| found.index.iter().any(|name| script.rsplit('/').next() == Some(name));
    let passed = found.passed.into_iter().filter(|_| found.passes_scripts).map(|mut scope| {
        if let Some(fallback) = &mut scope.fallback {
            fallback.is_index = fallback.script.as_deref().is_some_and(is_index);
        }
        scope
    });
    let aliases = mapping.aliases().map(|url| Scope { beginning: url.to_owned(), fallback: None });
    Application::of(passed.chain(aliases).collect())
}

struct Found<'t> {
    tree: &'t Tree,
    mapping: &'t Mapping,
    passed: Vec<Scope>,
    /// Scripts go to a FastCGI server.
    passes_scripts: bool,
    /// Pages of directories.
    index: Vec<String>,
    /// Conditions of the next rule.
    conditions: Vec<String>,
}

impl<'t> Found<'t> {
    const fn of(tree: &'t Tree, mapping: &'t Mapping) -> Self {
        Self {
            tree,
            mapping,
            passed: Vec::new(),
            passes_scripts: false,
            index: Vec::new(),
            conditions: Vec::new(),
        }
    }

    fn statement(&mut self, one: &Statement, around: &[&Statement]) {
        let words = || one.words.iter().map(|word| word.text.clone());
        match one.key.as_str() {
            "directoryindex" => self.index = words().collect(),
            "sethandler" | "addhandler" | "proxypass" | "proxypassmatch" => {
                self.passes_scripts |= words().any(|word| word.contains("fcgi://"));
            }
            "rewritecond" => self.conditions.extend(one.argument(1).map(str::to_owned)),
            "rewriterule" => self.rule(one, around),
            "fallbackresource" => self.pass(one, around, one.argument(0).unwrap_or_default(), false),
            _ => {}
        }
    }

    /// A rule for all paths that are no files.
    fn rule(&mut self, one: &Statement, around: &[&Statement]) {
        let conditions = std::mem::take(&mut self.conditions);
        let looks = |mark: &str| conditions.iter().any(|condition| condition == mark);
        let is_for_all =
            one.argument(0).is_some_and(|pattern| pattern.chars().all(|c| "^$.*+?()/".contains(c)));
        let (target, flags) = (one.argument(1).unwrap_or_default(), one.argument(2).unwrap_or_default());
        let is_inside =
            !flags.to_ascii_uppercase().split(['[', ',', ']']).any(|flag| flag.trim().starts_with('R'));
        self.passes_scripts |= target.contains("fcgi://");
        if is_for_all && is_inside && looks("!-f") {
            self.pass(one, around, target, !looks("!-d"));
        }
    }

    fn pass(&mut self, one: &Statement, around: &[&Statement], target: &str, takes_directories: bool) {
        let Some((beginning, script)) = self.beginning(around).zip(script_in(target)) else { return };
        let place = self.tree.place(one);
        let fallback = Fallback { place, script: Some(script), takes_directories, is_index: false };
        self.passed.push(Scope { beginning, fallback: Some(fallback) });
    }

    /// Beginning of the paths of the section that a statement stands in.
    fn beginning(&self, around: &[&Statement]) -> Option<String> {
        for section in around.iter().rev() {
            match (section.key.as_str(), section.argument(0)) {
                ("directory", Some("/")) => return Some("/".to_owned()),
                ("directory", Some(dir)) if section.words.len() == 1 => return self.mapping.beginning(dir),
                ("location", Some(path)) if section.words.len() == 1 => return Some(path.to_owned()),
                (
                    "directory" | "location" | "directorymatch" | "locationmatch" | "files" | "filesmatch",
                    _,
                ) => {
                    return None;
                }
                _ => {}
            }
        }
        Some("/".to_owned())
    }
}
