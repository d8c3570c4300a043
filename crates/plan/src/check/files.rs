//! Check of the `files` workload and its arms.

use super::super::file::{DirectorySection, FilesSection, ToldSection, TreeSection};
use super::super::{ArmFiles, ArmServe, CacheState, FileOperation, FilesWork, Fsync, TreeShape, Work};
use super::named::{env, text};
use super::{Checked, Context};
use crate::file::{Spanned, place_of};
use bakeoff_units::Bytes;

/// Default operations.
const OPERATIONS: [FileOperation; 2] = [FileOperation::Read, FileOperation::Write];
const SIZES: [Bytes; 2] = [Bytes::new(1), Bytes::new(10_000_000)];
/// Limit on the number of files: more take too long to wait for.
const MOST_FILES: usize = 1_000_000;

impl Context<'_> {
    pub(super) fn files_work(&self, w: &FilesSection, slice: Option<&Spanned<u64>>) -> Checked<FilesWork> {
        let operations =
            self.operations(&w.operations, &OPERATIONS, &FileOperation::ALL, FileOperation::as_str)?;
        let (states, ways) = (&CacheState::ALL, &Fsync::ALL);
        let cache =
            self.choice(&w.cache, "state of the caches", states, CacheState::Cached, CacheState::as_str)?;
        let work = FilesWork {
            sizes: self.sizes(w, &operations)?,
            files: w.files.as_ref().map(|files| self.between(files, 1, MOST_FILES)).transpose()?,
            cache,
            fsync: self.choice(&w.fsync, "way to sync", ways, ways[0], Fsync::as_str)?,
            tree: self.tree(w, &operations)?,
            slice_operations: slice.map(|n| self.at_least(Some(n), 1, 1)).transpose()?,
            time_limit: self.quantity(&w.time_limit, "1min")?,
            operations,
        };
        self.refuse_idle_keys(w, &work)?;
        Ok(work)
    }

    fn sizes(&self, w: &FilesSection, operations: &[FileOperation]) -> Checked<Vec<Bytes>> {
        let Some(list) = self.pick(&w.sizes) else {
            let needed = operations.iter().any(|operation| !operation.of_tree());
            return Ok(if needed { SIZES.to_vec() } else { Vec::new() });
        };
        let mut sizes = Vec::new();
        for text in list.as_ref() {
            let size: Bytes = self.quantity(&Some(Spanned::new(list.span(), text.clone())), "10MB")?;
            let twin = list.when(sizes.contains(&size));
            self.refuse(twin, format!("the size {size} is there twice"), "take one out")?;
            sizes.push(size);
        }
        self.refuse(list.when(sizes.is_empty()), "there are no files", "such as [\"1B\", \"10MB\"]")?;
        Ok(sizes)
    }

    fn tree(&self, w: &FilesSection, operations: &[FileOperation]) -> Checked<Option<TreeShape>> {
        let asking = operations.iter().find(|operation| operation.of_tree());
        match (&w.tree, asking) {
            (Some(tree), Some(_)) => Ok(Some(self.tree_shape(tree.as_ref())?)),
            (None, None) => Ok(None),
            (None, Some(operation)) => {
                let help = "add tree = { files = 1000, directories = 50, mean = \"13KB\" }";
                self.wrong(place_of(&w.operations), format!("`{operation}` needs a tree"), help)
            }
            (Some(tree), None) => {
                let help = "add tree-walk, tree-read or tree-copy to `operations`, or take the line out";
                self.wrong(tree.span(), "no operation is about a tree", help)
            }
        }
    }

    fn tree_shape(&self, tree: &TreeSection) -> Checked<TreeShape> {
        Ok(TreeShape {
            files: tree.files.as_ref().map_or(Ok(1000), |files| self.between(files, 1, MOST_FILES))?,
            directories: tree.directories.as_ref().map_or(Ok(50), |n| self.between(n, 0, MOST_FILES))?,
            mean: self.quantity(&tree.mean, "13KB")?,
        })
    }

    fn between(&self, value: &Spanned<usize>, least: usize, most: usize) -> Checked<usize> {
        let outside = value.when(!(least..=most).contains(value.as_ref()));
        self.refuse(outside, format!("this must lie between {least} and {most}"), "such as 1000")?;
        Ok(*value.as_ref())
    }

    /// Refuses keys that have no use in this plan.
    fn refuse_idle_keys(&self, w: &FilesSection, work: &FilesWork) -> Checked<()> {
        let writes = work.operations.iter().any(|operation| operation.writes());
        let has_files = work.operations.iter().any(|operation| !operation.of_tree());
        let no_files = "has no meaning: all operations are about the tree";
        let help = "take the line out";
        let fsync = w.fsync.as_ref().filter(|_| !writes);
        self.refuse(fsync, "`fsync` has no meaning: no operation writes", help)?;
        self.refuse(w.sizes.as_ref().filter(|_| !has_files), format!("`sizes` {no_files}"), help)?;
        self.refuse(w.files.as_ref().filter(|_| !has_files), format!("`files` {no_files}"), help)
    }

    pub(super) fn arm_files(
        &self,
        name: &Spanned<String>,
        arm: &DirectorySection,
        told: &ToldSection,
        work: &Work,
    ) -> Checked<ArmFiles> {
        let cache = if let Work::Files(work) = work { Some(work.cache) } else { None };
        let idle = arm.drop.as_ref().filter(|_| !cache.is_some_and(CacheState::drops));
        let help = "add cache = \"cold\", \"remote\" or \"first\" to the workload, or take the line out";
        self.refuse(idle, "nothing is dropped with these caches", help)?;
        let path = match &arm.path {
            None => "{dir}".to_owned(),
            Some(path) if path.as_ref().starts_with("{dir}") => path.as_ref().clone(),
            Some(path) if path.as_ref().contains("{dir}") || path.as_ref().is_empty() => {
                let help = "a path begins with {dir}, or is that of a mounted file system";
                return self.wrong(path.span(), format!("`{}` is no path", path.as_ref()), help);
            }
            Some(path) => self.base.join(path.as_ref()).display().to_string(),
        };
        let serve = self.serve(arm)?;
        let cannot_see = serve.as_ref().is_some_and(|serve| serve.from.is_none());
        if let Some(cache @ (CacheState::Remote | CacheState::First)) = cache.filter(|_| cannot_see) {
            let what =
                format!("with cache = \"{}\" the files are read where they are served from", cache.as_str());
            return self.wrong(name.span(), what, "say where that is, such as served = \"{dir}/export\"");
        }
        let idle = arm.status.as_ref().filter(|_| cache != Some(CacheState::First));
        let help = "it tells what first contacts consisted of: add cache = \"first\" to the workload, or take the line out";
        self.refuse(idle, "nothing is read from a status with these caches", help)?;
        let planned = ArmFiles {
            path,
            serve,
            status: text(&arm.status),
            setup: self.hook(&arm.setup)?,
            deny: self.hook(&arm.deny)?,
            drop: self.hook(&arm.drop)?,
            cleanup: self.hook(&arm.cleanup)?,
            env: env(&arm.env),
        };
        let proof = told.proof.iter().flat_map(|argv| argv.as_ref());
        self.files_words(name, planned.serve.is_some(), planned.words().chain(proof))?;
        Ok(planned)
    }

    fn serve(&self, arm: &DirectorySection) -> Checked<Option<ArmServe>> {
        if let Some(argv) = &arm.serve {
            return Ok(Some(ArmServe {
                argv: self.argv(argv)?,
                ready: text(&arm.ready),
                from: arm.served.as_ref().map(|from| self.below_dir(from)).transpose()?,
            }));
        }
        for (name, key) in [("ready", &arm.ready), ("served", &arm.served)] {
            let what = format!("`{name}` is about what serves, and nothing does");
            self.refuse(key.as_ref(), what, "add `serve`")?;
        }
        Ok(None)
    }

    /// Without a site, only a port has a meaning, for the serving daemon.
    fn files_words<'w>(
        &self,
        name: &Spanned<String>,
        serves: bool,
        words: impl Iterator<Item = &'w String>,
    ) -> Checked<()> {
        let strange: &[&str] = if serves { &["{root}"] } else { &["{root}", "{host}", "{port}"] };
        let help = "{dir} is the arm's private directory; {host} and {port} are there where it has `serve`";
        self.only_for_servers(name, words, strange, help)
    }

    fn below_dir(&self, path: &Spanned<String>) -> Checked<String> {
        let what = format!("`{}` is no directory of the arm's", path.as_ref());
        self.refuse(path.when(!path.as_ref().starts_with("{dir}")), what, "it begins with {dir}")?;
        Ok(path.as_ref().clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::{ArmKind, Plan, Work};
    use bakeoff_units::Bytes;
    use std::path::Path;

    const FAR: &str = r#"
[experiment]
baseline = "plain"
link = "10Mbit"

[workload]
kind = "files"
sizes = { sample = ["1B", "1MB"], full = ["1B", "10MB"] }
cache = "remote"

[arm.plain]

[arm.far]
path = "{dir}/seen"
serve = ["server", "{dir}/export", "{host}:{port}"]
ready = "listening"
served = "{dir}/export"
setup = ["mount-it", "{host}:{port}", "{dir}/seen"]
drop = ["remount-it"]
"#;

    fn parse(text: &str) -> Result<Plan, String> {
        Plan::parse("test", "plan.toml", text, Path::new("/plans")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_directory_may_be_served_over_a_link() {
        let plan = parse(FAR).unwrap();
        assert!(plan.link.is_some());
        let ArmKind::Files(files) = &plan.arms[1].what else { panic!("no files") };
        let serve = files.serve.as_ref().unwrap();
        assert_eq!(
            (serve.ready.as_deref(), serve.from.as_deref()),
            (Some("listening"), Some("{dir}/export"))
        );
        assert_eq!(serve.argv[2], "{host}:{port}");
        let sizes = |plan: &Plan| match &plan.work {
            Work::Files(work) => work.sizes.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(sizes(&plan), [1, 1_000_000].map(Bytes::new));
        assert_eq!(sizes(&plan.full.unwrap()), [1, 10_000_000].map(Bytes::new));
    }

    #[test]
    fn what_is_wrong_with_what_serves_is_told() {
        let serve = "serve = [\"server\", \"{dir}/export\", \"{host}:{port}\"]\n";
        for (from, to, expected) in [
            (serve, "", &["`ready` is about what serves", "add `serve`"][..]),
            ("served = \"{dir}/export\"\n", "", &["cache = \"remote\"", "served = "]),
            (
                "served = \"{dir}/export\"",
                "served = \"/srv\"",
                &["`/srv` is no directory of the arm", "{dir}"],
            ),
            ("[\"server\",", "[\"\",", &["there is no program"]),
            ("\"{host}:{port}\", \"{dir}/seen\"", "\"{root}\"", &["{root}", "only servers have"]),
            ("\"remote\"", "\"cached\"", &["nothing is dropped with these caches", "\"first\""]),
        ] {
            let text = FAR.replacen(from, to, 1);
            assert_ne!(text, FAR, "nothing was changed: {from}");
            let message = parse(&text).expect_err(to);
            for word in expected {
                assert!(message.contains(word), "{to}\nshould say {word}\n{message}");
            }
        }
        let near = "path = \"{dir}/seen\"\nsetup = [\"mount-it\"]\n";
        let text = FAR.split("path =").next().unwrap().to_owned() + near;
        let message = parse(&text).unwrap_err();
        assert!(message.contains("a link leads to what `serve` starts"), "{message}");
    }
}
