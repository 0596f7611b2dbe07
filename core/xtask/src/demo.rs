//! `cargo xtask demo [PATH]`: the main job on a folder in four languages, side by side in one table.
//!
//! The programs and what they print are described in examples/DEMO.md.

use crate::failure::{AtPath, Result, fail};
use crate::languages::{self, Language};
use crate::layout::Layout;
use crate::process;
use serde_json::Value;
use std::path::PathBuf;

/// What one program saw at one step.
#[derive(Clone, Debug, PartialEq)]
struct Observation {
    step: String,
    value: Value,
    show: Option<String>,
}

const WIDTH: usize = 28;

/// Runs the four programs; false when their results differ.
pub(crate) fn run(layout: &Layout, words: &[String]) -> Result<bool> {
    let folder = match words {
        [] => layout.root().to_path_buf(),
        [path] => {
            let path = PathBuf::from(path);
            path.canonicalize().at(&path)?
        }
        _ => return Err(fail("demo takes one path")),
    };
    languages::check_toolchains(&Language::ALL)?;
    languages::prepare_all(layout, &Language::ALL)?;
    println!("the main job on {}\n", folder.display());
    let mut columns = Vec::new();
    for language in Language::ALL {
        let text = process::stdout(&mut language.demo(layout, &folder)?)
            .map_err(|failure| fail(format!("{}: {failure}", language.name())))?;
        columns.push((
            language,
            read(&text).map_err(|problem| fail(format!("{}: {problem}", language.name())))?,
        ));
    }
    let steps: Vec<&str> = columns[0].1.iter().map(|seen| seen.step.as_str()).collect();
    print_row(
        "step",
        columns
            .iter()
            .map(|(language, _)| language.name().to_owned()),
        "",
    );
    let mut different = Vec::new();
    for (row, step) in steps.iter().enumerate() {
        let seen: Vec<Option<&Observation>> = columns
            .iter()
            .map(|(_, column)| column.get(row).filter(|seen| seen.step == *step))
            .collect();
        let equal = seen.iter().all(|one| {
            one.is_some_and(|one| Some(&one.value) == seen[0].map(|first| &first.value))
        });
        if !equal {
            different.push(*step);
        }
        print_row(
            step,
            seen.iter()
                .map(|one| one.map_or_else(|| "missing".to_owned(), shown)),
            if equal { "equal" } else { "DIFFERENT" },
        );
    }
    let same_length = columns
        .iter()
        .all(|(_, column)| column.len() == steps.len());
    println!();
    if different.is_empty() && same_length {
        println!("results are equal in {} languages", columns.len());
        return Ok(true);
    }
    println!(
        "results differ: {}",
        if different.is_empty() {
            "the number of steps".to_owned()
        } else {
            different.join(", ")
        }
    );
    for step in different {
        for (language, column) in &columns {
            let value = column
                .iter()
                .find(|seen| seen.step == step)
                .map(|seen| seen.value.to_string());
            println!(
                "  {step} {}: {}",
                language.name(),
                value.unwrap_or_default()
            );
        }
    }
    Ok(false)
}

fn read(text: &str) -> std::result::Result<Vec<Observation>, String> {
    let mut seen = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("{error} in {line}"))?;
        let step = value["step"]
            .as_str()
            .ok_or_else(|| format!("no step in {line}"))?
            .to_owned();
        let show = value["show"].as_str().map(str::to_owned);
        seen.push(Observation {
            step,
            value: value["value"].clone(),
            show,
        });
    }
    if seen.is_empty() {
        Err("it printed nothing".to_owned())
    } else {
        Ok(seen)
    }
}

fn shown(seen: &Observation) -> String {
    let text = match (&seen.show, &seen.value) {
        (Some(text), _) => text.clone(),
        (None, Value::Array(items)) => format!("{} items", items.len()),
        (None, Value::String(text)) => text.clone(),
        (None, other) => other.to_string(),
    };
    match text.char_indices().nth(WIDTH - 2) {
        Some((cut, _)) => format!("{}..", &text[..cut]),
        None => text,
    }
}

fn print_row(step: &str, cells: impl Iterator<Item = String>, verdict: &str) {
    let mut line = format!("{step:<10}");
    for cell in cells {
        line.push_str(&format!(" {cell:<WIDTH$}"));
    }
    println!("{line} {verdict}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_are_read_line_by_line() {
        let seen = read(
            "{\"step\":\"a\",\"value\":[1,2]}\n\n{\"step\":\"b\",\"value\":3,\"show\":\"three\"}\n",
        )
        .unwrap();
        assert_eq!(
            seen.iter().map(shown).collect::<Vec<_>>(),
            ["2 items", "three"]
        );
        assert!(read("").is_err());
        assert!(read("{}").is_err());
    }
}
