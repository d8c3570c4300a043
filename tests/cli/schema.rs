//! Check of printed JSON against the published schemas.

use serde_json::Value;

/// Checks that the value satisfies the schema.
#[track_caller]
pub(crate) fn holds(schema: &Value, value: &Value) {
    let wrong: Vec<String> = wrong(schema, value);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn wrong(schema: &Value, value: &Value) -> Vec<String> {
    let validator = jsonschema::draft202012::new(schema).unwrap();
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn a_schema_knows_the_keys_of_each_kind() {
    let schema = crate::support::Yard::new().run(&["schema", "plan"]).exits(0).json();
    let plan = |workload: Value| {
        serde_json::json!({
            "experiment": { "baseline": "a" }, "arm": { "a": { "server": "origin" } }, "workload": workload
        })
    };
    let good = serde_json::json!({ "kind": "get", "urls": ["/"], "clock": "poisson", "rate": "9/s", "timeout": "1s" });
    holds(&schema, &plan(good));
    for stranger in [
        serde_json::json!({ "kind": "get", "urls": ["/"], "log": "access.log" }),
        serde_json::json!({ "kind": "command", "urls": ["/"] }),
        serde_json::json!({ "kind": "webston" }),
        serde_json::json!({ "urls": ["/"] }),
    ] {
        assert!(!wrong(&schema, &plan(stranger.clone())).is_empty(), "{stranger}");
    }
}
