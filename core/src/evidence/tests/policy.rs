//! Bounds and digests of the policy.

use super::*;

fn with(
    change: impl FnOnce(&mut ToolResultTransformPolicyV1),
) -> Result<PinnedPolicy, PolicyError> {
    let mut policy = ToolResultTransformPolicyV1::context_efficient();
    change(&mut policy);
    PinnedPolicy::new(policy)
}

fn refused(change: impl FnOnce(&mut ToolResultTransformPolicyV1)) -> &'static str {
    with(change).expect_err("out of its bound").argument
}

// claims: AST-44
#[test]
fn digests_of_policy_and_binding_are_those_of_the_contract() {
    let bounded = ToolResultTransformPolicyV1 {
        max_output_bytes: 16384,
        head_bytes: 10582,
        tail_bytes: 5290,
        ..ToolResultTransformPolicyV1::conservative()
    };
    let table = [
        (
            ToolResultTransformPolicyV1::context_efficient(),
            "645f65e5d39e3f7aa77fade21ae2daa1e8ccbbc7a0775c94a7f2c38ec5f5b32d",
            "906e9931692fa7860b7acb5fc0bb5c329f19aeb04976c913750893ad99cd5a27",
        ),
        (
            ToolResultTransformPolicyV1::conservative(),
            "97c77cb8bad0bdc7e52ec3a127f5c0b32484a5cc6fb58a59d78b681bec4972dc",
            "6a1912bff885439a928521e8ef26063c0d86826f9b9f107c9520d75ee97b8d86",
        ),
        (
            bounded,
            "8827c82c51ff282ae955335f3071ba071ba9d9b29f15bf50f8f190a3923051d3",
            "bfe42d7fac9f7ad933b87733d4e88b17dd0cbdbbfc798678f1266c088bc8df67",
        ),
    ];
    for (policy, policy_digest, binding_digest) in table {
        assert_eq!(policy.digest(), format!("sha256:{policy_digest}"));
        let pinned = pinned(policy);
        assert_eq!(
            *pinned.binding(),
            serde_json::json!({
                "schema": "a3s.code.tool-result-transform-binding.v1",
                "transform_algorithm": "a3s.code.tool-result-transform.v1",
                "policy_digest": format!("sha256:{policy_digest}"),
                "binding_digest": format!("sha256:{binding_digest}"),
            })
        );
    }
}

// claims: PROJ-16
#[test]
fn the_bound_of_a_result_is_1_to_100_kib() {
    for max in [0, 1023, 102_401, u32::MAX] {
        let argument = refused(|p| {
            p.max_output_bytes = max;
            p.head_bytes = 300;
            p.tail_bytes = 0;
        });
        assert_eq!(argument, "max_output_bytes");
    }
    for max in [1024, 102_400] {
        let accepted = with(|p| {
            p.max_output_bytes = max;
            p.head_bytes = 300;
            p.tail_bytes = 200;
        });
        assert!(accepted.is_ok());
    }
    let error = with(|p| p.max_output_bytes = 0).expect_err("out of its bound");
    assert_eq!(
        error.to_string(),
        "`tool_result_transform_policy.max_output_bytes` must be 1024 to 102400: 0"
    );
}

// claims: PROJ-17
#[test]
fn head_and_tail_leave_512_bytes_except_in_the_compatibility_shape() {
    let shape = |head, tail| {
        with(|p| {
            p.head_bytes = head;
            p.tail_bytes = tail;
        })
    };
    assert!(shape(102_400 - 512 - 7, 7).is_ok());
    assert!(shape(102_400 - 511 - 7, 7).is_err());
    assert!(shape(102_400 - 512, 0).is_ok());
    assert!(shape(102_400 - 511, 0).is_err());
    assert!(shape(102_400, 0).is_ok());
    assert!(shape(102_400, 1).is_err());
    assert!(shape(0, 0).is_err());
    assert!(shape(102_401, 0).is_err());
    assert!(shape(u32::MAX, u32::MAX).is_err());
    assert_eq!(refused(|p| p.head_bytes = 0), "head_bytes");
}

#[test]
fn threshold_items_and_schema_have_bounds_also_when_unused() {
    for (threshold, accepted) in [
        (0, false),
        (1, false),
        (2, true),
        (10_000, true),
        (10_001, false),
    ] {
        let outcome = with(|p| {
            p.fold_repeated_lines = false;
            p.repeated_line_threshold = threshold;
        });
        assert_eq!(outcome.is_ok(), accepted, "{threshold}");
    }
    assert!(with(|p| p.structured_sample_items = 0).is_ok());
    assert!(with(|p| p.structured_sample_items = 1024).is_ok());
    assert_eq!(
        refused(|p| p.structured_sample_items = 1025),
        "structured_sample_items"
    );
    let next = "a3s.code.tool-result-transform-policy.v2";
    assert_eq!(refused(|p| p.schema = next.to_owned()), "schema");
}

#[test]
fn stored_form_is_snake_case_complete_and_closed() {
    let policy = ToolResultTransformPolicyV1::context_efficient();
    let mut stored = serde_json::to_value(&policy).expect("plain data");
    assert_eq!(stored["max_output_bytes"], 102_400);
    let read: ToolResultTransformPolicyV1 =
        serde_json::from_value(stored.clone()).expect("the same form");
    assert_eq!(read, policy);
    stored["extra"] = 1.into();
    assert!(serde_json::from_value::<ToolResultTransformPolicyV1>(stored).is_err());
    assert!(serde_json::from_str::<ToolResultTransformPolicyV1>("{}").is_err());
    let wire = a3s_code_contract::ToolResultTransformPolicy::from(policy.clone());
    assert_eq!(ToolResultTransformPolicyV1::from(wire), policy);
    assert_eq!(
        ToolResultTransformPolicyV1::default(),
        ToolResultTransformPolicyV1::conservative()
    );
}
