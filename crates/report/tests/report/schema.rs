//! JSON Schema validator for the schema in use: references, types, required keys, maps.

use serde_json::Value;

/// Panics with the path of the first place where `value` does not keep to `schema`.
pub(crate) fn check(schema: &Value, value: &Value) {
    node(schema, schema, value, "results.json");
}

fn node(root: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let pointer = name.strip_prefix('#').unwrap();
        return node(root, root.pointer(pointer).unwrap(), value, at);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        // An optional object: itself or null.
        let fits = |choice: &&Value| (choice["type"] == "null") == value.is_null();
        let choice = choices.iter().find(fits).unwrap_or_else(|| panic!("{at} is {value}"));
        return node(root, choice, value, at);
    }
    if let Some(types) = schema.get("type") {
        let fits = match types {
            Value::Array(types) => types.iter().any(|t| is(t.as_str().unwrap(), value)),
            one => is(one.as_str().unwrap(), value),
        };
        assert!(fits, "{at} is {value}, not {types}");
    }
    match value {
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| node(root, &schema["items"], item, &format!("{at}[{i}]")));
        }
        Value::Object(map) => object(root, schema, map, at),
        _ => {}
    }
}

fn object(root: &Value, schema: &Value, map: &serde_json::Map<String, Value>, at: &str) {
    for key in schema["required"].as_array().into_iter().flatten() {
        assert!(map.contains_key(key.as_str().unwrap()), "{at} lacks {key}");
    }
    let patterned = schema["patternProperties"].as_object().and_then(|patterns| patterns.values().next());
    for (key, value) in map {
        let known = schema["properties"].get(key).or(patterned).or(schema.get("additionalProperties"));
        let known = known.unwrap_or_else(|| panic!("{at}.{key} is not in the schema"));
        node(root, known, value, &format!("{at}.{key}"));
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("a type {other} in the schema"),
    }
}
