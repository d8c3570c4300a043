//! Gaps in enforcement: a name and a number for each, and the resulting degree.

use bakeoff_layers_base::counters::Counters;
use bakeoff_layers_base::manifest::FaultAction;
use bakeoff_layers_base::named;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

named! {
    /// A gap in what is enforced.
    pub(crate) enum Gap {
        /// Directories or files that could not be made immutable: they can change after they were opened,
        /// and be renamed over each other.
        NotFrozen "not-frozen",
        /// Files that somebody had open for writing when they were looked at: hashed at each open.
        WriterOpen "writer-open",
        /// Files on a file system without leases: hashed at each open.
        NoLease "no-lease",
        /// Files for which no descriptor was left: hashed at each open.
        Descriptors "descriptors",
        /// Listed files for which the kernel took no mark: asked about by their directory only.
        Marks "marks",
        /// Mounts that were put on the tree after it was armed.
        MountedOver "mounted-over",
        /// The tree is open for changes, between two SIGHUPs.
        OpenForChanges "open-for-changes",
        /// The supervisor is gone: when the worker dies as well, nothing is enforced.
        NoSupervisor "no-supervisor",
        /// The kernel lost events: those opens were not asked about.
        KernelOverflow "kernel-overflow",
        /// Symbolic links by which something else is opened than it seems, unseen.
        Links "links",
        /// FIFOs and devices, which the kernel opens without asking.
        Special "special",
        /// Directories too deep to be opened by their path: what is in and below them is not asked about.
        Deep "deep",
        /// The tree's path leads somewhere else now.
        Moved "moved",
        /// Mounts of the tree whose files can change without passing them: overlays, networks, FUSE.
        Elsewhere "elsewhere",
        /// Listed files with set-user-id or set-group-id: their owner is not signed.
        Owners "owners",
        /// Files of which somebody held a page when they were looked at, so that a write that began before
        /// may still land: hashed at each open.
        Pinned "pinned",
        /// Files that somebody held a write lease on when they were looked at: refused until he lets go.
        Leased "leased",
        /// Listed files that were not there when the tree was armed: what they would forbid is allowed.
        Missing "missing",
        /// The tree's symbolic links are not those that were signed, or its manifest signs none.
        LinksUnsigned "links-unsigned",
        /// Files and directories that were immutable before: whoever made them so can undo it.
        Immutable "immutable-before",
        /// The manifest has expired since it was taken.
        Expired "expired",
    }
}

/// Number of each gap.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    counts: Counters<Gap>,
    /// Something opened or closed since it was last asked.
    changed: AtomicBool,
}

impl Gaps {
    pub(crate) fn add(&self, gap: Gap) {
        self.counts.add(gap, 1);
        self.changed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn close_one(&self, gap: Gap) {
        self.set(gap, self.counts.get(gap).saturating_sub(1));
    }

    pub(crate) fn set(&self, gap: Gap, to: u64) {
        if self.counts.set(gap, to) != to {
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
        self.counts.get(gap) > 0
    }

    /// Whether there is any gap.
    pub(crate) fn any_open(&self) -> bool {
        self.open().next().is_some()
    }

    fn open(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.each().map(|(gap, count)| (gap.name(), count)).filter(|(_, count)| *count > 0)
    }

    /// Degree of enforcement: `full`, `partial` or `none`.
    pub(crate) fn degree(&self, mode: FaultAction) -> &'static str {
        match (mode, self.open().next()) {
            (FaultAction::Log, _) => "none",
            (_, None) => "full",
            (_, Some(_)) => "partial",
        }
    }

    /// The degree and its reasons in one line.
    pub(crate) fn line(&self, mode: FaultAction) -> String {
        let mut line = self.degree(mode).to_owned();
        let mut reasons: Vec<String> = self.open().map(|(name, count)| format!("{name} {count}")).collect();
        if mode == FaultAction::Log {
            reasons.insert(0, "log refuses nothing".to_owned());
        }
        if !reasons.is_empty() {
            let _ = write!(line, " ({})", reasons.join(", "));
        }
        line
    }

    /// Lines of the status: every gap, also those that are closed.
    pub(crate) fn text(&self, mode: FaultAction) -> String {
        format!("degree {}\n{}", self.degree(mode), self.counts.text("gap-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_degree_follows_from_mode_and_gaps() {
        let gaps = Gaps::default();
        assert_eq!(gaps.line(FaultAction::Deny), "full");
        assert_eq!(gaps.line(FaultAction::Log), "none (log refuses nothing)");
        gaps.add(Gap::WriterOpen);
        gaps.add(Gap::WriterOpen);
        gaps.set(Gap::Marks, 7);
        assert_eq!(gaps.line(FaultAction::Stop), "partial (writer-open 2, marks 7)");
        gaps.set(Gap::WriterOpen, 0);
        gaps.set(Gap::Marks, 0);
        assert_eq!(gaps.degree(FaultAction::Lock), "full");
    }
}
