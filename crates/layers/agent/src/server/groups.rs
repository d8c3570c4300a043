//! Group memberships: a text kept by the agent's administrator.
//!
//! Measured side, cold, pure. A line a group: its name, then the names of its members.

use bakeoff_layers_credentials::name::{Domain, PrincipalKind, PrincipalName};
use std::collections::HashMap;

/// Groups by member.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups(HashMap<PrincipalName, Vec<PrincipalName>>);

impl Groups {
    /// Reads a text, for a domain.
    ///
    /// # Errors
    /// The first malformed line, and why.
    pub(super) fn read(text: &str, domain: &Domain) -> Result<Self, String> {
        let mut all = HashMap::<PrincipalName, Vec<PrincipalName>>::new();
        for (index, line) in text.lines().enumerate() {
            let fault = |why: &str| format!("line {}: {why}", index + 1);
            let words = line.split('#').next().unwrap_or_default().split_whitespace();
            let names: Result<Vec<PrincipalName>, _> = words.map(str::parse).collect();
            let names = names.map_err(|error| fault(&error.to_string()))?;
            let Some((group, members)) = names.split_first() else { continue };
            if group.kind() != PrincipalKind::Group
                || members
                    .iter()
                    .any(|member| matches!(member.kind(), PrincipalKind::Group | PrincipalKind::Role))
            {
                return Err(fault("a line is a group and then its members, which are users and nodes"));
            }
            if names.iter().any(|name| name.domain() != domain) {
                return Err(fault(&format!("groups and members here are those of {domain}")));
            }
            for member in members {
                let own = all.entry(member.clone()).or_default();
                if !own.contains(group) {
                    own.push(group.clone());
                }
            }
        }
        Ok(Self(all))
    }

    /// Groups of a member.
    pub(super) fn of(&self, member: &PrincipalName) -> &[PrincipalName] {
        self.0.get(member).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_group_and_its_members() {
        let domain = "a.b".parse().unwrap();
        let text = "# staff\ngroup:staff@a.b user:al@a.b user:bo@a.b # two\n\ngroup:web@a.b user:al@a.b user:al@a.b\n";
        let groups = Groups::read(text, &domain).unwrap();
        let of = |name: &str| {
            groups
                .of(&name.parse().unwrap())
                .iter()
                .map(PrincipalName::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(of("user:al@a.b"), "group:staff@a.b group:web@a.b");
        assert_eq!((of("user:bo@a.b").as_str(), of("user:cy@a.b").as_str()), ("group:staff@a.b", ""));
        for (bad, line) in [
            ("user:al@a.b group:staff@a.b", 1),
            ("\ngroup:a@a.b group:b@a.b", 2),
            ("group:a@a.b user:al@c.d", 1),
            ("group:a@c.d user:al@a.b", 1),
            ("group:a@a.b al", 1),
            ("group:a@a.b role:editor.al@a.b", 1),
        ] {
            let why = Groups::read(bad, &domain).unwrap_err();
            assert!(why.starts_with(&format!("line {line}: ")), "{bad:?}: {why}");
        }
    }
}
