//! Access words of policies, to the single operation; and equal decisions by rules in every directory and by one
//! above.

use crate::stage::{PYTHON, Stage, may_run, said, script};
use bakeoff_layers_mac::access::{Access, Accesses};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Access that an operation at a directory or file needs.
fn needed(operation: &str) -> Option<Accesses> {
    use Access::{Create, Delete, Exec, Ioctl, List, Read, Rename, Write};
    let words: &[Access] = match operation {
        "read" => &[Read],
        "write" | "append" | "cut-writing" | "cut-open" => &[Write],
        "both" | "cut-both" => &[Read, Write],
        "run" => &[Read, Exec],
        "list" => &[List],
        // A new file that is only read is opened, too.
        "make" => &[Create, Read],
        "make-writing" => &[Create, Write],
        "mkdir" | "symlink" | "mkfifo" | "socket" | "link-inside" => &[Create],
        "unlink" | "rmdir" => &[Delete],
        "rename-inside" => &[Create, Delete],
        "rename-between" => &[Create, Delete, Rename],
        "link-between" => &[Create, Rename],
        "ioctl" => &[Read, Ioctl],
        // They would truncate a read-only file: no domain may, whatever is granted.
        "truncate" | "cut-reading" | "cut-neither" | "cut-creating" => return None,
        other => panic!("an operation `{other}`"),
    };
    Some(words.iter().copied().collect())
}

fn lay_out(stage: &Stage) {
    for folder in ["dir", "other"] {
        for file in ["f", "u", "v", "move"] {
            stage.write(&format!("{folder}/{file}"), "text");
        }
        fs::create_dir_all(stage.path(folder).join("empty")).unwrap();
    }
    for program in ["dir/f", "file"] {
        stage.copy_program("/bin/true", program);
        fs::set_permissions(stage.path(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Each operation of the probe and whether it was possible; every failure must be a refusal.
fn probed(stage: &Stage, words: &[String]) -> Vec<(String, bool)> {
    let program = [&[PYTHON.to_owned(), script("probe.py")], words].concat();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    let done = stage.under(&[], &program);
    assert!(done.status.success(), "{}", said(&done));
    let of_line = |line: &str| {
        let (operation, answer) = line.rsplit_once(' ').unwrap();
        assert!(["yes", "EACCES", "EPERM", "EXDEV"].contains(&answer), "{line}");
        (operation.to_owned(), answer == "yes")
    };
    String::from_utf8(done.stdout).unwrap().lines().map(of_line).collect()
}

/// Nothing, each word alone, all but each word, everything.
fn sets() -> Vec<Accesses> {
    let alone = Access::ALL.map(|word| [word].into_iter().collect::<Accesses>());
    let but = Access::ALL.map(|word| Accesses::any().without([word].into_iter().collect()));
    let three = [Access::Create, Access::Delete, Access::Rename].into_iter().collect();
    alone.into_iter().chain(but).chain([Accesses::any(), three]).collect()
}

#[test]
fn each_word_grants_its_operations_and_no_others() {
    if !may_run("each_word_grants_its_operations_and_no_others") {
        return;
    }
    let types = format!(
        "probe = [\"{}\"]\ntree = {{ paths = [\"{{dir}}/dir\", \"{{dir}}/other\"], hot = true }}\n\
         file = [\"{{dir}}/file\"]\ndevice = [\"/dev/urandom\"]\n",
        script("probe.py")
    );
    for granted in sets() {
        let stage = Stage::new();
        lay_out(&stage);
        let words = granted.to_string();
        // A file and a device have no names in them.
        let of_file = granted
            .iter()
            .filter(|access| matches!(access, Access::Read | Access::Write | Access::Exec | Access::Ioctl));
        let of_file = of_file.collect::<Accesses>();
        let further = if of_file.is_none() {
            String::new()
        } else {
            format!(", file = \"{of_file}\", device = \"{of_file}\"")
        };
        stage.policy(&types, &format!("probe = \"read\", tree = \"{words}\"{further}"), "");
        let names = ["dir", "other", "file"].map(|name| format!("{name}={}", stage.text(name)));
        let found = probed(&stage, &[&names[..], &["device=/dev/urandom".to_owned()]].concat());
        assert!(found.len() >= 26, "{found:?}");
        for (operation, possible) in found {
            let wanted = needed(&operation).is_some_and(|needed| needed.without(granted).is_none());
            assert_eq!(possible, wanted, "`{operation}` with `{words}`");
        }
        let text = fs::read_to_string(stage.path("dir/f")).unwrap_or_default();
        assert!(
            granted.has(Access::Write)
                || !text.is_empty()
                || fs::metadata(stage.path("dir/f")).unwrap().len() > 0
        );
    }
}

/// A small pseudo-random generator: the trees are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Four trees of some directories each, with files, links between them, and the operations to try on each.
fn grow(stage: &Stage, dice: &mut Dice) -> String {
    let mut asked = String::new();
    let mut folders: Vec<String> = (0..4).map(|tree| format!("t{tree}")).collect();
    for number in 0..40 {
        let below = &folders[usize::try_from(dice.below(folders.len() as u64)).unwrap()];
        folders.push(format!("{below}/d{number}"));
    }
    for (number, folder) in folders.iter().enumerate() {
        stage.write(&format!("{folder}/f"), "text");
        let far = &folders[usize::try_from(dice.below(folders.len() as u64)).unwrap()];
        std::os::unix::fs::symlink(stage.path(far), stage.path(folder).join("link")).unwrap();
        for how in ["read", "write", "append"] {
            asked += &format!(
                "{how} {}\n{how} {}\n",
                stage.text(&format!("{folder}/f")),
                stage.text(&format!("{folder}/link/f"))
            );
        }
        asked += &format!("list {}\nlist {}\n", stage.text(folder), stage.text(&format!("{folder}/link")));
        if number % 3 == 0 {
            asked += &format!("mkdir {}\n", stage.text(folder));
        }
    }
    asked
}

#[test]
fn dense_rules_decide_as_sparse_ones() {
    if !may_run("dense_rules_decide_as_sparse_ones") {
        return;
    }
    for seed in 1..=3 {
        let mut decided = Vec::new();
        for hot in [false, true] {
            let (stage, mut dice) = (Stage::new(), Dice(seed));
            let asked = grow(&stage, &mut dice);
            stage.write("asked", &asked);
            let types =
                (0..4).map(|tree| format!("t{tree} = {{ paths = [\"{{dir}}/t{tree}\"], hot = {hot} }}\n"));
            let types: String = types.collect();
            let own = format!("probe = [\"{}\"]\nasked = [\"{{dir}}/asked\"]\n", script("probe.py"));
            let words = ["read list", "write", "list write create", "read"];
            let allow = (0..4)
                .map(|tree| format!("t{tree} = \"{}\", ", words[usize::try_from(dice.below(4)).unwrap()]));
            let allow = format!("{}probe = \"read\", asked = \"read\"", allow.collect::<String>());
            stage.policy(&(types + &own), &allow, "");
            let status = stage.text("status");
            stage.under(&["--status", &status], &["/bin/true"]);
            let told =
                stage.status().lines().find_map(|line| line.strip_prefix("hot-directories ")?.parse().ok());
            assert_eq!(told, Some(if hot { 40 } else { 0 }));
            let found = probed(&stage, &[format!("@{}", stage.text("asked"))]);
            let away = stage.text("");
            decided.push(
                found.into_iter().map(|(what, may)| (what.replace(&away, ""), may)).collect::<Vec<_>>(),
            );
        }
        let possible = decided[0].iter().filter(|(_, may)| *may).count();
        assert!(possible > 50 && possible < decided[0].len() - 50, "{possible} of {}", decided[0].len());
        assert_eq!(decided[0], decided[1]);
    }
}

#[test]
fn a_directory_mounted_into_a_hot_tree_keeps_its_own_rules_elsewhere() {
    if !may_run("a_directory_mounted_into_a_hot_tree_keeps_its_own_rules_elsewhere") {
        return;
    }
    let stage = Stage::new();
    stage.write("outside/sub/f", "text");
    fs::create_dir_all(stage.path("tree/mounted")).unwrap();
    stage.policy("tree = { paths = [\"{dir}/tree\"], hot = true }", "tree = \"read list\"", "");
    let script = format!(
        "mount --bind {0}outside {0}tree/mounted && exec {1} /bin/sh -c 'cat {0}tree/mounted/sub/f; cat {0}outside/sub/f'",
        stage.text(""),
        stage.run(&[]).join(" ")
    );
    let done = Command::new("unshare").args(["-m", "/bin/sh", "-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "text", "{}", said(&done));
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
}
