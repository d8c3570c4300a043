//! The part of JSON Schema that our schemas use. A word it does not know fails the test, so that
//! nothing passes unchecked.

use serde_json::Value;

/// The value is as the schema says.
#[track_caller]
pub(crate) fn holds(schema: &Value, value: &Value) {
    if let Err(why) = check(schema, schema, value, "$") {
        panic!("{why}");
    }
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(words) = schema.as_object() else {
        return if schema == &Value::Bool(true) {
            Ok(())
        } else {
            Err(format!("{at}: nothing is allowed here"))
        };
    };
    for (word, rule) in words {
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
            "$ref" => {
                let pointer = rule.as_str().unwrap().trim_start_matches('#');
                check(root, root.pointer(pointer).unwrap(), value, at)?;
            }
            "type" => {
                is_type(rule, value).then_some(()).ok_or_else(|| format!("{at}: no {rule}: {value}"))?
            }
            "required" => required(rule, value, at)?,
            "properties" => properties(root, rule, value, at)?,
            "additionalProperties" => additional(root, schema, rule, value, at)?,
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{index}]"))?;
                }
            }
            "anyOf" => {
                let any = rule.as_array().unwrap().iter().any(|rule| check(root, rule, value, at).is_ok());
                any.then_some(()).ok_or_else(|| format!("{at}: none of {rule}: {value}"))?;
            }
            "oneOf" => {
                let held =
                    rule.as_array().unwrap().iter().filter(|rule| check(root, rule, value, at).is_ok());
                (held.count() == 1)
                    .then_some(())
                    .ok_or_else(|| format!("{at}: not one of {rule}: {value}"))?;
            }
            "const" => (rule == value).then_some(()).ok_or_else(|| format!("{at}: not {rule}: {value}"))?,
            "prefixItems" => {
                let items = value.as_array().into_iter().flatten().zip(rule.as_array().unwrap());
                for (index, (item, rule)) in items.enumerate() {
                    check(root, rule, item, &format!("{at}[{index}]"))?;
                }
            }
            "minItems" | "maxItems" => {
                let (length, bound) = (value.as_array().map_or(0, Vec::len) as u64, rule.as_u64().unwrap());
                let fits = if word == "minItems" { length >= bound } else { length <= bound };
                fits.then_some(()).ok_or_else(|| format!("{at}: {length} items, {word} is {bound}"))?;
            }
            "minimum" => {
                let low = value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap());
                (!low).then_some(()).ok_or_else(|| format!("{at}: below {rule}: {value}"))?;
            }
            "maximum" => {
                let high = value.as_f64().is_some_and(|number| number > rule.as_f64().unwrap());
                (!high).then_some(()).ok_or_else(|| format!("{at}: above {rule}: {value}"))?;
            }
            "patternProperties" => pattern_properties(root, rule, value, at)?,
            "enum" => rule
                .as_array()
                .unwrap()
                .contains(value)
                .then_some(())
                .ok_or_else(|| format!("{at}: {value}"))?,
            unknown => return Err(format!("{at}: this test does not know `{unknown}`")),
        }
    }
    Ok(())
}

fn is_type(rule: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    match rule {
        Value::String(name) => is(name),
        names => names.as_array().unwrap().iter().any(|name| is(name.as_str().unwrap())),
    }
}

fn required(rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    let missing = rule.as_array().unwrap().iter().find(|key| !object.contains_key(key.as_str().unwrap()));
    missing.map_or(Ok(()), |key| Err(format!("{at}: {key} is missing")))
}

fn properties(root: &Value, rules: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (key, rule) in rules.as_object().unwrap() {
        if let Some(inner) = value.get(key) {
            check(root, rule, inner, &format!("{at}.{key}"))?;
        }
    }
    Ok(())
}

/// Keys of digits are the only pattern there is: statuses.
fn pattern_properties(root: &Value, rules: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (pattern, rule) in rules.as_object().unwrap() {
        assert_eq!(pattern, r"^\d+$");
        for (key, inner) in value.as_object().into_iter().flatten().filter(|(key, _)| is_digits(key)) {
            check(root, rule, inner, &format!("{at}.{key}"))?;
        }
    }
    Ok(())
}

fn is_digits(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_digit())
}

fn additional(root: &Value, schema: &Value, rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is_known = |key: &str| {
        schema["properties"].get(key).is_some() || schema.get("patternProperties").is_some() && is_digits(key)
    };
    for (key, inner) in value.as_object().into_iter().flatten().filter(|(key, _)| !is_known(key)) {
        check(root, rule, inner, &format!("{at}.{key}"))?;
    }
    Ok(())
}

#[test]
fn the_schema_check_finds_what_is_wrong() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "type": "integer", "minimum": 1 }, "b": { "type": ["string", "null"] } }
    });
    holds(&schema, &serde_json::json!({ "a": 1, "b": null }));
    for wrong in [r#"{}"#, r#"{"a": 0}"#, r#"{"a": 1.5}"#, r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "c": 2}"#, "[]"]
    {
        let value = serde_json::from_str(wrong).unwrap();
        assert!(check(&schema, &schema, &value, "$").is_err(), "{wrong}");
    }
    let pair = serde_json::json!({ "prefixItems": [{ "type": "string" }, { "const": 1 }], "minItems": 2, "maxItems": 2 });
    holds(&pair, &serde_json::json!(["a", 1]));
    for wrong in [r#"["a"]"#, r#"["a", 2]"#, r#"[1, 1]"#, r#"["a", 1, 1]"#] {
        assert!(check(&pair, &pair, &serde_json::from_str(wrong).unwrap(), "$").is_err(), "{wrong}");
    }
    let strange = serde_json::json!({ "not": {} });
    assert!(check(&strange, &strange, &Value::Null, "$").is_err());
}
