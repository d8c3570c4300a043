//! Wraps: words before a server's or a command's own. They are started first, they nest, and they are proved.

use crate::support::{Yard, has, plan};
use serde_json::Value;

/// A sandbox around all that follows it; the server's port is the host's.
const BWRAP: &str = "[wrap.sandbox]\nwords = [\"bwrap\", \"--bind\", \"/\", \"/\", \"--dev-bind\", \"/dev\", \"/dev\", \
    \"--unshare-pid\", \"--proc\", \"/proc\", \"--die-with-parent\"]\n\
    proof = [\"sh\", \"-c\", \"readlink /proc/{pid}/exe | grep -q bwrap && echo partial: it hides processes\"]\n";

fn arm(yard: &Yard, name: &str) -> Value {
    yard.results("out")["arms"][name].clone()
}

#[test]
fn a_server_runs_inside_its_sandbox_and_the_outer_wrap_is_what_is_started() {
    let test = "a_server_runs_inside_its_sandbox_and_the_outer_wrap_is_what_is_started";
    if !has("bwrap", test) || !has("nginx", test) {
        return;
    }
    let yard = Yard::new();
    let walk = "kind = \"walk\"\nrobots = 3\n\
        site = { files = 40, bytes = \"200KB\", urls = 30, missing = \"10%\", mean_reply = \"3KB\" }";
    let arms = format!(
        "{BWRAP}\n[wrap.quiet]\nwords = [\"nice\", \"-n\", \"5\"]\n\n[arm.plain]\nserver = \"nginx\"\n\n\
         [arm.wrapped]\nserver = \"nginx\"\nwraps = [\"sandbox\", \"quiet\"]\n"
    );
    yard.write("plan.toml", plan("", walk, &arms));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let wrapped = arm(&yard, "wrapped");
    assert_eq!(wrapped["errors"], arm(&yard, "plain")["errors"], "{wrapped}");
    assert_eq!(
        (&wrapped["proof"]["active"], &wrapped["proof"]["enforcement"]),
        (&true.into(), &"partial".into())
    );
    let words: Vec<&str> =
        wrapped["subject"]["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let at =
        |end: &str| words.iter().position(|word| word.ends_with(end)).unwrap_or_else(|| panic!("{words:?}"));
    assert!(at("/bwrap") == 0 && at("/nice") < at("/nginx"), "{words:?}");
}

#[test]
fn a_command_is_wrapped_as_a_server_is_and_a_wrap_that_is_off_is_said() {
    let yard = Yard::new();
    let arms = "[wrap.marked]\nwords = [\"env\", \"MARK=yes\"]\nproof = [\"test\", \"-f\", \"{outside}/own\"]\n\n\
                [file.own]\ntext = \"x\"\n\n[arm.plain]\n\n\
                [arm.wrapped]\nwraps = [\"marked\"]\nwrap = [\"nice\"]\n";
    let workload = "kind = \"command\"\ncommand = [\"sh\", \"-c\", \"echo mark:$MARK\"]";
    yard.write("plan.toml", plan("", workload, arms));
    yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    assert!(yard.read("out/logs/wrapped/stdout.log").contains("mark:yes"));
    assert!(yard.read("out/logs/plain/stdout.log").contains("mark:\n"));
    assert_eq!(arm(&yard, "wrapped")["proof"]["active"], true);
    let off = Yard::new();
    off.write("plan.toml", plan("", workload, &arms.replace("\"-f\"", "\"-d\"")));
    off.run(&["run", "plan.toml", "--out", "out"]).exits(3).says(&["wrapped", "marked"]);
}
