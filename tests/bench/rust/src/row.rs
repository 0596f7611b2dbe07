//! What a measuring program is told and what it prints: one JSON row a line, times in milliseconds.

use serde::{Deserialize, Serialize};

/// The one argument of a measuring program.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    /// Fewer samples, for a run of a minute.
    pub(crate) quick: bool,
    /// Folder with the files that are measured.
    pub(crate) corpus: String,
}

/// One row.
#[derive(Debug, Serialize)]
pub(crate) struct Row<'a> {
    id: &'a str,
    case: &'a str,
    value: f64,
    unit: &'a str,
    floor: Option<f64>,
    target: Option<f64>,
    met: bool,
}

impl<'a> Row<'a> {
    /// A row that is met while its value does not exceed its target; one without a target is always met.
    pub(crate) fn at_most(id: &'a str, case: &'a str, unit: &'a str, value: f64) -> Self {
        Self {
            id,
            case,
            value,
            unit,
            floor: None,
            target: None,
            met: true,
        }
    }

    /// The same beside a floor.
    pub(crate) fn floor(self, floor: f64) -> Self {
        Self {
            floor: Some(floor),
            ..self
        }
    }

    /// The same with a target.
    pub(crate) fn target(self, target: f64) -> Self {
        Self {
            target: Some(target),
            met: self.value <= target,
            ..self
        }
    }

    /// Writes it to standard output.
    pub(crate) fn print(&self) -> Result<(), serde_json::Error> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}
