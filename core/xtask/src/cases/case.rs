//! Case files: found, read and looked over before anything runs.

use crate::failure::{AtPath, Result, fail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const CASE_KEYS: &[&str] = &[
    "id",
    "claims",
    "why",
    "from",
    "langs",
    "files",
    "git",
    "options",
    "hostTools",
    "model",
    "steps",
];
const STEP_KEYS: &[&str] = &[
    "do",
    "name",
    "args",
    "prompt",
    "answers",
    "during",
    "options",
    "withinMs",
    "save",
    "repeat",
    "follow",
    "interrupt",
    "expect",
];

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Unique id.
    pub(crate) id: String,
    /// Claims it proves.
    pub(crate) claims: Vec<String>,
    /// Languages it runs in; all when empty.
    pub(crate) languages: Vec<String>,
    /// The file as it is.
    pub(crate) body: Value,
}

impl Case {
    /// The steps.
    pub(crate) fn steps(&self) -> &[Value] {
        self.body["steps"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// Reads every case beneath `folders`, by id. A file that is no case, or an id given twice, is an error.
pub(crate) fn load(folders: &[PathBuf]) -> Result<Vec<Case>> {
    let mut found: BTreeMap<String, (Case, PathBuf)> = BTreeMap::new();
    for folder in folders {
        for path in files(folder)? {
            let case = read(&path)?;
            if let Some((_, other)) = found.get(&case.id) {
                return Err(fail(format!(
                    "{} and {} have the same id",
                    other.display(),
                    path.display()
                )));
            }
            found.insert(case.id.clone(), (case, path));
        }
    }
    Ok(found.into_values().map(|(case, _)| case).collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    if folder.is_file() {
        return Ok(vec![folder.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).at(folder)? {
        let path = entry.at(folder)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Case> {
    let text = std::fs::read_to_string(path).at(path)?;
    let wrong = |what: String| fail(format!("{}: {what}", path.display()));
    let body: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    look_over(&body).map_err(wrong)?;
    let texts = |key: &str| -> Vec<String> {
        body[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    Ok(Case {
        id: body["id"].as_str().unwrap_or_default().to_owned(),
        claims: texts("claims"),
        languages: texts("langs"),
        body,
    })
}

/// Refuses what the comparator would otherwise ignore.
fn look_over(body: &Value) -> std::result::Result<(), String> {
    let fields = body.as_object().ok_or("not an object")?;
    if let Some(key) = fields.keys().find(|key| !CASE_KEYS.contains(&key.as_str())) {
        return Err(format!("unknown key {key}"));
    }
    if body["id"].as_str().is_none_or(str::is_empty) {
        return Err("no id".to_owned());
    }
    look_over_steps(&body["steps"])
}

fn look_over_steps(steps: &Value) -> std::result::Result<(), String> {
    for step in steps.as_array().ok_or("no list of steps")? {
        let fields = step.as_object().ok_or("a step is not an object")?;
        if let Some(key) = fields.keys().find(|key| !STEP_KEYS.contains(&key.as_str())) {
            return Err(format!("unknown key {key} in a step"));
        }
        if let Some(during) = fields.get("during") {
            look_over_steps(during)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_that_would_be_ignored_is_refused() {
        let good = json!({"id": "a", "claims": [], "steps": [{"do": "close"}]});
        assert_eq!(look_over(&good), Ok(()));
        for bad in [
            json!({"id": "a", "steps": [], "file": {}}),
            json!({"id": "a", "steps": [{"do": "close", "expects": {}}]}),
            json!({"id": "", "steps": []}),
            json!({"id": "a"}),
            json!({"id": "a", "steps": [{"do": "stream", "during": [{"doo": 1}]}]}),
        ] {
            assert!(look_over(&bad).is_err(), "{bad}");
        }
    }
}
