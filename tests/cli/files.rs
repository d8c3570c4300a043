//! The `files` workload on real file systems: its figures, its detected failures, and nothing left in any case.

use crate::contract::{self, row};
use crate::support::{ENDLESS, Ended, PATIENCE, Yard, has, is_root, plan, signal, wait_until};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const CPU: &str = "subject_cpu_per_request";
/// A few small files, read and made.
const SMALL: &str = "kind = \"files\"\noperations = [\"read\", \"create\"]\nsizes = [\"100B\"]\nfiles = 20";
/// Three rounds of a few operations of each kind.
const FEW: &str = "slice_requests = 5";

/// Two arms: a private directory, and another one with these keys.
fn arms(other: &str) -> String {
    format!("[arm.plain]\n\n[arm.other]\n{other}")
}

fn run(yard: &Yard, text: &str) -> Ended {
    yard.write("plan.toml", text);
    let ended = yard.run(&["run", "plan.toml", "--out", "out", "--verbose"]);
    nothing_mounted(yard);
    ended
}

/// Without /dev/fuse and the program the test is skipped.
pub(crate) fn has_fuse(test: &str) -> bool {
    let device = Path::new("/dev/fuse").exists();
    if !device {
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: there is no /dev/fuse");
        println!("SKIP {test}: there is no /dev/fuse");
    }
    device && has("bindfs", test) && has("fusermount3", test)
}

#[track_caller]
pub(crate) fn nothing_mounted(yard: &Yard) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mark = yard.path("tmp").display().to_string();
    assert!(!mounts.contains(&mark), "still mounted:\n{mounts}");
}

fn kind<'a>(results: &'a Value, label: &str) -> &'a Value {
    let all = results["operations"].as_array().unwrap();
    all.iter().find(|kind| kind["operation"] == label).unwrap_or_else(|| panic!("no {label}"))
}

#[test]
fn every_operation_is_measured_and_stands_by_itself() {
    let yard = Yard::new();
    std::fs::create_dir(yard.path("there")).unwrap();
    yard.write("there/precious", "x");
    let workload = "kind = \"files\"\n\
        operations = [\"read\", \"write\", \"create\", \"append\", \"truncate\", \"replace\", \"remove\", \"open\", \"rename\", \"stat\", \"list\", \"tree-walk\", \"tree-read\", \"tree-copy\"]\n\
        sizes = [\"1B\", \"300KB\"]\nfiles = 6\nfsync = \"file+dir\"\n\
        tree = { files = 12, directories = 3, mean = \"2KB\" }";
    let said = run(&yard, &plan(FEW, workload, &arms("path = \"there\""))).exits(0);
    let results = contract::kept(&yard, "out", &["plain", "other"], CPU);
    let kinds = results["operations"].as_array().unwrap();
    let labels: Vec<&str> = kinds.iter().map(|kind| kind["operation"].as_str().unwrap()).collect();
    let sized = ["read", "write", "create", "append", "truncate", "replace", "remove"]
        .map(|name| [format!("{name} 1 B"), format!("{name} 300 KB")]);
    let expected: Vec<String> = sized.into_iter().flatten().collect();
    assert_eq!(labels[..14], expected);
    assert_eq!(labels[14..], ["open", "rename", "stat", "list", "tree-walk", "tree-read", "tree-copy"]);
    for kind in kinds {
        for arm in ["plain", "plain'", "other"] {
            let figures = &kind["arms"][arm];
            assert_eq!(figures["tried"], 15, "{kind}");
            assert_eq!(figures["errors"].as_object().unwrap().len(), 0, "{kind}");
            assert_eq!(figures["time_ns"]["count"], 15, "{kind}");
        }
        // Time and CPU of the other arm and of the baseline's second directory.
        assert_eq!(kind["comparisons"].as_array().unwrap().len(), 4, "{kind}");
    }
    assert_eq!(kind(&results, "write 300 KB")["arms"]["plain"]["bytes"], 15 * 300_000);
    assert_eq!(results["arms"]["other"]["requests"], 21 * 15);
    for words in ["what does other cost?", "CPU per operation", "read 1 B", "tree-copy", "operations in all"]
    {
        assert!(said.stdout.contains(words), "{words}\n{}", said.stdout);
    }
    // A directory of another program is untouched.
    let left: Vec<_> =
        std::fs::read_dir(yard.path("there")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["precious"]);
}

#[test]
fn slices_are_sized_so_that_no_kind_drowns_the_others() {
    let yard = Yard::new();
    let workload = "kind = \"files\"\noperations = [\"read\"]\nsizes = [\"1B\", \"4MB\"]\nfiles = 4";
    let text = plan("", workload, &arms("setup = [\"true\"]")).replace("slice_requests = 200\n", "");
    run(&yard, &text).exits(0);
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    let count = |index: usize| setup["workload"]["operations"][index]["count"].as_u64().unwrap();
    // The size of the difference depends on the machine.
    assert!(count(0) > count(1), "{} and {}", count(0), count(1));
    assert_eq!(setup["workload"]["slice_requests"].as_u64().unwrap(), count(0) + count(1));
}

#[test]
fn an_interrupted_run_goes_on_with_slices_of_the_same_size() {
    let yard = Yard::new();
    let text = plan("max_rounds = 6", SMALL, &arms("setup = [\"true\"]"));
    yard.write("plan.toml", text.replace("slice_requests = 200\n", ""));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    let slices = yard.path("out/slices.jsonl");
    wait_until(PATIENCE, || {
        let lines = std::fs::read_to_string(&slices).unwrap_or_default().lines().count();
        if lines >= 4 { Ok(()) } else { Err(format!("{lines} slices")) }
    });
    signal("INT", &started.pid().to_string());
    yard.ended(started).exits(130);
    let setup = yard.read("out/setup.json");
    yard.run(&["run", "--resume", "out", "--quiet"]).exits(0);
    assert_eq!(yard.read("out/setup.json"), setup);
    let requests: Vec<u64> = yard
        .read("out/slices.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["counters"]["requests"].as_u64().unwrap())
        .collect();
    assert!(requests.len() > 4 && requests.iter().all(|n| *n == requests[0]), "{requests:?}");
}

#[test]
fn the_cpu_of_what_stands_behind_the_files_is_the_arms() {
    let test = "the_cpu_of_what_stands_behind_the_files_is_the_arms";
    if !has_fuse(test) {
        return;
    }
    let yard = Yard::new();
    let workload = "kind = \"files\"\noperations = [\"read\"]\nsizes = [\"1KB\"]\nfiles = 200";
    let mounted = "path = \"{dir}/seen\"\n\
        setup = [[\"mkdir\", \"{dir}/below\", \"{dir}/seen\"], [\"bindfs\", \"--no-allow-other\", \"{dir}/below\", \"{dir}/seen\"]]\n\
        cleanup = [\"fusermount3\", \"-u\", \"{dir}/seen\"]";
    run(&yard, &plan("max_rounds = 10\nslice_requests = 200", workload, &arms(mounted))).exits(0);
    let results = contract::kept(&yard, "out", &["plain", "other"], CPU);
    let row = row(&results, "other");
    // The kernel still asks the daemon when a cached file is opened, and that is most of the work. The verdict is
    // chance on a busy machine; the size of the effect is not.
    assert!(row["effect"].as_f64().unwrap() > 0.5, "a round trip through a daemon: {row}");
    let subject = &results["arms"]["other"]["subject"];
    assert!(subject["server"].as_str().unwrap().starts_with("fuse"), "{subject}");
    assert!(subject["cpu_source"].as_str().unwrap().contains("the layer's"), "{subject}");
    let plain = &results["arms"]["plain"]["subject"];
    assert!(!plain["server"].as_str().unwrap().starts_with("fuse"), "{plain}");
}

/// A daemon that is stopped never answers, and a process that waits for it can only be helped by the daemon's end.
#[test]
fn a_file_system_that_does_not_answer_is_taken_away() {
    let test = "a_file_system_that_does_not_answer_is_taken_away";
    if !has_fuse(test) {
        return;
    }
    let yard = Yard::new();
    // The hook that must not end before the mount stands also reports the process that serves it.
    let mounted = "path = \"{dir}/seen\"\n\
        setup = [[\"mkdir\", \"{dir}/below\", \"{dir}/seen\"], [\"sh\", \"-c\", \"bindfs --no-allow-other -f {dir}/below {dir}/seen & echo $! > pid; until mountpoint -q {dir}/seen; do sleep 0.01; done\"]]\n\
        cleanup = [\"fusermount3\", \"-u\", \"{dir}/seen\"]";
    let workload = format!("{SMALL}\ntime_limit = \"3s\"");
    yard.write("plan.toml", plan(&format!("{ENDLESS}\nslice_requests = 20"), &workload, &arms(mounted)));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    let slices = yard.path("out/slices.jsonl");
    wait_until(PATIENCE, || if slices.exists() { Ok(()) } else { Err("no slice".to_owned()) });
    signal("STOP", yard.read("pid").trim());
    let ended = yard.ended(started).exits(3);
    ended.says(&["other", "did not come back within 3 s", "taken away", "time_limit"]);
    nothing_mounted(&yard);
}

#[test]
fn what_a_hook_says_when_it_fails_is_told_and_cleaned_up_after() {
    let yard = Yard::new();
    let hooks = "setup = [[\"touch\", \"made\"], [\"sh\", \"-c\", \"echo no such key >&2; exit 7\"]]\ncleanup = [\"rm\", \"made\"]";
    run(&yard, &plan(FEW, SMALL, &arms(hooks))).exits(3).says(&["other", "no such key", "7"]);
    assert!(!yard.path("made").exists(), "cleanup was not run");
}

#[test]
fn a_path_that_is_not_there_is_named() {
    let yard = Yard::new();
    let said = run(&yard, &plan(FEW, SMALL, &arms("path = \"{dir}/nowhere\""))).exits(3);
    said.says(&["other", "/nowhere", "No such file", "setup"]);
    yard.write("file", "");
    run(&yard, &plan(FEW, SMALL, &arms("path = \"file\""))).exits(3).says(&["it is no directory"]);
}

/// Only root may drop caches.
#[test]
fn cold_and_warm_without_root_are_refused_at_once() {
    let yard = Yard::new();
    std::fs::set_permissions(yard.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(yard.path("tmp"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let bakeoff = yard.path("bakeoff");
    std::fs::copy(env!("CARGO_BIN_EXE_bakeoff"), &bakeoff).unwrap();
    for cache in ["cold", "warm"] {
        let workload = format!("{SMALL}\ncache = \"{cache}\"");
        yard.write("plan.toml", plan(FEW, &workload, &arms("setup = [\"true\"]")));
        let args = ["run", "plan.toml", "--out", cache];
        let command = if bakeoff_sys::process::is_root() {
            let line = format!(
                "shift; exec setpriv --reuid 65534 --regid 65534 --clear-groups {} \"$@\"",
                bakeoff.display()
            );
            yard.shell(&line, &args)
        } else {
            yard.bakeoff(&args)
        };
        let said = yard.ended(yard.start(command)).exits(3);
        said.says(&[&format!("cache = \"{cache}\" needs root"), "take the line out"]);
    }
}

#[test]
fn cold_files_are_judged_by_time_and_found_again_after_a_remount() {
    let test = "cold_files_are_judged_by_time_and_found_again_after_a_remount";
    if !is_root(test) || !has_fuse(test) {
        return;
    }
    let yard = Yard::new();
    let mount = "[\"bindfs\", \"{dir}/below\", \"{dir}/seen\"]";
    let unmount = "[\"fusermount3\", \"-u\", \"{dir}/seen\"]";
    let mounted = format!(
        "path = \"{{dir}}/seen\"\nsetup = [[\"mkdir\", \"{{dir}}/below\", \"{{dir}}/seen\"], {mount}]\n\
         drop = [{unmount}, {mount}, [\"sh\", \"-c\", \"echo dropped >> drops\"]]\ncleanup = {unmount}"
    );
    let workload = format!("{SMALL}\ncache = \"cold\"").replace("\"create\"", "\"write\"");
    run(&yard, &plan(FEW, &workload, &arms(&mounted)));
    let results = contract::kept(&yard, "out", &["plain", "other"], "operation_time");
    assert_eq!(results["arms"]["other"]["replies"], 2 * 5 * 3);
    // Two kinds, in the pilot and in three rounds.
    assert_eq!(yard.read("drops").lines().count(), 2 * 4);
    assert_eq!(row(&results, "other")["unit"], "ns");
}

#[test]
fn warm_files_are_judged_by_cpu() {
    if !is_root("warm_files_are_judged_by_cpu") {
        return;
    }
    let yard = Yard::new();
    run(&yard, &plan(FEW, &format!("{SMALL}\ncache = \"warm\""), &arms("setup = [\"true\"]")));
    contract::kept(&yard, "out", &["plain", "other"], CPU);
}

/// Between two slices another process alters a file: that makes the arm invalid.
#[test]
fn other_bytes_than_were_written_make_an_arm_invalid() {
    if !is_root("other_bytes_than_were_written_make_an_arm_invalid") {
        return;
    }
    let yard = Yard::new();
    // The first time is in the pilot, which would end the run.
    let alter = "echo >> n; test $(wc -l < n) -lt 2 || for f in {dir}/bakeoff-*/other/100/*; do printf x | dd of=$f conv=notrunc status=none; done";
    let hooks = format!("drop = [\"sh\", \"-c\", \"{alter}\"]");
    let workload = "kind = \"files\"\noperations = [\"read\"]\nsizes = [\"100B\", \"200B\"]\nfiles = 5\ncache = \"cold\"";
    run(&yard, &plan(FEW, &workload.replace("100B\", \"", ""), &arms(&hooks.replace("/100/", "/200/"))))
        .exits(3)
        .says(&["other", "wrong-bytes", "nothing went well"]);
    std::fs::remove_dir_all(yard.path("out")).unwrap();
    std::fs::remove_file(yard.path("n")).unwrap();
    let one = hooks.replace("/100/*", "/100/000000");
    run(&yard, &plan(FEW, &workload.replace(", \"200B\"", ""), &arms(&one))).exits(4);
    let results = contract::kept(&yard, "out", &["plain", "other"], "operation_time");
    assert_eq!(results["arms"]["other"]["errors"]["wrong-bytes"], 3);
    let invalid = results["arms"]["other"]["invalid"].as_str().unwrap();
    assert!(invalid.contains("3 files held other bytes than were written"), "{invalid}");
    assert_eq!(row(&results, "other")["verdict"], "invalid");
}

#[test]
fn a_file_system_that_is_too_small_is_told_before_the_first_byte() {
    if !is_root("a_file_system_that_is_too_small_is_told_before_the_first_byte") {
        return;
    }
    let yard = Yard::new();
    let mounted = tmpfs("4m");
    let workload = "kind = \"files\"\noperations = [\"read\"]\nsizes = [\"1MB\"]\nfiles = 10";
    let said = run(&yard, &plan(FEW, workload, &arms(&mounted))).exits(3);
    said.says(&["other", "/small", "need", "are free", "make room"]);
    assert!(!yard.path("out/slices.jsonl").exists());
}

/// The file system fills up during the run: that is reported, and nothing is left.
#[test]
fn a_file_system_that_fills_up_is_told() {
    if !is_root("a_file_system_that_fills_up_is_told") {
        return;
    }
    let yard = Yard::new();
    let mounted = tmpfs("4m")
        + "\ndrop = [\"sh\", \"-c\", \"dd if=/dev/zero of={dir}/small/full bs=64k status=none || true\"]";
    let workload =
        "kind = \"files\"\noperations = [\"create\"]\nsizes = [\"100KB\"]\nfiles = 5\ncache = \"cold\"";
    let said = run(&yard, &plan(FEW, workload, &arms(&mounted))).exits(3);
    said.says(&["other", "no-space"]);
}

/// An arm on a tmpfs of its own, put up and taken down by it.
fn tmpfs(size: &str) -> String {
    format!(
        "path = \"{{dir}}/small\"\nsetup = [[\"mkdir\", \"{{dir}}/small\"], [\"mount\", \"-t\", \"tmpfs\", \"-o\", \"size={size}\", \"none\", \"{{dir}}/small\"]]\n\
         cleanup = [\"umount\", \"{{dir}}/small\"]"
    )
}

#[test]
fn after_ctrl_c_everything_is_taken_down() {
    if !is_root("after_ctrl_c_everything_is_taken_down") {
        return;
    }
    let yard = Yard::new();
    let text = plan(&format!("{ENDLESS}\nslice_requests = 20"), SMALL, &arms(&tmpfs("8m")));
    yard.write("plan.toml", text);
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"]));
    let slices = yard.path("out/slices.jsonl");
    wait_until(PATIENCE, || if slices.exists() { Ok(()) } else { Err("no slice".to_owned()) });
    signal("INT", &started.pid().to_string());
    yard.ended(started).exits(130);
    nothing_mounted(&yard);
}

/// Mounts are taken off and never reached into, whether hooks or a killed run left them.
#[test]
fn nothing_is_removed_through_a_mount() {
    if !is_root("nothing_is_removed_through_a_mount") {
        return;
    }
    let yard = Yard::new();
    std::fs::create_dir(yard.path("precious")).unwrap();
    yard.write("precious/book", "x");
    let bound = format!(
        "setup = [[\"mkdir\", \"{{dir}}/bound\"], [\"mount\", \"--bind\", \"{}\", \"{{dir}}/bound\"]]",
        yard.path("precious").display()
    );
    let said = run(&yard, &plan(FEW, SMALL, &arms(&bound))).exits(0);
    said.says(&["/bound was still mounted, and was taken off"]);
    assert_eq!(yard.read("precious/book"), "x");

    yard.write("plan.toml", plan(&format!("{ENDLESS}\nslice_requests = 20"), SMALL, &arms(&bound)));
    let mut started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "killed"]));
    let slices = yard.path("killed/slices.jsonl");
    wait_until(PATIENCE, || if slices.exists() { Ok(()) } else { Err("no slice".to_owned()) });
    started.child.kill().unwrap();
    started.child.wait().unwrap();
    yard.nobody_left_behind_the_killed();
    assert_eq!(
        std::fs::read_dir(yard.path("tmp")).unwrap().count(),
        1,
        "the killed run leaves its directory"
    );
    std::fs::remove_dir_all(yard.path("out")).unwrap();
    let said = run(&yard, &plan(FEW, SMALL, &arms("setup = [\"true\"]"))).exits(0);
    said.says(&["left by a killed run"]);
    assert_eq!(yard.read("precious/book"), "x");
}
