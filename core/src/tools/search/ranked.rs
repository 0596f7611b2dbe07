//! Mode `bm25`: the places that are most about a plain-text query, as snippets with their anchors.

use super::{Search, ToolError, ToolOutput, anchors, withheld_note};
use crate::search::GlobPattern;
use crate::search::rank::{CHUNK_LINES, RankRequest, RankedHit, rank};
use crate::search::tokens;
use serde_json::{Value, json};
use std::fmt::Write as _;

const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 25;
const DEFAULT_CONTEXT: usize = 2;
const MAX_CONTEXT: usize = 8;
const MAX_QUERY_BYTES: usize = 2048;
const MAX_TERMS: usize = 32;
/// Bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 500;

impl Search<'_> {
    pub(super) fn ranked(&self) -> Result<ToolOutput, ToolError> {
        let args = self.args;
        for (name, given) in [
            ("case_sensitive", args.case_sensitive.is_some()),
            ("output_mode", args.output_mode.is_some()),
            ("cursor", args.cursor.is_some()),
            ("sort", args.sort.is_some()),
        ] {
            if given {
                return Err(ToolError::invalid(
                    name,
                    format!("`{name}` does not go with mode `bm25`."),
                ));
            }
        }
        let bounded = |name: &str, value: usize, most: usize| {
            if value > most {
                return Err(ToolError::invalid(
                    name,
                    format!("`{name}` is at most {most} in mode `bm25`."),
                ));
            }
            Ok(value)
        };
        let limit = bounded("limit", args.limit.unwrap_or(DEFAULT_LIMIT), MAX_LIMIT)?;
        let context = bounded(
            "context",
            args.context.unwrap_or(DEFAULT_CONTEXT),
            MAX_CONTEXT,
        )?;
        bounded("query", args.query.len(), MAX_QUERY_BYTES)?;
        let mut terms = tokens::of_query(&args.query);
        terms.truncate(MAX_TERMS);
        let request = RankRequest {
            path: self.folder()?,
            include: match &args.include {
                Some(include) => Some(GlobPattern::new(include, "include")?),
                None => None,
            },
            limit,
            context,
            terms,
        };
        let cancelled = || self.cancelled.is_cancelled();
        let found = match request.terms.is_empty() {
            true => Default::default(),
            false => rank(self.workspace.search(), &request, self.scope(&cancelled))?,
        };
        let mut text = String::new();
        for (place, hit) in found.hits.iter().enumerate() {
            show(&mut text, place + 1, hit);
        }
        let _ = writeln!(
            text,
            "[{} ranked hits from {} matching files.]",
            found.hits.len(),
            found.matching_files
        );
        withheld_note(&mut text, found.withheld_files);
        let results: Vec<Value> = found
            .hits
            .iter()
            .map(|hit| {
                json!({ "path": hit.path, "start_line": hit.start_line, "end_line": hit.end_line,
                        "score": hit.score })
            })
            .collect();
        let anchored: Vec<String> = found
            .hits
            .iter()
            .map(|hit| format!("{}:{}-{}", hit.path, hit.start_line, hit.end_line))
            .collect();
        let mut scan = json!({
            "read_files": found.read_files,
            "failed_reads": found.failed_reads,
            "oversized_files": found.oversized_files,
            "scanned_bytes": found.scanned_bytes,
            "scored_chunks": found.scored_chunks,
            "truncated": found.truncated,
        });
        if found.withheld_files > 0 {
            scan["withheld_files"] = json!(found.withheld_files);
        }
        Ok(ToolOutput::success(text)
            .with("mode", "bm25")
            .with("algorithm", "bm25")
            .with(
                "parameters",
                json!({ "engine": "native", "tokenizer": "identifiers-cjk/v1", "chunk_lines": CHUNK_LINES }),
            )
            .with("query_terms", json!(request.terms))
            .with(
                "candidate_search",
                json!({ "matching_files": found.matching_files, "selected_files": found.selected_files,
                        "backend_truncated": found.backend_truncated,
                        "candidate_truncated": found.matching_files > found.selected_files,
                        "used_glob_fallback": false }),
            )
            .with("scan", scan)
            .with("source_anchors", anchors(anchored.iter().map(String::as_str)))
            .with("returned_results", results.len())
            .with("results", results))
    }
}

fn show(text: &mut String, place: usize, hit: &RankedHit) {
    let _ = writeln!(
        text,
        "{place}. {}:{}-{} (score {:.3})",
        hit.path, hit.start_line, hit.end_line, hit.score
    );
    for (at, line) in hit.lines.iter().enumerate() {
        let mut end = line.len().min(MAX_LINE_BYTES);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let more = if end < line.len() { " [...]" } else { "" };
        let _ = writeln!(text, "{:>6}\t{}{more}", hit.start_line + at, &line[..end]);
    }
}
