//! Source addresses of connections: a link's own addresses, and IPv6.

use crate::support::{Origin, Yard, has, is_root, plan, skipped, sooner_or_later};

/// Only clients from the addresses of the plan get a good reply.
const ONLY_THOSE: &str = "events {}\nhttp {\n  access_log off;\n  server {\n    listen {host}:{port};\n    root {root};\n\
    if ($remote_addr !~ \"^198\\.19\\.(7|8)\\.\") { return 500; }\n    try_files $uri $uri/index.html =404;\n  }\n}\n";

#[test]
fn connections_over_a_link_come_from_addresses_of_the_plan() {
    let test = "connections_over_a_link_come_from_addresses_of_the_plan";
    if !is_root(test) || !has("tc", test) || !has("nginx", test) {
        return;
    }
    let workload = "kind = \"get\"\nurls = [\"/\"]\nexpect = 404\nrobots = 4\nkeep_alive = false\n\
                    from = [\"198.19.7.0/24\", \"198.19.8.1\"]";
    let arms = "[arm.plain]\nserver = \"nginx\"\nconfig = \"only.conf\"\n\n[arm.other]\nserver = \"nginx\"\n\
                config = \"only.conf\"\nprepare = [\"true\"]\n";
    let (yard, _) = sooner_or_later(|| {
        let yard = Yard::new();
        yard.write("only.conf", ONLY_THOSE);
        yard.write("plan.toml", plan("link = \"20Mbit\"\nslice_requests = 60", workload, arms));
        let said = yard.run(&["run", "plan.toml", "--out", "out"]);
        if said.stderr.contains("this machine cannot") { Err(said.stderr) } else { Ok((yard, said.exits(0))) }
    });
    let arm = &yard.results("out")["arms"]["other"];
    assert_eq!((&arm["replies"], &arm["errors"]), (&arm["requests"], &serde_json::json!({})), "{arm}");
}

#[test]
fn connections_come_from_ipv6_where_it_is_there() {
    let test = "connections_come_from_ipv6_where_it_is_there";
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        return skipped(test, "no IPv6 on loopback");
    }
    let (yard, theirs) = (Yard::new(), Yard::new());
    let origins = [(); 2].map(|()| Origin::start(&theirs, &["--address", "::1"]));
    let [plain, other] = origins.each_ref().map(|origin| origin.url.as_str());
    let arms = format!("[arm.plain]\nurl = \"{plain}\"\n\n[arm.other]\nurl = \"{other}\"\n");
    let workload = |from: &str| {
        format!("kind = \"get\"\nurls = [\"/bytes/500\"]\nrobots = 2\nkeep_alive = false\nfrom = \"{from}\"")
    };
    let run = |from: &str, out: &str| {
        let text = plan("slice_requests = 40\nallow_equal_arms = true", &workload(from), &arms);
        yard.write("plan.toml", text);
        yard.run(&["run", "plan.toml", "--out", out])
    };
    // The speed of the machine has nothing to do with it.
    run("::1", "there");
    let arm = yard.results("there")["arms"]["other"].clone();
    assert_eq!((&arm["replies"], &arm["errors"]), (&arm["requests"], &serde_json::json!({})), "{arm}");
    run("2001:db8::1-2001:db8::9", "nowhere")
        .exits(3)
        .says(&["`from` 2001:db8::1", "ip address add 2001:db8::1/128 dev lo"]);
}
