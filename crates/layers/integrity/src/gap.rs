//! Gaps in enforcement: a name and a number for each, and the resulting degree.

use bakeoff_layers_base::manifest::Action;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Part of the requested enforcement that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// Directories or files that could not be made immutable: they can change after they were opened, and be renamed
    /// over each other.
    NotFrozen,
    /// Files that were open for writing when checked: hashed at each open.
    WriterOpen,
    /// Files on a file system without leases: hashed at each open.
    NoLease,
    /// Files without a free descriptor: hashed at each open.
    Descriptors,
    /// Listed files for which the kernel accepted no mark: only their directory's mark covers them.
    Marks,
    /// Mounts that were put on the tree after it was armed.
    MountedOver,
    /// The tree is open for changes, between two SIGHUPs.
    OpenForChanges,
    /// The supervisor is gone: if the worker dies as well, nothing is enforced.
    NoSupervisor,
    /// The kernel lost events: those opens were not decided.
    KernelOverflow,
    /// Symbolic links that show another file under a listed name, unnoticed.
    Links,
    /// FIFOs and devices, which the kernel opens without asking.
    Special,
    /// Directories too deep to be opened by their path: opens in and below them are not decided.
    Deep,
    /// The tree's path leads elsewhere now.
    Moved,
    /// Mounts of the tree whose files can change behind them: overlays, network file systems, FUSE.
    Elsewhere,
    /// Listed files with set-user-id or set-group-id: their owner is not signed.
    Owners,
    /// Files with a page held by others when checked, so that an earlier write may still land: hashed at each open.
    Pinned,
    /// Files under a write lease when checked: refused until its holder gives it up.
    Leased,
    /// The manifest has expired since it was accepted.
    Expired,
}

impl Gap {
    pub(crate) const ALL: [Self; 18] = [
        Self::NotFrozen,
        Self::WriterOpen,
        Self::NoLease,
        Self::Descriptors,
        Self::Marks,
        Self::MountedOver,
        Self::OpenForChanges,
        Self::NoSupervisor,
        Self::KernelOverflow,
        Self::Links,
        Self::Special,
        Self::Deep,
        Self::Moved,
        Self::Elsewhere,
        Self::Owners,
        Self::Pinned,
        Self::Leased,
        Self::Expired,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NotFrozen => "not-frozen",
            Self::WriterOpen => "writer-open",
            Self::NoLease => "no-lease",
            Self::Descriptors => "descriptors",
            Self::Marks => "marks",
            Self::MountedOver => "mounted-over",
            Self::OpenForChanges => "open-for-changes",
            Self::NoSupervisor => "no-supervisor",
            Self::KernelOverflow => "kernel-overflow",
            Self::Links => "links",
            Self::Special => "special",
            Self::Deep => "deep",
            Self::Moved => "moved",
            Self::Elsewhere => "elsewhere",
            Self::Owners => "owners",
            Self::Pinned => "pinned",
            Self::Leased => "leased",
            Self::Expired => "expired",
        }
    }
}

/// Number of each gap.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    counts: [AtomicU64; Gap::ALL.len()],
    /// Set when a gap opened or closed, cleared when it is asked.
    changed: AtomicBool,
}

impl Gaps {
    pub(crate) fn add(&self, gap: Gap) {
        if let Some(count) = self.counts.get(gap as usize) {
            count.fetch_add(1, Ordering::Relaxed);
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn close_one(&self, gap: Gap) {
        self.set(gap, self.count(gap).saturating_sub(1));
    }

    pub(crate) fn set(&self, gap: Gap, to: u64) {
        let count = self.counts.get(gap as usize);
        if count.is_some_and(|count| count.swap(to, Ordering::Relaxed) != to) {
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a gap opened or closed since it was last taken.
    pub(crate) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    pub(crate) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn is_open(&self, gap: Gap) -> bool {
        self.count(gap) > 0
    }

    /// Whether there is any gap.
    pub(crate) fn any_open(&self) -> bool {
        self.open().next().is_some()
    }

    fn count(&self, gap: Gap) -> u64 {
        self.counts.get(gap as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn open(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = Gap::ALL.into_iter().map(|gap| (gap.name(), self.count(gap)));
        counts.filter(|(_, count)| *count > 0)
    }

    /// Degree of enforcement: `full`, `partial` or `none`.
    pub(crate) fn degree(&self, mode: Action) -> &'static str {
        match (mode, self.open().next()) {
            (Action::Log, _) => "none",
            (_, None) => "full",
            (_, Some(_)) => "partial",
        }
    }

    /// The degree and its reasons in one line.
    pub(crate) fn line(&self, mode: Action) -> String {
        let mut line = self.degree(mode).to_owned();
        let mut reasons: Vec<String> = self.open().map(|(name, count)| format!("{name} {count}")).collect();
        if mode == Action::Log {
            reasons.insert(0, "log refuses nothing".to_owned());
        }
        if !reasons.is_empty() {
            let _ = write!(line, " ({})", reasons.join(", "));
        }
        line
    }

    /// Lines of the status: every gap, also those that are closed.
    pub(crate) fn text(&self, mode: Action) -> String {
        let mut text = format!("degree {}\n", self.degree(mode));
        for gap in Gap::ALL {
            let _ = writeln!(text, "gap-{} {}", gap.name(), self.count(gap));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_degree_follows_from_mode_and_gaps() {
        let gaps = Gaps::default();
        assert_eq!(gaps.line(Action::Deny), "full");
        assert_eq!(gaps.line(Action::Log), "none (log refuses nothing)");
        gaps.add(Gap::WriterOpen);
        gaps.add(Gap::WriterOpen);
        gaps.set(Gap::Marks, 7);
        assert_eq!(gaps.line(Action::Stop), "partial (writer-open 2, marks 7)");
        gaps.set(Gap::WriterOpen, 0);
        gaps.set(Gap::Marks, 0);
        assert_eq!(gaps.degree(Action::Lock), "full");
        assert!(Gap::ALL.iter().enumerate().all(|(at, gap)| at == *gap as usize), "numbered in order");
    }
}
