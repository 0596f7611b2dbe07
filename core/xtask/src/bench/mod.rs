//! Measurements: each row is a ratio to a floor measured beside it in the same run.

use crate::failure::Result;
use serde_json::{Value, json};

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
    /// The same bytes and system calls with nothing of ours around them, where there is such a thing.
    pub(crate) floor: Option<f64>,
    /// What is wanted.
    pub(crate) target: Option<f64>,
    /// Whether it was reached.
    pub(crate) met: bool,
}

impl Row {
    /// The row as `--json` prints it.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id, "case": self.case, "value": self.value, "unit": self.unit,
            "floor": self.floor, "target": self.target, "met": self.met,
        })
    }
}

/// Measures what there is and prints it.
pub(crate) fn run(_quick: bool, as_json: bool) -> Result<()> {
    let rows: Vec<Row> = Vec::new();
    if as_json {
        let rows: Vec<Value> = rows.iter().map(Row::to_json).collect();
        println!("{}", json!({ "rows": rows }));
    } else {
        for row in &rows {
            println!(
                "{:<5} {:<50} {:>12.4} {:<4} {}",
                row.id,
                row.case,
                row.value,
                row.unit,
                if row.met { "met" } else { "missed" }
            );
        }
    }
    Ok(())
}
