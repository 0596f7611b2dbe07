//! Lexical ranking (BM25) of chunks of files: which places are about a plain-text query.
//!
//! The workspace's own search says which files hold which words, over the whole corpus; rarity is counted there. The
//! most promising files, at most 256 of at most 512 KiB and 16 MiB together, are read and scored in chunks of 80
//! lines. No index, no model, no network.

use super::files::read_whole;
use super::tokens;
use super::{
    GlobPattern, GrepDetail, GrepRequest, GrepResponse, SearchBackend, SearchError, SearchScope,
};
use crate::workspace::{WorkspaceError, WorkspacePath};
use std::collections::BTreeMap;

/// Most files that are read.
pub(crate) const MAX_FILES: usize = 256;
/// Largest file that is read, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 512 * 1024;
/// Most bytes that are read in all.
pub(crate) const MAX_TOTAL_BYTES: u64 = 16 * 1024 * 1024;
/// Lines of a chunk.
pub(crate) const CHUNK_LINES: usize = 80;
/// Most chunks of a file.
const MAX_CHUNKS: usize = 128;
/// Most hits of one file.
const MAX_HITS_PER_FILE: usize = 2;
/// Words whose rarity is counted one by one; the others are taken for common.
const COUNTED_TERMS: usize = 8;
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// What to rank.
pub(crate) struct RankRequest {
    /// Distinct words of the query.
    pub(crate) terms: Vec<String>,
    /// Folder or file to stay in.
    pub(crate) path: WorkspacePath,
    /// What paths must match.
    pub(crate) include: Option<GlobPattern>,
    /// Most hits.
    pub(crate) limit: usize,
    /// Lines shown before and after the best line.
    pub(crate) context: usize,
}

/// A place that was ranked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankedHit {
    pub(crate) path: String,
    /// First and last line of the snippet, from 1; within one chunk.
    pub(crate) start_line: usize,
    pub(crate) end_line: usize,
    pub(crate) score: f64,
    pub(crate) lines: Vec<String>,
}

/// Ranked places and what it took to find them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RankResponse {
    pub(crate) hits: Vec<RankedHit>,
    pub(crate) matching_files: usize,
    pub(crate) selected_files: usize,
    pub(crate) read_files: usize,
    pub(crate) failed_reads: u64,
    pub(crate) withheld_files: u64,
    pub(crate) oversized_files: u64,
    pub(crate) scanned_bytes: u64,
    pub(crate) scored_chunks: usize,
    pub(crate) backend_truncated: bool,
    pub(crate) truncated: bool,
}

/// A chunk with a word of the query.
struct Chunk {
    file: usize,
    start: usize,
    words: usize,
    counts: Vec<u32>,
    hits: Vec<(usize, u32)>,
}

/// Ranks.
pub(crate) fn rank(
    backend: &dyn SearchBackend,
    request: &RankRequest,
    scope: SearchScope<'_>,
) -> Result<RankResponse, SearchError> {
    let mut response = RankResponse::default();
    let (rarity, mut files) = corpus(backend, request, scope, &mut response)?;
    response.matching_files = files.len();
    files.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    files.truncate(MAX_FILES);
    response.selected_files = files.len();
    let mut texts: Vec<(String, String)> = Vec::new();
    let mut buffer = Vec::new();
    for (path, _) in files {
        if (scope.cancelled)() {
            return Err(SearchError::Cancelled);
        }
        if let Some(text) = read(&path, scope, &mut buffer, &mut response)? {
            texts.push((path, text));
        }
    }
    let chunks = chunks(&texts, &request.terms);
    response.scored_chunks = chunks.len();
    let average =
        chunks.iter().map(|chunk| chunk.words).sum::<usize>() as f64 / chunks.len().max(1) as f64;
    let mut scored: Vec<(f64, &Chunk)> = chunks
        .iter()
        .map(|chunk| (score(chunk, &rarity, average), chunk))
        .collect();
    scored.sort_by(|(one, left), (other, right)| {
        other
            .total_cmp(one)
            .then_with(|| texts[left.file].0.cmp(&texts[right.file].0))
            .then_with(|| left.start.cmp(&right.start))
    });
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for (score, chunk) in scored {
        if response.hits.len() == request.limit {
            break;
        }
        let of_file = taken.entry(chunk.file).or_default();
        if *of_file == MAX_HITS_PER_FILE {
            continue;
        }
        *of_file += 1;
        let (path, text) = &texts[chunk.file];
        response
            .hits
            .push(snippet(path, text, chunk, score, request.context));
    }
    Ok(response)
}

/// How rare each word is over the whole corpus, and how promising each file with one of them.
fn corpus(
    backend: &dyn SearchBackend,
    request: &RankRequest,
    scope: SearchScope<'_>,
    response: &mut RankResponse,
) -> Result<(Vec<f64>, Vec<(String, f64)>), SearchError> {
    let count = |pattern: String| -> Result<GrepResponse, SearchError> {
        let mut found = backend.grep(
            &GrepRequest {
                pattern,
                case_sensitive: false,
                path: request.path.clone(),
                include: request.include.clone(),
                detail: GrepDetail::Counts,
            },
            scope,
        )?;
        if let Some(withheld) = scope.withheld {
            found.files.retain(|file| !withheld(&file.path));
        }
        Ok(found)
    };
    let escaped: Vec<String> = request
        .terms
        .iter()
        .map(|term| regex::escape(term))
        .collect();
    let all = count(escaped.join("|"))?;
    response.backend_truncated = all.truncated;
    response.withheld_files = all.withheld_files;
    let total = all.files.len() as f64;
    // The longest words are the rarest; the others are taken for as common as can be.
    let mut order: Vec<usize> = (0..escaped.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(request.terms[*at].len()));
    let mut rarity = vec![idf(total, total); escaped.len()];
    let mut promise: BTreeMap<String, f64> =
        all.files.into_iter().map(|file| (file.path, 0.0)).collect();
    for at in order.into_iter().take(COUNTED_TERMS) {
        let found = count(escaped[at].clone())?;
        rarity[at] = idf(total, found.files.len() as f64);
        for file in found.files {
            let often = file.matching_lines as f64;
            *promise.entry(file.path).or_default() += rarity[at] * often / (often + K1);
        }
    }
    Ok((rarity, promise.into_iter().collect()))
}

fn idf(total: f64, with: f64) -> f64 {
    (1.0 + (total - with + 0.5).max(0.5) / (with + 0.5)).ln()
}

fn read(
    path: &str,
    scope: SearchScope<'_>,
    buffer: &mut Vec<u8>,
    response: &mut RankResponse,
) -> Result<Option<String>, SearchError> {
    let opened = scope
        .files
        .open(&WorkspacePath::from_spelled(path.to_owned()), scope.wait);
    let file = match opened {
        Ok(file) => file,
        Err(WorkspaceError::WouldBlock) => return Err(WorkspaceError::WouldBlock.into()),
        Err(_) => {
            response.failed_reads += 1;
            return Ok(None);
        }
    };
    let size = file.metadata().len;
    if size > MAX_FILE_BYTES {
        response.oversized_files += 1;
        return Ok(None);
    }
    if response.scanned_bytes + size > MAX_TOTAL_BYTES {
        response.truncated = true;
        return Ok(None);
    }
    if read_whole(&*file, MAX_FILE_BYTES, buffer, scope.wait).is_err() {
        response.failed_reads += 1;
        return Ok(None);
    }
    response.read_files += 1;
    response.scanned_bytes += buffer.len() as u64;
    Ok(Some(String::from_utf8_lossy(buffer).into_owned()))
}

/// The chunks that hold a word of the query.
fn chunks(texts: &[(String, String)], terms: &[String]) -> Vec<Chunk> {
    let mut found = Vec::new();
    for (file, (_, text)) in texts.iter().enumerate() {
        let mut lines = text.lines().peekable();
        let mut start = 0;
        for _ in 0..MAX_CHUNKS {
            if lines.peek().is_none() {
                break;
            }
            let mut chunk = Chunk {
                file,
                start,
                words: 0,
                counts: vec![0; terms.len()],
                hits: Vec::new(),
            };
            for (at, line) in lines.by_ref().take(CHUNK_LINES).enumerate() {
                let mut here = 0;
                tokens::for_each(line, |token| {
                    chunk.words += 1;
                    if let Some(term) = terms.iter().position(|term| term == token) {
                        chunk.counts[term] += 1;
                        here += 1;
                    }
                });
                if here > 0 {
                    chunk.hits.push((start + at, here));
                }
            }
            start += CHUNK_LINES;
            if !chunk.hits.is_empty() {
                found.push(chunk);
            }
        }
    }
    found
}

fn score(chunk: &Chunk, rarity: &[f64], average: f64) -> f64 {
    let length = chunk.words as f64 / average.max(1.0);
    chunk
        .counts
        .iter()
        .zip(rarity)
        .map(|(count, rarity)| {
            let often = f64::from(*count);
            rarity * often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * length))
        })
        .sum()
}

/// The line with most words of the query and what stands around it, within the chunk.
fn snippet(path: &str, text: &str, chunk: &Chunk, score: f64, context: usize) -> RankedHit {
    let best = chunk
        .hits
        .iter()
        .max_by(|(line, one), (other_line, other)| {
            one.cmp(other).then_with(|| other_line.cmp(line))
        })
        .map_or(chunk.start, |(line, _)| *line);
    let first = best.saturating_sub(context).max(chunk.start);
    let last = (best + context).min(chunk.start + CHUNK_LINES - 1);
    let lines: Vec<String> = text
        .lines()
        .skip(first)
        .take(last - first + 1)
        .map(str::to_owned)
        .collect();
    RankedHit {
        path: path.to_owned(),
        start_line: first + 1,
        end_line: first + lines.len(),
        score,
        lines,
    }
}
