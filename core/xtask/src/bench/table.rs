//! The table for people: numbers of three digits, the ratio to the floor, and what was missed.

use super::row::Row;

/// Prints the rows and says how many reached their target.
pub(crate) fn print(rows: &[Row]) {
    let width = rows
        .iter()
        .map(|row| row.case.chars().count())
        .max()
        .unwrap_or(0);
    println!(
        "{:<5}{:<width$} {:>10} {:>10} {:>8} {:>10}  {:<8}",
        "", "case", "value", "floor", "ratio", "target", "unit"
    );
    for row in rows {
        println!("{}", line(row, width));
    }
    let wanted = rows.iter().filter(|row| row.target.is_some()).count();
    let met = rows
        .iter()
        .filter(|row| row.target.is_some() && row.met)
        .count();
    println!("{met} of {wanted} targets met");
}

fn line(row: &Row, width: usize) -> String {
    let ratio = row.floor.map(|floor| format!("{:.2}", row.value / floor));
    let verdict = match (row.target, row.met) {
        (None, _) => "",
        (Some(_), true) => "met",
        (Some(_), false) => "MISSED",
    };
    format!(
        "{:<5}{:<width$} {:>10} {:>10} {:>8} {:>10}  {:<8}{verdict}",
        row.id,
        row.case,
        digits(row.value),
        row.floor.map(digits).unwrap_or_default(),
        ratio.unwrap_or_default(),
        row.target.map(digits).unwrap_or_default(),
        row.unit,
    )
    .trim_end()
    .to_owned()
}

fn digits(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_stands_out() {
        let mut row = Row::at_most("P3", "read", "ms", 0.04, 0.03);
        row.floor = Some(0.01);
        let text = line(&row, 6);
        assert!(text.starts_with("P3   read "), "{text}");
        assert!(text.ends_with("MISSED") && text.contains("4.00"), "{text}");
        assert!(line(&Row::at_most("P3", "read", "ms", 0.02, 0.03), 6).ends_with("met"));
    }
}
