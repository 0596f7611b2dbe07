use super::*;
use serde_json::json;
use std::time::{Duration, Instant};

fn compile(schema: &Value) -> Result<CompiledSchema, SchemaError> {
    let started = Instant::now();
    let compiled = CompiledSchema::compile(schema);
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "compile took {:?}",
        started.elapsed()
    );
    compiled
}

fn accepts(schema: &CompiledSchema, args: &Value) -> bool {
    let started = Instant::now();
    let valid = schema.validate(args).is_ok();
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "validate took {:?}",
        started.elapsed()
    );
    valid
}

fn too_complex(schema: &Value) {
    match compile(schema) {
        Err(SchemaError::TooComplex { .. }) => {}
        other => panic!("expected too complex, got {other:?}"),
    }
}

fn nested_array(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn ordinary_arguments_pass_and_violations_name_argument_and_bound() {
    let schema = compile(&json!({
        "type": "object",
        "properties": {
            "file_path": {"type": "string", "maxLength": 5},
            "limit": {"type": "integer", "minimum": 1},
            "files": {"type": "array", "items": {"type": "object", "required": ["path"]}}
        },
        "required": ["file_path"],
        "additionalProperties": false
    }))
    .unwrap();
    assert!(accepts(&schema, &json!({"file_path": "a.txt", "limit": 3})));
    assert_eq!(
        schema.validate(&json!({})).unwrap_err(),
        "file_path: is required"
    );
    assert_eq!(
        schema.first_argument(&json!({})).as_deref(),
        Some("file_path")
    );
    let message = schema
        .validate(&json!({"file_path": "a", "limit": 0}))
        .unwrap_err();
    assert!(
        message.starts_with("limit: ") && message.contains('1'),
        "{message}"
    );
    assert_eq!(
        schema
            .first_argument(&json!({"file_path": "a", "limit": 0}))
            .as_deref(),
        Some("limit")
    );
    let message = schema
        .validate(&json!({"file_path": "a", "files": [{}]}))
        .unwrap_err();
    assert_eq!(message, "files[0].path: is required");
    let message = schema
        .validate(&json!({"file_path": "a", "wrong": 1}))
        .unwrap_err();
    assert!(message.contains("unknown property `wrong`"), "{message}");
}

#[test]
fn violations_are_few_short_and_repeat_no_value() {
    let schema =
        compile(&json!({"type": "object", "additionalProperties": {"type": "integer"}})).unwrap();
    let secret = "hunter2-".repeat(1000);
    let args: Value = (0..50)
        .map(|n| (format!("k{n}"), json!(secret)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let message = schema.validate(&args).unwrap_err();
    assert_eq!(message.split("; ").count(), 8, "{message}");
    assert!(message.len() <= 4096 && !message.contains("hunter2"));

    let closed = compile(&json!({"type": "object", "additionalProperties": false})).unwrap();
    let message = closed.validate(&json!({secret.clone(): 1})).unwrap_err();
    assert!(message.len() < 400, "{}", message.len());

    for keyword in [
        json!({"properties": {"a": {"enum": ["x"]}}}),
        json!({"properties": {"a": {"const": "x"}}}),
        json!({"properties": {"a": {"pattern": "^x$"}}}),
        json!({"properties": {"a": {"maxLength": 2}}}),
        json!({"properties": {"a": {"not": {"type": "string"}}}}),
        json!({"properties": {"a": {"anyOf": [{"type": "integer"}, {"maxLength": 1}]}}}),
        json!({"properties": {"a": {"oneOf": [{"type": "integer"}, {"maxLength": 1}]}}}),
        json!({"properties": {"a": false}}),
        json!({"propertyNames": {"maxLength": 0}}),
        json!({"unevaluatedProperties": false}),
    ] {
        let schema = compile(&keyword).unwrap();
        let message = schema.validate(&json!({"a": secret})).unwrap_err();
        assert!(!message.contains("hunter2"), "{keyword}: {message}");
    }
    let items = compile(&json!({"prefixItems": [true], "unevaluatedItems": false})).unwrap();
    let message = items.validate(&json!([1, secret])).unwrap_err();
    assert!(!message.contains("hunter2"), "{message}");
}

// hazards: J2
#[test]
fn references_that_go_nowhere_are_refused() {
    too_complex(&json!({"$ref": ""}));
    too_complex(&json!({"$ref": "#"}));
    too_complex(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}));
    too_complex(&json!({
        "$ref": "#/$defs/alice",
        "$defs": {
            "alice": {"allOf": [{"$ref": "#/$defs/bob"}]},
            "bob": {"anyOf": [{"$ref": "#/$defs/alice"}]}
        }
    }));
    too_complex(&json!({"$dynamicAnchor": "x", "$dynamicRef": "#x"}));
    too_complex(
        &json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"}),
    );
    too_complex(&json!({"oneOf": [{"$ref": "#"}]}));
    too_complex(&json!({"not": {"$ref": "#"}}));
    too_complex(&json!({"if": {"$ref": "#"}}));
    too_complex(&json!({"dependentSchemas": {"a": {"$ref": "#"}}}));
    assert!(matches!(
        compile(&json!({"$ref": "#/$defs/missing"})),
        Err(SchemaError::Invalid { .. })
    ));
    assert!(matches!(
        compile(&json!({"$ref": "#missing"})),
        Err(SchemaError::Invalid { .. })
    ));
}

// hazards: J2
#[test]
fn references_that_descend_work() {
    let tree = compile(&json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}, "kind": {"$ref": "#kind"}},
            "additionalProperties": false
        }, "k": {"$anchor": "kind", "enum": ["a", "b"]}}
    }))
    .unwrap();
    assert!(accepts(&tree, &json!({"next": {"next": {"kind": "a"}}})));
    assert!(!accepts(&tree, &json!({"next": {"next": {"kind": "c"}}})));
    assert!(!accepts(&tree, &json!({"next": {"next": 1}})));
    let escaped =
        compile(&json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "string"}}}))
            .unwrap();
    assert!(accepts(&escaped, &json!("x")) && !accepts(&escaped, &json!(1)));
}

// hazards: J2
#[test]
fn doubling_references_and_long_chains_are_refused() {
    let mut definitions = serde_json::Map::new();
    for n in 0..20 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        definitions.insert(format!("d{n}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d20".to_owned(), json!({"type": "object"}));
    too_complex(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));

    let mut definitions = serde_json::Map::new();
    for n in 0..5000 {
        definitions.insert(
            format!("d{n}"),
            json!({"$ref": format!("#/$defs/d{}", n + 1)}),
        );
    }
    definitions.insert("d5000".to_owned(), json!({}));
    too_complex(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));
}

// hazards: J2
#[test]
fn large_and_deep_schemas_are_refused() {
    let large = json!({"const": "x".repeat(1024 * 1024)});
    assert!(matches!(compile(&large), Err(SchemaError::TooLarge { .. })));
    let properties: serde_json::Map<_, _> =
        (0..100_000).map(|n| (format!("p{n}"), json!({}))).collect();
    for keyword in ["properties", "$defs"] {
        let schema = json!({ keyword: properties });
        assert!(matches!(
            compile(&schema),
            Err(SchemaError::TooLarge { .. })
        ));
    }
    let many: serde_json::Map<_, _> = (0..15_000).map(|n| (format!("p{n}"), json!({}))).collect();
    assert!(compile(&json!({"properties": many})).is_ok());
    let deep = (0..10_000).fold(json!({}), |inner, _| {
        Value::Object([("not".to_owned(), inner)].into_iter().collect())
    });
    too_complex(&deep);
    // Dropping it would recurse ten thousand times; unwind it by hand.
    let mut rest = deep;
    while let Some(inner) = rest.get_mut("not").map(Value::take) {
        rest = inner;
    }
    let allowed = (0..60).fold(json!({"type": "string"}), |inner, _| json!({"not": inner}));
    assert!(compile(&allowed).is_ok());
    assert!(matches!(
        compile(&json!([])),
        Err(SchemaError::Invalid { .. })
    ));
    assert!(matches!(
        compile(&json!({"type": 7})),
        Err(SchemaError::Invalid { .. })
    ));
}

// hazards: J2
#[test]
fn patterns_run_in_linear_time_or_not_at_all() {
    let schema = compile(&json!({"patternProperties": {"(a+)+$": {"type": "string"}}, "additionalProperties": {"pattern": "^(a+)+$"}})).unwrap();
    let hostile = format!("{}!", "a".repeat(50_000));
    accepts(&schema, &json!({hostile.clone(): "aaa"}));
    assert!(!accepts(&schema, &json!({"b": hostile})));
    too_complex(&json!({"pattern": "a".repeat(64 * 1024)}));
    for pattern in ["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", "("] {
        assert!(
            matches!(
                compile(&json!({"pattern": pattern})),
                Err(SchemaError::Invalid { .. })
            ),
            "{pattern}"
        );
        assert!(
            matches!(
                compile(&json!({"patternProperties": {pattern: true}})),
                Err(SchemaError::Invalid { .. })
            ),
            "{pattern}"
        );
    }
    assert!(compile(&json!({"pattern": "(a{1000}){1000}{1000}"})).is_err());
    let many: Vec<Value> = (0..300)
        .map(|n| json!({"pattern": format!("a{n}")}))
        .collect();
    too_complex(&json!({"anyOf": many}));
}

// hazards: J2
#[test]
fn costly_keywords_stay_cheap() {
    let unique = compile(&json!({"uniqueItems": true})).unwrap();
    let started = Instant::now();
    let objects: Value = (0..100_000)
        .map(|n| json!({"a": [n, "x"]}))
        .collect::<Vec<_>>()
        .into();
    assert!(unique.validate(&objects).is_ok());
    let numbers: Value = (0..100_000).map(|n| json!(n)).collect::<Vec<_>>().into();
    assert!(unique.validate(&numbers).is_ok());
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    assert!(unique.validate(&json!([1, 2, 1])).is_err());

    let contains = compile(&json!({"contains": {"contains": {"const": 1}, "minContains": 2}, "minContains": 3, "maxContains": 1000})).unwrap();
    let rows: Value = (0..300)
        .map(|_| json!(vec![1; 300]))
        .collect::<Vec<_>>()
        .into();
    assert!(accepts(&contains, &rows));
    let tiny = compile(&json!({"multipleOf": 1e-300})).unwrap();
    accepts(&tiny, &json!(1e300));
    accepts(&tiny, &json!(12345.678));
    let kilobytes = compile(&json!({"const": "x".repeat(100_000)})).unwrap();
    let message = kilobytes.validate(&json!(1)).unwrap_err();
    assert!(message.len() <= 500);
}

// hazards: J2
#[test]
fn recursive_choices_do_not_multiply() {
    let doubled = compile(&json!({
        "anyOf": [
            {"type": "array", "items": {"$ref": "#"}},
            {"type": "array", "items": {"$ref": "#"}},
            {"const": 0}
        ]
    }))
    .unwrap();
    assert!(!accepts(&doubled, &nested_array(100)));
    assert!(!accepts(&doubled, &nested_array(10)));
    assert!(accepts(&doubled, &json!([[0]])));
    // A long chain at every level of a deep value is refused instead of exhausting the stack.
    let mut definitions = serde_json::Map::new();
    for n in 0..200 {
        definitions.insert(
            format!("d{n}"),
            json!({"$ref": format!("#/$defs/d{}", n + 1)}),
        );
    }
    definitions.insert("d200".to_owned(), json!({"items": {"$ref": "#/$defs/d0"}}));
    let chained = compile(&json!({"$ref": "#/$defs/d0", "$defs": definitions})).unwrap();
    assert!(!accepts(&chained, &nested_array(120)));
    assert!(accepts(&chained, &nested_array(4)));
    let plain = compile(&json!({"items": {"$ref": "#"}})).unwrap();
    assert!(accepts(&plain, &nested_array(128)));
}

// hazards: J2
#[test]
fn numbers_keep_their_kind() {
    let whole = compile(&json!({"type": "integer"})).unwrap();
    for (text, valid) in [
        ("1", true),
        ("1.0", true),
        ("1.5", false),
        ("-0", true),
        ("9007199254740993", true),
    ] {
        assert_eq!(
            accepts(&whole, &parse_arguments(text).unwrap()),
            valid,
            "{text}"
        );
    }
    let exact = compile(&json!({"const": 9_007_199_254_740_993_u64})).unwrap();
    assert!(accepts(&exact, &json!(9_007_199_254_740_993_u64)));
    assert!(!accepts(&exact, &json!(9_007_199_254_740_992_u64)));
}

// hazards: J3
#[test]
fn nothing_outside_is_referred_to() {
    for reference in [
        "http://127.0.0.1:1/s.json",
        "https://example.com/s#/a",
        "file:///etc/passwd",
        "other.json",
        "/etc/passwd",
        "//example.com/x",
        "urn:uuid:1",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        for keyword in ["$ref", "$dynamicRef"] {
            let schema = json!({"properties": {"a": {keyword: reference}}});
            assert!(
                matches!(compile(&schema), Err(SchemaError::RemoteRefRefused { .. })),
                "{reference}"
            );
            let hidden = json!({"$ref": "#/x-more/y", "x-more": {"y": {keyword: reference}}});
            assert!(
                matches!(compile(&hidden), Err(SchemaError::RemoteRefRefused { .. })),
                "{reference}"
            );
        }
    }
    let rebased =
        json!({"$id": "http://example.com/dir/", "properties": {"a": {"$ref": "b.json"}}});
    assert!(matches!(
        compile(&rebased),
        Err(SchemaError::RemoteRefRefused { .. })
    ));
    for dialect in [
        "https://example.com/my-dialect",
        "http://json-schema.org/draft-03/schema#",
        "file:///etc/passwd",
    ] {
        assert!(
            matches!(
                compile(&json!({"$schema": dialect})),
                Err(SchemaError::RemoteRefRefused { .. })
            ),
            "{dialect}"
        );
    }
    for dialect in [
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        assert!(
            compile(
                &json!({"$schema": dialect, "$id": "https://example.com/own", "type": "object"})
            )
            .is_ok()
        );
    }
}

// hazards: J4
#[test]
fn argument_text_is_read_strictly() {
    for text in [
        "",
        "{",
        "{}x",
        "{a:1}",
        "{'a':1}",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "--1",
        "nul",
        "\"\\x\"",
        "\"a\nb\"",
        "\"\\u12\"",
        "NaN",
        "Infinity",
        "{\"p\":\"App\\Http\"}",
        "// c\n1",
        "\u{feff}1",
    ] {
        assert!(
            matches!(parse_arguments(text), Err(ArgumentError::Syntax { .. })),
            "{text:?}"
        );
    }
    assert!(matches!(
        parse_arguments(r#"{"a":1,"b":2,"\u0061":3}"#),
        Err(ArgumentError::DuplicateKey { offset: 13 })
    ));
    assert!(matches!(
        parse_arguments(r#"{"x":{"a":1,"a":1}}"#),
        Err(ArgumentError::DuplicateKey { .. })
    ));
    assert!(parse_arguments(r#"[{"a":1},{"a":1}]"#).is_ok());
    for text in [
        r#""\ud800""#,
        r#""\ud800\u0041""#,
        r#""\udc00""#,
        r#""\ud83dx""#,
    ] {
        assert!(
            matches!(
                parse_arguments(text),
                Err(ArgumentError::LoneSurrogate { .. })
            ),
            "{text}"
        );
    }
    assert_eq!(
        parse_arguments(r#""\ud83d\ude00\u0000\/\t""#).unwrap(),
        json!("😀\u{0}/\t")
    );
    for text in [
        "1e400",
        "-1e400",
        "1e-400",
        "18446744073709551616",
        "-9223372036854775809",
    ] {
        assert!(
            matches!(
                parse_arguments(text),
                Err(ArgumentError::NumberRange { .. })
            ),
            "{text}"
        );
    }
    assert_eq!(
        parse_arguments(" [18446744073709551615, -9223372036854775808, 0.5, 1e3, 0e0] ").unwrap(),
        json!([u64::MAX, i64::MIN, 0.5, 1000.0, 0.0])
    );
    assert_eq!(
        parse_arguments(r#"{"__proto__":{"a":[true,false,null]}}"#).unwrap(),
        json!({"__proto__": {"a": [true, false, null]}})
    );
}

// hazards: J4
#[test]
fn depth_is_bounded_at_128() {
    let text = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse_arguments(&text(128)).is_ok());
    assert_eq!(parse_arguments(&text(129)), Err(ArgumentError::TooDeep));
    let started = Instant::now();
    assert_eq!(
        parse_arguments(&"[".repeat(10_000)),
        Err(ArgumentError::TooDeep)
    );
    assert_eq!(
        parse_arguments(&"{\"a\":".repeat(10_000)),
        Err(ArgumentError::TooDeep)
    );
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(check_depth(&nested_array(128)).is_ok());
    assert_eq!(check_depth(&nested_array(129)), Err(ArgumentError::TooDeep));
    let any = compile(&json!({})).unwrap();
    assert!(any.validate(&nested_array(129)).is_err());
}

// hazards: J4
#[test]
fn long_texts_are_read_in_linear_time() {
    let started = Instant::now();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(30 * 1024 * 1024));
    assert!(parse_arguments(&long).is_ok());
    let escapes = format!("\"{}\"", "\\n".repeat(1_000_000));
    assert!(parse_arguments(&escapes).is_ok());
    let many = format!("[{}1]", "1,".repeat(500_000));
    assert!(parse_arguments(&many).is_ok());
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(
        parse_arguments(&" ".repeat(64 * 1024 * 1024 + 1)),
        Err(ArgumentError::TooLarge)
    );
}

#[test]
fn parsing_agrees_with_serde_json() {
    for value in [
        json!({"a": [1, -2, 0.25, "x\u{7f}é\u{10000}\"\\"], "b": {}}),
        json!([]),
        json!(""),
    ] {
        assert_eq!(parse_arguments(&value.to_string()).unwrap(), value);
    }
}

// hazards: J2, J4
#[test]
fn many_values_against_many_branches_stay_cheap() {
    let branches: Vec<Value> = (0..4000).map(|n| json!({ "const": n })).collect();
    let wide =
        json!({ "type": "object", "properties": { "a": { "items": { "anyOf": branches } } } });
    let words: Vec<Value> = (0..9000).map(|n| json!({ "n": n })).collect();
    let words = json!({ "type": "object", "properties": { "a": { "items": { "enum": words } } } });
    for schema in [wide, words] {
        let schema = CompiledSchema::compile(&schema).unwrap();
        for count in [300, 1000, 10_000, 100_000] {
            let misses: Vec<Value> = (0..count).map(|n| json!(-1 - n)).collect();
            let started = std::time::Instant::now();
            assert!(schema.check(&json!({ "a": misses })).is_err());
            assert!(
                started.elapsed() < Duration::from_secs(5),
                "{count}: {:?}",
                started.elapsed()
            );
        }
    }
}
