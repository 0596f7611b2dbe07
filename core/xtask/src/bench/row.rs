//! One row of the table: a value beside its floor and target, all in one unit.
//!
//! Invariant: `met` follows from value, target and unit; a program that says otherwise is refused, and so is a row
//! that measured nothing.

use crate::failure::{Result, fail};
use serde_json::{Value, json};

/// Units in which more is better.
const RATES: [&str; 1] = ["calls/s"];
/// All units of the table.
const UNITS: [&str; 4] = ["ms", "MB", "threads", "calls/s"];

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Row of the performance table, `P1`.
    pub(crate) id: String,
    /// What was measured.
    pub(crate) case: String,
    /// Median of it.
    pub(crate) value: f64,
    /// Unit of `value`, `floor` and `target`.
    pub(crate) unit: String,
    /// The same bytes and system calls with nothing of ours around them, or a peer measured in the same run.
    pub(crate) floor: Option<f64>,
    /// What is wanted: at most this, of a rate at least this.
    pub(crate) target: Option<f64>,
    /// Whether it was reached; true where nothing is wanted.
    pub(crate) met: bool,
}

impl Row {
    /// Reads a line that a measuring program printed.
    pub(crate) fn parse(line: &str) -> Result<Self> {
        let wrong = |what: &str| fail(format!("a row {what}: {line}"));
        let row: Value =
            serde_json::from_str(line).map_err(|error| wrong(&format!("is not JSON ({error})")))?;
        let text = |name: &str| match row[name].as_str() {
            Some(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(wrong(&format!("has no `{name}`"))),
        };
        let number = |name: &str| match &row[name] {
            Value::Null => Ok(None),
            value => value
                .as_f64()
                .map(Some)
                .ok_or_else(|| wrong(&format!("has a `{name}` that is no number"))),
        };
        let mut parsed = Self {
            id: text("id")?,
            case: text("case")?,
            value: number("value")?.ok_or_else(|| wrong("has no `value`"))?,
            unit: text("unit")?,
            floor: number("floor")?,
            target: number("target")?,
            met: false,
        };
        if !UNITS.contains(&parsed.unit.as_str()) {
            return Err(wrong("has an unknown unit"));
        }
        if parsed.floor.is_some_and(|floor| floor <= 0.0)
            || parsed.target.is_some_and(|target| target <= 0.0)
        {
            return Err(wrong("has a floor or target that is not above 0"));
        }
        // Memory may shrink; a time or rate of nothing was not measured.
        if parsed.value <= 0.0 && parsed.unit != "MB" {
            return Err(wrong("has a value that is not above 0"));
        }
        parsed.met = parsed.reached();
        if row["met"].as_bool() != Some(parsed.met) {
            return Err(wrong(&format!("says `met` where it is {}", parsed.met)));
        }
        Ok(parsed)
    }

    /// A row of what is wanted to be at most `target`.
    pub(crate) fn at_most(id: &str, case: &str, unit: &str, value: f64, target: f64) -> Self {
        let mut row = Self {
            id: id.to_owned(),
            case: case.to_owned(),
            value,
            unit: unit.to_owned(),
            floor: None,
            target: Some(target),
            met: false,
        };
        row.met = row.reached();
        row
    }

    fn reached(&self) -> bool {
        match self.target {
            None => true,
            Some(target) if RATES.contains(&self.unit.as_str()) => self.value >= target,
            Some(target) => self.value <= target,
        }
    }

    /// The row as `--json` prints it.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id, "case": self.case, "value": short(self.value), "unit": self.unit,
            "floor": self.floor.map(short), "target": self.target.map(short), "met": self.met,
        })
    }

    /// Sorts as the table of the design does: `P2a` after `P1`, `P20` after `P6`.
    pub(crate) fn order(&self) -> (u32, String) {
        let rest = self.id.trim_start_matches(|c: char| !c.is_ascii_digit());
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, letter) = rest.split_at(digits);
        (number.parse().unwrap_or(u32::MAX), letter.to_owned())
    }
}

/// Six significant digits: what a median of a run is worth, and more.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(value: &str, unit: &str, floor: &str, target: &str, met: bool) -> String {
        format!(
            r#"{{"id":"P1","case":"c","value":{value},"unit":"{unit}","floor":{floor},"target":{target},"met":{met}}}"#
        )
    }

    #[test]
    fn met_follows_from_value_target_and_unit() {
        for (value, unit, target, met) in [
            ("0.012", "ms", "0.015", true),
            ("0.015", "ms", "0.015", true),
            ("0.016", "ms", "0.015", false),
            ("61", "MB", "60", false),
            ("-1.5", "MB", "5", true),
            ("4", "threads", "4", true),
            ("119999", "calls/s", "120000", false),
            ("120000", "calls/s", "120000", true),
            ("7", "ms", "null", true),
        ] {
            let row = Row::parse(&line(value, unit, "null", target, met)).unwrap();
            assert_eq!(row.met, met, "{value} {unit} against {target}");
            let lie = Row::parse(&line(value, unit, "null", target, !met)).unwrap_err();
            assert!(lie.to_string().contains("`met`"), "{lie}");
        }
    }

    #[test]
    fn a_row_that_is_not_well_formed_is_refused() {
        for (broken, what) in [
            ("no json".to_owned(), "not JSON"),
            (line("null", "ms", "1", "1", true), "no `value`"),
            (line("\"1\"", "ms", "1", "1", true), "no number"),
            (line("0", "ms", "1", "1", true), "not above 0"),
            (line("1", "ms", "0", "1", true), "not above 0"),
            (line("1", "ms", "1", "-1", false), "not above 0"),
            (line("1", "furlongs", "1", "1", true), "unknown unit"),
            (
                line("1", "ms", "1", "1", true).replace("\"c\"", "\"\""),
                "no `case`",
            ),
        ] {
            let failure = Row::parse(&broken).unwrap_err();
            assert!(
                failure.to_string().contains(what),
                "{broken} gave {failure}"
            );
        }
    }

    #[test]
    fn a_row_comes_back_with_exactly_the_published_fields() {
        let row = Row::parse(&line("0.0123456789", "ms", "0.002", "0.015", true)).unwrap();
        let expected = json!({
            "id": "P1", "case": "c", "value": 0.0123457, "unit": "ms", "floor": 0.002, "target": 0.015, "met": true
        });
        assert_eq!(row.to_json(), expected);
        assert_eq!(
            Row::parse(&expected.to_string()).unwrap().to_json(),
            expected
        );
    }

    #[test]
    fn rows_sort_as_in_the_design() {
        let mut rows: Vec<Row> = ["P20", "P2b", "P1", "P6", "P2a"]
            .map(|id| Row::at_most(id, "c", "ms", 1.0, 2.0))
            .into();
        rows.sort_by_key(Row::order);
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["P1", "P2a", "P2b", "P6", "P20"]);
    }
}
