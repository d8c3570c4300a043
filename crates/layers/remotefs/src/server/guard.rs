//! Access control of sessions: the operations that each request needs, compared with the session's grant, and logged.
//!
//! Measured side, server process, hot: once or twice a request. An object is judged by all its names, a name to be
//! made or removed by itself. Decisions are cached until the grant ends or the rules change. Owns neither the rules
//! nor identities (`principals` does), and changes nothing of the export.
//!
//! A session can see a name if it has any right on the object, or on anything below it; listing needs a right of its
//! own. The permission bits shown are the session's rights, as its owner's bits; so its kernel refuses most of what
//! would be refused here.

use super::coherence::Coherence;
use super::counters::{Count, ServerCounters};
use super::error::No;
use super::objects::{Object, Objects, Path, ROOT};
use super::principals::{Principal, Principals, Rules};
use crate::frame::{Attributes, ClientRequest, FileName, FileType, New, TimeUpdate, Way};
use crate::lease::{ObjectNumber, SessionNumber};
use crate::refusal::Refusal;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_credentials::acl::Acl;
use bakeoff_layers_credentials::audit::{AuditOutcome, DENIED, DecisionSubject};
use bakeoff_layers_credentials::operation::{Operation, Operations};
use std::fmt::Write;
use std::sync::Arc;

/// Limit on places of a list at which a file is judged whose names are not all known.
const MOST_PLACES: usize = 64;
/// Longest answer to WHY: the limit of a symbolic link.
const MOST_SENTENCES: usize = 4000;

/// Access control of an export.
pub(super) struct Guard {
    objects: Arc<Objects>,
    principals: Arc<Principals>,
    tally: Arc<ServerCounters>,
}

impl Guard {
    pub(super) fn new(
        objects: Arc<Objects>,
        principals: Arc<Principals>,
        tally: Arc<ServerCounters>,
    ) -> Self {
        Self { objects, principals, tally }
    }

    /// Refuses a request that the session may not make. Names that are looked up, and attributes, are checked once
    /// the object is known ([`sees`](Self::sees), [`effective`](Self::effective)).
    pub(super) fn allow(&self, session: SessionNumber, request: &ClientRequest<'_>) -> Result<(), No> {
        use Operation::{Create, List, Read, Remove, Write};
        let who = self.principals.of(session)?;
        let needs = |object, operation| self.needs(&who, object, |_| Operations::of(&[operation]));
        let at = |directory, name, operations: &[Operation]| {
            self.needs_at(&who, (directory, name), Operations::of(operations))
        };
        match *request {
            ClientRequest::Read { object, .. } | ClientRequest::ReadLink { object } => needs(object, Read),
            ClientRequest::List { directory, .. } => needs(directory, List),
            ClientRequest::Write { object, .. } => needs(object, Write),
            ClientRequest::Commit { object } => self.needs(&who, object, something),
            ClientRequest::SetAttributes { object, new } => {
                self.needs(&who, object, |may| setting(&new, may))
            }
            ClientRequest::Create { directory, name, truncate: true, .. } => {
                at(directory, name, &[Create, Write])
            }
            ClientRequest::Create { directory, name, .. }
            | ClientRequest::MakeDirectory { directory, name, .. }
            | ClientRequest::SymLink { directory, name, .. } => at(directory, name, &[Create]),
            // Another name is as good as a copy, and takes the others away from sessions that may not use it.
            ClientRequest::Link { object, directory, name } => {
                self.needs(&who, object, |_| Operations::of(&[Read, Remove]))?;
                at(directory, name, &[Create])
            }
            ClientRequest::Remove { directory, name }
            | ClientRequest::RemoveDirectory { directory, name } => at(directory, name, &[Remove]),
            ClientRequest::Rename { from, name, to, new_name, way } => {
                self.may_rename(&who, (from, name), (to, new_name), way)
            }
            _ => Ok(()),
        }
    }

    /// Checks the right to replace the object that has the new name. Asked while nobody else can change the name.
    pub(super) fn may_replace(
        &self,
        session: SessionNumber,
        place: (ObjectNumber, FileName<'_>),
    ) -> Result<(), No> {
        let who = self.principals.of(session)?;
        self.needs_at(&who, place, Operations::of(&[Operation::Remove]))
    }

    /// Attributes of an object as shown to the session, if it may see the object.
    pub(super) fn effective(
        &self,
        session: SessionNumber,
        object: &Object,
        told: Attributes,
    ) -> Result<Attributes, No> {
        let who = self.principals.of(session)?;
        let may = self.rights(&who, object)?;
        let is_told = may != Operations::NONE || object.number == ROOT || {
            let rules = self.principals.rules();
            let leads = |path: &Path| who.grant.leads(&rules.acl, path);
            object.kind == FileType::Directory && self.objects.paths(object)?.0.iter().any(leads)
        };
        if is_told {
            return Ok(Attributes { mode: mode(object.kind, may, told.mode), ..told });
        }
        Err(self.refuse_object(&who, object, (Operations::NONE, may)))
    }

    /// Refuses unless the session may know that a name does not exist.
    pub(super) fn sees(
        &self,
        session: SessionNumber,
        (directory, name): (ObjectNumber, FileName<'_>),
    ) -> Result<(), No> {
        let who = self.principals.of(session)?;
        let path = self.objects.below(directory, name.bytes())?;
        let rules = self.principals.rules();
        let rights = who.grant.rights(&rules.acl, &path);
        match rights != Operations::NONE || who.grant.leads(&rules.acl, &path) {
            true => Ok(()),
            false => Err(self.refuse(&who, &[path], (Operations::NONE, rights), Refusal::Denied)),
        }
    }

    /// Explains the decisions on an object, or a name in a directory: a line for each operation.
    pub(super) fn why(
        &self,
        session: SessionNumber,
        number: ObjectNumber,
        name: Option<FileName<'_>>,
    ) -> Result<String, No> {
        let (who, acl) = (self.principals.of(session)?, self.principals.rules().acl);
        let paths = match name {
            Some(name) => vec![self.objects.below(number, name.bytes())?],
            None => {
                let object = self.objects.find(number)?;
                match self.judged(&object, &acl) {
                    Err(No::Refused(refusal)) => return Ok(refusal.to_string()),
                    paths => paths?.0,
                }
            }
        };
        let mut text = String::new();
        for operation in Operation::ALL.into_iter().filter(|operation| *operation != Operation::Acl) {
            let each = || paths.iter().map(|path| who.grant.because(&acl, path, operation));
            let Some(because) = each().find(|because| !because.granted).or_else(|| each().next()) else {
                continue;
            };
            let word = if because.granted { "yes" } else { "no" };
            // A string takes all that is written to it.
            let _ = writeln!(text, "{} {word}: {}", operation.name(), because.reason);
        }
        text.truncate(text.floor_char_boundary(MOST_SENTENCES));
        Ok(text)
    }

    /// Voids decisions about an object with a new or changed name. If it is a directory or unknown, so are those
    /// about everything below it, and all sessions are told.
    pub(super) fn moved(&self, object: Option<&Object>, coherence: &Coherence) {
        match object {
            Some(object) if object.kind != FileType::Directory => self.principals.void(object.number),
            _ => self.principals.rules_changed(coherence),
        }
    }

    /// Checks that the session has the rights needed for an object, which may depend on those it has.
    fn needs(
        &self,
        who: &Principal,
        object: ObjectNumber,
        asked: impl FnOnce(Operations) -> Operations,
    ) -> Result<(), No> {
        let object = self.objects.find(object)?;
        let rights = self.rights(who, &object)?;
        let asked = asked(rights);
        if !asked.is_within(rights) {
            return Err(self.refuse_object(who, &object, (asked, rights)));
        }
        self.principals.uses(who, (object.number, asked), || -> Result<(), No> {
            let rules = self.principals.rules();
            let (paths, _) = self.judged(&object, &rules.acl)?;
            Ok(self.allowed(who, &rules, paths, (asked, rights))?)
        })
    }

    /// Names by which an object is judged, and the name of a refusal. Unknown ones may be anywhere: then every place
    /// counts at which rights may differ.
    fn judged(&self, object: &Object, acl: &Acl) -> Result<(Vec<Path>, Refusal), No> {
        let (mut paths, are_all) = self.objects.paths(object)?;
        if are_all {
            return Ok((paths, Refusal::Denied));
        }
        paths.extend(acl.places());
        if paths.len() > MOST_PLACES { Err(Refusal::Linked.into()) } else { Ok((paths, Refusal::Linked)) }
    }

    /// Refuses an object by its names.
    fn refuse_object(&self, who: &Principal, object: &Object, rights: (Operations, Operations)) -> No {
        match self.judged(object, &self.principals.rules().acl) {
            Ok((paths, refusal)) => self.refuse(who, &paths, rights, refusal),
            Err(no) => no,
        }
    }

    /// Logs operations that are allowed, with the line that allows the first of them.
    fn allowed(
        &self,
        who: &Principal,
        rules: &Rules,
        paths: Vec<Path>,
        (asked, rights): (Operations, Operations),
    ) -> Result<(), Refusal> {
        let first = asked.each().next().zip(paths.first());
        let line = first.and_then(|(first, path)| who.grant.line(&rules.acl, path, first));
        let outcome = AuditOutcome::Allowed { line: line.unwrap_or(0) as u64 };
        self.principals.decided(who, rules, || DecisionSubject::Object { paths, asked, rights, outcome })
    }

    /// The same for a name, whether it exists or not. That decision is not cached, and so is logged each time.
    fn needs_at(
        &self,
        who: &Principal,
        (directory, name): (ObjectNumber, FileName<'_>),
        asked: Operations,
    ) -> Result<(), No> {
        let path = self.objects.below(directory, name.bytes())?;
        let rules = self.principals.rules();
        let rights = who.grant.rights(&rules.acl, &path);
        if !asked.is_within(rights) {
            return Err(self.refuse(who, &[path], (asked, rights), Refusal::Denied));
        }
        Ok(self.allowed(who, &rules, vec![path], (asked, rights))?)
    }

    /// Logs a refusal.
    fn refuse(
        &self,
        who: &Principal,
        paths: &[Path],
        (asked, rights): (Operations, Operations),
        refusal: Refusal,
    ) -> No {
        // A right that neither list nor chain grants has its own name in the log, as that can be replayed.
        let name = match (asked.is_within(rights), refusal) {
            (false, _) => DENIED,
            (true, Refusal::Denied) => "unseen",
            (true, other) => other.name(),
        };
        let outcome = AuditOutcome::Refused { refusal: name.into() };
        let about = || DecisionSubject::Object { paths: paths.to_vec(), asked, rights, outcome };
        let written = self.principals.decided(who, &self.principals.rules(), about);
        written.err().unwrap_or(refusal).into()
    }

    /// Rights to an object: the least of those under each of its names.
    fn rights(&self, who: &Principal, object: &Object) -> Result<Operations, No> {
        let (key, now_unix_s) = ((who.session, object.number), now_unix_s());
        if let Some(rights) = self.principals.kept.look_up(&key, now_unix_s) {
            return Ok(rights);
        }
        let ticket = self.principals.kept.ticket(key);
        self.tally.add(Count::Decisions, 1);
        let rules = self.principals.rules();
        let (paths, _) = self.judged(object, &rules.acl)?;
        let each = paths.iter().map(|path| who.grant.rights(&rules.acl, path));
        let rights = each.fold(Operations::ALL, Operations::and);
        self.allowed(who, &rules, paths, (Operations::NONE, rights))?;
        ticket.keep(rights, Some(who.grant.expires_unix_s), || true);
        Ok(rights)
    }

    /// Checks a rename, which takes a name away and makes one. It may not create rights: a session that could not
    /// read the object must not be able to do more with it under the new name. Rules stay where they are, so nothing
    /// above a rule may be moved.
    fn may_rename(
        &self,
        who: &Principal,
        from: (ObjectNumber, FileName<'_>),
        to: (ObjectNumber, FileName<'_>),
        way: Way,
    ) -> Result<(), No> {
        use Operation::{Create, List, Read, Remove};
        let acl = self.principals.rules().acl;
        let look = |(directory, name): (ObjectNumber, FileName<'_>)| -> Result<_, No> {
            let path = self.objects.below(directory, name.bytes())?;
            let rights = who.grant.rights(&acl, &path);
            match acl.has_rules_below(&path) {
                true => Err(self.refuse(who, &[path], (Operations::NONE, rights), Refusal::RulesBelow)),
                false => Ok(rights),
            }
        };
        let (old, new) = (look(from)?, look(to)?);
        // Rights needed where a name goes: also to read it, if the new name gives more or other rights.
        let needs = |place: (ObjectNumber, FileName<'_>), gives: Operations, has: Operations, gets: bool| {
            let gains = from.0 != to.0 || !gives.is_within(has);
            let read: &[Operation] = if gains { &[Read, List] } else { &[] };
            let create: &[Operation] = if gets { &[Create] } else { &[] };
            self.needs_at(who, place, Operations::of(&[&[Remove][..], read, create].concat()))
        };
        needs(from, new, old, way == Way::Exchange)?;
        match way {
            Way::Exchange => needs(to, old, new, true),
            Way::Replace | Way::NoReplace => self.needs_at(who, to, Operations::of(&[Create])),
        }
    }
}

/// Operations needed to set attributes. Changing the size needs `write`. Everything else needs `attributes`, except
/// that a writer may set times to now.
fn setting(new: &New, may: Operations) -> Operations {
    use Operation::{Attributes, Write};
    let at = |times: TimeUpdate| matches!(times, TimeUpdate::At(_));
    let now = [new.atime, new.mtime].contains(&TimeUpdate::Now);
    let attributes = new.mode.is_some() || at(new.atime) || at(new.mtime);
    let attributes = attributes || (now && !may.has(Write) && may.has(Attributes));
    let write = new.size.is_some() || (now && !attributes);
    let asked = [(attributes, Attributes), (write, Write)].into_iter().filter(|(so, _)| *so);
    Operations::of(&asked.map(|(_, operation)| operation).collect::<Vec<_>>())
}

/// Any right at all suffices.
fn something(may: Operations) -> Operations {
    if may == Operations::NONE { Operations::ALL } else { Operations::NONE }
}

/// Permission bits: the owner's as far as the session's rights go, those of others as they are. Any directory that is
/// shown can be searched for names.
fn mode(kind: FileType, may: Operations, mode: u16) -> u16 {
    use Operation::{Create, List, Read, Remove, Write};
    let bit = |so: bool, bit: u16| if so { bit } else { 0 };
    match kind {
        FileType::File => {
            let owner = bit(may.has(Read), 0o500) | bit(may.has(Write), 0o200);
            mode & (owner | 0o1077)
        }
        FileType::Directory => {
            let owner = bit(may.has(List), 0o400) | bit(may.has(Create) || may.has(Remove), 0o200);
            mode & (owner | 0o1077) | 0o100
        }
        FileType::Link => 0o777,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Operations {
        Operations::of_words(words).unwrap()
    }

    #[test]
    fn permission_bits_say_what_may_be_done() {
        let table = [
            (FileType::File, "read", 0o755, 0o555),
            (FileType::File, "read,write", 0o640, 0o640),
            (FileType::File, "read,write", 0o444, 0o444),
            (FileType::File, "write", 0o755, 0o255),
            (FileType::File, "list,create,remove", 0o777, 0o077),
            (FileType::Directory, "list", 0o777, 0o577),
            (FileType::Directory, "read", 0o777, 0o177),
            (FileType::Directory, "create", 0o1777, 0o1377),
            (FileType::Directory, "all", 0o000, 0o100),
        ];
        for (kind, words, true_mode, told) in table {
            assert_eq!(mode(kind, of(words), true_mode), told, "{kind:?} {words}");
        }
    }

    #[test]
    fn setting_needs_the_right_for_each_part() {
        let size = New { size: Some(0), ..New::default() };
        let bits = New { mode: Some(0o600), ..New::default() };
        let touched = New { atime: TimeUpdate::Now, mtime: TimeUpdate::Now, ..New::default() };
        let dated = New { mtime: TimeUpdate::At(crate::frame::FileTime { s: 1, ns: 0 }), ..New::default() };
        let table = [
            (size, "write"),
            (bits, "attributes"),
            (touched, "write"),
            (touched, "attributes"),
            (dated, "attributes"),
        ];
        for (new, words) in table {
            assert!(setting(&new, of(words)).is_within(of(words)), "{new:?} {words}");
        }
        for (new, words) in [(size, "attributes"), (bits, "write"), (touched, "read"), (dated, "write")] {
            assert!(!setting(&new, of(words)).is_within(of(words)), "{new:?} {words}");
        }
        assert!(!setting(&New { size: Some(0), ..bits }, of("write")).is_within(of("write")));
    }
}
